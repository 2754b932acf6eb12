"""What a space learns about each feature: its known range and its standard deviation.

Dense and sparse data go through the same additions in the same order, so that both give the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

_CELLS = 1 << 20  # cells of a dense block looked at together


def column_range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest known value of every column (NaN where none is known)."""
    if not sp.issparse(X):
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        return low.astype(np.float64), high.astype(np.float64)
    n, d = X.shape
    by_column = X.tocsc()
    filled = np.flatnonzero(np.diff(by_column.indptr))
    starts = by_column.indptr[filled]
    low, high = np.zeros(d), np.zeros(d)
    if len(filled):
        low[filled] = np.fmin.reduceat(by_column.data, starts)
        high[filled] = np.fmax.reduceat(by_column.data, starts)
    has_zero = np.diff(by_column.indptr) < n
    low[has_zero], high[has_zero] = np.fmin(low, 0.0)[has_zero], np.fmax(high, 0.0)[has_zero]
    return low, high


def column_std(X: Any) -> np.ndarray:
    """Return the population standard deviation of the known values of every column."""
    n, d = X.shape
    total, filled, missing = np.zeros(d), np.zeros(d), np.zeros(d)
    for columns, values in _stored(X):
        known = ~np.isnan(values)
        np.add.at(total, columns[known], values[known])
        filled += np.bincount(columns[known], minlength=d)
        missing += np.bincount(columns[~known], minlength=d)
    known_rows = np.maximum(n - missing, 1.0)
    mean = total / known_rows
    squares = (known_rows - filled) * mean**2  # the zeros, all at once
    for columns, values in _stored(X):
        known = ~np.isnan(values)
        columns, values = columns[known], values[known]
        np.add.at(squares, columns, (values - mean[columns]) ** 2)
    return np.sqrt(squares / known_rows)


def _stored(X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield columns and float64 values of the non-zero cells, row after row."""
    if sp.issparse(X):
        for start in range(0, X.nnz, _CELLS):
            part = slice(start, start + _CELLS)
            yield X.indices[part], X.data[part].astype(np.float64)
        return
    step = max(1, _CELLS // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        block = X[start : start + step]
        rows, columns = np.nonzero(block)
        yield columns, block[rows, columns].astype(np.float64)
