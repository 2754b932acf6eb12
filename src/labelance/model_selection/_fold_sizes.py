"""How large the parts of a split should be, as integers that can be compared exactly."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from labelance.exceptions import InputError, arg
from labelance.model_selection._stratify import Integers

# Shares that are no simple fractions are rounded to this many parts; times the number of rows
# it must stay below 2^63.
FINEST = 10**9
ROUNDING = Fraction(2, FINEST)


def part_weights(sizes: Sequence[Any], n: int) -> Integers:
    """Return the weights of parts given as shares that sum to 1, or as rows that sum to n.

    Examples
    --------
    >>> from labelance.model_selection._fold_sizes import part_weights
    >>> part_weights((0.6, 0.2, 0.2), 50)
    array([3, 1, 1])
    >>> part_weights((40, 10), 50)
    array([4, 1])
    """
    parts = list(sizes)
    if len(parts) < 2:
        raise InputError(
            f"{arg('sizes')} must have at least two parts", f"Got {arg('sizes', parts)}"
        )
    total = n if all(map(is_whole, parts)) else 1
    numbers = all(_is_number(size) and 0 < size < total for size in parts)
    shares = [_share(size, total) for size in parts] if numbers else []
    if abs(sum(shares, Fraction(0)) - 1) > len(parts) * ROUNDING:
        raise InputError(
            f"{arg('sizes')} must be shares between 0 and 1 that sum to 1, or numbers of rows that "
            f"sum to {n}",
            f"Got {arg('sizes', tuple(parts))}" + (f", with sum {sum(parts):g}" if numbers else ""),
        )
    return _whole_numbers(shares)


def train_test_weights(train_size: Any, test_size: Any, n: int, *, default: float) -> Integers:
    """Return the weights of train, test and, if the two leave rows over, the rest.

    Parameters
    ----------
    train_size, test_size : float, int or None
        As in scikit-learn: a share, a number of rows, or what the other leaves.
    n : int
        Number of rows.
    default : float
        Share of test if both are None.
    """
    if train_size is None and test_size is None:
        test_size = default
    train, test = _checked("train_size", train_size, n), _checked("test_size", test_size, n)
    train = 1 - test if train_size is None else train
    test = 1 - train if test_size is None else test
    rest = 1 - train - test
    if rest < -ROUNDING:
        found = f"Got train_size={train_size!r} and test_size={test_size!r}"
        raise InputError(f"train_size and test_size must not exceed {n} rows together", found)
    return _whole_numbers([train, test] + ([rest] if rest > ROUNDING else []))


def is_whole(value: Any) -> bool:
    """Tell whether ``value`` is an integer by type."""
    return isinstance(value, (int, np.integer))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _checked(name: str, size: Any, n: int) -> Fraction:
    if size is None:
        return Fraction(0)
    total = n if is_whole(size) else 1
    if not _is_number(size) or not 0 < size < total:
        problem = f"{name} must be a share between 0 and 1, or a number of rows from 1 to {n - 1}"
        raise InputError(problem, f"Got {size!r}")
    return _share(size, total)


def _share(size: Any, total: int) -> Fraction:
    if is_whole(size):
        return Fraction(int(size), total)
    # 0.2 is meant as 1/5, not as the nearest binary fraction.
    exact = Fraction(float(size))
    near = exact.limit_denominator(10_000)
    if abs(near - exact) < Fraction(1, 10**12):
        return near
    return Fraction(round(exact * FINEST), FINEST)


def _whole_numbers(shares: list[Fraction]) -> Integers:
    """Return integers in the ratio of the shares; their sum stands for 1."""
    scale = min(lcm(*(share.denominator for share in shares)), FINEST)
    weights = np.array([round(share * scale) for share in shares], dtype=np.int64)
    return weights // np.gcd.reduce(weights)
