"""Engines and how one is chosen: the first that suits a search runs it.

All give the same answer, bit for bit; they differ in time. A new engine is
a line in ``ENGINES``: a question about a :class:`Search`, and a function that returns its
:class:`TopK`, or None where it finds out that another engine would be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from labelance._arrays._columns import has_missing
from labelance._utils._messages import warn_user
from labelance.exceptions import LongSearchWarning, arg
from labelance.neighbors._dense import search_gemm, search_kdtree, suits_kdtree
from labelance.neighbors._neighborhood import TopK
from labelance.neighbors._partition import search_partition, suits_cells
from labelance.neighbors._search import Search, search_brute, search_pairwise
from labelance.neighbors._sparse import search_sparse
from labelance.neighbors._torch import search_tensors

# Cells of all pairs together: below the first, preparing costs more than measuring them all, and
# below the second, starting threads does.
_SMALL, _LARGE = 250_000, 50_000_000
_LONG, _LONG_SPARSE = 2e12, 1e13  # takes minutes on a few cores


class Engine(NamedTuple):
    """An engine, and which searches it suits if none before it does."""

    suits: Callable[[Search], bool]
    run: Callable[[Search], TopK | None]


def run_exact(search: Search) -> TopK:
    """Return the k nearest rows of every query, by the first engine that suits."""
    if search.metric.is_exact and search.effort <= _LARGE:
        search = replace(search, threads=1)
    for engine in ENGINES:
        if engine.suits(search):
            if engine.run in (search_sparse, search_gemm):
                _warn_of_long_search(search)
            found = engine.run(search)
            if found is not None:
                return found
    raise AssertionError("The last engine suits every search.")


def has_missing_numbers(search: Search) -> bool:
    """Tell whether a number is missing in rows or queries."""
    numeric = ~search.metric.compiled.nominal  # nominal features simply differ
    if search.Q is not search.X and has_missing(search.Q, numeric):
        return True
    return search.metric.takes_missing and has_missing(search.X, numeric)


def _has_many_categories(search: Search) -> bool:
    """Tell whether there are too many categories to give each a coordinate."""
    return search.embedding.n_coordinates > 4 * search.X.shape[1] + 64


def _warn_of_long_search(search: Search) -> None:
    n, d = search.X.shape
    if search.kind == "sparse":
        is_long = search.effort > _LONG_SPARSE
        instead = "sklearn.decomposition.TruncatedSVD makes fewer features"
    else:
        is_long = search.effort > _LONG and suits_cells(search)
        instead = f"{arg('algorithm', 'approx')} finds nearly all of them much faster"
    if not (search.warns and is_long):
        return
    warn_user(
        f"The exact neighbors of {search.Q.shape[0]:,} rows among {n:,} with {d:,} features take "
        f"minutes. {instead}; {arg('algorithm', 'exact')} silences this.",
        LongSearchWarning,
    )


ENGINES = (
    Engine(lambda search: search.kind == "device", search_tensors),
    Engine(lambda search: not search.metric.is_exact, search_pairwise),
    Engine(lambda search: search.effort < _SMALL, search_brute),
    Engine(has_missing_numbers, search_brute),
    Engine(lambda search: search.kind == "sparse", search_sparse),
    Engine(_has_many_categories, search_brute),
    Engine(suits_kdtree, search_kdtree),
    Engine(suits_cells, search_partition),
    Engine(lambda search: True, search_gemm),
)
