"""Samplers made of functions and of other samplers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._arrays._columns import peek_columns
from labelance._utils._compat import BaseComposition, num_samples
from labelance._validation._data import Data, validate_data
from labelance.exceptions import InputError
from labelance.sampling._base import (
    BaseMultiLabelSampler,
    Draw,
    ResamplingPlan,
    SamplerTraits,
    shared_constraints,
)


class GivenTables(NamedTuple):
    """X and y that were not validated."""

    X: Any
    y: Any

    @property
    def n_samples(self) -> int:
        return int(num_samples(self.y))


class FunctionSampler(BaseMultiLabelSampler):
    """Any function from (X, y) to (X, y) as a sampler.

    The function gets X and y in their containers, and what it returns is the result.
    So a method of your own, or another library's, works in a pipeline, in a search and in
    a chain of samplers.

    It helps to try an idea in one line. It hurts where a plan would save work, since all is
    done in every draw, and where the origin of rows matters, which a function does not tell.

    Parameters
    ----------
    func : callable
        Takes X and y, returns the new X and y.
    kw_args : mapping, optional
        Keyword arguments for ``func``. A function that is random takes its seed here; it
        is not given the random numbers of a chain or an ensemble.
    validate : bool, default=True
        Check X and y before, as every sampler does, hand over copies, and check what comes
        back: as many rows of labels as of features, the same columns, labels 0 or 1. With
        False, X and y are handed over as they are, whatever they are.
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took.

    Attributes
    ----------
    constant_labels_ : ndarray
        Labels present in no row or in all, if ``validate``.
    n_features_in_ : int
        Number of features, if ``validate``.
    feature_names_in_ : ndarray of str
        Names of the features, if ``validate`` and X is a data frame with string names.

    See Also
    --------
    SamplerSequence : A chain of samplers.
    BaseMultiLabelSampler : The base for samplers with parameters, plans and provenance.

    Notes
    -----
    Cost: that of the function, and a copy of X and y if ``validate``.

    How ours differs from imbalanced-learn's FunctionSampler: labels are an (n, q) indicator,
    the function sees data frames and sparse matrices as given, and its result is checked
    too.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import FunctionSampler
    >>> def drop_unlabeled(X, y, at_least=1):
    ...     keep = y.sum(axis=1) >= at_least
    ...     return X[keep], y[keep]
    >>> X, y = np.arange(4.0)[:, np.newaxis], np.array([[1, 0], [0, 0], [1, 1], [0, 1]])
    >>> X_new, y_new = FunctionSampler(drop_unlabeled).fit_resample(X, y)
    >>> X_new.ravel()
    array([0., 2., 3.])
    """

    # A function may do anything, except tell what it did.
    traits: ClassVar[SamplerTraits] = SamplerTraits(
        adds=True, deletes=True, edits=True, label_order_free=False, needs_all=None
    )

    _supports_blocks: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose"),
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
        verbose: int = 0,
    ) -> None:
        self.func = func
        self.kw_args = kw_args
        self.validate = validate
        self.verbose = verbose

    def _validate(self, X: Any, y: Any) -> Any:
        return super()._validate(X, y) if self.validate else GivenTables(X, y)

    def _plan(self, data: Data | GivenTables, neighborhood: None) -> None:
        return None

    def _draw(self, data: Data | GivenTables, plan: None, rng: np.random.Generator) -> Draw:
        options = self.kw_args or {}
        if isinstance(data, GivenTables):
            X, y = self.func(data.X, data.y, **options)
        else:
            # Copies, so that neither the function nor who gets its result can change the input.
            X_given = data.features.restore(None, None)
            y_given = data.labels.restore(data.Y, None, 0, data.unknown)
            X, y = _checked(self.func(X_given, y_given, **options), data)
        n = num_samples(y)
        return Draw(X=X, y=y, source_rows=np.full(n, -1), is_original=np.zeros(n, dtype=bool))


def _checked(result: Any, data: Data) -> tuple[Any, Any]:
    """Return what a function returned; raise unless it fits the input."""
    problem = "The function of a FunctionSampler must return the new X and y"
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InputError(problem, f"It returned {type(result).__name__}", "Return X, y")
    try:
        new = validate_data(*result, caller="FunctionSampler", missing="keep", needs_all=None)
    except InputError as error:
        raise InputError(problem, f"In the returned data: {error.found}", error.cure) from error
    for role, old, now in (("X", data.X, new.X), ("y", data.Y, new.Y)):
        if old.shape[1] != now.shape[1]:
            raise InputError(
                problem, f"Its {role} has {now.shape[1]} columns instead of {old.shape[1]}"
            )
    return result


class SequencePlan(NamedTuple):
    """The rows before the first random step, that step's plan, and the steps after it."""

    before: Draw
    plan: ResamplingPlan
    later: list[BaseMultiLabelSampler]


