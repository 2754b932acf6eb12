"""The base of samplers that search the neighbors of every row."""

from __future__ import annotations

from abc import ABCMeta
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from labelance._validation import CategoricalFeatures, Data, MissingPolicy
from labelance.neighbors import (
    FeatureMetric,
    Neighborhood,
    Scale,
    check_neighborhood,
    resolve_neighbors,
)
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
            k = int(self.k_neighbors) if isinstance(self.k_neighbors, Integral) else None
            check_neighborhood(given, data.X, metric, k, who=type(self).__name__)
            return given
        return resolve_neighbors(
            self.k_neighbors, data.X, metric, n_jobs=self.n_jobs, who=type(self).__name__
        )
