"""What every splitter asks of its parameters and its data."""

from typing import Any

from scipy.sparse import csr_array

from labelance._validation import validate_labels
from labelance.exceptions import InputError, TooFewRowsError
from labelance.model_selection._stratify import Rows


def validate_stratified(Y: Any, *, order: Any, who: str) -> csr_array:
    """Return the labels to stratify on, if the order is one we know."""
    if order not in (1, 2):
        raise InputError(
            f"{who} balances labels (order=1) or pairs of labels (order=2)",
            f"order is {order!r}",
            "Choose 1 or 2",
        )
    return validate_labels(Y, who=who).Y


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
