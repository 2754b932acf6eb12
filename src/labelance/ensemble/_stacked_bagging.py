"""Stacked bagging: bags next to synthetic rows, and a second level over out-of-bag scores."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, logit

from labelance._arrays._containers import column_counts
from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import (
    Data,
    cell_weights,
    count_known,
    known_cells,
    labels_known_together,
    take_unknown,
)
from labelance.decisions._held_out import HeldOutScores, ScoreSource, training_scores
from labelance.decisions._objectives import Objective
from labelance.decisions._search import (
    SHRINKING,
    Shrinkage,
    ShrinkTo,
    ThresholdSearch,
    Variant,
    check_tunable,
    tune_thresholds,
)
from labelance.ensemble._logistic import Floats, center_and_width, fit_logistic_regressions
from labelance.ensemble._members import SampledEnsemble
from labelance.ensemble._training_sets import BootstrapKind, ReadySets, plans_for_all_bags
from labelance.model_selection._splitters import assign_folds, strata
from labelance.sampling import MLSOL

_FOLDS = 5
# A label that is nearly always 0 has scores of twenty standard deviations.
_MOST = 3.0
_FEWEST, _HALF_TRUSTED = 2, 5  # rows of a label's rarer class
_FREE = 1e6  # C of a regression that nothing holds back


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
        self, data: Data, X: Any, weight: Weights = None, training_sets: ReadySets = None
    ) -> None:
        check_tunable(self, self.tune_on, data)
        rng = as_generator(self.random_state)
        # From one plan, where new rows have two parents.
        bags: BootstrapKind = "parents" if plans_for_all_bags(self._make_sampler()) else True
        self._fit_members(data, weight, rng, training_sets, bootstrap=bags, unseen=True)
        self._weight = weight  # for the scores of rows left out, which calibration asks for
        known = super()._scores_left_out(data)
        rows = self._level_rows(data, known)
        self._level = SecondLevel.fit(rows)
        self.stacked_labels_ = self._level.labels
        self.coef_, self.intercept_ = self._level.coef, self._level.intercept
        judged = HeldOutScores(known.rows[:0], known.scores[:0])
        if self.oob_score or (self.objective is not None and self.tune_on == "oob"):
            # By second levels that each left a fold of the rows out, which it judges.
            judged = known._replace(scores=combine_by_folds(rows))
        if self.oob_score:
            self.oob_decision_function_ = np.full(data.Y.shape, np.nan)
            self.oob_decision_function_[judged.rows] = judged.scores

        def score() -> HeldOutScores:
            return judged if len(judged.rows) else training_scores(self, data)

        found = tune_thresholds(self, self.tune_on, data, weight, score)
        self.thresholds_, self.threshold_spread_ = found

    def _level_rows(self, data: Data, known: HeldOutScores) -> LevelRows:
        """Return what a second level learns from, and how."""
        Y, weight = data.Y[known.rows], take_weights(self._weight, known.rows)
        unknown = take_unknown(data.unknown, known.rows)
        weights = second_level_weights(Y, unknown)
        return LevelRows(Y, known.scores, weights, self.C, weight, unknown)

    def _has_bags(self) -> bool:
        """Say that there are rows that members know nothing of, and who left them out."""
        return True

    def _scores_left_out(self, data: Data) -> HeldOutScores:
        """Return the rows that some member left out, combined by second levels of other rows."""
        known = super()._scores_left_out(data)
        return known._replace(scores=combine_by_folds(self._level_rows(data, known)))

    def _combine(self, mean: np.ndarray) -> np.ndarray:
        """Return the scores of the ensemble from the mean score of members."""
        return self._level.combine(mean)


class MLSOLBagging(StackedBagging):
    """Stacked bagging over MLSOL.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSOL, optional
        One with other parameters than the ratio 1, of which about two fifths are left in a bag.
    n_estimators, max_features, C, objective
        As in :class:`StackedBagging`.
    threshold_search, tune_on, shrinkage, shrink_to, oob_score, variant, random_state, n_jobs,
    verbose
        As in :class:`StackedBagging`.

    Attributes
    ----------
    estimators_, estimators_features_, stacked_labels_, coef_, intercept_, thresholds_
        As in :class:`StackedBagging`.
    threshold_spread_, oob_decision_function_
        As in :class:`StackedBagging`.

    See Also
    --------
    StackedBagging : The same over any sampler.
    EMLSOL : The paper's ensemble.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import MLSOLBagging
    >>> from labelance.learners import BinaryRelevance
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = MLSOLBagging(BinaryRelevance(), random_state=0).fit(X, y)
    >>> model.predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSOL(sampling_ratio=1.0) if self.sampler is None else self.sampler


# --- the second level: what the scores of all labels say about each label -------------------------


