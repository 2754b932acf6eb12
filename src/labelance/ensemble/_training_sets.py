"""Where the members of an ensemble get their training rows from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, Protocol

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    RealNotInt,
    StrOptions,
    validate_params,
)

from labelance._arrays import take_columns, take_rows
from labelance._utils import RandomStateLike, as_generator, set_random_states
from labelance._validation import Data, validate_data
from labelance._validation._arguments import Weights, take_weights
from labelance.exceptions import InputError
from labelance.sampling import BaseMultiLabelSampler

BootstrapKind = Literal[False, True, "beside", "within"]

# Parameters that EMLS and `draw_training_sets` share.
DRAWING: dict[str, list[Any]] = {
    "sampler": [HasMethods(["fit_resample"]), None],
    "bootstrap": ["boolean", StrOptions({"beside", "within"})],
    "max_features": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0, 1, closed="right"),
    ],
}


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What one member of an ensemble learns from.

    Attributes
    ----------
    X, y : array, sparse matrix or data frame
        Rows and their labels.
    left_out : ndarray of int
        The original rows that are not among them.
    weight : ndarray or None
        Weights of the rows; None if all are 1.
    neighborhood : Neighborhood or None
        Neighbors of the rows found before, for learners that take them.
    features : ndarray of int or None
        The original columns that X has, in order; None if it has all.
    related : bool
        Whether some rows were made from rows that are left out, which are then not unseen.
    """

    X: Any
    y: Any
    left_out: np.ndarray
    weight: Weights = None
    neighborhood: Any = None
    features: np.ndarray | None = None
    related: bool = False

    @cached_property
    def data(self) -> Data:
        """The rows validated: once, whoever learns from them."""
        return validate_data(self.X, self.y, who="A training set", missing="keep")

    @cached_property
    def digest(self) -> str:
        """What two sets have in common only if they are the same, bit by bit."""
        parts = self.left_out, self.weight, self.features, self.related
        return joblib.hash([_cells(self.X), _cells(self.y), *parts])


def _cells(table: Any) -> Any:
    """Return what a table is made of, without what a sparse one remembers about itself."""
    if not sp.issparse(table):
        return table
    rows = sp.csr_array(table)
    return rows.shape, rows.indptr, rows.indices, rows.data


class Source(Protocol):
    """Gives a training set for a stream of random numbers."""

    def draw(self, rng: np.random.Generator) -> TrainingSet: ...


class EveryRow:
    """No sampling: the rows as they are, the same set for all members."""

    def __init__(self, X: Any, Y: Any, weight: Weights = None) -> None:
        self.rows = TrainingSet(X, Y, np.empty(0, dtype=np.int64), weight)

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        return self.rows


class OnePlan:
    """A sampler of ours: one plan, which holds all that is not chance, and a draw a member."""

    def __init__(
        self,
        sampler: BaseMultiLabelSampler,
        X: Any,
        Y: Any,
        neighborhood: Any = None,
        weight: Weights = None,
    ) -> None:
        self.plan = sampler.plan(X, Y, neighborhood=neighborhood)
        self.weight, self.n = weight, Y.shape[0]

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn = self.plan.draw(rng)
        kept = drawn.provenance.get("sample_indices_", np.arange(self.n))
        return TrainingSet(
            drawn.X,
            drawn.y,
            np.setdiff1d(np.arange(self.n), kept),
            _inherit(self.weight, drawn.provenance, drawn.y.shape[0], self.plan.sampler),
        )


class ForeignSampler:
    """Any other object with ``fit_resample``: called anew for every member."""

    def __init__(self, sampler: Any, X: Any, Y: Any, weight: Weights = None) -> None:
        self.sampler, self.X, self.Y, self.weight = sampler, X, Y, weight

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        sampler = set_random_states(clone(self.sampler), rng)
        X, Y = sampler.fit_resample(self.X, self.Y)
        n, provenance = self.Y.shape[0], {}
        left_out = np.empty(0, dtype=np.int64)
        if hasattr(sampler, "sample_indices_"):
            provenance = {"sample_indices_": sampler.sample_indices_}
            left_out = np.setdiff1d(range(n), sampler.sample_indices_)
        return TrainingSet(X, Y, left_out, _inherit(self.weight, provenance, Y.shape[0], sampler))


class Bootstrap:
    """Rows drawn with replacement first; then the sampler, planned on each bag of rows."""

    def __init__(self, sampler: Any, X: Any, Y: Any, weight: Weights = None) -> None:
        self.sampler, self.X, self.Y, self.weight = sampler, X, Y, weight

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        n = self.Y.shape[0]
        rows = np.sort(rng.integers(n, size=n))
        weight = take_weights(self.weight, rows)
        X, Y = take_rows(self.X, rows), take_rows(self.Y, rows)
        drawn = make_source(self.sampler, X, Y, weight=weight).draw(rng)
        return TrainingSet(drawn.X, drawn.y, np.setdiff1d(np.arange(n), rows), drawn.weight)


