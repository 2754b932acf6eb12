"""Pruning: collapse subtrees that bring nothing, then prune pessimistically, with raising.

A node is replaced by a leaf, or by its heaviest branch, when the estimated errors allow it.
Raising sends all rows of the node down that branch, so class weights below it change. Nodes
that no row reached are left as they are: pruning them once more would change nothing.

When no value is missing every row is in one leaf, and few rows move. The rows of a leaf are
then a linked list: its START is the first row, its STOP the last one, and ``next_row`` leads
from row to row. So leaves are merged, and rows move, in no time. When values are missing, all
entries are partitioned again, for their shares change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import ZERO, inlined_kernel, inner_kernel
from labelance.learners.tree._criterion import (
    EPS,
    PRUNE_SLACK,
    SLACK,
    C45Options,
    pessimistic_errors,
)
from labelance.learners.tree._data import MISSING, TreeData, rank_of, ranks_of
from labelance.learners.tree._nodes import (
    CUT,
    FEATURE,
    FIRST,
    LEAF,
    START,
    STOP,
    WIDTH,
    Entries,
    Partition,
    UnprunedTree,
    partition_entries,
    plan_partition,
    with_capacity,
)

NO_ROW = -1
_TRY, _STAY = np.bool_(False), np.bool_(True)  # with a type, see ZERO


class PruningBuffers(NamedTuple):
    """Arrays that serve again for every tree."""

    rows: NDArray[np.int32]  # of the problem, and
    y: NDArray[np.int32]  # their classes
    next_row: NDArray[np.int64]  # in the leaf of each row
    row_weight: NDArray[np.float64]
    moved: NDArray[np.int64]  # rows that would move if a branch were raised,
    leaf: NDArray[np.int64]  # and the leaves that they would move to
    alone: NDArray[np.float64]  # errors of each node as a leaf
    estimate: NDArray[np.float64]  # errors of each subtree
    extra: NDArray[np.float64]  # class weights of each node, 0 between uses
    touched: NDArray[np.bool_]  # nodes whose rows changed since they were pruned
    stack: NDArray[np.int64]
    walk: NDArray[np.int64]  # a second stack, for walks through a subtree


def new_pruning_buffers(n_rows: int, n_nodes: int, n_classes: int) -> PruningBuffers:
    """Return the buffers for trees of up to this many rows, nodes and classes."""
    return PruningBuffers(
        rows=np.empty(n_rows, np.int32),
        y=np.empty(n_rows, np.int32),
        next_row=np.empty(n_rows, np.int64),
        row_weight=np.empty(n_rows),
        moved=np.empty(n_rows, np.int64),
        leaf=np.empty(n_rows, np.int64),
        alone=np.empty(n_nodes),
        estimate=np.empty(n_nodes),
        extra=np.zeros(n_nodes * n_classes),
        touched=np.empty(n_nodes, np.bool_),
        stack=np.empty(2 * n_nodes + 1, np.int64),
        walk=np.empty(n_nodes + 1, np.int64),
    )


@inner_kernel
def collapse(nodes: NDArray, histogram: NDArray, C: int, alone: NDArray, below: NDArray) -> None:
    """Make leaves, from the top, of nodes whose subtrees make no fewer training errors."""
    for v in range(len(nodes) - 1, -1, -1):
        total, largest, errors = 0.0, 0.0, 0.0
        for c in range(v * C, (v + 1) * C):
            total += histogram[c]
            largest = histogram[c] if histogram[c] > largest else largest
        for b in range(nodes[v, WIDTH]):
            errors += below[nodes[v, FIRST] + b]
        alone[v] = total - largest
        below[v] = alone[v] if nodes[v, FEATURE] == LEAF else errors
    for v in range(len(nodes)):
        # Nodes under a new leaf are out of reach, so it does not matter what becomes of them.
        if below[v] >= alone[v] - SLACK:
            nodes[v, FEATURE] = LEAF


@inlined_kernel
def prune(
    data: TreeData,
    tree: UnprunedTree,
    entries: Entries,
    missing: bool | None,
    options: C45Options,
    buffers: PruningBuffers,
) -> None:
    """Prune a tree in place, children before parents.

    None for ``missing`` says that no value is missing; see :func:`grow_sorted`.
    """
    nodes, histogram, C = tree.nodes, tree.histogram, tree.problem.n_classes
    estimate, touched, stack, walk = buffers.estimate, buffers.touched, buffers.stack, buffers.walk
    next_row, count, top = buffers.next_row, 0, 1
    for v in range(len(nodes)):
        touched[v] = True
    if missing is None:
        _link_rows(nodes, entries.row, entries.weight, next_row, buffers.row_weight, walk)
    stack[0] = 0  # a node comes twice: as ~v once its children are done
    while top > 0:
        top -= 1
        v = stack[top]
        if v >= 0 and nodes[v, FEATURE] != LEAF:
            stack[top] = ~v
            top += 1
            for child in range(nodes[v, FIRST], nodes[v, FIRST] + nodes[v, WIDTH]):
                stack[top] = child
                top += touched[child]
            continue
        v = v if v >= 0 else ~v
        touched[v] = False
        as_leaf = pessimistic_errors(histogram, v * C, C, options)
        estimate[v] = as_leaf
        if nodes[v, FEATURE] == LEAF:
            continue
        as_tree, as_branch, heaviest = 0.0, np.inf, _heaviest_child(nodes, histogram, C, v)
        for b in range(nodes[v, WIDTH]):
            as_tree += estimate[nodes[v, FIRST] + b]
        if options.subtree_raising:
            if missing is None:
                count = _list_siblings(nodes, v, heaviest, next_row, buffers.moved, walk)
                _route_rows(data, tree, heaviest, count, buffers, _TRY)
                as_branch = estimate[heaviest] + _added_estimate(tree, count, buffers, options)
            else:
                entries, as_branch = _redistribute(
                    data, tree, entries, v, heaviest, buffers, options
                )
        if as_leaf - (as_tree + PRUNE_SLACK) < EPS and as_leaf - (as_branch + PRUNE_SLACK) < EPS:
            if missing is None:
                _merge_leaves(nodes, v, next_row, walk)
            nodes[v, FEATURE] = LEAF
        elif as_branch - (as_tree + PRUNE_SLACK) < EPS:
            if missing is None:
                _route_rows(data, tree, heaviest, count, buffers, _STAY)
            # The branch takes the place of the node, and brings its list of rows along.
            for field in range(nodes.shape[1] if missing is None else START):
                nodes[v, field] = nodes[heaviest, field]
            if missing is not None:
                entries, _ = _redistribute(data, tree, entries, v, v, buffers, options)
            stack[top] = v
            top += 1
        else:
            estimate[v] = as_tree


@inner_kernel
def _heaviest_child(nodes: NDArray, histogram: NDArray, C: int, v: int) -> int:
    """Return the child with the largest weight, the last of equals."""
    heaviest, weight = nodes[v, FIRST], 0.0
    for child in range(nodes[v, FIRST], nodes[v, FIRST] + nodes[v, WIDTH]):
        total = 0.0
        for c in range(child * C, (child + 1) * C):
            total += histogram[c]
        if weight - total < EPS:
            heaviest, weight = child, total
    return heaviest


@inner_kernel
def _link_rows(
    nodes: NDArray,
    row: NDArray,
    weight: NDArray,
    next_row: NDArray,
    row_weight: NDArray,
    stack: NDArray,
) -> None:
    """Make a linked list of the rows of every leaf."""
    stack[0], top = 0, 1
    while top > 0:
        top -= 1
        v = stack[top]
        if nodes[v, FEATURE] != LEAF:
            for b in range(nodes[v, WIDTH]):
                stack[top] = nodes[v, FIRST] + b
                top += 1
            continue
        start, stop = nodes[v, START], nodes[v, STOP]
        nodes[v, START] = nodes[v, STOP] = NO_ROW
        for e in range(start, stop):
            i = np.int64(row[e])
            _append_row(nodes, next_row, v, i)
            row_weight[i] = weight[e] if len(weight) > 0 else 1.0


@inner_kernel
def _append_row(nodes: NDArray, next_row: NDArray, leaf: int, row: int) -> None:
    """Put a row at the end of a leaf's list."""
    if nodes[leaf, START] == NO_ROW:
        nodes[leaf, START] = row
    else:
        next_row[nodes[leaf, STOP]] = row
    nodes[leaf, STOP] = row
    next_row[row] = NO_ROW


