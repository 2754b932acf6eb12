"""What every splitter asks of its parameters and its data."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelance._inputs import open_labels
from labelance.exceptions import InputError, TooFewRowsError
from labelance.model_selection._fold_sizes import is_whole
from labelance.model_selection._stratify import Integers, Rows


def open_stratified(Y: Any, *, order: Any, who: str) -> csr_array:
    """Return the labels to stratify on, if the order is one we know."""
    if order not in (1, 2):
        raise InputError(
            f"{who} balances labels (order=1) or pairs of labels (order=2)",
            f"order is {order!r}",
            "Choose 1 or 2",
        )
    return open_labels(Y, who=who).Y


def open_groups(groups: Any, n: int, *, who: str) -> Integers:
    """Return the number of every row's group, from 0 without gaps, in sorted order."""
    asked = f"{who} needs the group of every row"
    if groups is None:
        raise InputError(asked, "groups is None", "Pass them: split(X, Y, groups)")
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(
            asked, f"groups has shape {values.shape} and Y {n} rows", "Pass one group per row"
        )
    missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    try:
        _, group_of = np.unique(values, return_inverse=True)
    except TypeError:  # None or NaN among words
        missing = True
    if missing:
        raise InputError(
            asked,
            "some groups are missing, or numbers are mixed with words",
            "Give rows without a group one of their own, and all groups the same type",
        )
    return group_of


def check_repeats(name: str, value: Any, *, who: str) -> int:
    """Return ``value`` if something can be done so many times."""
    if not is_whole(value) or value < 1:
        raise InputError(
            f"{who} needs {name} as a whole number of at least 1",
            f"{name} is {value!r}",
            f"Choose for example {name}=5",
        )
    return int(value)


def refuse_empty(parts: list[Rows], *, who: str) -> None:
    """Raise if a part got no row, as happens to small shares when every label is rare."""
    for number, rows in enumerate(parts, start=1):
        if len(rows) == 0:
            raise TooFewRowsError(
                f"{who} gives every one of {len(parts)} parts at least one row",
                f"part {number} got none",
                "Ask for a larger share, or take folds of IterativeStratifiedKFold, "
                "which are never empty",
            )
