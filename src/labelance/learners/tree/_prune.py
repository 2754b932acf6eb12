"""After growing: collapse what brings nothing, then prune pessimistically, with raising.

A node is replaced by a leaf, or by its heaviest branch, when the estimated errors allow it.
Raising sends all rows of the node down that branch, so class weights below it change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._deal import deal, plan_deal
from labelance.learners.tree._rules import EPS, PRUNE_SLACK, SLACK, Rules, pessimistic_errors
from labelance.learners.tree._sprouts import LEAF, branch_of, with_room
from labelance.learners.tree._table import TreeTable


class Tree(NamedTuple):
    """One grown tree with the rows it was grown from."""

    nodes: NDArray[Any]
    histogram: NDArray[np.float64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]
    origin: NDArray[np.int32]  # row of the table that each row of the problem is
    y: NDArray[np.int32]
    n_classes: int


@kernel
def collapse(tree: Tree) -> None:
    """Make leaves, from the top, of nodes whose subtrees make no fewer training errors."""
    size, C = len(tree.nodes), tree.n_classes
    alone, below = np.empty(size), np.empty(size)
    for v in range(size - 1, -1, -1):
        node, largest = tree.nodes[v], 0.0
        for c in range(v * C, (v + 1) * C):
            largest = max(largest, tree.histogram[c])
        alone[v] = below[v] = node.weight - largest
        if node.feature != LEAF:
            below[v] = 0.0
            for child in range(node.first, node.first + node.width):
                below[v] += below[child]
    for v in range(size):
        # Nodes under a new leaf are out of reach, so it does not matter what becomes of them.
        if below[v] >= alone[v] - SLACK:
            tree.nodes[v].feature = LEAF


@kernel
def prune(table: TreeTable, tree: Tree, used: int, complete: bool, rules: Rules) -> None:
    """Prune a tree with ``used`` entries in place, children before parents.

    ``complete`` says that no value is missing, which makes it cheap to estimate the errors
    of a raised branch.
    """
    nodes, C = tree.nodes, tree.n_classes
    estimate, extra = np.zeros(len(nodes)), np.zeros(len(nodes) * C)
    agenda = [np.int64(0)]  # a node comes twice: as ~v once its children are done
    while len(agenda) > 0:
        v = agenda.pop()
        children_done = v < 0
        v = ~v if children_done else v
        as_leaf, node = pessimistic_errors(tree.histogram, v * C, C, rules), nodes[v]
        estimate[v] = as_leaf
        if node.feature == LEAF:
            continue
        if not children_done:
            agenda.append(~v)
            for child in range(node.first, node.first + node.width):
                agenda.append(np.int64(child))
            continue
        as_tree, as_branch, heaviest = 0.0, np.inf, _heaviest(nodes, v)
        for child in range(node.first, node.first + node.width):
            as_tree += estimate[child]
        if rules.subtree_raising and complete:
            grown = _growth_of_estimate(table, tree, v, heaviest, extra, rules)
            as_branch = estimate[heaviest] + grown
        elif rules.subtree_raising:
            as_branch = _estimate_of_branch(table, tree, used, v, heaviest, extra, rules)
        if as_leaf - (as_tree + PRUNE_SLACK) < EPS and as_leaf - (as_branch + PRUNE_SLACK) < EPS:
            node.feature = LEAF
        elif as_branch - (as_tree + PRUNE_SLACK) < EPS:
            branch = nodes[heaviest]
            node.feature, node.cut = branch.feature, branch.cut
            node.first, node.width = branch.first, branch.width
            tree, used = _redistribute(table, tree, used, v)
            agenda.append(v)
        else:
            estimate[v] = as_tree


@kernel
def _heaviest(nodes: NDArray, v: int) -> int:
    """Return the child with the largest weight, the last of equals."""
    heaviest, weight = nodes[v].first, 0.0
    for child in range(nodes[v].first, nodes[v].first + nodes[v].width):
        if weight - nodes[child].weight < EPS:
            heaviest, weight = child, nodes[child].weight
    return heaviest


@kernel
def _growth_of_estimate(
    table: TreeTable, tree: Tree, v: int, heaviest: int, extra: NDArray, rules: Rules
) -> float:
    """Return by how much a branch's estimate grows if it takes the rows of its siblings.

    Without missing values every row reaches one leaf, so only leaves that get rows change.
    """
    nodes, C, touched = tree.nodes, tree.n_classes, [np.int64(0)]
    for sibling in range(nodes[v].first, nodes[v].first + nodes[v].width):
        if sibling == heaviest:
            continue
        for e in range(nodes[sibling].start, nodes[sibling].stop):
            i, leaf = tree.row[e], heaviest
            while nodes[leaf].feature != LEAF:
                leaf = nodes[leaf].first + branch_of(
                    table, tree.origin[i], nodes[leaf].feature, nodes[leaf].cut
                )
            fresh = True
            for c in range(leaf * C, (leaf + 1) * C):
                fresh = fresh and extra[c] == 0.0
            if fresh:
                touched.append(np.int64(leaf))
            extra[leaf * C + tree.y[i]] += tree.weight[e]
    growth = 0.0
    for leaf in touched[1:]:
        growth -= pessimistic_errors(tree.histogram, leaf * C, C, rules)
        for c in range(leaf * C, (leaf + 1) * C):
            extra[c] += tree.histogram[c]
        growth += pessimistic_errors(extra, leaf * C, C, rules)
        for c in range(leaf * C, (leaf + 1) * C):
            extra[c] = 0.0
    return growth


@kernel
def _deal_anew(
    table: TreeTable,
    tree: Tree,
    node: int,
    start: int,
    stop: int,
    used: int,
    branch: NDArray,
    begin: NDArray,
) -> Tree:
    """Deal entries to the branches of a node, behind ``used``; ``begin`` tells where each lies."""
    width, at = tree.nodes[node].width, tree.nodes[node]
    for e in range(start, stop):
        i = tree.row[e]
        branch[i] = branch_of(table, tree.origin[i], at.feature, at.cut)
    share, place = np.empty(width), np.empty(width, np.int64)
    end = plan_deal(tree.row, tree.weight, start, stop, used, branch, share, place)
    tree = Tree(
        tree.nodes,
        tree.histogram,
        with_room(tree.row, used, end),
        with_room(tree.weight, used, end),
        tree.origin,
        tree.y,
        tree.n_classes,
    )
    for b in range(width):
        begin[b] = place[b]
    begin[width] = end
    deal(tree.row, tree.weight, start, stop, branch, share, place)
    return tree


@kernel
def _estimate_of_branch(
    table: TreeTable, tree: Tree, used: int, v: int, heaviest: int, extra: NDArray, rules: Rules
) -> float:
    """Return the estimate of a branch if all entries of node v went down it.

    The entries are dealt anew at every split, since the shares of missing values change.
    """
    estimate, C, branch = 0.0, tree.n_classes, np.empty(len(tree.y), np.int32)
    agenda = [(np.int64(heaviest), tree.nodes[v].start, tree.nodes[v].stop)]
    while len(agenda) > 0:
        node, start, stop = agenda.pop()
        if tree.nodes[node].feature == LEAF:
            for c in range(C):
                extra[c] = 0.0
            for e in range(start, stop):
                extra[tree.y[tree.row[e]]] += tree.weight[e]
            estimate += pessimistic_errors(extra, 0, C, rules)
            continue
        begin = np.empty(tree.nodes[node].width + 1, np.int64)
        # Entries of nodes still on the agenda lie before those that this node makes.
        tree = _deal_anew(table, tree, node, start, stop, max(used, stop), branch, begin)
        for b in range(tree.nodes[node].width):
            agenda.append((np.int64(tree.nodes[node].first + b), begin[b], begin[b + 1]))
    return estimate


@kernel
def _redistribute(table: TreeTable, tree: Tree, used: int, v: int) -> tuple[Tree, int]:
    """Send the entries of node v down its new subtree, and weigh every node there."""
    C, branch, agenda = tree.n_classes, np.empty(len(tree.y), np.int32), [np.int64(v)]
    while len(agenda) > 0:
        node = agenda.pop()
        if tree.nodes[node].feature == LEAF:
            continue
        begin = np.empty(tree.nodes[node].width + 1, np.int64)
        tree = _deal_anew(
            table, tree, node, tree.nodes[node].start, tree.nodes[node].stop, used, branch, begin
        )
        used = begin[tree.nodes[node].width]
        for b in range(tree.nodes[node].width):
            child = np.int64(tree.nodes[node].first + b)
            agenda.append(child)
            at = tree.nodes[child]
            at.start, at.stop, at.weight = begin[b], begin[b + 1], 0.0
            for c in range(child * C, (child + 1) * C):
                tree.histogram[c] = 0.0
            for e in range(at.start, at.stop):
                tree.histogram[child * C + tree.y[tree.row[e]]] += tree.weight[e]
                at.weight += tree.weight[e]
    return tree, used
