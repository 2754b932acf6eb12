"""Growing where every feature has two categories: only counts matter, and nothing is sorted.

Rows of a node are a set of bits, and so are the rows where a feature has its explicit code;
a split is a few ANDs. For each feature that can still split, a node knows how many of its
rows are explicit, class by class. After a split the rows of the smaller child are counted;
what its parent had beyond that belongs to the larger child.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._bits import IN_WORD, ONE, SIX, list_bits, popcount
from labelance.learners.tree._piece import piece
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._rules import EPS, SLACK, Rules
from labelance.learners.tree._sprouts import (
    FEATURE,
    FIRST,
    N_FIELDS,
    START,
    STOP,
    WIDTH,
    Sprouts,
    add_tree,
    new_sprouts,
    plant,
)
from labelance.learners.tree._table import ROW, TreeTable

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


@kernel
def grow_binary(table: TreeTable, problems: Problems, rules: Rules, log_table: NDArray) -> Sprouts:
    """Grow a tree for every problem; ``log_table[n]`` is n log2 n."""
    n, d, C, M = len(log_table) - 1, len(table.n_categories), 1, rules.min_leaf
    for k in problems.n_classes:
        C = max(C, k)
    sprouts, room = new_sprouts(problems, table.n_rows), _new_room(n, d, C)
    if problems.whole:
        for f in range(d):
            for t in range(table.column_start[f], table.column_start[f + 1]):
                _set_bit(room.column, f * ((n + 63) >> 6), table.cells[t] & ROW)
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        row, C = sprouts.row[sprouts.entry_start[p] :], problems.n_classes[p]
        top, size = _plant_root(table, problems.whole, origin, y, C, room, M), 1
        if top >= 0:
            size = _grow_tree(table, origin, y, C, row, room, top, M, log_table)
        else:
            list_bits(room.members, 0, (len(y) + 63) >> 6, row, 0)
        sprouts = add_tree(sprouts, p, room.nodes, room.counts, size, C)
    return sprouts


@piece
def _new_room(n: int, d: int, C: int) -> Room:
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
def _set_bit(bits: NDArray, start: int, row: np.uint64) -> None:
    bits[start + np.int64(row >> SIX)] |= ONE << (row & IN_WORD)


@piece
def _plant_root(
    table: TreeTable,
    whole: bool,
    origin: NDArray,
    y: NDArray,
    C: int,
    room: Room,
    min_leaf: float,
) -> int:
    """Make the root, its sets and its counts; return the top of the stack, -1 for a leaf."""
    n, d, words, counts, largest, m = (
        len(y),
        len(table.implicit),
        (len(y) + 63) >> 6,
        room.counts,
        0,
        0,
    )
    row_start, row_feature = table.row_start, table.row_feature
    for i in range(C):
        counts[i] = 0
    for i in range(C * words):
        room.kind[i] = 0
    for i in range(words):
        room.members[i] = 0
    for i in range(n):
        counts[y[i]] += 1
        _set_bit(room.kind, y[i] * words, np.uint64(i))
        _set_bit(room.members, 0, np.uint64(i))
    for c in range(1, C):
        largest = c if counts[c] > counts[largest] else largest
    # Where all rows take part, the counts of the largest class are what the others leave.
    for i in range(n):
        room.listed[m] = i
        m += not whole or y[i] != largest
    top = -1
    if plant(room.nodes, counts, 0, 0, n, C, min_leaf):
        for f in range(d):
            room.parent[f * (C + 1)] = f
        _count(
            row_start,
            row_feature,
            origin,
            y,
            C,
            room.listed,
            m,
            d,
            room.parent,
            room.place,
            room.smaller,
        )
        if whole:
            for f in range(d):
                rest = table.column_start[f + 1] - table.column_start[f]
                for c in range(C):
                    rest -= room.smaller[f * C + c] if c != largest else 0
                room.smaller[f * C + largest] = rest
        else:
            _set_columns(row_start, row_feature, origin, words, d, room.column)
        top = _push(
            room.stack,
            0,
            d,
            C,
            room.parent,
            room.smaller,
            True,
            n,
            np.int64(ceil(min_leaf - EPS)),
        )
    return top


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
            _set_bit(column, row_feature[t] * words, np.uint64(i))


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
    parent, listed, smaller, words = (
        room.parent,
        room.listed,
        room.smaller,
        (len(y) + 63) >> 6,
    )
    waiting, bottom = np.empty(MOST_WAITING, np.int64), np.empty(MOST_WAITING, np.int64)
    size, done, depth, S = 1, 0, 1, C + 1
    least = np.int64(ceil(min_leaf - EPS))
    cells_per_row = len(table.row_feature) // table.n_rows
    waiting[0], bottom[0] = 0, 0
    while depth > 0:
        depth -= 1
        v, low, here = waiting[depth], bottom[depth], depth * words
        k, n = (top - low) // S, nodes[v, STOP] - nodes[v, START]
        nodes[v, START], nodes[v, STOP], top = done, done + n, low
        best = _choose(stack, low, k, C, counts, v * C, n, room.gain, log_table)
        if best < 0:
            done = list_bits(members, here, words, row, done)
            continue
        f = np.int64(stack[low + best * S])
        nodes[v, FEATURE], nodes[v, FIRST], nodes[v, WIDTH] = f, size, 2
        large, small, m = _split(
            members, here, room.column, f * words, room.kind, words, C, counts, v, n,
            size + table.implicit[f], size + 1 - table.implicit[f],
        )  # fmt: skip
        large_open = plant(nodes, counts, large, 0, n - m, C, min_leaf)
        small_open = plant(nodes, counts, small, 0, m, C, min_leaf)
        if large_open or small_open:
            list_bits(members, here + words, words, listed, 0)
            for i in range(k * S):
                parent[i] = stack[low + i]
            if m * cells_per_row > k * C * (2 + words // 8):
                _count_bits(
                    members,
                    here + words,
                    room.column,
                    room.kind,
                    words,
                    C,
                    k,
                    parent,
                    smaller,
                )
            else:
                _count(
                    table.row_start, table.row_feature, origin, y, C, listed, m, k, parent,
                    room.place, smaller,
                )  # fmt: skip
        for child, bits, is_open in (
            (large, here, large_open),
            (small, here + words, small_open),
        ):
            if is_open:
                if bits != depth * words:
                    for w in range(words):
                        members[here + w] = members[bits + w]
                waiting[depth], bottom[depth] = child, top
                depth += 1
                top = _push(
                    stack, top, k, C, parent, smaller, child == small,
                    m if child == small else n - m, least,
                )  # fmt: skip
            else:
                nodes[child, START] = done
                nodes[child, STOP] = done = list_bits(members, bits, words, row, done)
        size += 2
    return size


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


@piece
def _count(
    row_start: NDArray,
    row_feature: NDArray,
    origin: NDArray,
    y: NDArray,
    C: int,
    row: NDArray,
    m: int,
    k: int,
    asked: NDArray,
    place: NDArray,
    count: NDArray,
) -> None:
    """Count, for the ``k`` features asked for and every class, the explicit of ``m`` rows."""
    nobody = len(count) - C
    for i in range(k * C):
        count[i] = 0
    for i in range(k):
        place[asked[i * (C + 1)]] = i * C
    for e in range(m):
        i = row[e]
        for t in range(row_start[origin[i]], row_start[origin[i] + 1]):
            count[place[row_feature[t]] + y[i]] += 1
    for i in range(k):
        place[asked[i * (C + 1)]] = nobody


@piece
def _count_bits(
    members: NDArray,
    here: int,
    column: NDArray,
    kind: NDArray,
    words: int,
    C: int,
    k: int,
    asked: NDArray,
    count: NDArray,
) -> None:
    """Do what :func:`_count` does by counting bits, which pays for many rows."""
    own = np.empty(words, np.uint64)
    for c in range(C):
        for w in range(words):
            own[w] = members[here + w] & kind[c * words + w]
        for i in range(k):
            total, base = np.uint64(0), np.int64(asked[i * (C + 1)]) * words
            for w in range(words):
                total += popcount(own[w] & column[base + w])
            count[i * C + c] = total


@piece
def _push(
    stack: NDArray,
    top: int,
    k: int,
    C: int,
    parent: NDArray,
    smaller: NDArray,
    is_smaller: bool,
    n: int,
    least: int,
) -> int:
    """Put a child of ``n`` rows on the stack; return its new top.

    A feature stays if both its branches have enough rows: below, they only get fewer.
    """
    # No branch: which features stay is hard to foresee, and a wrong guess is expensive.
    for i in range(k):
        explicit = np.int64(0)
        for c in range(C):
            less = smaller[i * C + c]
            here = less if is_smaller else parent[i * (C + 1) + 1 + c] - less
            stack[top + 1 + c] = here
            explicit += np.int64(here)
        stack[top] = parent[i * (C + 1)]
        top += (C + 1) * ((explicit >= least) & (explicit <= n - least))
    return top


@piece
def _choose(
    stack: NDArray,
    low: int,
    k: int,
    C: int,
    counts: NDArray,
    first: int,
    n: int,
    gain: NDArray,
    log_table: NDArray,
) -> int:
    """Return the place of the winner among the ``k`` features on the stack, or -1 for a leaf.

    The class counts of the node are ``counts[first:first + C]``.
    """
    before, total, rows = log_table[n], 0.0, np.uint64(n)
    for c in range(first, first + C):
        before -= log_table[np.int64(counts[c])]
    zeros, ones = np.uint64(counts[first]), np.uint64(counts[first + C - 1])
    for i in range(k):
        gained, explicit, at = before, np.uint64(0), low + i * (C + 1) + 1
        if C == 2:
            a, b = np.uint64(stack[at]), np.uint64(stack[at + 1])
            explicit = a + b
            gained += log_table[a] + log_table[b] + log_table[zeros - a] + log_table[ones - b]
        else:
            for c in range(C):
                a = np.uint64(stack[at + c])
                explicit += a
                gained += log_table[a] + log_table[np.uint64(counts[first + c]) - a]
        gained -= log_table[explicit] + log_table[rows - explicit]
        gain[i] = gained if gained >= EPS else 0.0
        total += gain[i]
    # Everything is n times too large, which spares divisions.
    winner, least, bar = -1, total / max(k, 1) - SLACK * n, EPS
    for i in range(k):
        explicit, at = np.uint64(0), low + i * (C + 1) + 1
        for c in range(C):
            explicit += np.uint64(stack[at + c])
        info = log_table[rows] - log_table[explicit] - log_table[rows - explicit]
        if gain[i] > bar * info and gain[i] >= least:
            winner, bar = i, gain[i] / info + EPS
    return winner
