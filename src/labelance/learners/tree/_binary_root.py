"""The root of a tree over features of two categories, and the room that a tree grows in."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._binary_counts import count, push
from labelance.learners.tree._bits import IN_WORD, ONE, SIX
from labelance.learners.tree._piece import ZERO, piece
from labelance.learners.tree._rules import EPS
from labelance.learners.tree._sprouts import N_FIELDS, plant
from labelance.learners.tree._table import TreeTable

MOST_WAITING = 66  # the smaller child goes first, so each waiting node is at most half as large


class Room(NamedTuple):
    """Room for one tree, used again for the next."""

    nodes: NDArray[np.int64]
    counts: NDArray[np.float64]  # rows of every node, per class
    column: NDArray[np.uint64]  # sets: explicit rows of every feature,
    kind: NDArray[np.uint64]  # rows of every class,
    members: NDArray[np.uint64]  # rows of every waiting node
    listed: NDArray[np.int32]  # rows of the smaller child
    stack: NDArray[np.uint32]  # per waiting node: features with their counts of explicit rows
    parent: NDArray[np.uint32]  # the same for the node at hand
    smaller: NDArray[np.uint32]  # counts of its smaller child, and of what is not asked for
    place: NDArray[np.int64]  # where in them the counts of a feature begin
    gain: NDArray[np.float64]  # of every feature, times the number of rows


@piece
def new_room(n: int, d: int, C: int) -> Room:
    """Return room for trees of up to ``n`` rows; every leaf has at least one."""
    words = (n + 63) >> 6
    room = Room(
        np.empty((2 * n + 1, N_FIELDS), np.int64),
        np.empty((2 * n + 1) * C),
        np.zeros(d * words, np.uint64),
        np.zeros(C * words, np.uint64),
        np.zeros(MOST_WAITING * words, np.uint64),
        np.empty(n + 1, np.int32),
        np.empty(MOST_WAITING * d * (C + 1), np.uint32),
        np.empty(d * (C + 1), np.uint32),
        np.zeros((d + 1) * C, np.uint32),
        np.empty(d, np.int64),
        np.empty(d),
    )
    for f in range(d):
        room.place[f] = d * C  # nobody asks for it
    return room


@piece
def set_bit(bits: NDArray, start: int, row: np.uint64) -> None:
    bits[start + np.int64(row >> SIX)] |= ONE << (row & IN_WORD)


@piece
def plant_root(
    table: TreeTable, whole: bool, origin: NDArray, y: NDArray, C: int, room: Room, min_leaf: float
) -> int:
    """Make the root, its sets and its counts; return the top of the stack, -1 for a leaf."""
    n, d, words, counts = len(y), len(table.implicit), (len(y) + 63) >> 6, room.counts
    for i in range(C):
        counts[i] = 0
    for i in range(C * words):
        room.kind[i] = 0
    for i in range(words):
        room.members[i] = 0
    for i in range(n):
        counts[y[i]] += 1
        set_bit(room.kind, y[i] * words, np.uint64(i))
        set_bit(room.members, 0, np.uint64(i))
    top = -1
    if plant(room.nodes, counts, ZERO, ZERO, n, C, min_leaf):
        for f in range(d):
            room.parent[f * (C + 1)] = f
        _count_root(table, whole, origin, y, C, room)
        if not whole:
            _set_columns(table.row_start, table.row_feature, origin, words, d, room.column)
        least = np.int64(ceil(min_leaf - EPS))
        top = push(room.stack, 0, d, C, room.parent, room.smaller, True, n, least)
    return top


@piece
def _count_root(
    table: TreeTable, whole: bool, origin: NDArray, y: NDArray, C: int, room: Room
) -> None:
    """Count the explicit rows of every feature.

    Where all rows take part, the counts of the largest class are what the others leave.
    """
    d, largest, m = len(table.implicit), 0, 0
    for c in range(1, C):
        largest = c if room.counts[c] > room.counts[largest] else largest
    for i in range(len(y)):
        room.listed[m] = i
        m += not whole or y[i] != largest
    count(
        table.row_start, table.row_feature, origin, y, C, room.listed, m, d, room.parent,
        room.place, room.smaller,
    )  # fmt: skip
    for f in range(d if whole else 0):
        rest = table.column_start[f + 1] - table.column_start[f]
        for c in range(C):
            rest -= room.smaller[f * C + c] if c != largest else 0
        room.smaller[f * C + largest] = rest


@piece
def _set_columns(
    row_start: NDArray,
    row_feature: NDArray,
    origin: NDArray,
    words: int,
    d: int,
    column: NDArray,
) -> None:
    """Make the set of explicit rows of every feature, for the rows of one problem."""
    for i in range(d * words):
        column[i] = 0
    for i in range(len(origin)):
        for t in range(row_start[origin[i]], row_start[origin[i] + 1]):
            set_bit(column, row_feature[t] * words, np.uint64(i))
