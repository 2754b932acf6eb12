"""Many classification problems over the rows of one X, in a few flat arrays.

Problems on parts of the rows get their sorted cells in batches, so that a batch stays in cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance._utils import inner_kernel, kernel
from labelance._validation import validate_labels
from labelance.exceptions import InputError
from labelance.learners.tree._data import ROW, TreeData, offsets

Ints32 = NDArray[np.int32]
_CELLS_PER_BATCH = 1 << 17  # 1 MB


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


@kernel
def expand_problem(problems: Problems, p: int, n_rows: int) -> Problem:
    """Return problem p with all its rows."""
    start, stop, C = problems.start[p], problems.start[p + 1], problems.n_classes[p]
    if not problems.all_rows:
        return Problem(problems.rows[start:stop], problems.targets[start:stop], C)
    rows, y = np.empty(n_rows, np.int32), np.zeros(n_rows, np.int32)
    for i in range(n_rows):
        rows[i] = i
    for i in range(start, stop):
        y[problems.rows[i]] = problems.targets[i]
    return Problem(rows, y, C)


def label_problems(y: Any) -> Problems:
    """Return one problem per label: absent (0) or present (1), on all rows.

    Parameters
    ----------
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, zeros and ones.
    """
    return problem_per_label(validate_labels(y, who="label_problems").Y)


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

    They list all known cells, so this takes memory for n x q numbers, whatever Y is.
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
    Y = validate_labels(y, who="pair_problems").Y
    pairs = [np.asarray(part) for part in (first, second)]
    are_lists = pairs[0].ndim == 1 and pairs[0].shape == pairs[1].shape
    if not are_lists or not all(_are_codes(part, Y.shape[1]) for part in pairs):
        raise InputError(
            f"first and second number the labels of pairs from 0 to {Y.shape[1] - 1}",
            f"they are {first!r} and {second!r}",
            "Pass two lists of the same length, such as [0, 0, 1] and [1, 2, 2]",
        )
    same = np.flatnonzero(pairs[0] == pairs[1])
    if len(same):
        raise InputError(
            "A pair has two labels: its rows are those with exactly one of them",
            f"pair {same[0]} is label {pairs[0][same[0]]} twice",
            "Leave such pairs out",
        )
    return problem_per_pair(Y, *pairs)


def check_problems(problems: Problems, n_rows: int) -> None:
    """Raise unless the problems are of an X with so many rows; compiled code does not look."""
    start, n_entries = problems.start, len(problems.rows)
    ends = len(start) == len(problems.n_classes) + 1 and start[0] == 0 and start[-1] == n_entries
    if not (ends and len(problems.targets) == n_entries and (np.diff(start) >= 0).all()):
        raise InputError(
            "start says where the rows of every problem begin, and where those of the last end",
            f"it is {start!r} for {len(problems.n_classes)} problems and {n_entries} rows",
            "Begin with 0 and add up the numbers of rows; give every row a class",
        )
    classes = np.repeat(problems.n_classes, np.diff(start))
    if not (_are_codes(problems.rows, n_rows) and _are_codes(problems.targets, classes)):
        raise InputError(
            "The rows of problems are rows of X, and their classes are numbered from 0",
            f"X has {n_rows} rows, and some rows or classes are less than 0 or too large",
            "Make the problems from the y of this X, and give n_classes for every problem",
        )


def _are_codes(values: NDArray, below: int | NDArray) -> bool:
    """Return whether all values are whole numbers from 0 on and below a bound."""
    return len(values) == 0 or (
        values.dtype.kind in "iu" and bool(((values >= 0) & (values < below)).all())
    )


def problem_per_pair(Y: csr_array, first: ArrayLike, second: ArrayLike) -> Problems:
    """Return the problems of pairs of clean labels."""
    columns = csc_array(Y)
    columns.sort_indices()
    start, rows, targets = _disagreements(
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        np.asarray(first, dtype=np.int64),
        np.asarray(second, dtype=np.int64),
    )
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


class CellBatch(NamedTuple):
    """Sorted cells of the problems from ``first`` up to ``last``."""

    first: int
    last: int
    begin: NDArray[np.int64]  # where those of problem p and feature f begin: (p - first) d + f
    cells: NDArray[np.uint64]


@inner_kernel
def empty_batch() -> CellBatch:
    """Return a batch without problems."""
    return CellBatch(0, 0, np.empty(0, np.int64), np.empty(0, np.uint64))


@inner_kernel
def next_batch(data: TreeData, problems: Problems, first: int) -> CellBatch:
    """Return the sorted cells of the next problems, from ``first`` on.

    One pass through the sorted columns serves all of them: each cell is copied to the
    problems that have its row, so their columns come out sorted.
    """
    d, last = len(data.n_categories), _end_of_batch(data, problems, first)
    begin = _count_cells(data, problems, first, last)
    row_start, slot, own_row = _mentions(data, problems, first, last)
    place, cells = begin.copy(), np.empty(begin[-1], np.uint64)
    for f in range(d):
        for t in range(data.column_start[f], data.column_start[f + 1]):
            rank, row = data.cells[t] & ~ROW, np.int64(data.cells[t] & ROW)
            for i in range(row_start[row], row_start[row + 1]):
                cells[place[slot[i] + f]] = rank | own_row[i]
                place[slot[i] + f] += 1
    return CellBatch(first, last, begin, cells)


@inner_kernel
def _end_of_batch(data: TreeData, problems: Problems, first: int) -> int:
    """Return the end of a batch: one pass through a large X should serve many cells."""
    left, last = max(_CELLS_PER_BATCH, len(data.cells)), first
    while last < len(problems.n_classes) and left > 0:
        for i in range(problems.start[last], problems.start[last + 1]):
            row = problems.rows[i]
            left -= data.row_start[row + 1] - data.row_start[row]
        last += 1
    return last


@inner_kernel
def _count_cells(data: TreeData, problems: Problems, first: int, last: int) -> NDArray:
    """Return where the cells of every problem and feature begin."""
    d = len(data.n_categories)
    begin = np.zeros((last - first) * d + 1, np.int64)
    for p in range(first, last):
        for i in range(problems.start[p], problems.start[p + 1]):
            row = problems.rows[i]
            for e in range(data.row_start[row], data.row_start[row + 1]):
                begin[(p - first) * d + data.row_feature[e] + 1] += 1
    for i in range(len(begin) - 1):
        begin[i + 1] += begin[i]
    return begin


@inner_kernel
def _mentions(
    data: TreeData, problems: Problems, first: int, last: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return for every row of X the problems that have it.

    That is where its mentions begin, and for each mention the slot of the problem in
    ``begin`` and the row's number in the problem.
    """
    d, low, high = len(data.n_categories), problems.start[first], problems.start[last]
    start = np.zeros(data.n_rows + 2, np.int64)
    for i in range(low, high):
        start[problems.rows[i] + 2] += 1
    for row in range(data.n_rows):
        start[row + 2] += start[row + 1]
    slot, own_row = np.empty(high - low, np.int64), np.empty(high - low, np.uint64)
    for p in range(first, last):
        for i in range(problems.start[p], problems.start[p + 1]):
            at = start[problems.rows[i] + 1]
            slot[at], own_row[at] = (p - first) * d, np.uint64(i - problems.start[p])
            start[problems.rows[i] + 1] = at + 1
    return start, slot, own_row
