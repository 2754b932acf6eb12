"""A chain of samplers is a sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import _name_estimators
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._validation import Data
from labelance.exceptions import InputError
from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._containers import (
    ContainerDraw,
    ContainerPlan,
    Origin,
    Unchecked,
    labels_of,
    origin_of,
)
from labelance.sampling._plan import Draw, ResamplingPlan
from labelance.sampling._traits import SamplerTraits


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