class SamplerSequence(BaseMultiLabelSampler, BaseComposition):
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
    verbose : int, default=0
        Above 0, shows on a terminal how far it is and how long it still takes, and prints at
        the end how many rows were added and deleted, and how long it took; the steps have a
        ``verbose`` of their own for the latter.

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
        Names of the features, if X is a data frame with string names.

    See Also
    --------
    FunctionSampler : Any function as a step.

    Notes
    -----
    A plan holds all that chance does not change: the plan of the first step, and as long as
    steps are not random, their results and the plan of the next one. What follows a random
    step is planned again in every draw. A ready ``neighborhood`` goes to the first step.

    Cost: that of its steps.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.sampling import MLROS, MLSOL, SamplerSequence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 4))
    >>> y = (rng.random((100, 3)) < [0.5, 0.2, 0.1]).astype(int)
    >>> sampler = SamplerSequence([MLROS(), ("local", MLSOL())], random_state=0)
    >>> X_new, y_new = sampler.set_params(mlros__sampling_ratio=0.05).fit_resample(X, y)
    >>> X_new.shape  # 5 clones, then 30 % of 105
    (136, 4)
    >>> sampler.origin_indices_[:3], sampler.origin_indices_[-3:]
    (array([0, 1, 2]), array([-1, -1, -1]))
    """

    _supports_blocks: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **shared_constraints("verbose random_state"),
        "steps": [list],
    }

    steps: Any

    def __init__(self, steps: list[Any], *, random_state: Any = None, verbose: int = 0) -> None:
        self.steps = steps
        self.random_state = random_state
        self.verbose = verbose

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
            in_blocks=all(t.in_blocks for t in each),
            needs_all=next((t.needs_all for t in each if t.needs_all), None),
        )

    @property
    def _named_steps(self) -> Any:
        """The steps as (name, sampler) pairs; what is no list, as it is."""
        if not isinstance(self.steps, list):
            return self.steps
        unnamed = (step for step in self.steps if not isinstance(step, tuple))
        named = iter(make_pipeline(*unnamed).steps)
        return [step if isinstance(step, tuple) else next(named) for step in self.steps]

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

    def _validate(self, X: Any, y: Any) -> Any:
        """Validate as the first step does, and set what it learned from that."""
        first = clone(self._checked_steps()[0])
        data = first._validate(X, y)
        sklearn_validate_data(self, peek_columns(X), skip_check_array=True)
        if hasattr(first, "constant_labels_"):
            self.constant_labels_ = first.constant_labels_
        return data

    def _plan(self, data: Any, neighborhood: Any) -> SequencePlan:
        """Take all steps that chance does not change, and plan the one after them."""
        first, *later = self._checked_steps()
        rows = np.arange(data.n_samples)
        before = Draw(source_rows=rows, is_original=rows >= 0)
        plan = clone(first)._plan_data(data, neighborhood)
        while later and not plan.sampler.traits.random:
            before = _follow(before, plan.draw(0))
            plan, later = later[0].plan(before.X, before.y), later[1:]
        return SequencePlan(before, plan, later)

    def _draw(self, data: Any, plan: SequencePlan, rng: np.random.Generator) -> Draw:
        streams = rng.spawn(len(self.steps))[-1 - len(plan.later) :]
        after = _follow(plan.before, plan.plan.draw(streams[0]))
        for step, stream in zip(plan.later, streams[1:]):
            after = _follow(after, step.plan(after.X, after.y).draw(stream))
        kept = after.source_rows[after.is_original]
        provenance = {"origin_indices_": after.source_rows, "sample_indices_": kept}
        return replace(after, provenance=provenance)

    def _checked_steps(self) -> list[BaseMultiLabelSampler]:
        """Return the steps; raise unless they are samplers with names and valid parameters."""
        names = [name for name, _ in self._named_steps]
        steps = [step for _, step in self._named_steps]
        strange = [step for step in steps if not isinstance(step, BaseMultiLabelSampler)]
        found = None
        if not steps:
            found = "steps is empty"
        elif strange:
            found = f"One of its steps is {strange[0]!r}"
        elif len(set(names)) < len(names):
            found = f"Two of its steps have the same name: {', '.join(names)}"
        elif any("__" in name or name in ("steps", "random_state", "verbose") for name in names):
            found = f"A step name is reserved or has two underscores: {', '.join(names)}"
        if found:
            raise InputError(
                "SamplerSequence needs a list of multi-label samplers, or (name, sampler) pairs",
                found,
                "Wrap any other fit_resample in a FunctionSampler",
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


def _follow(before: Draw, after: Draw) -> Draw:
    """Return the rows after a step with their sources before all steps, not before that one."""
    known = after.source_rows >= 0
    earlier = after.source_rows[known]
    source_rows, is_original = np.full(len(known), -1), np.zeros(len(known), dtype=bool)
    source_rows[known] = before.source_rows[earlier]
    is_original[known] = after.is_original[known] & before.is_original[earlier]
    return replace(after, source_rows=source_rows, is_original=is_original)
