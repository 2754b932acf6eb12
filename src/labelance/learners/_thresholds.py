"""The one home of thresholds: chosen label by label on rows with known labels, and applied."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions

from labelance._arrays import column_counts, take_rows
from labelance._utils import as_generator
from labelance._validation import Data
from labelance.exceptions import InputError, TooFewRowsError, UndefinedLabelWarning
from labelance.learners._base import WeightedClassifier, fit_inner, inner_scores
from labelance.learners._reduction import Weights
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


class ThresholdClassifier(WeightedClassifier):
    """Base of learners that predict a label where its score reaches ``thresholds_``.

    A subclass calls ``_choose_thresholds`` when it has scores of rows with known labels.
    """

    objective: Any = "f1"
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
        """Set ``thresholds_`` to those that maximise the objective."""
        self.thresholds_ = best_thresholds(
            Y,
            scores,
            objective=self.objective,
            search=self.threshold_search,
            variant=self.variant,
            weight=weight,
        )

    def _keep_constant_labels(self, Y: sp.csr_array) -> None:
        """Set 0.5 for labels that all rows agree on, whose score is 0 or 1 whatever the row."""
        counts = column_counts(Y)
        self.thresholds_[(counts == 0) | (counts == Y.shape[0])] = 0.5

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.thresholds_).astype(np.int64)


CV_FOLDS = 3


class TunedClassifier(ThresholdClassifier):
    """Base of learners around any multi-label classifier, with thresholds for an objective."""

    threshold_data: str
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ThresholdClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"])],
        "objective": [StrOptions({"f1", "gmean", "balanced_accuracy"}), None],
    }

    def _fit(self, data: Data, X: Any, weight: Weights = None, **ready: Any) -> None:
        self._refuse_single_label_estimator()
        self._refuse_fewer_rows_than_folds(data.n_samples)
        rng = as_generator(self.random_state)
        self._fit_model(data, weight, rng, **ready)
        self.thresholds_ = np.full(self.n_labels_, 0.5)
        if self.objective is not None:
            rows, scores = self._tuning_scores(data, weight, rng)
            self._choose_thresholds(data.Y[rows], scores, None if weight is None else weight[rows])

    def _refuse_single_label_estimator(self) -> None:
        if _says_single_label(self.estimator):
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
    def _fit_model(self, data: Data, weight: Weights, rng: np.random.Generator) -> None:
        """Fit what gives the scores."""

    @abstractmethod
    def _untuned(self, random_state: np.random.Generator) -> TunedClassifier:
        """Return an unfitted copy that keeps 0.5, to be fitted on a part of the rows."""

    def _tuning_scores(
        self, data: Data, weight: Weights, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and their scores, by the model itself or by models that left the row out."""
        if self.threshold_data == "cv":
            return np.arange(data.n_samples), self._out_of_fold_scores(data, weight, rng)
        return np.arange(data.n_samples), self._scores(data.X, data.features.container.native)

    def _out_of_fold_scores(
        self, data: Data, weight: Weights, rng: np.random.Generator
    ) -> np.ndarray:
        """Score every row by a model, sampling included, that was fitted on the other folds."""
        scores, X = np.empty(data.Y.shape), data.features.container.native
        folds = IterativeStratifiedKFold(CV_FOLDS, random_state=rng.spawn(1)[0])
        streams = rng.spawn(CV_FOLDS)
        for (train, test), stream in zip(folds.split(X, data.Y), streams):
            part = None if weight is None else weight[train]
            model = fit_inner(self._untuned(stream), data.take(train), part)
            rows = take_rows(X, test)
            scores[test] = inner_scores(model, data.X[test], rows, self._schema)
        return scores


def _says_single_label(estimator: Any) -> bool:
    """Say whether the tags of a classifier are those of one label.

    A class of the user's own that leaves scikit-learn's defaults has not said anything.
    """
    tags = get_tags(estimator)
    of_classes = tags.classifier_tags is not None and not tags.classifier_tags.multi_label
    kinds = [kind for kind in type(estimator).__mro__ if kind.__module__ != "sklearn.base"]
    said = any("__sklearn_tags__" in vars(kind) for kind in kinds)
    said = said or kinds[0].__module__.startswith("sklearn.")
    return said and of_classes and not tags.target_tags.multi_output


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

    def _fit_model(self, data: Data, weight: Weights, rng: np.random.Generator) -> None:
        weight = self._weights_of_estimator(weight)
        self.estimator_ = fit_inner(clone(self.estimator), data, weight)

    def _untuned(self, random_state: np.random.Generator) -> LabelThresholds:
        return clone(self).set_params(objective=None, random_state=random_state)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return inner_scores(self.estimator_, clean, X, self._schema)
