"""How many rows a share of the data is, and whether there is room for them."""

from __future__ import annotations

import math

from labelance._memory import bytes_per_row, refuse_more_than_memory
from labelance._validation import Data
from labelance.exceptions import InputError

# Bytes of what is told about a new row: its seed and its reference.
_PROVENANCE = 16


def rows_to_sample(n: int, ratio: float, n_samples: int | None = None) -> int:
    """Return ``n_samples`` if given, else floor(ratio * n), safe against 0.29 * 100 = 28.999….

    Examples
    --------
    >>> from labelance.sampling._budget import rows_to_sample
    >>> rows_to_sample(100, 0.29)
    29
    """
    if n_samples is not None:
        return int(n_samples)
    if math.isinf(ratio * n):
        raise InputError(
            "sampling_ratio is a share of the rows", f"it is {ratio}", "Choose a finite number"
        )
    return math.floor(round(ratio * n, 9))


def refuse_too_many_rows(n_new: int, data: Data, *, who: str) -> None:
    """Raise if there is no memory for so many new rows like those of the data."""
    _refuse(n_new, bytes_per_row(data.X) + bytes_per_row(data.Y) + _PROVENANCE, who)


def refuse_too_many_numbers(n: int, *, who: str) -> None:
    """Raise if there is no memory for a random number and a row number for each of n rows."""
    _refuse(n, 16, who)


def _refuse(n: int, size: float, who: str) -> None:
    fix = "Ask for fewer rows: sampling_ratio, n_samples or the targets of sampling_strategy"
    refuse_more_than_memory(n, size, who=who, fix=fix)
