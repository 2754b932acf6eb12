"""Memory: how much there is, and rows that would take more."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from labelance._storage import Storage
from labelance.exceptions import TooManyRowsError


def check_fits_memory(
    n_rows: float,
    bytes_per_row: float,
    *,
    caller: str,
    fix: str,
    noun: str = "rows",
    storage: Storage | None = None,
) -> None:
    """Raise if so many rows would take more memory than there is, or space on disk.

    Parameters
    ----------
    n_rows : int or float
        How many rows would be made.
    bytes_per_row : float
        The least that one of them takes.
    caller, fix : str
        Who would make them, and what to do about it.
    noun : str
        What is made, if not rows.
    storage : Storage, optional
        Where they are kept, if not in memory.

    Examples
    --------
    >>> from labelance._utils._memory import check_fits_memory
    >>> check_fits_memory(1000, 80, caller="MLSOL", fix="Lower sampling_ratio")
    """
    size, place = n_rows * bytes_per_row, "into memory" if storage is None else "on disk"
    free = available_memory() if storage is None else storage.free
    if size > free:
        raise TooManyRowsError(
            f"{caller} makes as many {noun} as fit {place}, now {_in_units(free)}",
            f"{n_rows:,.4g} {noun} would take at least {_in_units(size)}",
            fix,
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


def _in_units(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size >= 2**30 else f"{size / 2**20:,.3g} MiB"
