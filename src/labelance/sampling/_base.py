"""The base of all samplers: a plan holds what chance does not change, a draw resamples once."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import Parameter, isabstract, signature
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

# Imported for its effect too: it teaches scikit-learn's metadata routing "fit_resample".
from imblearn.base import BaseSampler
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, clone
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._arrays._columns import peek_columns
from labelance._arrays._containers import column_counts
from labelance._arrays._labels import LabelSets
from labelance._arrays._memory import return_freed_memory
from labelance._arrays._open import stack_rows
from labelance._progress import show_progress
from labelance._utils._compat import HasMethods, Interval, StrOptions, fit_context
from labelance._utils._messages import warn_user
from labelance._utils._pickles import MarksVersion
from labelance._utils._random import RandomStateLike, as_generator
from labelance._utils._threads import check_n_jobs
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import (
    NEEDS_LABELSETS,
    Data,
    MissingPolicy,
    check_all_known,
    check_no_missing,
    take_unknown,
    validate_data,
    validate_labels,
)
from labelance.exceptions import ConstantLabelWarning, FeatureScaleWarning, InputError, arg
from labelance.imbalance import profile
from labelance.neighbors import Neighborhood
from labelance.neighbors._find import (
    ALGORITHMS,
    Algorithm,
    check_neighborhood,
    check_works_on_disk,
    resolve_neighbors,
    warn_of_dominant_columns,
)
from labelance.neighbors._metric import FeatureMetric, Scale
from labelance.sampling._explain import Explanation, count_changes
from labelance.sampling._strategy import STRATEGY_CONSTRAINTS

# Constraints of parameters that several samplers have.
_SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "algorithm": [StrOptions(set(ALGORITHMS))],
    "categorical_features": ["array-like", StrOptions({"auto"}), None],
    "k_neighbors": [Interval(Integral, 1, None, closed="left")],
    "max_synthetic": [Interval(Integral, 0, None, closed="left"), None],
    "metric": [str, callable],
    "missing": [StrOptions({"error", "distance"})],
    "n_jobs": [Integral, None],
    "n_synthetic": [Interval(Integral, 0, None, closed="left"), None],
    "random_state": ["random_state", np.random.Generator],
    "sampling_ratio": [Interval(Real, 0, None, closed="left")],
    "sampling_strategy": STRATEGY_CONSTRAINTS,
    "scale": [StrOptions({"range", "standard"}), None],
    "variant": [StrOptions({"paper", "mulan"})],
    "verbose": ["verbose"],
}


def shared_constraints(names: str) -> dict[str, list[Any]]:
    """Return the constraints of parameters, whose names have spaces between them."""
    return {name: _SHARED_CONSTRAINTS[name] for name in names.split()}


@dataclass(frozen=True)
class SamplerTraits:
    """What a sampler may do; :mod:`labelance.testing` chooses its checks by these.

    Parameters
    ----------
    adds : bool
        Appends rows after the originals.
    deletes : bool
        Leaves original rows out, and sets ``sample_indices_``.
    edits : bool
        Changes labels of original rows.
    clones : bool
        Added rows are exact copies of the features of original rows.
    interpolates : bool
        Added rows lie between a seed and a reference row, feature by feature, and
        ``seed_indices_`` and ``reference_indices_`` say which.
    random : bool
        Two draws may differ.
    exact_budget : bool
        The number of rows added or deleted is what ``sampling_ratio`` asks for.
    label_order_free : bool
        Permuting the columns of y permutes the result's columns and changes nothing else.
    finds_neighbors : bool
        Searches neighbors among all rows; takes ``fit_resample(X, y, neighborhood=…)``.
    label_specific : bool
        Makes every new row for one label, which ``label_indices_`` names.
    inherits_labels : bool
        Every label of a new row is its seed's or its reference's, so that the row descends from
        these two alone.
    in_blocks : bool
        Takes Dask collections too, and works on them block by block.
    needs_all : str or None
        Why every cell of y must be known, as the end of a sentence; None if the sampler leaves
        unknown cells (NaN) unknown, and learns nothing from them.
    """

    adds: bool = False
    deletes: bool = False
    edits: bool = False
    clones: bool = False
    interpolates: bool = False
    random: bool = True
    exact_budget: bool = False
    label_order_free: bool = True
    finds_neighbors: bool = False
    label_specific: bool = False
    inherits_labels: bool = False
    in_blocks: bool = False
    needs_all: str | None = NEEDS_LABELSETS

    @property
    def only_adds(self) -> bool:
        """Say whether the original rows come out as they went in, first, with new ones below."""
        return self.adds and not (self.deletes or self.edits)


@dataclass(frozen=True, eq=False)
class Draw:
    """One resampling: of clean rows as `_draw` returns it, and of tables as a plan returns it.

    Parameters
    ----------
    rows : ndarray of int or None
        Original rows of the result, in order; may repeat a row (clones). None means all.
    Y_rows : csr_array or None
        Labels of those rows where the sampler changed them. None means unchanged.
    X_new, Y_new : array or None
        Synthetic rows that follow.
    unknown_rows, unknown_new : csr_array or None
        Ones at the cells of these rows that are unknown. None means: as in the original rows, and
        no cell of new rows.
    provenance : mapping
        Fitted attributes that say where the rows come from.
    X, y : the kinds of containers of the input, or None
        The rows after resampling, in the draw of a plan.
    source_rows : ndarray of int or None
        The original row that each of these has its features from; -1 for new features.
    is_original : ndarray of bool or None
        Whether a row is that original row itself, rather than a clone of it.
    """

    rows: np.ndarray | None = None
    Y_rows: sp.csr_array | None = None
    X_new: Any = None
    Y_new: sp.csr_array | None = None
    unknown_rows: sp.csr_array | None = None
    unknown_new: sp.csr_array | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    X: Any = None
    y: Any = None
    source_rows: Any = None
    is_original: Any = None

    def restore(self, data: Any) -> Draw:
        """Return the draw with X and y in the containers of the data that it is from."""
        if self.y is not None:  # a function has made tables
            return self
        kept = kept_rows(self, data.n_samples)
        n_new = 0 if self.Y_new is None else self.Y_new.shape[0]
        Y, unknown = _all_labels(self, data)
        is_original = np.zeros(len(kept) + n_new, dtype=bool)
        is_original[np.unique(kept, return_index=True)[1]] = True  # a row that repeats is a clone
        return Draw(
            provenance=self.provenance,
            X=data.features.restore(self.rows, self.X_new),
            y=data.labels.restore(Y, self.rows, n_new, unknown),
            source_rows=np.concatenate([kept, np.full(n_new, -1)]),
            is_original=is_original,
        )


def keep_rows(rows: np.ndarray, **provenance: Any) -> Draw:
    """Return the draw that keeps some of the original rows."""
    return Draw(rows=rows, provenance={"sample_indices_": rows, **provenance})


def add_rows(
    X: Any,
    Y: sp.csr_array,
    seeds: np.ndarray,
    references: np.ndarray,
    unknown: sp.csr_array | None = None,
    **provenance: Any,
) -> Draw:
    """Return the draw that adds rows between seeds and references, if there are any."""
    provenance |= {"seed_indices_": seeds, "reference_indices_": references}
    if not len(seeds):
        return Draw(provenance=provenance)
    return Draw(X_new=X, Y_new=Y, unknown_new=unknown, provenance=provenance)


def kept_rows(draw: Draw, n: int) -> np.ndarray:
    """Return the original rows of the result, of n in all."""
    return np.arange(n) if draw.rows is None else draw.rows


def kept_labels(draw: Draw, data: Data) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the labels of the original rows of the result, and their unknown cells."""
    rows = slice(None) if draw.rows is None else draw.rows
    Y, unknown = draw.Y_rows, draw.unknown_rows
    if Y is None:
        Y = data.Y if draw.rows is None else data.Y[rows]
    return Y, take_unknown(data.unknown, rows) if unknown is None else unknown


