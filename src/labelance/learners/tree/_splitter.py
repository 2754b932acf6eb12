"""The best split of a node: on each of its features, and among them (:func:`choose_split`).

Where all rows have weight 1 and no value is missing, rows are counted. What a cut keeps of the
entropy is a sum over classes and sides of n log2 n, and the same counts come up again for every
feature. So these sums are written down once for the node.

The innermost functions take single arrays, and records of numbers only, and have one exit: so
the compiler can drop all reference counting, which would cost more than the counting of rows.
"""

from __future__ import annotations

from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils import inner_kernel
from labelance.learners.tree._criterion import (
    ALIVE,
    DEAD,
    EPS,
    SLACK,
    UNCOUNTED,
    VALID,
    VALUE_GAP,
    C45Options,
    gain_of,
    least_rows,
    min_side_weight,
    ratio_of,
    xlogx,
)
from labelance.learners.tree._data import MISSING, RANK, ROW, TreeData

ONE_U64 = np.uint64(1)  # unsigned indices spare a test for negative ones, which is felt in the scan

# Fields of the sorted columns of nodes: a feature, and its cells from BEGIN up to END.
COLUMN_FEATURE, BEGIN, END = range(3)


@inner_kernel
def choose_split(n: int, status: NDArray, gain: NDArray, ratio: NDArray) -> int:
    """Return which of ``n`` candidate splits is the best, or -1 for a leaf.

    The largest gain ratio wins among the splits of at least average gain; the first feature
    keeps a tie.
    """
    total, count = 0.0, 0
    for i in range(n):
        if status[i] == VALID:
            total += gain[i]
            count += 1
    if count == 0:
        return -1
    least, best, winner = total / count - SLACK, 0.0, -1
    for i in range(n):
        if status[i] >= VALID and gain[i] >= least and ratio[i] - best > EPS:
            best, winner = ratio[i], i
    return winner


class Node(NamedTuple):
    """A node to be split."""

    n_classes: int
    weight: float
    n_rows: int


class Column(NamedTuple):
    """Where the explicit cells of a node in one feature are; they are in ascending order."""

    begin: int
    end: int
    implicit: int  # rank or code of the rows without a cell; -1 if there are none
    base: int  # where the values of the feature begin
    width: int  # number of categories


class Candidates(NamedTuple):
    """The best split on each feature of a node."""

    status: NDArray[np.int64]
    gain: NDArray[np.float64]
    ratio: NDArray[np.float64]
    low: NDArray[np.int64]  # the ranks on both sides of the best cut
    high: NDArray[np.int64]


class CutBuffers(NamedTuple):
    """Arrays for the cuts of a node, where rows are counted."""

    place: NDArray[np.int64]  # per class
    start: NDArray[np.int64]  # see _tabulate_sums
    sums: NDArray[np.float64]
    score: NDArray[np.float64]  # of the cut before each cell


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
def evaluate_counted(
    levels: NDArray,
    level_start: NDArray,
    implicit: NDArray,
    n_categories: NDArray,
    columns: NDArray,
    cells: NDArray,
    y: NDArray,
    classes: NDArray,
    n: int,
    log_table: NDArray,
    cuts: CutBuffers,
    candidates: Candidates,
    options: C45Options,
) -> None:
    """Find the best split on each numeric column by counting rows.

    The node has ``n`` rows; ``classes`` are its class weights.
    """
    status, gain, ratio, low, high = candidates
    place_of, start, sums, score = cuts
    C = len(classes)
    before = _tabulate_sums(classes, n, log_table, start, sums)
    least = least_rows(n, C, options.min_samples_leaf)
    fewest = np.int64(ceil(options.min_samples_leaf - EPS))
    for i in range(len(columns)):
        f, begin, end = columns[i, COLUMN_FEATURE], columns[i, BEGIN], columns[i, END]
        usual = np.int64(implicit[f]) if n > end - begin else np.int64(-1)
        column = Column(begin, end, usual, level_start[f], n_categories[f])
        status[i], gain[i], ratio[i], low[i], high[i] = DEAD, 0.0, 0.0, 0, 0
        if column.width > 0 or end - begin < fewest or not _is_varied(cells, levels, column):
            continue
        status[i] = ALIVE
        if end - begin < least:
            continue
        middle = _first_above(cells, column)
        if C == 2:
            _score_two_class_cuts(cells, y, start, sums, score, column, middle)
        else:
            _score_cuts(cells, y, C, start, place_of, sums, score, column, middle)
        gained, tries, place = _best_cut(cells, levels, score, column, middle, n, least, before)
        if place >= 0 and options.mdl_correction:
            gained -= log_table[tries] / tries
        if place >= 0 and gained / n >= EPS:
            n_left = place - begin if place < middle else n - end + place
            n_left = middle - begin if place == end else n_left
            info = log_table[n] + sums[start[C] + n_left]
            status[i], gain[i], ratio[i] = VALID, gained / n, gained / info
            low[i], high[i] = _ranks_around(cells, column, middle, place)


