"""The second level of stacked bagging: what the scores of all labels say about each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from labelance._arrays._containers import column_counts
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._labels import (
    cell_weights,
    count_known,
    known_cells,
    labels_known_together,
    take_unknown,
)
from labelance.ensemble._logistic import Floats, fit_logistic_regressions
from labelance.model_selection._splitters import assign_folds, strata

_FOLDS = 5
# Scores are between 0 and 1, so that what differs by less differs by rounding.
_EQUAL = 1e-9
# A label that is nearly always 0 has scores of twenty standard deviations.
_MOST = 3.0
_FEWEST, _HALF_TRUSTED = 2, 5  # rows of a label's rarer class
_FREE = 1e6  # C of a regression that nothing holds back


def second_level_weights(Y: sp.csr_array, unknown: sp.csr_array | None = None) -> Floats:
    """Return the weight that a second level has next to the members, for every label.

    One half for labels in many rows; the fewer rows of the rarer class there are, the less.
    """
    positives = column_counts(Y)
    rarer = np.minimum(positives, count_known(Y, unknown) - positives)
    return np.where(rarer >= _FEWEST, rarer / (rarer + _HALF_TRUSTED) / 2, 0.0)


@dataclass(frozen=True, eq=False)
class SecondLevel:
    """Logistic regressions of some labels on the standardised scores of all labels.

    Attributes
    ----------
    labels : ndarray of int
        The labels that have a regression.
    weights : ndarray of shape (n_stacked,)
        How much of the combined score is the regression's.
    center, width : ndarray of shape (n_labels,)
        Mean and standard deviation of the scores of every label.
    coef, intercept : ndarray of shape (n_stacked, n_labels) and (n_stacked,)
        The regressions.
    """

    labels: np.ndarray
    weights: Floats
    center: Floats
    width: Floats
    coef: Floats
    intercept: Floats

    @classmethod
    def fit(
        cls,
        Y: sp.csr_array,
        scores: Floats,
        weights: Floats,
        C: float | None,
        sample_weight: Weights,
        unknown: sp.csr_array | None = None,
    ) -> SecondLevel:
        """Fit those of the labels with a weight that some rows have and others have not.

        Each is fitted to the rows in which it is known.
        """
        counts = column_counts(Y)
        varies = (counts > 0) & (counts < count_known(Y, unknown))
        labels = np.flatnonzero(varies & (weights > 0) & (C is not None))
        center, width = center_and_width(scores, sample_weight)
        given = (labels, weights[labels], center, width)
        if C is None or not len(labels):
            return cls(*given, np.empty((0, Y.shape[1])), np.empty(0))
        level = _standardise(scores, center, width)
        present = Y.toarray().astype(float)
        slope = _common_slope(
            level[:, varies], present[:, varies], sample_weight, known_cells(unknown, varies)
        )
        coef, intercept = np.empty((len(labels), Y.shape[1])), np.empty(len(labels))
        for rows, group in labels_known_together(known_cells(unknown, labels)):
            part, here = level[rows], labels[group]
            coef[group], intercept[group] = fit_logistic_regressions(
                part,
                present[:, here][rows],
                C,
                take_weights(sample_weight, rows),
                slope * part[:, here],
            )
        coef[np.arange(len(labels)), labels] += slope
        return cls(*given, coef, intercept)

    def combine(self, scores: Floats) -> Floats:
        """Return the weighted means of scores and of what the regressions make of them."""
        found, labels = scores.copy(), self.labels
        level = _standardise(scores, self.center, self.width)
        second = expit(level @ self.coef.T + self.intercept)
        found[:, labels] += self.weights * (second - found[:, labels])
        return found


def combine_by_folds(
    Y: sp.csr_array,
    scores: Floats,
    weights: Floats,
    C: float | None,
    sample_weight: Weights,
    unknown: sp.csr_array | None = None,
) -> Floats:
    """Combine the scores of every fold by a second level that learned from the other folds."""
    combined = scores.copy()
    if C is None or not weights.any():
        return combined
    n_folds = min(_FOLDS, Y.shape[0])
    # Always the same for the same labels.
    folds = assign_folds(strata(Y, unknown), n_folds, random_state=0)
    for fold in range(n_folds):
        train, test = folds != fold, folds == fold
        part = take_weights(sample_weight, train)
        hidden = take_unknown(unknown, train)
        level = SecondLevel.fit(Y[train], scores[train], weights, C, part, hidden)
        combined[test] = level.combine(scores[test])
    return combined


def _common_slope(
    level: Floats, present: Floats, sample_weight: Weights, known: Any = None
) -> float:
    """Return what a standardised score says of its own label, one slope for all labels.

    Ridge draws the regression of a rare label to this and not to no slope at all. How frequent
    the labels are is given.
    """
    frequency = np.average(present, axis=0, weights=cell_weights(sample_weight, known))
    given = np.broadcast_to(logit(frequency), present.shape)
    cells = slice(None) if known is None else np.flatnonzero(known)
    own, here, offset = (part.reshape(-1, 1)[cells] for part in (level, present, given))
    heavy = None if sample_weight is None else np.repeat(sample_weight, present.shape[1])[cells]
    coef, _ = fit_logistic_regressions(own, here, _FREE, heavy, offset)
    return max(0.0, coef.item())


def _standardise(scores: Floats, center: Floats, width: Floats) -> Floats:
    return np.clip((scores - center) / width, -_MOST, _MOST)


def center_and_width(scores: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
    """Return the mean of every column and its standard deviation, 1 where all scores are equal.

    Weights are those of rows or of cells.
    """
    if not len(scores):
        return np.zeros(scores.shape[1]), np.ones(scores.shape[1])
    center = np.average(scores, axis=0, weights=weight)
    width = np.sqrt(np.average((scores - center) ** 2, axis=0, weights=weight))
    # The mean of equal scores may differ from them by rounding, which must not become a scale.
    return center, np.where(width > _EQUAL, width, 1.0)
