"""Many classification problems over the rows of one table, told in a few flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from labelance._utils import kernel

Ints32 = NDArray[np.int32]


class Problems(NamedTuple):
    """Problems p = 0, 1, …: which rows, which classes.

    Attributes
    ----------
    n_classes : ndarray of shape (n_problems,)
        Number of declared classes, absent ones included.
    start : ndarray of shape (n_problems + 1,)
        Problem p is told by ``rows`` and ``targets`` from ``start[p]`` to ``start[p + 1]``.
    rows, targets : ndarray
        Rows of the table, and their classes. A row may come several times (a bootstrap).
    whole : bool
        Every problem has all rows of the table, and only those of a class other than 0 are
        told; else exactly the rows that are told make the problem.
    """

    n_classes: Ints32
    start: NDArray[np.int64]
    rows: Ints32
    targets: Ints32
    whole: bool

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
            self.whole,
        )


@kernel
def rows_and_classes(problems: Problems, p: int, n_rows: int) -> tuple[NDArray, NDArray]:
    """Return the rows of problem p in the table, and their classes, written out."""
    start, stop = problems.start[p], problems.start[p + 1]
    if not problems.whole:
        return problems.rows[start:stop], problems.targets[start:stop]
    rows, classes = np.empty(n_rows, np.int32), np.zeros(n_rows, np.int32)
    for i in range(n_rows):
        rows[i] = i
    for i in range(start, stop):
        classes[problems.rows[i]] = problems.targets[i]
    return rows, classes


def label_problems(Y: csr_array) -> Problems:
    """Return one problem per label: absent (0) or present (1), on all rows."""
    columns = csc_array(Y)
    columns.sort_indices()
    return Problems(
        np.full(Y.shape[1], 2, dtype=np.int32),
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32),
        np.ones(columns.nnz, dtype=np.int32),
        True,
    )


def class_problems(classes: ArrayLike, n_classes: ArrayLike) -> Problems:
    """Return one problem per column of an (n, n_problems) array of class codes, on all rows."""
    codes = np.asarray(classes)
    rows, columns = np.nonzero(codes)
    order = np.argsort(columns, kind="stable")
    counts = np.bincount(columns, minlength=codes.shape[1])
    return Problems(
        np.broadcast_to(np.asarray(n_classes, dtype=np.int32), codes.shape[1]).copy(),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        rows[order].astype(np.int32),
        codes[rows[order], columns[order]].astype(np.int32),
        True,
    )


def subset_problems(rows: list[NDArray], targets: list[NDArray], n_classes: ArrayLike) -> Problems:
    """Return problems on lists of rows; a row may be listed more than once."""
    lengths = [len(part) for part in rows]
    return Problems(
        np.broadcast_to(np.asarray(n_classes, dtype=np.int32), len(rows)).copy(),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.concatenate([np.zeros(0, np.int32), *targets]).astype(np.int32),
        False,
    )


def pair_problems(Y: csr_array, first: ArrayLike, second: ArrayLike) -> Problems:
    """Return one problem per pair of labels: the rows with exactly one, class 1 the first."""
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
    """Merge two sorted columns per pair, leaving out what they share."""
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
