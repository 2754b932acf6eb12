"""Any function as a sampler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import _num_samples

from labelance._validation import Data, validate_data
from labelance.exceptions import InputError
from labelance.sampling._base import BaseMultiLabelSampler
from labelance.sampling._containers import ContainerDraw, ContainerPlan, Origin, Unchecked
from labelance.sampling._plan import Draw, ResamplingPlan
from labelance.sampling._traits import SamplerTraits


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
