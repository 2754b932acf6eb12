"""Learners whose thresholds are tuned: on the training rows, or on rows the model has not seen."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils import get_tags
from sklearn.utils._param_validation import StrOptions

from labelance._arrays import take_rows
from labelance._utils import as_generator
from labelance._validation import Data
from labelance.exceptions import InputError, TooFewRowsError
from labelance.learners._base import BaseMultiLabelClassifier
from labelance.learners._thresholds import Objective, best_thresholds
from labelance.metrics import label_scores
from labelance.model_selection import IterativeStratifiedKFold

ThresholdSearch = Literal["exact", "grid", "grid_mulan"]
CV_FOLDS = 3


def relevance(estimator: Any, X: Any) -> np.ndarray:
    """Return scores in [0, 1]; margins of a ``decision_function`` are squeezed, 0 becoming 0.5."""
    scores = label_scores(estimator, X)
    return scores if hasattr(estimator, "predict_proba") else expit(scores)


def find_thresholds(
    Y: sp.csr_array, scores: np.ndarray, threshold: Objective, search: ThresholdSearch
) -> np.ndarray:
    """Return the best threshold of every label, by the options of a tuned classifier."""
    return best_thresholds(
        Y,
        scores,
        objective=threshold,
        search="exact" if search == "exact" else "grid",
        grid_mulan=search == "grid_mulan",
    )


class TunedClassifier(BaseMultiLabelClassifier, metaclass=ABCMeta):
    """Base of learners with ``threshold``, ``threshold_search`` and ``threshold_data``."""

    threshold: Objective | None
    threshold_search: ThresholdSearch
    threshold_data: str
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [StrOptions({"f1", "gmean", "balanced_accuracy"}), None],
        "threshold_search": [StrOptions({"exact", "grid", "grid_mulan"})],
        "random_state": ["random_state", np.random.Generator],
    }

    estimator: Any

    def _fit(self, data: Data, X: Any) -> None:
        self._refuse_single_label_estimator()
        self._refuse_fewer_rows_than_folds(data.n_samples)
        rng = as_generator(self.random_state)
        Y = data.labels.container.native
        self._fit_model(X, Y, rng)
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.threshold is not None:
            rows, scores = self._tuning_scores(data, X, Y, rng)
            self.thresholds_ = find_thresholds(
                data.Y[rows], scores, self.threshold, self.threshold_search
            )

    def _refuse_single_label_estimator(self) -> None:
        tags = get_tags(self.estimator)
        of_classes = tags.classifier_tags is not None and not tags.classifier_tags.multi_label
        if of_classes and not tags.target_tags.multi_output:
            raise InputError(
                f"{type(self).__name__} needs a classifier that learns many labels at once",
                f"{type(self.estimator).__name__} learns one",
                f"Wrap it: labelance.learners.BinaryRelevance({type(self.estimator).__name__}())",
            )

    def _refuse_fewer_rows_than_folds(self, n: int) -> None:
        if self.threshold is not None and self.threshold_data == "cv" and n < CV_FOLDS:
            raise TooFewRowsError(
                f'threshold_data="cv" needs a row for each of {CV_FOLDS} folds',
                f"n_samples={n}",
                'Pass more rows, or use threshold_data="train"',
            )

    @abstractmethod
    def _fit_model(self, X: Any, Y: Any, rng: np.random.Generator) -> None:
        """Fit what gives the scores."""

    @abstractmethod
    def _untuned(self, random_state: np.random.Generator) -> TunedClassifier:
        """Return an unfitted copy that keeps 0.5, to be fitted on a part of the rows."""

    def _tuning_scores(
        self, data: Data, X: Any, Y: Any, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their scores, by the model itself or by models that left the row out."""
        if self.threshold_data == "cv":
            return np.arange(data.n_samples), self._out_of_fold_scores(data.Y, X, Y, rng)
        return np.arange(data.n_samples), self._scores(data.X, X)

    def _out_of_fold_scores(
        self, labels: sp.csr_array, X: Any, Y: Any, rng: np.random.Generator
    ) -> np.ndarray:
        """Score every row by a model, sampling included, that was fitted on the other folds."""
        scores = np.empty(labels.shape)
        folds = IterativeStratifiedKFold(CV_FOLDS, random_state=rng.spawn(1)[0])
        streams = rng.spawn(CV_FOLDS)
        for (train, test), stream in zip(folds.split(X, labels), streams):
            model = self._untuned(stream).fit(take_rows(X, train), take_rows(Y, train))
            scores[test] = model.predict_proba(take_rows(X, test))
        return scores

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.thresholds_).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A sampler that cannot take what the estimator can says so itself, in fit.
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags
