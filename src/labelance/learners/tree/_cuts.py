"""The best cut of a node on a numeric feature, by counting complete rows of weight 1.

These are the innermost loops. They take single arrays and places in them, and have one exit:
so the compiler can drop all reference counting, which would cost more than the counting.
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
def two_class_cut(
    cells: NDArray,
    begin: int,
    end: int,
    hidden: int,
    levels: NDArray,
    base: int,
    y: NDArray,
    n: int,
    ones: int,
    min_leaf: float,
    log_table: NDArray,
) -> tuple[float, int, int, int, int]:
    """Find the best cut of ``n`` rows, ``ones`` of them of class 1.

    ``hidden`` is the rank of rows without a cell, or -1; they pass the cut together. Returns
    n times the gain, the number of cuts tried, the ranks around the best one, and the number
    of rows left of it: 0 if there is none.
    """
    before = log_table[n] - log_table[ones] - log_table[n - ones]
    middle, hidden_ones = end, 0
    if hidden >= 0:
        middle, hidden_ones = begin, ones
        for t in range(begin, end):
            hidden_ones -= y[cells[t] & ROW]
            middle += np.int64(cells[t] >> RANK) < hidden
    all_rows, all_ones, offset = np.uint64(n), np.uint64(ones), np.uint64(base)
    least = np.uint64(max(1.0, ceil(smallest_side(n, 2, min_leaf) - EPS)))
    most = all_rows - min(least, all_rows)
    left, left_ones, last, value_before = (
        np.uint64(0),
        np.uint64(0),
        np.uint64(0),
        -np.inf,
    )
    bar, best, tries, low, high, n_left = EPS * n - before, -before, 0, last, last, left
    for part in range(2):
        for t in range(begin if part == 0 else middle, middle if part == 0 else end):
            rank = cells[t] >> RANK
            value = levels[offset + rank]
            if value_before + VALUE_GAP < value and least <= left <= most:
                tries += 1
                kept = _kept(left, left_ones, all_rows, all_ones, log_table)
                if kept > bar:
                    best, low, high, n_left, bar = (
                        kept,
                        last,
                        rank,
                        left,
                        kept + EPS * n,
                    )
            value_before, last = value, rank
            left += ONE
            left_ones += np.uint64(y[cells[t] & ROW])
        if part == 0 and hidden >= 0:
            rank = np.uint64(hidden)
            value = levels[offset + rank]
            if value_before + VALUE_GAP < value and least <= left <= most:
                tries += 1
                kept = _kept(left, left_ones, all_rows, all_ones, log_table)
                if kept > bar:
                    best, low, high, n_left, bar = (
                        kept,
                        last,
                        rank,
                        left,
                        kept + EPS * n,
                    )
            value_before, last = value, rank
            left += np.uint64(n - (end - begin))
            left_ones += np.uint64(hidden_ones)
    return before + best, tries, np.int64(low), np.int64(high), np.int64(n_left)


@piece
def _kept(left: int, left_ones: int, n: int, ones: int, log_table: NDArray) -> float:
    """Return minus the entropy, in bits, that a cut leaves."""
    right, right_ones = n - left, ones - left_ones
    return (
        log_table[left_ones]
        + log_table[left - left_ones]
        - log_table[left]
        + log_table[right_ones]
        + log_table[right - right_ones]
        - log_table[right]
    )


@piece
def many_class_cut(
    cells: NDArray,
    begin: int,
    end: int,
    hidden: int,
    levels: NDArray,
    base: int,
    y: NDArray,
    n: int,
    histogram: NDArray,
    first: int,
    C: int,
    bags: NDArray,
    min_leaf: float,
    log_table: NDArray,
) -> tuple[float, int, int, int, int]:
    """Find the best cut for any number of classes, as :func:`two_class_cut` does for two.

    Class counts are ``histogram[first:first + C]``; sums of n log2 n are kept up to date.
    """
    before, kept = log_table[n], 0.0
    for c in range(C):
        # Left of the cut; right of it; and rows without a cell.
        own = np.int64(histogram[first + c])
        bags[c], bags[C + c], bags[2 * C + c] = 0, own, own
        kept += log_table[own]
    before -= kept
    for t in range(begin, end):
        bags[2 * C + y[cells[t] & ROW]] -= 1
    least = max(1.0, ceil(smallest_side(n, C, min_leaf) - EPS))
    bar, best, tries, low, high, n_left = EPS * n - before, -before, 0, 0, 0, 0
    left, last, t = 0, -1, begin
    while t < end or hidden >= 0:
        together = hidden >= 0 and (t == end or np.int64(cells[t] >> RANK) > hidden)
        rank = hidden if together else np.int64(cells[t] >> RANK)
        gap = last >= 0 and levels[base + last] + VALUE_GAP < levels[base + rank]
        if gap and least <= left <= n - least:
            tries += 1
            here = kept - log_table[left] - log_table[n - left]
            if here > bar:
                best, low, high, n_left, bar = here, last, rank, left, here + EPS * n
        own = 0 if together else y[cells[t] & ROW]
        for c in range(own, C if together else own + 1):
            moved = bags[2 * C + c] if together else 1
            kept += log_table[bags[c] + moved] - log_table[bags[c]]
            kept += log_table[bags[C + c] - moved] - log_table[bags[C + c]]
            bags[c] += moved
            bags[C + c] -= moved
            left += moved
        last = rank
        hidden = -1 if together else hidden
        t += 0 if together else 1
    return before + best, tries, low, high, n_left


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
