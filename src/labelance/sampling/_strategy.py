"""Which labels a sampler balances, up to where, and with how many rows.

``sampling_strategy`` and its habits are imbalanced-learn's: a word, a list, a number, a mapping or
a function. There it speaks of classes, here of labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._columns import bytes_per_row
from labelance._arrays._containers import column_counts
from labelance._arrays._memory import check_fits_memory
from labelance._utils._compat import Interval, StrOptions
from labelance._utils._messages import unknown_name
from labelance._validation._data import Data, count_known
from labelance.exceptions import InputError, NothingToSampleError, arg
from labelance.imbalance._above_mean import imr_against_mean, irlbl_against_mean
from labelance.imbalance._local import minority_values

SamplingStrategy = (
    str | float | Sequence[Any] | np.ndarray | Mapping[Any, float] | Callable[[Any], Any]
)

FEWER = (
    f"Make fewer rows: lower {arg('sampling_ratio')}, {arg('n_synthetic')} or the targets of "
    f"{arg('sampling_strategy')}"
)
STRATEGY_CONSTRAINTS = [
    StrOptions({"auto", "minority", "imbalanced", "all"}),
    Interval(Real, 0, 1, closed="right"),
    "array-like",
    dict,
    callable,
]


Rule = Callable[[sp.csr_array], np.ndarray]


class Strategy(NamedTuple):
    """The labels to balance, and how many rows each has and should have in the end.

    Which rows these are is the sampler's matter: those of the minority class, or those that
    have the label. ``targets`` is None where the sampler's own budget decides; it is NaN for
    labels that were not chosen.
    """

    labels: np.ndarray
    targets: np.ndarray | None
    present: np.ndarray

    @property
    def lacking(self) -> np.ndarray:
        """How many rows each chosen label lacks to its target; infinite if it has none."""
        if self.targets is None:
            return np.where(self.labels, np.inf, 0)
        return np.where(self.labels, np.clip(self.targets - self.present, 0, None), 0)


def rows_by_label(data: Data, labels: np.ndarray, rows: np.ndarray | None) -> dict[Any, Any]:
    """Return the fitted ``sampling_strategy_``: chosen labels, by name if they have one, to rows.

    Parameters
    ----------
    data : Data
        Clean data; frames bring the names.
    labels : ndarray of bool of shape (q,)
        The chosen labels.
    rows : ndarray of shape (q,) or None
        The number of rows of each label; None if the labels share one number.
    """
    chosen = np.flatnonzero(labels).tolist()
    names = data.labels.names or range(len(labels))
    return {names[j]: None if rows is None else int(rows[j]) for j in chosen}


def minority_counts(Y: sp.csr_array, unknown: sp.csr_array | None = None) -> np.ndarray:
    """Return the number of minority cells of every label."""
    counts = column_counts(Y)
    is_rare = minority_values(Y, unknown) == 1
    return np.where(is_rare, counts, count_known(Y, unknown) - counts)


def resolve_strategy(
    strategy: SamplingStrategy, data: Data, auto: Rule, counts: Rule | None = None
) -> Strategy:
    """Turn ``sampling_strategy`` into labels and targets.

    Parameters
    ----------
    strategy : str, float, sequence, mapping or callable
        "auto" (the sampler's own rule), "minority" (IRLbl > MeanIR), "imbalanced"
        (ImR > MeanImR), "all"; a ratio that every label of the sampler's own rule should
        reach, of the rows that the sampler makes to all others; names, numbers or a mask of
        labels; a mapping from labels to such a ratio (float) or to a number of rows (int); or
        a function of y that returns any of these.
    data : Data
        Clean data; frames bring the names.
    auto : callable
        The sampler's own rule: from clean Y to a mask of labels.
    counts : callable
        How many rows each label has of the kind that the sampler makes: from clean Y to
        numbers. Unless given, rows of the minority class.
    """
    Y, names = data.Y, data.labels.names
    n_known = data.labels.n_known
    present = minority_counts(Y, data.unknown) if counts is None else counts(Y)
    if callable(strategy):
        strategy = strategy(data.labels.container.native)
    if isinstance(strategy, str):
        return Strategy(_by_word(strategy, Y, auto, n_known), None, present)
    if isinstance(strategy, (int, float, np.floating)):
        mask = auto(Y)
        reached = _reach_ratio(present, n_known, float(strategy))
        return Strategy(mask, np.where(mask, reached, np.nan), present)
    if isinstance(strategy, Mapping):
        return _by_mapping(strategy, present, n_known, names)
    return Strategy(_by_list(np.asarray(strategy), Y.shape[1], names), None, present)


def resolve_labels(
    strategy: SamplingStrategy, data: Data, auto: Rule, *, caller: str
) -> np.ndarray:
    """Turn ``sampling_strategy`` into a mask of labels, for samplers that need no targets."""
    resolved = resolve_strategy(strategy, data, auto)
    if resolved.targets is not None:
        raise InputError(
            f"{arg('sampling_strategy')} of {caller} must be labels without numbers of rows",
            "It also has numbers of rows",
        )
    return resolved.labels


def nothing_to_sample(needed: str, found: str = "No label has one") -> NothingToSampleError:
    """Return the error for data in which no label has what a sampler needs."""
    cure = "Check y with labelance.profile(X, y), or skip sampling"
    return NothingToSampleError(needed, found, cure)


def check_no_idle_strategy(strategy: SamplingStrategy, caller: str, needs: str) -> None:
    """Raise if labels were chosen but nothing asks which: a choice must not be lost silently."""
    if not (isinstance(strategy, str) and strategy == "auto"):
        raise InputError(
            f"{arg('sampling_strategy')} of {caller} needs {needs}",
            f"{caller} has none",
            f'Add {needs}, or leave {arg("sampling_strategy")} at "auto"',
        )


def above_mean_irlbl(Y: sp.csr_array, *, at_least_mean: bool = False) -> np.ndarray:
    """Return the minority labels of Charte et al. 2015: IRLbl > MeanIR, or >= if asked for.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._strategy import above_mean_irlbl
    >>> above_mean_irlbl(sp.csr_array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]))
    array([False, False,  True])
    """
    signs = irlbl_against_mean(column_counts(Y))
    # A label that no row has is nan, which is neither above nor at the mean.
    return signs >= 0 if at_least_mean else signs > 0


def label_bags(Y: sp.csr_array, labels: Iterable[int]) -> list[np.ndarray]:
    """Return, for each of the labels, the rows that have it, in row order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._strategy import label_bags
    >>> label_bags(sp.csr_array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]), [1, 2])
    [array([0, 2]), array([2])]
    """
    by_label = Y.tocsc()
    rows, starts = by_label.indices.astype(np.int64), by_label.indptr
    return [rows[starts[label] : starts[label + 1]] for label in labels]


def every_label(Y: sp.csr_array) -> np.ndarray:
    """Return all labels."""
    return np.ones(Y.shape[1], dtype=bool)


def rows_with(Y: sp.csr_array, labels: np.ndarray) -> np.ndarray:
    """Return the mask of the rows that have any of the labels of a mask.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._strategy import rows_with
    >>> rows_with(sp.csr_array([[1, 0], [1, 1], [0, 0]]), np.array([False, True]))
    array([False,  True, False])
    """
    cells = np.concatenate(([0], np.cumsum(labels[Y.indices])))
    return np.diff(cells[Y.indptr]) > 0


def rows_that_may_have(data: Data, labels: np.ndarray) -> np.ndarray:
    """Return the mask of the rows that have any of the labels, or in which one is unknown."""
    found = rows_with(data.Y, labels)
    return found if data.unknown is None else found | rows_with(data.unknown, labels)


def _by_word(word: str, Y: sp.csr_array, auto: Rule, n_known: Any) -> np.ndarray:
    rules: dict[str, Rule] = {
        "auto": auto,
        "minority": above_mean_irlbl,
        "imbalanced": lambda Y: imr_against_mean(column_counts(Y), n_known) > 0,
        "all": every_label,
    }
    if word not in rules:
        raise unknown_name("word", word, rules, arg("sampling_strategy"))
    return rules[word](Y)


def _reach_ratio(present: np.ndarray, n: np.ndarray, ratio: float) -> np.ndarray:
    """Return the rows at which they reach the ratio to all others, safe against 28.999…."""
    if not 0 < ratio <= 1:
        raise InputError(
            f"A ratio in {arg('sampling_strategy')} must be in (0, 1]",
            f"Got {ratio}",
            "Correct it; to set numbers of rows, pass a dict from labels to integers",
        )
    others = n - present
    return np.maximum(np.floor(np.round(ratio * others, 9)), present)


def _by_mapping(
    wanted: Mapping[Any, Any], present: np.ndarray, n: np.ndarray, names: tuple[Any, ...] | None
) -> Strategy:
    targets = np.full(len(present), np.nan)
    for label, target in wanted.items():
        j = _position(label, len(present), names)
        if not isinstance(target, Integral):
            targets[j] = _reach_ratio(present, n, float(target))[j]
        elif target >= present[j]:
            targets[j] = target
        else:
            raise InputError(
                f"A target in {arg('sampling_strategy')} must not be below what is there",
                f"Label {label!r} has {present[j]} rows, and the target is {target}",
            )
    return Strategy(~np.isnan(targets), targets, present)


def _by_list(listed: np.ndarray, q: int, names: tuple[Any, ...] | None) -> np.ndarray:
    if listed.dtype.kind == "b":
        if listed.shape != (q,):
            raise InputError(
                f"{arg('sampling_strategy')} as a mask must have one entry per label",
                f"It has shape {listed.shape}, and y has {q} labels",
            )
        return listed
    positions = [_position(label, q, names) for label in listed.tolist()]
    return np.isin(np.arange(q), positions)


def _position(label: Any, q: int, names: tuple[Any, ...] | None) -> int:
    if names is not None and label in names:
        return names.index(label)
    if isinstance(label, (int, np.integer)) and -q <= label < q:
        return int(label) % q
    raise unknown_name("label", label, names or range(q), arg("sampling_strategy"))


# Bytes of a new row's provenance: its seed and its reference.
_PROVENANCE = 16


def rows_to_sample(n: int, ratio: float, n_synthetic: int | None = None) -> int:
    """Return ``n_synthetic`` if given, else floor(ratio * n), safe against 0.29 * 100 = 28.999….

    Examples
    --------
    >>> from labelance.sampling._strategy import rows_to_sample
    >>> rows_to_sample(100, 0.29)
    29
    """
    if n_synthetic is not None:
        return int(n_synthetic)
    if math.isinf(ratio * n):
        raise InputError(f"{arg('sampling_ratio')} must be a finite number", f"Got {ratio}")
    return math.floor(round(ratio * n, 9))


def check_row_limit(n_new: int, data: Data, *, caller: str) -> None:
    """Raise if there is no memory for this many new rows like those of the data."""
    # New rows of a Dask collection are blocks of another; labels and provenance come to the client.
    features = 0.0 if data.kind == "blocks" else bytes_per_row(data.X)
    size = features + bytes_per_row(data.Y) + _PROVENANCE
    check_fits_memory(n_new, size, caller=caller, cure=FEWER)
