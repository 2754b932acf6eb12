"""Approximate engine for very many dense rows: faiss looks into the likeliest lists of rows only.

Rows are divided among lists, each going to its nearest center, and a query looks into those lists
whose centers are nearest to it: into more of them until a sample of queries with exact neighbors
says that enough are found. faiss counts in float32; what it finds is measured exactly, and ties are
broken as ever. Only its being the nearest is not proved.

Nothing depends on chance or threads: the centers are ours, and blocks of queries have one size, as
another one may be rounded in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from labelance._utils._messages import optional_import
from labelance._utils._threads import single_threaded_blas
from labelance.exceptions import InputError, arg
from labelance.neighbors._dense import suits_kdtree
from labelance.neighbors._embedding import Points
from labelance.neighbors._neighborhood import Candidates, TopK, new_top_k
from labelance.neighbors._partition import divide, embed_points, place_centers, suits_cells
from labelance.neighbors._search import Search, for_each_block, log_engine, spread_rows

_LISTS_PER_ROOT = 4  # lists for every root of the number of rows
_LOOKED_INTO = (8, 16, 32, 64, 128)  # lists, the next if it is too few
_ENOUGH = 0.97  # of recall
_MEASURED = 256  # queries whose exact neighbors say how many lists are enough
_MORE = 11  # rows measured beyond k: a query itself, and those that float32 takes for farther
_BLOCK = 1024  # queries that faiss is asked together
_SAMPLE = 1024  # rows that say where the middle is


class Approximation(NamedTuple):
    """Near rows, and the share of the nearest that is among them."""

    nearest: TopK
    recall: float


def search_approx(search: Search, exact: Callable[[Search], TopK]) -> Approximation | None:
    """Return near rows; None where rows are few, or none of those that lists are made for.

    ``exact`` finds the nearest rows of some queries, to know how many are found.
    """
    if search.kind == "sparse":
        raise InputError(
            f"{arg('algorithm', 'approx')} searches dense rows only",
            "X is sparse",
            "Omit algorithm, or make few dense features of X first, for example with "
            "sklearn.decomposition.TruncatedSVD",
        )
    if search.kind == "device" or not search.metric.is_exact:
        return None
    faiss = optional_import("faiss", extra="approx", purpose="An approximate search")
    # A tree of few features is as fast, and exact.
    if search.has_missing_numbers or suits_kdtree(search) or not suits_cells(search):
        return None
    with single_threaded_blas(), _single_thread(faiss):
        points = _embed_around_median(search)
        return None if points is None else _search_lists(faiss, search, points, exact)


def _embed_around_median(search: Search) -> Points | None:
    """Embed the rows; None where points cannot stand for them."""
    embedding = search.embedding
    if not embedding.unit:
        # A few far rows move the mean, so that all others are one point in float32.
        some = search.X[spread_rows(len(search.X), _SAMPLE)]
        embedding = replace(embedding, center=np.median(some, axis=0).astype(np.float64))
    return embed_points(search, embedding)


def _search_lists(
    faiss: Any, search: Search, points: Points, exact: Callable[[Search], TopK]
) -> Approximation:
    """Look into as few lists as find enough of the neighbors of some queries."""
    n, d = points.corpus.shape
    centers = place_centers(points.corpus, int(_LISTS_PER_ROOT * np.sqrt(n)), search.threads)
    cells, _ = divide(points.corpus, centers, search.threads, keep_empty=True)
    sizes = np.diff(cells.edges)
    list_of_row = np.empty(n, np.int64)
    list_of_row[cells.order] = np.repeat(np.arange(len(sizes)), sizes)
    middle = faiss.IndexFlatL2(d)
    middle.add(centers)
    index = faiss.IndexIVFFlat(middle, d, len(centers))
    add = optional_import("faiss.contrib.ivf_tools", extra="approx", purpose="Adding rows")
    add.add_preassigned(index, points.corpus, list_of_row)
    # As many of the smallest lists hold k other rows.
    fewest = 1 + int(np.searchsorted(np.cumsum(np.sort(sizes)), search.k + 1))

    def look(queries: np.ndarray, n_lists: int) -> TopK:
        """Return the nearest rows in the lists nearest to each query, measured exactly."""
        found = new_top_k(len(queries), search.k)

        def work(start: int, stop: int) -> None:
            some = queries[start:stop]
            into = faiss.SearchParametersIVF(nprobe=n_lists)
            with _single_thread(faiss):
                _, rows = index.search(points.queries[some], search.k + _MORE, params=into)
            rows = np.sort(np.where(rows < 0, n, rows), axis=1)
            near = search.rank(some, Candidates(rows, (rows < n).sum(axis=1)))
            found.rows[start:stop], found.values[start:stop] = near

        for_each_block(work, len(queries), _BLOCK, search.threads)
        return found

    some = spread_rows(search.Q.shape[0], _MEASURED)
    reach = exact(search.only(some)).values[:, -1:]  # who is as near as the last is as good
    for n_lists in _LOOKED_INTO:
        n_lists = min(max(n_lists, fewest), index.nlist)
        if (look(some, n_lists).values <= reach).mean() >= _ENOUGH:
            break
    found = look(np.arange(search.Q.shape[0]), n_lists)
    recall = float((found.values[some] <= reach).mean())
    log_engine(
        search,
        f"{n_lists:,} of {index.nlist:,} lists of faiss, as asked for, with a recall of "
        f"{recall:.3f}",
    )
    return Approximation(found, recall)


@contextmanager
def _single_thread(faiss: Any) -> Iterator[None]:
    """Let faiss work in the calling thread alone."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
