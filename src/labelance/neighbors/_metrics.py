"""Every other metric that scikit-learn knows, through scikit-learn's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

from labelance.exceptions import InputError

Metric = str | Callable[[np.ndarray, np.ndarray], float]
Params = dict[str, np.ndarray]

_PAIRS = 32  # pairs measured by one call, which measures all their combinations


def all_distances(metric: Metric, A: Any, B: Any, params: Params) -> np.ndarray:
    """Return the distances between all rows of A and all rows of B."""
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        A, B = A != 0, B != 0
    distances = pairwise_distances(A, B, metric=metric, n_jobs=1, **params)
    return np.ascontiguousarray(distances, dtype=np.float64)


def paired_distances(metric: Metric, A: Any, B: Any, params: Params) -> np.ndarray:
    """Return the distances between row t of A and row t of B, for all t."""
    if callable(metric):
        return np.array([metric(a, b) for a, b in zip(A, B)], dtype=np.float64)
    out = np.empty(A.shape[0])
    for start in range(0, len(out), _PAIRS):
        part = slice(start, start + _PAIRS)
        out[part] = np.diagonal(all_distances(metric, A[part], B[part], params))
    return out


def learn_params(metric: Metric, X: np.ndarray) -> Params:
    """Return the variances or the inverse covariance that the metric divides by."""
    if metric == "seuclidean":
        variance = np.var(X, axis=0, ddof=1)
        return {"V": np.where(variance > 0, variance, np.inf)}
    try:
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X.T))).T}
    except np.linalg.LinAlgError:
        raise InputError(
            'metric="mahalanobis" needs features that do not determine each other',
            "the covariance matrix of X has no inverse",
            "Reduce X with sklearn.decomposition.PCA first, or use another metric",
        ) from None
