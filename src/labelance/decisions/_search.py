"""Search of the threshold of every label, on scores of rows with known labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._compat import Interval, StrOptions, validate_params
from labelance._utils._messages import warn_user
from labelance._validation._arguments import Weights, take_weights, validate_weights
from labelance._validation._categorical import name_columns
from labelance._validation._predictions import validate_score_table, validate_scores
from labelance.decisions._held_out import CV_FOLDS
from labelance.decisions._objectives import (
    Objective,
    check_no_impossible_objective,
    objective_value,
)
from labelance.exceptions import UndefinedLabelWarning
from labelance.model_selection._splitters import assign_folds

ThresholdSearch = Literal["exact", "grid"]
Shrinkage = float | Literal["auto"]

# Parameters of all classifiers that search thresholds.
SEARCHING: dict[str, list[Any]] = {
    "threshold_search": [StrOptions({"exact", "grid"})],
    "variant": [StrOptions({"paper", "mulan"})],
    "random_state": ["random_state", np.random.Generator],
}
Variant = Literal["paper", "mulan"]

# The authors' program adds 0.05 again and again; the odd last digits of the sums matter,
# since shares of votes such as 0.15 or 0.8 fall on the grid.
GRID = np.add.accumulate(np.full(19, 0.05))
_MOST_POOLED = 100
_SHRINKAGE = 5.0  # of measures by name


@dataclass(frozen=True, eq=False)
class Thresholds:
    """A threshold for every label, as :func:`find_thresholds` returns them.

    Attributes
    ----------
    values : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this. Infinite for labels that no row
        has, and for labels that it is best never to predict.
    spread : ndarray of shape (n_labels,)
        The standard deviation of the thresholds found on each of 3 stratified folds of the rows
        alone, without shrinkage: how much a threshold depends on the rows. nan where fewer than
        two folds have the label.
    """

    values: np.ndarray
    spread: np.ndarray

    def apply(self, scores: Any) -> NDArray[np.int64]:
        """Return the labels, 0 or 1, of rows with these scores.

        Parameters
        ----------
        scores : array or data frame of shape (n, n_labels)
            Scores of any rows, by the same model.

        Returns
        -------
        y : ndarray of shape (n, n_labels)
            1 where a score reaches the threshold of its label.
        """
        table = validate_score_table(scores, len(self.values), caller="Thresholds.apply")
        return (table >= self.values).astype(np.int64)


@validate_params(
    {
        "objective": [StrOptions({"f1", "gmean", "balanced_accuracy"}), callable],
        "search": [StrOptions({"exact", "grid"})],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    },
    prefer_skip_nested_validation=False,
)
def find_thresholds(
    y_true: Any,
    y_score: Any,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    shrinkage: Shrinkage = "auto",
    sample_weight: Any = None,
) -> Thresholds:
    """Find the threshold of every label on scores of rows with known labels.

    For scores that exist already, of any model. The rows must be rows that the model did not
    learn from: a validation set, out-of-bag or out-of-fold rows. Otherwise the thresholds are
    optimistic.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        A score for every row and label; larger means more likely to be present.
    objective : {"f1", "gmean", "balanced_accuracy"} or callable, default="f1"
        What the thresholds maximise, as in :class:`LabelThresholds`.
    search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95. Among equals, exact takes the largest
        threshold and the grid the smallest.
    shrinkage : float or "auto", default="auto"
        How many rows with the label a threshold common to all labels counts as, as in
        :class:`LabelThresholds`. 0 gives every label its own threshold.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows. Rows of weight 0 are left out.

    Returns
    -------
    thresholds : Thresholds
        ``values``, their ``spread``, and ``apply`` for scores of other rows.

    See Also
    --------
    LabelThresholds : The same inside a classifier, which finds the scores, too.

    Examples
    --------
    >>> from labelance.decisions import find_thresholds
    >>> y_true = [[0, 0], [0, 1], [1, 1], [1, 0]]
    >>> y_score = [[0.1, 0.2], [0.2, 0.6], [0.3, 0.7], [0.4, 0.1]]
    >>> found = find_thresholds(y_true, y_score, shrinkage=0)
    >>> found.values
    array([0.3, 0.6])
    >>> found.apply([[0.35, 0.5]])
    array([[1, 0]])
    """
    Y, scores, *_ = validate_scores(y_true, y_score, caller="find_thresholds")
    rows, weight = validate_weights(sample_weight, Y.shape[0], caller="find_thresholds")
    if rows is not None:
        Y, scores = Y[rows], scores[rows]
    check_no_impossible_objective(objective, Y.shape[1])
    values = tune_thresholds(
        Y, scores, objective=objective, search=search, shrinkage=shrinkage, weight=weight
    )
    spread = threshold_spread(Y, scores, objective=objective, search=search, weight=weight)
    return Thresholds(values, spread)


def training_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    search: ThresholdSearch,
    variant: Variant,
    weight: Weights,
    names: tuple[Any, ...] | None = None,
) -> np.ndarray:
    """Return the thresholds of the largest F on training rows, as COCOA and ECCRU use them.

    Labels that all rows agree on have 0.5: their score is 0 or 1 for every row.
    """
    thresholds = best_thresholds(
        Y, scores, search=search, variant=variant, weight=weight, names=names
    )
    counts = column_counts(Y)
    thresholds[(counts == 0) | (counts == Y.shape[0])] = 0.5
    return thresholds


def tune_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    shrinkage: Shrinkage = 0.0,
    weight: Weights = None,
    names: tuple[Any, ...] | None = None,
) -> np.ndarray:
    """Return the best threshold of every label, shrunk to the pooled one as asked."""
    thresholds = best_thresholds(
        Y, scores, objective=objective, search=search, variant=variant, weight=weight, names=names
    )
    if shrinkage == "auto":
        shrinkage = 0.0 if callable(objective) else _SHRINKAGE
    if shrinkage == 0:
        return thresholds
    pooled = pooled_threshold(Y, scores, thresholds, objective=objective, weight=weight)
    return shrink_thresholds(thresholds, pooled, _count(_as_mask(Y), weight), shrinkage)


def threshold_spread(
    Y: sp.csr_array,
    scores: np.ndarray,
    folds: np.ndarray | None = None,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    weight: Weights = None,
) -> np.ndarray:
    """Return the standard deviation of the thresholds found on each fold alone.

    Without ``folds``, they are stratified; always the same for the same labels.
    """
    n_labels = Y.shape[1]
    if Y.shape[0] < CV_FOLDS:
        return np.full(n_labels, np.nan)
    folds = assign_folds(Y, CV_FOLDS, random_state=0) if folds is None else folds
    found = np.full((CV_FOLDS, n_labels), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedLabelWarning)
        for fold in range(CV_FOLDS):
            rows = np.flatnonzero(folds == fold)
            own = best_thresholds(
                Y[rows],
                scores[rows],
                objective=objective,
                search=search,
                variant=variant,
                weight=take_weights(weight, rows),
            )
            seen = np.isfinite(own) & (column_counts(Y[rows]) > 0)
            found[fold, seen] = own[seen]
    enough = np.isfinite(found).sum(axis=0) > 1
    spread = np.full(n_labels, np.nan)
    spread[enough] = np.nanstd(found[:, enough], axis=0, ddof=1)
    return spread


def best_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    weight: Weights = None,
    names: tuple[Any, ...] | None = None,
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
    names : tuple or None
        Names of the labels, for a warning.

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Infinite (exact search) for labels that no row has, and where a function is largest
        if the label is never predicted.
    """
    positive = _as_mask(Y)
    if search == "exact":
        return _exact(positive, scores, weight, objective)
    return _on_grid(positive, scores, weight, objective, variant, names)


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
    names: tuple[Any, ...] | None,
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
                f"No threshold finds a true positive of {hopeless.sum()} of {len(hopeless)} "
                f"labels: {name_columns(np.flatnonzero(hopeless), names)}. They keep 0.5.",
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
