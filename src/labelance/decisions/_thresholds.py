"""Classifiers with a threshold for every label."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelance._arrays import column_counts
from labelance._classifier import WeightedClassifier, fit_inner, inner_scores
from labelance._utils import as_generator
from labelance._validation import Data
from labelance._validation._arguments import Weights, take_weights
from labelance.decisions._held_out import (
    KnownScores,
    ScoreSource,
    choose_source,
    out_of_bag_scores,
    out_of_fold_scores,
    refuse_fewer_rows_than_folds,
    refuse_single_label_estimator,
)
from labelance.decisions._objectives import Objective, refuse_impossible_objective
from labelance.decisions._search import (
    Shrinkage,
    ThresholdSearch,
    Variant,
    threshold_spread,
    tune_thresholds,
)


class ThresholdClassifier(WeightedClassifier):
    """Base of learners that predict a label where its score reaches ``thresholds_``.

    A subclass calls ``_choose_thresholds`` when it has scores of rows with known labels.
    """

    objective: Any = "f1"
    shrinkage: Shrinkage = 0.0
    threshold_search: ThresholdSearch
    variant: Variant
    thresholds_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        "threshold_search": [StrOptions({"exact", "grid"})],
        "variant": [StrOptions({"paper", "mulan"})],
        "random_state": ["random_state", np.random.Generator],
    }

    def _choose_thresholds(self, Y: sp.csr_array, scores: np.ndarray, weight: Weights) -> None:
        """Set ``thresholds_`` to those that maximise the objective, shrunk as asked."""
        self.thresholds_ = tune_thresholds(
            Y,
            scores,
            objective=self.objective,
            search=self.threshold_search,
            variant=self.variant,
            shrinkage=self.shrinkage,
            weight=weight,
        )

    def _keep_constant_labels(self, Y: sp.csr_array) -> None:
        """Set 0.5 for labels that all rows agree on, whose score is 0 or 1 whatever the row."""
        counts = column_counts(Y)
        self.thresholds_[(counts == 0) | (counts == Y.shape[0])] = 0.5

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.thresholds_).astype(np.int64)


class TunedClassifier(ThresholdClassifier):
    """Base of learners around any multi-label classifier, with thresholds for an objective."""

    threshold_data: ScoreSource
    threshold_spread_: np.ndarray
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ThresholdClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"])],
        "objective": [StrOptions({"f1", "gmean", "balanced_accuracy"}), callable, None],
        "threshold_data": [StrOptions({"auto", "train", "oob", "cv"})],
    }

    def _fit(self, data: Data, X: Any, weight: Weights = None, **ready: Any) -> None:
        refuse_single_label_estimator(self.estimator, who=type(self).__name__)
        self._refuse_impossible_thresholds(data)
        rng = as_generator(self.random_state)
        self._fit_model(data, weight, rng, **ready)
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        self.threshold_spread_ = np.zeros(self.n_labels_)
        if self.objective is not None:
            known = self._tuning_scores(data, weight, rng)
            part = take_weights(weight, known.rows)
            Y = data.Y[known.rows]
            self._choose_thresholds(Y, known.scores, part)
            self.threshold_spread_ = self._spread_of_thresholds(Y, known, part)

    def _refuse_impossible_thresholds(self, data: Data) -> None:
        """Raise, before anything is fitted, where thresholds cannot be found as asked."""
        if self.objective is None:
            return
        if self._threshold_source() == "cv":
            refuse_fewer_rows_than_folds(
                data.n_samples, option="threshold_data", instead='threshold_data="train"'
            )
        refuse_impossible_objective(self.objective, data.Y.shape[1])

    @abstractmethod
    def _threshold_source(self) -> ScoreSource:
        """Return whose scores the thresholds are found on, "auto" being decided."""

    @abstractmethod
    def _fit_model(self, data: Data, weight: Weights, rng: np.random.Generator) -> None:
        """Fit what gives the scores."""

    @abstractmethod
    def _untuned(self, random_state: np.random.Generator) -> TunedClassifier:
        """Return an unfitted copy that keeps 0.5, to be fitted on a part of the rows."""

    def _tuning_scores(self, data: Data, weight: Weights, rng: np.random.Generator) -> KnownScores:
        """Return rows and their scores, by the model itself or by models that left the row out."""
        if self._threshold_source() == "cv":
            return out_of_fold_scores(self._untuned, data, weight, rng, self._schema)
        scores = self._scores(data.X, data.features.container.native)
        return KnownScores(np.arange(data.n_samples), scores)

    def _spread_of_thresholds(
        self, Y: sp.csr_array, known: KnownScores, weight: Weights
    ) -> np.ndarray:
        """Return the standard deviation of the thresholds found on each fold alone."""
        if self._threshold_source() == "train":
            return np.full(self.n_labels_, np.nan)
        return threshold_spread(
            Y,
            known.scores,
            known.folds,
            objective=self.objective,
            search=self.threshold_search,
            variant=self.variant,
            weight=weight,
        )


class LabelThresholds(TunedClassifier):
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
        ``(tp, fp, fn, tn) -> value`` of arrays whose last axis is that of the labels.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95.
    threshold_data : {"auto", "oob", "cv", "train"}, default="auto"
        Whose scores the thresholds are found on: "oob", rows that members of the estimator left
        out (forests and bagging of scikit-learn, alone, for every label or at the end of a
        pipeline, and :class:`~labelance.ensemble.EMLS`, each with ``bootstrap=True``); "cv",
        out-of-fold scores of 3 stratified folds; "train", the training rows, which are
        optimistic. "auto" is "oob" where that is possible, since it costs nothing, and "cv"
        where not.
    shrinkage : float or "auto", default="auto"
        How many rows with the label a threshold common to all labels counts as. The threshold
        of a label in m rows is the mean of its own, weight m, and of the common one, weight
        ``shrinkage``; the common one is that with the largest mean of the objective over labels.
        For labels in few rows, whose own threshold is mostly chance. "auto" is 5 for measures by
        name; and 0 for functions, whose conditions a shrunk threshold would break.
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
        than two folds have the label, and with ``threshold_data="train"``.

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
        **TunedClassifier._parameter_constraints,
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        threshold_data: ScoreSource = "auto",
        shrinkage: Shrinkage = "auto",
        variant: Variant = "paper",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.threshold_search = threshold_search
        self.threshold_data = threshold_data
        self.shrinkage = shrinkage
        self.variant = variant
        self.random_state = random_state

    def _threshold_source(self) -> ScoreSource:
        return choose_source(self.threshold_data, self.estimator, option="threshold_data")

    def _fit_model(self, data: Data, weight: Weights, rng: np.random.Generator) -> None:
        weight = self._weights_of_estimator(weight)
        self.estimator_ = fit_inner(clone(self.estimator), data, weight)

    def _tuning_scores(self, data: Data, weight: Weights, rng: np.random.Generator) -> KnownScores:
        if self._threshold_source() == "oob":
            return out_of_bag_scores(self.estimator_, data)
        return super()._tuning_scores(data, weight, rng)

    def _untuned(self, random_state: np.random.Generator) -> LabelThresholds:
        return clone(self).set_params(objective=None, random_state=random_state)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return inner_scores(self.estimator_, clean, X, self._schema)
