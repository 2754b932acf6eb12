"""The best cut of a node on a numeric feature, by counting complete rows of weight 1.

These are the innermost loops. They take single arrays and places in them, and have one exit:
so the compiler can drop all reference counting, which would cost more than the counting.

What a cut keeps of the entropy is a sum over classes and sides of n log2 n, and the same
counts come up again for every feature. So these sums are written down once for the node.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._rules import EPS, VALUE_GAP, smallest_side
from labelance.learners.tree._table import RANK, ROW

ONE = np.uint64(1)  # unsigned indices spare a test for negative ones, which is felt in the scan


@piece
def least_rows(n: int, C: int, min_leaf: float) -> int:
    """Return the least number of rows on either side of a cut of ``n`` rows."""
    return np.int64(max(1.0, ceil(smallest_side(n, C, min_leaf) - EPS)))


@piece
def write_sums(
    histogram: NDArray,
    first: int,
    C: int,
    n: int,
    log_table: NDArray,
    start: NDArray,
    kept: NDArray,
    spread: NDArray,
) -> float:
    """Write down what counts left of a cut bring; return the entropy before it, in bits.

    With k rows of class c on the left, the two sides add ``kept[start[c] + k]`` for the class;
    with k rows of any class on the left they add ``spread[k]``, which is negative.
    """
    before, at = log_table[n], 0
    for c in range(C):
        own = np.int64(histogram[first + c])
        start[c] = at
        for k in range(own + 1):
            kept[at + k] = log_table[k] + log_table[own - k]
        at += own + 1
        before -= log_table[own]
    start[C] = at
    for k in range(n + 1):
        spread[k] = -log_table[k] - log_table[n - k]
    return before


@piece
def is_varied(
    cells: NDArray, begin: int, end: int, hidden: int, levels: NDArray, base: int
) -> bool:
    """Tell whether some values of a node, which has cells, are far enough apart to be split."""
    lowest, highest = np.int64(cells[begin] >> RANK), np.int64(cells[end - 1] >> RANK)
    if 0 <= hidden < lowest:
        lowest = np.int64(hidden)
    if hidden > highest:
        highest = np.int64(hidden)
    return levels[base + lowest] + VALUE_GAP < levels[base + highest]


@piece
def first_above(cells: NDArray, begin: int, end: int, hidden: int) -> int:
    """Return where rows without a cell have their place: before the first cell of higher rank."""
    if hidden < 0 or np.int64(cells[begin] >> RANK) > hidden:
        return end if hidden < 0 else begin
    while begin < end:
        middle = (begin + end) >> 1
        if np.int64(cells[middle] >> RANK) < hidden:
            begin = middle + 1
        else:
            end = middle
    return begin


@piece
def weigh_two_class_cuts(
    cells: NDArray,
    begin: int,
    middle: int,
    end: int,
    y: NDArray,
    n: int,
    ones: int,
    kept: NDArray,
    spread: NDArray,
    weighed: NDArray,
) -> None:
    """Note for the cut before each cell minus the entropy that it leaves.

    There are ``n`` rows, ``ones`` of them of class 1. Rows without a cell have their place
    before cell ``middle``, and the cut before them is noted last. Cells before them are counted
    from the left, and cells behind them from the right: nobody needs to know their classes.
    """
    of_ones, left, left_ones = np.uint64(n - ones + 1), np.uint64(0), np.uint64(0)
    first = np.uint64(begin)
    for t in range(first, np.uint64(middle)):
        weighed[t - first] = kept[left - left_ones] + kept[of_ones + left_ones] + spread[left]
        left += ONE
        left_ones += np.uint64(y[cells[t] & ROW])
    weighed[end - begin] = kept[left - left_ones] + kept[of_ones + left_ones] + spread[left]
    left, left_ones, t = np.uint64(n), np.uint64(ones), np.uint64(end)
    for _ in range(end - middle):
        t -= ONE
        left -= ONE
        left_ones -= np.uint64(y[cells[t] & ROW])
        weighed[t - first] = kept[left - left_ones] + kept[of_ones + left_ones] + spread[left]


@piece
def weigh_cuts(
    cells: NDArray,
    begin: int,
    middle: int,
    end: int,
    y: NDArray,
    n: int,
    C: int,
    start: NDArray,
    at: NDArray,
    kept: NDArray,
    spread: NDArray,
    weighed: NDArray,
) -> None:
    """Do what :func:`weigh_two_class_cuts` does for any number of classes.

    ``at`` is room for a number per class.
    """
    now, left, first = 0.0, np.uint64(0), np.uint64(begin)
    for c in range(C):
        at[c] = start[c]
        now += kept[start[c]]
    whole = now
    for t in range(first, np.uint64(middle)):
        weighed[t - first] = now + spread[left]
        left += ONE
        c = np.uint64(y[cells[t] & ROW])
        place = np.uint64(at[c])
        now += kept[place + ONE] - kept[place]
        at[c] = place + ONE
    weighed[end - begin] = now + spread[left]
    for c in range(C):
        at[c] = start[c + 1] - 1
    now, left, t = whole, np.uint64(n), np.uint64(end)
    for _ in range(end - middle):
        t -= ONE
        left -= ONE
        c = np.uint64(y[cells[t] & ROW])
        place = np.uint64(at[c])
        now += kept[place - ONE] - kept[place]
        at[c] = place - ONE
        weighed[t - first] = now + spread[left]


@piece
def best_cut(
    cells: NDArray,
    begin: int,
    middle: int,
    end: int,
    hidden: int,
    levels: NDArray,
    base: int,
    n: int,
    least: int,
    before: float,
    weighed: NDArray,
) -> tuple[float, int, int]:
    """Return n times the gain of the best cut, the number of cuts tried, and the cell behind it.

    The end stands for rows without a cell, whose rank is ``hidden``; -1 for no cut at all.
    """
    offset, margin, value_before, left = np.uint64(base), EPS * n, -np.inf, 0
    best, tries, place = -before, 0, -1
    bar = best + margin
    for part in range(2):
        first, last = (begin, middle) if part == 0 else (middle, end)
        if part == 1 and hidden >= 0:
            value = levels[offset + np.uint64(hidden)]
            if middle > begin:
                value_before = levels[offset + (cells[middle - 1] >> RANK)]
            if value_before + VALUE_GAP < value and least <= left <= n - least:
                tries += 1
                if weighed[end - begin] > bar:
                    best, place, bar = weighed[end - begin], end, weighed[end - begin] + margin
            value_before, left = value, n - (end - middle)
        # Cuts that leave too few rows on one side are not looked at.
        a = max(first, first + least - left)
        if first < a < last:
            value_before = levels[offset + (cells[a - 1] >> RANK)]
        for t in range(np.uint64(a), np.uint64(max(a, min(last, first + n - least + 1 - left)))):
            value = levels[offset + (cells[t] >> RANK)]
            if value_before + VALUE_GAP < value:
                tries += 1
                here = weighed[t - np.uint64(begin)]
                if here > bar:
                    best, place, bar = here, np.int64(t), here + margin
            value_before = value
        left += last - first
    return before + best, tries, place


@piece
def ranks_around(cells: NDArray, place: int, middle: int, end: int, hidden: int) -> tuple[int, int]:
    """Return the ranks on both sides of the cut before cell ``place``, see :func:`best_cut`."""
    low, high = np.int64(hidden), np.int64(hidden)
    if place == end:
        low = np.int64(cells[middle - 1] >> RANK)
    else:
        high = np.int64(cells[place] >> RANK)
        if place != middle:
            low = np.int64(cells[place - 1] >> RANK)
    return low, high


@piece
def cut_between(levels: NDArray, base: int, low: int, high: int) -> int:
    """Return the last rank on the left of the middle between two ranks.

    Values of other nodes may lie between; rows that have them come here by raising. The
    feature's values are ``levels[base:]``.
    """
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
