"""Trees between growing and pruning: nodes in flat arrays, and the rows of every node.

Nodes of a tree are numbered from 0 as they are made, children side by side and after their
parent. Every node owns a slice of its tree's *entries*, which are rows with weights: a row
with a missing value goes down several branches, with a part of its weight on each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel
from labelance.learners.tree._criterion import EPS, must_be_leaf
from labelance.learners.tree._problems import Problem, Problems

LEAF = -1

# Columns of an array of nodes: the feature that a node splits on, or LEAF; the cut of a numeric
# split, up to whose rank rows go left; its first child, which the others follow, and their
# number; and its entries, from START up to STOP.
FEATURE, CUT, FIRST, WIDTH, START, STOP = range(6)
N_FIELDS = 6

_MOST_WEIGHTS = 1 << 23  # of classes that trees get room for beforehand: 64 MB


class UnprunedTrees(NamedTuple):
    """Grown trees; the parts of tree t lie between ``…_start[t]`` and ``…_start[t + 1]``.

    After the last tree there is room for more. Kernels stop where it does not suffice, and are
    called again with more of it: numpy allocates, and kernels are compiled in less time.
    """

    nodes: NDArray[np.int64]  # (all nodes, N_FIELDS)
    node_start: NDArray[np.int64]
    histogram: NDArray[np.float64]  # class weights, node by node
    histogram_start: NDArray[np.int64]
    row: NDArray[np.int32]  # entries
    weight: NDArray[np.float64]  # empty where all weights are 1
    entry_start: NDArray[np.int64]


class UnprunedTree(NamedTuple):
    """One grown tree, and the problem that it was grown for."""

    nodes: NDArray[np.int64]
    histogram: NDArray[np.float64]
    problem: Problem


class Entries(NamedTuple):
    """Rows and their weights, node by node; children are added after all others."""

    row: NDArray[np.int32]
    weight: NDArray[np.float64]
    size: int


class Partition(NamedTuple):
    """How the entries of a node are partitioned into its branches."""

    branch: NDArray[np.int32]  # of each row; -1 where its value is missing
    share: NDArray[np.float64]  # of the known weight that each branch has
    begin: NDArray[np.int64]  # where the entries of each branch begin, and those of the last end


def new_trees(
    problems: Problems, n_rows: int, *, weighted: bool = False, most_nodes: int = 16
) -> UnprunedTrees:
    """Return room for the trees of some problems, enough for most; ``most_nodes`` for the first.

    Room that is not used costs nothing, for the system gives memory when it is written to. Many
    classes would take very much of it, and get only as much as they turn out to need.
    """
    n_trees, sizes, C = len(problems), problems.sizes(n_rows), problems.n_classes
    n_nodes, n_entries = sizes // 2 + 16, 16 * int(sizes.sum())
    n_weights = 16 * int(C.sum()) + min(int(n_nodes @ C), _MOST_WEIGHTS)
    return UnprunedTrees(
        np.empty((int(n_nodes.sum()) + most_nodes, N_FIELDS), np.int64),
        np.zeros(n_trees + 1, np.int64),
        np.empty(n_weights + most_nodes * int(C.max())),
        np.zeros(n_trees + 1, np.int64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries if weighted else 0),
        np.zeros(n_trees + 1, np.int64),
    )


def with_twice_the_room(trees: UnprunedTrees) -> UnprunedTrees:
    """Return the same trees in longer arrays."""
    return trees._replace(
        nodes=doubled(trees.nodes),
        histogram=doubled(trees.histogram),
        row=doubled(trees.row),
        weight=doubled(trees.weight),
    )


def doubled(array: NDArray) -> NDArray:
    """Return a copy of an array with as much room after it."""
    return np.concatenate([array, np.empty_like(array)])


@inner_kernel
def with_capacity(array: NDArray, used: int, needed: int) -> NDArray:
    """Return the array, or a copy of its ``used`` part in a longer one if it is too short."""
    if needed > len(array):
        longer = np.empty(2 * needed, array.dtype)
        for i in range(used):
            longer[i] = array[i]
        array = longer
    return array


@inner_kernel
def set_leaf(
    nodes: NDArray,
    histogram: NDArray,
    v: int,
    start: int,
    stop: int,
    C: int,
    min_samples_leaf: float,
) -> bool:
    """Make node v a leaf over some entries; return whether it may be split."""
    total, largest = 0.0, 0.0
    for c in range(v * C, (v + 1) * C):
        total += histogram[c]
        largest = histogram[c] if histogram[c] > largest else largest
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = LEAF, 0, 0, 0
    nodes[v, START], nodes[v, STOP] = start, stop
    return not must_be_leaf(total, largest, min_samples_leaf)


@inner_kernel
def plan_partition(entries: Entries, start: int, stop: int, used: int, plan: Partition) -> int:
    """Find where each branch's entries will lie, after the ``used`` ones; return their end.

    A row whose branch is -1 takes every branch, with the ``share`` of the known weight that
    the branch has.
    """
    row, weight, branch, share, begin = (
        entries.row,
        entries.weight,
        plan.branch,
        plan.share,
        plan.begin,
    )
    width, known, missing = len(share), 0.0, 0
    for b in range(width):
        share[b], begin[b] = 0.0, 0
    for e in range(start, stop):
        b, w = branch[row[e]], weight[e]
        if b < 0:
            missing += 1
        else:
            share[b] += w
            known += w
            begin[b] += 1
    for b in range(width):
        share[b] = 1.0 / width if known < EPS else share[b] / known
        count = begin[b] + (missing if share[b] > EPS else 0)
        begin[b] = used
        used += count
    begin[width] = used
    return used


@inner_kernel
def partition_entries(entries: Entries, start: int, stop: int, plan: Partition) -> None:
    """Write the entries of each branch where :func:`plan_partition` said."""
    row, weight, branch, share = entries.row, entries.weight, plan.branch, plan.share
    place = plan.begin.copy()
    for e in range(start, stop):
        i = row[e]
        known = branch[i] >= 0
        for b in range(branch[i] if known else 0, branch[i] + 1 if known else len(share)):
            if known or share[b] > EPS:
                row[place[b]] = i
                weight[place[b]] = weight[e] * (1.0 if known else share[b])
                place[b] += 1