def second_level_weights(Y: sp.csr_array, unknown: sp.csr_array | None = None) -> Floats:
    """Return the weight that a second level has next to the members, for every label.

    One half for labels in many rows; the fewer rows of the rarer class there are, the less.
    """
    positives = column_counts(Y)
    rarer = np.minimum(positives, count_known(Y, unknown) - positives)
    return np.where(rarer >= _FEWEST, rarer / (rarer + _HALF_TRUSTED) / 2, 0.0)


class LevelRows(NamedTuple):
    """Rows that a second level learns from: their labels, and the scores of members."""

    Y: sp.csr_array
    scores: Floats
    weights: Floats  # of the second level next to the members, for every label
    C: float | None  # None: no label has a regression
    sample_weight: Weights = None
    unknown: sp.csr_array | None = None

    def take(self, rows: Any) -> LevelRows:
        """Return some of the rows."""
        return self._replace(
            Y=self.Y[rows],
            scores=self.scores[rows],
            sample_weight=take_weights(self.sample_weight, rows),
            unknown=take_unknown(self.unknown, rows),
        )


@dataclass(frozen=True, eq=False)
class SecondLevel:
    """Logistic regressions of some labels on the standardised scores of all labels.

    Attributes
    ----------
    labels : ndarray of int
        The labels that have a regression.
    weights : ndarray of shape (n_stacked,)
        How much of the combined score is the regression's.
    center, width : ndarray of shape (n_labels,)
        Mean and standard deviation of the scores of every label.
    coef, intercept : ndarray of shape (n_stacked, n_labels) and (n_stacked,)
        The regressions.
    """

    labels: np.ndarray
    weights: Floats
    center: Floats
    width: Floats
    coef: Floats
    intercept: Floats

    @classmethod
    def fit(cls, rows: LevelRows) -> SecondLevel:
        """Fit those of the labels with a weight that some rows have and others have not.

        Each is fitted to the rows in which it is known.
        """
        Y, scores, weights, C, sample_weight, unknown = rows
        counts = column_counts(Y)
        varies = (counts > 0) & (counts < count_known(Y, unknown))
        labels = np.flatnonzero(varies & (weights > 0) & (C is not None))
        center, width = center_and_width(scores, sample_weight)
        given = (labels, weights[labels], center, width)
        if C is None or not len(labels):
            return cls(*given, np.empty((0, Y.shape[1])), np.empty(0))
        level = _standardise(scores, center, width)
        present = Y.toarray().astype(float)
        slope = _common_slope(
            level[:, varies], present[:, varies], sample_weight, known_cells(unknown, varies)
        )
        coef, intercept = np.empty((len(labels), Y.shape[1])), np.empty(len(labels))
        for known, group in labels_known_together(known_cells(unknown, labels)):
            part, here = level[known], labels[group]
            coef[group], intercept[group] = fit_logistic_regressions(
                part,
                present[:, here][known],
                C,
                take_weights(sample_weight, known),
                slope * part[:, here],
            )
        coef[np.arange(len(labels)), labels] += slope
        return cls(*given, coef, intercept)

    def combine(self, scores: Floats) -> Floats:
        """Return the weighted means of scores and of what the regressions make of them."""
        found, labels = scores.copy(), self.labels
        level = _standardise(scores, self.center, self.width)
        second = expit(level @ self.coef.T + self.intercept)
        found[:, labels] += self.weights * (second - found[:, labels])
        return found


def combine_by_folds(rows: LevelRows) -> Floats:
    """Combine the scores of every fold by a second level that learned from the other folds."""
    combined = rows.scores.copy()
    if rows.C is None or not rows.weights.any():
        return combined
    n_folds = min(_FOLDS, len(combined))
    # Always the same for the same labels.
    folds = assign_folds(strata(rows.Y, rows.unknown), n_folds, random_state=0)
    for fold in range(n_folds):
        level = SecondLevel.fit(rows.take(folds != fold))
        combined[folds == fold] = level.combine(rows.scores[folds == fold])
    return combined


def _common_slope(
    level: Floats, present: Floats, sample_weight: Weights, known: Any = None
) -> float:
    """Return what a standardised score says of its own label, one slope for all labels.

    Ridge draws the regression of a rare label to this and not to no slope at all. How frequent
    the labels are is given.
    """
    frequency = np.average(present, axis=0, weights=cell_weights(sample_weight, known))
    given = np.broadcast_to(logit(frequency), present.shape)
    cells = slice(None) if known is None else np.flatnonzero(known)
    own, here, offset = (part.reshape(-1, 1)[cells] for part in (level, present, given))
    heavy = None if sample_weight is None else np.repeat(sample_weight, present.shape[1])[cells]
    coef, _ = fit_logistic_regressions(own, here, _FREE, heavy, offset)
    return max(0.0, coef.item())


def _standardise(scores: Floats, center: Floats, width: Floats) -> Floats:
    return np.clip((scores - center) / width, -_MOST, _MOST)
