"""From grown trees to finished ones: collapsed, pruned, and packed into flat arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._prune import Tree, collapse, prune
from labelance.learners.tree._rules import EPS, Rules
from labelance.learners.tree._sprouts import LEAF, Sprouts, rank_of
from labelance.learners.tree._table import NO_RANK, TreeTable


class Harvest(NamedTuple):
    """Finished trees, one after the other; ``first`` counts from the root of its tree."""

    sizes: NDArray[np.int64]  # nodes of each tree
    feature: NDArray[np.int32]  # LEAF at a leaf
    threshold: NDArray[np.float64]  # numeric split: values up to this one go left
    first: NDArray[np.int32]  # first child; the others follow it
    width: NDArray[np.int32]  # number of children
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]  # class weights, node by node


@kernel
def finish(
    table: TreeTable, problems: Problems, sprouts: Sprouts, complete: bool, rules: Rules
) -> Harvest:
    """Collapse and prune grown trees, and pack what is left of them."""
    most = len(sprouts.nodes)
    harvest = Harvest(
        np.zeros(len(problems.n_classes), np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.float64),
        np.empty(len(sprouts.histogram), np.float64),
    )
    nodes, cells = 0, 0
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        tree = _lift(sprouts, p, origin, y, problems.n_classes[p])
        if rules.collapse:
            collapse(tree)
        if rules.prune:
            used = sprouts.entry_start[p + 1] - sprouts.entry_start[p]
            prune(table, tree, used, complete, rules)
        harvest.sizes[p] = _pack(table, tree, problems.whole, harvest, nodes, cells)
        nodes += harvest.sizes[p]
        cells += harvest.sizes[p] * tree.n_classes
    return harvest


@kernel
def _lift(sprouts: Sprouts, p: int, origin: NDArray, y: NDArray, C: int) -> Tree:
    """Take tree p out of the batch; its entries are copied, since pruning adds to them."""
    a, b = sprouts.entry_start[p], sprouts.entry_start[p + 1]
    row, weight = np.empty(b - a, np.int32), np.empty(b - a)
    for e in range(a, b):
        row[e - a] = sprouts.row[e]
        weight[e - a] = sprouts.weight[e] if len(sprouts.weight) > 0 else 1.0
    return Tree(
        sprouts.nodes[sprouts.node_start[p] : sprouts.node_start[p + 1]],
        sprouts.histogram[sprouts.histogram_start[p] : sprouts.histogram_start[p + 1]],
        row,
        weight,
        origin,
        y,
        C,
    )


@kernel
def _pack(
    table: TreeTable, tree: Tree, whole: bool, harvest: Harvest, base: int, cells: int
) -> int:
    """Write the nodes that are still in reach, breadth first; return their number."""
    C, queue, size = tree.n_classes, np.empty(len(tree.nodes), np.int64), 1
    queue[0] = 0
    i = 0
    while i < size:
        v, to = queue[i], base + i
        node = tree.nodes[v]
        harvest.feature[to], harvest.threshold[to] = node.feature, np.nan
        harvest.first[to], harvest.width[to] = 0, 0
        harvest.weight[to] = 0.0 if node.weight < EPS else node.weight
        # A leaf that no row reached has the class weights of its parent, to predict with.
        source = v if node.weight >= EPS else node.start
        for c in range(C):
            harvest.histogram[cells + i * C + c] = tree.histogram[source * C + c]
        if node.feature != LEAF:
            harvest.first[to], harvest.width[to] = size, node.width
            if table.n_categories[node.feature] == 0:
                harvest.threshold[to] = _threshold(table, tree.origin, whole, node)
            elif node.width == 2:
                harvest.threshold[to] = 0.5
            for child in range(node.first, node.first + node.width):
                queue[size] = child
                size += 1
                if tree.nodes[child].weight < EPS:
                    tree.nodes[child].start = v  # it has no entries: the place is free
        i += 1
    return size


@kernel
def _threshold(table: TreeTable, origin: NDArray, whole: bool, node: Any) -> float:
    """Return the largest value of the tree's training rows that goes left."""
    feature, cut, last = node.feature, node.cut, node.cut
    if not whole:
        last = NO_RANK
        for row in origin:
            rank = rank_of(table, row, feature)
            if last < rank <= cut:
                last = rank
    return table.levels[table.level_start[feature] + last]
