"""The base of EMLS and StackedBagging: members fitted to what `_training_sets` draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._containers import column_counts
from labelance._arrays._open import take_columns, take_rows
from labelance._classifier import WeightedClassifier, fit_inner, inner_scores, why_all_known
from labelance._progress import run_parallel, track
from labelance._utils._compat import Interval, fit_context
from labelance._utils._messages import warning_once
from labelance._validation._arguments import Weights
from labelance._validation._data import Data, Schema, count_known
from labelance.decisions._held_out import HeldOutScores
from labelance.decisions._search import TUNING
from labelance.ensemble._training_sets import (
    DRAWING,
    BootstrapKind,
    ReadySets,
    TrainingSet,
    check_ready_sets,
    columns_to_draw,
    plan_draws,
    why_sampler_needs_all,
)
from labelance.exceptions import InputError

SetOrDraw = TrainingSet | Callable[[], TrainingSet]


class Member(NamedTuple):
    """A fitted classifier, the columns of X that it sees, and the rows that it left out."""

    estimator: Any
    features: np.ndarray
    left_out: np.ndarray
    constant: np.ndarray | None = None  # scores of labels unknown in all its rows, nan for others


class Stage(NamedTuple):
    """The scores of one member, and the mean of all members up to it."""

    scores: np.ndarray
    mean: np.ndarray


class SampledEnsemble(WeightedClassifier):
    """Base of ensembles whose members learn from draws of a sampler.

    A subclass gives ``_fit``, which calls ``_fit_members``, and ``_combine`` where its score is
    not the mean of the members.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        **TUNING,
        "sampler": DRAWING["sampler"],
        "max_features": DRAWING["max_features"],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    sampler: Any
    n_estimators: int
    max_features: float
    n_jobs: int | None
    thresholds_: np.ndarray
    _members: list[Member]

    def _why_all_known(self) -> str | None:
        return why_all_known(self.estimator) or why_sampler_needs_all(self._make_sampler())

    def _make_sampler(self) -> Any:
        """Return the sampler that members draw from, or None."""
        return self.sampler

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, training_sets: ReadySets = None
    ) -> Any:
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
            own, and the sampler only where thresholds need other models.

        Returns
        -------
        self : object
            The fitted ensemble.
        """
        if training_sets is not None and 0 in np.asarray(sample_weight):
            raise InputError(
                "Training sets drawn in advance refer to all rows of X",
                "Rows of weight 0 are left out",
                "Remove these rows from X, y and sample_weight first, and draw the sets again",
            )
        return self._learn(X, y, sample_weight, training_sets=training_sets)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of the first member, of the first two, … of all.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.

        Yields
        ------
        scores : ndarray of shape (n, q)
            The scores of an ensemble of the members so far.
        """
        yield from (self._combine(stage.mean) for stage in staged_scores(self, X))

    @warning_once()  # not once for every member
    def _fit_members(
        self,
        data: Data,
        weight: Weights,
        rng: np.random.Generator,
        training_sets: ReadySets,
        *,
        bootstrap: BootstrapKind,
        unseen: bool,
        before: Sequence[Member] = (),
    ) -> None:
        """Fit a clone of the estimator to the training set of every member.

        Parameters
        ----------
        data, weight
            All rows, and their weights.
        rng : Generator
            Gives one stream to every member.
        training_sets : sequence of TrainingSet or None
            Sets that were drawn before; None draws them.
        bootstrap : bool, "originals" or "parents"
            How bags are drawn.
        unseen : bool
            Whether anything is learned from the rows that members leave out.
        before : sequence of Member
            The first members, which are fitted already.
        """
        n, schema, streams = self.n_estimators, self._schema, rng.spawn(self.n_estimators)
        draws: Sequence[SetOrDraw]
        if training_sets is None:
            columns = columns_to_draw(self.max_features, schema.n_features)
            sampler = self._make_sampler()
            draw = plan_draws(sampler, data, bootstrap=bootstrap, n_columns=columns, weight=weight)
            draws = [partial(draw, stream) for stream in streams]
        else:
            check_ready_sets(training_sets, n, data, unseen=unseen)
            draws = training_sets[:n]
        new = draws[len(before) :]
        route = clone(self)._weights_of_estimator  # processes need no members of before
        shares = _known_shares(data)
        fitted = run_parallel(
            Parallel,
            (delayed(_fit_member)(self.estimator, draw, schema, route, shares) for draw in new),
            len(new),
            "Fitting members",
            "members",
            n_jobs=self.n_jobs,
        )
        self._members = [*before, *fitted]
        self.estimators_ = [member.estimator for member in self._members]
        self.estimators_features_ = [member.features for member in self._members]

    def _stages(self, clean: Any, X: Any) -> Iterator[Stage]:
        """Yield a stage for every member: its scores, and the mean of all up to it."""
        total: Any = 0.0
        for n, member in enumerate(track(self._members, "Asking members", "members"), start=1):
            scores = self._member_scores(member, clean, X)
            total = total + scores
            yield Stage(scores, total / n)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        for stage in self._stages(clean, X):
            mean = stage.mean
        return self._combine(mean)

    def _scores_left_out(self, data: Data) -> HeldOutScores:
        """Return the rows that some member left out, and the mean of the members that did."""
        total, votes = np.zeros(data.Y.shape), np.zeros(data.n_samples, dtype=int)
        X = data.features.container.native
        for member in self._members:
            rows = member.left_out
            if len(rows):
                total[rows] += self._member_scores(member, data.X[rows], take_rows(X, rows))
                votes[rows] += 1
        rows = np.flatnonzero(votes)
        return HeldOutScores(rows, total[rows] / votes[rows, None])

    def _member_scores(self, member: Member, clean: Any, X: Any) -> np.ndarray:
        """Return the scores of a member, by the columns that it sees."""
        schema, features = self._schema, member.features
        if len(features) < schema.n_features:
            clean, X = take_columns(clean, features), take_columns(X, features)
            schema = schema.take_columns(features)
        scores = inner_scores(member.estimator, clean, X, schema)
        constant = member.constant
        return scores if constant is None else np.where(np.isnan(constant), scores, constant)

    def _combine(self, mean: np.ndarray) -> np.ndarray:
        """Return the scores of the ensemble from the mean score of members."""
        return mean

    def _thresholds(self) -> np.ndarray:
        return self.thresholds_


