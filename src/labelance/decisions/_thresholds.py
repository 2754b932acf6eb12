"""LabelThresholds: a threshold of its own for every label, around any classifier.

How a threshold is found is in ``_search.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from labelance._classifier import WeightedClassifier
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights
from labelance._validation._data import Data
from labelance.decisions._held_out import ScoreSource, ScoringClassifier, choose_source
from labelance.decisions._objectives import Objective
from labelance.decisions._search import (
    SHRINKING,
    TUNING,
    Shrinkage,
    ShrinkTo,
    ThresholdSearch,
    Variant,
    check_tunable,
    tune_thresholds,
)


class LabelThresholds(ScoringClassifier):
    """A classifier with a threshold of its own for every label.

    Rare labels get small scores from most learners, so a common threshold of 0.5 hardly
    ever predicts them; a threshold that maximises F (or another measure) of each label does.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``.
    objective : {"f1", "gmean", "balanced_accuracy"}, callable or None, default="f1"
        What the thresholds maximise; None keeps 0.5. :class:`PrecisionAtRecall`,
        :class:`RecallAtPrecision` and :class:`CostMatrix` are objectives too, as is any function
        ``(tp, fp, fn, tn) -> value`` of arrays.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95.
    tune_on : {"auto", "oob", "cv", "train"}, default="auto"
        Whose scores the thresholds are found on: "oob", rows that members of the estimator left
        out (forests and bagging of scikit-learn, alone, for every label or at the end of a
        pipeline, and :class:`~labelance.ensemble.EMLS`, each with ``bootstrap=True``); "cv",
        out-of-fold scores of 3 stratified folds; "train", the training rows, which are
        optimistic. "auto" is "oob" where that is possible, since it costs nothing, and "cv"
        where not.
    shrinkage : float or "auto", default="auto"
        The best threshold of a label in few rows is mostly chance. A label in m rows
        weighs its own best threshold by m, and what ``shrink_to`` says by ``shrinkage``. "auto" is
        20 for prevalence and 5 for a pooled threshold; and 0 for functions, whose conditions
        a shrunk threshold would break.
    shrink_to : {"auto", "prevalence", "pooled"}, default="auto"
        "prevalence": as many rows are predicted as have the label; the mean is one of
        logarithms of counts of rows, so that any increasing function of the scores gives the same
        decisions. "pooled": one threshold for all labels, that with the largest mean of the
        objective over labels; the mean is one of thresholds. "auto" is "prevalence" for F,
        whose best count of predictions is near that of the positives, and "pooled" for others.
    variant : {"paper", "mulan"}, default="paper"
        What a label keeps for which no value of the grid is any good: 0.5, with a warning, or
        0 as in the program of the paper's authors.
    random_state : int, RandomState, Generator or None, default=None
        For the folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this.
    threshold_spread_ : ndarray of shape (n_labels,)
        How much a label's threshold depends on the rows: the standard deviation of the
        thresholds found on each of 3 stratified folds alone, without shrinkage. nan where fewer
        than two folds have the label, and with ``tune_on="train"``.

    See Also
    --------
    labelance.ensemble.EMLS : The same over an ensemble of resampled data sets.
    LabelCalibration : Makes probabilities of scores.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import LabelThresholds
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = LabelThresholds(KNeighborsClassifier(5), random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (200, 10)

    A forest needs no folds:

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> forest = LabelThresholds(RandomForestClassifier(random_state=0)).fit(X, y)
    >>> forest.threshold_spread_.shape
    (10,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        **TUNING,
        **SHRINKING,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        tune_on: ScoreSource = "auto",
        shrinkage: Shrinkage = "auto",
        shrink_to: ShrinkTo = "auto",
        variant: Variant = "paper",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.threshold_search = threshold_search
        self.tune_on = tune_on
        self.shrinkage = shrinkage
        self.shrink_to = shrink_to
        self.variant = variant
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        source = self.tune_on
        if self.objective is not None:
            source = choose_source(source, self.estimator)
        check_tunable(self, source, data)
        rng = as_generator(self.random_state)
        self._fit_estimator(data, self._weights_of_estimator(weight))
        score = partial(self._held_out, source, data, weight, rng)
        found = tune_thresholds(self, source, data, weight, score)
        self.thresholds_, self.threshold_spread_ = found

    def _for_fold(self, random_state: np.random.Generator) -> LabelThresholds:
        return clone(self).set_params(objective=None, random_state=random_state)
