"""Trees between growing and pruning: nodes in flat arrays, and the rows of every node.

Nodes of a tree are numbered from 0 as they are made, children side by side and after their
parent. Every node owns a slice of its tree's *entries*, which are rows with weights: a row
with a missing value goes down several branches, with a part of its weight on each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import inner_kernel
from labelance.learners.tree._criterion import EPS, must_be_leaf
from labelance.learners.tree._problems import Problem, Problems

LEAF = -1

# Columns of an array of nodes: the feature that a node splits on, or LEAF; the cut of a numeric
# split, up to whose rank rows go left; its first child, which the others follow, and their
# number; and its entries, from START up to STOP.
FEATURE, CUT, FIRST, WIDTH, START, STOP = range(6)
N_FIELDS = 6


class UnprunedTrees(NamedTuple):
    """Grown trees; the parts of tree t lie between ``…_start[t]`` and ``…_start[t + 1]``."""

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
    """Rows and their weights, node by node; children are added behind all others."""

    row: NDArray[np.int32]
    weight: NDArray[np.float64]  # empty where all weights are 1
    size: int


class Partition(NamedTuple):
    """How the entries of a node are partitioned into its branches."""

    branch: NDArray[np.int32]  # of each row; -1 where its value is missing
    share: NDArray[np.float64]  # of the known weight that each branch has
    begin: NDArray[np.int64]  # where the entries of each branch begin, and those of the last end


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
def with_lines(records: NDArray, used: int, needed: int) -> NDArray:
    """Do for an array of records, one per line, what :func:`with_capacity` does for numbers."""
    if needed > len(records):
        longer = np.empty((2 * needed, records.shape[1]), np.int64)
        for i in range(used):
            for field in range(records.shape[1]):
                longer[i, field] = records[i, field]
        records = longer
    return records


@inner_kernel
def new_trees(problems: Problems, n_rows: int) -> UnprunedTrees:
    """Return room for the trees of some problems, with one entry per row for each."""
    n_problems = len(problems.n_classes)
    entry_start = np.zeros(n_problems + 1, np.int64)
    for p in range(n_problems):
        listed = problems.start[p + 1] - problems.start[p]
        entry_start[p + 1] = entry_start[p] + (n_rows if problems.all_rows else listed)
    return UnprunedTrees(
        np.empty((64, N_FIELDS), np.int64),
        np.zeros(n_problems + 1, np.int64),
        np.empty(64, np.float64),
        np.zeros(n_problems + 1, np.int64),
        np.empty(entry_start[n_problems], np.int32),
        np.empty(0, np.float64),
        entry_start,
    )


@inner_kernel
def add_tree(
    trees: UnprunedTrees, p: int, nodes: NDArray, histogram: NDArray, size: int, n_classes: int
) -> UnprunedTrees:
    """Return the trees with the ``size`` nodes of tree p added."""
    a, b = trees.node_start[p], trees.histogram_start[p]
    c, d = a + size, b + size * n_classes
    trees.node_start[p + 1], trees.histogram_start[p + 1] = c, d
    all_nodes, all_weights = with_lines(trees.nodes, a, c), with_capacity(trees.histogram, b, d)
    for v in range(size):
        for field in range(N_FIELDS):
            all_nodes[a + v, field] = nodes[v, field]
    for i in range(size * n_classes):
        all_weights[b + i] = histogram[i]
    return UnprunedTrees(
        all_nodes,
        trees.node_start,
        all_weights,
        trees.histogram_start,
        trees.row,
        trees.weight,
        trees.entry_start,
    )


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
        largest = max(largest, histogram[c])
    nodes[v, FEATURE], nodes[v, CUT], nodes[v, FIRST], nodes[v, WIDTH] = LEAF, 0, 0, 0
    nodes[v, START], nodes[v, STOP] = start, stop
    return not must_be_leaf(total, largest, min_samples_leaf)


@inner_kernel
def plan_partition(entries: Entries, start: int, stop: int, used: int, plan: Partition) -> int:
    """Find where each branch's entries will lie, behind the ``used`` ones; return their end.

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
    width, known, missing, unit = len(share), 0.0, 0, len(weight) == 0
    for b in range(width):
        share[b], begin[b] = 0.0, 0
    for e in range(start, stop):
        b, w = branch[row[e]], 1.0 if unit else weight[e]
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
    place, unit = plan.begin.copy(), len(weight) == 0
    for e in range(start, stop):
        i = row[e]
        known = branch[i] >= 0
        for b in range(branch[i] if known else 0, branch[i] + 1 if known else len(share)):
            if known or share[b] > EPS:
                row[place[b]] = i
                if not unit:
                    weight[place[b]] = weight[e] * (1.0 if known else share[b])
                place[b] += 1
