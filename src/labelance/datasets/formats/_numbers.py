"""Numbers from bytes, correctly rounded, without a Python object for each.

Most numbers have few digits and one exact multiplication or division gives the nearest double.
The others take one 64 x 128 bit multiplication [1]_. The very few that neither can decide are
left to Python's ``float``.

References
----------
.. [1] Lemire, D. (2021). Number parsing at a gigabyte per second. Software: Practice and
   Experience 51 (8).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel

# What became of a number: its value is known, Python must find it, or it is none.
KNOWN, UNDECIDED, BAD = 0, 1, 2

_SMALLEST, _LARGEST = -342, 308


def _powers_of_five() -> NDArray[np.uint64]:
    """128 leading bits of 5**q, for every q that a double can need, as two 64-bit words."""
    words = []
    for q in range(_SMALLEST, _LARGEST + 1):
        power = 5 ** abs(q)
        if q < 0:
            # The reciprocal, rounded up.
            width = (power - 1).bit_length()
            power = (1 << (width + 127 if q >= -27 else 2 * width + 128)) // power + 1
        extra = power.bit_length() - 128
        power = power >> extra if extra > 0 else power << -extra
        words.append((power >> 64, power & (2**64 - 1)))
    return np.array(words, dtype=np.uint64)


_FIVES = _powers_of_five()
_TENS = 10.0 ** np.arange(23)


@kernel
def parse_number(text: NDArray[np.uint8], start: int, stop: int) -> tuple[int, float]:
    """Read ``text[start:stop]`` as a number: what became of it, and its value.

    A byte that cannot belong to a number follows at ``stop``.
    """
    negative = text[start] == 45
    first = start + 1 if negative or text[start] == 43 else start
    mantissa, at = parse_digits(text, first, np.uint64(0))
    count, fraction = at - first, 0
    if text[at] == 46:
        mantissa, end = parse_digits(text, at + 1, mantissa)
        fraction = end - at - 1
        count, at = count + fraction, end
    # Nearly all numbers in files end here.
    if at == stop and 0 < count < 16:
        value = np.float64(mantissa) / _TENS[fraction]
        return KNOWN, -value if negative else value
    return _parse_long(text, first, at, stop, mantissa, count, fraction, negative)


@kernel
def _parse_long(
    text: NDArray[np.uint8],
    first: int,
    at: int,
    stop: int,
    mantissa: np.uint64,
    count: int,
    fraction: int,
    negative: bool,
) -> tuple[int, float]:
    """Go on with an exponent at ``at``, with very many digits, or with a word."""
    if count == 0:
        return (BAD, math.nan) if at != first else _word(text, at, stop, negative)
    exponent = 0
    if at != stop:
        exponent, at = _exponent(text, at)
        if at != stop:
            return BAD, math.nan
    if (count > 19 and _significant(text, first) > 19) or abs(exponent) > 10_000:
        return UNDECIDED, math.nan
    state, value = _scale(mantissa, exponent - fraction)
    return state, -value if negative else value


@kernel
def parse_digits(text: NDArray[np.uint8], at: int, number: np.uint64) -> tuple[np.uint64, int]:
    """Append the digits at ``at`` to a number; give it and where they end."""
    digit = np.uint64(text[at]) - np.uint64(48)
    while digit <= np.uint64(9):  # what is below "0" wraps around to a large number
        number = number * np.uint64(10) + digit
        at += 1
        digit = np.uint64(text[at]) - np.uint64(48)
    return number, at


@kernel
def _significant(text: NDArray[np.uint8], at: int) -> int:
    """Count the digits at ``at`` from the first that is not zero, a point among them or not."""
    count = 0
    while 48 <= text[at] <= 57 or text[at] == 46:
        if text[at] != 46 and (count > 0 or text[at] != 48):
            count += 1
        at += 1
    return count


@kernel
def _exponent(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Read ``e-12`` at ``at``: the exponent and where it ends, or 0 and ``at``."""
    sign = text[at + 1]
    first = at + 2 if sign == 43 or sign == 45 else at + 1
    if (text[at] != 101 and text[at] != 69) or not 48 <= text[first] <= 57:  # e E
        return 0, at
    exponent = 0
    while 48 <= text[first] <= 57:
        # Kept small: beyond this every double is zero or infinite.
        exponent = min(exponent * 10 + int(np.int64(text[first])) - 48, 1_000_000)
        first += 1
    return (-exponent if sign == 45 else exponent), first


@kernel
def _word(text: NDArray[np.uint8], at: int, stop: int, negative: bool) -> tuple[int, float]:
    """Read inf, infinity or nan in any case."""
    length = stop - at
    if length == 3 or length == 8:
        first, second, third = text[at] | 32, text[at + 1] | 32, text[at + 2] | 32
        if length == 3 and first == 110 and second == 97 and third == 110:
            return KNOWN, math.nan
        infinite = first == 105 and second == 110 and third == 102
        if length == 8:
            rest = (105, 110, 105, 116, 121)  # "inity"
            for i in range(5):
                infinite = infinite and (text[at + 3 + i] | 32) == rest[i]
        if infinite:
            return KNOWN, -math.inf if negative else math.inf
    return BAD, math.nan


@kernel
def _scale(mantissa: np.uint64, exponent: int) -> tuple[int, float]:
    """Give the double nearest to mantissa * 10**exponent."""
    if mantissa == np.uint64(0):
        return KNOWN, 0.0
    if mantissa <= np.uint64(2**53) and -22 <= exponent <= 22:
        # Both factors are exact, so the one rounding is the right one.
        if exponent < 0:
            return KNOWN, np.float64(mantissa) / _TENS[-exponent]
        return KNOWN, np.float64(mantissa) * _TENS[exponent]
    if exponent < _SMALLEST or exponent > _LARGEST:
        return UNDECIDED, math.nan
    return _scale_by_product(mantissa, exponent)


@kernel
def _scale_by_product(mantissa: np.uint64, exponent: int) -> tuple[int, float]:
    """Multiply by the leading bits of the power of five and round to 53 bits [1]_."""
    one = np.uint64(1)
    shift = 0
    while mantissa < np.uint64(2**63):
        mantissa <<= one
        shift += 1
    row = exponent - _SMALLEST
    high, low = _multiply(mantissa, _FIVES[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _multiply(mantissa, _FIVES[row, 1])
        low += more
        if more > low:
            high += one
    if low == np.uint64(2**64 - 1) and not -27 <= exponent <= 55:
        return UNDECIDED, math.nan
    upper = int(np.int64(high >> np.uint64(63)))
    drop = np.uint64(upper + 9)
    kept = high >> drop
    power = ((217706 * exponent) >> 16) + 63 + upper - shift
    if power < -1021 or power > 1022:
        return UNDECIDED, math.nan  # subnormal or infinite, or nearly
    if low <= one and -4 <= exponent <= 23 and kept & np.uint64(3) == one and kept << drop == high:
        kept &= ~one  # exactly half way: to even
    kept += kept & one
    return KNOWN, math.ldexp(np.float64(kept >> one), power - 52)


@kernel
def _multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Give the high and low words of the 128-bit product."""
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    middle = a1 * b0 + ((a0 * b0) >> half)
    carry = a0 * b1 + (middle & mask)
    return a1 * b1 + (middle >> half) + (carry >> half), a * b
