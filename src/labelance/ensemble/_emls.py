"""EMLS: any sampler times any learner, averaged, with a threshold for every label."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from labelance._utils._messages import warning_once
from labelance._utils._random import as_generator
from labelance._validation._arguments import Weights
from labelance._validation._data import Data
from labelance.decisions._held_out import (
    HeldOutScores,
    ScoreSource,
    check_no_single_label_estimator,
    out_of_fold_scores,
    training_scores,
)
from labelance.decisions._objectives import Objective
from labelance.decisions._search import ThresholdSearch, Variant
from labelance.decisions._thresholds import ThresholdRule
from labelance.ensemble._members import (
    Members,
    SampledEnsemble,
    check_rows_left_out,
    fit_members,
)
from labelance.ensemble._training_sets import (
    DRAWING,
    BootstrapKind,
    TrainingSet,
)
from labelance.exceptions import InputError


class EMLS(SampledEnsemble):
    """Ensemble of Multi-Label Sampling.

    Each of M members learns from its own draw of a sampler; the score of a label is the mean
    of the members' scores, and it is predicted where that mean reaches the label's threshold.
    Averaging takes away much of the variance that sampling brings.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with ``predict_proba`` or ``decision_function``.
    sampler : object with ``fit_resample``, or None
        A sampler of ours makes one plan (one neighbor search) for all members; any other is
        called once for each member. None samples nothing: with ``bootstrap=True`` that is
        plain bagging.
    n_estimators : int, default=5
        The number M of members.
    objective : {"f1", "gmean", "balanced_accuracy"}, callable or None, default="f1"
        What the thresholds maximise; None keeps 0.5. As in
        :class:`~labelance.decisions.LabelThresholds`.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the paper's authors do.
    tune_on : {"auto", "oob", "cv", "train"}, default="auto"
        Whose scores the thresholds are found on: "train", the training rows, as in the paper;
        "oob", rows that members left out (with ``bootstrap=True``, ``"parents"``, or samplers that
        delete rows); "cv", out-of-fold scores of 3 stratified folds, sampling inside each, which
        takes three more ensembles. "auto" is "oob" with ``bootstrap=True`` or ``"parents"`` (and no
        warm start), else "cv".
    bootstrap : bool, "originals" or "parents", default=False
        Draw the rows of every member with replacement. True draws before sampling. "originals"
        samples from all rows and draws among the original ones only, which keeps one plan for
        all members. "parents" also keeps only the new rows whose two parents were drawn (MLSOL),
        so that a member sees nothing of the other rows.
    max_features : int or float, default=1.0
        The features that every member sees, drawn without replacement: a number, or a share.
    variant : {"paper", "mulan"}, default="paper"
        What a label keeps for which no value of the grid is any good: 0.5, with a warning, or
        0 as in the program of the paper's authors.
    random_state : int, RandomState, Generator or None, default=None
        One stream a member; the same int gives the same ensemble for any ``n_jobs``. The
        learners themselves are clones with the seed that ``estimator`` has.
    warm_start : bool, default=False
        Keep the members of the ``fit`` before, and fit only those that ``n_estimators`` asks
        for beyond them; data and seed must be the same. Not with out-of-bag thresholds.
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
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this.
    threshold_spread_ : ndarray of shape (n_labels,)
        How much a label's threshold depends on the rows, as in
        :class:`~labelance.decisions.LabelThresholds`.

    See Also
    --------
    labelance.decisions.LabelThresholds : Thresholds without sampling.
    StackedBagging : A second level over the rows that members left out.
    labelance.decisions.LabelCalibration : Makes probabilities of scores.

    References
    ----------
    B. Liu, G. Tsoumakas (2019): Synthetic Oversampling of Multi-Label Data based on Local
    Label Distribution. ECML PKDD, section 3.3.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLS
    >>> from labelance.sampling import MLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> model = EMLS(tree, MLSOL(), random_state=0).fit(X, y)
    >>> len(model.estimators_), model.predict_proba(X).shape
    (5, (200, 10))
    """

    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SampledEnsemble._parameter_constraints,
        "bootstrap": DRAWING["bootstrap"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        n_estimators: int = 5,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        tune_on: ScoreSource = "auto",
        bootstrap: BootstrapKind = False,
        max_features: float = 1.0,
        variant: Variant = "paper",
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.n_estimators = n_estimators
        self.objective = objective
        self.threshold_search = threshold_search
        self.tune_on = tune_on
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.variant = variant
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _hands_on_rows(self) -> bool:
        return self._make_sampler() is None and super()._hands_on_rows()

    def _validate(self, X: Any, y: Any) -> Data:
        self._check_member_count()
        data = super()._validate(X, y)
        if self._members_before() is not None:
            self._check_no_other_columns(data)
        return data

    def _members_before(self) -> Members | None:
        """Return the members of the fit before, where they are kept."""
        return getattr(self, "_members", None) if self.warm_start else None

    @warning_once()  # not once for every fold
    def _fit(
        self,
        data: Data,
        X: Any,
        weight: Weights = None,
        training_sets: Sequence[TrainingSet] | None = None,
    ) -> None:
        check_no_single_label_estimator(self.estimator, caller=type(self).__name__)
        rule = self._rule()
        rule.check_no_impossible(data)
        self._check_no_warm_start_out_of_bag()
        if training_sets is None:
            self._check_no_oob_without_rows_left_out()
            self._check_no_rows_from_outside_bags()
        rng = as_generator(self.random_state)
        self._members = fit_members(
            self,
            data,
            weight,
            rng,
            training_sets,
            bootstrap=self.bootstrap,
            unseen=self._tunes_out_of_bag(),
            before=self._members_before(),
        )
        if not (self._tunes_out_of_bag() or self._has_bags()):
            self._members = self._members.without_rows()  # nothing asks for them
        self.estimators_ = self._members.estimators()
        self.estimators_features_ = self._members.features()
        found = rule.find(data, weight, partial(self._held_out_scores, data, weight, rng))
        self.thresholds_, self.threshold_spread_ = found.values, found.spread

    def _rule(self) -> ThresholdRule:
        return ThresholdRule(self.objective, self.threshold_search, self.variant, self._source())

    def _source(self) -> ScoreSource:
        if self.tune_on != "auto":
            return self.tune_on
        return "oob" if self._has_bags() else "cv"

    def _has_bags(self) -> bool:
        """Say whether there are rows that members know nothing of, and who left them out."""
        return self.bootstrap in (True, "parents") and not self.warm_start

    def _tunes_out_of_bag(self) -> bool:
        return self.objective is not None and self._source() == "oob"

    def _held_out_scores(
        self, data: Data, weight: Weights, rng: np.random.Generator, source: ScoreSource
    ) -> HeldOutScores:
        if source == "oob":
            return self._scores_left_out(data)
        if source == "cv":
            return out_of_fold_scores(self._untuned, data, weight, rng, self._schema)
        return training_scores(self, data)

    def _scores_left_out(self, data: Data) -> HeldOutScores:
        """Return the rows that some member left out, scored by the members that did."""
        known = self._members.held_out(data)
        check_rows_left_out(known, data)
        return known

    def _untuned(self, random_state: np.random.Generator) -> EMLS:
        return clone(self).set_params(
            objective=None, tune_on="train", random_state=random_state, warm_start=False
        )

    def _check_member_count(self) -> None:
        before = self._members_before()
        n = 0 if before is None else len(before.members)
        if n > self.n_estimators:
            raise InputError(
                f"With warm_start=True, n_estimators must be at least {n}, as before",
                f"Got n_estimators={self.n_estimators}",
                "Raise n_estimators, or set warm_start=False to refit all members",
            )

    def _check_no_other_columns(self, data: Data) -> None:
        before, now = (self.n_features_in_, self.n_labels_), (data.X.shape[1], data.Y.shape[1])
        if before != now:
            raise InputError(
                f"With warm_start=True, the data must have {before[0]} features and "
                f"{before[1]} labels, as before",
                f"Got {now[0]} features and {now[1]} labels",
                "Pass the same data, or set warm_start=False to refit all members",
            )

    def _check_no_warm_start_out_of_bag(self) -> None:
        if self.warm_start and self._tunes_out_of_bag():
            raise InputError(
                'tune_on="oob" needs the rows that every member left out',
                "With warm_start=True, those of earlier members are not kept",
                'Set warm_start=False, or use tune_on="cv"',
            )

    def _check_no_rows_from_outside_bags(self) -> None:
        if self.bootstrap == "originals" and self._tunes_out_of_bag():
            raise InputError(
                'tune_on="oob" needs rows that a member has not seen',
                'With bootstrap="originals", new rows are also made from rows outside its bag',
                'Use bootstrap=True, or tune_on="cv"',
            )

    def _check_no_oob_without_rows_left_out(self) -> None:
        sampler = self._make_sampler()
        traits = getattr(sampler, "traits", None)
        # What a foreign sampler leaves out shows only after its draws.
        deletes = traits.deletes if traits else sampler is not None
        if self.tune_on == "oob" and not (self.bootstrap or deletes):
            raise InputError(
                'tune_on="oob" needs members that leave rows out',
                f"bootstrap is False and {sampler} keeps all rows",
                'Set bootstrap=True, or use tune_on="cv"',
            )
