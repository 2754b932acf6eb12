"""Verbs on the columns and cells of clean rows, whatever holds them.

Dense and sparse data go through the same additions in the same order, so that both give the
same bits. What a tensor needs is in ``_torch``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import min_max_axis

from labelance._arrays import _torch
from labelance._arrays._containers import is_blocks, is_dask, on_device, stored_values
from labelance._arrays._dask import compute, cut_pairs, cut_rows, map_blocks
from labelance._arrays._memory import row_blocks
from labelance._arrays._sparse import narrow_indices

_CELLS = 1 << 20  # cells of sparse rows looked at together


# --- rows in memory or in blocks ---------------------------------------------------------------


def map_rows(function: Callable[[Any], Any], X: Any) -> Any:
    """Return the rows that a function makes of clean rows, later and block by block in Dask."""
    return X.transform(function) if is_blocks(X) else function(X)


def each_block(function: Callable[..., Any], X: Any, *more: Any) -> list[Any]:
    """Return what a function gives for each block of clean rows; rows in memory are one block."""
    return X.compute(function, *map(repeat, more)) if is_blocks(X) else [function(X, *more)]


def fold_rows(function: Callable[..., Any], X: Any, state: Any) -> Any:
    """Return ``function(X, state)``, handed on from block to block where rows are in blocks."""
    return X.fold(function, state) if is_blocks(X) else function(X, state)


Pairs = tuple[np.ndarray | None, np.ndarray | None]


def map_pairs(
    function: Callable[..., np.ndarray], A: Any, B: Any, choices: Sequence[Pairs]
) -> list[np.ndarray]:
    """Return ``function(A, B, rows_a, rows_b)`` for each choice of rows; None stands for all.

    Where A or B is in blocks, function gets those of both, which are made once for all choices.
    """
    if not (is_blocks(A) or is_blocks(B)):
        return [function(A, B, *rows) for rows in choices]
    tasks = [map_blocks(function, *cut_pairs(A, B, *rows)) for rows in choices]
    found = iter(compute(chain.from_iterable(tasks)))
    return [np.concatenate(list(islice(found, len(blocks)))) for blocks in tasks]


def peek_columns(data: Any) -> Any:
    """Return a table with the columns of ``data``: itself, or one without rows for Dask."""
    if not is_dask(data):
        return data
    return data._meta if hasattr(data, "columns") else np.empty((0, data.shape[1]), data.dtype)


# --- what columns hold ----------------------------------------------------------------------------


def column_range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and largest known value of every column (NaN where none is known)."""
    if on_device(X):
        return _torch.column_range(X)
    if is_blocks(X):
        lows, highs = zip(*X.compute(column_range))
        return np.fmin.reduce(lows), np.fmax.reduce(highs)
    if not sp.issparse(X):
        low, high = np.full((2, X.shape[1]), np.nan)
        for part in row_blocks(X):
            low = np.fmin(low, np.fmin.reduce(X[part], axis=0))
            high = np.fmax(high, np.fmax.reduce(X[part], axis=0))
        return low, high
    low, high = min_max_axis(X, axis=0, ignore_nan=True)
    return low.astype(np.float64), high.astype(np.float64)


def column_std(X: Any) -> np.ndarray:
    """Return the population standard deviation of the known values of every column."""
    if on_device(X):
        return _torch.column_std(X)
    n, d = X.shape
    # Blocks of rows are added one after the other, since another order gives other last digits.
    total, filled, missing = fold_rows(_add_cells, X, np.zeros((3, d)))
    known_rows = np.maximum(n - missing, 1.0)
    mean = total / known_rows
    squares = (known_rows - filled) * mean**2  # the zeros, all at once
    squares = fold_rows(partial(_add_squares, mean=mean), X, squares)
    return np.sqrt(squares / known_rows)


def quick_column_std(X: Any) -> np.ndarray:
    """Return about `column_std` of rows in memory: dense ones are added in any order."""
    if sp.issparse(X):
        return column_std(X)
    known = ~np.isnan(X)
    n = np.maximum(np.count_nonzero(known, axis=0), 1)
    mean = np.sum(X, axis=0, where=known) / n
    return np.sqrt(np.sum((X - mean) ** 2, axis=0, where=known) / n)


