"""Dealing the cells of a table to some problems at a time, so that all of it stays in cache."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._table import ROW, TreeTable

_CELLS_PER_HAND = 1 << 17  # 1 MB


class Hand(NamedTuple):
    """The cells of the problems from ``first`` up to ``last``."""

    first: int
    last: int
    begin: NDArray[np.int64]  # where those of problem p and feature f begin: (p - first) d + f
    cells: NDArray[np.uint64]


@piece
def no_hand() -> Hand:
    """Return the hand of no problem."""
    return Hand(0, 0, np.empty(0, np.int64), np.empty(0, np.uint64))


@piece
def next_hand(table: TreeTable, problems: Problems, first: int) -> Hand:
    """Deal cells to the next problems.

    One pass through the sorted columns serves all of them: each cell goes to the problems
    that have its row, so their columns come out sorted.
    """
    d, last = len(table.n_categories), _last_of_hand(table, problems, first)
    begin = _count_cells(table, problems, first, last)
    row_start, slot, own_row = _mentions(table, problems, first, last)
    place, cells = begin.copy(), np.empty(begin[-1], np.uint64)
    for f in range(d):
        for t in range(table.column_start[f], table.column_start[f + 1]):
            rank, row = table.cells[t] & ~ROW, np.int64(table.cells[t] & ROW)
            for i in range(row_start[row], row_start[row + 1]):
                cells[place[slot[i] + f]] = rank | own_row[i]
                place[slot[i] + f] += 1
    return Hand(first, last, begin, cells)


@piece
def _last_of_hand(table: TreeTable, problems: Problems, first: int) -> int:
    """Return where to stop: a pass through a large table should serve many cells."""
    left, last = max(_CELLS_PER_HAND, len(table.cells)), first
    while last < len(problems.n_classes) and left > 0:
        for i in range(problems.start[last], problems.start[last + 1]):
            row = problems.rows[i]
            left -= table.row_start[row + 1] - table.row_start[row]
        last += 1
    return last


@piece
def _count_cells(table: TreeTable, problems: Problems, first: int, last: int) -> NDArray:
    """Return where the cells of every problem and feature begin."""
    d = len(table.n_categories)
    begin = np.zeros((last - first) * d + 1, np.int64)
    for p in range(first, last):
        for i in range(problems.start[p], problems.start[p + 1]):
            row = problems.rows[i]
            for e in range(table.row_start[row], table.row_start[row + 1]):
                begin[(p - first) * d + table.row_feature[e] + 1] += 1
    for i in range(len(begin) - 1):
        begin[i + 1] += begin[i]
    return begin


@piece
def _mentions(
    table: TreeTable, problems: Problems, first: int, last: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return for every row of the table where problems have it.

    That is where its mentions begin, and for each mention the slot of the problem in
    ``begin`` and the row's number in the problem.
    """
    d, low, high = len(table.n_categories), problems.start[first], problems.start[last]
    start = np.zeros(table.n_rows + 2, np.int64)
    for i in range(low, high):
        start[problems.rows[i] + 2] += 1
    for row in range(table.n_rows):
        start[row + 2] += start[row + 1]
    slot, own_row = np.empty(high - low, np.int64), np.empty(high - low, np.uint64)
    for p in range(first, last):
        for i in range(problems.start[p], problems.start[p + 1]):
            at = start[problems.rows[i] + 1]
            slot[at], own_row[at] = (p - first) * d, np.uint64(i - problems.start[p])
            start[problems.rows[i] + 1] = at + 1
    return start, slot, own_row
