"""The base of learners that choose a threshold for every label, on the rows they learn from."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from labelance._utils import RandomStateLike
from labelance._validation import CategoricalFeatures, Data
from labelance.learners._thresholds import best_thresholds
from labelance.learners._with_estimator import LearnerWithEstimator

ThresholdSearch = Literal["exact", "grid", "grid_mulan"]


class LearnerWithThresholds(LearnerWithEstimator):
    """Base of learners that predict a label where its score reaches ``thresholds_``.

    A subclass calls ``_find_thresholds`` when it can give scores.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "threshold_search": [StrOptions({"exact", "grid", "grid_mulan"})],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold_search: ThresholdSearch = "exact",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimator, categorical_features=categorical_features, n_jobs=n_jobs)
        self.threshold_search = threshold_search
        self.random_state = random_state

    def _find_thresholds(self, data: Data, X: Any) -> None:
        """Set ``thresholds_`` to those that maximise F on the training rows."""
        self.thresholds_ = best_thresholds(
            data.Y,
            self._scores(data.X, X),
            search="exact" if self.threshold_search == "exact" else "grid",
            grid_mulan=self.threshold_search == "grid_mulan",
        )
        # A label that all rows agree on has score 0 or 1 everywhere, whatever the row.
        counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
        self.thresholds_[(counts == 0) | (counts == data.n_samples)] = 0.5

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.thresholds_).astype(np.int64)
