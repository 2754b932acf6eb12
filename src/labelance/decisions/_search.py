"""Search of the threshold of every label, on scores of rows with known labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from labelance._utils import warn_user
from labelance._validation._arguments import Weights
from labelance.decisions._objectives import Objective, objective_value
from labelance.exceptions import UndefinedLabelWarning

ThresholdSearch = Literal["exact", "grid"]
Variant = Literal["paper", "mulan"]

# The authors' program adds 0.05 again and again; the odd last digits of the sums matter,
# since shares of votes such as 0.15 or 0.8 fall on the grid.
GRID = np.add.accumulate(np.full(19, 0.05))


def best_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    weight: Weights = None,
) -> np.ndarray:
    """Return for every label the threshold t that does best with ``score >= t``.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    scores : ndarray of shape (n, q)
        Scores of the same rows.
    objective : {"f1", "gmean", "balanced_accuracy"} or callable
        What to maximise: a measure, or a function of the true positives, false positives, false
        negatives and true negatives, whose last axis is that of the labels.
    search : {"exact", "grid"}
        Try every distinct score, or the 19 values 0.05, 0.10, … 0.95. Among equals, exact
        takes the largest threshold and the grid the smallest.
    variant : {"paper", "mulan"}
        Where nothing on the grid is better than 0, keep 0.5, with a warning; or 0, which
        predicts the label everywhere, as the authors' program does.
    weight : ndarray of shape (n,) or None
        How often every row counts; None is once.

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Infinite (exact search) for labels that no row has, and where a function is largest
        if the label is never predicted.
    """
    positive = _as_mask(Y)
    if search == "exact":
        return _exact(positive, scores, weight, objective)
    return _on_grid(positive, scores, weight, objective, variant)


def _as_mask(Y: sp.csr_array) -> np.ndarray:
    """Return where labels are present, as dense as the scores are."""
    positive = np.zeros(Y.shape, dtype=bool)
    positive[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = True
    return positive


def _exact(
    positive: np.ndarray, scores: np.ndarray, weight: Weights, objective: Objective
) -> np.ndarray:
    """Try every distinct score of every label, from the largest down."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    found = np.take_along_axis(positive, order, axis=0)
    if weight is None:
        hits, chosen = np.cumsum(found, axis=0), np.arange(1, len(scores) + 1)[:, None]
    else:
        hits, chosen = np.cumsum(weight[order] * found, axis=0), np.cumsum(weight[order], axis=0)
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    value = objective_value(objective, hits, chosen - hits, n_positive, n)
    # A threshold takes all rows with its score, so only the end of a run of equals counts.
    run_goes_on = np.zeros(scores.shape, dtype=bool)
    run_goes_on[:-1] = ranked[:-1] == ranked[1:]
    value[run_goes_on] = -np.inf
    best = np.argmax(value, axis=0)
    thresholds = ranked[best, np.arange(scores.shape[1])].astype(float)
    if callable(objective):  # measures by name gain nothing by never predicting a label
        none = objective_value(objective, 0 * n_positive, 0 * n_positive, n_positive, n)
        thresholds[none >= value.max(axis=0)] = np.inf
    thresholds[~positive.any(axis=0)] = np.inf
    return thresholds


def _on_grid(
    positive: np.ndarray,
    scores: np.ndarray,
    weight: Weights,
    objective: Objective,
    variant: Variant,
) -> np.ndarray:
    """Try the values of the grid, from the smallest up."""
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    values = []
    for threshold in GRID:
        chosen = scores >= threshold
        hits = _count(chosen & positive, weight)
        false = _count(chosen, weight) - hits
        values.append(objective_value(objective, hits, false, n_positive, n))
    table = np.array(values)
    thresholds = GRID[np.argmax(table, axis=0)]
    hopeless = table.max(axis=0) <= 0
    if hopeless.any() and not callable(objective):  # 0 is nothing special to a function
        thresholds[hopeless] = 0.0 if variant == "mulan" else 0.5
        if variant == "paper":
            warn_user(
                f"No threshold finds a true positive of {hopeless.sum()} labels; they keep 0.5.",
                UndefinedLabelWarning,
            )
    return thresholds


def _count(rows: np.ndarray, weight: Weights) -> Any:
    """Return how many rows there are in every column of a mask, or their weight."""
    return rows.sum(axis=0) if weight is None else weight @ rows


def pooled_threshold(
    Y: sp.csr_array,
    scores: np.ndarray,
    thresholds: np.ndarray,
    *,
    objective: Objective = "f1",
    weight: Weights = None,
) -> float:
    """Return the threshold that is best for all labels alike, among those of the labels.

    Best is the largest mean of the objective over labels that some row has. Of more than 100
    thresholds the percentiles are tried; 0.5 where there is none.
    """
    tried = np.unique(thresholds[np.isfinite(thresholds)])
    if len(tried) > _MOST_POOLED:
        tried = np.quantile(tried, np.linspace(0, 1, _MOST_POOLED))
    if not len(tried):
        return 0.5
    positive = _as_mask(Y)
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    means = []
    for threshold in tried:
        chosen = scores >= threshold
        hits = _count(chosen & positive, weight)
        false = _count(chosen, weight) - hits
        value = objective_value(objective, hits, false, n_positive, n)
        means.append(value[n_positive > 0].mean())
    return float(tried[np.argmax(means)])


def shrink_thresholds(
    thresholds: np.ndarray, pooled: float, n_positive: np.ndarray, strength: float
) -> np.ndarray:
    """Return means of every label's own threshold and the pooled one.

    The label's own counts as often as rows have the label, the pooled one ``strength`` times;
    an infinite threshold stays.
    """
    own = np.where(np.isfinite(thresholds), thresholds, pooled)
    shrunk = (n_positive * own + strength * pooled) / np.maximum(n_positive + strength, 1e-300)
    return np.where(np.isfinite(thresholds), shrunk, thresholds)


_MOST_POOLED = 100
_SHRINKAGE = 5.0