class Beside:
    """A bag of the original rows, beside the rows that a sampler adds to all of them."""

    def __init__(self, source: Source, n: int) -> None:
        self.source, self.n = source, n

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn, n = self.source.draw(rng), self.n
        bag = np.sort(rng.integers(n, size=n))
        rows = np.concatenate([bag, np.arange(n, drawn.y.shape[0])])
        return TrainingSet(
            take_rows(drawn.X, rows),
            take_rows(drawn.y, rows),
            np.setdiff1d(np.arange(n), bag),
            take_weights(drawn.weight, rows),
            related=True,
        )


class Within(OnePlan):
    """A bag of the original rows, beside the new rows whose parents are both in the bag.

    One plan serves all bags, and nothing that a member sees descends from a row outside its bag.
    """

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn, n = self.plan.draw(rng), self.n
        bag = np.sort(rng.integers(n, size=n))
        inside = np.zeros(n, dtype=bool)
        inside[bag] = True
        seeds, references = (
            drawn.provenance[name] for name in ("seed_indices_", "reference_indices_")
        )
        rows = np.concatenate([bag, n + np.flatnonzero(inside[seeds] & inside[references])])
        weight = _inherit(self.weight, drawn.provenance, drawn.y.shape[0], self.plan.sampler)
        return TrainingSet(
            take_rows(drawn.X, rows),
            take_rows(drawn.y, rows),
            np.flatnonzero(~inside),
            take_weights(weight, rows),
        )


class Subspace:
    """What another source draws, of some features only, drawn without replacement."""

    def __init__(self, source: Source, n_features: int, n_drawn: int) -> None:
        self.source, self.n_features, self.n_drawn = source, n_features, n_drawn

    def draw(self, rng: np.random.Generator) -> TrainingSet:
        drawn = self.source.draw(rng)
        features = np.sort(rng.choice(self.n_features, size=self.n_drawn, replace=False))
        return replace(drawn, X=take_columns(drawn.X, features), features=features)


def with_features(source: Source, n_features: int, max_features: float) -> Source:
    """Return a source of training sets with a number or a share of the features."""
    share = np.issubdtype(type(max_features), np.floating)
    n_drawn = max(1, int(max_features * n_features)) if share else int(max_features)
    if n_drawn > n_features:
        raise InputError(
            "max_features is a number of columns of X, or a share of them",
            f"X has {n_features} columns, and max_features is {max_features}",
            "Lower it, or pass a share such as 0.7",
        )
    return source if n_drawn == n_features else Subspace(source, n_features, n_drawn)


def make_source(
    sampler: Any,
    X: Any,
    Y: Any,
    *,
    bootstrap: BootstrapKind = False,
    neighborhood: Any = None,
    weight: Weights = None,
) -> Source:
    """Choose the source for a sampler: ours, somebody's, or none.

    Neighbors of the rows of X found before serve one plan on these rows, and nothing else.
    """
    if bootstrap == "beside":
        _refuse_bags_beside_other_changes(sampler)
        all_rows = make_source(sampler, X, Y, neighborhood=neighborhood, weight=weight)
        return Beside(all_rows, Y.shape[0])
    if bootstrap == "within":
        _refuse_bags_within_other_changes(sampler)
        return Within(sampler, X, Y, neighborhood, weight)
    if bootstrap:
        return Bootstrap(sampler, X, Y, weight)
    if sampler is None:
        return EveryRow(X, Y, weight)
    if isinstance(sampler, BaseMultiLabelSampler):
        return OnePlan(sampler, X, Y, neighborhood, weight)
    return ForeignSampler(sampler, X, Y, weight)


def _refuse_bags_beside_other_changes(sampler: Any) -> None:
    traits = getattr(sampler, "traits", None)
    if not (traits and traits.only_adds):
        raise InputError(
            'bootstrap="beside" lays bags of rows beside those that a sampler adds',
            f"{sampler} is not a sampler of ours that only adds rows",
            "Use bootstrap=True, or a sampler such as MLSOL",
        )


def plans_for_all_bags(sampler: Any) -> bool:
    """Say whether one plan on all rows serves every bag, honestly towards the rows outside it."""
    traits = getattr(sampler, "traits", None)
    return traits is not None and traits.only_adds and traits.inherits_labels


def _refuse_bags_within_other_changes(sampler: Any) -> None:
    if not plans_for_all_bags(sampler):
        raise InputError(
            'bootstrap="within" keeps the new rows whose two parents are in a bag',
            f"{sampler} is not a sampler whose new rows descend from two parents alone",
            "Use bootstrap=True, or MLSOL",
        )