@inner_kernel
def cut_between(levels: NDArray, base: int, low: int, high: int) -> int:
    """Return the last rank on the left of the middle between two ranks.

    Values of other nodes may lie between; rows that have them come here by raising. The
    feature's values are ``levels[base:]``.
    """
    if low == high:  # a nominal feature: it has no values, and its levels may lie past the end
        return low
    middle = (levels[base + low] + levels[base + high]) / 2
    if middle == levels[base + high]:
        high = low
    while high - low > 1:
        rank = (low + high) >> 1
        if levels[base + rank] <= middle:
            low = rank
        else:
            high = rank
    return low


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
        code, row = np.int64(cells[t] >> RANK), cells[t] & ROW
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
def _tabulate_sums(
    classes: NDArray, n: int, log_table: NDArray, start: NDArray, sums: NDArray
) -> float:
    """Tabulate what the counts on the left of a cut bring; return n times the entropy before it.

    With k rows of class c on the left, the two sides add ``sums[start[c] + k]`` for the class;
    with k rows of any class on the left they add ``sums[start[C] + k]``, which is negative.
    """
    before, at, C = log_table[n], 0, len(classes)
    for c in range(C):
        own = np.int64(classes[c])
        start[c] = at
        for k in range(own + 1):
            sums[at + k] = log_table[k] + log_table[own - k]
        at += own + 1
        before -= log_table[own]
    start[C] = at
    for k in range(n + 1):
        sums[at + k] = -log_table[k] - log_table[n - k]
    return before


@inner_kernel
def _is_varied(cells: NDArray, levels: NDArray, column: Column) -> bool:
    """Return whether some values of a column, which has cells, are far enough apart to be split."""
    usual, base = column.implicit, column.base
    lowest, highest = np.int64(cells[column.begin] >> RANK), np.int64(cells[column.end - 1] >> RANK)
    if 0 <= usual < lowest:
        lowest = usual
    if usual > highest:
        highest = usual
    return levels[base + lowest] + VALUE_GAP < levels[base + highest]


@inner_kernel
def _first_above(cells: NDArray, column: Column) -> int:
    """Return where rows without a cell have their place: before the first cell of higher rank."""
    begin, end, usual = column.begin, column.end, column.implicit
    if usual < 0 or np.int64(cells[begin] >> RANK) > usual:
        return end if usual < 0 else begin
    while begin < end:
        middle = (begin + end) >> 1
        if np.int64(cells[middle] >> RANK) < usual:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner_kernel
def _score_two_class_cuts(
    cells: NDArray,
    y: NDArray,
    start: NDArray,
    sums: NDArray,
    score: NDArray,
    column: Column,
    middle: int,
) -> None:
    """Score the cut before each cell: minus the entropy that it leaves, times n.

    Rows without a cell have their place before cell ``middle``, and the score of the cut before
    them comes last. Cells before them are counted from the left, and cells behind them from the
    right, so their classes need not be known.
    """
    first, end, length = np.uint64(column.begin), column.end, column.end - column.begin
    of_ones, of_all = np.uint64(start[1]), np.uint64(start[2])
    left, left_ones = np.uint64(0), np.uint64(0)
    for t in range(first, np.uint64(middle)):
        score[t - first] = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]
        left += ONE_U64
        left_ones += np.uint64(y[cells[t] & ROW])
    score[length] = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]
    left, left_ones, t = of_all - ONE_U64 - ONE_U64, of_all - of_ones - ONE_U64, np.uint64(end)
    for _ in range(end - middle):
        t -= ONE_U64
        left -= ONE_U64
        left_ones -= np.uint64(y[cells[t] & ROW])
        score[t - first] = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]