@inner_kernel
def _merge_leaves(nodes: NDArray, v: int, next_row: NDArray, stack: NDArray) -> None:
    """Give node v, about to become a leaf, the rows of all leaves below it."""
    head, tail, top = NO_ROW, NO_ROW, 1
    stack[0] = v
    while top > 0:
        top -= 1
        u = stack[top]
        if nodes[u, FEATURE] != LEAF:
            for b in range(nodes[u, WIDTH]):
                stack[top] = nodes[u, FIRST] + b
                top += 1
        elif nodes[u, START] != NO_ROW:
            if head == NO_ROW:
                head = nodes[u, START]
            else:
                next_row[tail] = nodes[u, START]
            tail = nodes[u, STOP]
    nodes[v, START], nodes[v, STOP] = head, tail


@inner_kernel
def _list_siblings(
    nodes: NDArray, v: int, heaviest: int, next_row: NDArray, moved: NDArray, stack: NDArray
) -> int:
    """List the rows of all children of node v but the heaviest as ``moved``; return how many."""
    count, top = 0, 1
    stack[0] = v
    while top > 0:
        top -= 1
        u = stack[top]
        if nodes[u, FEATURE] != LEAF:
            for child in range(nodes[u, FIRST], nodes[u, FIRST] + nodes[u, WIDTH]):
                stack[top] = child
                top += child != heaviest
            continue
        i = nodes[u, START]
        while i != NO_ROW:
            moved[count] = i
            count += 1
            i = next_row[i]
    return count


