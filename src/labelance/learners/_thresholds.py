"""The one home of thresholds: chosen label by label on rows with known labels, and applied."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelance._arrays import column_counts
from labelance._utils import as_generator, warn_user
from labelance._validation import Data, name_columns
from labelance.exceptions import UndefinedLabelWarning
from labelance.learners._base import WeightedClassifier, fit_inner, inner_scores
from labelance.learners._objectives import (
    CostMatrix,
    Objective,
    objective_value,
    refuse_no_rule,
)
from labelance.learners._out_of_sample import (
    CV_FOLDS,
    KnownScores,
    ScoreSource,
    choose_source,
    out_of_bag_scores,
    out_of_fold_scores,
    refuse_fewer_rows_than_folds,
    refuse_single_label_estimator,
)
from labelance.learners._reduction import Weights, take_weights
from labelance.model_selection import IterativeStratifiedKFold

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
    names: tuple[Any, ...] | None = None,
) -> np.ndarray:
    """Return for every label the threshold t that does best with ``score >= t``.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    scores : ndarray of shape (n, q)
        Scores of the same rows.
    objective : {"f1", "gmean", "balanced_accuracy"} or callable
        What to maximise: a measure, or a function of the true positives, false positives, false
        negatives and true negatives, whose last axis is that of the labels.
    search : {"exact", "grid"}
        Try every distinct score, or the 19 values 0.05, 0.10, … 0.95. Among equals, exact
        takes the largest threshold and the grid the smallest.
    variant : {"paper", "mulan"}
        Where nothing on the grid is better than 0, keep 0.5, with a warning; or 0, which
        predicts the label everywhere, as the authors' program does.
    weight : ndarray of shape (n,) or None
        How often every row counts; None is once.
    names : tuple or None
        Names of the labels, for a warning.

    Returns
    -------
    thresholds : ndarray of shape (q,)
        Infinite (exact search) for labels that no row has, and where a function is largest
        if the label is never predicted.
    """
    positive = _as_mask(Y)
    if search == "exact":
        return _exact(positive, scores, weight, objective)
    return _on_grid(positive, scores, weight, objective, variant, names)


def _as_mask(Y: sp.csr_array) -> np.ndarray:
    """Return where labels are present, as dense as the scores are."""
    positive = np.zeros(Y.shape, dtype=bool)
    positive[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices] = True
    return positive


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
    value = objective_value(objective, hits, chosen - hits, n_positive, n)
    # A threshold takes all rows with its score, so only the end of a run of equals counts.
    run_goes_on = np.zeros(scores.shape, dtype=bool)
    run_goes_on[:-1] = ranked[:-1] == ranked[1:]
    value[run_goes_on] = -np.inf
    best = np.argmax(value, axis=0)
    thresholds = ranked[best, np.arange(scores.shape[1])].astype(float)
    if callable(objective):  # measures by name gain nothing by never predicting a label
        none = objective_value(objective, 0 * n_positive, 0 * n_positive, n_positive, n)
        thresholds[none >= value.max(axis=0)] = np.inf
    thresholds[~positive.any(axis=0)] = np.inf
    return thresholds


def _on_grid(
    positive: np.ndarray,
    scores: np.ndarray,
    weight: Weights,
    objective: Objective,
    variant: Variant,
    names: tuple[Any, ...] | None,
) -> np.ndarray:
    """Try the values of the grid, from the smallest up."""
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    values = []
    for threshold in GRID:
        chosen = scores >= threshold
        hits = _count(chosen & positive, weight)
        false = _count(chosen, weight) - hits
        values.append(objective_value(objective, hits, false, n_positive, n))
    table = np.array(values)
    thresholds = GRID[np.argmax(table, axis=0)]
    hopeless = table.max(axis=0) <= 0
    if hopeless.any() and not callable(objective):  # 0 is nothing special to a function
        thresholds[hopeless] = 0.0 if variant == "mulan" else 0.5
        if variant == "paper":
            warn_user(
                f"No threshold finds a true positive of {hopeless.sum()} of {len(hopeless)} "
                f"labels: {name_columns(np.flatnonzero(hopeless), names)}. They keep 0.5.",
                UndefinedLabelWarning,
            )
    return thresholds


def _count(rows: np.ndarray, weight: Weights) -> Any:
    """Return how many rows there are in every column of a mask, or their weight."""
    return rows.sum(axis=0) if weight is None else weight @ rows


def pooled_threshold(
    Y: sp.csr_array,
    scores: np.ndarray,
    thresholds: np.ndarray,
    *,
    objective: Objective = "f1",
    weight: Weights = None,
) -> float:
    """Return the threshold that is best for all labels alike, among those of the labels.

    Best is the largest mean of the objective over labels that some row has. Of more than 100
    thresholds the percentiles are tried; 0.5 where there is none.
    """
    tried = np.unique(thresholds[np.isfinite(thresholds)])
    if len(tried) > _MOST_POOLED:
        tried = np.quantile(tried, np.linspace(0, 1, _MOST_POOLED))
    if not len(tried):
        return 0.5
    positive = _as_mask(Y)
    n_positive, n = _count(positive, weight), _count(np.ones(len(scores), dtype=bool), weight)
    means = []
    for threshold in tried:
        chosen = scores >= threshold
        hits = _count(chosen & positive, weight)
        false = _count(chosen, weight) - hits
        value = objective_value(objective, hits, false, n_positive, n)
        means.append(value[n_positive > 0].mean())
    return float(tried[np.argmax(means)])


def shrink_thresholds(
    thresholds: np.ndarray, pooled: float, n_positive: np.ndarray, strength: float
) -> np.ndarray:
    """Return means of every label's own threshold and the pooled one.

    The label's own counts as often as rows have the label, the pooled one ``strength`` times;
    an infinite threshold stays.
    """
    own = np.where(np.isfinite(thresholds), thresholds, pooled)
    shrunk = (n_positive * own + strength * pooled) / np.maximum(n_positive + strength, 1e-300)
    return np.where(np.isfinite(thresholds), shrunk, thresholds)


_MOST_POOLED = 100
_SHRINKAGE = 5.0


class ThresholdClassifier(WeightedClassifier):
    """Base of learners that predict a label where its score reaches ``thresholds_``.

    A subclass calls ``_choose_thresholds`` when it has scores of rows with known labels.
    """

    objective: Any = "f1"
    shrinkage: float | Literal["auto"] = 0.0
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
        self.thresholds_ = self._find_thresholds(Y, scores, weight)
        strength = self._shrinkage_strength()
        if strength > 0:
            pooled = pooled_threshold(
                Y, scores, self.thresholds_, objective=self.objective, weight=weight
            )
            n_positive = _count(_as_mask(Y), weight)
            self.thresholds_ = shrink_thresholds(self.thresholds_, pooled, n_positive, strength)

    def _shrinkage_strength(self) -> float:
        if self.shrinkage != "auto":
            return self.shrinkage
        return 0.0 if callable(self.objective) else _SHRINKAGE

    def _find_thresholds(self, Y: sp.csr_array, scores: np.ndarray, weight: Weights) -> np.ndarray:
        """Return every label's own threshold."""
        return best_thresholds(
            Y,
            scores,
            objective=self.objective,
            search=self.threshold_search,
            variant=self.variant,
            weight=weight,
            names=self.label_names_,
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
        if isinstance(self.objective, CostMatrix):
            self.objective.refuse_other_labels(data.Y.shape[1])
        elif callable(self.objective):
            refuse_no_rule(self.objective, data.Y.shape[1])

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
        if self._threshold_source() == "train" or Y.shape[0] < CV_FOLDS:
            return np.full(self.n_labels_, np.nan)
        folds = _stratified_folds(Y) if known.folds is None else known.folds
        found = np.full((CV_FOLDS, self.n_labels_), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedLabelWarning)
            for fold in range(CV_FOLDS):
                rows = np.flatnonzero(folds == fold)
                part = take_weights(weight, rows)
                own = self._find_thresholds(Y[rows], known.scores[rows], part)
                seen = np.isfinite(own) & (column_counts(Y[rows]) > 0)
                found[fold, seen] = own[seen]
        enough = np.isfinite(found).sum(axis=0) > 1
        spread = np.full(self.n_labels_, np.nan)
        spread[enough] = np.nanstd(found[:, enough], axis=0, ddof=1)
        return spread


def _stratified_folds(Y: sp.csr_array) -> np.ndarray:
    """Return the fold of every row; always the same for the same labels."""
    folds = np.empty(Y.shape[0], dtype=int)
    splitter = IterativeStratifiedKFold(CV_FOLDS, random_state=0)
    for fold, (_, test) in enumerate(splitter.split(np.empty((Y.shape[0], 1)), Y)):
        folds[test] = fold
    return folds


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
        pipeline, and :class:`EMLS`, each with ``bootstrap=True``); "cv", out-of-fold scores of
        3 stratified folds; "train", the training rows, which are optimistic. "auto" is "oob"
        where that is possible, since it costs nothing, and "cv" where not.
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
    EMLS : The same over an ensemble of resampled data sets.
    LabelCalibration : Makes probabilities of scores.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import LabelThresholds
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
        shrinkage: float | Literal["auto"] = "auto",
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
