"""The distance of two rows, and the nearest of a list of rows by it.

The Euclidean and cosine distances are our own. The distance of two rows is the root of a
float64 sum over the features in column order. A feature in which both rows are zero adds
exactly 0, so merging two sparse rows gives the same bits as walking two dense ones, and no
block, thread or engine can change an answer. Every other metric is scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from labelance._arrays._containers import SparseRows
from labelance.exceptions import InputError
from labelance.neighbors._kernels import rank_dense, rank_sparse
from labelance.neighbors._topk import Candidates, TopK, new_top_k

Metric = str | Callable[[np.ndarray, np.ndarray], float]
Params = dict[str, np.ndarray]

_PAIRS = 32  # pairs measured by one call of scikit-learn, which measures all their combinations


class CompiledMetric(NamedTuple):
    """A feature metric as compiled code takes it, one entry per feature."""

    width: np.ndarray  # a difference is divided by it: 1 is plain, inf leaves the feature out
    low: np.ndarray  # smallest and largest known value, for pairs with a missing one
    high: np.ndarray
    nominal: np.ndarray
    cosine: bool


def all_distances(metric: Metric, A: Any, B: Any, params: Params) -> np.ndarray:
    """Return the distances between all rows of A and all rows of B."""
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        A, B = A != 0, B != 0
    with np.errstate(over="ignore", invalid="ignore"):
        distances = pairwise_distances(A, B, metric=metric, n_jobs=1, **params)
    if np.isinf(distances).any():
        raise InputError(
            f"The metric {metric!r} must give finite distances",
            "Some distances are infinite, since X has very large numbers",
            "Scale X down first, for example with sklearn.preprocessing.MaxAbsScaler",
        )
    return np.ascontiguousarray(distances, dtype=np.float64)


def paired_distances(metric: Metric, A: Any, B: Any, params: Params) -> np.ndarray:
    """Return the distances between row t of A and row t of B, for all t."""
    if callable(metric):
        return np.array([metric(a, b) for a, b in zip(A, B)], dtype=np.float64)
    out = np.empty(A.shape[0])
    for start in range(0, len(out), _PAIRS):
        part = slice(start, start + _PAIRS)
        out[part] = np.diagonal(all_distances(metric, A[part], B[part], params))
    return out


def rank(
    Q: Any,
    queries: np.ndarray,
    X: Any,
    own: np.ndarray,
    candidates: Candidates,
    metric: CompiledMetric,
    k: int,
) -> TopK:
    """Return the k nearest among the candidates of each query row of Q."""
    nearest = new_top_k(len(queries), k)
    candidates = Candidates(*map(_as_list, candidates))
    queries, own = map(_as_list, (queries, own))
    if sp.issparse(X):
        of_q, of_x = sparse_rows(Q, X)
        rank_sparse(*of_q, queries, *of_x, own, candidates, metric, nearest)
    else:
        Q, X = map(np.ascontiguousarray, (Q, X))
        rank_dense(Q, queries, X, own, candidates, metric, nearest)
    return nearest


def _as_list(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers, dtype=np.int64)


def sparse_rows(*tables: Any) -> list[SparseRows]:
    """Return the arrays of CSR tables, with indices of one type."""
    index = np.result_type(*(part for X in tables for part in (X.indices, X.indptr)))
    return [
        SparseRows(X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False))
        for X in tables
    ]
