"""The best split on each feature of a node whose rows have weights, or that has nominal features.

A numeric feature may have missing values; a nominal one has a single split, into all categories.
"""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel
from labelance.learners.tree._criterion import (
    ALIVE,
    DEAD,
    EPS,
    UNCOUNTED,
    VALID,
    VALUE_GAP,
    C45Options,
    gain_of,
    min_side_weight,
    ratio_of,
    xlogx,
)
from labelance.learners.tree._data import MISSING, ROW, TreeData, cell_rank
from labelance.learners.tree._splitter import BEGIN, COLUMN_FEATURE, END, Candidates, Column


class Node(NamedTuple):
    """A node to be split."""

    n_classes: int
    weight: float
    n_rows: int


class WeightBuffers(NamedTuple):
    """Arrays for a node whose rows have weights, or nominal features."""

    row: NDArray[np.float64]  # weight of each row in the node
    branches: NDArray[np.float64]  # class weights per branch
    known: NDArray[np.float64]  # class weights of the rows whose value is known
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    averaged: NDArray[np.bool_]  # which features count in the average gain


@inner_kernel
def evaluate_nominal(
    data: TreeData,
    n: int,
    columns: NDArray,
    cells: NDArray,
    y: NDArray,
    classes: NDArray,
    weights: WeightBuffers,
    candidates: Candidates,
    options: C45Options,
) -> None:
    """Find the split on each nominal column."""
    status, gain, ratio, low, high = candidates
    node = _node_of(classes, n)
    for i in range(len(columns)):
        f = columns[i, COLUMN_FEATURE]
        if data.n_categories[f] > 0:
            column, low[i], high[i] = _column(data, node, columns, i), 0, 0
            status[i], gain[i], ratio[i] = _nominal_split(
                cells, y, classes, column, node, weights, options.min_samples_leaf
            )
            if not weights.averaged[f] and status[i] == VALID:
                status[i] = UNCOUNTED


@inner_kernel
def evaluate_weighted(
    data: TreeData,
    n: int,
    columns: NDArray,
    cells: NDArray,
    y: NDArray,
    classes: NDArray,
    weights: WeightBuffers,
    candidates: Candidates,
    options: C45Options,
) -> None:
    """Find the best split on each numeric column; rows may have any weights and missing values."""
    status, gain, ratio, low, high = candidates
    node = _node_of(classes, n)
    for i in range(len(columns)):
        if data.n_categories[columns[i, COLUMN_FEATURE]] == 0:
            column = _column(data, node, columns, i)
            status[i], gain[i], ratio[i], low[i], high[i] = _weighted_split(
                cells, data.levels, y, classes, column, node, weights, options
            )


@inner_kernel
def _node_of(classes: NDArray, n: int) -> Node:
    weight = 0.0
    for c in range(len(classes)):
        weight += classes[c]
    return Node(len(classes), weight, n)


@inner_kernel
def _column(data: TreeData, node: Node, columns: NDArray, i: int) -> Column:
    f, begin, end = columns[i, COLUMN_FEATURE], columns[i, BEGIN], columns[i, END]
    implicit = np.int64(data.implicit[f]) if node.n_rows > end - begin else np.int64(-1)
    return Column(begin, end, implicit, data.level_start[f], data.n_categories[f])


@inner_kernel
def _nominal_split(
    cells: NDArray,
    y: NDArray,
    classes: NDArray,
    column: Column,
    node: Node,
    weights: WeightBuffers,
    min_samples_leaf: float,
) -> tuple[int, float, float]:
    """Return status, gain and gain ratio of the split into all categories."""
    usual, width, C, W = column.implicit, column.width, node.n_classes, node.weight
    known, branches, weight = weights.known, weights.branches, weights.row
    for i in range(width * C):
        branches[i] = 0.0
    for c in range(C):
        known[c] = classes[c]
        if usual >= 0:
            branches[usual * C + c] = known[c]
    for t in range(column.begin, column.end):
        code, row = cell_rank(cells[t]), cells[t] & ROW
        if usual >= 0:
            branches[usual * C + y[row]] -= weight[row]
        if code == MISSING:
            known[y[row]] -= weight[row]
        else:
            branches[code * C + y[row]] += weight[row]
    heavy, kept, info, K, before = 0, 0.0, 0.0, 0.0, 0.0
    for b in range(width):
        total = 0.0
        for c in range(b * C, (b + 1) * C):
            total += branches[c]
            kept += xlogx(branches[c])
        kept -= xlogx(total)
        info -= xlogx(total)
        K += total
        heavy += min_samples_leaf - total < EPS
    for c in range(C):
        before -= xlogx(known[c])
    gain = gain_of(W, max(K, EPS), before + xlogx(K), kept)
    ratio = ratio_of(gain, W, K, info)
    return (VALID if heavy >= 2 else DEAD), gain, ratio


