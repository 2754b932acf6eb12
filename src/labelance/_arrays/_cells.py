"""Cells and columns of tables, dense or sparse; of scores, one that is not stored is 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import to_dense


def take_cells(table: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the values of single cells.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._cells import take_cells
    >>> take_cells(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), np.array([1, 0]))
    array([2., 3.])
    """
    if sp.issparse(table):
        if not len(rows):  # SciPy would return a sparse matrix
            return np.zeros(0, dtype=table.dtype)
        return np.asarray(sp.csr_matrix(table)[rows, columns]).ravel()
    found: np.ndarray = table[rows, columns]
    return found


def iterate_columns(table: Any) -> Iterator[np.ndarray]:
    """Yield every column as a dense array; only one column of a sparse table at a time."""
    if not sp.issparse(table):
        yield from np.asarray(table).T
        return
    table = sp.csc_array(table)
    for start, end in zip(table.indptr, table.indptr[1:]):
        column = np.zeros(table.shape[0])
        column[table.indices[start:end]] = table.data[start:end]
        yield column


def iterate_stored(table: Any) -> Iterator[np.ndarray]:
    """Yield the stored values of every column: all of a dense one."""
    if not sp.issparse(table):
        yield from np.asarray(table).T
        return
    table = sp.csc_array(table)
    for start, end in zip(table.indptr, table.indptr[1:]):
        yield table.data[start:end]


def stored_columns(table: Any) -> np.ndarray:
    """Return the columns of `stored_values`: of each, or of every row of a dense table."""
    columns: np.ndarray = table.indices if sp.issparse(table) else np.arange(table.shape[1])
    return columns


def find_stored(table: Any, chosen: np.ndarray) -> tuple[int, int]:
    """Return row and column of the first of `stored_values` that is chosen."""
    at = int(np.argmax(chosen))
    if sp.issparse(table):
        return int(np.searchsorted(table.indptr, at, "right")) - 1, int(table.indices[at])
    return at // table.shape[1], at % table.shape[1]


def rows_with_missing(table: Any) -> np.ndarray:
    """Return which rows have a missing value, as a mask."""
    if not sp.issparse(table):
        return np.isnan(table).any(axis=1)
    missing = np.concatenate(([0], np.cumsum(np.isnan(table.data))))
    return np.diff(missing[table.indptr]) > 0


def have_same_bits(a: Any, b: Any) -> bool:
    """Tell whether kind, shape and bits are equal; -0.0 is not 0.0, and NaN equals NaN."""
    if sp.issparse(a) != sp.issparse(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not sp.issparse(a):
        return bool(np.array_equal(_bits(a), _bits(b)))
    return bool(
        np.array_equal(a.indptr, b.indptr)
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(_bits(a.data), _bits(b.data))
    )


def _bits(values: np.ndarray) -> np.ndarray:
    """Return values as integers, with one pattern for every NaN."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), np.nan, values).view(np.int64)


def cells_at_least(table: Any, thresholds: np.ndarray) -> Any:
    """Return 1 where a cell reaches the threshold of its column: an array, or CSR for CSR.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from labelance._arrays._cells import cells_at_least
    >>> table = np.array([[0.5, 0.0], [0.0, 0.7]])
    >>> cells_at_least(table, np.array([0.5, -np.inf]))
    array([[1, 1],
           [0, 1]])
    >>> cells_at_least(csr_array(table), np.array([0.5, -np.inf])).toarray()
    array([[1, 1],
           [0, 1]])
    """
    if not sp.issparse(table):
        return (np.asarray(table) >= thresholds).astype(np.int64)
    reached = (table.data >= thresholds[table.indices]) & (thresholds > 0)[table.indices]
    chosen = sp.csr_array(
        (reached.astype(np.int64), table.indices, table.indptr), shape=table.shape, copy=True
    )
    # Zeros reach these thresholds, so that most of their cells are not stored.
    low = np.flatnonzero(thresholds <= 0)
    if len(low):
        ones = sp.csr_array((table[:, low].toarray() >= thresholds[low]).astype(np.int64))
        place = (np.ones(len(low), dtype=np.int64), (np.arange(len(low)), low))
        chosen = sp.csr_array(chosen + ones @ sp.csr_array(place, shape=(len(low), table.shape[1])))
    chosen.eliminate_zeros()
    return chosen


def store_all_cells(table: Any) -> sp.csr_array:
    """Return a dense table as CSR that stores every cell; CSR as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._cells import store_all_cells
    >>> store_all_cells(np.array([[0.0, 0.5]])).nnz
    2
    """
    if sp.issparse(table):
        return table
    n, q = table.shape
    dtype = np.int32 if n * q < 2**31 else np.int64
    columns = np.tile(np.arange(q, dtype=dtype), n)
    starts = q * np.arange(n + 1, dtype=dtype)
    return sp.csr_array((np.ascontiguousarray(table).ravel(), columns, starts), shape=(n, q))


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the smallest integer type for labels that also holds the number of every label.

    scikit-learn 1.9 casts the numbers of labels to the type of y (`label_binarize`, inside
    OneVsRestClassifier and MLPClassifier): in int8, labels from the 129th on change places, and
    without notice. Labels that go to others therefore have this type; inside they are int8.

    Examples
    --------
    >>> from labelance._arrays._cells import label_dtype
    >>> label_dtype(128), label_dtype(129)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_labels, 1))


def join_columns(parts: Sequence[Any]) -> Any:
    """Return tables side by side; sparse if one of them is."""
    if any(map(sp.issparse, parts)):
        return sp.hstack([sp.csr_array(part) for part in parts], format="csr")
    return np.hstack(parts)


def count_nonzero(table: Any) -> int:
    """Return the number of cells that are not 0."""
    return int(table.count_nonzero() if sp.issparse(table) else np.count_nonzero(table))


def stored_cells(table: Any) -> int | None:
    """Return the number of stored cells of a sparse table, None for dense."""
    return int(table.nnz) if sp.issparse(table) else None


def largest_sizes(table: Any) -> np.ndarray:
    """Return the largest size in every column, missing values left out; 0 where there is none."""
    sizes = abs(table)
    if not sp.issparse(sizes):
        return np.nan_to_num(sizes).max(axis=0)
    sizes.data = np.nan_to_num(sizes.data)
    return np.asarray(to_dense(sizes.max(axis=0)), dtype=float).ravel()


def divide_columns(table: Any, by: np.ndarray, most: float) -> Any:
    """Return columns divided by numbers; what is larger than ``most`` then is ``most``."""
    with np.errstate(over="ignore"):
        if not sp.issparse(table):
            return np.clip(table / by, -most, most)
        cells = np.clip(table.data / by[table.indices], -most, most)
        return sp.csr_array((cells, table.indices, table.indptr), shape=table.shape)


def inverse_frequencies(table: Any) -> np.ndarray | None:
    """Return logarithms of the inverse frequencies of a sparse table's columns, None for dense."""
    if not sp.issparse(table):
        return None
    n, d = table.shape
    return np.log((1 + n) / (1 + np.bincount(table.indices, minlength=d))) + 1


def to_columns(table: Any) -> Any:
    """Return a sparse table by columns (CSC), and a dense one as it is."""
    return table.tocsc() if sp.issparse(table) else table
