"""Compare a kernel with a readable form of it, over the layouts and dtypes that arrays come in.

A kernel trusts its arguments, but for what its signature says. So for every array that is laid out
differently it either gives the same bytes or refuses; it never gives others.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]
OTHER = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32}


@dataclass
class Case:
    """A kernel, the loop that it stands for, and arguments for both.

    ``make`` takes a generator of random numbers and how many rows there shall be, none among them.
    ``least`` is the fewest that the kernel is called with.
    """

    kernel: Callable[..., Any]
    loop: Callable[..., Any]
    make: Callable[[np.random.Generator, int], Arguments]
    least: int = 0
    writes: bool = False


def change_arrays(change: Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """Change every array in nested tuples."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, tuple):
        parts = [change_arrays(change, each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return deepcopy(value)


def arrays(value: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in nested tuples, and numbers as arrays."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from arrays(each)
    elif value is not None:
        yield np.asarray(value)


def lock(values: np.ndarray) -> np.ndarray:
    locked = values.copy(order="K")
    locked.flags.writeable = False
    return locked


def stride(values: np.ndarray) -> np.ndarray:
    """Return equal values of which each second one in memory belongs to something else."""
    wide = np.full((*values.shape[:-1], 2 * values.shape[-1]), 7).astype(values.dtype)
    wide[..., ::2] = values
    return wide[..., ::2]


def other_width(values: np.ndarray) -> np.ndarray:
    return values.astype(OTHER.get(values.dtype, values.dtype))


LAYOUTS = {
    "locked": lock,
    "Fortran": lambda values: values.copy(order="F"),
    "strided": stride,
    "narrow": other_width,
}


def outcome(function: Callable[..., Any], given: Arguments) -> list[np.ndarray]:
    """Return what a call gives, and what is in its arguments afterwards."""
    return [*arrays(function(*given)), *arrays(given)]


def compare(case: Case, given: Arguments) -> None:
    """Fail unless the kernel gives what the loop gives, or refuses where the layout is another."""
    copied = change_arrays(np.copy, given)
    expected = outcome(case.loop, change_arrays(np.copy, given))
    assert_same_bytes(outcome(case.kernel, copied), expected)
    for name, change in LAYOUTS.items():
        try:
            found = outcome(case.kernel, change_arrays(change, given))
        except (ValueError, TypeError):  # a memoryview says what it takes
            assert name != "locked" or case.writes
            continue
        assert_same_bytes(found, outcome(case.loop, change_arrays(change, given)))


def assert_same_bytes(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