@inner_kernel
def _route_rows(
    data: TreeData, tree: UnprunedTree, root: int, count: int, buffers: PruningBuffers, stay: bool
) -> None:
    """Send the ``moved`` rows down from a node, and note the ``leaf`` of each.

    Rows that ``stay`` bring their weights to all nodes below it, and become rows of their leaves.
    """
    nodes, histogram, rows = tree.nodes, tree.histogram, tree.problem.rows
    y, C, moved, leaf = tree.problem.y, tree.problem.n_classes, buffers.moved, buffers.leaf
    row_weight, touched, next_row = buffers.row_weight, buffers.touched, buffers.next_row
    row_start, row_feature, row_rank = data.row_start, data.row_feature, data.row_rank
    implicit, stored, words, n_categories = (
        data.implicit,
        data.stored,
        data.words,
        data.n_categories,
    )
    for k in range(count):
        i, at = moved[k], root
        while nodes[at, FEATURE] != LEAF:
            f = nodes[at, FEATURE]
            rank = rank_of(row_start, row_feature, row_rank, stored, words, implicit, rows[i], f)
            at = nodes[at, FIRST] + (rank if n_categories[f] > 0 else rank > nodes[at, CUT])
            if stay:
                histogram[at * C + y[i]] += row_weight[i]
                touched[at] = True
        leaf[k] = at
        if stay:
            _append_row(nodes, next_row, at, i)


