"""Plain cells of text to numbers and codes, by pandas."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING, BLANKS = "?", " \t"
_DIGITS = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(
    r"[-+]?(?:nan|inf(?:inity)?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)", re.I
)


def read_frame(
    text: bytes, separator: str, width: int, *, dtype: Any = None, **options: Any
) -> Any:
    """Return rows of cells as a frame; raise ValueError for a row of more cells than ``width``.

    A row of fewer cells is filled with empty ones.
    """
    import pandas as pd

    typed = dtype is not None and (not isinstance(dtype, dict) or len(dtype) == width)
    # pandas takes the first row for the right one, however long it is.
    first = separator.join([MISSING] * width)
    version = tuple(map(int, pd.__version__.split(".")[:2]))
    if version < (3, 1):  # later it is the default, and warned of
        options["float_precision"] = "round_trip"
    frame = pd.read_csv(
        io.BytesIO(b"".join([first.encode(), b"\n", text])),
        sep=separator,
        header=None,
        names=range(width),
        index_col=False,
        dtype=dtype,
        keep_default_na=False,
        skipinitialspace=True,
        # In parts where all types are known; else a column is of one type as a whole.
        **{"na_values": [MISSING], "low_memory": typed, **options},
    )
    return frame.iloc[1:]


def is_number(text: str) -> bool:
    """Return whether a text is a number; `float` takes digits of other scripts and underscores."""
    return _NUMBER.fullmatch(text) is not None


def parse_number(text: str) -> float:
    """Return the number that a text is; raise ValueError if it is none."""
    if not is_number(text):
        raise ValueError
    return float(text)


def are_integers(values: Iterable[str]) -> bool:
    """Return whether these values are integers as Python writes them, so that numbers tell them."""
    return all(len(value) < 16 and _DIGITS.fullmatch(value) for value in values)


def codes_of_integers(numbers: NDArray[np.float64], values: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the positions of numbers among declared integers; NaN stays.

    Raises ValueError for any other number.
    """
    declared = np.array(values, dtype=np.float64)
    order = np.argsort(declared)
    place = np.searchsorted(declared[order], numbers)
    found = order[np.minimum(place, len(order) - 1)]
    missing = np.isnan(numbers)
    if not ((declared[found] == numbers) | missing).all():
        raise ValueError
    return np.where(missing, np.nan, found)
