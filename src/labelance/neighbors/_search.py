"""The search behind the door: it trusts its input and picks the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance.exceptions import InputError
from labelance.neighbors._blocks import thread_count
from labelance.neighbors._dense import search_dense
from labelance.neighbors._exhaustive import search_exhaustively
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._pairwise import search_pairwise
from labelance.neighbors._points import embed
from labelance.neighbors._space import Space
from labelance.neighbors._sparse import search_sparse
from labelance.neighbors._task import Task
from labelance.neighbors._tree import search_tree, suits_tree

# Cells of all pairs together: below the first, preparing costs more than measuring them all, and
# below the second, starting threads does.
_SMALL, _LARGE = 250_000, 50_000_000


def search(
    X: Any,
    k: int,
    space: Space,
    *,
    among: np.ndarray | None = None,
    queries: Any = None,
    n_jobs: int | None = None,
) -> Neighborhood:
    """Return the k nearest rows of clean data; see :func:`find_neighbors`.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        Clean rows.
    k : int
        How many neighbors; smaller than the number of rows searched.
    space : Space
        How distances are measured.
    among : array of distinct row numbers, optional
        Search for these rows inside these rows only.
    queries : array or CSR array of shape (m, d), optional
        Search for these rows among the rows of X.
    n_jobs : int, optional
        The number of threads.
    """
    if among is not None:
        return _search_bag(X, k, space, np.asarray(among), n_jobs)
    Q = X if queries is None else queries
    own = np.arange(X.shape[0]) if queries is None else np.full(Q.shape[0], -1)
    rows, distances = _run(Task(Q, X, own, k, space, thread_count(n_jobs)))
    if not np.isfinite(distances).all():
        raise InputError(
            "Neighbors are ordered by finite distances",
            f"the metric {space.metric!r} gives infinite or undefined ones",
            "Scale very large numbers down, or use a metric that is defined for every pair of rows",
        )
    return Neighborhood(rows, distances)


def _search_bag(
    X: Any, k: int, space: Space, among: np.ndarray, n_jobs: int | None
) -> Neighborhood:
    order = np.argsort(among)
    ordered = among[order]  # a tie goes to the lower row number, however the bag is listed
    inside = search(X[ordered], k, space, n_jobs=n_jobs)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Neighborhood(ordered[inside.indices[back]], inside.distances[back])


def _run(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances from the engine that suits the task."""
    Q, X, space = task.Q, task.X, task.space
    if not space.is_exact:
        return search_pairwise(task)
    effort = Q.shape[0] * X.shape[0] * _cells_per_pair(X)
    if effort < _SMALL:
        return search_exhaustively(replace(task, threads=1))
    if _lacks_numbers(task):
        return search_exhaustively(task)
    task = replace(task, threads=task.threads if effort > _LARGE else 1)
    if sp.issparse(X):
        return search_sparse(task)
    embedding = embed(Q, X, space.measure)
    if embedding.n_coordinates > 4 * X.shape[1] + 64:  # too many categories to spell out
        return search_exhaustively(task)
    return (search_tree if suits_tree(task, embedding) else search_dense)(task, embedding)


def _cells_per_pair(X: Any) -> float:
    """Return the cost of an exact distance; merging sparse rows is slow for each entry."""
    return 8 * X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]


def _lacks_numbers(task: Task) -> bool:
    nominal = task.space.measure.nominal
    if task.Q is not task.X and lacks_numbers(task.Q, nominal):
        return True
    return task.space.takes_missing and lacks_numbers(task.X, nominal)


def lacks_numbers(X: Any, nominal: np.ndarray) -> bool:
    """Tell whether a numeric feature has a missing value; nominal ones simply differ."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isnan((X.data if sp.issparse(X) else X).sum(dtype=np.float64)):
            return False
    if sp.issparse(X):
        return not nominal[X.indices[np.isnan(X.data)]].all()
    return bool(np.isnan(X[:, ~nominal]).any())
