"""EMLS: any sampler times any learner, averaged, with a threshold for every label.

EMLSOL, EMLSMOTE and ERHwRSMT bring their sampler along.
"""

from __future__ import annotations

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
    out_of_bag_scores,
    out_of_fold_scores,
)
from labelance.decisions._objectives import Objective
from labelance.decisions._search import ThresholdSearch, Variant, check_tunable, tune_thresholds
from labelance.ensemble._members import Member, SampledEnsemble
from labelance.ensemble._training_sets import DRAWING, BootstrapKind, ReadySets
from labelance.exceptions import InputError
from labelance.sampling import MLSMOTE, MLSOL, RHwRSMT


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
        warm start), else "cv". Without an objective nothing is tuned.
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
        data = super()._validate(X, y)
        if self._members_before():
            self._check_goes_on(data)
        return data

    def _members_before(self) -> list[Member]:
        """Return the members of the fit before, where they are kept."""
        return getattr(self, "_members", []) if self.warm_start else []

    @warning_once()  # not once for every fold
    def _fit(
        self, data: Data, X: Any, weight: Weights = None, training_sets: ReadySets = None
    ) -> None:
        source = self._source()
        check_tunable(self, source, data)
        out_of_bag = self.objective is not None and source == "oob"
        if out_of_bag:
            self._check_rows_left_out(training_sets)
        rng = as_generator(self.random_state)
        self._fit_members(
            data,
            weight,
            rng,
            training_sets,
            bootstrap=self.bootstrap,
            unseen=out_of_bag,
            before=self._members_before(),
        )
        if not (out_of_bag or self._has_bags()):  # nothing asks for rows that members left out
            none = np.empty(0, dtype=np.int64)
            self._members = [member._replace(left_out=none) for member in self._members]
        score = partial(self._held_out_scores, source, data, weight, rng)
        found = tune_thresholds(self, source, data, weight, score)
        self.thresholds_, self.threshold_spread_ = found

    def _source(self) -> ScoreSource:
        if self.tune_on != "auto":
            return self.tune_on
        return "oob" if self._has_bags() else "cv"

    def _has_bags(self) -> bool:
        """Say whether there are rows that members know nothing of, and who left them out."""
        return self.bootstrap in (True, "parents") and not self.warm_start

    def _held_out_scores(
        self, source: ScoreSource, data: Data, weight: Weights, rng: np.random.Generator
    ) -> HeldOutScores:
        if source == "oob":
            return out_of_bag_scores(self, data)
        return out_of_fold_scores(self._for_fold, data, weight, rng, self._schema)

    def _for_fold(self, random_state: np.random.Generator) -> EMLS:
        return clone(self).set_params(
            objective=None, tune_on="train", random_state=random_state, warm_start=False
        )

    def _check_goes_on(self, data: Data) -> None:
        """Raise unless a warm start keeps the members and has the columns of the fit before."""
        n, d, q = len(self._members), self.n_features_in_, self.n_labels_
        if n > self.n_estimators:
            needed, found = (
                f"n_estimators must be at least {n}",
                f"n_estimators={self.n_estimators}",
            )
        elif data.X.shape[1] != d or data.Y.shape[1] != q:
            needed = f"the data must have {d} features and {q} labels"
            found = f"{data.X.shape[1]} features and {data.Y.shape[1]} labels"
        else:
            return
        raise InputError(
            f"With warm_start=True, {needed}, as before",
            f"Got {found}",
            "Set warm_start=False to refit all members",
        )

    def _check_rows_left_out(self, training_sets: ReadySets) -> None:
        """Raise where no rows are known to be unseen by a member."""
        sampler = self._make_sampler()
        traits = getattr(sampler, "traits", None)
        # What a foreign sampler leaves out shows only after its draws.
        deletes = traits.deletes if traits else sampler is not None
        if self.warm_start:
            found = "With warm_start=True, the rows that earlier members left out are not kept"
        elif training_sets is not None:  # which say what they leave out
            return
        elif self.bootstrap == "originals":
            found = 'With bootstrap="originals", new rows are also made from rows outside its bag'
        elif not (self.bootstrap or deletes):
            found = f"bootstrap is False and {sampler} keeps all rows"
        else:
            return
        raise InputError(
            'tune_on="oob" needs rows that a member has not seen',
            found,
            'Set bootstrap=True without warm_start, or tune_on="cv"',
        )


class EMLSOL(EMLS):
    """EMLS over MLSOL: the ensemble that the paper proposes.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSOL, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLSOL
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> EMLSOL(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSOL() if self.sampler is None else self.sampler


class EMLSMOTE(EMLS):
    """EMLS over MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : MLSMOTE, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLSMOTE
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> EMLSMOTE(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return MLSMOTE() if self.sampler is None else self.sampler


class ERHwRSMT(EMLS):
    """EMLS over RHwRSMT, that is REMEDIAL and then MLSMOTE.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier that gives scores.
    sampler : RHwRSMT, optional
        One with other parameters than the defaults.
    n_estimators, objective, threshold_search, tune_on, bootstrap, max_features
        As in :class:`EMLS`.
    variant, random_state, warm_start, n_jobs, verbose
        As in :class:`EMLS`.

    Attributes
    ----------
    estimators_, estimators_features_, thresholds_, threshold_spread_
        As in :class:`EMLS`.

    See Also
    --------
    EMLS : The same over any sampler.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import ERHwRSMT
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> ERHwRSMT(tree, n_estimators=3, random_state=0).fit(X, y).predict(X).shape
    (200, 10)
    """

    def _make_sampler(self) -> Any:
        return RHwRSMT() if self.sampler is None else self.sampler
