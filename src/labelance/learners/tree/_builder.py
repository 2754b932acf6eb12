"""Growing trees over sorted columns: any features, weights and missing values.

Nodes are split depth first. Every node on the stack keeps, for each feature that can still
split, its explicit cells in ascending order. When a node is split, the cells of its children
are copied behind its own, except for the largest child's, which are pushed together in their
place. The largest child is split last, so all that is on the stack is at most about twice as
long as the root's cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import ONE, ZERO, inner_kernel, kernel
from labelance.learners.tree._criterion import DEAD, C45Options, averaged_features
from labelance.learners.tree._data import MISSING, RANK, ROW, TreeData
from labelance.learners.tree._nodes import (
    CUT,
    FEATURE,
    FIRST,
    N_FIELDS,
    START,
    STOP,
    WIDTH,
    Entries,
    Partition,
    UnprunedTrees,
    add_tree,
    new_trees,
    partition_entries,
    plan_partition,
    set_leaf,
    with_capacity,
    with_lines,
)
from labelance.learners.tree._problems import Problem, Problems, SortedCells, expand_problem
from labelance.learners.tree._splitter import (
    BEGIN,
    COLUMN_FEATURE,
    END,
    Buffers,
    Candidates,
    Node,
    choose_split,
    cut_between,
    evaluate_counted,
    evaluate_nominal,
    evaluate_weighted,
)

# Fields of the stack: a node, and its sorted columns from LOW up to TOP.
NODE, LOW, TOP = range(3)

NO_BRANCH = np.int64(-1)
COPIED, KEPT = np.uint8(1), np.uint8(2)  # what becomes of the cells of a row


class GrowingTree(NamedTuple):
    """A tree that is being grown; the arrays serve again for the next one."""

    problem: Problem
    nodes: NDArray[np.int64]
    size: int  # number of nodes
    histogram: NDArray[np.float64]
    entries: Entries
    stack: NDArray[np.int64]  # nodes to be split
    columns: NDArray[np.int64]  # their sorted columns
    cells: NDArray[np.uint64]


@kernel
def grow_sorted(
    data: TreeData,
    problems: Problems,
    sorted_cells: SortedCells,
    weight: NDArray | None,
    nominal: bool | None,
    options: C45Options,
    log_table: NDArray,
) -> UnprunedTrees:
    """Grow a tree for every problem; ``log_table[n]`` is n log2 n.

    None for ``weight`` says that all weights are 1 and no value is missing, so that rows can be
    counted; None for ``nominal`` that no feature is nominal. What is not needed then is not
    compiled, for numba leaves out the branches that None rules out.
    """
    d, trees = len(data.n_categories), new_trees(problems, data.n_rows)
    tree = _new_tree(problems, d, weight is None)
    candidates = Candidates(
        np.empty(d, np.int64),
        np.empty(d),
        np.empty(d),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
    )
    row, part = trees.row, trees.weight
    for p in range(len(problems.n_classes)):
        problem = expand_problem(problems, p, data.n_rows)
        first = 0 if problems.all_rows else p * d
        column_start = sorted_cells.begin[first : first + d + 1]
        tree = _add_root(tree, problem, column_start, sorted_cells.cells, weight)
        can_split = _set_leaf(tree, ZERO, ZERO, len(problem.y), options.min_samples_leaf)
        buffers, depth = _new_buffers(data.n_categories, tree, log_table), 1 if can_split else 0
        while depth > 0:
            depth -= 1
            v, low, top = tree.stack[depth, NODE], tree.stack[depth, LOW], tree.stack[depth, TOP]
            columns, node = tree.columns[low:top], _node_to_split(tree, v, buffers)
            if weight is None:
                evaluate_counted(data, node, columns, tree.cells, buffers, candidates, options)
            else:
                evaluate_weighted(data, node, columns, tree.cells, buffers, candidates, options)
            if nominal is not None:
                evaluate_nominal(data, node, columns, tree.cells, buffers, candidates, options)
            best = choose_split(top - low, candidates.status, candidates.gain, candidates.ratio)
            if best >= 0:
                base = data.level_start[columns[best, COLUMN_FEATURE]]
                cut = cut_between(data.levels, base, candidates.low[best], candidates.high[best])
                tree = _split_node(data, tree, v, low + best, cut, buffers, options)
                tree, depth = _push_children(tree, depth, candidates.status, buffers)
        trees = add_tree(trees, p, tree.nodes, tree.histogram, tree.size, problem.n_classes)
        a, used = trees.entry_start[p], tree.entries.size
        row, trees.entry_start[p + 1] = with_capacity(row, a, a + used), a + used
        for e in range(used):
            row[a + e] = tree.entries.row[e]
        if weight is not None:
            part = with_capacity(part, a, a + used)
            for e in range(used):
                part[a + e] = tree.entries.weight[e]
    return UnprunedTrees(
        trees.nodes,
        trees.node_start,
        trees.histogram,
        trees.histogram_start,
        row,
        part,
        trees.entry_start,
    )


@inner_kernel
def _new_tree(problems: Problems, d: int, unit: bool) -> GrowingTree:
    """Return room for trees over ``d`` features."""
    return GrowingTree(
        Problem(problems.rows[:0], problems.targets[:0], np.int32(0)),
        np.empty((16, N_FIELDS), np.int64),
        0,
        np.empty(64, np.float64),
        Entries(np.empty(64, np.int32), np.empty(0 if unit else 64, np.float64), 0),
        np.empty((64, 3), np.int64),
        np.empty((2 * d, 3), np.int64),
        np.empty(64, np.uint64),
    )


@inner_kernel
def _with_nodes(tree: GrowingTree, problem: Problem, size: int, n_entries: int) -> GrowingTree:
    """Return the tree with so many nodes and entries, the last of them yet to be written."""
    nodes, histogram, entries = tree.nodes, tree.histogram, tree.entries
    weight = entries.weight
    if len(weight) > 0:
        weight = with_capacity(weight, len(weight), n_entries)
    return GrowingTree(
        problem,
        with_lines(nodes, len(nodes), size),
        size,
        with_capacity(histogram, len(histogram), size * problem.n_classes),
        Entries(with_capacity(entries.row, len(entries.row), n_entries), weight, n_entries),
        tree.stack,
        tree.columns,
        tree.cells,
    )


@inner_kernel
def _with_stack(tree: GrowingTree, depth: int, n_columns: int, n_cells: int) -> GrowingTree:
    """Return the tree with room for so many nodes to be split, their columns and cells."""
    return GrowingTree(
        tree.problem,
        tree.nodes,
        tree.size,
        tree.histogram,
        tree.entries,
        with_lines(tree.stack, len(tree.stack), depth),
        with_lines(tree.columns, len(tree.columns), n_columns),
        with_capacity(tree.cells, len(tree.cells), n_cells),
    )


@inner_kernel
def _add_root(
    tree: GrowingTree,
    problem: Problem,
    column_start: NDArray,
    cells: NDArray,
    weight: NDArray | None,
) -> GrowingTree:
    """Begin the tree of a problem: its entries, its sorted columns, and the root on the stack."""
    d, n, first = len(column_start) - 1, len(problem.rows), column_start[0]
    tree = _with_nodes(tree, problem, ONE, n)
    tree = _with_stack(tree, ONE, d, column_start[d] - first + 1)
    entries, columns, own_cells = tree.entries, tree.columns, tree.cells
    for i in range(n):
        entries.row[i] = i
    if weight is not None:
        for i in range(n):
            entries.weight[i] = weight[problem.rows[i]]
    for f in range(d):
        columns[f, COLUMN_FEATURE] = f
        columns[f, BEGIN], columns[f, END] = column_start[f] - first, column_start[f + 1] - first
    for t in range(column_start[d] - first):
        own_cells[t] = cells[first + t]
    tree.stack[0, NODE], tree.stack[0, LOW], tree.stack[0, TOP] = 0, 0, d
    return tree


@inner_kernel
def _new_buffers(n_categories: NDArray, tree: GrowingTree, log_table: NDArray) -> Buffers:
    """Return the buffers for a tree that has its root."""
    widest, total, n, C = 3, 0.0, len(tree.problem.y), tree.problem.n_classes
    for k in n_categories:
        widest = max(widest, k)
    for c in range(C):
        total += tree.histogram[c]
    weight = np.empty(n)
    for i in range(n):
        weight[i] = 1.0
    return Buffers(
        tree.problem.y,
        log_table,
        averaged_features(n_categories, total),
        weight,
        np.empty(C),
        np.empty(n, np.int32),
        np.empty(n, np.uint8),
        np.empty(widest),
        np.empty(widest + 1, np.int64),
        np.empty(widest, np.bool_),
        np.empty(widest * C),
        np.empty(C),
        np.empty(C),
        np.empty(C),
        np.empty(C, np.int64),
        np.empty(C + 1, np.int64),
        np.empty(n + C + n + 1),
        np.empty(n + 1),
    )


@inner_kernel
def _set_leaf(tree: GrowingTree, v: int, start: int, stop: int, min_samples_leaf: float) -> bool:
    """Make node v a leaf over some entries; return whether it may be split."""
    y, C, histogram = tree.problem.y, tree.problem.n_classes, tree.histogram
    row, weight = tree.entries.row, tree.entries.weight
    for c in range(v * C, (v + 1) * C):
        histogram[c] = 0.0
    unit = len(weight) == 0
    for e in range(start, stop):
        histogram[v * C + y[row[e]]] += 1.0 if unit else weight[e]
    return set_leaf(tree.nodes, histogram, v, start, stop, C, min_samples_leaf)


@inner_kernel
def _node_to_split(tree: GrowingTree, v: int, buffers: Buffers) -> Node:
    """Return node v as the splitter takes it, and note the weights of its classes and rows."""
    entries, C, total = tree.entries, tree.problem.n_classes, 0.0
    start, stop, unit = tree.nodes[v, START], tree.nodes[v, STOP], len(entries.weight) == 0
    for c in range(C):
        buffers.class_weight[c] = tree.histogram[v * C + c]
        total += tree.histogram[v * C + c]
    for e in range(start, start if unit else stop):
        buffers.weight[entries.row[e]] = entries.weight[e]
    return Node(C, total, stop - start)


@inner_kernel
def _split_node(
    data: TreeData,
    tree: GrowingTree,
    v: int,
    column: int,
    cut: int,
    buffers: Buffers,
    options: C45Options,
) -> GrowingTree:
    """Split node v on one of its columns, and partition its entries into new leaves."""
    f, begin, end = tree.columns[column]
    start, stop, first = tree.nodes[v, START], tree.nodes[v, STOP], tree.size
    nominal, usual = data.n_categories[f] > 0, np.int64(data.implicit[f])
    width, usual = max(2, data.n_categories[f]), usual if nominal else np.int64(usual > cut)
    row, cells, branch = tree.entries.row, tree.cells, buffers.branch
    for e in range(start, stop):
        branch[row[e]] = usual
    for t in range(begin, end):
        rank = np.int64(cells[t] >> RANK)
        known = rank if nominal else np.int64(rank > cut)
        branch[cells[t] & ROW] = -1 if rank == MISSING else known
    plan = Partition(branch, buffers.share[:width], buffers.begin)
    used = plan_partition(tree.entries, start, stop, tree.entries.size, plan)
    tree = _with_nodes(tree, tree.problem, first + width, used)
    partition_entries(tree.entries, start, stop, plan)
    nodes = tree.nodes
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = f, cut, first, width
    for b in range(width):
        buffers.can_split[b] = _set_leaf(
            tree, first + b, plan.begin[b], plan.begin[b + 1], options.min_samples_leaf
        )
    return tree


@inner_kernel
def _push_children(
    tree: GrowingTree, depth: int, status: NDArray, buffers: Buffers
) -> tuple[GrowingTree, int]:
    """Put the children that may be split on the stack, the largest in its parent's place.

    The parent is at ``depth``. Returns the new depth.
    """
    v, low, top = tree.stack[depth, NODE], tree.stack[depth, LOW], tree.stack[depth, TOP]
    first, width = tree.nodes[v, FIRST], tree.nodes[v, WIDTH]
    can_split, begin, goes = buffers.can_split, buffers.begin, buffers.goes
    largest, last, most, n_open = NO_BRANCH, NO_BRANCH, 0, 0
    for b in range(width):
        n_open += can_split[b]
        if can_split[b] and begin[b + 1] - begin[b] > most:
            largest, most = b, begin[b + 1] - begin[b]
    for b in range(width):
        last = b if can_split[b] and b != largest else last
    end = tree.columns[top - 1, END]
    n_cells = end + n_open * (end - tree.columns[low, BEGIN]) + 2
    tree = _with_stack(tree, depth + n_open, top + n_open * (top - low), n_cells)
    stack, to, kept, slot = tree.stack, top, low, depth
    if n_open == 1:
        _mark_rows(tree.entries.row, begin[: width + 1], NO_BRANCH, largest, goes)
        _, kept = _partition_columns(tree, depth, status, goes, n_open == 1, to)
    for b in range(width):
        if can_split[b] and b != largest:
            # The largest child's cells are pushed together when the last other one's are copied.
            bottom, slot, is_last = to, slot + 1, b == last
            keep = largest if is_last else NO_BRANCH
            _mark_rows(tree.entries.row, begin[: width + 1], b, keep, goes)
            to, kept = _partition_columns(tree, depth, status, goes, is_last, to)
            stack[slot, NODE], stack[slot, LOW], stack[slot, TOP] = first + b, bottom, to
    if n_open > 0:
        stack[depth, NODE], stack[depth, LOW], stack[depth, TOP] = first + largest, low, kept
    return tree, depth + n_open


@inner_kernel
def _mark_rows(row: NDArray, begin: NDArray, copied: int, kept: int, goes: NDArray) -> None:
    """Mark the rows of two branches; a row with a missing value may be in both."""
    for e in range(begin[0], begin[-1]):
        goes[row[e]] = 0
    for e in range(begin[copied] if copied >= 0 else 0, begin[copied + 1] if copied >= 0 else 0):
        goes[row[e]] = COPIED
    for e in range(begin[kept] if kept >= 0 else 0, begin[kept + 1] if kept >= 0 else 0):
        goes[row[e]] |= KEPT


@inner_kernel
def _partition_columns(
    tree: GrowingTree, depth: int, status: NDArray, goes: NDArray, in_place: bool, to: int
) -> tuple[int, int]:
    """Copy the cells of some rows behind all others; ``in_place``, push those of others together.

    The columns of what is copied come to ``to``. Returns where the columns of both end. There
    is no branch on a row: where it goes is hard to foresee.
    """
    columns, cells, low, top = (
        tree.columns,
        tree.cells,
        tree.stack[depth, LOW],
        tree.stack[depth, TOP],
    )
    copied, kept, place = columns[to - 1, END], len(cells) - 1, low
    if in_place:
        kept = columns[low, BEGIN]
    for i in range(low, top):
        if status[i - low] != DEAD:
            f, begin, end = columns[i, COLUMN_FEATURE], columns[i, BEGIN], columns[i, END]
            columns[to, COLUMN_FEATURE], columns[to, BEGIN] = f, copied
            if in_place:
                columns[place, COLUMN_FEATURE], columns[place, BEGIN] = f, kept
            for t in range(np.uint64(begin), np.uint64(end)):
                cell = cells[t]
                way = np.int64(goes[cell & ROW])
                cells[copied] = cell
                cells[kept] = cell
                copied += way & 1
                kept += way >> 1
            columns[to, END] = copied
            if in_place:
                columns[place, END] = kept
                place += 1
            to += 1
    return to, place
