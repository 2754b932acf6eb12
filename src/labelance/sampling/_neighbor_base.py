"""The base of samplers that search the neighbors of every row."""

from __future__ import annotations

from abc import ABCMeta
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelance._validation import CategoricalFeatures, Data, MissingPolicy
from labelance.exceptions import InputError
from labelance.neighbors import FeatureMetric, Neighborhood, Scale, resolve_neighbors
from labelance.sampling._base import BaseMultiLabelSampler


class NeighborSampler(BaseMultiLabelSampler, metaclass=ABCMeta):
    """Base of samplers with ``k_neighbors``, ``metric``, ``scale`` and their likes."""

    k_neighbors: Any
    metric: str
    scale: Scale
    categorical_features: CategoricalFeatures
    missing: MissingPolicy
    n_jobs: int | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiLabelSampler._parameter_constraints,
        "k_neighbors": [Interval(Integral, 1, None, closed="left"), HasMethods("kneighbors")],
        "metric": [str, callable],
        "scale": [StrOptions({"range", "standard"}), None],
        "categorical_features": ["array-like", StrOptions({"auto"}), None],
        "missing": [StrOptions({"error", "distance"})],
        "n_jobs": [Integral, None],
    }

    def _validation_options(self) -> dict[str, Any]:
        return {"categorical_features": self.categorical_features, "missing": self.missing}

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
        self, data: Data, metric: FeatureMetric, given: Neighborhood | None
    ) -> Neighborhood:
        """Return the given neighborhood if it is of these rows, or search."""
        if given is not None:
            self._refuse_other_rows(data, metric, given)
            return given
        found = resolve_neighbors(
            self.k_neighbors, data.X, metric, n_jobs=self.n_jobs, who=type(self).__name__
        )
        if not isinstance(self.k_neighbors, Integral):
            self._refuse_impossible_rows(found, data.n_samples)
        return found

    def _refuse_impossible_rows(self, found: Neighborhood, n: int) -> None:
        """Raise for row numbers that are not there; compiled code would read past the data."""
        outside = (found.indices < 0) | (found.indices >= n)
        own = found.indices == np.arange(len(found.indices))[:, None]
        if outside.any() or own.any():
            raise InputError(
                f"{type(self).__name__} needs neighbors that are other rows of X",
                "a row is its own neighbor" if own.any() else f"some lie outside 0 … {n - 1}",
                "Make the neighborhood with find_neighbors(X, k), or mend what kneighbors returns",
            )

    def _refuse_other_rows(self, data: Data, metric: FeatureMetric, given: Neighborhood) -> None:
        """Raise unless every neighbor is as far as the neighborhood says."""
        came = None
        if given.indices.shape[0] != data.n_samples:
            came = f"it has {given.indices.shape[0]} rows and X has {data.n_samples}"
        elif isinstance(self.k_neighbors, Integral) and given.k != self.k_neighbors:
            came = f"it has {given.k} neighbors a row and k_neighbors is {self.k_neighbors}"
        else:
            self._refuse_impossible_rows(given, data.n_samples)
            if not all(self._agrees(data, metric, given, place) for place in range(given.k)):
                came = "its distances are not those of these rows under this metric and scale"
        if came:
            raise InputError(
                f"{type(self).__name__} takes a neighborhood of the rows of X",
                came,
                "Make it with find_neighbors(X, k, …) and the same metric, scale and "
                "categorical_features as the sampler's, or leave it out",
            )

    def _agrees(self, data: Data, metric: FeatureMetric, given: Neighborhood, place: int) -> bool:
        distances = metric.paired(data.X, data.X, None, given.indices[:, place])
        return np.allclose(distances, given.distances[:, place], rtol=1e-9, atol=1e-12)
