"""Logistic curves that make probabilities of scores, those of rare labels drawn to a common one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from labelance._validation._arguments import Weights
from labelance._validation._labels import cell_weights, weights_of
from labelance.decisions._calibration import fit_curves
from labelance.ensemble._encoding import Floats
from labelance.ensemble._logistic import center_and_width, label_groups

_STRENGTH = 20.0  # positives that the common curve is worth, as in thresholds


@dataclass(frozen=True, eq=False)
class LabelCurves:
    """A logistic curve for every label, of its scores in units of their spread.

    A label in m rows weighs its own curve by m, and that of all labels together by 20.
    """

    center: Floats
    spread: Floats
    slope: Floats
    intercept: Floats

    @classmethod
    def fit(cls, Y: Floats, scores: Floats, weight: Weights, known: Any = None) -> LabelCurves:
        """Fit curves to known cells of scores of rows that the model did not learn from."""
        counted = cell_weights(weight, known)
        center, spread = center_and_width(scores, counted)
        z = (scores - center) / spread
        if counted is None:
            counted = np.ones(len(Y))
        own_slope, own_intercept = np.hstack(
            [
                fit_curves(Y[:, group], z[:, group], weights_of(counted, group))
                for group in label_groups(z)
            ]
        )
        n_positive = counted @ Y if known is None else (counted * Y).sum(axis=0)
        n = counted.sum(axis=0)
        rarer = np.minimum(n_positive, n - n_positive)
        own = rarer / (rarer + _STRENGTH)
        # The common curve in units of every label's own frequency.
        base = np.log((n_positive + 0.5) / (n - n_positive + 0.5))
        total = own.sum() or 1.0  # no label has rows of both kinds
        common = own @ own_slope / total, own @ (own_intercept - base) / total
        slope = own * own_slope + (1 - own) * common[0]
        intercept = own * own_intercept + (1 - own) * (base + common[1])
        return cls(center, spread, np.maximum(slope, 1e-3), intercept)

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities, in the order of the scores."""
        return expit(self.slope * (scores - self.center) / self.spread + self.intercept)
