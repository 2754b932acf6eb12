"""After growing: collapse what brings nothing, then prune pessimistically, with raising.

A node is replaced by a leaf, or by its heaviest branch, when the estimated errors allow it.
Raising sends all rows of the node down that branch, so class weights below it change. Nodes
that no row came to are left as they are: pruning them once more would change nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._raise import (
    added_estimate,
    chain_rows,
    join_chains,
    move_rows,
    route_siblings,
)
from labelance.learners.tree._raise_missing import Entries, send_down
from labelance.learners.tree._rules import (
    EPS,
    PRUNE_SLACK,
    SLACK,
    Rules,
    pessimistic_errors,
)
from labelance.learners.tree._sprouts import FEATURE, FIRST, LEAF, START, WIDTH, Tree
from labelance.learners.tree._table import TreeTable


@piece
def collapse(nodes: NDArray, histogram: NDArray, C: int) -> None:
    """Make leaves, from the top, of nodes whose subtrees make no fewer training errors."""
    alone, below = np.empty(len(nodes)), np.empty(len(nodes))
    for v in range(len(nodes) - 1, -1, -1):
        total, largest, errors = 0.0, 0.0, 0.0
        for c in range(v * C, (v + 1) * C):
            total += histogram[c]
            largest = max(largest, histogram[c])
        for b in range(nodes[v, WIDTH]):
            errors += below[nodes[v, FIRST] + b]
        alone[v] = total - largest
        below[v] = alone[v] if nodes[v, FEATURE] == LEAF else errors
    for v in range(len(nodes)):
        # Nodes under a new leaf are out of reach, so it does not matter what becomes of them.
        if below[v] >= alone[v] - SLACK:
            nodes[v, FEATURE] = LEAF


@piece
def prune(
    table: TreeTable, tree: Tree, row: NDArray, weight: NDArray, complete: bool, rules: Rules
) -> None:
    """Prune a tree in place, children before parents.

    ``row`` and ``weight`` are its entries; ``complete`` says that no value is missing.
    """
    nodes, histogram, C = tree.nodes, tree.histogram, tree.n_classes
    size, n, entries, used = len(nodes), len(tree.y), Entries(row, weight), len(row)
    following, row_weight = np.empty(n, np.int64), np.empty(n)
    moved, leaf, count = np.empty(n, np.int64), np.empty(n, np.int64), 0
    estimate, extra, touched = np.zeros(size), np.zeros(size * C), np.empty(size, np.bool_)
    agenda, scratch, top = np.empty(2 * size + 1, np.int64), np.empty(size + 1, np.int64), 1
    for v in range(size):
        touched[v] = True
    if complete:
        chain_rows(nodes, row, weight, following, row_weight)
    agenda[0] = 0  # a node comes twice: as ~v once its children are done
    while top > 0:
        top -= 1
        v = agenda[top]
        if v >= 0 and nodes[v, FEATURE] != LEAF:
            agenda[top] = ~v
            top += 1
            for child in range(nodes[v, FIRST], nodes[v, FIRST] + nodes[v, WIDTH]):
                agenda[top] = child
                top += touched[child]
            continue
        v = max(v, ~v)
        touched[v] = False
        as_leaf = pessimistic_errors(histogram, v * C, C, rules)
        estimate[v] = as_leaf
        if nodes[v, FEATURE] == LEAF:
            continue
        as_tree, as_branch, heaviest = 0.0, np.inf, _heaviest(nodes, histogram, C, v)
        for b in range(nodes[v, WIDTH]):
            as_tree += estimate[nodes[v, FIRST] + b]
        if rules.subtree_raising and complete:
            count = route_siblings(
                table, nodes, tree.origin, following, v, heaviest, scratch, moved, leaf
            )
            as_branch = estimate[heaviest] + added_estimate(
                tree, estimate, row_weight, count, moved, leaf, extra, rules
            )
        elif rules.subtree_raising:
            entries, used, as_branch = send_down(
                table, tree, entries, used, v, heaviest, touched, extra, rules
            )
        if as_leaf - (as_tree + PRUNE_SLACK) < EPS and as_leaf - (as_branch + PRUNE_SLACK) < EPS:
            if complete:
                join_chains(nodes, following, v, scratch)
            nodes[v, FEATURE] = LEAF
        elif as_branch - (as_tree + PRUNE_SLACK) < EPS:
            if complete:
                move_rows(table, tree, following, row_weight, heaviest, count, moved, touched)
            # The branch takes the place of the node; a chain of rows it brings along.
            for field in range(nodes.shape[1] if complete else START):
                nodes[v, field] = nodes[heaviest, field]
            if not complete:
                entries, used, _ = send_down(
                    table, tree, entries, used, v, v, touched, extra, rules
                )
            agenda[top] = v
            top += 1
        else:
            estimate[v] = as_tree


@piece
def _heaviest(nodes: NDArray, histogram: NDArray, C: int, v: int) -> int:
    """Return the child with the largest weight, the last of equals."""
    heaviest, weight = nodes[v, FIRST], 0.0
    for child in range(nodes[v, FIRST], nodes[v, FIRST] + nodes[v, WIDTH]):
        total = 0.0
        for c in range(child * C, (child + 1) * C):
            total += histogram[c]
        if weight - total < EPS:
            heaviest, weight = child, total
    return heaviest
