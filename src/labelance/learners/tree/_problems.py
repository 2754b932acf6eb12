"""Many classification problems over the rows of one X, in a few flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance._utils._kernel import inner_kernel, kernel
from labelance._validation._labels import validate_labels
from labelance.exceptions import InputError
from labelance.learners.tree._data import ROW, TreeData, offsets

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


@inner_kernel
def load_problem(problems: Problems, p: int, n_rows: int, rows: NDArray, y: NDArray) -> Problem:
    """Do in kernels what :func:`expand_problem` does, in two arrays that serve again."""
    start, stop, C = problems.start[p], problems.start[p + 1], np.int64(problems.n_classes[p])
    n = n_rows if problems.all_rows else stop - start
    for i in range(n):
        rows[i] = i if problems.all_rows else problems.rows[start + i]
        y[i] = 0 if problems.all_rows else problems.targets[start + i]
    for i in range(start, stop if problems.all_rows else start):
        y[problems.rows[i]] = problems.targets[i]
    return Problem(rows[:n], y[:n], C)


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
            "Pass two lists of the same length, such as [0, 0, 1] and [1, 2, 2]",
        )
    same = np.flatnonzero(pairs[0] == pairs[1])
    if len(same):
        raise InputError(
            "A pair must have two different labels",
            f"Pair {same[0]} is label {pairs[0][same[0]]} twice",
            "Remove such pairs",
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
            "Start with 0 and use cumulative row counts; give every row a class",
        )
    classes = np.repeat(problems.n_classes, np.diff(start))
    if not (_are_codes(problems.rows, n_rows) and _are_codes(problems.targets, classes)):
        raise InputError(
            "Problems must hold row numbers of X, and class numbers from 0",
            f"X has {n_rows} rows, and some rows or classes are out of range",
            "Make the problems from the y of this X, and pass n_classes for every problem",
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
    columns = csc_array(Y)
    columns.sort_indices()
    first, second = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    start, rows, targets = _disagreements(
        columns.indptr.astype(np.int64), columns.indices.astype(np.int32), first, second
    )
    if unknown is not None:
        pair = np.repeat(np.arange(len(first)), np.diff(start))
        absent = np.where(targets == 1, second[pair], first[pair])
        known = unknown[rows, absent] == 0
        rows, targets = rows[known], targets[known]
        start = offsets(np.bincount(pair[known], minlength=len(first)))
    return Problems(np.full(len(start) - 1, 2, dtype=np.int32), start, rows, targets, False)


@kernel
def _disagreements(
    indptr: NDArray, indices: NDArray, first: NDArray, second: NDArray
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the rows that exactly one label of each pair has: a merge of sorted columns."""
    start = np.zeros(len(first) + 1, np.int64)
    for fill in (False, True):
        rows = np.empty(start[-1] if fill else 0, np.int32)
        targets = np.empty(len(rows), np.int32)
        at = 0
        for p in range(len(first)):
            a, a_end = indptr[first[p]], indptr[first[p] + 1]
            b, b_end = indptr[second[p]], indptr[second[p] + 1]
            while a < a_end or b < b_end:
                if a < a_end and b < b_end and indices[a] == indices[b]:
                    a, b = a + 1, b + 1
                    continue
                ahead = b == b_end or (a < a_end and indices[a] < indices[b])
                if fill:
                    rows[at] = indices[a] if ahead else indices[b]
                    targets[at] = 1 if ahead else 0
                a, b, at = a + ahead, b + (not ahead), at + 1
            start[p + 1] = at
    return start, rows, targets


class CellIndex(NamedTuple):
    """Where to find the cells of single rows in the sorted columns; empty if none are asked for."""

    place: NDArray[np.int64]  # in the columns, of every cell in the order of rows
    feature: NDArray[np.int32]  # of every cell in the order of columns


def index_cells(data: TreeData, problems: Problems) -> CellIndex:
    """Index the cells of X for problems on parts of its rows."""
    if problems.all_rows:
        return CellIndex(np.empty(0, np.int64), np.empty(0, np.int32))
    feature = np.arange(data.n_features, dtype=np.int32)
    return CellIndex(
        _places_by_row(data.cells, data.row_start),
        np.repeat(feature, np.diff(data.column_start)),
    )


@kernel
def _places_by_row(cells: NDArray, row_start: NDArray) -> NDArray:
    """Return the place of each cell, row by row; within a row features ascend, as columns do."""
    places, following = np.empty(len(cells), np.int64), row_start.copy()
    for t in range(len(cells)):
        row = np.int64(cells[t] & ROW)
        places[following[row]] = t
        following[row] += 1
    return places


def most_cells(data: TreeData, problems: Problems) -> int:
    """Return how many cells the largest problem has."""
    if problems.all_rows:
        return len(data.cells)
    cells_before = offsets(np.diff(data.row_start)[problems.rows])
    return int(np.diff(cells_before[problems.start]).max())
