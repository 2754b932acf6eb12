"""Stacked bagging: honest bags beside synthetic rows, and a second level over out-of-bag scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from labelance._arrays import column_counts
from labelance._validation import Data
from labelance._validation._arguments import Weights, take_weights
from labelance.decisions._held_out import KnownScores, ScoreSource
from labelance.decisions._objectives import Objective
from labelance.decisions._search import Shrinkage, ThresholdSearch, Variant
from labelance.ensemble._emls import EMLS
from labelance.ensemble._logistic import Floats, fit_logistic_regressions
from labelance.ensemble._training_sets import BootstrapKind, TrainingSet, plans_for_all_bags
from labelance.model_selection import IterativeStratifiedKFold


class StackedBagging(EMLS):
    """Bags of rows beside synthetic ones, averaged, and corrected by a second level.

    Each member learns from a bootstrap bag, from the rows that a sampler makes out of rows of
    the bag, and from a random share of the features. What the members say of the rows outside
    their bags is honest; from it a strongly regularised logistic regression for every label
    learns what the scores of *all* labels tell about it. The score of a label is the mean of
    what the members say and of what the second level makes of it.

    It helps where members disagree, as trees do, and where labels depend on each other. It has
    little to add to a learner that models the labels together, and labels with fewer than
    ``min_positives`` rows are left as bagging has them.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``.
    sampler : object with ``fit_resample``, or None
        MLSOL makes one plan (one neighbor search) for all members, which keep the new rows whose
        parents are both in the bag. Any other sampler is called with every bag. None samples
        nothing.
    n_estimators : int, default=5
        The number of members.
    max_features : int or float, default=0.7
        The features that every member sees, drawn without replacement: a number, or a share.
    C : float or None, default=0.1
        Inverse strength of the second level's regularisation, as in
        :class:`sklearn.linear_model.LogisticRegression`; None leaves the second level out.
    min_positives : int, default=6
        Rows of the rarer class, out of bag, that a label needs for a second level.
    objective : {"f1", "gmean", "balanced_accuracy"}, callable or None, default="f1"
        What the thresholds maximise; None keeps 0.5. As in
        :class:`~labelance.decisions.LabelThresholds`.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95.
    threshold_data : {"oob", "train"}, default="oob"
        Whose scores the thresholds are found on: rows that members left out, judged by a second
        level that did not learn from them either, or the training rows, as in the paper.
    shrinkage : float or "auto", default="auto"
        How many rows with the label a threshold common to all labels counts as, as in
        :class:`~labelance.decisions.LabelThresholds`.
    oob_score : bool, default=False
        Keep the scores of out-of-bag rows.
    variant : {"paper", "mulan"}, default="paper"
        What a label keeps for which no value of the grid is any good: 0.5, with a warning, or 0.
    random_state : int, RandomState, Generator or None, default=None
        One stream a member; the same int gives the same ensemble for any ``n_jobs``. The
        learners themselves are clones with the seed that ``estimator`` has.
    n_jobs : int, optional
        Members fitted at once.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : list of classifiers
        The fitted members.
    estimators_features_ : list of ndarray
        The columns of X that every member sees.
    stacked_labels_ : ndarray of int
        The labels that have a second level.
    coef_ : ndarray of shape (n_stacked, n_labels)
        What the standardised score of every label (columns) says for a label with a second
        level (rows).
    intercept_ : ndarray of shape (n_stacked,)
        The same, of no label in particular.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this.
    threshold_spread_ : ndarray of shape (n_labels,)
        How much a label's threshold depends on the rows, as in
        :class:`~labelance.decisions.LabelThresholds`.
    oob_decision_function_ : ndarray of shape (n_samples, n_labels)
        With ``oob_score=True``: scores of the training rows by the members that left them out,
        and by a second level that learned from the other four of five stratified folds, so that
        they look as those of new rows do. NaN for rows that every member saw.

    See Also
    --------
    MLSOLBagging : The same over MLSOL.
    EMLS : Members on draws of a sampler, without a second level.

    References
    ----------
    D. H. Wolpert (1992): Stacked generalization. Neural Networks 5.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import StackedBagging
    >>> from labelance.sampling import MLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> model = StackedBagging(tree, MLSOL(), random_state=0).fit(X, y)
    >>> len(model.estimators_), model.predict_proba(X).shape
    (5, (200, 10))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: kinds
            for name, kinds in EMLS._parameter_constraints.items()
            if name not in ("bootstrap", "warm_start")
        },
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "min_positives": [Interval(Integral, 1, None, closed="left")],
        "threshold_data": [StrOptions({"oob", "train"})],
        "shrinkage": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "oob_score": ["boolean"],
    }

    warm_start = False  # the second level needs the rows that every member left out

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        n_estimators: int = 5,
        max_features: float = 0.7,
        C: float | None = 0.1,
        min_positives: int = 6,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        threshold_data: ScoreSource = "oob",
        shrinkage: Shrinkage = "auto",
        oob_score: bool = False,
        variant: Variant = "paper",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.C = C
        self.min_positives = min_positives
        self.objective = objective
        self.threshold_search = threshold_search
        self.threshold_data = threshold_data
        self.shrinkage = shrinkage
        self.oob_score = oob_score
        self.variant = variant
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def bootstrap(self) -> BootstrapKind:  # type: ignore[override]
        """How bags are drawn: from one plan where the sampler's new rows have two parents."""
        return "within" if plans_for_all_bags(self._sampler()) else True

    def _fit(self, data: Data, X: Any, weight: Weights = None, **ready: Any) -> None:
        super()._fit(data, X, weight, **ready)
        del self._judged  # only what is fitted needs it

    def _fit_model(
        self,
        data: Data,
        weight: Weights,
        rng: np.random.Generator,
        training_sets: Sequence[TrainingSet] | None = None,
    ) -> None:
        super()._fit_model(data, weight, rng, training_sets)
        rows, scores = self._out_of_bag_scores(data)
        self._weight = weight  # for whoever asks for the scores of rows left out
        self._fit_second_level(data.Y[rows], scores, take_weights(weight, rows))
        self._judged = KnownScores(rows[:0], scores[:0])
        if self.oob_score or self._tunes_out_of_bag():
            self._judged = KnownScores(rows, self._combine_left_out(data, rows, scores))
        if self.oob_score:
            self.oob_decision_function_ = np.full(data.Y.shape, np.nan)
            self.oob_decision_function_[rows] = self._judged.scores

    def _needs_rows_left_out(self) -> bool:
        return True

    def _learns_out_of_bag(self) -> bool:
        return True

    def _fit_second_level(self, Y: sp.csr_array, scores: Floats, weight: Weights) -> None:
        positives = column_counts(Y)
        enough = np.minimum(positives, Y.shape[0] - positives) >= self.min_positives
        self.stacked_labels_ = np.flatnonzero(enough & (self.C is not None))
        self._level = SecondLevel.fit(Y, scores, self.stacked_labels_, self.C, weight)
        self.coef_, self.intercept_ = self._level.coef, self._level.intercept

    def _combine_left_out(self, data: Data, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Combine by second levels that each left a fold of the rows out, which it judges."""
        scores, labels = mean.copy(), self.stacked_labels_
        Y, weight = data.Y[rows], take_weights(self._weight, rows)
        for train, test in _folds(Y) if len(labels) else ():
            part = take_weights(weight, train)
            level = SecondLevel.fit(Y[train], mean[train], labels, self.C, part)
            scores[test] = level.combine(mean[test])
        return scores

    def _tuning_scores(self, data: Data, weight: Weights, rng: np.random.Generator) -> KnownScores:
        if self.threshold_data == "oob" and len(self._judged.rows):
            return self._judged
        scores = self._scores(data.X, data.features.container.native)
        return KnownScores(np.arange(data.n_samples), scores)

    def _combine(self, mean: np.ndarray) -> np.ndarray:
        return self._level.combine(mean)

    def _untuned(self, random_state: np.random.Generator) -> StackedBagging:
        return clone(self).set_params(objective=None, random_state=random_state)


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


def _folds(Y: sp.csr_array) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and test rows of stratified folds, always the same for the same labels."""
    splitter = IterativeStratifiedKFold(min(_FOLDS, Y.shape[0]), random_state=0)
    return splitter.split(np.empty((Y.shape[0], 1)), Y)


def _center_and_width(scores: np.ndarray, weight: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of every column and its standard deviation, 1 where all scores are equal."""
    if not len(scores):
        return np.zeros(scores.shape[1]), np.ones(scores.shape[1])
    center = np.average(scores, axis=0, weights=weight)
    width = np.sqrt(np.average((scores - center) ** 2, axis=0, weights=weight))
    # The mean of equal scores may differ from them by rounding, which must not become a scale.
    return center, np.where(width > _EQUAL, width, 1.0)
