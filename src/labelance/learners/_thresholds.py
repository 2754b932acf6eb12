"""The one home of thresholds: chosen label by label on rows with known labels, and applied."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.utils import get_tags
from sklearn.utils._param_validation import StrOptions

from labelance._arrays import take_rows
from labelance._utils import RandomStateLike, as_generator
from labelance._validation import CategoricalFeatures, Data
from labelance.exceptions import InputError, TooFewRowsError, UndefinedLabelWarning
from labelance.learners._base import LearnerWithEstimator, WeightedClassifier
from labelance.learners._reduction import Weights
from labelance.metrics import label_scores
from labelance.model_selection import IterativeStratifiedKFold

Objective = Literal["f1", "gmean", "balanced_accuracy"]
ThresholdSearch = Literal["exact", "grid"]
Variant = Literal["paper", "mulan"]

# The authors' program adds 0.05 again and again; the odd last digits of the sums matter,
# since shares of votes such as 0.15 or 0.8 fall on the grid.
GRID = np.add.accumulate(np.full(19, 0.05))


def best_thresholds(
    Y: sp.csr_array,
    scores: np.ndarray,
    *,
    objective: Objective = "f1",
    search: ThresholdSearch = "exact",
    variant: Variant = "paper",
    weight: Weights = None,
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
    variant : {"paper", "mulan"}
        Where nothing on the grid is better than 0, keep 0.5, with a warning; or 0, which
        predicts the label everywhere, as the authors' program does.
    weight : ndarray of shape (n,) or None
        How often every row counts; None is once.

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Infinite (exact search) for labels that no row has.
    """
    positive = np.zeros(Y.shape, dtype=bool)  # as dense as the scores are
    positive[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = True
    if search == "exact":
        return _exact(positive, scores, weight, objective)
    return _on_grid(positive, scores, weight, objective, variant)


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
    value = _value(hits, chosen - hits, n_positive, n, objective)
    # A threshold takes all rows with its score, so only the end of a run of equals counts.
    run_goes_on = np.zeros(scores.shape, dtype=bool)
    run_goes_on[:-1] = ranked[:-1] == ranked[1:]
    value[run_goes_on] = -1
    best = np.argmax(value, axis=0)
    thresholds = ranked[best, np.arange(scores.shape[1])].astype(float)
    thresholds[~positive.any(axis=0)] = np.inf
    return thresholds


def _on_grid(
    positive: np.ndarray,
    scores: np.ndarray,
    weight: Weights,
    objective: Objective,
    variant: Variant,
) -> np.ndarray:
    """Try the values of the grid, from the smallest up."""
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    values = []
    for threshold in GRID:
        chosen = scores >= threshold
        hits = _count(chosen & positive, weight)
        values.append(_value(hits, _count(chosen, weight) - hits, n_positive, n, objective))
    table = np.array(values)
    thresholds = GRID[np.argmax(table, axis=0)]
    hopeless = table.max(axis=0) <= 0
    if hopeless.any():
        thresholds[hopeless] = 0.0 if variant == "mulan" else 0.5
        if variant == "paper":
            warnings.warn(
                f"No threshold finds a true positive of {hopeless.sum()} labels; they keep 0.5.",
                UndefinedLabelWarning,
                stacklevel=3,
            )
    return thresholds


def _count(rows: np.ndarray, weight: Weights) -> Any:
    """Return how many rows there are in every column of a mask, or their weight."""
    return rows.sum(axis=0) if weight is None else weight @ rows


def _value(
    hits: np.ndarray, false: np.ndarray, n_positive: np.ndarray, n: float, objective: Objective
) -> np.ndarray:
    """Return the objective from true positives and false positives; 0/0 counts as 1."""
    if objective == "f1":
        return _ratio(2 * hits, hits + false + n_positive)
    recall = _ratio(hits, n_positive)
    specificity = _ratio(np.maximum(n - n_positive - false, 0), n - n_positive)
    if objective == "gmean":
        return np.sqrt(recall * specificity)
    return (recall + specificity) / 2


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.ones(part.shape), where=whole > 0)


