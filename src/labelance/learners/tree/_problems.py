"""Many classification problems over the rows of one X, in a few flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance._validation._labels import validate_labels
from labelance.exceptions import InputError
from labelance.learners.tree._data import TreeData, cell_rows, offsets

Ints32 = NDArray[np.int32]


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
    start: NDArray[np.int64]
    rows: Ints32
    targets: Ints32
    all_rows: bool

    def __len__(self) -> int:
        return len(self.n_classes)

    def sizes(self, n_rows: int) -> NDArray[np.int64]:
        """Return the number of rows of every problem, where X has ``n_rows``."""
        return np.full(len(self), n_rows) if self.all_rows else np.diff(self.start)

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


class Problem(NamedTuple):
    """One classification problem."""

    rows: Ints32  # of X
    y: Ints32  # their classes
    n_classes: int


def expand_problem(problems: Problems, p: int, n_rows: int) -> Problem:
    """Return problem p with all its rows."""
    listed = slice(problems.start[p], problems.start[p + 1])
    rows, targets, C = problems.rows[listed], problems.targets[listed], int(problems.n_classes[p])
    if not problems.all_rows:
        return Problem(rows, targets, C)
    y = np.zeros(n_rows, dtype=np.int32)
    y[rows] = targets
    return Problem(np.arange(n_rows, dtype=np.int32), y, C)


def label_problems(y: Any) -> Problems:
    """Return one problem per label: absent (0) or present (1), on all rows.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    """
    return problem_per_label(validate_labels(y, caller="label_problems").Y)


def problem_per_label(Y: csr_array) -> Problems:
    """Return the problems of clean labels."""
    columns = csc_array(Y)
    columns.sort_indices()
    return Problems(
        np.full(Y.shape[1], 2, dtype=np.int32),
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        np.ones(columns.nnz, dtype=np.int32),
        True,
    )


def problem_per_known_label(Y: csr_array, unknown: csr_array) -> Problems:
    """Return the problems of clean labels, each on the rows of which its label is known.

    The problems list all known cells, so this takes memory for n x q numbers, whatever Y is.
    """
    known = np.ones(Y.shape[::-1], dtype=bool)
    known[unknown.nonzero()[::-1]] = False
    label, rows = np.nonzero(known)
    return Problems(
        np.full(Y.shape[1], 2, dtype=np.int32),
        offsets(np.bincount(label, minlength=Y.shape[1])),
        rows.astype(np.int32),
        Y.T.toarray()[known].astype(np.int32),
        False,
    )


def class_problems(classes: ArrayLike, n_classes: ArrayLike) -> Problems:
    """Return one problem per column of an (n, n_problems) array of class codes, on all rows."""
    codes = np.asarray(classes)
    rows, columns = np.nonzero(codes)
    order = np.argsort(columns, kind="stable")
    counts = np.bincount(columns, minlength=codes.shape[1])
    return Problems(
        np.broadcast_to(np.asarray(n_classes, dtype=np.int32), codes.shape[1]).copy(),
        offsets(counts),
        rows[order].astype(np.int32),
        codes[rows[order], columns[order]].astype(np.int32),
        True,
    )


def subset_problems(rows: list[NDArray], targets: list[NDArray], n_classes: ArrayLike) -> Problems:
    """Return problems on lists of rows; a row may be listed more than once."""
    lengths = [len(part) for part in rows]
    return Problems(
        np.broadcast_to(np.asarray(n_classes, dtype=np.int32), len(rows)).copy(),
        offsets(np.array(lengths, dtype=np.int64)),
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.concatenate([np.zeros(0, np.int32), *targets]).astype(np.int32),
        False,
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
    classes = np.repeat(problems.n_classes, np.diff(start))
    if not (_are_codes(problems.rows, n_rows) and _are_codes(problems.targets, classes)):
        raise InputError(
            "Problems must hold row numbers of X, and class numbers from 0",
            f"X has {n_rows} rows, and some rows or classes are out of range",
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
    start, rows = difference.indptr.astype(np.int64), difference.indices.astype(np.int32)
    targets = (difference.data == 1).astype(np.int32)
    if unknown is not None:
        pair = np.repeat(np.arange(len(pairs)), np.diff(start))
        absent = pairs[pair, targets]
        known = unknown[rows, absent] == 0
        rows, targets = rows[known], targets[known]
        start = offsets(np.bincount(pair[known], minlength=len(pairs)))
    return Problems(np.full(len(start) - 1, 2, dtype=np.int32), start, rows, targets, False)


class CellIndex(NamedTuple):
    """Where to find the cells of single rows in the sorted columns; empty if none are asked for."""

    place: NDArray[np.int64]  # in the columns, of every cell in the order of rows
    feature: NDArray[np.int32]  # of every cell in the order of columns


def index_cells(data: TreeData, problems: Problems) -> CellIndex:
    """Index the cells of X for problems on parts of its rows."""
    if problems.all_rows:
        return CellIndex(np.empty(0, np.int64), np.empty(0, np.int32))
    # Within a row features ascend, as columns do.
    by_column = (np.arange(len(data.cells)), cell_rows(data.cells), data.column_start)
    place = csc_array(by_column, shape=(data.n_rows, data.n_features)).tocsr().data
    feature = np.arange(data.n_features, dtype=np.int32)
    return CellIndex(place, np.repeat(feature, np.diff(data.column_start)))
