"""Thresholds that turn scores into labels, chosen label by label on rows with known labels."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import scipy.sparse as sp

from labelance.exceptions import UndefinedLabelWarning

Objective = Literal["f1", "gmean", "balanced_accuracy"]
Search = Literal["exact", "grid"]

# The authors' program adds 0.05 again and again; the odd last digits of the sums matter,
# since shares of votes such as 0.15 or 0.8 fall on the grid.
GRID = np.add.accumulate(np.full(19, 0.05))


def best_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    objective: Objective = "f1",
    search: Search = "exact",
    grid_mulan: bool = False,
) -> np.ndarray:
    """Return for every label the threshold t that does best with ``score >= t``.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    scores : ndarray of shape (n, q)
        Scores of the same rows.
    objective : {"f1", "gmean", "balanced_accuracy"}
        What to maximise.
    search : {"exact", "grid"}
        Try every distinct score, or the 19 values 0.05, 0.10, … 0.95. Among equals, exact
        takes the largest threshold and the grid the smallest.
    grid_mulan : bool
        Where nothing on the grid is better than 0, keep 0, which predicts the label
        everywhere, as the authors' program does; else 0.5, with a warning.

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Infinite (exact search) for labels that no row has.
    """
    positive = np.zeros(Y.shape, dtype=bool)  # as dense as the scores are
    positive[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = True
    if search == "exact":
        return _exact(positive, scores, objective)
    return _on_grid(positive, scores, objective, grid_mulan)


def _exact(positive: np.ndarray, scores: np.ndarray, objective: Objective) -> np.ndarray:
    """Try every distinct score of every label, from the largest down."""
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    hits = np.cumsum(np.take_along_axis(positive, order, axis=0), axis=0)
    chosen = np.arange(1, len(scores) + 1)[:, None]
    value = _value(hits, chosen - hits, positive.sum(axis=0), len(scores), objective)
    # A threshold takes all rows with its score, so only the end of a run of equals counts.
    run_goes_on = np.zeros(scores.shape, dtype=bool)
    run_goes_on[:-1] = ranked[:-1] == ranked[1:]
    value[run_goes_on] = -1
    best = np.argmax(value, axis=0)
    thresholds = ranked[best, np.arange(scores.shape[1])].astype(float)
    thresholds[~positive.any(axis=0)] = np.inf
    return thresholds


def _on_grid(
    positive: np.ndarray, scores: np.ndarray, objective: Objective, grid_mulan: bool
) -> np.ndarray:
    """Try the values of the grid, from the smallest up."""
    n_positive = positive.sum(axis=0)
    values = []
    for threshold in GRID:
        chosen = scores >= threshold
        hits = (chosen & positive).sum(axis=0)
        values.append(_value(hits, chosen.sum(axis=0) - hits, n_positive, len(scores), objective))
    table = np.array(values)
    thresholds = GRID[np.argmax(table, axis=0)]
    hopeless = table.max(axis=0) <= 0
    if hopeless.any():
        thresholds[hopeless] = 0.0 if grid_mulan else 0.5
        if not grid_mulan:
            warnings.warn(
                f"No threshold finds a true positive of {hopeless.sum()} labels; they keep 0.5.",
                UndefinedLabelWarning,
                stacklevel=3,
            )
    return thresholds


def _value(
    hits: np.ndarray, false: np.ndarray, n_positive: np.ndarray, n: int, objective: Objective
) -> np.ndarray:
    """Return the objective from true positives and false positives; 0/0 counts as 1."""
    if objective == "f1":
        return _ratio(2 * hits, hits + false + n_positive)
    recall = _ratio(hits, n_positive)
    specificity = _ratio(n - n_positive - false, n - n_positive)
    if objective == "gmean":
        return np.sqrt(recall * specificity)
    return (recall + specificity) / 2


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.ones(part.shape), where=whole > 0)
