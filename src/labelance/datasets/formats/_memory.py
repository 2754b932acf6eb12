"""How much memory what is in a file may take: one budget for all formats.

A file of some kilobytes can stand for gigabytes, by compression or by what it declares. So every
reader adds up what its result will take and asks before it takes it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from labelance.exceptions import InputError

# Unless told, so much in any case, and so many times the size of the file.
LEAST = 1 << 30
TIMES = 100
VARIABLE = "LABELANCE_MAX_MEMORY"

# A short Python string and its place in a tuple.
BYTES_PER_NAME = 64
BYTES_PER_NUMBER = 8

_AMOUNT = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(?:([kmgtp])(i?)b?|b)?\s*", re.A | re.I)
_UNITS = "kmgtp"


def find_budget(path: Path, max_memory: int | str | None = None) -> int:
    """Return how many bytes the data of a file may take."""
    if max_memory is None:
        max_memory = os.environ.get(VARIABLE)
    if max_memory is not None:
        return parse_amount(max_memory)
    try:
        return max(LEAST, TIMES * path.stat().st_size)
    except OSError:
        return LEAST  # whoever opens the file says what is wrong with it


def parse_amount(amount: int | str) -> int:
    """Return a number of bytes, such as 4000000000 for ``"4GB"``.

    Examples
    --------
    >>> from labelance.datasets.formats._memory import parse_amount
    >>> parse_amount("4GB"), parse_amount("1.5 GiB"), parse_amount(1024)
    (4000000000, 1610612736, 1024)
    """
    if not isinstance(amount, str) and not isinstance(amount, bool) and int(amount) > 0:
        return int(amount)
    match = _AMOUNT.fullmatch(str(amount)) if isinstance(amount, str) else None
    if match is None or not float(match[1]):
        raise InputError(
            "max_memory is a number of bytes, or an amount such as '4GB' or '512MiB'",
            f"max_memory={amount!r}",
            "Give it like this, or leave it out",
        )
    power = _UNITS.index(match[2].lower()) + 1 if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def show_amount(amount: int) -> str:
    """Write a number of bytes for people: ``4.1 GB``."""
    power = min((len(str(amount)) - 1) // 3, len(_UNITS))
    return f"{amount / 1000**power:.3g} {_UNITS[power - 1].upper() if power else ''}B"


def json_memory(text: bytes) -> int:
    """Bound what the values of a JSON text take: each follows a comma or opens something."""
    return len(text) + BYTES_PER_NAME * sum(map(text.count, (b",", b"[", b"{")))
