"""Where the members of an ensemble get their training rows from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from labelance._arrays._open import take_columns, take_rows
from labelance._utils._compat import HasMethods, Interval, RealNotInt, StrOptions, validate_params
from labelance._utils._random import RandomStateLike, as_generator, set_random_states
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._data import Data, open_data, open_features, validate_data
from labelance.exceptions import InputError
from labelance.sampling import BaseMultiLabelSampler, ResamplingPlan

BootstrapKind = Literal[False, True, "originals", "parents"]

# Parameters that EMLS and `draw_training_sets` share.
DRAWING: dict[str, list[Any]] = {
    "sampler": [HasMethods(["fit_resample"]), None],
    "bootstrap": ["boolean", StrOptions({"originals", "parents"})],
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
    data : Data
        Clean rows and their labels, for learners of ours.
    X, y : array, sparse matrix or data frame
        The same in the containers of the input, for estimators of others.
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

    data: Data
    left_out: np.ndarray
    weight: Weights = None
    neighborhood: Any = None
    features: np.ndarray | None = None
    related: bool = False

    @property
    def X(self) -> Any:
        return self.data.features.container.native

    @property
    def y(self) -> Any:
        return self.data.labels.table


ReadySets = Sequence[TrainingSet] | None  # drawn before; None: none are
Provenance = Mapping[str, Any]


def why_sampler_needs_all(sampler: Any) -> str | None:
    """Return why a sampler needs to know every cell of y; None if it does without, or is None."""
    if sampler is None:
        return None
    if isinstance(sampler, BaseMultiLabelSampler):
        return sampler._why_all_known()
    return f"{type(sampler).__name__} takes no unknown labels"


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draws a training set for a stream of random numbers.

    Attributes
    ----------
    data : Data
        All rows and their labels.
    sampler : object with ``fit_resample``, or None
        None samples nothing.
    plan : ResamplingPlan or None
        That of the sampler on all rows, where it has one.
    bootstrap : bool, "originals" or "parents"
        True gives the sampler a bag of the rows. "originals" draws a bag of the original rows
        and keeps all new rows; "parents" keeps only new rows whose two parents are in the bag,
        so that a member sees nothing of the rows outside.
    n_columns : int or None
        Number of columns to draw without replacement; None keeps all.
    weight : ndarray or None
        Weights of the rows.
    """

    data: Data
    sampler: Any
    plan: ResamplingPlan | None
    bootstrap: BootstrapKind
    n_columns: int | None
    weight: Weights

    def __call__(self, rng: np.random.Generator) -> TrainingSet:
        """Draw rows, let the sampler change them, and draw columns."""
        data, sampler, n = self.data, self.sampler, self.data.n_samples
        if self.bootstrap is True:
            bag = _draw_bag(n, rng)
            data, weight = _take(data, bag), take_weights(self.weight, bag)
            drawn, _ = _resample(data, rng, sampler, _plan(sampler, data), weight)
            drawn = replace(drawn, left_out=np.setdiff1d(np.arange(n), bag))
        else:
            drawn, provenance = _resample(data, rng, sampler, self.plan, self.weight)
            if self.bootstrap:
                within = self.bootstrap == "parents"
                drawn = _bag_originals(drawn, provenance, n, rng, within=within)
        return drawn if self.n_columns is None else _draw_columns(drawn, self.n_columns, rng)


def plan_draws(
    sampler: Any,
    data: Data,
    *,
    bootstrap: BootstrapKind = False,
    n_columns: int | None = None,
    neighborhood: Any = None,
    weight: Weights = None,
) -> Drawing:
    """Return what draws a training set for a stream of random numbers.

    The plan of a sampler of ours on all rows, which holds all that is not random, is made here,
    once; neighbors of the rows found before serve this plan, and nothing else.
    """
    _check_bags(bootstrap, sampler)
    bags = bootstrap if isinstance(bootstrap, str) else bool(bootstrap)
    # Label sets become a table, and rows of a fold count their own categories.
    only_rows = data.features.only_rows
    data = open_data(data.features.container.native, data.labels.table, only_rows=only_rows)
    plan = None if bags is True else _plan(sampler, data, neighborhood)
    return Drawing(data, sampler, plan, bags, n_columns, weight)


