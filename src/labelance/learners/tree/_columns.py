"""The sorted columns of nodes: collected for the root of a tree, handed on to children.

A column is a feature and where its cells begin and end, see :mod:`._splitter`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel
from labelance.learners.tree._criterion import DEAD
from labelance.learners.tree._data import CLASS, CLOSE, IN_WORD, ONE_BIT, RANK, ROW, SIX, popcount
from labelance.learners.tree._splitter import BEGIN, COLUMN_FEATURE, END

ALL_CHANGED = np.int64(0)
SPARSE = 16  # where fewer than one row in this many leaves a node, most columns stay the same
COPIED, KEPT = np.uint8(1), np.uint8(2)  # what becomes of the cells of a row


@inner_kernel
def copy_columns(
    start: NDArray,
    all_cells: NDArray,
    y: NDArray,
    of_class: int,
    fewest: int,
    columns: NDArray,
    cells: NDArray,
) -> int:
    """Copy the columns of all rows that have enough cells; return their number.

    The class of its row is added to a cell if ``of_class`` is 1.
    """
    top, size = 0, 0
    for f in range(len(start) - 1):
        if start[f + 1] - start[f] >= fewest:
            columns[top, COLUMN_FEATURE], columns[top, BEGIN] = f, size
            for t in range(start[f], start[f + 1]):
                cells[size] = all_cells[t] | np.uint64(y[all_cells[t] & ROW] * of_class) << CLASS
                size += 1
            columns[top, END] = size
            top += 1
    return top


@inner_kernel
def mark_cells(
    row_start: NDArray,
    place: NDArray,
    rows: NDArray,
    marked: NDArray,
    first: NDArray,
    later: NDArray,
) -> None:
    """Mark the cells of some rows among all; note where a row comes ``first``, and ``later``."""
    for i in range(len(rows)):
        first[rows[i]] = -1
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        later[i], first[row] = first[row], i
        for e in range(row_start[row], row_start[row + 1]):
            t = np.uint64(place[e])
            marked[t >> SIX] |= ONE_BIT << (t & IN_WORD)


@inner_kernel
def collect_columns(
    all_cells: NDArray,
    feature: NDArray,
    marked: NDArray,
    first: NDArray,
    later: NDArray,
    y: NDArray,
    of_class: int,
    fewest: int,
    columns: NDArray,
    cells: NDArray,
) -> int:
    """Do what :func:`copy_columns` does for the marked cells, and unmark them.

    Marks are in the order of the columns, so what is copied is sorted as they are.
    """
    top, begin, size, f, last_rank = 0, 0, 0, np.int64(-1), ~np.uint64(0)
    for w in range(len(marked)):
        x, marked[w] = marked[w], 0
        while x != 0:
            t = (w << 6) + np.int64(popcount((x & (~x + ONE_BIT)) - ONE_BIT))
            x &= x - ONE_BIT
            if feature[t] != f:
                top += size - begin >= fewest
                begin = size if size - begin >= fewest else begin
                size, f, last_rank = begin, np.int64(feature[t]), ~np.uint64(0)
                columns[top, COLUMN_FEATURE], columns[top, BEGIN] = f, begin
            cell, i = all_cells[t] & ~ROW, np.int64(first[all_cells[t] & ROW])
            while i >= 0:
                # X may have the cell of a row that comes twice only once.
                cell |= CLOSE if cell >> RANK == last_rank else np.uint64(0)
                cells[size] = cell | np.uint64(i) | np.uint64(y[i] * of_class) << CLASS
                size, i, last_rank = size + 1, np.int64(later[i]), cell >> RANK
            columns[top, END] = size
    return top + (size - begin >= fewest)


@inner_kernel
def mark_changed(
    row_start: NDArray,
    row_feature: NDArray,
    rows: NDArray,
    row: NDArray,
    begin: NDArray,
    largest: int,
    mark: int,
    changed: NDArray,
) -> int:
    """Mark the features of the rows that go to other branches than the largest.

    Returns the mark, or ``ALL_CHANGED`` where enough rows leave for most columns to lose some.
    """
    first, last, leaving = begin[largest], begin[largest + 1], begin[-1] - begin[0]
    if (leaving - (last - first)) * SPARSE > leaving:
        return ALL_CHANGED
    for e in range(begin[0], begin[-1]):
        if not first <= e < last:
            i = rows[row[e]]
            for t in range(row_start[i], row_start[i + 1]):
                changed[row_feature[t]] = mark
    return mark


@inner_kernel
def mark_rows(row: NDArray, begin: NDArray, copied: int, kept: int, goes: NDArray) -> None:
    """Mark the rows of two branches; a row with a missing value may be in both.

    If they are the same branch, its rows are kept.
    """
    for e in range(begin[0], begin[-1]):
        goes[row[e]] = 0
    for e in range(begin[copied], begin[copied + 1] if copied != kept else 0):
        goes[row[e]] = COPIED
    for e in range(begin[kept] if kept >= 0 else 0, begin[kept + 1] if kept >= 0 else 0):
        goes[row[e]] |= KEPT


@inner_kernel
def partition_columns(
    columns: NDArray,
    cells: NDArray,
    low: int,
    top: int,
    status: NDArray,
    goes: NDArray,
    changed: NDArray,
    mark: int,
    fewest: int,
    in_place: bool,
    to: int,
) -> tuple[int, int]:
    """Copy the cells of some rows after all others; ``in_place``, push those of others together.

    The columns of what is copied come to ``to``. Columns with too few cells are left out. Where
    few rows leave, columns that none of them has are not looked at, and all stay where they begin.
    Returns where the columns of both end.
    """
    copied, kept, place = np.uint64(columns[to - 1, END]), np.uint64(len(cells) - 1), low
    if in_place:
        kept = np.uint64(columns[low, BEGIN])
    for i in range(low, top):
        f, begin, end = columns[i, COLUMN_FEATURE], columns[i, BEGIN], columns[i, END]
        alive, same = status[i - low] != DEAD, mark != ALL_CHANGED and changed[f] != mark
        if in_place and mark != ALL_CHANGED:
            kept = np.uint64(begin)
        copied_from, kept_from = copied, kept
        if alive and same and in_place:
            kept = np.uint64(end)
        # There is no branch on a row: where it goes is hard to foresee.
        for t in range(np.uint64(begin), np.uint64(end if alive and not same else begin)):
            cell = cells[t]
            way = np.uint64(goes[cell & ROW])
            cells[copied] = cell
            cells[kept] = cell
            copied += way & ONE_BIT
            kept += way >> ONE_BIT
        columns[to, COLUMN_FEATURE], columns[to, BEGIN], columns[to, END] = f, copied_from, copied
        to += copied - copied_from >= fewest
        copied = copied if copied - copied_from >= fewest else copied_from
        if in_place:
            columns[place, COLUMN_FEATURE] = f
            columns[place, BEGIN], columns[place, END] = kept_from, kept
            place += kept - kept_from >= fewest
            kept = kept if kept - kept_from >= fewest else kept_from
    return to, place
