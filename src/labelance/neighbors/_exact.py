"""The definition of the distance, compiled: everything else only decides whom to measure.

The distance of two rows is the root of a float64 sum over the features in column order. A
feature in which both rows are zero adds exactly 0, so merging two sparse rows gives the same
bits as walking two dense ones, and no block, thread or engine can change an answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelance._utils import kernel

_UP = 1.0 + 2.0**-50  # sums a few units apart may have the same root
_NO_COLUMN = np.iinfo(np.int64).max


class Measure(NamedTuple):
    """What a space hands to compiled code, one entry per feature."""

    width: np.ndarray  # a difference is divided by it: 1 is plain, inf leaves the feature out
    low: np.ndarray  # smallest and largest known value, for pairs with a missing one
    high: np.ndarray
    nominal: np.ndarray
    cosine: bool


class SparseRows(NamedTuple):
    """A CSR matrix as compiled code sees it."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def sparse_rows(X: Any) -> SparseRows:
    """Return the three arrays of a CSR matrix under their names."""
    return SparseRows(X.data, X.indices, X.indptr)


@kernel
def _missing_gap(x: float, z: float, low: float, high: float) -> float:
    """Return the largest difference that the missing value, or values, could make."""
    if x != x and z != z:
        return high - low
    known = z if x != x else x
    return max(high - known, known - low)


@kernel
def _squared_gap(x: float, z: float, nominal: bool, width: float, low: float, high: float) -> float:
    if nominal:
        return 1.0 if x != z else 0.0  # NaN differs from everything, itself included
    gap = (x - z) / width
    if gap != gap:
        gap = _missing_gap(x, z, low, high) / width
    return gap * gap


@kernel
def _cosine(xz: float, xx: float, zz: float) -> float:
    if xx == 0.0 or zz == 0.0:
        return 1.0
    return max(0.0, 1.0 - xz / (np.sqrt(xx) * np.sqrt(zz)))


@kernel
def _dense_pair(x: np.ndarray, z: np.ndarray, measure: Measure, limit: float) -> float:
    """Return the distance; where it is not below the limit, any number that is not either."""
    width, low, high, nominal, cosine = measure
    xz = xx = zz = total = 0.0
    if cosine:
        for f in range(x.size):
            a, b = np.float64(x[f]) / width[f], np.float64(z[f]) / width[f]
            xz, xx, zz = xz + a * b, xx + a * a, zz + b * b
        return _cosine(xz, xx, zz)
    enough = limit * limit * _UP
    for f in range(x.size):
        a, b = np.float64(x[f]), np.float64(z[f])
        total += _squared_gap(a, b, nominal[f], width[f], low[f], high[f])
        if total >= enough:  # the sum never falls
            break
    return np.sqrt(total)


@kernel
def _sparse_pair(
    A: SparseRows, i: int, B: SparseRows, j: int, measure: Measure, limit: float
) -> float:
    """Return what :func:`_dense_pair` would, from the stored entries alone."""
    width, low, high, nominal, cosine = measure
    p, p_end, r, r_end = A.indptr[i], A.indptr[i + 1], B.indptr[j], B.indptr[j + 1]
    xz = xx = zz = total = 0.0
    enough = limit * limit * _UP
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
            total += _squared_gap(x, z, nominal[f], width[f], low[f], high[f])
    return _cosine(xz, xx, zz) if cosine else np.sqrt(total)


@kernel
def insert(row: int, value: Any, rows: np.ndarray, values: np.ndarray) -> None:
    """Put ``row`` behind all that are as near or nearer, and let the last one fall out."""
    p = values.size - 1
    while p > 0 and values[p - 1] > value:
        values[p], rows[p] = values[p - 1], rows[p - 1]
        p -= 1
    values[p], rows[p] = value, row


@kernel
def rank_dense(
    Q: np.ndarray,
    queries: np.ndarray,
    X: np.ndarray,
    own: np.ndarray,
    pool: np.ndarray,
    counts: np.ndarray,
    measure: Measure,
    rows: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Fill ``rows`` and ``distances`` with the nearest of each query's pool, ties by pool order.

    A pool of one line serves all queries. Pools list rows in ascending order, or in the order
    of an earlier ranking followed by higher rows; so who comes later in a pool loses a tie.
    """
    k = rows.shape[1]
    for i in range(queries.size):
        line = min(i, pool.shape[0] - 1)
        distances[i] = np.inf
        rows[i] = -1
        for c in range(counts[line]):
            row = pool[line, c]
            limit = distances[i, k - 1]
            if limit == 0.0:
                break
            if row != own[i]:
                distance = _dense_pair(Q[queries[i]], X[row], measure, limit)
                if distance < limit:
                    insert(row, distance, rows[i], distances[i])


@kernel
def rank_sparse(
    Q: SparseRows,
    queries: np.ndarray,
    X: SparseRows,
    own: np.ndarray,
    pool: np.ndarray,
    counts: np.ndarray,
    measure: Measure,
    rows: np.ndarray,
    distances: np.ndarray,
) -> None:
    """Do the same for CSR rows."""
    k = rows.shape[1]
    for i in range(queries.size):
        line = min(i, pool.shape[0] - 1)
        distances[i] = np.inf
        rows[i] = -1
        for c in range(counts[line]):
            row = pool[line, c]
            limit = distances[i, k - 1]
            if limit == 0.0:
                break
            if row != own[i]:
                distance = _sparse_pair(Q, queries[i], X, row, measure, limit)
                if distance < limit:
                    insert(row, distance, rows[i], distances[i])
