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

from labelance._arrays._containers import SparseRows, sparse_rows
from labelance._utils._kernel import inlined_kernel, inner_kernel, kernel, read_only
from labelance.exceptions import InputError
from labelance.neighbors._tensor_metric import FAINT, LIFT
from labelance.neighbors._topk import Candidates, TopK, insert, new_top_k

Metric = str | Callable[[np.ndarray, np.ndarray], float]
Params = dict[str, np.ndarray]

_PAIRS = 32  # pairs measured by one call of scikit-learn, which measures all their combinations
_UP = 1.0 + 2.0**-50  # sums a few units apart may have the same root
_FAINT_SQUARE = FAINT * FAINT
_NO_COLUMN = np.iinfo(np.int64).max


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
    lists = np.ascontiguousarray(candidates.rows)
    candidates = Candidates(read_only(lists), read_only(candidates.counts))
    width, low, high, nominal = map(read_only, metric[:4])
    metric = CompiledMetric(width, low, high, nominal, metric.cosine)
    if sp.issparse(X):
        _rank_sparse(sparse_rows(Q), queries, sparse_rows(X), own, candidates, metric, nearest)
    else:
        _rank_dense(read_only(Q), queries, read_only(X), own, candidates, metric, nearest)
    return nearest


@inlined_kernel
def _missing_gap(x: float, z: float, low: float, high: float) -> float:
    """Return the largest difference that the missing value, or values, could make."""
    if x != x and z != z:
        return high - low
    known = z if x != x else x
    above, below = high - known, known - low
    return below if below > above else above


@inlined_kernel
def _squared_gap(
    x: float, z: float, nominal: bool, width: float, low: float, high: float, lift: float
) -> float:
    if nominal:
        return lift * lift if x != z else 0.0  # NaN differs from everything, itself included
    gap = (x - z) / width
    if gap != gap:
        gap = _missing_gap(x, z, low, high) / width
    return gap * lift * (gap * lift)


@inlined_kernel
def _cosine(xz: float, xx: float, zz: float) -> float:
    if xx == 0.0 or zz == 0.0:
        return 1.0
    distance = 1.0 - xz / (np.sqrt(xx) * np.sqrt(zz))
    return distance if distance > 0.0 else 0.0


@inlined_kernel
def _dense_pair(
    Q: np.ndarray, q: int, X: np.ndarray, row: int, metric: CompiledMetric, limit: float
) -> float:
    """Return the distance; where it is not below the limit, any number that is not either."""
    width, low, high, nominal, cosine = metric
    xz = xx = zz = total = 0.0
    if cosine:
        for f in range(width.size):
            x, z = np.float64(Q[q, f]) / width[f], np.float64(X[row, f]) / width[f]
            xz, xx, zz = xz + x * z, xx + x * x, zz + z * z
        return _cosine(xz, xx, zz)
    lift, enough = 1.0, limit * limit * _UP
    while True:
        for f in range(width.size):
            x, z = np.float64(Q[q, f]), np.float64(X[row, f])
            total += _squared_gap(x, z, nominal[f], width[f], low[f], high[f], lift)
            if total >= enough:  # the sum never falls
                break
        if total >= _FAINT_SQUARE or lift > 1.0:
            return np.sqrt(total) / lift
        # Rows are equal, or squares have vanished. What overflows now is beyond a faint limit.
        total, lift, enough = 0.0, LIFT, np.inf


@inlined_kernel
def _sparse_pair(
    A: SparseRows, i: int, B: SparseRows, j: int, metric: CompiledMetric, limit: float
) -> float:
    """Return what :func:`_dense_pair` would, from the stored entries alone."""
    xz, xx, zz, total = _sparse_sums(A, i, B, j, metric, limit * limit * _UP, 1.0)
    if metric.cosine:
        return _cosine(xz, xx, zz)
    if total >= _FAINT_SQUARE:
        return np.sqrt(total)
    return np.sqrt(_sparse_sums(A, i, B, j, metric, np.inf, LIFT)[3]) / LIFT


@inner_kernel
def _sparse_sums(
    A: SparseRows,
    i: int,
    B: SparseRows,
    j: int,
    metric: CompiledMetric,
    enough: float,
    lift: float,
) -> tuple[float, float, float, float]:
    """Return the products of two rows, or the sum of their squared differences."""
    width, low, high, nominal, cosine = metric
    p, p_end, r, r_end = A.indptr[i], A.indptr[i + 1], B.indptr[j], B.indptr[j + 1]
    xz = xx = zz = total = 0.0
    while (p < p_end or r < r_end) and total < enough:
        in_a = np.int64(A.indices[p]) if p < p_end else _NO_COLUMN
        in_b = np.int64(B.indices[r]) if r < r_end else _NO_COLUMN
        f, x, z = int(min(in_a, in_b)), 0.0, 0.0
        if in_a == f:
            x = np.float64(A.data[p])
            p += 1
        if in_b == f:
            z = np.float64(B.data[r])
            r += 1
        if cosine:
            x, z = x / width[f], z / width[f]
            xz, xx, zz = xz + x * z, xx + x * x, zz + z * z
        else:
            total += _squared_gap(x, z, nominal[f], width[f], low[f], high[f], lift)
    return xz, xx, zz, total


@kernel
def _rank_dense(
    Q: np.ndarray,
    queries: np.ndarray,
    X: np.ndarray,
    own: np.ndarray,
    candidates: Candidates,
    metric: CompiledMetric,
    nearest: TopK,
) -> None:
    """Fill ``nearest`` from each query's candidates, ties by their order.

    Candidates are in ascending order, or in the order of an earlier ranking followed by higher
    rows; so who comes later in the list loses a tie.
    """
    rows, counts = candidates
    for i in range(queries.size):
        line = i if rows.shape[0] > 1 else 0
        limit = np.inf
        for c in range(counts[line]):
            row = rows[line, c]
            if row != own[i]:
                distance = _dense_pair(Q, queries[i], X, row, metric, limit)
                if distance < limit:
                    insert(row, distance, nearest, i)
                    limit = nearest.values[i, -1]
                    if limit == 0.0:
                        break


@kernel
def _rank_sparse(
    Q: SparseRows,
    queries: np.ndarray,
    X: SparseRows,
    own: np.ndarray,
    candidates: Candidates,
    metric: CompiledMetric,
    nearest: TopK,
) -> None:
    """Do the same for CSR rows."""
    rows, counts = candidates
    for i in range(queries.size):
        line = i if rows.shape[0] > 1 else 0
        limit = np.inf
        for c in range(counts[line]):
            row = rows[line, c]
            if row != own[i]:
                distance = _sparse_pair(Q, queries[i], X, row, metric, limit)
                if distance < limit:
                    insert(row, distance, nearest, i)
                    limit = nearest.values[i, -1]
                    if limit == 0.0:
                        break
