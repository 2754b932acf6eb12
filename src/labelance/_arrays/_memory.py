"""How much memory there is, work in blocks of rows, and memory that is given back.

One function of the C library stays, since NumPy has none for this: without ``malloc_trim`` MLSOL on
100,000 rows in clusters takes 4.55 times X instead of 3.26 (``benchmarks/scale.py``).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from labelance.exceptions import TooManyRowsError

_BLOCK = 1 << 24  # bytes of rows that are worked on together
_LITTLE = 100e6  # bytes that are there: asking takes longer
_MANY_ROWS = 30_000  # work on fewer frees less than is worth the time


def row_blocks(X: Any) -> Iterator[slice]:
    """Yield slices of rows of some megabytes."""
    yield from split_rows(X.shape[0], X.dtype.itemsize * prod(X.shape[1:]))


def split_rows(n: int, bytes_per_row: int) -> Iterator[slice]:
    """Yield slices of n rows that take so much each, in blocks like those of `row_blocks`."""
    step = max(1, _BLOCK // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def check_fits_memory(
    n_rows: float, bytes_per_row: float, *, caller: str, cure: str, noun: str = "rows"
) -> None:
    """Raise if this many rows would take more memory than there is.

    Parameters
    ----------
    n_rows : int or float
        How many rows would be made.
    bytes_per_row : float
        The least that one of them takes.
    caller, cure : str
        Who would make them, and what to do about it.
    noun : str
        What is made, if not rows.

    Examples
    --------
    >>> from labelance._arrays._memory import check_fits_memory
    >>> check_fits_memory(1000, 80, caller="MLSOL", cure="Lower sampling_ratio")
    """
    size = n_rows * bytes_per_row
    if size > _LITTLE and size > (free := available_memory()):
        raise TooManyRowsError(
            f"{caller} would make more {noun} than fit into memory",
            f"{n_rows:,.4g} {noun} need at least {in_units(size)}, and {in_units(free)} are free",
            cure,
        )


def available_memory() -> int:
    """Return how many bytes can still be had, as far as the system tells.

    Linux tells what is available, to the machine and to a container on it, others how much
    memory there is; where nothing is known, the largest size that Python has limits it.
    """
    return min(_left_on_machine(), left_in_control_group())


def left_in_control_group(groups: str | os.PathLike[str] = "/sys/fs/cgroup") -> int:
    """Return what the control group of the process leaves, by either version of control groups."""
    second = _left(Path(groups), "memory.max", "memory.current", "")
    first = _left(
        Path(groups, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
    )
    return min(first, second)


def _left(group: Path, limit: str, used: str, prefix: str) -> int:
    """Return the limit of a group less what it uses; files kept in memory give way."""
    try:
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        files = sum(int(stat[f"{prefix}{kind}_file"]) for kind in ("active", "inactive"))
        left = int((group / limit).read_text()) - int((group / used).read_text()) + files
    except (OSError, ValueError, KeyError):  # no such group, or "max": no limit
        return sys.maxsize
    return max(left, 0)


def _left_on_machine() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":") for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def in_units(size: float) -> str:
    """Write a number of bytes for people: ``1.5 GiB``."""
    return f"{size / 2**30:,.3g} GiB" if size >= 2**30 else f"{size / 2**20:,.3g} MiB"


def return_freed_memory(n_rows: int) -> None:
    """Give memory that work on many rows has freed back to the system.

    The C library keeps arrays of up to 32 MB for those to come, of every thread apart; after a
    search in threads they would count next to all that follows.
    """
    if n_rows >= _MANY_ROWS and (trim := _find_trim()) is not None:
        trim(0)


@cache
def _find_trim() -> Callable[[int], int] | None:
    """Return ``malloc_trim`` of the C library; None where it has none."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
