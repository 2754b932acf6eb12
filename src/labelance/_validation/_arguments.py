"""Check what comes next to X and y: groups, weights, names of labels, integers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance._utils._messages import did_you_mean
from labelance.exceptions import InputError, arg

Weights = NDArray[np.float64] | None  # of rows; None stands for ones
_MOST_WEIGHT = 1e100


def take_weights(weight: Weights, rows: NDArray[Any]) -> Weights:
    """Return the weights of some rows; None if all are 1."""
    return None if weight is None else weight[rows]


def validate_groups(
    groups: Any, n: int, *, caller: str, name: str = "groups", of: str = "row"
) -> NDArray[np.int64]:
    """Return the number of every row's group, from 0 without gaps, in sorted order."""
    problem = f"{caller} needs one group per {of}"
    if groups is None:
        raise InputError(problem, "groups is None", "Pass groups: split(X, y, groups)")
    try:
        values = np.asarray(groups)
    except ValueError:  # rows of unequal length
        values = np.empty(0)
    if values.shape != (n,):
        raise InputError(problem, f"{name} has shape {values.shape}, and y has {n} {of}s")
    missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    try:
        _, group_of = np.unique(values, return_inverse=True)
    except TypeError:  # None or NaN among words
        missing = True
    if missing:
        raise InputError(problem, f"Some {name} are missing, or numbers are mixed with strings")
    return group_of


def validate_weights(
    sample_weight: Any, n: int, *, caller: str
) -> tuple[NDArray[np.int64] | None, Weights]:
    """Return the rows with a weight (None: all), and their weights (None: all are 1).

    Rows of weight 0 are as if they were not there, and equal weights of 1 as if they were not
    given: so both hold to the last bit for every learner.
    """
    if sample_weight is None:
        return None, None
    problem = f"sample_weight of {caller} must hold one number >= 0 per row"
    weight = read_weights(sample_weight, caller=caller)
    if weight.shape != (n,):
        raise InputError(problem, f"sample_weight has shape {weight.shape}, and X has {n} rows")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise InputError(problem, "Some weights are negative, missing or infinite")
    rows = np.flatnonzero(weight)
    if len(rows) == 0:
        raise InputError(problem, "All weights are zero")
    if not 1 / _MOST_WEIGHT <= weight.max() <= _MOST_WEIGHT:  # products of weights are numbers, too
        raise InputError(
            f"The largest sample_weight of {caller} must be from 1e-100 to 1e+100",
            f"Got {weight.max():g}",
        )
    kept = weight[rows]
    return None if len(rows) == n else rows, None if (kept == 1).all() else kept


def read_weights(sample_weight: Any, *, caller: str) -> NDArray[np.float64]:
    """Return weights as numbers; raise where they are none."""
    if np.ma.is_masked(sample_weight):  # what lies under the mask is no value
        sample_weight = sample_weight.astype(float).filled(np.nan)
    try:
        return np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"sample_weight of {caller} must hold one number >= 0 per row",
            f"It does not hold numbers ({problem})",
        ) from problem


def check_label_names(names: Any, n_labels: int, *, caller: str) -> tuple[Any, ...]:
    """Return the names if there is one for every label, and no two print alike."""
    names = tuple(names)
    n_different = len(set(map(str, names)))
    if len(names) != n_labels or n_different != n_labels:
        raise InputError(
            f"{caller} needs {n_labels} different label names",
            f"Got {len(names)} names, {n_different} of them different",
        )
    return names


def check_positive(name: str, value: Any, *, caller: str) -> int:
    """Return the parameter ``name`` if it is an integer of at least 1."""
    if not is_integer(value) or value < 1:
        raise InputError(f"{arg(name)} of {caller} must be an integer >= 1", f"Got {value!r}")
    return int(value)


def is_integer(value: Any) -> bool:
    """Say whether a value is one integer, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_choice(
    name: str, value: Any, choices: Collection[str | None], *, caller: str = ""
) -> None:
    """Raise unless the parameter ``name`` is one of some strings, or None where that is one."""
    if not isinstance(value, str | None) or value not in choices:
        raise InputError(
            f"{arg(name)}{' of ' * bool(caller)}{caller} must be one of "
            + ", ".join(map(repr, choices)),
            f"Got {value!r:.50}",
            did_you_mean(value, choices),
        )


def check_probability(name: str, value: Any) -> None:
    """Raise unless the parameter ``name`` lies between 0 and 1."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise InputError(f"{arg(name)} must be a number between 0 and 1", f"Got {value!r}")