def staged_scores(ensemble: SampledEnsemble, X: Any) -> Iterator[Stage]:
    """Yield the stages of a fitted ensemble, member by member."""
    return ensemble._stages(ensemble._open(X), X)


def score_members(ensemble: SampledEnsemble, X: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the scores of every member of a fitted ensemble, and those of the ensemble."""
    stages = list(staged_scores(ensemble, X))
    return [stage.scores for stage in stages], ensemble._combine(stages[-1].mean)


def _known_shares(data: Data) -> np.ndarray | None:
    """Return the share of positives among the known cells of every label, None if all are known."""
    if data.unknown is None:
        return None
    return column_counts(data.Y) / np.maximum(count_known(data.Y, data.unknown), 1)


def _fit_member(
    estimator: Any,
    draw: SetOrDraw,
    schema: Schema,
    route: Callable[[Weights], Weights],
    shares: Any,
) -> Member:
    drawn, estimator = draw if isinstance(draw, TrainingSet) else draw(), clone(estimator)
    features = np.arange(schema.n_features) if drawn.features is None else drawn.features
    if drawn.features is not None:
        _tell_columns(estimator, features, schema)
    fitted = fit_inner(estimator, drawn.data, route(drawn.weight), drawn.neighborhood)
    constant = None
    if shares is not None and drawn.data.unknown is not None:
        # Unknown is not absent: where a bag knows nothing of a label, its share speaks.
        nothing = count_known(drawn.data.Y, drawn.data.unknown) == 0
        constant = np.where(nothing, shares, np.nan) if nothing.any() else None
    return Member(fitted, features, drawn.left_out, constant)


def _tell_columns(estimator: Any, columns: np.ndarray, schema: Schema) -> None:
    """Count the categorical features of an estimator and of those inside it, among some columns."""
    params = estimator.get_params(deep=True)
    listed = {
        name: value
        for name, value in params.items()
        if name.rpartition("__")[2] == "categorical_features"
        and not (value is None or isinstance(value, str))  # what is found from X itself
    }
    estimator.set_params(**{name: schema.mask(value)[columns] for name, value in listed.items()})
