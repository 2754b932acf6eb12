"""The best split of a node on one feature, whatever the weights and missing values."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._rules import (
    ALIVE,
    DEAD,
    EPS,
    LN2,
    VALID,
    VALUE_GAP,
    Rules,
    smallest_side,
    xlogx,
)
from labelance.learners.tree._table import MISSING, RANK, ROW


class Room(NamedTuple):
    """Room for what is counted at a node, used again at every node."""

    averaged: NDArray[np.bool_]  # which features count in the average gain
    weight: NDArray[np.float64]  # of each row in the node at hand
    branch: NDArray[np.int32]  # that each row takes
    goes: NDArray[np.uint8]  # what becomes of the cells of each row
    share: NDArray[np.float64]  # of the known weight that each branch has
    begin: NDArray[np.int64]  # where the entries of each branch begin
    is_open: NDArray[np.bool_]  # which branches may be split
    bags: NDArray[np.float64]  # class weights per branch
    known: NDArray[np.float64]  # class weights of the rows whose value is known
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    counts: NDArray[np.int64]
    start: NDArray[np.int64]  # see write_sums
    kept: NDArray[np.float64]
    spread: NDArray[np.float64]
    weighed: NDArray[np.float64]  # the cut before each cell


@piece
def gain_of(W: float, K: float, before: float, kept: float) -> float:
    """Return the gain in bits.

    ``before`` and minus ``kept`` are the entropy of the known rows and what is left of it.
    """
    numerator = (K / W) * (before + kept) / LN2
    return 0.0 if abs(numerator) < EPS else numerator / K


@piece
def ratio_of(gain: float, W: float, K: float, info: float) -> float:
    """Return the gain ratio; ``info`` is minus the sum of xlogx over the known bags."""
    bits = (info - xlogx(W - K) + xlogx(W)) / LN2
    return 0.0 if abs(bits) < EPS else gain / (bits / W)


@piece
def nominal_split(
    cells: NDArray,
    begin: int,
    end: int,
    hidden: int,
    width: int,
    y: NDArray,
    histogram: NDArray,
    first: int,
    C: int,
    W: float,
    room: Room,
    min_leaf: float,
) -> tuple[int, float, float]:
    """Return status, gain and ratio of the split into all categories.

    ``hidden`` is the code of the rows without a cell, -1 if there are none.
    """
    known, bags, weight = room.known, room.bags, room.weight
    for i in range(width * C):
        bags[i] = 0.0
    for c in range(C):
        known[c] = histogram[first + c]
        if hidden >= 0:
            bags[hidden * C + c] = known[c]
    for t in range(begin, end):
        code, row = np.int64(cells[t] >> RANK), cells[t] & ROW
        if hidden >= 0:
            bags[hidden * C + y[row]] -= weight[row]
        if code == MISSING:
            known[y[row]] -= weight[row]
        else:
            bags[code * C + y[row]] += weight[row]
    heavy, kept, info, K, before = 0, 0.0, 0.0, 0.0, 0.0
    for b in range(width):
        total = 0.0
        for c in range(b * C, (b + 1) * C):
            total += bags[c]
            kept += xlogx(bags[c])
        kept -= xlogx(total)
        info -= xlogx(total)
        K += total
        heavy += min_leaf - total < EPS
    for c in range(C):
        before -= xlogx(known[c])
    gain = gain_of(W, max(K, EPS), before + xlogx(K), kept)
    ratio = ratio_of(gain, W, K, info)
    return (VALID if heavy >= 2 else DEAD), gain, ratio


@piece
def numeric_split(
    cells: NDArray,
    begin: int,
    end: int,
    hidden: int,
    levels: NDArray,
    base: int,
    y: NDArray,
    histogram: NDArray,
    first: int,
    C: int,
    W: float,
    room: Room,
    rules: Rules,
) -> tuple[int, float, float, int, int]:
    """Return status, corrected gain, ratio and ranks around the best cut.

    ``hidden`` is the rank of the rows without a cell, -1 if there are none.
    """
    known, block, weight = room.known, room.bags, room.weight
    K, before = 0.0, 0.0
    for c in range(C):
        known[c] = histogram[first + c]
    while end > begin and np.int64(cells[end - 1] >> RANK) == MISSING:
        end -= 1
        known[y[cells[end] & ROW]] -= weight[cells[end] & ROW]
    for c in range(C):
        block[c] = known[c]
        K += known[c]
        before -= xlogx(known[c])
    # Rows without a cell share one value: what the cells leave moves to the left together.
    for t in range(begin, end if hidden >= 0 else begin):
        block[y[cells[t] & ROW]] -= weight[cells[t] & ROW]
    status, gain, low, high, heavy_left = _scan(
        cells,
        begin,
        end,
        hidden,
        levels,
        base,
        y,
        W,
        K,
        before + xlogx(K),
        room,
        C,
        rules,
    )
    ratio = 0.0
    if status == VALID:
        ratio = ratio_of(gain, W, K, -xlogx(heavy_left) - xlogx(K - heavy_left))
    return status, gain, ratio, low, high


@piece
def _scan(
    cells: NDArray,
    begin: int,
    end: int,
    hidden: int,
    levels: NDArray,
    base: int,
    y: NDArray,
    W: float,
    K: float,
    before: float,
    room: Room,
    C: int,
    rules: Rules,
) -> tuple[int, float, int, int, float]:
    """Try all cuts; return status, corrected gain, the ranks around the cut, weight left of it."""
    known, block, left, right, weight = (
        room.known,
        room.bags,
        room.left,
        room.right,
        room.weight,
    )
    least, kept_left, kept_right = smallest_side(K, C, rules.min_leaf), 0.0, 0.0
    for c in range(C):
        left[c], right[c] = 0.0, known[c]
        kept_right += xlogx(right[c])
    best, tries, low, high, best_left = 0.0, 0, 0, 0, 0.0
    weight_left, lowest, last, t = 0.0, -1, -1, begin
    while t < end or hidden >= 0:
        together = hidden >= 0 and (t == end or np.int64(cells[t] >> RANK) > hidden)
        rank = hidden if together else np.int64(cells[t] >> RANK)
        gap = last >= 0 and levels[base + last] + VALUE_GAP < levels[base + rank]
        if gap and least - weight_left < EPS and least - (K - weight_left) < EPS:
            tries += 1
            kept = kept_left + kept_right - xlogx(weight_left) - xlogx(K - weight_left)
            gain = gain_of(W, K, before, kept)
            if gain - best > EPS:
                best, low, high, best_left = gain, last, rank, weight_left
        row = np.uint64(0) if together else cells[t] & ROW
        for c in range(0 if together else y[row], C if together else y[row] + 1):
            moved = block[c] if together else weight[row]
            kept_left += xlogx(left[c] + moved) - xlogx(left[c])
            kept_right += xlogx(right[c] - moved) - xlogx(right[c])
            left[c] += moved
            right[c] -= moved
            weight_left += moved
        lowest, last = (rank if last < 0 else lowest), rank
        hidden = -1 if together else hidden
        t += 0 if together else 1
    if tries > 0 and rules.mdl_correction:
        best -= log2(tries) / W
    # Below here rows between two values may go, so only the whole range tells what is dead.
    status = DEAD
    if last >= 0 and levels[base + lowest] + VALUE_GAP < levels[base + last]:
        status = VALID if tries > 0 and best >= EPS else ALIVE
    return status, best, low, high, best_left
