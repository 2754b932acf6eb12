"""From grown trees to finished ones: collapsed, pruned, and packed into flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree._deal import rank_of
from labelance.learners.tree._piece import ZERO, piece
from labelance.learners.tree._problems import Problems, rows_and_classes
from labelance.learners.tree._prune import collapse, prune
from labelance.learners.tree._rules import EPS, Rules
from labelance.learners.tree._sprouts import (
    CUT,
    FEATURE,
    FIRST,
    LEAF,
    WIDTH,
    Sprouts,
    Tree,
)
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
    nodes, cells = ZERO, ZERO
    for p in range(len(problems.n_classes)):
        origin, y = rows_and_classes(problems, p, table.n_rows)
        C, a, b = (
            problems.n_classes[p],
            sprouts.node_start[p],
            sprouts.histogram_start[p],
        )
        grown, own = sprouts.nodes[a : sprouts.node_start[p + 1]], sprouts.histogram[b:]
        tree = Tree(grown, own, origin, y, C)
        if rules.collapse:
            collapse(grown, own, C)
        if rules.prune and grown[0, FEATURE] != LEAF:
            start, stop = sprouts.entry_start[p], sprouts.entry_start[p + 1]
            weight = sprouts.weight[start:stop] if len(sprouts.weight) > 0 else sprouts.weight
            prune(table, tree, sprouts.row[start:stop], weight, complete, rules)
        harvest.sizes[p] = _pack(table, tree, problems.whole, harvest, nodes, cells)
        nodes += harvest.sizes[p]
        cells += harvest.sizes[p] * C
    return harvest


@piece
def _pack(
    table: TreeTable, tree: Tree, whole: bool, harvest: Harvest, base: int, cells: int
) -> int:
    """Write the nodes that are still in reach, breadth first; return their number."""
    nodes, C, queue, size = (
        tree.nodes,
        tree.n_classes,
        np.empty(len(tree.nodes), np.int64),
        1,
    )
    feature, threshold, first, width = (
        harvest.feature,
        harvest.threshold,
        harvest.first,
        harvest.width,
    )
    weights, histogram = harvest.weight, harvest.histogram
    queue[0] = 0
    i = 0
    while i < size:
        v, to, total = queue[i], base + i, 0.0
        f = nodes[v, FEATURE]
        for c in range(C):
            histogram[cells + i * C + c] = tree.histogram[v * C + c]
            total += tree.histogram[v * C + c]
        weights[to] = total if total >= EPS else 0.0
        feature[to], threshold[to], first[to], width[to] = f, np.nan, 0, 0
        if f != LEAF:
            first[to], width[to] = size, nodes[v, WIDTH]
            if table.n_categories[f] == 0:
                threshold[to] = _threshold(table, tree.origin, whole, f, nodes[v, CUT])
            elif nodes[v, WIDTH] == 2:
                threshold[to] = 0.5
            for b in range(nodes[v, WIDTH]):
                queue[size] = nodes[v, FIRST] + b
                size += 1
        i += 1
    for i in range(size):
        # A leaf that no row reached has the class weights of its parent, to predict with.
        for child in range(first[base + i], first[base + i] + width[base + i]):
            if weights[base + child] == 0.0:
                for c in range(C):
                    histogram[cells + child * C + c] = histogram[cells + i * C + c]
    return size


@piece
def _threshold(table: TreeTable, origin: NDArray, whole: bool, feature: int, cut: int) -> float:
    """Return the largest value of the tree's training rows that goes left."""
    last = cut
    if not whole:
        last = NO_RANK
        for row in origin:
            rank = rank_of(
                table.row_start,
                table.row_feature,
                table.row_rank,
                table.stored,
                table.words,
                table.implicit,
                row,
                feature,
            )
            if last < rank <= cut:
                last = rank
    return table.levels[table.level_start[feature] + last]