def _all_labels(draw: Draw, data: Data) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Return the labels of all rows of the result, and their unknown cells."""
    Y, unknown = kept_labels(draw, data)
    if draw.Y_new is None:
        return Y, unknown
    if unknown is not None:
        new = draw.unknown_new
        new = sp.csr_array(draw.Y_new.shape, dtype=np.int8) if new is None else new
        unknown = stack_rows(unknown, new)
    return stack_rows(Y, draw.Y_new), unknown


def apply_draw(draw: Draw, data: Data) -> Data:
    """Return the clean rows of the result, for samplers that work on."""
    X = data.X if draw.rows is None else data.X[draw.rows]
    X = X if draw.X_new is None else stack_rows(X, draw.X_new)
    Y, unknown = _all_labels(draw, data)
    return Data(replace(data.features, X=X), replace(data.labels, Y=Y, unknown=unknown))


@dataclass(frozen=True, eq=False)
class ResamplingPlan:
    """All that does not depend on chance; draw from it as often as you like.

    An ensemble makes one plan and many draws, so its members share one neighbor search.

    Attributes
    ----------
    sampler : BaseMultiLabelSampler
        The sampler, with its parameters as they were.
    data : Data
        The clean data; X and y as given, if the sampler does not validate them.
    details : object
        What the sampler computed.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLSOL
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.random((50, 3)), rng.integers(0, 2, (50, 4))
    >>> plan = MLSOL(sampling_ratio=0.2).plan(X, y)
    >>> [plan.draw(seed).X.shape for seed in (1, 2)]
    [(60, 3), (60, 3)]
    """

    sampler: BaseMultiLabelSampler
    data: Any
    details: Any

    def draw(self, random_state: RandomStateLike = None) -> Draw:
        """Return one resampled data set.

        Parameters
        ----------
        random_state : int, RandomState, Generator or None
            Where the random numbers of this draw come from.

        Returns
        -------
        drawn : Draw
            ``X`` and ``y`` in the containers of the input, and where the rows come from.
        """
        with show_progress(self.sampler.verbose):
            rng = as_generator(random_state)
            return self.sampler._draw(self.data, self.details, rng).restore(self.data)


def _constant_labels(Y: sp.csr_array, n_known: Any = None) -> np.ndarray:
    """Return the labels that no row has, or all rows of which they are known."""
    counts = column_counts(Y)
    return np.flatnonzero((counts == 0) | (counts == (Y.shape[0] if n_known is None else n_known)))


def _warn_of_constant(labels: np.ndarray, names: Sequence[Any]) -> None:
    """Warn of constant labels, if there are any."""
    if not len(labels):
        return
    warn_user(
        f"{len(labels)} of {len(names)} labels are present in no row or in every row, so there is "
        f"nothing to balance: {name_columns(labels, names)}. They stay as they are; "
        f"leave them out of {arg('y')} (constant_labels_), or gather rows that differ in them.",
        ConstantLabelWarning,
    )


@contextmanager
def warning_with_names(Y: sp.csr_array, names: Sequence[Any]) -> Iterator[None]:
    """Name constant labels where a sampler gets labels that travel without their names."""
    _warn_of_constant(_constant_labels(Y), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantLabelWarning)
        yield


class BaseMultiLabelSampler(MarksVersion, OneToOneFeatureMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all multi-label samplers.

    It keeps imbalanced-learn's contract (``fit_resample``, two return values, no
    ``transform``) without being one of its classes, since those refuse multi-label targets.
    A subclass gives ``_plan`` (nothing random) and ``_draw`` (one resampled data set), and is named
    in ``__all__`` of ``labelance.sampling``, which every list of samplers reads.
    """

    _estimator_type = "sampler"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = shared_constraints("verbose")
    traits: ClassVar[SamplerTraits] = SamplerTraits()
    _supports_blocks: ClassVar[bool] = True  # `_draw` returns a Draw, not whole tables

    # For samplers without these parameters: nothing depends on chance, and nothing is printed.
    random_state: Any = 0
    verbose: int = 0

    def _validate_params(self) -> None:
        if getattr(self, "n_jobs", None) is not None:  # scikit-learn leaves 0 to joblib
            check_n_jobs(self.n_jobs)
        super()._validate_params()

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> BaseMultiLabelSampler:
        """Check the parameters and the data; ``fit_resample`` does the work.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array, sparse matrix or data frame of shape (n_samples, n_labels), or label sets
            The labels, 0 or 1; or a list or Series with the names of the labels of every row.

        Returns
        -------
        self : object
            The sampler itself.
        """
        self._validate(X, y)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_resample(self, X: Any, y: Any, *, neighborhood: Any = None) -> tuple[Any, Any]:
        """Resample the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features; also a Dask collection, where the trait ``in_blocks`` says so.
        y : array, sparse matrix or data frame of shape (n_samples, n_labels), or label sets
            The labels, 0 or 1; or a list or Series with the names of the labels of every row.
        neighborhood : Neighborhood, optional
            Neighbors of the rows of X found before, to save the search. Only samplers that
            search among all rows take one.

        Returns
        -------
        X_resampled, y_resampled : the same kinds of containers as X and y
            Kept original rows first, in their order, then the new ones.
        """
        start = perf_counter()
        with show_progress(self.verbose):
            plan = self._plan_data(self._validate(X, y), neighborhood)
            data, rng = plan.data, as_generator(self.random_state)
            drawn = self._draw(data, plan.details, rng)
            del plan  # with the neighbors, before there are all rows of the result
            return_freed_memory(data.n_samples)
            drawn = drawn.restore(data)
        for name, value in drawn.provenance.items():
            setattr(self, name, value)
        if self.verbose:
            self._report(data.n_samples, drawn, perf_counter() - start)
        return drawn.X, drawn.y

    @fit_context(prefer_skip_nested_validation=True)
    def plan(self, X: Any, y: Any, *, neighborhood: Any = None) -> ResamplingPlan:
        """Compute all that does not depend on chance, for one or many draws.

        Parameters
        ----------
        X, y, neighborhood
            As in :meth:`fit_resample`.

        Returns
        -------
        plan : ResamplingPlan
            ``plan.draw(random_state)`` gives a value with ``X``, ``y`` and ``provenance``.
            It works on as it was made, whatever happens to this sampler's parameters.
        """
        with show_progress(self.verbose):
            planner = clone(self)
            return planner._plan_data(planner._validate(X, y), neighborhood)

    @fit_context(prefer_skip_nested_validation=True)
    def explain(self, X: Any, y: Any, *, n_neighbors: int | None = 5) -> Explanation:
        """Resample once and tell what that did to every label, and through which seeds.

        Parameters
        ----------
        X, y
            As in :meth:`fit_resample`.
        n_neighbors : int or None, default=5
            Neighbors for the types of minority cells before and after; None leaves them out.

        Returns
        -------
        explanation : Explanation
            Prints as a table; ``through(label)`` names the seeds.
        """
        before = validate_labels(y, caller="explain", needs_all=self._why_all_known())
        if isinstance(before.container, LabelSets):
            y = before.Y  # label sets name no label that the last of its rows has lost
        with show_progress(self.verbose):
            plan = self._plan_data(self._validate(X, y), None)
            resampled = plan.draw(self.random_state)
        if isinstance(plan.data, Data) and plan.data.features.only_rows:
            n_neighbors = None  # nothing is near to text
        after = validate_labels(resampled.y, caller="explain", needs_all=None)
        options = {
            "missing": "distance",
            "label_names": before.names,
            "verbose": self.verbose,
            **self._distance_options(),
        }
        # Too few rows may be left to look around.
        n_after = n_neighbors if n_neighbors and after.Y.shape[0] > n_neighbors else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FeatureScaleWarning)  # the sampler has warned already
            first = profile(X, y, n_neighbors=n_neighbors, **options)
            then = profile(resampled.X, resampled.y, n_neighbors=n_after, **options)
        seeds = resampled.provenance.get("seed_indices_")
        changes = count_changes(before.Y, after.Y, resampled.is_original, seeds)
        return Explanation(first, then, *changes)

    @abstractmethod
    def _plan(self, data: Data, neighborhood: Any) -> Any:
        """Return what every draw needs and chance does not change."""

    @abstractmethod
    def _draw(self, data: Any, plan: Any, rng: np.random.Generator) -> Draw:
        """Return one draw: of clean rows, or of tables that a function made."""

    def _plan_data(self, data: Any, neighborhood: Any) -> ResamplingPlan:
        """Return the plan for data that were validated: every way to a plan ends here."""
        if neighborhood is not None and not self.traits.finds_neighbors:
            raise InputError(
                f"{type(self).__name__} does not accept neighborhood=…",
                "It does not search neighbors among all rows",
            )
        details = self._plan(data, neighborhood)
        return_freed_memory(data.n_samples)
        return ResamplingPlan(self, data, details)

    def _plan_clean(self, data: Data, neighborhood: Any = None) -> ResamplingPlan:
        """Do what `plan` does, on rows that are validated already; for samplers inside learners."""
        X, options = data.features.container.native, self._validation_options()
        own_codes = options.get("categorical_features") is not None
        if own_codes or not self._supports_blocks:  # then rows are read in a way of their own
            return self.plan(X, data.labels.table, neighborhood=neighborhood)
        self._validate_params()
        reason = self._why_all_known()
        if reason is not None:
            check_all_known(data.labels, type(self).__name__, reason)
        planner = clone(self)
        with show_progress(self.verbose):
            check_no_missing(
                data.X, data.features.container, type(self).__name__, options["missing"]
            )
            return planner._plan_data(planner._accept(X, data), neighborhood)

    def _validate(self, X: Any, y: Any) -> Data:
        data = validate_data(
            X,
            y,
            caller=type(self).__name__,
            in_blocks=self.traits.in_blocks,
            needs_all=self._why_all_known(),
            **self._validation_options(),
        )
        return self._accept(X, data)

    def _why_all_known(self) -> str | None:
        """Return why every cell of y must be known, None if known cells are enough."""
        return self.traits.needs_all

    def _accept(self, X: Any, data: Data) -> Data:
        """Return clean rows, after a look at them; ``X`` is the same as the user gave it.

        Sets ``constant_labels_`` and warns of them: such labels have nothing to balance.
        """
        sklearn_validate_data(self, peek_columns(X), skip_check_array=True)
        self.constant_labels_ = _constant_labels(data.Y, data.labels.n_known)
        _warn_of_constant(self.constant_labels_, data.labels.names or range(data.Y.shape[1]))
        return data

    def _validation_options(self) -> dict[str, Any]:
        """Return how X is validated."""
        return {"missing": "keep"}

    def _distance_options(self) -> dict[str, Any]:
        """Return how distances are taken, as `labelance.imbalance.profile` asks it."""
        return {}

    def _report(self, n: int, drawn: Draw, seconds: float) -> None:
        """Print in one line what was done, as scikit-learn's verbose estimators do."""
        n_kept = int(drawn.is_original.sum())
        n_after = len(drawn.is_original)
        print(
            f"[{type(self).__name__}] {n} -> {n_after} rows: {n_after - n_kept} added, "
            f"{n - n_kept} deleted, total={seconds:.1f}s"
        )

    def __sklearn_tags__(self) -> Any:
        tags = BaseSampler.__sklearn_tags__(self)
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        options = self._validation_options()
        tags.input_tags.categorical = "categorical_features" in options
        tags.input_tags.allow_nan = options["missing"] != "error"
        tags.non_deterministic = False
        return tags


