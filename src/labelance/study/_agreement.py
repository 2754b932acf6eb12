"""When two results of a cell are the same result."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._cells import Cell

METRICS = ("macro_f1", "macro_auc_roc", "macro_auc_pr")
# Machines may differ in the last bits of a sum; anything more is another result.
TOLERANCE = 1e-12

Row = dict[str, Any]


def cell_of(row: Row) -> Cell:
    """Return the cell that a row is about."""
    return Cell(*(row[name] for name in Cell._fields))


def largest_difference(one: Row, other: Row) -> tuple[float, str]:
    """Return how far the figures of two rows are apart at most, and in which metric."""
    return max((_difference(one[name], other[name]), name) for name in METRICS)


def _difference(one: float | None, other: float | None) -> float:
    """Return a distance; a figure that is not defined is far from any that is."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other)


def refuse_conflict(mine: Iterable[Row], other: Iterable[Row]) -> None:
    """Raise if two rows are of the same cell and configuration, but with different figures."""
    done = {(cell_of(row), row["config"]): row for row in mine if row["status"] == "done"}
    for row in other:
        known = done.get((cell_of(row), row["config"]))
        if row["status"] != "done" or known is None:
            continue
        apart, name = largest_difference(known, row)
        if apart > TOLERANCE:
            raise StudyError(
                "Results that are merged agree on the cells they share",
                f"{name} of {cell_of(row)} is {known[name]!r} in one and {row[name]!r} in another",
                "Find out which is right with: labelance study verify",
            )
