"""The best split of a node: on each of its features, and among them (:func:`choose_split`).

Here all rows have weight 1 and no value is missing, so rows are counted. What a cut keeps of the
entropy is a sum over classes and sides of n log2 n, and the same counts come up again for every
feature. So these sums are written down once for the node.

The innermost functions take single arrays, and records of numbers only, and have one exit: so
the compiler can drop all reference counting, which would cost more than the counting of rows.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel
from labelance.learners.tree._criterion import (
    ALIVE,
    DEAD,
    EPS,
    SLACK,
    VALID,
    VALUE_GAP,
    C45Options,
    least_rows,
)
from labelance.learners.tree._data import CLASS, CLOSE, ROW, cell_rank

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
    price: NDArray[np.float64]  # what this many cuts take from n times the gain


def prices(log_table: NDArray[np.float64], options: C45Options) -> NDArray[np.float64]:
    """Return what a choice of 0, 1, 2, ... cuts takes from n times the gain: its log2."""
    numbers = np.arange(len(log_table))
    return log_table / np.maximum(numbers, 1) if options.mdl_correction else np.zeros(len(numbers))


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
    place_of, start, sums, score, price = cuts
    C = len(classes)
    before, uncut = _tabulate_sums(classes, n, log_table, start, sums)
    least = least_rows(n, C, options.min_samples_leaf)
    fewest = np.int64(ceil(options.min_samples_leaf - EPS))
    for i in range(len(columns)):
        f, begin, end = columns[i, COLUMN_FEATURE], columns[i, BEGIN], columns[i, END]
        usual = np.int64(implicit[f]) if n > end - begin else np.int64(-1)
        status[i] = DEAD
        if n_categories[f] > 0 or end - begin < fewest:
            continue
        if not _values_differ(cells, begin, end, usual, levels, level_start[f]):
            continue
        status[i] = ALIVE
        if end - begin < least:
            continue
        column = Column(begin, end, usual, level_start[f], 0)
        middle = _first_above(cells, column)
        tries = _most_cuts(column, middle, n, least)
        ones, n_close = _count_cells(cells, column)
        penalty = price[max(tries - n_close - 1, 1)]  # of as many cuts as there are at least
        if C == 2:
            if usual >= 0:
                most = before + _highest_score(ones, end - begin, least, start, sums)
                if most - penalty < EPS / 2:  # half of what is asked for, so rounding is no matter
                    continue
            most = _score_two_class_cuts(cells, start, sums, score, column, middle, least)
        else:
            most = _score_cuts(cells, y, C, uncut, start, place_of, sums, score, column, middle)
        if before + most - penalty < EPS / 2:  # which few columns exceed
            continue
        gained, place = _best_cut(cells, levels, score, column, middle, n, least, before)
        if place >= 0:
            if gained - penalty < EPS:
                continue
            # Rows without a cell have nothing to say that they are close to the cell below them.
            if options.mdl_correction and (n_close > 0 or (usual >= 0 and middle > begin)):
                tries = _count_cuts(cells, levels, column, middle, n, least)
            gained -= price[tries]
        if place >= 0 and gained / n >= EPS:
            n_left = place - begin if place < middle else n - end + place
            n_left = middle - begin if place == end else n_left
            info = log_table[n] + sums[start[C] + n_left]
            status[i], gain[i], ratio[i] = VALID, gained / n, gained / info
            low[i], high[i] = _ranks_around(cells, column, middle, place)


@inner_kernel
def _values_differ(
    cells: NDArray, begin: int, end: int, usual: int, levels: NDArray, base: int
) -> bool:
    """Tell whether a column has values with a gap between them.

    It has if the highest is not close to lower ones; else it takes a look at the values.
    """
    lowest, highest = cell_rank(cells[begin]), cell_rank(cells[end - 1])
    close = cells[end - 1] & CLOSE != 0 or usual > highest
    lowest, highest = usual if 0 <= usual < lowest else lowest, max(usual, highest)
    if lowest == highest or not close:
        return lowest != highest
    return levels[base + lowest] + VALUE_GAP < levels[base + highest]


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
def _tabulate_sums(
    classes: NDArray, n: int, log_table: NDArray, start: NDArray, sums: NDArray
) -> tuple[float, float]:
    """Tabulate what the counts on the left of a cut bring.

    With k rows of class c on the left, the two sides add ``sums[start[c] + k]`` for the class;
    with k rows of any class on the left they add ``sums[start[C] + k]``, which is negative. Of
    more than two classes, ``sums[start[c] + k]`` is what the next row of the class changes.
    Returns n times the entropy before the cut, and what the classes add where all is right of it.
    """
    before, uncut, at, C = log_table[n], 0.0, 0, len(classes)
    for c in range(C):
        own = np.int64(classes[c])
        start[c] = at
        for k in range(own + 1):
            sums[at + k] = log_table[k] + log_table[own - k]
        for k in range(own if C > 2 else 0):
            sums[at + k] = sums[at + k + 1] - sums[at + k]
        at += own + 1
        before -= log_table[own]
        uncut += log_table[own]
    start[C] = at
    for k in range(n + 1):
        sums[at + k] = -log_table[k] - log_table[n - k]
    return before, uncut


@inner_kernel
def _first_above(cells: NDArray, column: Column) -> int:
    """Return where rows without a cell have their place: before the first cell of higher rank."""
    begin, end, usual = column.begin, column.end, column.implicit
    if usual < 0 or cell_rank(cells[begin]) > usual:
        return end if usual < 0 else begin
    while begin < end:
        middle = (begin + end) >> 1
        if cell_rank(cells[middle]) < usual:
            begin = middle + 1
        else:
            end = middle
    return begin


@inner_kernel
def _most_cuts(column: Column, middle: int, n: int, least: int) -> int:
    """Return how many cuts leave enough rows on both sides, if all cells are far apart."""
    begin, end, usual = column.begin, column.end, column.implicit
    below, above = middle - begin, end - middle
    others = n - below - above
    tries = max(0, min(below, n - least + 1) - least)
    if usual >= 0:
        tries += least <= below <= n - least
        left = below + others
        tries += max(0, min(above, n - least + 1 - left) - max(0, least - left))
    return tries


@inner_kernel
def _count_cells(cells: NDArray, column: Column) -> tuple[int, int]:
    """Return how many cells are of class 1, and how many may be too close to lower ones."""
    ones, close = np.uint64(0), np.uint64(0)
    for t in range(np.uint64(column.begin), np.uint64(column.end)):
        ones += cells[t] >> CLASS
        close += cells[t] & CLOSE
    return np.int64(ones), np.int64(close // CLOSE)


@inner_kernel
def _highest_score(ones: int, n_cells: int, least: int, start: NDArray, sums: NDArray) -> float:
    """Return what no cut of two classes can exceed, however its column is sorted.

    One side of a cut has cells only, and at least ``least`` of them. The score grows the purer
    that side is: all of one class, and of the other only what it takes for enough rows.
    """
    zeros = n_cells - ones
    few_zeros, few_ones = max(least - ones, 0), max(least - zeros, 0)
    return max(
        sums[few_zeros] + sums[start[1] + ones] + sums[start[2] + few_zeros + ones],
        sums[zeros] + sums[start[1] + few_ones] + sums[start[2] + zeros + few_ones],
    )


@inner_kernel
def _score_two_class_cuts(
    cells: NDArray,
    start: NDArray,
    sums: NDArray,
    score: NDArray,
    column: Column,
    middle: int,
    least: int,
) -> float:
    """Score the cut before each cell: minus the entropy that it leaves, times n.

    Rows without a cell have their place before cell ``middle``, and the score of the cut before
    them comes last. Cells before them are counted from the left, and cells after them from the
    right, so their classes need not be known. Cuts that leave less than ``least`` rows on the side
    that is counted need no score. Returns what no score exceeds.
    """
    first, end, length = np.uint64(column.begin), column.end, column.end - column.begin
    of_ones, of_all = np.uint64(start[1]), np.uint64(start[2])
    few = min(least, middle - column.begin)
    left, left_ones, t, most = np.uint64(few), np.uint64(0), first, -np.inf
    for _ in range(few):
        left_ones += cells[t] >> CLASS
        t += ONE_U64
    for t in range(first + np.uint64(few), np.uint64(middle)):
        here = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]
        score[t - first] = here
        most = max(most, here)
        left += ONE_U64
        left_ones += cells[t] >> CLASS
    here = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]
    score[length] = here
    most = max(most, here)
    left, left_ones, t = of_all - ONE_U64 - ONE_U64, of_all - of_ones - ONE_U64, np.uint64(end)
    few = min(least - 1, end - middle)
    for _ in range(few):
        t -= ONE_U64
        left_ones -= cells[t] >> CLASS
    left -= np.uint64(few)
    for _ in range(end - middle - few):
        t -= ONE_U64
        left -= ONE_U64
        left_ones -= cells[t] >> CLASS
        here = sums[left - left_ones] + sums[of_ones + left_ones] + sums[of_all + left]
        score[t - first] = here
        most = max(most, here)
    return most


@inner_kernel
def _score_cuts(
    cells: NDArray,
    y: NDArray,
    C: int,
    uncut: float,
    start: NDArray,
    place: NDArray,
    sums: NDArray,
    score: NDArray,
    column: Column,
    middle: int,
) -> float:
    """Do what :func:`_score_two_class_cuts` does for any number of classes."""
    begin, end = column.begin, column.end
    now, left, first, of_all = uncut, np.uint64(0), np.uint64(begin), np.uint64(start[C])
    most = -np.inf
    for c in range(C):
        place[c] = start[c]
    for t in range(first, np.uint64(middle)):
        here = now + sums[of_all + left]
        score[t - first] = here
        most = max(most, here)
        left += ONE_U64
        c = np.uint64(y[cells[t] & ROW])
        at = np.uint64(place[c])
        now += sums[at]
        place[c] = at + ONE_U64
    here = now + sums[of_all + left]
    score[end - begin] = here
    most = max(most, here)
    for c in range(C):
        place[c] = start[c + 1] - 1
    now, left, t = uncut, of_all - np.uint64(C), np.uint64(end)
    for _ in range(end - middle):
        t -= ONE_U64
        left -= ONE_U64
        c = np.uint64(y[cells[t] & ROW])
        at = np.uint64(place[c]) - ONE_U64
        now -= sums[at]
        place[c] = at
        here = now + sums[of_all + left]
        score[t - first] = here
        most = max(most, here)
    return most


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
) -> tuple[float, int]:
    """Return n times the gain of the best cut, and the cell after it.

    The end stands for rows without a cell; -1 for no cut at all. Only where a cut would be the
    best is it asked whether it lies between cells that are far enough apart.
    """
    begin, end, usual, base = column.begin, column.end, column.implicit, column.base
    margin, left = EPS * n, 0
    best, place = -before, -1
    bar = best + margin
    for part in range(2):
        first, last = (begin, middle) if part == 0 else (middle, end)
        if part == 1 and usual >= 0:
            if least <= left <= n - least:
                value = levels[base + cell_rank(cells[middle - 1])]
                if score[end - begin] > bar and value + VALUE_GAP < levels[base + usual]:
                    best, place, bar = score[end - begin], end, score[end - begin] + margin
            left = n - (end - middle)
        # Cuts that leave too few rows on one side are not looked at.
        a = max(first, first + least - left)
        b = max(a, min(last, first + n - least + 1 - left))
        for t in range(np.uint64(a), np.uint64(b)):
            here = score[t - np.uint64(begin)]
            if here > bar:
                apart = cells[t] & CLOSE == 0
                if not apart:
                    lower = usual if usual >= 0 and t == middle else cell_rank(cells[t - ONE_U64])
                    rank = cell_rank(cells[t])
                    if lower != rank:  # most close cells of counts are equal
                        apart = levels[base + lower] + VALUE_GAP < levels[base + rank]
                if apart:
                    best, place, bar = here, np.int64(t), here + margin
        left += last - first
    return before + best, place


@inner_kernel
def _count_cuts(
    cells: NDArray, levels: NDArray, column: Column, middle: int, n: int, least: int
) -> int:
    """Return the number of cuts between cells, or a cell and other rows, that are far apart."""
    begin, end, usual, base = column.begin, column.end, column.implicit, column.base
    tries, left = 0, 0
    for part in range(2):
        first, last = (begin, middle) if part == 0 else (middle, end)
        if part == 1 and usual >= 0:
            if least <= left <= n - least:
                value = levels[base + cell_rank(cells[middle - 1])]
                tries += value + VALUE_GAP < levels[base + usual]
            left = n - (end - middle)
        a = max(first, first + least - left)
        for t in range(np.uint64(a), np.uint64(max(a, min(last, first + n - least + 1 - left)))):
            lower = usual if usual >= 0 and t == middle else cell_rank(cells[t - ONE_U64])
            rank = cell_rank(cells[t])
            if lower != rank:
                tries += levels[base + lower] + VALUE_GAP < levels[base + rank]
        left += last - first
    return tries


@inner_kernel
def _ranks_around(cells: NDArray, column: Column, middle: int, place: int) -> tuple[int, int]:
    """Return the ranks on both sides of the cut before cell ``place``, see :func:`_best_cut`."""
    low, high = column.implicit, column.implicit
    if place == column.end:
        low = cell_rank(cells[middle - 1])
    else:
        high = cell_rank(cells[place])
        if place != middle:
            low = cell_rank(cells[place - 1])
    return low, high
