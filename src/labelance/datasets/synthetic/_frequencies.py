"""How often each label occurs, from the cardinality and the imbalance asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from labelance.exceptions import InputError

MODERATE_IMBALANCE = 10.0


def label_frequencies(
    n_samples: int, n_labels: int, cardinality: float | None, imbalance: float | ArrayLike | None
) -> NDArray[np.intp]:
    """Return the number of rows that have each label.

    An array of ratios is followed label by label. Otherwise the frequencies fall by the same
    factor from one label to the next: the one curve with two ends to choose, which are fixed
    by cardinality and mean imbalance ratio.
    """
    if imbalance is None or isinstance(imbalance, (int, float, np.number)):
        share = _geometric(n_labels, cardinality, None if imbalance is None else float(imbalance))
    else:
        share = _from_ratios(np.asarray(imbalance, dtype=float), n_labels, cardinality)
    counts = np.rint(n_samples * share).astype(np.intp)
    if counts.min() < 1 or counts.max() >= n_samples:
        worst = int(np.argmin(np.minimum(counts, n_samples - counts)))
        raise InputError(
            "make_multilabel_imbalanced gives every label at least one row with it and one without",
            f"label {worst} would have {counts[worst]} of n_samples={n_samples}",
            "Ask for more rows or less imbalance",
        )
    return counts


def _from_ratios(
    ratio: NDArray[np.float64], n_labels: int, cardinality: float | None
) -> NDArray[np.float64]:
    if cardinality is not None:
        raise InputError(
            "The ratios of all labels already fix the cardinality",
            f"cardinality={cardinality} was given too",
            "Leave cardinality out, or give imbalance as one number",
        )
    if ratio.shape != (n_labels,) or not (np.isfinite(ratio) & (ratio > 0)).all():
        raise InputError(
            f"imbalance is one number or {n_labels} positive ratios, one for each label",
            f"it has shape {ratio.shape} and values from {ratio.min():g} to {ratio.max():g}",
            "Give zeros divided by ones for every label",
        )
    return 1 / (1 + ratio)


def _geometric(
    n_labels: int, cardinality: float | None, imbalance: float | None
) -> NDArray[np.float64]:
    """Shares of rows that fall by one factor from label to label."""
    if cardinality is None:
        imbalance = MODERATE_IMBALANCE if imbalance is None else imbalance
        _at_least("imbalance", imbalance, 1.0, "1 means as many ones as zeros")
        if n_labels == 1:
            return np.array([1 / (1 + imbalance)])
        # The most frequent label sits half way, by ratio, between balance and the mean.
        top = 1 / (1 + np.sqrt(imbalance))
        return _fall(n_labels, imbalance, lambda curve: top * curve, _mean_ratio)
    if not 0 < cardinality <= n_labels / 2:
        raise InputError(
            f"cardinality lies above 0 and, with n_labels={n_labels}, at most at {n_labels / 2:g}",
            f"it is {cardinality:g}",
            "For labels that most rows have, give imbalance as an array with ratios below 1",
        )

    def shares(curve: NDArray[np.float64]) -> NDArray[np.float64]:
        return _fill(curve, cardinality)

    if imbalance is None:
        twice_the_mean = min(0.45, 2 * cardinality / n_labels) if n_labels > 1 else cardinality
        return _fall(n_labels, twice_the_mean, shares, np.max)
    flat = n_labels / cardinality - 1
    _at_least("imbalance", imbalance, flat, f"{flat:.4g} is the mean ratio if all labels are equal")
    return _fall(n_labels, imbalance, shares, _mean_ratio)


def _fill(curve: NDArray[np.float64], cardinality: float) -> NDArray[np.float64]:
    """Raise a falling curve until its sum is the cardinality, no label going above one half."""
    full = np.arange(len(curve))
    top = (cardinality - 0.5 * full) / curve[::-1].cumsum()[::-1]
    first = int(np.argmax(top * curve <= 0.5 * (1 + 1e-12)))
    return np.where(full < first, 0.5, top[first] * curve)


def _fall(
    n_labels: int,
    target: float,
    shares: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    measure: Callable[[NDArray[np.float64]], float],
) -> NDArray[np.float64]:
    """Find the factor at which ``measure(shares(curve))`` is ``target``."""

    def curve(fall: float) -> NDArray[np.float64]:
        return shares(np.exp(-fall * np.linspace(0, 1, n_labels)))

    def miss(fall: float) -> float:
        return float(measure(curve(fall))) - target

    if miss(0.0) >= -1e-9 * target:
        return curve(0.0)
    steepest = 40.0  # beyond any table: the rarest label at 4e-18 of the first
    if miss(steepest) < 0:
        raise InputError(
            "A mean imbalance ratio above that of equal labels needs labels of unequal frequency",
            f"{n_labels} cannot be so unequal",
            "Add labels, or leave out imbalance or cardinality",
        )
    return curve(brentq(miss, 0.0, steepest))


def _mean_ratio(share: NDArray[np.float64]) -> float:
    """MeanImR of labels whose ones are the minority."""
    return float(np.mean(1 / share) - 1)


def _at_least(what: str, value: float, least: float, reason: str) -> None:
    if not value >= least * (1 - 1e-9):
        raise InputError(
            f"{what} is at least {least:.4g} here ({reason})", f"it is {value:g}", f"Raise {what}"
        )
