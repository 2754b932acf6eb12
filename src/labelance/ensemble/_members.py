"""The members of an ensemble: fitted to what `_training_sets` draws, and asked in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pickle import PicklingError
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._containers import column_counts
from labelance._arrays._open import take_columns, take_rows
from labelance._classifier import fit_inner, inner_scores
from labelance._progress import run_parallel, track
from labelance._utils._messages import warning_once
from labelance._utils._random import is_repeatable
from labelance._validation._arguments import Weights
from labelance._validation._data import Data
from labelance._validation._features import Schema
from labelance._validation._labels import count_known
from labelance.decisions._held_out import HeldOutScores
from labelance.ensemble._training_sets import (
    BootstrapKind,
    TrainingSet,
    columns_to_draw,
    plan_draws,
    ready_draws,
)
from labelance.exceptions import InputError

_NO_ROWS = np.empty(0, dtype=np.int64)


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


@dataclass(frozen=True, eq=False)
class Members:
    """The fitted members of an ensemble."""

    members: list[Member]
    schema: Schema  # of all columns
    digests: list[Any]  # of every member: what equal ones have in common, or None

    def estimators(self) -> list[Any]:
        """Return the fitted classifiers."""
        return [member.estimator for member in self.members]

    def features(self) -> list[np.ndarray]:
        """Return the columns of X that every member sees."""
        return [member.features for member in self.members]

    def without_rows(self) -> Members:
        """Return the members without the rows that they left out."""
        return replace(self, members=[m._replace(left_out=_NO_ROWS) for m in self.members])

    def stages(self, clean: Any, X: Any) -> Iterator[Stage]:
        """Yield a stage for every member: its scores, and the mean of all up to it."""
        total: Any = 0.0
        before = None
        for n, member in enumerate(track(self.members, "Asking members", "members")):
            if member.estimator is not before:
                scores = self._scores_of(member, clean, X)
            before, total = member.estimator, total + scores
            yield Stage(scores, total / (n + 1))

    def mean(self, clean: Any, X: Any) -> np.ndarray:
        """Return the mean score of all members."""
        return deque(self.stages(clean, X), 1)[0].mean

    def held_out(self, data: Data) -> HeldOutScores:
        """Return the rows that some member left out, and the mean of the members that did."""
        total = np.zeros(data.Y.shape)
        votes = np.zeros(data.n_samples, dtype=int)
        X = data.features.container.native
        for member in self.members:
            rows = member.left_out
            if len(rows):
                total[rows] += self._scores_of(member, data.X[rows], take_rows(X, rows))
                votes[rows] += 1
        rows = np.flatnonzero(votes)
        return HeldOutScores(rows, total[rows] / votes[rows, None])

    def _scores_of(self, member: Member, clean: Any, X: Any) -> np.ndarray:
        """Return the scores of a member, by the columns that it sees."""
        schema, features = self.schema, member.features
        if len(features) < schema.n_features:
            clean, X = take_columns(clean, features), take_columns(X, features)
            schema = schema.take_columns(features)
        scores = inner_scores(member.estimator, clean, X, schema)
        constant = member.constant
        return scores if constant is None else np.where(np.isnan(constant), scores, constant)


def staged_scores(ensemble: Any, X: Any) -> Iterator[Stage]:
    """Yield the stages of a fitted ensemble, member by member."""
    return ensemble._members.stages(ensemble._open(X), X)


def score_members(ensemble: Any, X: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the scores of every member of a fitted ensemble, and those of the ensemble."""
    stages = list(staged_scores(ensemble, X))
    return [stage.scores for stage in stages], ensemble._combine(stages[-1].mean)


def check_rows_left_out(known: HeldOutScores, data: Data) -> None:
    """Raise where every member saw every row."""
    if not len(known.rows):
        raise InputError(
            "Out-of-bag scores need rows that some member left out",
            f"Every member saw every row of n_samples={data.n_samples}",
            "Use more members, or cross-validated scores",
        )


