"""Growing trees over sorted columns: any features, weights and missing values.

Nodes are split depth first. Every node on the stack keeps, for each feature that can still
split, its explicit cells in ascending order. When a node is split, the cells of its children
are copied after its own, except for the largest child's, which are pushed together in their
place. The largest child is split last, so all that is on the stack is at most about twice as
long as the root's cells.

numba takes a tenth of a second for a function, and more if it hands on many arrays, so there are
few functions here. For the same reason numpy allocates the arrays.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import ONE, ZERO, inlined_kernel, inner_kernel, kernel
from labelance.learners.tree._columns import (
    collect_columns,
    copy_columns,
    mark_cells,
    mark_changed,
    mark_rows,
    partition_columns,
)
from labelance.learners.tree._criterion import EPS, C45Options, average_features
from labelance.learners.tree._data import (
    MISSING,
    ROW,
    TreeData,
    cell_rank,
)
from labelance.learners.tree._nodes import (
    CUT,
    FEATURE,
    FIRST,
    START,
    STOP,
    WIDTH,
    Entries,
    Partition,
    UnprunedTrees,
    doubled,
    new_trees,
    partition_entries,
    plan_partition,
    set_leaf,
    with_twice_the_room,
)
from labelance.learners.tree._problems import CellIndex, Problems, load_problem, most_cells
from labelance.learners.tree._splitter import (
    BEGIN,
    COLUMN_FEATURE,
    END,
    Candidates,
    CutBuffers,
    choose_split,
    cut_between,
    evaluate_counted,
    prices,
)
from labelance.learners.tree._weighted_splitter import (
    WeightBuffers,
    evaluate_nominal,
    evaluate_weighted,
)

# Fields of the stack: a node, and its sorted columns from LOW up to TOP.
NODE, LOW, TOP = range(3)

NO_BRANCH = np.int64(-1)
NO_ROOM = np.int64(-1)


class Stack(NamedTuple):
    """Nodes to be split; see :class:`UnprunedTrees` about room."""

    nodes: NDArray[np.int64]
    columns: NDArray[np.int64]  # their sorted columns
    cells: NDArray[np.uint64]


class Buffers(NamedTuple):
    """Arrays that serve again for every tree."""

    rows: NDArray[np.int32]  # of the problem, and
    y: NDArray[np.int32]  # their classes
    marked: NDArray[np.uint64]  # cells of those rows: a bit for every cell of X
    first: NDArray[np.int32]  # where each row of X comes first among them,
    later: NDArray[np.int32]  # and where next; -1 if nowhere
    branch: NDArray[np.int32]  # that each row takes
    goes: NDArray[np.uint8]  # what becomes of the cells of each row
    changed: NDArray[np.int64]  # the last split that took a row from each feature
    share: NDArray[np.float64]  # of the known weight that each branch has
    begin: NDArray[np.int64]  # where the entries of each branch begin
    can_split: NDArray[np.bool_]  # which branches may be split
    candidates: Candidates
    cuts: CutBuffers
    weights: WeightBuffers


class Growing(NamedTuple):
    """The tree that grows: its problem, and the room that is left for nodes and entries."""

    rows: NDArray[np.int32]  # of X
    y: NDArray[np.int32]
    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # of each entry, and
    part: NDArray[np.float64] | None  # the weight of it that is there


def grow_trees(
    data: TreeData,
    problems: Problems,
    index: CellIndex,
    weight: NDArray[np.float64] | None,
    nominal: bool | None,
    options: C45Options,
    log_table: NDArray[np.float64],
) -> UnprunedTrees:
    """Grow a tree for every problem, see :func:`grow_sorted`."""
    trees = new_trees(problems, data.n_rows, weighted=weight is not None)
    stack = _new_stack(data, problems, len(log_table))
    buffers = _new_buffers(data, problems, prices(log_table, options))
    done = 0
    while True:
        done = grow_sorted(
            data, problems, index, weight, nominal, options, log_table, trees, stack,
            buffers, done,
        )  # fmt: skip
        if done == len(problems):
            return trees
        trees, stack = with_twice_the_room(trees), Stack(*(doubled(part) for part in stack))


def _new_stack(data: TreeData, problems: Problems, n: int) -> Stack:
    """Return room for the nodes to be split, enough where splits are in two.

    Each node on the stack has at most half of the rows of the one below it.
    """
    d, levels = data.n_features, n.bit_length() + 4
    return Stack(
        np.empty((levels + int(data.n_categories.max()), 3), np.int64),
        np.empty((levels * d, 3), np.int64),
        np.empty(3 * most_cells(data, problems) + 2, np.uint64),
    )


def _new_buffers(data: TreeData, problems: Problems, price: NDArray[np.float64]) -> Buffers:
    """Return the buffers for the largest problem."""
    n, C = int(problems.sizes(data.n_rows).max()), int(problems.n_classes.max())
    d, widest = data.n_features, max(3, int(data.n_categories.max()))
    return Buffers(
        rows=np.empty(n, np.int32),
        y=np.empty(n, np.int32),
        marked=np.zeros(0 if problems.all_rows else (len(data.cells) + 63) >> 6, np.uint64),
        first=np.empty(data.n_rows, np.int32),
        later=np.empty(n, np.int32),
        branch=np.empty(n, np.int32),
        goes=np.empty(n, np.uint8),
        changed=np.zeros(d, np.int64),
        share=np.empty(widest),
        begin=np.empty(widest + 1, np.int64),
        can_split=np.empty(widest, np.bool_),
        candidates=Candidates(
            status=np.empty(d, np.int64),
            gain=np.empty(d),
            ratio=np.empty(d),
            low=np.empty(d, np.int64),
            high=np.empty(d, np.int64),
        ),
        cuts=CutBuffers(
            place=np.empty(C, np.int64),
            start=np.empty(C + 1, np.int64),
            sums=np.empty(n + C + n + 1),
            score=np.empty(n + 1),
            price=price,
        ),
        weights=WeightBuffers(
            row=np.ones(n),
            branches=np.empty(widest * C),
            known=np.empty(C),
            left=np.empty(C),
            right=np.empty(C),
            averaged=np.empty(d, np.bool_),
        ),
    )


@kernel
def grow_sorted(
    data: TreeData,
    problems: Problems,
    index: CellIndex,
    weight: NDArray | None,
    nominal: bool | None,
    options: C45Options,
    log_table: NDArray,
    trees: UnprunedTrees,
    stack: Stack,
    buffers: Buffers,
    done: int,
) -> int:
    """Grow the trees of problems from ``done`` on; ``log_table[n]`` is n log2 n.

    None for ``weight`` says that all weights are 1 and no value is missing, so that rows can be
    counted; None for ``nominal`` then that no feature is nominal. What is not needed then is not
    compiled, for numba leaves out the branches that None rules out. Returns how many trees are
    done: the next one had not enough room.
    """
    # A feature with fewer cells splits nothing below here: they, or all others, go one way.
    fewest = np.int64(ceil(options.min_samples_leaf - EPS)) if weight is None else ONE
    for p in range(done, len(problems.n_classes)):
        rows, y, C = load_problem(problems, p, data.n_rows, buffers.rows, buffers.y)
        at, entry, n, depth = trees.node_start[p], trees.entry_start[p], len(y), ZERO
        nodes, histogram = trees.nodes[at:], trees.histogram[trees.histogram_start[p] :]
        row, part = trees.row[entry:], None if weight is None else trees.weight[entry:]
        if len(nodes) == 0 or len(histogram) < C or len(row) < n:
            return p
        for i in range(n):
            row[i] = i
            if weight is not None:
                part[i] = weight[rows[i]]
        tree = Growing(rows, y, nodes, histogram, row, part)
        if _make_leaf(tree, ZERO, ZERO, n, C, weight, options.min_samples_leaf):
            top = _copy_root(data, problems.all_rows, index, rows, y, C, fewest, stack, buffers)
            stack.nodes[0, NODE], stack.nodes[0, LOW], stack.nodes[0, TOP], depth = 0, 0, top, 1
            if nominal is not None:
                average_features(data.n_categories, histogram[:C], buffers.weights.averaged)
        size, used = _split_nodes(
            data, tree, C, weight, nominal, options, log_table, stack, buffers, depth, at, fewest
        )
        if size == NO_ROOM:
            return p
        trees.node_start[p + 1], trees.entry_start[p + 1] = at + size, entry + used
        trees.histogram_start[p + 1] = trees.histogram_start[p] + size * C
    return len(problems.n_classes)


@inlined_kernel
def _copy_root(
    data: TreeData,
    all_rows: bool,
    index: CellIndex,
    rows: NDArray,
    y: NDArray,
    C: int,
    fewest: int,
    stack: Stack,
    buffers: Buffers,
) -> int:
    """Copy the sorted columns of a problem's rows to the stack; return how many there are."""
    of_class = ONE if C == 2 else ZERO
    if all_rows:
        return copy_columns(
            data.column_start, data.cells, y, of_class, fewest, stack.columns, stack.cells
        )
    marked, first, later = buffers.marked, buffers.first, buffers.later
    mark_cells(data.row_start, index.place, rows, marked, first, later)
    return collect_columns(
        data.cells, index.feature, marked, first, later, y, of_class, fewest,
        stack.columns, stack.cells,
    )  # fmt: skip