def _plan(sampler: Any, data: Data, neighborhood: Any = None) -> ResamplingPlan | None:
    """Return the plan of a sampler that can make one."""
    if not isinstance(sampler, BaseMultiLabelSampler):
        return None
    if type(sampler).__module__.startswith("labelance."):
        return sampler._plan_clean(data, neighborhood)
    # A class of the user's own may do more in its public methods.
    return sampler.plan(
        data.features.container.native, data.labels.table, neighborhood=neighborhood
    )


def _draw_columns(drawn: TrainingSet, n_columns: int, rng: np.random.Generator) -> TrainingSet:
    features = np.sort(rng.choice(drawn.X.shape[1], size=n_columns, replace=False))
    only_rows = drawn.data.features.only_rows
    clean = open_features(take_columns(drawn.X, features), only_rows=only_rows)
    return replace(drawn, data=Data(clean, drawn.data.labels), features=features)


def _draw_bag(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw as many rows as there are, with replacement, in ascending order."""
    return np.sort(rng.integers(n, size=n))


def _take(data: Data, rows: np.ndarray) -> Data:
    """Return some of the rows, whose categories are counted among them."""
    X, y = data.features.container.native, data.labels.table
    return open_data(take_rows(X, rows), take_rows(y, rows), only_rows=data.features.only_rows)


def _resample(
    data: Data, rng: np.random.Generator, sampler: Any, plan: Any, weight: Weights
) -> tuple[TrainingSet, Provenance]:
    """Return what a sampler makes of rows, and where its rows come from."""
    n = data.n_samples
    if sampler is None:
        return TrainingSet(data, np.empty(0, dtype=np.int64), weight), {}
    provenance: Provenance = {}
    if plan is not None:
        resampled = plan.draw(rng)
        X, Y, provenance = resampled.X, resampled.y, resampled.provenance
    else:
        sampler = set_random_states(clone(sampler), rng)
        X, Y = sampler.fit_resample(data.features.container.native, data.labels.table)
        if hasattr(sampler, "sample_indices_"):
            provenance = {"sample_indices_": sampler.sample_indices_}
    left_out = np.setdiff1d(np.arange(n), provenance.get("sample_indices_", np.arange(n)))
    weight = _inherit(weight, provenance, Y.shape[0], sampler)
    if _gives_clean_rows(sampler):
        return TrainingSet(open_data(X, Y), left_out, weight), provenance
    checked = validate_data(X, Y, caller="A training set", missing="keep", needs_all=None)
    return TrainingSet(checked, left_out, weight), provenance


def _gives_clean_rows(sampler: Any) -> bool:
    """Return whether rows are copied, or made by code of ours, from clean ones."""
    ours = isinstance(sampler, BaseMultiLabelSampler) and sampler._supports_blocks
    return ours and type(sampler).__module__.startswith("labelance.")


def _bag_originals(
    drawn: TrainingSet, provenance: Provenance, n: int, rng: np.random.Generator, *, within: bool
) -> TrainingSet:
    """Replace the n original rows by a bag of them; keep new rows, or those made within it."""
    bag = _draw_bag(n, rng)
    inside = np.zeros(n, dtype=bool)
    inside[bag] = True
    new = np.arange(drawn.data.n_samples - n)
    if within:
        seeds, references = provenance["seed_indices_"], provenance["reference_indices_"]
        new = np.flatnonzero(inside[seeds] & inside[references])
    rows = np.concatenate([bag, n + new])
    return TrainingSet(
        _take(drawn.data, rows),
        np.flatnonzero(~inside),
        take_weights(drawn.weight, rows),
        related=not within,
    )


def columns_to_draw(max_features: float, n_features: int) -> int | None:
    """Return the number of columns that a member sees; None for all of them."""
    share = np.issubdtype(type(max_features), np.floating)
    n_drawn = max(1, int(max_features * n_features)) if share else int(max_features)
    if n_drawn > n_features:
        raise InputError(
            "max_features must be a number of columns of X, or a share of them",
            f"Got {max_features}, and X has {n_features} columns",
            "Lower it, or pass a share such as 0.7",
        )
    return None if n_drawn == n_features else n_drawn


def _check_bags(bootstrap: BootstrapKind, sampler: Any) -> None:
    """Raise where bags next to the new rows of a sampler would mean nothing."""
    traits = getattr(sampler, "traits", None)
    if bootstrap == "originals" and not (traits and traits.only_adds):
        needed = "a labelance sampler that only adds rows"
    elif bootstrap == "parents" and not plans_for_all_bags(sampler):
        needed = "a sampler whose new rows have exactly two parents"
    else:
        return
    problem = f'bootstrap="{bootstrap}" needs {needed}'
    raise InputError(problem, f"Got {sampler}", "Use bootstrap=True, or MLSOL")


def plans_for_all_bags(sampler: Any) -> bool:
    """Say whether one plan on all rows serves every bag, honestly towards the rows outside it."""
    traits = getattr(sampler, "traits", None)
    return traits is not None and traits.only_adds and traits.inherits_labels


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
    bootstrap : bool, "originals" or "parents", default=False
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
    needs_all = why_sampler_needs_all(sampler)
    data = validate_data(X, y, caller="draw_training_sets", missing="keep", needs_all=needs_all)
    draw = plan_draws(
        sampler,
        data,
        bootstrap=bootstrap,
        n_columns=columns_to_draw(max_features, data.X.shape[1]),
        neighborhood=neighborhood,
    )
    return [draw(stream) for stream in as_generator(random_state).spawn(n_sets)]


def _inherit(weight: Weights, provenance: Provenance, n_drawn: int, sampler: Any) -> Weights:
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
            "With sample_weight, a sampler must report the origin of every row",
            f"{type(sampler).__name__} does not report which rows it kept or combined",
            "Use a sampler of labelance.sampling that does, or omit the weights",
        )
    return weight[origin]


def check_ready_sets(
    training_sets: Sequence[TrainingSet], n_members: int, data: Data, *, unseen: bool
) -> None:
    """Raise unless there is a set for every member, drawn from these rows.

    Sets have the columns of X and y, and may have more rows, or fewer. ``unseen`` says that
    something is learned from the rows that they leave out.
    """
    if len(training_sets) < n_members:
        raise InputError(
            f"Each of {n_members} members needs a training set",
            f"Got {len(training_sets)}",
            "Draw more training sets, or lower n_estimators",
        )
    n, d, q = data.n_samples, data.X.shape[1], data.Y.shape[1]
    for drawn in training_sets[:n_members]:
        found = _misfit(drawn, n, d, q)
        if found is not None:
            problem = f"Training sets must be drawn from this X and y: {n} x {d} and {n} x {q}"
            raise InputError(problem, found, "Draw them again: draw_training_sets(sampler, X, y)")
        if unseen and drawn.related:
            raise InputError(
                "Thresholds or a second level need rows that a member has not seen",
                'Training sets drawn with bootstrap="originals" have rows made from them',
                'Draw them with bootstrap="parents" or True, or use tune_on="cv"',
            )


def _misfit(drawn: TrainingSet, n: int, d: int, q: int) -> str | None:
    """Return why a set cannot be drawn from this many rows, features and labels, or None."""
    rows, features, labels = drawn.data.n_samples, drawn.data.X.shape[1], drawn.data.Y.shape[1]
    left_out = np.asarray(drawn.left_out)
    outside = left_out[(left_out < 0) | (left_out >= n)]
    columns = np.arange(d) if drawn.features is None else np.asarray(drawn.features)
    if (features, labels) != (len(columns), q) or (columns >= d).any():
        return f"One has {features} features and {labels} labels"
    if len(outside):
        return f"One leaves out row {outside[0]}"
    if drawn.weight is not None and len(drawn.weight) != rows:
        return f"One has {rows} rows and {len(drawn.weight)} weights"
    return None