Draw = Callable[[], TrainingSet]


@warning_once()  # not once for every member
def fit_members(
    ensemble: Any,
    data: Data,
    weight: Weights,
    rng: np.random.Generator,
    training_sets: Sequence[TrainingSet] | None,
    *,
    bootstrap: BootstrapKind,
    unseen: bool,
    before: Members | None = None,
) -> Members:
    """Fit a clone of an ensemble's estimator to the training set of every member.

    Parameters
    ----------
    ensemble : EMLS or StackedBagging
        Whose parameters say how many members there are, and what they draw.
    data, weight
        All rows, and their weights.
    rng : Generator
        Gives one stream to every member.
    training_sets : sequence of TrainingSet or None
        Sets that were drawn before; None draws them. Equal ones are learned once.
    bootstrap : bool, "originals" or "parents"
        How bags are drawn.
    unseen : bool
        Whether anything is learned from the rows that members leave out.
    before : Members or None
        The first members, which are fitted already.
    """
    n, schema = ensemble.n_estimators, ensemble._schema
    draws: Sequence[Draw]
    streams = rng.spawn(n)
    if training_sets is None:
        columns = columns_to_draw(ensemble.max_features, schema.n_features)
        draw = plan_draws(
            ensemble._make_sampler(), data, bootstrap=bootstrap, n_columns=columns, weight=weight
        )
        draws = [partial(draw, stream) for stream in streams]
    else:
        draws = ready_draws(training_sets[:n], data, unseen=unseen)
    known = Members([], schema, []) if before is None else before
    digests = _digests_of(ensemble.estimator, training_sets, n, known.digests)
    new = [i for i in range(len(known.members), n) if _first_of(digests, i) == i]
    route = clone(ensemble)._weights_of_estimator  # processes need no members of before
    shares = _known_shares(data)
    fitted = run_parallel(
        Parallel,
        (delayed(_fit_member)(ensemble.estimator, draws[i], schema, route, shares) for i in new),
        len(new),
        "Fitting members",
        "members",
        n_jobs=ensemble.n_jobs,
    )
    members = dict(enumerate(known.members)) | dict(zip(new, fitted))
    return Members([members[_first_of(digests, i)] for i in range(n)], schema, digests)


def _known_shares(data: Data) -> np.ndarray | None:
    """Return the share of positives among the known cells of every label, None if all are known."""
    if data.unknown is None:
        return None
    return column_counts(data.Y) / np.maximum(count_known(data.Y, data.unknown), 1)


def _fit_member(
    estimator: Any,
    draw: Draw,
    schema: Schema,
    route: Callable[[Weights], Weights],
    shares: np.ndarray | None,
) -> Member:
    drawn, estimator = draw(), clone(estimator)
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


def _digests_of(
    estimator: Any,
    training_sets: Sequence[TrainingSet] | None,
    n_members: int,
    kept: Sequence[Any],
) -> list[Any]:
    """Return for every member what equal ones have in common, None for one that has no equal.

    Members that learn the same rows are one, if chance has no part in what they learn. So are
    all where a sampler that votes or copies draws nothing, as MLSMOTE among nominal features.
    """
    learner = None if training_sets is None else _digest_of(estimator)
    if training_sets is None or learner is None:
        return [*kept, *[None] * (n_members - len(kept))]
    return [*kept, *[(learner, drawn.digest) for drawn in training_sets[len(kept) : n_members]]]


def _digest_of(estimator: Any) -> str | None:
    """Return what only equal estimators have in common, None for one that learns by chance."""
    try:
        return joblib.hash(estimator) if is_repeatable(estimator) else None
    except (PicklingError, AttributeError, TypeError):  # it holds what cannot be compared
        return None


def _first_of(digests: Sequence[Any], n: int) -> int:
    """Return the place of the first member that learns the same rows as member n."""
    return n if digests[n] is None else digests.index(digests[n])