@inner_kernel
def _weighted_split(
    cells: NDArray,
    levels: NDArray,
    y: NDArray,
    classes: NDArray,
    column: Column,
    node: Node,
    weights: WeightBuffers,
    options: C45Options,
) -> tuple[int, float, float, int, int]:
    """Return status, corrected gain, gain ratio and ranks around the best cut.

    Rows may have any weights and missing values.
    """
    begin, end, C = column.begin, column.end, node.n_classes
    known, usual, weight = weights.known, weights.branches, weights.row
    for c in range(C):
        known[c] = classes[c]
    while end > begin and cell_rank(cells[end - 1]) == MISSING:
        end -= 1
        known[y[cells[end] & ROW]] -= weight[cells[end] & ROW]
    for c in range(C):
        usual[c] = known[c]
    # Rows without a cell share one value: what the cells leave moves to the left together.
    for t in range(begin, end if column.implicit >= 0 else begin):
        usual[y[cells[t] & ROW]] -= weight[cells[t] & ROW]
    complete = Column(begin, end, column.implicit, column.base, column.width)
    return _scan_weighted(cells, levels, y, complete, node, weights, options)


@inner_kernel
def _scan_weighted(
    cells: NDArray,
    levels: NDArray,
    y: NDArray,
    column: Column,
    node: Node,
    weights: WeightBuffers,
    options: C45Options,
) -> tuple[int, float, float, int, int]:
    """Try all cuts of a column without missing values; return what :func:`_weighted_split` does."""
    end, implicit, base = column.end, column.implicit, column.base
    C, W, weight, K, before = node.n_classes, node.weight, weights.row, 0.0, 0.0
    known, usual, left, right = weights.known, weights.branches, weights.left, weights.right
    kept_left, kept_right = 0.0, 0.0
    for c in range(C):
        left[c], right[c] = 0.0, known[c]
        K += known[c]
        before -= xlogx(known[c])
        kept_right += xlogx(right[c])
    before, least = before + xlogx(K), min_side_weight(K, C, options.min_samples_leaf)
    best, tries, low, high, best_left = 0.0, 0, np.int64(0), np.int64(0), 0.0
    weight_left, lowest, last, t = 0.0, np.int64(-1), np.int64(-1), column.begin
    while t < end or implicit >= 0:
        together = implicit >= 0 and (t == end or cell_rank(cells[t]) > implicit)
        rank = implicit if together else cell_rank(cells[t])
        gap = last >= 0 and levels[base + last] + VALUE_GAP < levels[base + rank]
        if gap and least - weight_left < EPS and least - (K - weight_left) < EPS:
            tries += 1
            kept = kept_left + kept_right - xlogx(weight_left) - xlogx(K - weight_left)
            gain = gain_of(W, K, before, kept)
            if gain - best > EPS:
                best, low, high, best_left = gain, last, rank, weight_left
        row = np.uint64(0) if together else cells[t] & ROW
        for c in range(0 if together else y[row], C if together else y[row] + 1):
            moved = usual[c] if together else weight[row]
            kept_left += xlogx(left[c] + moved) - xlogx(left[c])
            kept_right += xlogx(right[c] - moved) - xlogx(right[c])
            left[c] += moved
            right[c] -= moved
            weight_left += moved
        lowest, last = (rank if last < 0 else lowest), rank
        implicit = np.int64(-1) if together else implicit
        t += 0 if together else 1
    if tries > 0 and options.mdl_correction:
        best -= log2(tries) / W
    # Below here rows between two values may go, so only the range of all says what is dead.
    status, ratio = DEAD, 0.0
    if last >= 0 and levels[base + lowest] + VALUE_GAP < levels[base + last]:
        status = VALID if tries > 0 and best >= EPS else ALIVE
    if status == VALID:
        ratio = ratio_of(best, W, K, -xlogx(best_left) - xlogx(K - best_left))
    return status, best, ratio, low, high