@inner_kernel
def _added_estimate(
    tree: UnprunedTree, count: int, buffers: PruningBuffers, options: C45Options
) -> float:
    """Return by how much the estimate of a branch grows if ``count`` rows come to its leaves.

    Only leaves that get rows change.
    """
    moved, leaf, extra = buffers.moved, buffers.leaf, buffers.extra
    y, histogram, C, growth = tree.problem.y, tree.histogram, tree.problem.n_classes, 0.0
    for k in range(count):
        extra[leaf[k] * C + y[moved[k]]] += buffers.row_weight[moved[k]]
    for k in range(count):
        base, is_new = leaf[k] * C, False
        for c in range(base, base + C):
            is_new = is_new or extra[c] != 0.0
        if is_new:  # else an earlier row has settled this leaf
            growth -= buffers.estimate[leaf[k]]
            for c in range(base, base + C):
                extra[c] += histogram[c]
            growth += pessimistic_errors(extra, base, C, options)
            for c in range(base, base + C):
                extra[c] = 0.0
    return growth


@inner_kernel
def _redistribute(
    data: TreeData,
    tree: UnprunedTree,
    entries: Entries,
    v: int,
    root: int,
    buffers: PruningBuffers,
    options: C45Options,
) -> tuple[Entries, float]:
    """Partition the entries of node v along the subtree of node ``root``.

    If that is its own subtree, the nodes below get these entries and their class weights, and
    are touched; else it is only tried out. Returns the entries, and the estimated errors of all
    leaves.
    """
    nodes, y, C = tree.nodes, tree.problem.y, tree.problem.n_classes
    used, estimate, top, stays, extra = entries.size, 0.0, 1, root == v, buffers.extra
    stack, branch = np.empty((len(nodes), 3), np.int64), np.empty(len(y), np.int32)
    node, begin, end = 0, 1, 2  # fields of the stack
    stack[0, node], stack[0, begin], stack[0, end] = root, nodes[v, START], nodes[v, STOP]
    while top > 0:
        top -= 1
        u, start, stop = stack[top, node], stack[top, begin], stack[top, end]
        for c in range(C):
            extra[c] = 0.0
        for e in range(start, stop):
            extra[y[entries.row[e]]] += entries.weight[e]
        if stays and u != root:
            nodes[u, START], nodes[u, STOP], buffers.touched[u] = start, stop, True
            for c in range(C):
                tree.histogram[u * C + c] = extra[c]
        if nodes[u, FEATURE] == LEAF:
            estimate += pessimistic_errors(extra, ZERO, C, options)
            continue
        width = nodes[u, WIDTH]
        plan = Partition(branch, np.empty(width), np.empty(width + 1, np.int64))
        _find_branches(data, tree, u, entries.row[start:stop], branch)
        # What is only tried out may be overwritten as soon as nodes on the stack lie before it.
        first = used if stays else max(used, stop)
        last = plan_partition(entries, start, stop, first, plan)
        row, weight = (
            with_capacity(entries.row, first, last),
            with_capacity(entries.weight, first, last),
        )
        used = last if stays else used
        entries = Entries(row, weight, used)
        partition_entries(entries, start, stop, plan)
        for b in range(width):
            stack[top, node], stack[top, begin] = nodes[u, FIRST] + b, plan.begin[b]
            stack[top, end] = plan.begin[b + 1]
            top += 1
    return entries, estimate


@inner_kernel
def _find_branches(
    data: TreeData, tree: UnprunedTree, v: int, row: NDArray, branch: NDArray
) -> None:
    """Note the branch of node v that each row takes, -1 where its value is missing."""
    feature, cut, rows = tree.nodes[v, FEATURE], tree.nodes[v, CUT], np.empty(len(row), np.int32)
    for e in range(len(row)):
        rows[e] = tree.problem.rows[row[e]]
    nominal, ranks = data.n_categories[feature] > 0, ranks_of(data, rows, feature)
    for e in range(len(row)):
        known = ranks[e] if nominal else np.int32(ranks[e] > cut)
        branch[row[e]] = -1 if ranks[e] == MISSING else known
