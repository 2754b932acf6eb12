"""Sets of rows as bits, 64 to a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece

ONE, TWO, FOUR, SIX, TOP_BYTE = (np.uint64(n) for n in (1, 2, 4, 6, 56))
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _ONES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
IN_WORD = np.uint64(63)  # the part of a row's number that tells its bit


@piece
def popcount(x: np.uint64) -> np.uint64:
    """Return the number of bits set; the compiler knows this pattern as one instruction."""
    x = x - ((x >> ONE) & _PAIRS)
    x = (x & _FOURS) + ((x >> TWO) & _FOURS)
    x = (x + (x >> FOUR)) & _EIGHTS
    return (x * _ONES) >> TOP_BYTE


@piece
def list_bits(bits: NDArray, start: int, words: int, out: NDArray, at: int) -> int:
    """Write the rows of the set ``bits[start:start + words]`` to ``out``; return where they end."""
    for w in range(words):
        x = bits[start + w]
        while x != 0:
            lowest = x & (~x + ONE)
            out[at] = (w << 6) + np.int64(popcount(lowest - ONE))
            at += 1
            x ^= lowest
    return at
