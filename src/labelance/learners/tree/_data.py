"""What trees learn from: X, ranked by column and by row, and problems over its rows.

A cell is a *rank*: the position of its value among the distinct values of its column, or the
code of its category. Each column has at most one *implicit* rank whose cells are not stored
(zeros of a sparse X, the commonest value of a dense column), so that the price of a column
is the number of its other cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, issparse

from labelance._arrays._columns import column_range
from labelance._arrays._containers import stored_values
from labelance._validation._categorical import mask_of_columns
from labelance._validation._data import Schema, absent_if_never_known, validate_labels
from labelance.exceptions import InputError

# A cell is class << 63 | rank << RANK | CLOSE | row. It has a class only in a node, and only
# where there are two. Without CLOSE it is far enough above all lower cells to be separated.
# The same numbers are in ``_common.pxd``.
CLOSE, RANK = np.uint64(1 << 31), np.uint64(32)
VALUE_GAP = 1e-5  # two numbers closer than this are never separated
MISSING = np.int32(2**31 - 1)  # the rank of a missing cell: after all others
NO_RANK = np.int32(-1)  # a column without implicit cells

_MOST_BYTES_OF_BITS = 1 << 27
_ANY_CELL = np.full(1, ~np.uint64(0))  # where there are no bits: every cell may be stored

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]


def offsets(counts: NDArray[Any]) -> Ints:
    """Return where each of several consecutive parts begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def categories_of_features(
    X: Any,
    categorical_features: ArrayLike | None,
    n_categories: ArrayLike | None,
    names: tuple[Any, ...] | None = None,
    schema: Schema | None = None,
) -> Ints32:
    """Return the number of categories of every feature, 0 for a numeric one.

    Features may be nominal for the tree, as codes, or nominal in the data that the schema
    describes: a data frame's categorical columns, and those that a learner declares.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Clean rows.
    categorical_features : array-like or None
        The features that are nominal for the tree: a mask, column numbers or names.
    n_categories : int or array-like, optional
        Their declared numbers of categories; the codes up to the largest one if None.
    names : tuple, optional
        Names of the columns.
    schema : Schema, optional
        What else is nominal.
    """
    counts = np.zeros(X.shape[1], dtype=np.int32)
    if categorical_features is not None:
        nominal = np.flatnonzero(mask_of_columns(categorical_features, X.shape[1], names))
        counts[nominal] = _count_codes(X, nominal, n_categories)
    if schema is not None:
        # What had other cells than 0 and 1 is coded, and so in one of the next two.
        counts[schema.categorical] = 2
        for column, values in (schema.categories | schema.decoders).items():
            counts[column] = max(1, len(values))
    return counts


def _count_codes(X: Any, nominal: Ints, n_categories: ArrayLike | None) -> Ints:
    """Return the number of categories of nominal columns."""
    if len(nominal) == 0:
        return nominal
    part = X if len(nominal) == X.shape[1] else X[:, nominal]
    cells = stored_values(part)
    known = cells[~np.isnan(cells)]
    if np.any(known < 0) or np.any(known != np.floor(known)):
        raise InputError(
            "Categorical features must hold the codes 0, 1, 2, …",
            "Some codes are negative or fractional",
            "Encode them, for example with sklearn.preprocessing.OrdinalEncoder",
        )
    largest = np.nan_to_num(column_range(part)[1]).astype(np.int64)
    if n_categories is None:
        return np.maximum(largest + 1, 2)
    declared = np.broadcast_to(n_categories, len(nominal))
    if np.any(largest >= declared):
        wrong = int(np.flatnonzero(largest >= declared)[0])
        raise InputError(
            f"Feature {nominal[wrong]} declares {declared[wrong]} categories",
            f"It has the code {largest[wrong]}",
        )
    return declared


class RankedCells(NamedTuple):
    """The explicit cells of all columns, column by column."""

    column: Ints
    row: Ints
    rank: Ints32
    close: NDArray[np.bool_]  # to a lower cell of the column


class TreeData(NamedTuple):
    """X, sorted and ranked by :func:`prepare_data`; shared by all trees and threads.

    Compiled code takes it as it is, which is why it is a plain tuple of arrays.
    """

    n_rows: int
    n_categories: Ints32  # of each feature; 0 for a numeric one
    implicit: Ints32  # rank of the cells that are not stored
    column_start: Ints  # cells of feature f: column_start[f] to column_start[f + 1]
    cells: NDArray[np.uint64]  # see CLOSE; ascending in each numeric column
    row_start: Ints
    row_feature: Ints32  # ends with one that is not a feature, to look at safely
    row_rank: Ints32
    level_start: Ints  # distinct values of numeric feature f, ascending
    levels: NDArray[np.float64]
    stored: NDArray[np.uint64] = _ANY_CELL  # a bit per cell: is it explicit?
    words: int = 0  # of them per row; 0 where they are no help

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


