"""The children of a node wait to be split: each gets its part of the parent's sorted cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._candidates import Room
from labelance.learners.tree._piece import piece
from labelance.learners.tree._plot import Plot, with_stack
from labelance.learners.tree._rules import DEAD
from labelance.learners.tree._sprouts import FIRST, WIDTH
from labelance.learners.tree._table import ROW

NOBODY = np.int64(-1)  # instead of a branch
COPIED, KEPT = np.uint8(1), np.uint8(2)  # what becomes of the cells of a row


@piece
def push_children(
    plot: Plot, v: int, depth: int, low: int, top: int, status: NDArray, room: Room
) -> tuple[Plot, int]:
    """Let the children that may be split wait, the largest in its parent's place."""
    is_open, begin, first, width = (
        room.is_open,
        room.begin,
        plot.nodes[v, FIRST],
        plot.nodes[v, WIDTH],
    )
    largest, last, most, n_open = NOBODY, NOBODY, 0, 0
    for b in range(width):
        n_open += is_open[b]
        if is_open[b] and begin[b + 1] - begin[b] > most:
            largest, most = b, begin[b + 1] - begin[b]
    for b in range(width):
        last = b if is_open[b] and b != largest else last
    heap, size = plot.live[3 * top - 1], plot.live[3 * top - 1] - plot.live[3 * low + 1]
    plot = with_stack(plot, depth + n_open, top + n_open * (top - low), heap + n_open * size + 2)
    waiting, live, cells, to, ceiling, slot = plot.waiting, plot.live, plot.cells, top, low, depth
    if n_open == 1:
        _mark_rows(plot.row, begin, width, NOBODY, largest, room.goes)
        _, ceiling, _ = _part(live, cells, low, top, status, room.goes, n_open == 1, to, heap)
    for b in range(width):
        if is_open[b] and b != largest:
            # The largest child's cells are pushed together when the last other one's are copied.
            bottom, slot = to, slot + 1
            _mark_rows(plot.row, begin, width, b, largest if b == last else NOBODY, room.goes)
            to, ceiling, heap = _part(live, cells, low, top, status, room.goes, b == last, to, heap)
            waiting[3 * slot], waiting[3 * slot + 1], waiting[3 * slot + 2] = first + b, bottom, to
    if n_open > 0:
        waiting[3 * depth], waiting[3 * depth + 1] = first + largest, low
        waiting[3 * depth + 2] = ceiling
    return plot, depth + n_open


@piece
def _mark_rows(
    row: NDArray, begin: NDArray, width: int, copied: int, kept: int, goes: NDArray
) -> None:
    """Mark the rows of two branches; a row with a missing value may be in both."""
    for e in range(begin[0], begin[width]):
        goes[row[e]] = 0
    for e in range(begin[copied] if copied >= 0 else 0, begin[copied + 1] if copied >= 0 else 0):
        goes[row[e]] = COPIED
    for e in range(begin[kept] if kept >= 0 else 0, begin[kept + 1] if kept >= 0 else 0):
        goes[row[e]] |= KEPT


@piece
def _part(
    live: NDArray,
    cells: NDArray,
    low: int,
    top: int,
    status: NDArray,
    goes: NDArray,
    in_place: bool,
    to: int,
    heap: int,
) -> tuple[int, int, int]:
    """Copy the cells of some rows to ``heap``; ``in_place``, push those of others together.

    The features of what is copied come to ``to``. Returns where the features of both end, and
    the copied cells. There is no branch on a row: where it goes is hard to foresee.
    """
    place, at = low, live[3 * low + 1] if in_place else len(cells) - 1
    for i in range(low, top):
        if status[i - low] != DEAD:
            f, begin, end = live[3 * i], live[3 * i + 1], live[3 * i + 2]
            live[3 * to], live[3 * to + 1] = f, heap
            if in_place:
                live[3 * place], live[3 * place + 1] = f, at
            for t in range(np.uint64(begin), np.uint64(end)):
                cell = cells[t]
                way = np.int64(goes[cell & ROW])
                cells[heap] = cell
                cells[at] = cell
                heap += way & 1
                at += way >> 1
            live[3 * to + 2] = heap
            if in_place:
                live[3 * place + 2] = at
                place += 1
            to += 1
    return to, place, heap
