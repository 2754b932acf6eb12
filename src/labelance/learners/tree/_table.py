"""X, prepared once for any number of trees: every cell by column, in order, and by row.

A cell is a *rank*: the position of its value among the distinct values of its column, or the
code of its category. Each column has at most one *implicit* rank whose cells are not stored
(zeros of a sparse X, the commonest value of a dense column), so that the price of a column
is the number of its other cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

ROW, RANK = np.uint64((1 << 32) - 1), np.uint64(32)  # a cell is rank << RANK | row
MISSING = np.int32(2**31 - 1)  # the rank of a missing cell: after all others
NO_RANK = np.int32(-1)  # a column without implicit cells

ONE, SIX_BITS = np.uint64(1), np.uint64(63)
_MOST_BYTES_OF_BITS = 1 << 27
_NO_BITS = np.full(1, ~np.uint64(0)), 0  # every cell may be stored

Ints = NDArray[np.int64]


class Cells(NamedTuple):
    """The explicit cells of all columns, column by column."""

    column: Ints
    row: Ints
    rank: NDArray[np.int32]


class TreeTable(NamedTuple):
    """X as trees see it; made by :func:`prepare`, shared by all trees and threads.

    Compiled code takes it as it is, which is why it is a plain tuple of arrays.
    """

    n_rows: int
    n_categories: NDArray[np.int32]  # of each feature; 0 for a numeric one
    implicit: NDArray[np.int32]  # rank of the cells that are not stored
    column_start: Ints  # cells of feature f: column_start[f] to column_start[f + 1]
    cells: NDArray[np.uint64]  # rank << 32 | row, ascending in each numeric column
    row_start: Ints
    row_feature: NDArray[np.int32]  # ends with one that is not a feature, to look at safely
    row_rank: NDArray[np.int32]
    stored: NDArray[np.uint64]  # a bit per cell: is it explicit?
    words: int  # of them per row; 0 if they are no help, and then one word of ones stands in
    level_start: Ints  # distinct values of numeric feature f, ascending
    levels: NDArray[np.float64]

    @property
    def n_features(self) -> int:
        return len(self.n_categories)

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return not bool(np.any(self.row_rank == MISSING))

    @property
    def binary(self) -> bool:
        """Whether every feature has two categories."""
        return bool(np.all(self.n_categories == 2))


def prepare(X: Any, n_categories: NDArray[np.int32]) -> TreeTable:
    """Sort and rank every column of a clean X, once for all trees.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Finite numbers or NaN; nominal columns hold codes 0, 1, …
    n_categories : ndarray of shape (d,)
        Number of categories of every nominal feature, 0 for a numeric one.
    """
    n, d = X.shape
    nominal = np.flatnonzero(n_categories > 0)
    numeric = np.flatnonzero(n_categories == 0)
    implicit = np.full(d, NO_RANK, dtype=np.int32)
    level_counts = np.zeros(d, dtype=np.int64)
    coded = _nominal_cells(X, nominal, n_categories, implicit)
    ranked, levels = _numeric_cells(X, numeric, implicit, level_counts)
    cells = _by_column(coded, ranked)
    column_start = _starts(np.bincount(cells.column, minlength=d))
    by_row = csc_array((cells.rank, cells.row, column_start), shape=(n, d)).tocsr()
    return assemble(
        n_categories=n_categories.astype(np.int32),
        implicit=implicit,
        column_start=column_start,
        cells=(cells.rank.astype(np.int64) << 32 | cells.row).astype(np.uint64),
        row_start=by_row.indptr.astype(np.int64),
        row_feature=np.append(by_row.indices, NO_RANK).astype(np.int32),
        row_rank=np.append(by_row.data, NO_RANK).astype(np.int32),
        level_start=_starts(level_counts),
        levels=levels,
        bits=_stored_bits(by_row),
    )


def assemble(
    *,
    n_categories: NDArray[np.int32],
    implicit: NDArray[np.int32],
    column_start: Ints,
    cells: NDArray[np.uint64],
    row_start: Ints,
    row_feature: NDArray[np.int32],
    row_rank: NDArray[np.int32],
    level_start: Ints,
    levels: NDArray[np.float64],
    bits: tuple[NDArray[np.uint64], int] | None = None,
) -> TreeTable:
    """Put a table together from cells by column and by row; see :class:`TreeTable`.

    ``bits`` are its ``stored`` and ``words``; a table that is used once does without them.
    """
    stored, words = _NO_BITS if bits is None else bits
    return TreeTable(
        n_rows=len(row_start) - 1,
        n_categories=n_categories,
        implicit=implicit,
        column_start=column_start,
        cells=cells,
        row_start=row_start,
        row_feature=row_feature,
        row_rank=row_rank,
        stored=stored,
        words=words,
        level_start=level_start,
        levels=levels,
    )


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _stored_bits(by_row: csr_array) -> tuple[NDArray[np.uint64], int]:
    """Return one bit per cell and the words per row; no bits for dense or very large X."""
    n, d = by_row.shape
    words = (d + 63) // 64
    if 2 * by_row.nnz > n * d or 8 * n * words > _MOST_BYTES_OF_BITS:
        return _NO_BITS
    # One word more, for a look behind the last row does no harm.
    bits = np.zeros(n * words + 1, dtype=np.uint64)
    row = np.repeat(np.arange(n), np.diff(by_row.indptr))
    feature = by_row.indices.astype(np.uint64)
    np.bitwise_or.at(
        bits,
        row * words + (feature >> np.uint64(6)).astype(np.int64),
        ONE << (feature & SIX_BITS),
    )
    return bits, words


def _by_column(first: Cells, second: Cells) -> Cells:
    if len(first.column) == 0 or len(second.column) == 0:
        return first if len(first.column) else second
    both = Cells(*(np.concatenate(pair) for pair in zip(first, second)))
    order = np.argsort(both.column, kind="stable")
    return Cells(both.column[order], both.row[order], both.rank[order])


def _nominal_cells(
    X: Any, columns: Ints, n_categories: NDArray[np.int32], implicit: NDArray[np.int32]
) -> Cells:
    """Codes that are not the implicit one: 0 where X is sparse, else the commonest."""
    if issparse(X):
        column, row, value = _stored(X, columns)
        code = np.where(np.isnan(value), MISSING, value).astype(np.int32)
        implicit[columns] = 0
        return Cells(column, row, code)
    values = X[:, columns].T
    codes = np.where(np.isnan(values), MISSING, values).astype(np.int32)
    implicit[columns] = _commonest(codes, n_categories[columns])
    at, row = np.nonzero(codes != implicit[columns, None])
    return Cells(columns[at], row, codes[at, row])


def _commonest(codes: NDArray[np.int32], n_categories: NDArray[np.int32]) -> Ints:
    """Return the code that most rows of each column have, the lowest of equals."""
    starts = _starts(n_categories.astype(np.int64))[: len(codes)]
    # All columns are counted at once, each in a range of its own; a missing cell counts nowhere.
    places = (codes + starts[:, None])[codes != MISSING]
    counts = np.bincount(places, minlength=int(n_categories.sum()))
    column = np.repeat(np.arange(len(codes)), n_categories)
    order = np.lexsort((np.arange(len(counts)), -counts, column))
    return order[starts] - starts


def _numeric_cells(
    X: Any, columns: Ints, implicit: NDArray[np.int32], level_counts: Ints
) -> tuple[Cells, NDArray[np.float64]]:
    """Ranks of all stored numbers in ascending order, and the distinct numbers."""
    column, row, value = _sorted_sparse(X, columns) if issparse(X) else _sorted_dense(X, columns)
    known = ~np.isnan(value)
    fresh = np.empty(len(value), dtype=bool)
    fresh[:1] = True
    fresh[1:] = (value[1:] != value[:-1]) | (column[1:] != column[:-1])
    fresh &= known
    level_counts += np.bincount(column[fresh], minlength=len(level_counts))
    rank = np.cumsum(fresh) - 1 - _starts(level_counts)[column]
    rank = np.where(known, rank, MISSING).astype(np.int32)
    levels = value[fresh]
    stored = _hide_implicit(column, row, rank, fresh, X.shape[0], implicit)
    return Cells(column[stored], row[stored], rank[stored]), levels


def _hide_implicit(
    column: Ints,
    row: Ints,
    rank: NDArray[np.int32],
    fresh: NDArray[np.bool_],
    n: int,
    implicit: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Set every column's implicit rank; return which cells stay explicit.

    A sparse column has a stand-in cell (row -1) for its zeros. In a dense one a value is
    hidden if more than half of the rows have it, for only then is skipping it worth a pass.
    """
    stand_in = row < 0
    implicit[column[stand_in]] = rank[stand_in]
    first = np.flatnonzero(fresh)
    # Missing cells lengthen a run by mistake; at most they hide a value a little too early.
    run = np.diff(np.append(first, len(row)))
    long = first[(2 * run > n) & ~stand_in[first]]
    long = long[implicit[column[long]] == NO_RANK]
    implicit[column[long]] = rank[long]
    stored: NDArray[np.bool_] = rank != implicit[column]
    return stored


