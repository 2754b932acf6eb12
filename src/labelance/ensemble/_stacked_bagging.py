"""Stacked bagging: bags next to synthetic rows, and a second level over out-of-bag scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import Data
from labelance._validation._labels import take_unknown
from labelance.decisions._held_out import (
    HeldOutScores,
    ScoreSource,
    check_no_single_label_estimator,
    training_scores,
)
from labelance.decisions._objectives import Objective
from labelance.decisions._search import SHRINKING, Shrinkage, ShrinkTo, ThresholdSearch, Variant
from labelance.decisions._thresholds import ThresholdRule
from labelance.ensemble._members import (
    SampledEnsemble,
    check_rows_left_out,
    fit_members,
)
from labelance.ensemble._second_level import (
    SecondLevel,
    combine_by_folds,
    second_level_weights,
)
from labelance.ensemble._training_sets import (
    TrainingSet,
    plans_for_all_bags,
)


class StackedBagging(SampledEnsemble):
    """Bags of rows next to synthetic ones, averaged, and corrected by a second level.

    Each member learns from a bootstrap bag, from the rows that a sampler makes out of rows of
    the bag, and from a random share of the features. What the members say of the rows outside
    their bags is honest; from it a strongly regularised logistic regression for every label
    learns what the scores of *all* labels tell about it, drawn to what a score tells about its
    own label in the mean over labels. The score of a label is a weighted mean of what the
    members say and of what the second level makes of it: with m rows of the rarer class, out of
    bag, the second level has the weight m / (m + 5) / 2, and none for fewer than two.

    It helps where members disagree, as trees do, and where labels depend on each other. It has
    little to add to a learner that models the labels together. Unknown cells of y (NaN) are left
    out by every level, if the estimator and the sampler do without them.

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
    max_features : int or float, default=0.85
        The features that every member sees, drawn without replacement: a number, or a share.
    C : float or None, default=0.1
        Inverse strength of the second level's regularisation, as in
        :class:`sklearn.linear_model.LogisticRegression`; None leaves the second level out.
    objective : {"f1", "gmean", "balanced_accuracy"}, callable or None, default="f1"
        What the thresholds maximise; None keeps 0.5. As in
        :class:`~labelance.decisions.LabelThresholds`.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95.
    tune_on : {"oob", "train"}, default="oob"
        Whose scores the thresholds are found on: rows that members left out, judged by a second
        level that did not learn from them either, or the training rows, as in the paper.
    shrinkage, shrink_to : float or "auto", {"auto", "prevalence", "pooled"}, default="auto"
        How much thresholds of rare labels are shrunk, and to what, as in
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
        What the standardised score of every label (columns), at most three standard deviations
        off, says for a label with a second level (rows).
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
        **SampledEnsemble._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), None],
        "tune_on": [StrOptions({"oob", "train"})],
        **SHRINKING,
        "oob_score": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        n_estimators: int = 5,
        max_features: float = 0.85,
        C: float | None = 0.1,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        tune_on: ScoreSource = "oob",
        shrinkage: Shrinkage = "auto",
        shrink_to: ShrinkTo = "auto",
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
        self.objective = objective
        self.threshold_search = threshold_search
        self.tune_on = tune_on
        self.shrinkage = shrinkage
        self.shrink_to = shrink_to
        self.oob_score = oob_score
        self.variant = variant
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(
        self,
        data: Data,
        X: Any,
        weight: Weights = None,
        training_sets: Sequence[TrainingSet] | None = None,
    ) -> None:
        check_no_single_label_estimator(self.estimator, caller=type(self).__name__)
        rule = ThresholdRule(
            self.objective,
            self.threshold_search,
            self.variant,
            self.tune_on,
            self.shrinkage,
            self.shrink_to,
        )
        rule.check_no_impossible(data)
        rng = as_generator(self.random_state)
        self._members = fit_members(
            self,
            data,
            weight,
            rng,
            training_sets,
            # From one plan, where new rows have two parents.
            bootstrap="parents" if plans_for_all_bags(self._make_sampler()) else True,
            unseen=True,
        )
        self.estimators_ = self._members.estimators()
        self.estimators_features_ = self._members.features()
        self._weight = weight  # for the scores of rows left out, which calibration asks for
        known = self._members.held_out(data)
        table = self._level_table(data, known)
        self._level = SecondLevel.fit(*table)
        self.stacked_labels_ = self._level.labels
        self.coef_, self.intercept_ = self._level.coef, self._level.intercept
        judged = HeldOutScores(known.rows[:0], known.scores[:0])
        if self.oob_score or (self.objective is not None and self.tune_on == "oob"):
            # By second levels that each left a fold of the rows out, which it judges.
            judged = HeldOutScores(known.rows, combine_by_folds(*table))
        if self.oob_score:
            self.oob_decision_function_ = np.full(data.Y.shape, np.nan)
            self.oob_decision_function_[judged.rows] = judged.scores
        found = rule.find(data, weight, partial(self._held_out_scores, data, judged))
        self.thresholds_, self.threshold_spread_ = found.values, found.spread

    def _level_table(self, data: Data, known: HeldOutScores) -> tuple[Any, ...]:
        """Return what a second level learns from, and how."""
        Y, weight = data.Y[known.rows], take_weights(self._weight, known.rows)
        unknown = take_unknown(data.unknown, known.rows)
        return Y, known.scores, second_level_weights(Y, unknown), self.C, weight, unknown

    def _held_out_scores(
        self, data: Data, judged: HeldOutScores, source: ScoreSource
    ) -> HeldOutScores:
        if source == "oob" and len(judged.rows):
            return judged
        return training_scores(self, data)

    def _has_bags(self) -> bool:
        """Say that there are rows that members know nothing of, and who left them out."""
        return True

    def _scores_left_out(self, data: Data) -> HeldOutScores:
        """Return the rows that some member left out, scored by the members that did."""
        known = self._members.held_out(data)
        check_rows_left_out(known, data)
        scores = combine_by_folds(*self._level_table(data, known))
        return HeldOutScores(known.rows, scores)

    def _combine(self, mean: np.ndarray) -> np.ndarray:
        """Return the scores of the ensemble from the mean score of members."""
        return self._level.combine(mean)
