"""The base of all samplers tells the story; a subclass writes a plan and a draw."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np

# Imported for its effect too: it teaches scikit-learn's metadata routing "fit_resample".
from imblearn.base import BaseSampler
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, _fit_context, clone
from sklearn.utils.validation import validate_data as sklearn_validate_data

from labelance._utils import as_generator
from labelance._validation import Data, validate_data
from labelance.exceptions import ConstantLabelWarning, InputError
from labelance.imbalance import profile
from labelance.sampling._explain import Explanation, count_changes, deleted_rows
from labelance.sampling._plan import Draw, Resampled, ResamplingPlan
from labelance.sampling._traits import SamplerTraits


class BaseMultiLabelSampler(OneToOneFeatureMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all multi-label samplers.

    It keeps imbalanced-learn's contract (``fit_resample``, two return values, no
    ``transform``) without being one of its classes, since those refuse multi-label targets.
    A subclass gives ``_plan`` (nothing random) and ``_draw`` (one resampled data set).
    """

    _estimator_type = "sampler"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    traits: ClassVar[SamplerTraits] = SamplerTraits()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, Y: Any) -> BaseMultiLabelSampler:
        """Check the parameters and the data; ``fit_resample`` does the work.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.
        Y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1.

        Returns
        -------
        self : object
            The sampler itself.
        """
        self._open(X, Y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_resample(self, X: Any, Y: Any, *, neighborhood: Any = None) -> tuple[Any, Any]:
        """Resample the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The features.
        Y : array, sparse matrix or data frame of shape (n, q)
            The labels, 0 or 1.
        neighborhood : Neighborhood, optional
            Neighbors of the rows of X found before, to save the search. Only samplers that
            search among all rows take one.

        Returns
        -------
        X_resampled, Y_resampled : the same kinds of containers as X and Y
            Kept original rows first, in their order, then the new ones.
        """
        resampled = self._make_plan(X, Y, neighborhood).draw(self._generator())
        self._remember(resampled)
        return resampled.X, resampled.Y

    @_fit_context(prefer_skip_nested_validation=True)
    def plan(self, X: Any, Y: Any, *, neighborhood: Any = None) -> ResamplingPlan:
        """Compute all that does not depend on chance, for one or many draws.

        Parameters
        ----------
        X, Y, neighborhood
            As in :meth:`fit_resample`.

        Returns
        -------
        plan : ResamplingPlan
            ``plan.draw(random_state)`` gives a value with ``X``, ``Y`` and ``provenance``.
            It works on as it was made, whatever happens to this sampler's parameters.
        """
        return clone(self)._make_plan(X, Y, neighborhood)

    @_fit_context(prefer_skip_nested_validation=True)
    def explain(self, X: Any, Y: Any, *, k: int | None = 5) -> Explanation:
        """Make one draw and tell what it did to every label, and through which seeds.

        Parameters
        ----------
        X, Y
            As in :meth:`fit_resample`.
        k : int or None, default=5
            Neighbors for the types of minority cells before and after; None leaves them out.

        Returns
        -------
        explanation : Explanation
            Prints as a table; ``through(label)`` names the seeds.
        """
        plan = self._make_plan(X, Y, None)
        draw = self._draw(plan.data, plan.details, self._generator())
        resampled = plan.restore(draw)
        options: dict[str, Any] = {
            "k": k,
            "categorical_features": getattr(self, "categorical_features", None),
            "missing": getattr(self, "missing", "distance"),
            "scale": getattr(self, "scale", None),
            "metric": getattr(self, "metric", "euclidean"),
            "label_names": plan.data.labels.names,
        }
        gained, lost, seeds = count_changes(plan.data.Y, draw)
        before = profile(X, Y, **options)
        if k is not None and before.n_samples - deleted_rows(draw, before.n_samples) <= k:
            options["k"] = None  # too few rows are left to look around
        after = profile(resampled.X, resampled.Y, **options)
        return Explanation(before, after, gained, lost, seeds)

    @abstractmethod
    def _plan(self, data: Data, neighborhood: Any) -> Any:
        """Return what every draw needs and chance does not change."""

    @abstractmethod
    def _draw(self, data: Data, plan: Any, rng: np.random.Generator) -> Draw:
        """Return one draw on clean rows."""

    def _make_plan(self, X: Any, Y: Any, neighborhood: Any) -> ResamplingPlan:
        if neighborhood is not None and not self.traits.finds_neighbors:
            raise InputError(
                "Samplers that search neighbors among all rows take neighborhood=…",
                f"{type(self).__name__} does not search among all rows",
                "Leave the argument out",
            )
        data = self._open(X, Y)
        return ResamplingPlan(self, data, self._plan(data, neighborhood))

    def _open(self, X: Any, Y: Any) -> Data:
        data = validate_data(
            X,
            Y,
            who=type(self).__name__,
            categorical_features=getattr(self, "categorical_features", None),
            missing=getattr(self, "missing", "keep"),
        )
        sklearn_validate_data(self, X, skip_check_array=True)
        self._report_constant_labels(data)
        return data

    def _report_constant_labels(self, data: Data) -> None:
        """Set ``constant_labels_`` and warn: such labels have nothing to balance."""
        counts = np.bincount(data.Y.indices, minlength=data.Y.shape[1])
        self.constant_labels_ = np.flatnonzero((counts == 0) | (counts == data.n_samples))
        if len(self.constant_labels_):
            warnings.warn(
                f"{len(self.constant_labels_)} of {len(counts)} labels are present in no row or "
                f"in every row, so there is nothing to balance; see constant_labels_.",
                ConstantLabelWarning,
                stacklevel=6,
            )

    def _generator(self) -> np.random.Generator:
        """Return this call's random numbers; without ``random_state`` nothing depends on them."""
        return as_generator(getattr(self, "random_state", 0))

    def _remember(self, resampled: Resampled) -> None:
        """Set the provenance as fitted attributes; the data itself is not kept."""
        for name, value in resampled.provenance.items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        tags = BaseSampler.__sklearn_tags__(self)
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        tags.input_tags.categorical = hasattr(self, "categorical_features")
        tags.input_tags.allow_nan = getattr(self, "missing", "keep") != "error"
        tags.non_deterministic = False
        return tags