def prepare_data(X: Any, n_categories: Ints32) -> TreeData:
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
    column_start = offsets(np.bincount(cells.column, minlength=d))
    by_row = csc_array((cells.rank, cells.row, column_start), shape=(n, d)).tocsr()
    stored, words = _stored_bits(by_row)
    close = np.where(cells.close, CLOSE, np.uint64(0))
    return TreeData(
        n_rows=n,
        n_categories=n_categories.astype(np.int32),
        implicit=implicit,
        column_start=column_start,
        cells=cells.rank.astype(np.uint64) << RANK | close | cells.row.astype(np.uint64),
        row_start=by_row.indptr.astype(np.int64),
        row_feature=np.append(by_row.indices, NO_RANK).astype(np.int32),
        row_rank=np.append(by_row.data, NO_RANK).astype(np.int32),
        level_start=offsets(level_counts),
        levels=levels,
        stored=stored,
        words=words,
    )


def _stored_bits(by_row: csr_array) -> tuple[NDArray[np.uint64], int]:
    """Return one bit per cell and the words per row; no bits for dense or very large X."""
    n, d = by_row.shape
    words = (d + 63) // 64
    if 2 * by_row.nnz > n * d or 8 * n * words > _MOST_BYTES_OF_BITS:
        return _ANY_CELL, 0
    # One word more, for a look after the last row does no harm.
    bits = np.zeros(n * words + 1, dtype=np.uint64)
    row = np.repeat(np.arange(n), np.diff(by_row.indptr))
    feature = by_row.indices.astype(np.uint64)
    np.bitwise_or.at(
        bits,
        row * words + (feature >> np.uint64(6)).astype(np.int64),
        np.uint64(1) << (feature & np.uint64(63)),
    )
    return bits, words


def _by_column(first: RankedCells, second: RankedCells) -> RankedCells:
    if len(first.column) == 0 or len(second.column) == 0:
        return first if len(first.column) else second
    order = np.argsort(np.concatenate([first.column, second.column]), kind="stable")
    both: Any = zip(first, second)
    return RankedCells(*(np.concatenate(pair)[order] for pair in both))


def _nominal_cells(X: Any, columns: Ints, n_categories: Ints32, implicit: Ints32) -> RankedCells:
    """Return the explicit codes; implicit is 0 where X is sparse, else the commonest code."""
    if issparse(X):
        column, row, value = _stored(X, columns)
        code = np.where(np.isnan(value), MISSING, value).astype(np.int32)
        _check_codes(code, n_categories[column])
        implicit[columns] = 0
        return RankedCells(column, row, code, np.zeros(len(code), dtype=bool))
    values = X[:, columns].T
    codes = np.where(np.isnan(values), MISSING, values).astype(np.int32)
    _check_codes(codes, n_categories[columns, None])
    implicit[columns] = _commonest(codes, n_categories[columns])
    at, row = np.nonzero(codes != implicit[columns, None])
    return RankedCells(columns[at], row, codes[at, row], np.zeros(len(row), dtype=bool))


def _check_codes(codes: NDArray[np.int32], n_categories: NDArray[np.int32]) -> None:
    """Raise where a code is too high: compiled code counts categories without a look."""
    if np.any((codes >= n_categories) & (codes != MISSING)):
        raise InputError("Codes must be below the number of categories", "Some are not")


def _commonest(codes: Ints32, n_categories: Ints32) -> Ints:
    """Return the code that most rows of each column have, the lowest of equals."""
    starts = offsets(n_categories.astype(np.int64))[: len(codes)]
    # All columns are counted at once, each in a range of its own; a missing cell counts nowhere.
    places = (codes + starts[:, None])[codes != MISSING]
    counts = np.bincount(places, minlength=int(n_categories.sum()))
    column = np.repeat(np.arange(len(codes)), n_categories)
    order = np.lexsort((np.arange(len(counts)), -counts, column))
    return order[starts] - starts


def _numeric_cells(
    X: Any, columns: Ints, implicit: Ints32, level_counts: Ints
) -> tuple[RankedCells, NDArray[np.float64]]:
    """Return the ranks of all stored numbers in ascending order, and the distinct numbers."""
    column, row, value = _sorted_sparse(X, columns) if issparse(X) else _sorted_dense(X, columns)
    known = ~np.isnan(value)
    fresh = np.empty(len(value), dtype=bool)
    fresh[:1] = True
    fresh[1:] = (value[1:] != value[:-1]) | (column[1:] != column[:-1])
    close = np.zeros(len(value), dtype=bool)
    close[1:] = (column[1:] == column[:-1]) & ~(value[:-1] + VALUE_GAP < value[1:])
    fresh &= known
    level_counts += np.bincount(column[fresh], minlength=len(level_counts))
    among = np.cumsum(fresh) - 1 - offsets(level_counts)[column]
    rank = np.where(known, among, MISSING).astype(np.int32)
    levels = value[fresh]
    stored = _hide_implicit(column, row, rank, fresh, X.shape[0], implicit)
    return RankedCells(column[stored], row[stored], rank[stored], close[stored]), levels