@validate_params(
    {
        **DRAWING,
        "n_sets": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    },
    prefer_skip_nested_validation=False,
)
def draw_training_sets(
    sampler: Any,
    X: Any,
    y: Any,
    n_sets: int = 5,
    *,
    bootstrap: BootstrapKind = False,
    max_features: float = 1.0,
    random_state: RandomStateLike = None,
    neighborhood: Any = None,
) -> list[TrainingSet]:
    """Draw what the members of one or several ensembles learn from: one plan, many draws.

    Parameters
    ----------
    sampler : object with ``fit_resample``, or None
        As in :class:`EMLS`.
    X : array, sparse matrix or data frame of shape (n, d)
        The features.
    y : array, sparse matrix or data frame of shape (n, q)
        The labels, 0 or 1.
    n_sets : int, default=5
        Number of sets, at least as many as the largest ensemble has members.
    bootstrap : bool, "beside" or "within", default=False
        As in :class:`EMLS`.
    max_features : int or float, default=1.0
        As in :class:`EMLS`.
    random_state : int, RandomState, Generator or None, default=None
        With the ``random_state`` of an ensemble these are the sets that it would draw itself.
    neighborhood : Neighborhood, optional
        Neighbors of the rows of X found before, for one plan on all rows.

    Returns
    -------
    training_sets : list of TrainingSet
        For ``EMLS.fit(X, y, training_sets=…)``, whatever its estimator is.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.ensemble import EMLS, draw_training_sets
    >>> from labelance.learners import BinaryRelevance, MLkNN
    >>> from labelance.sampling import MLSOL
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> sets = draw_training_sets(MLSOL(), X, y, random_state=0)  # one neighbor search
    >>> trees = EMLS(BinaryRelevance()).fit(X, y, training_sets=sets)
    >>> neighbors = EMLS(MLkNN()).fit(X, y, training_sets=sets)
    """
    data = validate_data(X, y, who="draw_training_sets", missing="keep")
    Y = data.labels.table  # a list has no shape
    source = make_source(sampler, X, Y, bootstrap=bootstrap, neighborhood=neighborhood)
    source = with_features(source, data.X.shape[1], max_features)
    return [source.draw(stream) for stream in as_generator(random_state).spawn(n_sets)]


def _inherit(weight: Weights, provenance: Mapping[str, Any], n_drawn: int, sampler: Any) -> Weights:
    """Return the weights of drawn rows: kept rows keep theirs, new ones have those of their seeds.

    A seed may be a new row itself (MLSMOTE with growing bags); then its own seed counts.
    """
    if weight is None:
        return None
    n = len(weight)
    kept = np.asarray(provenance.get("sample_indices_", np.arange(n)))
    seeds = np.asarray(provenance.get("seed_indices_", np.empty(0, dtype=np.int64)))
    origin = provenance.get("origin_indices_")
    if origin is None:
        while (seeds >= n).any():
            seeds = np.where(seeds >= n, seeds[np.maximum(seeds - n, 0)], seeds)
        origin = np.concatenate([kept, seeds])
    if len(origin) != n_drawn or (origin < 0).any():
        raise InputError(
            "With sample_weight, every row of a sampler must tell where its weight comes from",
            f"{type(sampler).__name__} does not say which rows it kept or made new ones from",
            "Use a sampler of labelance.sampling that does, or leave the weights out",
        )
    return weight[origin]


def refuse_sets_of_other_data(training_sets: Sequence[TrainingSet], data: Data) -> None:
    """Raise unless sets have the columns of X and y; they may have more rows, or fewer."""
    n, d, q = data.n_samples, data.X.shape[1], data.Y.shape[1]
    for drawn in training_sets:
        came = _misfit(drawn, n, d, q)
        if came is not None:
            raise InputError(
                f"Training sets are drawn from these X and y: {n} rows, {d} features, {q} labels",
                came,
                "Draw them anew: draw_training_sets(sampler, X, y)",
            )


def _misfit(drawn: TrainingSet, n: int, d: int, q: int) -> str | None:
    """Return why a set cannot be drawn from so many rows, features and labels, or None."""
    rows, features, labels = drawn.data.n_samples, drawn.data.X.shape[1], drawn.data.Y.shape[1]
    left_out = np.asarray(drawn.left_out)
    outside = left_out[(left_out < 0) | (left_out >= n)]
    columns = np.arange(d) if drawn.features is None else np.asarray(drawn.features)
    if (features, labels) != (len(columns), q) or (columns >= d).any():
        return f"one has {features} features and {labels} labels"
    if len(outside):
        return f"one leaves out row {outside[0]}"
    if drawn.weight is not None and len(drawn.weight) != rows:
        return f"one has {rows} rows and {len(drawn.weight)} weights"
    return None


def refuse_sets_of_dropped_rows(sample_weight: Any) -> None:
    if sample_weight is not None and (np.asarray(sample_weight) == 0).any():
        raise InputError(
            "Training sets drawn before number the rows of X as they are, all of them",
            "rows of weight 0 are left out",
            "Leave them out of X, y and sample_weight first, and draw the sets from what is left",
        )
