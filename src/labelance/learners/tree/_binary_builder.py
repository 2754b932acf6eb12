"""Growing trees where every feature has two categories: only counts matter, nothing is sorted.

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

from labelance._utils._kernel import ZERO, inner_kernel, kernel
from labelance.learners.tree._criterion import EPS, SLACK, C45Options
from labelance.learners.tree._data import (
    IN_WORD,
    ONE_BIT,
    ROW,
    SIX,
    TreeData,
    list_bits,
    popcount,
)
from labelance.learners.tree._nodes import (
    FEATURE,
    FIRST,
    START,
    STOP,
    WIDTH,
    UnprunedTrees,
    new_trees,
    set_leaf,
    with_twice_the_room,
)
from labelance.learners.tree._problems import Problem, Problems, load_problem

MOST_WAITING = 66  # the smaller child goes first, so each waiting node is at most half as large

_SMALLER = np.bool_(True)  # with a type, see ZERO

# Fields of the counts of a feature at a node: the feature, and from EXPLICIT on the number of
# its explicit rows of each class.
COUNTED_FEATURE, EXPLICIT = 0, 1


class BinaryBuffers(NamedTuple):
    """Arrays that serve again for every tree."""

    rows: NDArray[np.int32]  # of the problem, and
    y: NDArray[np.int32]  # their classes
    column: NDArray[np.uint64]  # sets: explicit rows of every feature,
    of_class: NDArray[np.uint64]  # rows of every class,
    members: NDArray[np.uint64]  # rows of every waiting node,
    own: NDArray[np.uint64]  # and those of one class in a node
    listed: NDArray[np.int32]  # rows of the smaller child
    stack: NDArray[np.uint32]  # per waiting node: counts of its features
    parent: NDArray[np.uint32]  # the same for the node that is split
    smaller: NDArray[np.uint32]  # explicit rows in its smaller child per feature of the parent,
    place: NDArray[np.int64]  # and the line of each feature in there; the last one is for others
    gain: NDArray[np.float64]  # of every feature, times the number of rows
    waiting: NDArray[np.int64]  # nodes to be split,
    bottom: NDArray[np.int64]  # and where the counts of each begin


def grow_binary_trees(
    data: TreeData, problems: Problems, options: C45Options, log_table: NDArray[np.float64]
) -> UnprunedTrees:
    """Grow a tree for every problem, see :func:`grow_binary`."""
    n, done = len(log_table) - 1, 0
    trees = new_trees(problems, data.n_rows, most_nodes=2 * n + 1)
    buffers = _new_buffers(n, data.n_features, int(problems.n_classes.max()))
    while True:
        done = grow_binary(data, problems, options, log_table, trees, buffers, done)
        if done == len(problems):
            return trees
        trees = with_twice_the_room(trees)


def _new_buffers(n: int, d: int, C: int) -> BinaryBuffers:
    """Return buffers for trees of up to ``n`` rows."""
    words = (n + 63) >> 6
    return BinaryBuffers(
        rows=np.empty(n, np.int32),
        y=np.empty(n, np.int32),
        column=np.zeros(d * words, np.uint64),
        of_class=np.zeros(C * words, np.uint64),
        members=np.zeros(MOST_WAITING * words, np.uint64),
        own=np.empty(words, np.uint64),
        listed=np.empty(n + 1, np.int32),
        stack=np.empty((MOST_WAITING * d, EXPLICIT + C), np.uint32),
        parent=np.empty((d, EXPLICIT + C), np.uint32),
        smaller=np.zeros((d + 1, C), np.uint32),
        place=np.full(d, d, np.int64),
        gain=np.empty(d),
        waiting=np.empty(MOST_WAITING, np.int64),
        bottom=np.empty(MOST_WAITING, np.int64),
    )


@kernel
def grow_binary(
    data: TreeData,
    problems: Problems,
    options: C45Options,
    log_table: NDArray,
    trees: UnprunedTrees,
    buffers: BinaryBuffers,
    done: int,
) -> int:
    """Grow the trees of problems from ``done`` on; ``log_table[n]`` is n log2 n.

    Returns how many trees are done: the next one might not have enough room.
    """
    n, d, M = len(log_table) - 1, len(data.n_categories), options.min_samples_leaf
    if problems.all_rows and done == 0:
        for f in range(d):
            for t in range(data.column_start[f], data.column_start[f + 1]):
                _set_bit(buffers.column, f * ((n + 63) >> 6), data.cells[t] & ROW)
    for p in range(done, len(problems.n_classes)):
        problem = load_problem(problems, p, data.n_rows, buffers.rows, buffers.y)
        C, at, entry = problem.n_classes, trees.node_start[p], trees.entry_start[p]
        nodes, histogram = trees.nodes[at:], trees.histogram[trees.histogram_start[p] :]
        row, most = trees.row[entry:], 2 * len(problem.y) + 1  # every leaf has at least one row
        if len(nodes) < most or len(histogram) < most * C or len(row) < len(problem.y):
            return p
        top, size = _add_root(data, problems.all_rows, problem, nodes, histogram, buffers, M), 1
        if top >= 0:
            size = _grow_tree(data, problem, nodes, histogram, row, buffers, top, M, log_table)
        else:
            list_bits(buffers.members, ZERO, (len(problem.y) + 63) >> 6, row, ZERO)
        trees.node_start[p + 1], trees.entry_start[p + 1] = at + size, entry + len(problem.y)
        trees.histogram_start[p + 1] = trees.histogram_start[p] + size * C
    return len(problems.n_classes)


@inner_kernel
def _set_bit(bits: NDArray, start: int, row: np.uint64) -> None:
    bits[start + np.int64(row >> SIX)] |= ONE_BIT << (row & IN_WORD)


@inner_kernel
def _add_root(
    data: TreeData,
    all_rows: bool,
    problem: Problem,
    nodes: NDArray,
    histogram: NDArray,
    buffers: BinaryBuffers,
    M: float,
) -> int:
    """Make the root, its sets and its counts; return the top of the stack, -1 for a leaf."""
    y, C, n, d = problem.y, problem.n_classes, len(problem.y), len(data.implicit)
    words = (n + 63) >> 6
    for i in range(C):
        histogram[i] = 0
    for i in range(C * words):
        buffers.of_class[i] = 0
    for i in range(words):
        buffers.members[i] = 0
    for i in range(n):
        histogram[y[i]] += 1
        _set_bit(buffers.of_class, y[i] * words, np.uint64(i))
        _set_bit(buffers.members, ZERO, np.uint64(i))
    top = -1
    if set_leaf(nodes, histogram, ZERO, ZERO, n, C, M):
        for f in range(d):
            buffers.parent[f, COUNTED_FEATURE] = f
        _count_root(data, all_rows, problem, histogram, buffers)
        if not all_rows:
            _set_columns(data.row_start, data.row_feature, problem.rows, d, buffers.column)
        top = _push_child(buffers, ZERO, d, C, _SMALLER, n, np.int64(ceil(M - EPS)))
    return top


@inner_kernel
def _count_root(
    data: TreeData, all_rows: bool, problem: Problem, histogram: NDArray, buffers: BinaryBuffers
) -> None:
    """Count the explicit rows of every feature.

    Where all rows take part, the counts of the largest class are what the others leave.
    """
    y, C, d, largest, m = problem.y, problem.n_classes, len(data.implicit), 0, 0
    for c in range(1, C):
        largest = c if histogram[c] > histogram[largest] else largest
    for i in range(len(y)):
        buffers.listed[m] = i
        m += not all_rows or y[i] != largest
    _count_rows(data, problem, buffers, m, d)
    for f in range(d if all_rows else 0):
        rest = data.column_start[f + 1] - data.column_start[f]
        for c in range(C):
            rest -= buffers.smaller[f, c] if c != largest else 0
        buffers.smaller[f, largest] = rest


@inner_kernel
def _set_columns(
    row_start: NDArray, row_feature: NDArray, rows: NDArray, d: int, column: NDArray
) -> None:
    """Make the set of explicit rows of every feature, for the rows of one problem."""
    words = (len(rows) + 63) >> 6
    for i in range(d * words):
        column[i] = 0
    for i in range(len(rows)):
        for t in range(row_start[rows[i]], row_start[rows[i] + 1]):
            _set_bit(column, row_feature[t] * words, np.uint64(i))


@inner_kernel
def _grow_tree(
    data: TreeData,
    problem: Problem,
    nodes: NDArray,
    histogram: NDArray,
    row: NDArray,
    buffers: BinaryBuffers,
    top: int,
    M: float,
    log_table: NDArray,
) -> int:
    """Grow the tree that has its root; write its entries to ``row``; return the number of nodes."""
    members, stack, waiting, bottom = (
        buffers.members,
        buffers.stack,
        buffers.waiting,
        buffers.bottom,
    )
    size, done, depth, C, words = 1, 0, 1, problem.n_classes, (len(problem.y) + 63) >> 6
    least = np.int64(ceil(M - EPS))
    waiting[0], bottom[0] = 0, 0
    while depth > 0:
        depth -= 1
        v, low, here = waiting[depth], bottom[depth], depth * words
        k, n = top - low, nodes[v, STOP] - nodes[v, START]
        nodes[v, START], nodes[v, STOP], top = done, done + n, low
        best = _choose_feature(buffers, histogram, low, k, C, v, n, log_table)
        if best < 0:
            done = list_bits(members, here, words, row, done)
            continue
        f = np.int64(stack[low + best, COUNTED_FEATURE])
        nodes[v, FEATURE], nodes[v, FIRST], nodes[v, WIDTH] = f, size, 2
        large, small, m = _split_node(
            nodes, histogram, buffers, problem, v, here, size + data.implicit[f]
        )
        large_open = set_leaf(nodes, histogram, large, ZERO, n - m, C, M)
        small_open = set_leaf(nodes, histogram, small, ZERO, m, C, M)
        if large_open or small_open:
            _count_smaller(data, problem, buffers, low, here + words, m, k)
        for child, bits, rows, can_split in (
            (large, here, n - m, large_open),
            (small, here + words, m, small_open),
        ):
            if can_split:
                if bits != depth * words:
                    for w in range(words):
                        members[here + w] = members[bits + w]
                waiting[depth], bottom[depth] = child, top
                depth += 1
                top = _push_child(buffers, top, k, C, child == small, rows, least)
            else:
                nodes[child, START] = done
                nodes[child, STOP] = done = list_bits(members, bits, words, row, done)
        size += 2
    return size


@inner_kernel
def _split_node(
    nodes: NDArray,
    histogram: NDArray,
    buffers: BinaryBuffers,
    problem: Problem,
    v: int,
    here: int,
    usual: int,
) -> tuple[int, int, int]:
    """Split the set of node v, leaving the larger half in its place and the smaller after it.

    Implicit rows go to the child ``usual``, explicit ones to the other. Returns the larger
    child, the smaller one, and its number of rows.
    """
    members, column, of_class = buffers.members, buffers.column, buffers.of_class
    C, m, words = problem.n_classes, 0, (len(problem.y) + 63) >> 6
    explicit, other = nodes[v, FEATURE] * words, 2 * nodes[v, FIRST] + 1 - usual
    for c in range(C):
        histogram[other * C + c] = 0.0
    for w in range(words):
        x = members[here + w] & column[explicit + w]
        members[here + words + w] = x
        members[here + w] ^= x
        for c in range(C):
            histogram[other * C + c] += np.int64(popcount(x & of_class[c * words + w]))
    for c in range(C):
        m += np.int64(histogram[other * C + c])
        histogram[usual * C + c] = histogram[v * C + c] - histogram[other * C + c]
    large, small, n = usual, other, nodes[v, STOP] - nodes[v, START]
    if 2 * m > n:
        large, small, m = other, usual, n - m
        for w in range(here, here + words):
            members[w], members[w + words] = members[w + words], members[w]
    return large, small, m


@inner_kernel
def _count_smaller(
    data: TreeData, problem: Problem, buffers: BinaryBuffers, low: int, bits: int, m: int, k: int
) -> None:
    """Put aside what the parent counted, and count the ``m`` rows of its smaller child.

    The parent has ``k`` features, from ``low`` on; the child's rows are the set at ``bits``.
    """
    C, words = problem.n_classes, (len(problem.y) + 63) >> 6
    cells_per_row = len(data.row_feature) // data.n_rows
    parent, stack = buffers.parent, buffers.stack
    for i in range(k):
        for field in range(EXPLICIT + C):
            parent[i, field] = stack[low + i, field]
    if m * cells_per_row > k * C * (2 + words // 8):
        _count_bits(buffers, bits, words, k, C)
    else:
        list_bits(buffers.members, bits, words, buffers.listed, ZERO)
        _count_rows(data, problem, buffers, m, k)


@inner_kernel
def _count_rows(data: TreeData, problem: Problem, buffers: BinaryBuffers, m: int, k: int) -> None:
    """Count, for the ``k`` features of the parent and every class, the explicit of ``m`` rows."""
    row_start, row_feature, rows, y = data.row_start, data.row_feature, problem.rows, problem.y
    listed, parent, place, smaller = buffers.listed, buffers.parent, buffers.place, buffers.smaller
    for i in range(k):
        for c in range(problem.n_classes):
            smaller[i, c] = 0
        place[parent[i, COUNTED_FEATURE]] = i
    for e in range(m):
        i = listed[e]
        for t in range(row_start[rows[i]], row_start[rows[i] + 1]):
            smaller[place[row_feature[t]], y[i]] += 1
    others = len(place)
    for i in range(k):
        place[parent[i, COUNTED_FEATURE]] = others


@inner_kernel
def _count_bits(buffers: BinaryBuffers, bits: int, words: int, k: int, C: int) -> None:
    """Do what :func:`_count_rows` does by counting bits, which pays for many rows."""
    members, column, of_class = buffers.members, buffers.column, buffers.of_class
    parent, smaller, own = buffers.parent, buffers.smaller, buffers.own
    for c in range(C):
        for w in range(words):
            own[w] = members[bits + w] & of_class[c * words + w]
        for i in range(k):
            total, base = np.uint64(0), np.int64(parent[i, COUNTED_FEATURE]) * words
            for w in range(words):
                total += popcount(own[w] & column[base + w])
            smaller[i, c] = total


@inner_kernel
def _push_child(
    buffers: BinaryBuffers, top: int, k: int, C: int, is_smaller: bool, n: int, least: int
) -> int:
    """Put the counts of a child of ``n`` rows on the stack; return its new top.

    A feature stays if both its branches have enough rows: below, they only get fewer.
    """
    stack, parent, smaller = buffers.stack, buffers.parent, buffers.smaller
    # No branch: which features stay is hard to foresee, and a wrong guess is expensive.
    for i in range(k):
        explicit = np.int64(0)
        for c in range(C):
            less = smaller[i, c]
            here = less if is_smaller else parent[i, EXPLICIT + c] - less
            stack[top, EXPLICIT + c] = here
            explicit += np.int64(here)
        stack[top, COUNTED_FEATURE] = parent[i, COUNTED_FEATURE]
        top += (explicit >= least) & (explicit <= n - least)
    return top


@inner_kernel
def _choose_feature(
    buffers: BinaryBuffers,
    histogram: NDArray,
    low: int,
    k: int,
    C: int,
    v: int,
    n: int,
    log_table: NDArray,
) -> int:
    """Return which of the ``k`` features of node v, from ``low`` on, is the best, or -1."""
    stack, gain, first = buffers.stack, buffers.gain, v * C
    before, total, rows = log_table[n], 0.0, np.uint64(n)
    for c in range(first, first + C):
        before -= log_table[np.int64(histogram[c])]
    zeros, ones = np.uint64(histogram[first]), np.uint64(histogram[first + C - 1])
    for i in range(k):
        gained, explicit = before, np.uint64(0)
        if C == 2:
            a, b = np.uint64(stack[low + i, EXPLICIT]), np.uint64(stack[low + i, EXPLICIT + 1])
            explicit = a + b
            gained += log_table[a] + log_table[b] + log_table[zeros - a] + log_table[ones - b]
        else:
            for c in range(C):
                a = np.uint64(stack[low + i, EXPLICIT + c])
                explicit += a
                gained += log_table[a] + log_table[np.uint64(histogram[first + c]) - a]
        gained -= log_table[explicit] + log_table[rows - explicit]
        gain[i] = gained if gained >= EPS else 0.0
        total += gain[i]
    # Everything is n times too large, which spares divisions.
    winner, least, bar = -1, total / max(k, 1) - SLACK * n, EPS
    for i in range(k):
        explicit = np.uint64(0)
        for c in range(C):
            explicit += np.uint64(stack[low + i, EXPLICIT + c])
        info = log_table[rows] - log_table[explicit] - log_table[rows - explicit]
        if gain[i] > bar * info and gain[i] >= least:
            winner, bar = i, gain[i] / info + EPS
    return winner
