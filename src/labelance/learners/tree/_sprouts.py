"""Trees between growing and pruning: nodes in flat arrays, and the rows of every node.

Nodes of a tree are numbered from 0 as they are made, children side by side and after their
parent. Every node owns a slice of its tree's *entries*, which are rows with weights: a row
with a missing value goes down several branches, with a part of its weight on each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._rules import is_settled

LEAF = -1

# A node is a row of whole numbers: the feature it splits on, or LEAF; the cut of a numeric
# split, up to whose rank rows go left; its first child, which the others follow, and their
# number; and its entries, from START up to STOP.
FEATURE, CUT, FIRST, WIDTH, START, STOP = range(6)
N_FIELDS = 6


class Sprouts(NamedTuple):
    """Grown trees; the parts of tree t lie between ``…_start[t]`` and ``…_start[t + 1]``."""

    nodes: NDArray[np.int64]  # (all nodes, N_FIELDS)
    node_start: NDArray[np.int64]
    histogram: NDArray[np.float64]  # class weights, node by node
    histogram_start: NDArray[np.int64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]  # empty where all weights are 1
    entry_start: NDArray[np.int64]


class Tree(NamedTuple):
    """One grown tree with the rows it was grown from."""

    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    origin: NDArray[np.int32]  # row of the table that each row of the problem is
    y: NDArray[np.int32]
    n_classes: int


@piece
def with_room(array: NDArray, used: int, needed: int) -> NDArray:
    """Return the array, or a copy of its ``used`` part in a longer one if it is too short."""
    if needed > len(array):
        longer = np.empty(2 * needed, array.dtype)
        for i in range(used):
            longer[i] = array[i]
        array = longer
    return array


@piece
def with_nodes(nodes: NDArray, used: int, needed: int) -> NDArray:
    """Do for nodes what :func:`with_room` does for numbers."""
    if needed > len(nodes):
        longer = np.empty((2 * needed, N_FIELDS), np.int64)
        for v in range(used):
            for k in range(N_FIELDS):
                longer[v, k] = nodes[v, k]
        nodes = longer
    return nodes


@piece
def new_sprouts(problems: Problems, n_rows: int) -> Sprouts:
    """Return room for the trees of some problems, with one entry per row for each."""
    n_problems = len(problems.n_classes)
    entry_start = np.zeros(n_problems + 1, np.int64)
    for p in range(n_problems):
        told = problems.start[p + 1] - problems.start[p]
        entry_start[p + 1] = entry_start[p] + (n_rows if problems.whole else told)
    return Sprouts(
        np.empty((64, N_FIELDS), np.int64),
        np.zeros(n_problems + 1, np.int64),
        np.empty(64, np.float64),
        np.zeros(n_problems + 1, np.int64),
        np.empty(entry_start[n_problems], np.int32),
        np.empty(0, np.float64),
        entry_start,
    )


@piece
def add_tree(
    sprouts: Sprouts,
    p: int,
    nodes: NDArray,
    histogram: NDArray,
    size: int,
    n_classes: int,
) -> Sprouts:
    """Return the sprouts with the nodes of tree p."""
    a, b = sprouts.node_start[p], sprouts.histogram_start[p]
    c, d = a + size, b + size * n_classes
    sprouts.node_start[p + 1], sprouts.histogram_start[p + 1] = c, d
    all_nodes, all_weights = (
        with_nodes(sprouts.nodes, a, c),
        with_room(sprouts.histogram, b, d),
    )
    for v in range(size):
        for k in range(N_FIELDS):
            all_nodes[a + v, k] = nodes[v, k]
    for i in range(size * n_classes):
        all_weights[b + i] = histogram[i]
    return Sprouts(
        all_nodes,
        sprouts.node_start,
        all_weights,
        sprouts.histogram_start,
        sprouts.row,
        sprouts.weight,
        sprouts.entry_start,
    )


@piece
def plant(
    nodes: NDArray,
    histogram: NDArray,
    v: int,
    start: int,
    stop: int,
    C: int,
    min_leaf: float,
) -> bool:
    """Make node v a leaf over some entries; tell whether it may be split."""
    total, largest = 0.0, 0.0
    for c in range(v * C, (v + 1) * C):
        total += histogram[c]
        largest = max(largest, histogram[c])
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = LEAF, 0, 0, 0
    nodes[v, START], nodes[v, STOP] = start, stop
    return not is_settled(total, largest, min_leaf)