class LearnerWithThresholds(LearnerWithEstimator):
    """Base of learners that predict a label where its score reaches ``thresholds_``.

    A subclass calls ``_find_thresholds`` when it can give scores.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "threshold_search": [StrOptions({"exact", "grid"})],
        "variant": [StrOptions({"paper", "mulan"})],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold_search: ThresholdSearch = "exact",
        variant: Variant = "paper",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimator, categorical_features=categorical_features, n_jobs=n_jobs)
        self.threshold_search = threshold_search
        self.variant = variant
        self.random_state = random_state

    def _find_thresholds(self, data: Data, X: Any, weight: Weights) -> None:
        """Set ``thresholds_`` to those that maximise F on the training rows."""
        self.thresholds_ = best_thresholds(
            data.Y,
            self._scores(data.X, X),
            search=self.threshold_search,
            variant=self.variant,
            weight=weight,
        )
        # A label that all rows agree on has score 0 or 1 everywhere, whatever the row.
        counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
        self.thresholds_[(counts == 0) | (counts == data.n_samples)] = 0.5

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.thresholds_).astype(np.int64)


CV_FOLDS = 3


def relevance(estimator: Any, X: Any) -> np.ndarray:
    """Return scores in [0, 1]; margins of a ``decision_function`` are squeezed, 0 becoming 0.5."""
    scores = label_scores(estimator, X)
    return scores if hasattr(estimator, "predict_proba") else expit(scores)


class TunedClassifier(WeightedClassifier, metaclass=ABCMeta):
    """Base of learners with ``objective``, ``threshold_search`` and ``threshold_data``."""

    objective: Objective | None
    threshold_search: ThresholdSearch
    variant: Variant
    threshold_data: str
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "objective": [StrOptions({"f1", "gmean", "balanced_accuracy"}), None],
        "threshold_search": [StrOptions({"exact", "grid"})],
        "variant": [StrOptions({"paper", "mulan"})],
        "random_state": ["random_state", np.random.Generator],
    }

    def _fit(self, data: Data, X: Any, weight: Weights = None, **ready: Any) -> None:
        self._refuse_single_label_estimator()
        self._refuse_fewer_rows_than_folds(data.n_samples)
        rng = as_generator(self.random_state)
        Y = data.labels.container.native
        self._fit_model(X, Y, weight, rng, **ready)
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.objective is not None:
            rows, scores = self._tuning_scores(data, X, Y, weight, rng)
            self.thresholds_ = best_thresholds(
                data.Y[rows],
                scores,
                objective=self.objective,
                search=self.threshold_search,
                variant=self.variant,
                weight=None if weight is None else weight[rows],
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
        if self.objective is not None and self.threshold_data == "cv" and n < CV_FOLDS:
            raise TooFewRowsError(
                f'threshold_data="cv" needs a row for each of {CV_FOLDS} folds',
                f"n_samples={n}",
                'Pass more rows, or use threshold_data="train"',
            )

    @abstractmethod
    def _fit_model(self, X: Any, Y: Any, weight: Weights, rng: np.random.Generator) -> None:
        """Fit what gives the scores."""

    @abstractmethod
    def _untuned(self, random_state: np.random.Generator) -> TunedClassifier:
        """Return an unfitted copy that keeps 0.5, to be fitted on a part of the rows."""

    def _tuning_scores(
        self, data: Data, X: Any, Y: Any, weight: Weights, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their scores, by the model itself or by models that left the row out."""
        if self.threshold_data == "cv":
            return np.arange(data.n_samples), self._out_of_fold_scores(data.Y, X, Y, weight, rng)
        return np.arange(data.n_samples), self._scores(data.X, X)

    def _out_of_fold_scores(
        self, labels: sp.csr_array, X: Any, Y: Any, weight: Weights, rng: np.random.Generator
    ) -> np.ndarray:
        """Score every row by a model, sampling included, that was fitted on the other folds."""
        scores = np.empty(labels.shape)
        folds = IterativeStratifiedKFold(CV_FOLDS, random_state=rng.spawn(1)[0])
        streams = rng.spawn(CV_FOLDS)
        for (train, test), stream in zip(folds.split(X, labels), streams):
            part = None if weight is None else weight[train]
            model = self._untuned(stream).fit(take_rows(X, train), take_rows(Y, train), part)
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