@inlined_kernel
def _split_nodes(
    data: TreeData,
    tree: Growing,
    C: int,
    weight: NDArray | None,
    nominal: bool | None,
    options: C45Options,
    log_table: NDArray,
    stack: Stack,
    buffers: Buffers,
    depth: int,
    at: int,
    fewest: int,
) -> tuple[int, int]:
    """Split nodes until none waits; return how many nodes and entries the tree has.

    NO_ROOM for the former says that there was not enough room. ``at`` is the number of the tree's
    first node among those of all trees.
    """
    nodes, candidates, size, used = tree.nodes, buffers.candidates, ONE, len(tree.y)
    waiting, begin, can_split = stack.nodes, buffers.begin, buffers.can_split
    while depth > 0:
        depth -= 1
        v, low, top = waiting[depth, NODE], waiting[depth, LOW], waiting[depth, TOP]
        own, n = stack.columns[low:top], nodes[v, STOP] - nodes[v, START]
        _evaluate(data, tree, v, C, own, stack.cells, weight, nominal, log_table, buffers, options)
        best = choose_split(top - low, candidates.status, candidates.gain, candidates.ratio)
        if best < 0:
            continue
        f, width, copies = own[best, COLUMN_FEATURE], 2, 1
        if nominal is not None:
            width = max(2, np.int64(data.n_categories[f]))
        if weight is not None:
            copies = width
        room = min(len(tree.histogram) // C, len(nodes))
        if size + width > room or used + copies * n > len(tree.row):
            return NO_ROOM, used
        cut = cut_between(
            data.levels, data.level_start[f], candidates.low[best], candidates.high[best]
        )
        nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = f, cut, size, width
        used = _partition(data, tree, v, own[best], stack.cells, weight, used, buffers)
        for b in range(width):
            can_split[b] = _make_leaf(
                tree, size + b, begin[b], begin[b + 1], C, weight, options.min_samples_leaf
            )
        largest = _largest_open(begin[: width + 1], can_split)
        if largest >= 0:
            mark = mark_changed(
                data.row_start, data.row_feature, tree.rows, tree.row, begin[: width + 1], largest,
                at + v + 1, buffers.changed,
            )  # fmt: skip
            depth = _push_children(
                waiting, depth, stack.columns, stack.cells, size, tree.row, begin[: width + 1],
                can_split, largest, candidates.status, buffers.goes, buffers.changed, mark, fewest,
            )  # fmt: skip
            if depth == NO_ROOM:
                return NO_ROOM, used
        size += width
    return size, used


@inlined_kernel
def _evaluate(
    data: TreeData,
    tree: Growing,
    v: int,
    C: int,
    own: NDArray,
    cells: NDArray,
    weight: NDArray | None,
    nominal: bool | None,
    log_table: NDArray,
    buffers: Buffers,
    options: C45Options,
) -> None:
    """Find the best split of node v on each of its ``own`` columns."""
    start, stop, candidates = tree.nodes[v, START], tree.nodes[v, STOP], buffers.candidates
    n, classes = stop - start, tree.histogram[v * C : (v + 1) * C]
    if weight is None:
        evaluate_counted(
            data.levels, data.level_start, data.implicit, data.n_categories, own, cells, tree.y,
            classes, n, log_table, buffers.cuts, candidates, options,
        )  # fmt: skip
    else:
        for e in range(start, stop):
            buffers.weights.row[tree.row[e]] = tree.part[e]
        evaluate_weighted(
            data, n, own, cells, tree.y, classes, buffers.weights, candidates, options
        )
    if nominal is not None:
        evaluate_nominal(data, n, own, cells, tree.y, classes, buffers.weights, candidates, options)


@inlined_kernel
def _partition(
    data: TreeData,
    tree: Growing,
    v: int,
    column: NDArray,
    cells: NDArray,
    weight: NDArray | None,
    used: int,
    buffers: Buffers,
) -> int:
    """Write the entries of each branch of node v after the ``used`` ones; return their end."""
    start, stop, width = tree.nodes[v, START], tree.nodes[v, STOP], tree.nodes[v, WIDTH]
    f, branch, begin = tree.nodes[v, FEATURE], buffers.branch, buffers.begin[: width + 1]
    is_nominal, usual = data.n_categories[f] > 0, np.int64(data.implicit[f])
    _find_branches(
        tree.row[start:stop], cells, column, is_nominal, usual, tree.nodes[v, CUT], branch
    )
    if weight is None:
        return _partition_rows(tree.row, start, stop, used, branch, begin)
    entries = Entries(tree.row, tree.part, used)
    plan = Partition(branch, buffers.share[:width], begin)
    used = plan_partition(entries, start, stop, used, plan)
    partition_entries(entries, start, stop, plan)
    return used


@inner_kernel
def _make_leaf(
    tree: Growing,
    v: int,
    start: int,
    stop: int,
    C: int,
    weight: NDArray | None,
    min_samples_leaf: float,
) -> bool:
    """Make node v a leaf over some entries; return whether it may be split."""
    histogram = tree.histogram
    for c in range(v * C, (v + 1) * C):
        histogram[c] = 0.0
    for e in range(start, stop):
        if weight is None:
            histogram[v * C + tree.y[tree.row[e]]] += 1.0
        else:
            histogram[v * C + tree.y[tree.row[e]]] += tree.part[e]
    return set_leaf(tree.nodes, histogram, v, start, stop, C, min_samples_leaf)


@inner_kernel
def _find_branches(
    row: NDArray,
    cells: NDArray,
    column: NDArray,
    nominal: bool,
    usual: int,
    cut: int,
    branch: NDArray,
) -> None:
    """Note the branch that each row takes in the split on a column, -1 where its value is missing.

    Rows without a cell have the rank ``usual``.
    """
    of_others = usual if nominal else np.int64(usual > cut)
    for e in range(len(row)):
        branch[row[e]] = of_others
    for t in range(column[BEGIN], column[END]):
        rank = cell_rank(cells[t])
        known = rank if nominal else np.int64(rank > cut)
        branch[cells[t] & ROW] = -1 if rank == MISSING else known


@inner_kernel
def _partition_rows(
    row: NDArray, start: int, stop: int, used: int, branch: NDArray, begin: NDArray
) -> int:
    """Write the rows of each branch after the ``used`` ones; return their end.

    ``begin`` gets where each branch's begin, and where those of the last end.
    """
    width = len(begin) - 1
    for b in range(width):
        begin[b] = 0
    for e in range(start, stop):
        begin[branch[row[e]]] += 1
    for b in range(width):
        used += begin[b]
        begin[b] = used - begin[b]
    begin[width] = used
    for e in range(start, stop):
        b = branch[row[e]]
        row[begin[b]] = row[e]
        begin[b] += 1
    # Every beginning has come to its branch's end, where the next branch begins.
    for b in range(width - 1, 0, -1):
        begin[b] = begin[b - 1]
    begin[0] = used - (stop - start)
    return used


@inner_kernel
def _largest_open(begin: NDArray, can_split: NDArray) -> int:
    """Return the branch of most rows among those that may be split, -1 if there is none."""
    largest, most = NO_BRANCH, 0
    for b in range(len(begin) - 1):
        if can_split[b] and begin[b + 1] - begin[b] > most:
            largest, most = b, begin[b + 1] - begin[b]
    return largest


@inner_kernel
def _push_children(
    waiting: NDArray,
    depth: int,
    columns: NDArray,
    cells: NDArray,
    first: int,
    row: NDArray,
    begin: NDArray,
    can_split: NDArray,
    largest: int,
    status: NDArray,
    goes: NDArray,
    changed: NDArray,
    mark: int,
    fewest: int,
) -> int:
    """Put the children that may be split on the stack, the largest in its parent's place.

    The parent is at ``depth``, its children are numbered from ``first`` on. Returns the new depth.
    """
    low, top, width = waiting[depth, LOW], waiting[depth, TOP], len(begin) - 1
    last, n_open = largest, 0
    for b in range(width):
        n_open += can_split[b]
        last = b if can_split[b] and b != largest else last
    end = columns[top - 1, END]
    n_cells = end + n_open * (end - columns[low, BEGIN]) + 2
    room = n_cells <= len(cells) and depth + n_open <= len(waiting)
    if not room or top + n_open * (top - low) > len(columns):
        return NO_ROOM
    to, kept, slot = top, low, depth
    for b in range(width):
        if can_split[b] and (b != largest or n_open == 1):
            # The largest child's cells are pushed together when the last other one's are copied.
            bottom, is_last = to, b == last
            mark_rows(row, begin, b, largest if is_last else NO_BRANCH, goes)
            to, kept = partition_columns(
                columns, cells, low, top, status, goes, changed, mark, fewest, is_last, to
            )
            if b != largest:
                slot += 1
                waiting[slot, NODE], waiting[slot, LOW] = first + b, bottom
                waiting[slot, TOP] = to
    waiting[depth, NODE], waiting[depth, LOW], waiting[depth, TOP] = first + largest, low, kept
    return depth + n_open
