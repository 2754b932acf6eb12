"""Which labels a sampler balances, and up to where: ``sampling_strategy``.

The name and its habits are imbalanced-learn's: a word, a list, a number, a mapping or a
function. There it speaks of classes, here of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from labelance._inputs import Data
from labelance.exceptions import InputError
from labelance.imbalance import _formulas
from labelance.imbalance._minority import minority_values

SamplingStrategy = (
    str | float | Sequence[Any] | np.ndarray | Mapping[Any, float] | Callable[[Any], Any]
)

STRATEGY_CONSTRAINTS = [
    StrOptions({"auto", "minority", "imbalanced", "all"}),
    Interval(Real, 0, 1, closed="right"),
    "array-like",
    dict,
    callable,
]


@dataclass(frozen=True, eq=False)
class Strategy:
    """The labels to balance, and how many minority cells each should get in the end.

    ``targets`` is None where the sampler's own budget decides, and NaN for single labels.
    """

    labels: np.ndarray
    targets: np.ndarray | None

    def missing(self, Y: sp.csr_array) -> np.ndarray:
        """Return how many minority cells each chosen label lacks to its target."""
        if self.targets is None:
            return np.where(self.labels, np.inf, 0)
        lacking = np.clip(self.targets - minority_counts(Y), 0, None)
        return np.where(self.labels, lacking, 0)


def minority_counts(Y: sp.csr_array) -> np.ndarray:
    """Return the number of minority cells of every label."""
    counts = _formulas.label_counts(Y)
    return np.where(minority_values(Y) == 1, counts, Y.shape[0] - counts)


def resolve_strategy(
    strategy: SamplingStrategy, data: Data, auto: Callable[[sp.csr_array], np.ndarray]
) -> Strategy:
    """Turn ``sampling_strategy`` into labels and targets.

    Parameters
    ----------
    strategy : str, float, sequence, mapping or callable
        "auto" (the sampler's own rule), "minority" (IRLbl > MeanIR), "imbalanced"
        (ImR > MeanImR), "all"; a ratio of minority to majority that every label of the
        sampler's own rule should reach; names, numbers or a mask of labels; a mapping from
        labels to a ratio (float) or to a number of minority cells (int); or a function of Y
        that returns any of these.
    data : Data
        Clean data; frames bring the names.
    auto : callable
        The sampler's own rule: from clean Y to a mask of labels.
    """
    Y, names = data.Y, data.labels.names
    if callable(strategy):
        strategy = strategy(data.labels.table.native)
    if isinstance(strategy, str):
        return Strategy(_by_word(strategy, Y, auto), None)
    if isinstance(strategy, (int, float, np.floating)):
        mask = auto(Y)
        return Strategy(mask, np.where(mask, _ratio_target(Y, float(strategy)), np.nan))
    if isinstance(strategy, Mapping):
        return _by_mapping(strategy, Y, names)
    return Strategy(_by_list(np.asarray(strategy), Y.shape[1], names), None)


def above_mean_irlbl(Y: sp.csr_array) -> np.ndarray:
    """Return the minority labels of Charte et al. 2015: IRLbl > MeanIR."""
    ratios = _formulas.irlbl(_formulas.label_counts(Y))
    return ratios > _formulas.mean_where_defined(ratios)


def above_mean_imr(Y: sp.csr_array) -> np.ndarray:
    """Return the labels that are more imbalanced within than the mean: ImR > MeanImR."""
    ratios = _formulas.imr(_formulas.label_counts(Y), Y.shape[0])
    return ratios > _formulas.mean_where_defined(ratios)


def every_label(Y: sp.csr_array) -> np.ndarray:
    """Return all labels."""
    return np.ones(Y.shape[1], dtype=bool)


def _by_word(word: str, Y: sp.csr_array, auto: Callable[[sp.csr_array], np.ndarray]) -> np.ndarray:
    rules = {
        "auto": auto,
        "minority": above_mean_irlbl,
        "imbalanced": above_mean_imr,
        "all": every_label,
    }
    if word not in rules:
        raise InputError(
            f"sampling_strategy as a word is one of {', '.join(map(repr, rules))}",
            f"it is {word!r}",
            "Choose one of these, or list the labels",
        )
    return rules[word](Y)


def _ratio_target(Y: sp.csr_array, ratio: float) -> np.ndarray:
    """Return the minority cells at which minority / majority reaches the ratio."""
    fewer = minority_counts(Y)
    return np.maximum(np.floor(ratio * (Y.shape[0] - fewer)), fewer)


def _by_mapping(
    wanted: Mapping[Any, float], Y: sp.csr_array, names: tuple[Any, ...] | None
) -> Strategy:
    mask = np.zeros(Y.shape[1], dtype=bool)
    targets = np.full(Y.shape[1], np.nan)
    for label, target in wanted.items():
        j = _position(label, Y.shape[1], names)
        mask[j] = True
        counted = isinstance(target, Integral)
        targets[j] = target if counted else _ratio_target(Y, float(target))[j]
        if counted and target < minority_counts(Y)[j]:
            raise InputError(
                "sampling_strategy names at least as many minority rows as a label has",
                f"label {label!r} has {minority_counts(Y)[j]} and is to get {target}",
                "Raise the number, or leave the label out",
            )
    return Strategy(mask, targets)


def _by_list(listed: np.ndarray, q: int, names: tuple[Any, ...] | None) -> np.ndarray:
    if listed.dtype.kind == "b":
        if listed.shape != (q,):
            raise InputError(
                "sampling_strategy as a mask has one entry for every label",
                f"it has shape {listed.shape} and Y has {q} labels",
                "Pass label numbers or names instead, or a mask of the right length",
            )
        return listed
    mask = np.zeros(q, dtype=bool)
    for label in listed.tolist():
        mask[_position(label, q, names)] = True
    return mask


def _position(label: Any, q: int, names: tuple[Any, ...] | None) -> int:
    if names is not None and label in names:
        return names.index(label)
    if isinstance(label, (int, np.integer)) and -q <= label < q:
        return int(label) % q
    raise InputError(
        "sampling_strategy names labels of Y",
        f"Y has no label {label!r}",
        f"Use numbers from 0 to {q - 1}" + (", or the column names" if names else ""),
    )
