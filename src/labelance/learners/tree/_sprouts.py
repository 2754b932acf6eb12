"""Trees between growing and pruning: nodes in flat arrays, and the rows of every node.

Nodes of a tree are numbered from 0 as they are made, children side by side and after their
parent. Every node owns a slice of its tree's *entries*, which are rows with weights: a row
with a missing value goes down several branches, with a part of its weight on each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._table import MISSING, TreeTable

LEAF = -1

NODE = np.dtype(
    [
        ("feature", np.int32),  # LEAF at a leaf
        ("cut", np.int32),  # numeric split: ranks up to this one go left
        ("first", np.int32),  # first child; the others follow it
        ("width", np.int32),  # number of children
        ("start", np.int64),  # entries of the node: from start up to stop
        ("stop", np.int64),
        ("weight", np.float64),
    ],
    align=True,
)


class Sprouts(NamedTuple):
    """Grown trees; the parts of tree t lie between ``…_start[t]`` and ``…_start[t + 1]``."""

    nodes: NDArray[Any]
    node_start: NDArray[np.int64]
    histogram: NDArray[np.float64]  # class weights, node by node
    histogram_start: NDArray[np.int64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]  # empty where all weights are 1
    entry_start: NDArray[np.int64]


@kernel
def with_room(array: NDArray, used: int, needed: int) -> NDArray:
    """Return the array, or a copy of its ``used`` part in a longer one if it is too short."""
    if needed <= len(array):
        return array
    longer = np.empty(2 * needed, array.dtype)
    for i in range(used):
        longer[i] = array[i]
    return longer


@kernel
def rank_of(table: TreeTable, row: int, feature: int) -> int:
    """Return the rank of one cell."""
    low, end = table.row_start[row], table.row_start[row + 1]
    high = end
    if high - low == len(table.n_categories):
        return table.row_rank[low + feature]
    while low < high:
        middle = (low + high) >> 1
        if table.row_feature[middle] < feature:
            low = middle + 1
        else:
            high = middle
    if low < end and table.row_feature[low] == feature:
        return table.row_rank[low]
    return table.implicit[feature]


@kernel
def branch_of(table: TreeTable, row: int, feature: int, cut: int) -> int:
    """Return the branch that a row takes at a split, -1 if its value is missing."""
    rank = rank_of(table, row, feature)
    if rank == MISSING:
        return -1
    if table.n_categories[feature] > 0:
        return rank
    return 0 if rank <= cut else 1