class RowSampler(BaseMultiLabelSampler, metaclass=ABCMeta):
    """Base of samplers that look at labels alone: they copy or delete rows of any kind."""

    def _validation_options(self) -> dict[str, Any]:
        return {"missing": "keep", "only_rows": True}


class NeighborSampler(BaseMultiLabelSampler, metaclass=ABCMeta):
    """Base of samplers with ``k_neighbors``, ``metric``, ``scale`` and their likes."""

    k_neighbors: Any
    metric: str
    scale: Scale
    categorical_features: CategoricalFeatures
    missing: MissingPolicy
    n_jobs: int | None
    algorithm: Algorithm = "exact"  # of samplers that search in bags, which are small

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose metric scale categorical_features missing n_jobs"),
        "k_neighbors": [Interval(Integral, 1, None, closed="left"), HasMethods("kneighbors")],
    }

    def _validation_options(self) -> dict[str, Any]:
        return {"categorical_features": self.categorical_features, "missing": self.missing}

    def _validate(self, X: Any, y: Any) -> Data:
        check_works_on_disk(
            X, metric=self.metric, algorithm=self.algorithm, k_neighbors=self.k_neighbors
        )
        return super()._validate(X, y)

    def _accept(self, X: Any, data: Data) -> Data:
        super()._accept(X, data)
        own_search = not isinstance(self.k_neighbors, Integral)  # has distances of its own
        if self.scale is None and self.metric == "euclidean" and not own_search:
            warn_of_dominant_columns(type(self).__name__, data.features)
        return data

    def _distance_options(self) -> dict[str, Any]:
        return {**self._validation_options(), "scale": self.scale, "metric": self.metric}

    def _feature_metric(
        self, X: Any, categorical: np.ndarray, rows: np.ndarray | None = None
    ) -> FeatureMetric:
        """Return the distance that searches and draws share, learned from some rows or all."""
        return FeatureMetric.learn(
            X,
            metric=self.metric,
            scale=self.scale,
            categorical=categorical,
            missing=self.missing,
            rows=rows,
        )

    def _neighborhood(
        self, data: Data, given: Neighborhood | None, metric: FeatureMetric | None = None
    ) -> Neighborhood:
        """Return the given neighborhood if it is of these rows, or search."""
        metric = metric or self._feature_metric(data.X, data.categorical)
        if given is not None:
            k = int(self.k_neighbors) if isinstance(self.k_neighbors, Integral) else None
            check_neighborhood(given, data.X, metric, k, caller=type(self).__name__)
            return given
        return resolve_neighbors(
            self.k_neighbors,
            data.X,
            metric,
            algorithm=self.algorithm,
            n_jobs=self.n_jobs,
            caller=type(self).__name__,
        )


def all_samplers() -> dict[str, type[BaseMultiLabelSampler]]:
    """Return every public sampler that can be made without arguments, by name.

    Examples
    --------
    >>> from labelance.sampling import all_samplers
    >>> "MLSOL" in all_samplers()
    True
    """
    from labelance import sampling

    public = {name: getattr(sampling, name) for name in sampling.__all__}
    return {name: kind for name, kind in public.items() if _is_ready(kind)}


def _is_ready(kind: object) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, BaseMultiLabelSampler)):
        return False
    required = [p for p in signature(kind).parameters.values() if p.default is Parameter.empty]
    return not isabstract(kind) and not required