def _add_cells(X: Any, state: np.ndarray) -> np.ndarray:
    """Add, column by column, known values, how many of them are not 0, and missing ones."""
    total, filled, missing = state = state.copy()
    for columns, values in _stored_cells(X):
        known = ~np.isnan(values)
        np.add.at(total, columns[known], values[known])
        filled += np.bincount(columns[known], minlength=len(filled))
        missing += np.bincount(columns[~known], minlength=len(missing))
    return state


def _add_squares(X: Any, squares: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Add the squared differences from the mean of values that are known and not 0."""
    squares = squares.copy()
    for columns, values in _stored_cells(X):
        known = ~np.isnan(values)
        columns, values = columns[known], values[known]
        np.add.at(squares, columns, (values - mean[columns]) ** 2)
    return squares


def _stored_cells(X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield columns and float64 values of the non-zero cells, row after row."""
    if sp.issparse(X):
        for start in range(0, X.nnz, _CELLS):
            part = slice(start, start + _CELLS)
            yield X.indices[part], X.data[part].astype(np.float64)
        return
    for part in row_blocks(X):
        block = X[part]
        rows, columns = np.nonzero(block)
        yield columns, block[rows, columns].astype(np.float64)


def column_means(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the known values of every column, and whether some are missing."""
    n, d = X.shape
    stored = stored_values(X)
    known = np.nan_to_num(stored.astype(np.float64))
    if sp.issparse(X):
        missing = np.bincount(X.indices[np.isnan(stored)], minlength=d)
        total = np.bincount(X.indices, weights=known, minlength=d)
    else:
        missing = np.isnan(stored).sum(axis=0)
        with np.errstate(over="ignore"):  # as bincount does
            total = known.sum(axis=0)
    return total / np.maximum(n - missing, 1), missing > 0


def total_variance(X: Any) -> float:
    """Return the variance of all cells together."""
    if not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    cells = X.shape[0] * X.shape[1]
    values = X.data.astype(np.float64)
    return float(values @ values / cells - (values.sum() / cells) ** 2)


def has_missing(X: Any, columns: np.ndarray) -> bool:
    """Tell whether one of the masked columns has a missing value."""
    if on_device(X):
        return bool(X.isnan().any())
    stored = stored_values(X)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (stored[part].sum(dtype=np.float64) for part in row_blocks(stored))
        if not any(map(np.isnan, sums)):
            return False
    if sp.issparse(X):
        return bool(columns[X.indices[np.isnan(X.data)]].any())
    return any(np.isnan(X[part][:, columns]).any() for part in row_blocks(X))


def columns_beyond_binary(X: Any, columns: np.ndarray) -> np.ndarray:
    """Return those of the masked columns that hold anything but 0 and 1."""
    if not columns.any():
        return np.empty(0, dtype=int)
    if sp.issparse(X):
        other = np.unique(X.indices[X.data != 1])
        return other[columns[other]]
    listed = np.flatnonzero(columns)
    plain = np.ones(len(listed), dtype=bool)
    for part in row_blocks(X):
        cells = X[part][:, listed]
        plain &= ((cells == 0) | (cells == 1)).all(axis=0)
    return listed[~plain]


def cells_by_column(X: Any, columns: np.ndarray) -> Iterator[tuple[int, Any]]:
    """Give each column and where its cells are in `stored_values`; one sort serves all columns."""
    if not sp.issparse(X):
        yield from ((int(j), (slice(None), int(j))) for j in columns)
        return
    order = np.argsort(X.indices, kind="stable")
    by_column = X.indices[order]
    starts = np.searchsorted(by_column, columns, side="left")
    stops = np.searchsorted(by_column, columns, side="right")
    for j, start, stop in zip(columns, starts, stops):
        yield int(j), order[start:stop]


# --- other rows made of them ----------------------------------------------------------------------


def divide_columns(X: Any, width: np.ndarray) -> Any:
    """Return X in float64 with every column divided by its width."""
    if is_blocks(X):
        return X.transform(partial(divide_columns, width=width))
    if on_device(X):
        return X / _torch.to_device(width, X)
    if not sp.issparse(X):
        return X / width
    return narrow_indices(
        sp.csr_array((X.data / width[X.indices], X.indices, X.indptr), shape=X.shape)
    )


def largest_in_rows(X: Any, width: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of every row, its features divided by their widths."""
    if on_device(X):
        return _torch.largest_in_rows(X, width)
    if not sp.issparse(X):
        return np.concatenate([abs(X[part] / width).max(axis=1) for part in row_blocks(X)])
    largest = np.zeros(X.shape[0])
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        cells = abs(X.data / width[X.indices])
        largest[filled] = np.maximum.reduceat(cells, X.indptr[filled])
    return largest


def shift_exponents(X: Any, shift: np.ndarray) -> Any:
    """Return float64 rows, each multiplied by 2 to its ``shift``, exactly."""
    if on_device(X):
        return _torch.shift_exponents(X, shift)
    if not sp.issparse(X):
        return np.ldexp(X, shift[:, np.newaxis])
    data = np.ldexp(X.data, np.repeat(shift, np.diff(X.indptr)))
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def divide_rows(sums: Any, sizes: np.ndarray, dtype: np.dtype) -> Any:
    """Return every row divided by its size, as ``dtype``; sparse rows are canonical."""
    if not sp.issparse(sums):
        return (sums / sizes[:, None]).astype(dtype)
    means = sp.csr_array(sums)
    means.data /= np.repeat(sizes, np.diff(means.indptr))
    means = means.astype(dtype)
    means.eliminate_zeros()
    means.sort_indices()
    return means


def fill_missing(X: Any, columns: np.ndarray) -> Any:
    """Return a copy of X with 0 for what is missing in the masked columns."""
    X = X.copy()
    if sp.issparse(X):
        X.data[np.isnan(X.data) & columns[X.indices]] = 0
        X.eliminate_zeros()
    else:
        X[:, columns] = np.nan_to_num(X[:, columns])
    return X


def replace_columns(X: Any, columns: np.ndarray, new: Any) -> Any:
    """Return X with other cells in the masked columns; a dense X is changed in place.

    ``new`` has these columns alone where X is dense, and all columns where it is sparse.
    """
    if is_blocks(X):
        return X.transform(_replace_in_copy, repeat(columns), cut_rows(new, X.edges))
    if not sp.issparse(X):
        X[:, columns] = new
        return X
    X.data[columns[X.indices]] = 0.0
    X.eliminate_zeros()
    return X + new


def _replace_in_copy(block: Any, columns: np.ndarray, new: Any) -> Any:
    """Do so for a task of Dask, which may not change what it was given."""
    return replace_columns(block.copy(), columns, new)


def to_one_kind(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both tables as they are, or as CSR arrays where one of them is sparse."""
    if sp.issparse(A) == sp.issparse(B):
        return A, B
    return sp.csr_array(A), sp.csr_array(B)


def to_rows(X: Any) -> Any:
    """Return a sparse matrix of any format as CSR, of which rows are taken; others as they are."""
    return X.tocsr() if sp.issparse(X) else X


def gather_in_memory(X: Any, rows: np.ndarray) -> Any:
    """Return a few rows in the computer's own memory, or on the device where they are."""
    return X.gather(rows) if is_blocks(X) else X[rows]


def bytes_per_row(X: Any) -> float:
    """Return the memory of a row of a dense or CSR array."""
    if sp.issparse(X):
        return float(X.nnz / X.shape[0] * (X.dtype.itemsize + X.indices.itemsize))
    return float(X.shape[1] * X.dtype.itemsize)


def places_in(ends: np.ndarray, numbers: np.ndarray, near: Any) -> np.ndarray:
    """Return the first place of ascending ``ends`` that is not below each number.

    It is found on the device of the rows ``near``, if they are on one.
    """
    if on_device(near):
        return _torch.places_in(ends, numbers, near)
    return np.searchsorted(ends, numbers, side="left")
