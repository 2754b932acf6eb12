"""The best split of a node on one feature, whatever the weights and missing values."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
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

    weight: NDArray[np.float64]  # of each row in the node at hand
    branch: NDArray[np.int32]  # that each row takes
    bags: NDArray[np.float64]  # class weights per branch
    known: NDArray[np.float64]  # class weights of the rows whose value is known
    left: NDArray[np.float64]
    right: NDArray[np.float64]


@kernel
def gain_of(W: float, K: float, known: NDArray, kept: float) -> float:
    """Return the gain in bits; ``kept`` is minus the entropy that remains, in nats."""
    before = xlogx(K)
    for c in range(len(known)):
        before -= xlogx(known[c])
    numerator = (K / W) * (before + kept) / LN2
    return 0.0 if abs(numerator) < EPS else numerator / K


@kernel
def ratio_of(gain: float, W: float, K: float, info: float) -> float:
    """Return the gain ratio; ``info`` is minus the sum of xlogx over the known bags."""
    bits = (info - xlogx(W - K) + xlogx(W)) / LN2
    return 0.0 if abs(bits) < EPS else gain / (bits / W)


@kernel
def nominal_split(
    cells: NDArray,
    hidden: int,
    width: int,
    y: NDArray,
    histogram: NDArray,
    W: float,
    room: Room,
    rules: Rules,
) -> tuple[int, float, float]:
    """Return status, gain and ratio of the split into all categories.

    ``hidden`` is the code of the rows without a cell, -1 if there are none.
    """
    C, K, known, bags = len(histogram), 0.0, room.known, room.bags
    for i in range(width * C):
        bags[i] = 0.0
    for c in range(C):
        known[c] = histogram[c]
        if hidden >= 0:
            bags[hidden * C + c] = histogram[c]
    for cell in cells:
        code, row = np.int64(cell >> RANK), cell & ROW
        if hidden >= 0:
            bags[hidden * C + y[row]] -= room.weight[row]
        if code == MISSING:
            known[y[row]] -= room.weight[row]
        else:
            bags[code * C + y[row]] += room.weight[row]
    heavy, kept, info = 0, 0.0, 0.0
    for b in range(width):
        total = 0.0
        for c in range(b * C, (b + 1) * C):
            total += bags[c]
            kept += xlogx(bags[c])
        kept -= xlogx(total)
        info -= xlogx(total)
        K += total
        heavy += rules.min_leaf - total < EPS
    if heavy < 2:
        return DEAD, 0.0, 0.0
    gain = gain_of(W, K, known, kept)
    return VALID, gain, ratio_of(gain, W, K, info)


@kernel
def numeric_split(
    cells: NDArray,
    hidden: int,
    levels: NDArray,
    y: NDArray,
    histogram: NDArray,
    W: float,
    room: Room,
    rules: Rules,
) -> tuple[int, float, float, int]:
    """Return status, corrected gain, ratio and cut of the best threshold.

    ``hidden`` is the rank of the rows without a cell, -1 if there are none.
    """
    C, known, block = len(histogram), room.known, room.bags
    end, K = len(cells), 0.0
    for c in range(C):
        known[c] = histogram[c]
    while end > 0 and np.int64(cells[end - 1] >> RANK) == MISSING:
        end -= 1
        known[y[cells[end] & ROW]] -= room.weight[cells[end] & ROW]
    for c in range(C):
        block[c] = known[c]
        K += known[c]
    # Rows without a cell share one value: what the cells leave moves to the left together.
    if hidden >= 0:
        for t in range(end):
            block[y[cells[t] & ROW]] -= room.weight[cells[t] & ROW]
    status, gain, low, high, heavy_left = _scan(cells[:end], hidden, levels, y, W, K, room, rules)
    if status != VALID:
        return status, 0.0, 0.0, 0
    info = -xlogx(heavy_left) - xlogx(K - heavy_left)
    return VALID, gain, ratio_of(gain, W, K, info), cut_between(levels, 0, low, high)


@kernel
def _scan(
    cells: NDArray,
    hidden: int,
    levels: NDArray,
    y: NDArray,
    W: float,
    K: float,
    room: Room,
    rules: Rules,
) -> tuple[int, float, int, int, float]:
    """Try all cuts; return status, corrected gain, the ranks around the cut, weight left of it."""
    known, block, left, right, C = room.known, room.bags, room.left, room.right, len(room.known)
    least = smallest_side(K, C, rules.min_leaf)
    kept_left, kept_right = 0.0, 0.0
    for c in range(C):
        left[c], right[c] = 0.0, known[c]
        kept_right += xlogx(right[c])
    best, tries, low, high, best_left = 0.0, 0, 0, 0, 0.0
    weight_left, lowest, last, t = 0.0, -1, -1, 0
    while t < len(cells) or hidden >= 0:
        together = hidden >= 0 and (t == len(cells) or np.int64(cells[t] >> RANK) > hidden)
        rank = hidden if together else np.int64(cells[t] >> RANK)
        gap = last >= 0 and levels[last] + VALUE_GAP < levels[rank]
        if gap and least - weight_left < EPS and least - (K - weight_left) < EPS:
            tries += 1
            kept = kept_left + kept_right - xlogx(weight_left) - xlogx(K - weight_left)
            gain = gain_of(W, K, known, kept)
            if gain - best > EPS:
                best, low, high, best_left = gain, last, rank, weight_left
        row = np.uint64(0) if together else cells[t] & ROW
        for c in range(0 if together else y[row], C if together else y[row] + 1):
            moved = block[c] if together else room.weight[row]
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
    status = ALIVE if last >= 0 and levels[lowest] + VALUE_GAP < levels[last] else DEAD
    return (VALID if tries > 0 and best >= EPS else status), best, low, high, best_left


@kernel
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
