"""Growing where every feature has two categories: only counts matter, and nothing is sorted.

Rows of a node are a set of bits, and so are the rows where a feature has its explicit code;
a split is a few ANDs. For each feature that can still split, a node knows how many of its
rows are explicit, class by class. After a split the rows of the smaller child are counted;
what its parent had beyond that belongs to the larger child.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree._binary_counts import choose, count, count_bits, push
from labelance.learners.tree._binary_root import MOST_WAITING, Room, new_room, plant_root, set_bit
from labelance.learners.tree._bits import list_bits, popcount
from labelance.learners.tree._piece import ZERO, piece
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._rules import EPS, Rules
from labelance.learners.tree._sprouts import (
    FEATURE,
    FIRST,
    START,
    STOP,
    WIDTH,
    Sprouts,
    add_tree,
    new_sprouts,
    plant,
)
from labelance.learners.tree._table import ROW, TreeTable


@kernel
def grow_binary(table: TreeTable, problems: Problems, rules: Rules, log_table: NDArray) -> Sprouts:
    """Grow a tree for every problem; ``log_table[n]`` is n log2 n."""
    n, d, C, M = len(log_table) - 1, len(table.n_categories), 1, rules.min_leaf
    for k in problems.n_classes:
        C = max(C, k)
    sprouts, room = new_sprouts(problems, table.n_rows), new_room(n, d, C)
    if problems.whole:
        for f in range(d):
            for t in range(table.column_start[f], table.column_start[f + 1]):
                set_bit(room.column, f * ((n + 63) >> 6), table.cells[t] & ROW)
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        row, C = sprouts.row[sprouts.entry_start[p] :], problems.n_classes[p]
        top, size = plant_root(table, problems.whole, origin, y, C, room, M), 1
        if top >= 0:
            size = _grow_tree(table, origin, y, C, row, room, top, M, log_table)
        else:
            list_bits(room.members, 0, (len(y) + 63) >> 6, row, 0)
        sprouts = add_tree(sprouts, p, room.nodes, room.counts, size, C)
    return sprouts


@piece
def _grow_tree(
    table: TreeTable,
    origin: NDArray,
    y: NDArray,
    C: int,
    row: NDArray,
    room: Room,
    top: int,
    min_leaf: float,
    log_table: NDArray,
) -> int:
    """Grow the tree whose root is planted; return the number of its nodes."""
    nodes, counts, members, stack = room.nodes, room.counts, room.members, room.stack
    waiting, bottom = np.empty(MOST_WAITING, np.int64), np.empty(MOST_WAITING, np.int64)
    size, done, depth, S, words = 1, 0, 1, C + 1, (len(y) + 63) >> 6
    least = np.int64(ceil(min_leaf - EPS))
    waiting[0], bottom[0] = 0, 0
    while depth > 0:
        depth -= 1
        v, low, here = waiting[depth], bottom[depth], depth * words
        k, n = (top - low) // S, nodes[v, STOP] - nodes[v, START]
        nodes[v, START], nodes[v, STOP], top = done, done + n, low
        best = choose(stack, low, k, C, counts, v * C, n, room.gain, log_table)
        if best < 0:
            done = list_bits(members, here, words, row, done)
            continue
        f = np.int64(stack[low + best * S])
        nodes[v, FEATURE], nodes[v, FIRST], nodes[v, WIDTH] = f, size, 2
        large, small, m = _split(
            members, here, room.column, f * words, room.kind, words, C, counts, v, n,
            size + table.implicit[f], size + 1 - table.implicit[f],
        )  # fmt: skip
        large_open = plant(nodes, counts, large, ZERO, n - m, C, min_leaf)
        small_open = plant(nodes, counts, small, ZERO, m, C, min_leaf)
        if large_open or small_open:
            _count_smaller(table, origin, y, C, room, low, here + words, m, k)
        for child, bits, rows, is_open in (
            (large, here, n - m, large_open),
            (small, here + words, m, small_open),
        ):
            if is_open:
                if bits != depth * words:
                    for w in range(words):
                        members[here + w] = members[bits + w]
                waiting[depth], bottom[depth] = child, top
                depth += 1
                top = push(stack, top, k, C, room.parent, room.smaller, child == small, rows, least)
            else:
                nodes[child, START] = done
                nodes[child, STOP] = done = list_bits(members, bits, words, row, done)
        size += 2
    return size


@piece
def _count_smaller(
    table: TreeTable,
    origin: NDArray,
    y: NDArray,
    C: int,
    room: Room,
    low: int,
    bits: int,
    m: int,
    k: int,
) -> None:
    """Put aside what the parent counted, and count the ``m`` rows of its smaller child."""
    words, cells_per_row = (len(y) + 63) >> 6, len(table.row_feature) // table.n_rows
    members, parent, stack = room.members, room.parent, room.stack
    for i in range(k * (C + 1)):
        parent[i] = stack[low + i]
    if m * cells_per_row > k * C * (2 + words // 8):
        count_bits(members, bits, room.column, room.kind, words, C, k, parent, room.smaller)
    else:
        list_bits(members, bits, words, room.listed, 0)
        count(
            table.row_start, table.row_feature, origin, y, C, room.listed, m, k, parent,
            room.place, room.smaller,
        )  # fmt: skip


@piece
def _split(
    members: NDArray,
    here: int,
    column: NDArray,
    explicit: int,
    kind: NDArray,
    words: int,
    C: int,
    counts: NDArray,
    v: int,
    n: int,
    usual: int,
    other: int,
) -> tuple[int, int, int]:
    """Split the set of node v, leaving the larger half in its place and the smaller behind it.

    Explicit rows go to the child ``other``. Returns the larger child, the smaller, its rows.
    """
    m = 0
    for c in range(C):
        counts[other * C + c] = 0.0
    for w in range(words):
        x = members[here + w] & column[explicit + w]
        members[here + words + w] = x
        members[here + w] ^= x
        for c in range(C):
            counts[other * C + c] += np.int64(popcount(x & kind[c * words + w]))
    for c in range(C):
        m += np.int64(counts[other * C + c])
        counts[usual * C + c] = counts[v * C + c] - counts[other * C + c]
    large, small = usual, other
    if 2 * m > n:
        large, small, m = other, usual, n - m
        for w in range(here, here + words):
            members[w], members[w + words] = members[w + words], members[w]
    return large, small, m