def _stored(X: Any, columns: Ints) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Columns, rows and values of the non-zeros of some columns of a sparse X."""
    part = X.tocsc() if len(columns) == X.shape[1] else X[:, columns].tocsc()
    column = np.repeat(columns, np.diff(part.indptr))
    keep = part.data != 0
    return (
        column[keep],
        part.indices[keep].astype(np.int64),
        part.data[keep].astype(np.float64),
    )


def _sorted_sparse(X: Any, columns: Ints) -> tuple[Ints, Ints, NDArray[np.float64]]:
    column, row, value = _stored(X, columns)
    with_zeros = columns[np.bincount(column, minlength=X.shape[1])[columns] < X.shape[0]]
    column = np.concatenate([column, with_zeros])
    row = np.concatenate([row, np.full(len(with_zeros), -1)])
    value = np.concatenate([value, np.zeros(len(with_zeros))])
    order = np.lexsort((value, column))
    return column[order], row[order], value[order]


def _sorted_dense(X: Any, columns: Ints) -> tuple[Ints, Ints, NDArray[np.float64]]:
    values = np.ascontiguousarray(X[:, columns].T, dtype=np.float64)
    order = np.argsort(values, axis=1)
    value = np.take_along_axis(values, order, axis=1)
    return np.repeat(columns, X.shape[0]), order.ravel(), value.ravel()