@inner_kernel
def _score_cuts(
    cells: NDArray,
    y: NDArray,
    C: int,
    start: NDArray,
    place: NDArray,
    sums: NDArray,
    score: NDArray,
    column: Column,
    middle: int,
) -> None:
    """Do what :func:`_score_two_class_cuts` does for any number of classes."""
    begin, end = column.begin, column.end
    now, left, first, of_all = 0.0, np.uint64(0), np.uint64(begin), np.uint64(start[C])
    for c in range(C):
        place[c] = start[c]
        now += sums[start[c]]
    uncut = now
    for t in range(first, np.uint64(middle)):
        score[t - first] = now + sums[of_all + left]
        left += ONE_U64
        c = np.uint64(y[cells[t] & ROW])
        at = np.uint64(place[c])
        now += sums[at + ONE_U64] - sums[at]
        place[c] = at + ONE_U64
    score[end - begin] = now + sums[of_all + left]
    for c in range(C):
        place[c] = start[c + 1] - 1
    now, left, t = uncut, of_all - np.uint64(C), np.uint64(end)
    for _ in range(end - middle):
        t -= ONE_U64
        left -= ONE_U64
        c = np.uint64(y[cells[t] & ROW])
        at = np.uint64(place[c])
        now += sums[at - ONE_U64] - sums[at]
        place[c] = at - ONE_U64
        score[t - first] = now + sums[of_all + left]


@inner_kernel
def _best_cut(
    cells: NDArray,
    levels: NDArray,
    score: NDArray,
    column: Column,
    middle: int,
    n: int,
    least: int,
    before: float,
) -> tuple[float, int, int]:
    """Return n times the gain of the best cut, the number of cuts tried, and the cell behind it.

    The end stands for rows without a cell; -1 for no cut at all.
    """
    begin, end, usual, offset = column.begin, column.end, column.implicit, np.uint64(column.base)
    margin, value_before, left = EPS * n, -np.inf, 0
    best, tries, place = -before, 0, -1
    bar = best + margin
    for part in range(2):
        first, last = (begin, middle) if part == 0 else (middle, end)
        if part == 1 and usual >= 0:
            value = levels[offset + np.uint64(usual)]
            if middle > begin:
                value_before = levels[offset + (cells[middle - 1] >> RANK)]
            if value_before + VALUE_GAP < value and least <= left <= n - least:
                tries += 1
                if score[end - begin] > bar:
                    best, place, bar = score[end - begin], end, score[end - begin] + margin
            value_before, left = value, n - (end - middle)
        # Cuts that leave too few rows on one side are not looked at.
        a = max(first, first + least - left)
        if first < a < last:
            value_before = levels[offset + (cells[a - 1] >> RANK)]
        for t in range(np.uint64(a), np.uint64(max(a, min(last, first + n - least + 1 - left)))):
            value = levels[offset + (cells[t] >> RANK)]
            if value_before + VALUE_GAP < value:
                tries += 1
                here = score[t - np.uint64(begin)]
                if here > bar:
                    best, place, bar = here, np.int64(t), here + margin
            value_before = value
        left += last - first
    return before + best, tries, place


@inner_kernel
def _ranks_around(cells: NDArray, column: Column, middle: int, place: int) -> tuple[int, int]:
    """Return the ranks on both sides of the cut before cell ``place``, see :func:`_best_cut`."""
    low, high = column.implicit, column.implicit
    if place == column.end:
        low = np.int64(cells[middle - 1] >> RANK)
    else:
        high = np.int64(cells[place] >> RANK)
        if place != middle:
            low = np.int64(cells[place - 1] >> RANK)
    return low, high


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
    while end > begin and np.int64(cells[end - 1] >> RANK) == MISSING:
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
        together = implicit >= 0 and (t == end or np.int64(cells[t] >> RANK) > implicit)
        rank = implicit if together else np.int64(cells[t] >> RANK)
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
