"""Samplers made of functions and of other samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import _name_estimators
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _num_samples
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._arrays import stack_rows
from labelance._validation import Data, validate_data
from labelance.exceptions import InputError
from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    Resampled,
    ResamplingPlan,
    SamplerTraits,
)


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from.

    Parameters
    ----------
    rows : ndarray of int
        The row of the input that a row has the features of; -1 for new features.
    kept : ndarray of bool
        Whether it is that row itself, rather than a clone of it.
    """

    rows: np.ndarray
    kept: np.ndarray

    @classmethod
    def start(cls, n: int) -> Origin:
        """Return the origin of n rows before anything is done to them."""
        return cls(np.arange(n), np.ones(n, dtype=bool))

    @classmethod
    def unknown(cls, n: int) -> Origin:
        """Return the origin of n rows of which nothing is known."""
        return cls(np.full(n, -1), np.zeros(n, dtype=bool))

    def then(self, later: Origin) -> Origin:
        """Follow rows that came from these rows back to where these came from."""
        if not len(self.rows):  # data that were not checked, of which no row is known
            return later
        known = later.rows >= 0
        rows = np.where(known, self.rows[later.rows], -1)
        return Origin(rows, known & later.kept & self.kept[later.rows])


class Unchecked:
    """Stands for data that were not checked; whoever needs them is told what to do."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, key: Any) -> Any:
        raise InputError(
            "To tell what became of labels, they have to be checked",
            "a FunctionSampler has validate=False",
            "Set validate=True",
        )


@dataclass(frozen=True, eq=False)
class ContainerDraw(Draw):
    """A draw with its rows in containers; the fields of Draw say what became of the input."""

    X: Any = None
    Y: Any = None
    labels: sp.csr_array | Unchecked = field(default_factory=Unchecked)
    origin: Origin = field(default_factory=lambda: Origin.start(0))

    @classmethod
    def of(
        cls, X: Any, Y: Any, labels: sp.csr_array | Unchecked, origin: Origin, **provenance: Any
    ) -> ContainerDraw:
        """Return the draw with these rows, clean labels and origin."""
        old = origin.rows >= 0
        Y_rows, Y_new = labels, None
        if not isinstance(labels, Unchecked) and not old.all():
            Y_rows, Y_new = labels[np.flatnonzero(old)], labels[np.flatnonzero(~old)]
        return cls(
            rows=origin.rows[old],
            Y_rows=Y_rows,
            Y_new=Y_new,
            provenance=provenance,
            X=X,
            Y=Y,
            labels=labels,
            origin=origin,
        )


@dataclass(frozen=True, eq=False)
class ContainerPlan(ResamplingPlan):
    """A plan whose draws need no restoring; ``data`` may be unchecked."""

    data: Any

    def restore(self, draw: Draw) -> Resampled:
        """Return the containers of the draw as they are."""
        assert isinstance(draw, ContainerDraw)
        return Resampled(draw.X, draw.Y, draw.provenance)


def origin_of(draw: Draw, n: int) -> Origin:
    """Return where the rows of a draw from n rows come from."""
    if isinstance(draw, ContainerDraw):
        return draw.origin
    rows = np.arange(n) if draw.rows is None else draw.rows
    kept = np.zeros(len(rows), dtype=bool)
    kept[np.unique(rows, return_index=True)[1]] = True  # a row that comes again is a clone
    added = Origin.unknown(0 if draw.Y_new is None else draw.Y_new.shape[0])
    return Origin(np.concatenate([rows, added.rows]), np.concatenate([kept, added.kept]))


def labels_of(draw: Draw, data: Data) -> sp.csr_array | Unchecked:
    """Return the clean labels of all rows of a draw."""
    if isinstance(draw, ContainerDraw):
        return draw.labels
    labels = draw.Y_rows
    if labels is None:
        labels = data.Y if draw.rows is None else data.Y[draw.rows]
    return labels if draw.Y_new is None else stack_rows(labels, draw.Y_new)


class FunctionSampler(BaseMultiLabelSampler):
    """Any function from (X, Y) to (X, Y) as a sampler.

    The function gets X and Y in the containers that came, and what it returns is the result.
    So a method of your own, or another library's, works in a pipeline, in a search and in
    a chain of samplers.

    It helps to try an idea in one line. It hurts where a plan would save work, since all is
    done in every draw, and where the origin of rows matters, which a function does not tell.

    Parameters
    ----------
    func : callable
        Takes X and Y, returns the new X and Y.
    kw_args : mapping, optional
        Keyword arguments for ``func``. A function that is random takes its seed here; it
        is not given the random numbers of a chain or an ensemble.
    validate : bool, default=True
        Check X and Y before, as every sampler does, hand over copies, and check what comes
        back: as many rows of labels as of features, the same columns, labels 0 or 1. With
        False, X and Y are handed over as they are, whatever they are.

    Attributes
    ----------
    constant_labels_ : ndarray
        Labels present in no row or in all, if ``validate``.
    n_features_in_ : int
        Number of features, if ``validate``.
    feature_names_in_ : ndarray of str
        Names of the features, if ``validate`` and X came as a data frame with string names.

    See Also
    --------
    SamplerSequence : A chain of samplers.
    BaseMultiLabelSampler : The base for samplers with parameters, plans and provenance.

    Notes
    -----
    Cost: that of the function, and a copy of X and Y if ``validate``.

    How ours differs from imbalanced-learn's FunctionSampler: labels are an (n, q) indicator,
    the function sees data frames and sparse matrices as they came, and its result is checked
    too.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import FunctionSampler
    >>> def drop_unlabeled(X, Y, at_least=1):
    ...     keep = Y.sum(axis=1) >= at_least
    ...     return X[keep], Y[keep]
    >>> X, Y = np.arange(4.0)[:, np.newaxis], np.array([[1, 0], [0, 0], [1, 1], [0, 1]])
    >>> X_new, Y_new = FunctionSampler(drop_unlabeled).fit_resample(X, Y)
    >>> X_new.ravel()
    array([0., 2., 3.])
    """

    # A function may do anything, except tell what it did.
    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, deletes=True, edits=True, label_order_free=False
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "func": [callable],
        "kw_args": [Mapping, None],
        "validate": ["boolean"],
    }

    def __init__(
        self,
        func: Callable[..., tuple[Any, Any]],
        *,
        kw_args: Mapping[str, Any] | None = None,
        validate: bool = True,
    ) -> None:
        self.func = func
        self.kw_args = kw_args
        self.validate = validate

    def _make_plan(self, X: Any, Y: Any, neighborhood: Any) -> ResamplingPlan:
        plan = super()._make_plan(X, Y, neighborhood)
        return ContainerPlan(self, plan.data, None if self.validate else (X, Y))

    def _open(self, X: Any, Y: Any) -> Any:
        return super()._open(X, Y) if self.validate else Unchecked()

    def _plan(self, data: Data | Unchecked, neighborhood: None) -> None:
        return None

    def _draw(self, data: Data | Unchecked, plan: Any, rng: np.random.Generator) -> Draw:
        options = self.kw_args or {}
        if isinstance(data, Unchecked):
            X, Y = self.func(*plan, **options)
            return ContainerDraw.of(X, Y, data, Origin.unknown(_num_samples(Y)))
        # Copies, so that neither the function nor who gets its result can change the input.
        came = data.features.restore(None, None), data.labels.restore(data.Y, None, 0)
        result = self.func(*came, **options)
        new = _checked(result, data)
        return ContainerDraw.of(*result, new.Y, Origin.unknown(new.n_samples))


def _checked(result: Any, data: Data) -> Data:
    """Validate what a function returned; raise unless it fits what came."""
    asked = "The function of a FunctionSampler returns the new X and Y"
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InputError(asked, f"it returned {type(result).__name__}", "Return X, Y")
    try:
        new = validate_data(*result, who="FunctionSampler", missing="keep")
    except InputError as error:
        raise InputError(asked, f"of what it returned, {error.came}", error.fix) from error
    for role, old, now in (("X", data.X, new.X), ("Y", data.Y, new.Y)):
        if old.shape[1] != now.shape[1]:
            raise InputError(
                asked,
                f"its {role} has {now.shape[1]} columns instead of {old.shape[1]}",
                "A sampler changes rows only; change columns in a transformer",
            )
    return new


@dataclass(frozen=True, eq=False)
class Stage:
    """The rows between two steps, their clean labels, and where they come from."""

    X: Any
    Y: Any
    labels: sp.csr_array | Unchecked
    origin: Origin

    def after(self, plan: ResamplingPlan, rng: np.random.Generator) -> Stage:
        """Return the rows after one draw of a plan made for these rows."""
        draw = plan.sampler._draw(plan.data, plan.details, rng)
        out = plan.restore(draw)
        origin = origin_of(draw, len(self.origin.rows))
        labels = labels_of(draw, plan.data)
        return Stage(out.X, out.Y, labels, self.origin.then(origin))


@dataclass(frozen=True, eq=False)
class SequencePlan:
    """The rows before the first step that chance changes, its plan, and the steps after it."""

    stage: Stage
    plan: ResamplingPlan
    later: list[BaseMultiLabelSampler]


class SamplerSequence(BaseMultiLabelSampler, _BaseComposition):
    """A chain of samplers as one sampler: each works on what the one before it returned.

    What every step does is what it would do by hand, with a random stream of its own; the
    chain adds the bookkeeping from its first row to its last.

    It helps where one method prepares the rows for another, as REMEDIAL does for cloning. It
    hurts where a later step undoes an earlier one, like deleting what was just added.

    Parameters
    ----------
    steps : list of samplers, or of (name, sampler) pairs
        The samplers in their order. One without a name is called by its class in lower case.
        Parameters of a step are set as ``name__parameter``.
    random_state : int, RandomState, Generator or None, default=None
        Where the random numbers come from; each step gets a stream spawned from it, and the
        steps' own ``random_state`` is not used.

    Attributes
    ----------
    origin_indices_ : ndarray of shape (n_rows,)
        For every row of the result, the row of X whose features it has; -1 for new features.
    sample_indices_ : ndarray
        The rows of X that are still there themselves, clones not counted, in their order.
    constant_labels_ : ndarray
        Labels present in no row or in all, before the first step.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X came as a data frame with string names.

    See Also
    --------
    FunctionSampler : Any function as a step.

    Notes
    -----
    A plan holds all that chance does not change: the plan of the first step, and as long as
    steps are not random, their results and the plan of the next one. What follows a random
    step is planned anew in every draw. A ready ``neighborhood`` goes to the first step.

    Cost: that of its steps.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLROS, MLSOL, SamplerSequence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> Y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> sampler = SamplerSequence([MLROS(), ("local", MLSOL())], random_state=0)
    >>> X_new, Y_new = sampler.set_params(mlros__sampling_ratio=0.05).fit_resample(X, Y)
    >>> X_new.shape  # 5 clones, then 30 % of 105
    (136, 4)
    >>> sampler.origin_indices_[:3], sampler.origin_indices_[-3:]
    (array([0, 1, 2]), array([-1, -1, -1]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "steps": [list],
        "random_state": ["random_state", np.random.Generator],
    }

    steps: Any

    def __init__(self, steps: list[Any], *, random_state: Any = None) -> None:
        self.steps = steps
        self.random_state = random_state

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """What the steps may do together."""
        each = [step.traits for _, step in self._named_steps]
        adding = [t for t in each if t.adds]
        return SamplerTraits(
            adds=bool(adding),
            deletes=any(t.deletes for t in each),
            edits=any(t.edits for t in each),
            clones=bool(adding) and all(t.clones for t in adding),
            random=any(t.random for t in each),
            label_order_free=all(t.label_order_free for t in each),
            finds_neighbors=each[0].finds_neighbors,
        )

    @property
    def _named_steps(self) -> Any:
        """The steps as (name, sampler) pairs; what is no list, as it is."""
        if not isinstance(self.steps, list):
            return self.steps
        names = iter(_name_estimators([s for s in self.steps if not isinstance(s, tuple)]))
        return [step if isinstance(step, tuple) else next(names) for step in self.steps]

    @_named_steps.setter
    def _named_steps(self, steps: list[Any]) -> None:
        self.steps = steps

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` those of the steps too, as ``name__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the steps and their parameters.

        Returns
        -------
        params : dict
            Values by name.
        """
        return self._get_params("_named_steps", deep=deep)

    def set_params(self, **params: Any) -> SamplerSequence:
        """Set parameters, steps by their names, and parameters of steps.

        Parameters
        ----------
        **params : dict
            Values by name, as :meth:`get_params` gives them.

        Returns
        -------
        self : object
            The sampler itself.
        """
        if "steps" in params:
            self.steps = params.pop("steps")
        return self._set_params("_named_steps", **params)

    def _make_plan(self, X: Any, Y: Any, neighborhood: Any) -> ResamplingPlan:
        first = self._checked_steps()[0].plan(X, Y, neighborhood=neighborhood)
        self._take_over(first.sampler, X)
        return ContainerPlan(self, first.data, self._plan(first.data, first))

    def _open(self, X: Any, Y: Any) -> Data:
        first = clone(self._checked_steps()[0])
        data = first._open(X, Y)
        self._take_over(first, X)
        return data

    def _take_over(self, first: BaseMultiLabelSampler, X: Any) -> None:
        """Set what the first step learned when it validated the data."""
        sklearn_validate_data(self, X, skip_check_array=True)
        if hasattr(first, "constant_labels_"):
            self.constant_labels_ = first.constant_labels_

    def _plan(self, data: Data | Unchecked, first: ResamplingPlan) -> SequencePlan:
        """Take all steps that chance does not change, and plan the one after them."""
        later = self._checked_steps()[1:]
        n = 0 if isinstance(data, Unchecked) else data.n_samples
        plan, stage = first, Stage(None, None, Unchecked(), Origin.start(n))
        while later and not plan.sampler.traits.random:
            stage = stage.after(plan, np.random.default_rng(0))
            plan, later = later[0].plan(stage.X, stage.Y), later[1:]
        return SequencePlan(stage, plan, later)

    def _draw(self, data: Data | Unchecked, plan: SequencePlan, rng: np.random.Generator) -> Draw:
        streams = rng.spawn(len(self.steps))[-1 - len(plan.later) :]
        stage = plan.stage.after(plan.plan, streams[0])
        for step, stream in zip(plan.later, streams[1:]):
            stage = stage.after(step.plan(stage.X, stage.Y), stream)
        origin = stage.origin
        return ContainerDraw.of(
            stage.X,
            stage.Y,
            stage.labels,
            origin,
            origin_indices_=origin.rows,
            sample_indices_=origin.rows[origin.kept],
        )

    def _checked_steps(self) -> list[BaseMultiLabelSampler]:
        """Return the steps; raise unless they are samplers with names and valid parameters."""
        names = [name for name, _ in self._named_steps]
        steps = [step for _, step in self._named_steps]
        strange = [step for step in steps if not isinstance(step, BaseMultiLabelSampler)]
        came = None
        if not steps:
            came = "steps is empty"
        elif strange:
            came = f"one of its steps is {strange[0]!r}"
        elif len(set(names)) < len(names):
            came = f"two of its steps have the same name: {', '.join(names)}"
        elif any("__" in name or name in ("steps", "random_state") for name in names):
            came = f"a step cannot be named so, or with two underscores: {', '.join(names)}"
        if came:
            raise InputError(
                "SamplerSequence takes a list of multi-label samplers, or (name, sampler) pairs",
                came,
                "List samplers of labelance.sampling; wrap another's fit_resample in a "
                "FunctionSampler",
            )
        for step in steps:
            step._validate_params()
        return steps

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inputs = [get_tags(step).input_tags for _, step in self._named_steps]
        tags.input_tags.allow_nan = all(each.allow_nan for each in inputs)
        tags.input_tags.categorical = any(each.categorical for each in inputs)
        return tags
