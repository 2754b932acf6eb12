"""A threshold for every label, over any multi-label classifier that gives scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, StrOptions

from labelance.learners import (
    Objective,
    ThresholdSearch,
    TunedClassifier,
    Variant,
    Weights,
    relevance,
)


class LabelThresholds(TunedClassifier):
    """A classifier with a threshold of its own for every label.

    Rare labels get small scores from most learners, so a common threshold of 0.5 hardly
    ever predicts them; a threshold that maximises F (or another measure) of each label does.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``.
    objective : {"f1", "gmean", "balanced_accuracy"} or None, default="f1"
        What the thresholds maximise; None keeps 0.5.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95.
    threshold_data : {"train", "cv"}, default="cv"
        Find thresholds on the scores of the training rows, which are optimistic, or on
        out-of-fold scores of 3 stratified folds.
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

    See Also
    --------
    EMLS : The same over an ensemble of resampled data sets.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import LabelThresholds
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = LabelThresholds(KNeighborsClassifier(5), random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TunedClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"])],
        "threshold_data": [StrOptions({"train", "cv"})],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        threshold_data: str = "cv",
        variant: Variant = "paper",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.threshold_search = threshold_search
        self.threshold_data = threshold_data
        self.variant = variant
        self.random_state = random_state

    def _fit_model(self, X: Any, Y: Any, weight: Weights, rng: np.random.Generator) -> None:
        weight = self._weights_of_estimator(weight)
        options = {} if weight is None else {"sample_weight": weight}
        self.estimator_ = clone(self.estimator).fit(X, Y, **options)

    def _untuned(self, random_state: np.random.Generator) -> LabelThresholds:
        return clone(self).set_params(objective=None, random_state=random_state)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return relevance(self.estimator_, X)