def _hide_implicit(
    column: Ints, row: Ints, rank: Ints32, fresh: NDArray[np.bool_], n: int, implicit: Ints32
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
    """Return columns, rows and values of the non-zeros of some columns of a sparse X."""
    part = X.tocsc() if len(columns) == X.shape[1] else X[:, columns].tocsc()
    column = np.repeat(columns, np.diff(part.indptr))
    keep = part.data != 0
    row, value = part.indices[keep].astype(np.int64), part.data[keep].astype(np.float64)
    return column[keep], row, value


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


class Problems(NamedTuple):
    """Rows and classes of classification problems p = 0, 1, …

    Attributes
    ----------
    n_classes : ndarray of shape (n_problems,)
        Number of declared classes, absent ones included.
    start : ndarray of shape (n_problems + 1,)
        Problem p lists ``rows`` and ``targets`` from ``start[p]`` to ``start[p + 1]``.
    rows, targets : ndarray
        Rows of X, and their classes. A row may come several times (a bootstrap).
    all_rows : bool
        Every problem has all rows of X, and only those of a class other than 0 are listed;
        else exactly the rows that are listed make the problem.
    """

    n_classes: Ints32
    start: Ints
    rows: Ints32
    targets: Ints32
    all_rows: bool

    def __len__(self) -> int:
        return len(self.n_classes)

    def sizes(self, n_rows: int) -> Ints:
        """Return the number of rows of every problem, where X has ``n_rows``."""
        return np.full(len(self), n_rows) if self.all_rows else np.diff(self.start)

    def expand(self, p: int, n_rows: int) -> tuple[Ints32, Ints32]:
        """Return all rows of problem p, and their classes."""
        listed = slice(self.start[p], self.start[p + 1])
        rows, targets = self.rows[listed], self.targets[listed]
        if not self.all_rows:
            return rows, targets
        classes = np.zeros(n_rows, dtype=np.int32)
        classes[rows] = targets
        return np.arange(n_rows, dtype=np.int32), classes

    def take(self, first: int, last: int) -> Problems:
        """Return the problems from ``first`` up to ``last``."""
        a, b = self.start[first], self.start[last]
        return Problems(
            self.n_classes[first:last],
            self.start[first : last + 1] - a,
            self.rows[a:b],
            self.targets[a:b],
            self.all_rows,
        )


def label_problems(y: Any) -> Problems:
    """Return one problem per label: absent (0) or present (1), on all rows.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    """
    return problem_per_label(validate_labels(y, caller="label_problems").Y)


def problem_per_label(Y: csr_array, unknown: csr_array | None = None) -> Problems:
    """Return the problems of clean labels, each on the rows of which its label is known.

    Where cells are unknown, the problems list all known ones, so this takes memory for n x q
    numbers, whatever Y is. A label of which no row is known is absent.
    """
    two, unknown = np.full(Y.shape[1], 2, dtype=np.int32), absent_if_never_known(Y, unknown)
    if unknown is None:
        columns = csc_array(Y)
        columns.sort_indices()
        ones = np.ones(columns.nnz, dtype=np.int32)
        rows = columns.indices.astype(np.int32)
        return Problems(two, columns.indptr.astype(np.int64), rows, ones, True)
    known = np.ones(Y.shape[::-1], dtype=bool)
    known[unknown.nonzero()[::-1]] = False
    label, rows = np.nonzero(known)
    return list_problems(label, rows, Y.T.toarray()[known], two)


def class_problems(classes: ArrayLike, n_classes: ArrayLike) -> Problems:
    """Return one problem per column of an (n, n_problems) array of class codes, on all rows."""
    codes = np.asarray(classes).T
    problem, rows = np.nonzero(codes)
    n_classes = np.broadcast_to(n_classes, len(codes))
    return list_problems(problem, rows, codes[problem, rows], n_classes, all_rows=True)


def subset_problems(rows: list[NDArray], targets: list[NDArray], n_classes: ArrayLike) -> Problems:
    """Return problems on lists of rows; a row may be listed more than once."""
    problem = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    n_classes = np.broadcast_to(n_classes, len(rows))
    listed, classes = (np.concatenate([np.zeros(0, int), *parts]) for parts in (rows, targets))
    return list_problems(problem, listed, classes, n_classes)


def list_problems(
    problem: Ints, rows: NDArray, targets: NDArray, n_classes: NDArray, *, all_rows: bool = False
) -> Problems:
    """Return problems from what they list, in their order: number, row and class of each entry."""
    return Problems(
        n_classes.astype(np.int32),
        offsets(np.bincount(problem, minlength=len(n_classes))),
        rows.astype(np.int32),
        targets.astype(np.int32),
        all_rows,
    )


def pair_problems(y: Any, first: ArrayLike, second: ArrayLike) -> Problems:
    """Return one problem per pair of labels: the rows with exactly one, class 1 the first.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    first, second : array-like of int of shape (n_pairs,)
        Column numbers of the labels of each pair.
    """
    Y = validate_labels(y, caller="pair_problems").Y
    pairs = [np.asarray(part) for part in (first, second)]
    are_lists = pairs[0].ndim == 1 and pairs[0].shape == pairs[1].shape
    if not are_lists or not all(_are_codes(part, Y.shape[1]) for part in pairs):
        raise InputError(
            f"first and second must hold label numbers from 0 to {Y.shape[1] - 1}",
            f"Got {first!r} and {second!r}",
        )
    same = np.flatnonzero(pairs[0] == pairs[1])
    if len(same):
        raise InputError(
            "A pair must have two different labels",
            f"Pair {same[0]} is label {pairs[0][same[0]]} twice",
        )
    return problem_per_pair(Y, *pairs)


def check_problems(problems: Problems, n_rows: int) -> None:
    """Raise unless the problems are of an X with this many rows; compiled code does not look."""
    start, n_entries = problems.start, len(problems.rows)
    ends = len(start) == len(problems.n_classes) + 1 and start[0] == 0 and start[-1] == n_entries
    if not (ends and len(problems.targets) == n_entries and (np.diff(start) >= 0).all()):
        raise InputError(
            "start must hold the first entry of every problem, and the end of the last",
            f"Got {start!r} for {len(problems.n_classes)} problems and {n_entries} rows",
        )
    if np.any(problems.n_classes < 1):
        raise InputError("Every problem must have a class", f"Got {problems.n_classes!r}")
    classes = np.repeat(problems.n_classes, np.diff(start))
    if not (_are_codes(problems.rows, n_rows) and _are_codes(problems.targets, classes)):
        raise InputError(
            "Problems must hold row numbers of X, and class numbers from 0",
            f"X has {n_rows} rows, and some rows or classes are out of range",
        )
    listed = np.repeat(np.arange(len(problems)) * n_rows, np.diff(start)) + problems.rows
    if problems.all_rows and len(np.unique(listed)) < len(listed):
        raise InputError(
            "Problems of all rows must list a row once", "Some problem lists a row again"
        )


def _are_codes(values: NDArray, below: int | NDArray) -> bool:
    """Return whether all values are integers from 0 on and below a bound."""
    return len(values) == 0 or (
        values.dtype.kind in "iu" and bool(((values >= 0) & (values < below)).all())
    )


def problem_per_pair(
    Y: csr_array, first: ArrayLike, second: ArrayLike, unknown: csr_array | None = None
) -> Problems:
    """Return the problems of pairs of clean labels, on rows in which both are known."""
    pairs = np.column_stack([first, second]).astype(np.int64)
    difference = csr_array(
        (np.tile(np.array([1, -1], dtype=np.int8), len(pairs)), pairs.ravel(),
         2 * np.arange(len(pairs) + 1)),
        shape=(len(pairs), Y.shape[1]),
    ) @ csr_array(Y.T, dtype=np.int8)  # fmt: skip
    difference.eliminate_zeros()  # rows that have both labels
    difference.sort_indices()
    pair = np.repeat(np.arange(len(pairs)), np.diff(difference.indptr))
    rows, targets = difference.indices, (difference.data == 1).astype(np.int32)
    if unknown is not None:
        known = unknown[rows, pairs[pair, targets]] == 0
        pair, rows, targets = pair[known], rows[known], targets[known]
    return list_problems(pair, rows, targets, np.full(len(pairs), 2))


class CellIndex(NamedTuple):
    """Where to find the cells of single rows in the sorted columns; empty if none are asked for."""

    place: Ints  # in the columns, of every cell in the order of rows
    feature: Ints32  # of every cell in the order of columns


def index_cells(data: TreeData, problems: Problems) -> CellIndex:
    """Index the cells of X for problems on parts of its rows."""
    if problems.all_rows:
        return CellIndex(np.empty(0, np.int64), np.empty(0, np.int32))
    # Within a row features ascend, as columns do.
    rows = (data.cells & (CLOSE - np.uint64(1))).astype(np.int64)
    by_column = (np.arange(len(data.cells)), rows, data.column_start)
    place = csc_array(by_column, shape=(data.n_rows, data.n_features)).tocsr().data
    feature = np.arange(data.n_features, dtype=np.int32)
    return CellIndex(place, np.repeat(feature, np.diff(data.column_start)))
