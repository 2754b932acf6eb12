"""EMLS: any sampler times any learner, averaged, with a threshold for every label."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from pickle import PicklingError
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

import joblib
import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays import take_columns, take_rows
from labelance._classifier import fit_inner, inner_scores
from labelance._progress import run_parallel, track
from labelance._utils import is_repeatable
from labelance._validation import Data, Schema
from labelance._validation._arguments import Weights
from labelance.decisions._held_out import KnownScores, ScoreSource
from labelance.decisions._objectives import Objective
from labelance.decisions._search import ThresholdSearch, Variant
from labelance.decisions._thresholds import TunedClassifier
from labelance.ensemble._training_sets import (
    DRAWING,
    BootstrapKind,
    TrainingSet,
    make_source,
    refuse_sets_of_dropped_rows,
    refuse_sets_of_other_data,
    with_features,
)
from labelance.exceptions import InputError


class EMLS(TunedClassifier):
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
    threshold_data : {"auto", "oob", "cv", "train"}, default="auto"
        Whose scores the thresholds are found on: "train", the training rows, as in the paper;
        "oob", rows that members left out (with ``bootstrap=True``, ``"within"``, or samplers that
        delete rows); "cv", out-of-fold scores of 3 stratified folds, sampling inside each, which
        takes three more ensembles. "auto" is "oob" with ``bootstrap=True`` or ``"within"`` (and no
        warm start), else "cv".
    bootstrap : bool, "beside" or "within", default=False
        Draw the rows of every member with replacement: before sampling (True), or "beside" the
        rows that the sampler adds to all of them, which keeps one plan for all members, or
        beside those of them that are made from rows "within" the bag (MLSOL), which keeps the
        rows outside it unseen.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TunedClassifier._parameter_constraints,
        **DRAWING,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any,
        sampler: Any = None,
        *,
        n_estimators: int = 5,
        objective: Objective | None = "f1",
        threshold_search: ThresholdSearch = "exact",
        threshold_data: ScoreSource = "auto",
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
        self.threshold_data = threshold_data
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.variant = variant
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the class an ``__init__`` of its own name, which Python's errors tell."""
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            cls.__init__ = _rename(cls.__init__, f"{cls.__name__}.__init__")  # type: ignore[method-assign]

    estimators_: list[Any]
    estimators_features_: list[np.ndarray]
    threshold_search: Any
    _own_sampler: ClassVar[Any] = None  # makes the sampler of an ensemble with a name

    def _sampler(self) -> Any:
        """Return the sampler that members draw from, or None."""
        if self.sampler is None and self._own_sampler is not None:
            return self._own_sampler()
        return self.sampler

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        training_sets: Sequence[TrainingSet] | None = None,
    ) -> EMLS:
        """Fit the members, and choose the thresholds.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.
        y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, if the estimator takes weights. A synthetic row has the weight
            of its seed.
        training_sets : sequence of TrainingSet, optional
            What the members learn from, drawn before by :func:`draw_training_sets` and shared
            with other ensembles: the first ``n_estimators`` are used, with weights of their
            own, and the sampler only where thresholds need other models. Equal sets become one
            member, which is learned once, if every ``random_state`` of the estimator is an int.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        self._refuse_fewer_members()
        if training_sets is not None:
            self._refuse_few_sets(training_sets)
            refuse_sets_of_dropped_rows(sample_weight)
        self._learn(X, y, sample_weight, training_sets=training_sets)
        return self

    def _validate(self, X: Any, y: Any) -> Data:
        data = super()._validate(X, y)
        if self._members_before():
            self._refuse_other_columns(data)
        return data

    def _members_before(self) -> list[Any]:
        """Return the members of the fit before, where they are kept."""
        return getattr(self, "estimators_", []) if self.warm_start else []

    def _fit_model(
        self,
        data: Data,
        weight: Weights,
        rng: np.random.Generator,
        training_sets: Sequence[TrainingSet] | None = None,
    ) -> None:
        self._refuse_warm_start_out_of_bag()
        streams = rng.spawn(self.n_estimators)
        if training_sets is None:
            self._refuse_oob_without_rows_left_out()
            self._refuse_bags_beside_out_of_bag()
            X, Y = data.features.container.native, data.labels.table
            source = make_source(self._sampler(), X, Y, bootstrap=self.bootstrap, weight=weight)
            source = with_features(source, data.X.shape[1], self.max_features)
            draws = [partial(source.draw, stream) for stream in streams]
        else:
            ready = training_sets[: self.n_estimators]
            refuse_sets_of_other_data(ready, data)
            self._refuse_related_sets(ready)
            draws = [partial(_ready, drawn) for drawn in ready]
        digests = self._digests_of(training_sets)
        members = self._earlier_members()
        new = [n for n in range(len(members), len(draws)) if _first_of(digests, n) == n]
        members |= dict(zip(new, self._fit_members([draws[n] for n in new])))
        members = {n: members[_first_of(digests, n)] for n in range(len(draws))}
        self.estimators_ = [member.estimator for member in members.values()]
        self.estimators_features_ = [member.features for member in members.values()]
        left_out = [member.left_out for member in members.values()]
        self._left_out = left_out if self._needs_rows_left_out() else None
        self._digests = digests

    def _earlier_members(self) -> dict[int, Member]:
        """Return the members of the fit before, where they are kept, by their places."""
        before = self._members_before()
        nobody = np.empty(0, dtype=np.int64)  # a warm start looks at no rows that are left out
        features = self.estimators_features_ if before else []
        return {n: Member(*each, nobody) for n, each in enumerate(zip(before, features))}

    def _digests_of(self, training_sets: Sequence[TrainingSet] | None) -> list[Any]:
        """Return for every member what equal ones have in common, None for one that is nobody's.

        Members that learn the same rows are one, if chance has no part in what they learn. So are
        all where a sampler that votes or copies draws nothing, as MLSMOTE among nominal features.
        """
        before = self._members_before()
        kept = getattr(self, "_digests", [None] * len(before)) if before else []
        learner = None if training_sets is None else _digest_of(self.estimator)
        if training_sets is None or learner is None:
            return kept + [None] * (self.n_estimators - len(kept))
        sets = training_sets[len(kept) : self.n_estimators]
        return kept + [(learner, drawn.digest) for drawn in sets]

    def _fit_members(self, draws: Sequence[Callable[[], TrainingSet]]) -> list[Member]:
        unfitted = clone(self)  # processes need no members of before
        return run_parallel(
            Parallel,
            (delayed(unfitted._fit_member)(draw, self._schema) for draw in draws),
            len(draws),
            "Fitting members",
            "members",
            n_jobs=self.n_jobs,
        )

    def _fit_member(self, draw: Callable[[], TrainingSet], schema: Schema) -> Member:
        drawn, estimator = draw(), clone(self.estimator)
        features = np.arange(schema.n_features) if drawn.features is None else drawn.features
        if drawn.features is not None:
            _tell_columns(estimator, features, schema)
        weight = self._weights_of_estimator(drawn.weight)
        fitted = fit_inner(estimator, drawn.data, weight, drawn.neighborhood)
        return Member(fitted, features, drawn.left_out)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of the first member, of the first two, … of all.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.

        Yields
        ------
        scores : ndarray of shape (n, q)
            The mean score of the members so far.
        """
        yield from (self._combine(stage.mean) for stage in staged_scores(self, X))

    def _stages(self, clean: Any, X: Any) -> Iterator[Stage]:
        """Yield a stage for every member: what it says, and what all up to it say."""
        total: Any = 0.0
        for n in track(range(len(self.estimators_)), "Asking members", "members"):
            if n == 0 or self.estimators_[n] is not self.estimators_[n - 1]:
                scores = self._member_scores(n, clean, X)
            total = total + scores
            yield Stage(scores, total / (n + 1))

    def _member_scores(self, n: int, clean: Any, X: Any) -> np.ndarray:
        """Return what a member says of rows, by the features that it sees."""
        member, features, schema = self.estimators_[n], self.estimators_features_[n], self._schema
        if len(features) < schema.n_features:
            clean, X = take_columns(clean, features), take_columns(X, features)
            schema = schema.take_columns(features)
        return inner_scores(member, clean, X, schema)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._combine(deque(self._stages(clean, X), 1)[0].mean)

    def _combine(self, mean: np.ndarray) -> np.ndarray:
        """Return the scores of the ensemble from the mean score of members."""
        return mean

    def _threshold_source(self) -> ScoreSource:
        if self.threshold_data != "auto":
            return self.threshold_data
        return "oob" if self._has_bags() else "cv"

    def _has_bags(self) -> bool:
        """Say whether there are rows that members know nothing of, and who left them out."""
        return self.bootstrap in (True, "within") and not self.warm_start

    def _tuning_scores(self, data: Data, weight: Weights, rng: np.random.Generator) -> KnownScores:
        if self._threshold_source() != "oob":
            return super()._tuning_scores(data, weight, rng)
        return self._scores_left_out(data)

    def _scores_left_out(self, data: Data) -> KnownScores:
        """Return the rows that some member left out, scored by the members that did."""
        rows, scores = self._out_of_bag_scores(data)
        if not len(rows):
            raise InputError(
                "Out-of-bag scores need rows that some member left out",
                f"every member saw every row of n_samples={data.n_samples}",
                "Use more members, or scores out of folds",
            )
        return KnownScores(rows, self._combine_left_out(data, rows, scores))

    def _combine_left_out(self, data: Data, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Return the scores of training rows from the mean of the members that left them out."""
        return self._combine(mean)

    def _out_of_bag_scores(self, data: Data) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that some member left out, and the mean of the members that did."""
        total = np.zeros(data.Y.shape)
        votes = np.zeros(data.n_samples, dtype=int)
        X = data.features.container.native
        for n, rows in enumerate(self._left_out or []):
            if len(rows):
                total[rows] += self._member_scores(n, data.X[rows], take_rows(X, rows))
                votes[rows] += 1
        rows = np.flatnonzero(votes)
        return rows, total[rows] / votes[rows, None]

    def _untuned(self, random_state: np.random.Generator) -> EMLS:
        return clone(self).set_params(
            objective=None, threshold_data="train", random_state=random_state, warm_start=False
        )

    def _needs_rows_left_out(self) -> bool:
        """Say whether to remember them: for thresholds, or for whoever calibrates the scores."""
        return self._tunes_out_of_bag() or self._has_bags()

    def _learns_out_of_bag(self) -> bool:
        """Say whether anything is learned from what members say of rows that they left out."""
        return self._tunes_out_of_bag()

    def _tunes_out_of_bag(self) -> bool:
        return self.objective is not None and self._threshold_source() == "oob"

    def _refuse_few_sets(self, training_sets: Sequence[TrainingSet]) -> None:
        if len(training_sets) < self.n_estimators:
            raise InputError(
                f"Each of {self.n_estimators} members needs a training set",
                f"there are {len(training_sets)}",
                "Draw more of them, or lower n_estimators",
            )

    def _refuse_fewer_members(self) -> None:
        n = len(self._members_before())
        if n > self.n_estimators:
            raise InputError(
                f"With warm_start=True there are as many members as before, {n}, or more",
                f"n_estimators={self.n_estimators}",
                "Raise n_estimators, or set warm_start=False to fit all members anew",
            )

    def _refuse_other_columns(self, data: Data) -> None:
        before, now = (self.n_features_in_, self.n_labels_), (data.X.shape[1], data.Y.shape[1])
        if before != now:
            raise InputError(
                f"With warm_start=True the data have {before[0]} features and {before[1]} labels, "
                "as before",
                f"they have {now[0]} and {now[1]}",
                "Pass the same data, or set warm_start=False to fit all members anew",
            )

    def _refuse_warm_start_out_of_bag(self) -> None:
        if self.warm_start and self._tunes_out_of_bag():
            raise InputError(
                'threshold_data="oob" needs to know which rows every member left out',
                "with warm_start=True those of earlier members are forgotten",
                'Set warm_start=False, or use threshold_data="cv"',
            )

    def _refuse_bags_beside_out_of_bag(self) -> None:
        if self.bootstrap == "beside" and self._tunes_out_of_bag():
            raise InputError(
                'threshold_data="oob" needs rows that a member knows nothing of',
                'with bootstrap="beside" new rows are made from rows outside its bag, too',
                'Use bootstrap=True, or threshold_data="cv"',
            )

    def _refuse_related_sets(self, training_sets: Sequence[TrainingSet]) -> None:
        if self._learns_out_of_bag() and any(drawn.related for drawn in training_sets):
            raise InputError(
                "Rows that a member leaves out are to be unseen, for thresholds or a second level",
                'training sets that were drawn with bootstrap="beside" have rows made from them',
                'Draw them with bootstrap="within" or True, or use threshold_data="cv"',
            )

    def _refuse_oob_without_rows_left_out(self) -> None:
        sampler = self._sampler()
        traits = getattr(sampler, "traits", None)
        # What a foreign sampler leaves out shows only after its draws.
        deletes = traits.deletes if traits else sampler is not None
        if self.threshold_data == "oob" and not (self.bootstrap or deletes):
            raise InputError(
                'threshold_data="oob" needs members that leave rows out',
                f"bootstrap is False and {sampler} keeps all rows",
                'Set bootstrap=True, or use threshold_data="cv"',
            )


class Member(NamedTuple):
    """A fitted classifier, the columns of X that it sees, and the rows that it left out."""

    estimator: Any
    features: np.ndarray
    left_out: np.ndarray


class Stage(NamedTuple):
    """The scores of one member, and the mean of all members up to it."""

    scores: np.ndarray
    mean: np.ndarray


def staged_scores(ensemble: EMLS, X: Any) -> Iterator[Stage]:
    """Yield the stages of a fitted ensemble, member by member."""
    return ensemble._stages(ensemble._open(X), X)


def score_members(ensemble: EMLS, X: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the scores of every member of a fitted ensemble, and those of the ensemble."""
    stages = list(staged_scores(ensemble, X))
    return [stage.scores for stage in stages], ensemble._combine(stages[-1].mean)


def _tell_columns(estimator: Any, columns: np.ndarray, schema: Schema) -> None:
    """Count the nominal features of an estimator, and of those inside it, among some columns."""
    params = estimator.get_params(deep=True)
    listed = {
        name: value
        for name, value in params.items()
        if name.rpartition("__")[2] == "categorical_features"
        and not (value is None or isinstance(value, str))  # what is found from X itself
    }
    estimator.set_params(**{name: schema.mask(value)[columns] for name, value in listed.items()})


def _rename(function: Any, name: str) -> Any:
    """Return a function that is the same but for its name."""
    copy = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, function.__annotations__
    copy.__qualname__, copy.__doc__, copy.__module__ = name, function.__doc__, function.__module__
    return copy


def _ready(drawn: TrainingSet) -> TrainingSet:
    return drawn


def _digest_of(estimator: Any) -> str | None:
    """Return what only equal estimators have in common, None for one that learns by chance."""
    try:
        return joblib.hash(estimator) if is_repeatable(estimator) else None
    except (PicklingError, AttributeError, TypeError):  # it holds what cannot be compared
        return None


def _first_of(digests: list[Any], n: int) -> int:
    """Return the place of the first member that learns the same rows as member n."""
    return n if digests[n] is None else digests.index(digests[n])
