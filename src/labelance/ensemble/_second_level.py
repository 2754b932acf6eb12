"""The second level of stacked bagging: what the scores of all labels say about each label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from labelance._arrays._containers import column_counts
from labelance._validation._arguments import Weights, take_weights
from labelance.ensemble._logistic import Floats, fit_logistic_regressions
from labelance.model_selection._splitters import assign_folds

_FOLDS = 5
# Scores are between 0 and 1, so that what differs by less differs by rounding.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class SecondLevel:
    """Logistic regressions of some labels on the standardised scores of all labels.

    Attributes
    ----------
    labels : ndarray of int
        The labels that have a regression.
    center, width : ndarray of shape (n_labels,)
        Mean and standard deviation of the scores of every label.
    coef, intercept : ndarray of shape (n_stacked, n_labels) and (n_stacked,)
        The regressions.
    """

    labels: np.ndarray
    center: Floats
    width: Floats
    coef: Floats
    intercept: Floats

    @classmethod
    def fit(
        cls,
        Y: sp.csr_array,
        scores: Floats,
        labels: np.ndarray,
        C: float | None,
        weight: Weights,
    ) -> SecondLevel:
        """Fit those of the labels that some rows have and others have not."""
        counts = column_counts(Y)[labels]
        labels = labels[(counts > 0) & (counts < Y.shape[0])]
        center, width = _center_and_width(scores, weight)
        if C is None or not len(labels):
            return cls(labels, center, width, np.empty((0, Y.shape[1])), np.empty(0))
        present = Y.tocsc()[:, labels].toarray().astype(float)
        level = (scores - center) / width
        return cls(labels, center, width, *fit_logistic_regressions(level, present, C, weight))

    def combine(self, scores: Floats) -> Floats:
        """Return the mean of scores and of what the regressions make of them."""
        found, labels = scores.copy(), self.labels
        level = (scores - self.center) / self.width
        found[:, labels] += expit(level @ self.coef.T + self.intercept)
        found[:, labels] /= 2
        return found


def combine_by_folds(
    Y: sp.csr_array, scores: Floats, labels: np.ndarray, C: float | None, weight: Weights
) -> Floats:
    """Combine the scores of every fold by a second level that learned from the other folds."""
    combined = scores.copy()
    if not len(labels):
        return combined
    n_folds = min(_FOLDS, Y.shape[0])
    folds = assign_folds(Y, n_folds, random_state=0)  # always the same for the same labels
    for fold in range(n_folds):
        train, test = folds != fold, folds == fold
        part = take_weights(weight, train)
        level = SecondLevel.fit(Y[train], scores[train], labels, C, part)
        combined[test] = level.combine(scores[test])
    return combined


def _center_and_width(scores: np.ndarray, weight: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of every column and its standard deviation, 1 where all scores are equal."""
    if not len(scores):
        return np.zeros(scores.shape[1]), np.ones(scores.shape[1])
    center = np.average(scores, axis=0, weights=weight)
    width = np.sqrt(np.average((scores - center) ** 2, axis=0, weights=weight))
    # The mean of equal scores may differ from them by rounding, which must not become a scale.
    return center, np.where(width > _EQUAL, width, 1.0)
