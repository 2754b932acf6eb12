"""The space that rows live in: a metric, and what it has learned about the features."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

from labelance.exceptions import InputError
from labelance.neighbors._columns import column_range, column_std
from labelance.neighbors._exact import Measure, rank_dense, rank_sparse, sparse_rows
from labelance.neighbors._metrics import Metric, learn_params, paired_distances

Scale = Literal["range", "standard"] | None

# Without missing values, which only our own distance takes, these two are the plain distance.
_ALIASES = {"l2": "euclidean", "nan_euclidean": "euclidean"}
_KNOWN = sorted({*VALID_METRICS["brute"]} - {"precomputed"})
_KNOWN_SPARSE = sorted({*VALID_METRICS_SPARSE["brute"]} - {"precomputed"})


@dataclass(frozen=True, eq=False)
class Space:
    """A metric with the widths that scale the features.

    Parameters
    ----------
    metric : str or callable
        "euclidean", "cosine", or another metric of scikit-learn.
    measure : Measure
        Widths, ranges and nominal features, as compiled code takes them.
    takes_missing : bool
        Whether rows may have missing values.
    params : dict
        What else the metric learned: variances, or the inverse covariance matrix.
    """

    metric: Metric
    measure: Measure
    takes_missing: bool
    params: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        metric: Metric = "euclidean",
        scale: Scale = None,
        categorical: np.ndarray | None = None,
        missing: str = "error",
        rows: np.ndarray | None = None,
    ) -> Space:
        """Learn a space from the clean rows of X, or from the given ones alone.

        Parameters
        ----------
        X : array or CSR array of shape (n, d)
            Clean features, category codes in nominal columns.
        metric : str or callable
            "euclidean", "cosine", or another metric of scikit-learn.
        scale : {None, "range", "standard"}
            Divide each numeric feature by nothing, its range, or its population standard
            deviation over the rows. A feature that does not vary contributes 0.
        categorical : boolean array of shape (d,), optional
            Nominal features: they differ by 0 or 1, and are never scaled.
        missing : {"error", "distance"}
            "distance" measures a missing value by the largest difference it could make.
        rows : array of int, optional
            The rows that will be searched.
        """
        nominal = np.zeros(X.shape[1], dtype=bool) if categorical is None else categorical
        metric = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
        _check(metric, scale, sp.issparse(X), bool(nominal.any()), missing)
        searched = X if rows is None else X[rows]
        takes_missing = missing == "distance"
        measure = _learn(searched, scale, nominal, takes_missing, metric == "cosine")
        space = cls(metric, measure, takes_missing)
        if metric in ("seuclidean", "mahalanobis"):
            return replace(space, params=learn_params(metric, space.scaled(searched)))
        return space

    @property
    def is_exact(self) -> bool:
        """Whether the metric is one of our own, summed feature by feature."""
        return self.metric in ("euclidean", "cosine")

    def scaled(self, X: Any) -> Any:
        """Return X in float64 with every numeric feature divided by its width."""
        width = np.where(self.measure.nominal, 1.0, self.measure.width)
        if not sp.issparse(X):
            return X / width
        return sp.csr_array((X.data / width[X.indices], X.indices, X.indptr), shape=X.shape)

    def rank(
        self,
        Q: Any,
        queries: np.ndarray,
        X: Any,
        own: np.ndarray,
        pool: np.ndarray,
        counts: np.ndarray,
        k: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances of the k nearest in the pool of each query row of Q."""
        rows, distances = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
        if sp.issparse(X):
            Q, X = sparse_rows(Q), sparse_rows(X)
            rank_sparse(Q, queries, X, own, pool, counts, self.measure, rows, distances)
        else:
            rank_dense(Q, queries, X, own, pool, counts, self.measure, rows, distances)
        return rows, distances

    def paired(
        self,
        A: Any,
        B: Any,
        rows_a: np.ndarray | None = None,
        rows_b: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the distance between row ``rows_a[t]`` of A and row ``rows_b[t]`` of B, for all t.

        Parameters
        ----------
        A, B : arrays, or CSR arrays, of d columns
            Clean features in the same kind of container.
        rows_a, rows_b : arrays of int, optional
            Which rows; all of them, in order, if not given.
        """
        rows_a = np.arange(A.shape[0]) if rows_a is None else np.asarray(rows_a, dtype=np.int64)
        rows_b = np.arange(B.shape[0]) if rows_b is None else np.asarray(rows_b, dtype=np.int64)
        if not self.is_exact:
            A, B = self.scaled(A[rows_a]), self.scaled(B[rows_b])
            return paired_distances(self.metric, A, B, self.params)
        nobody, one = np.full(len(rows_a), -1), np.ones(len(rows_a), dtype=np.int64)
        _, distances = self.rank(A, rows_a, B, nobody, rows_b[:, np.newaxis], one, 1)
        return distances[:, 0]


def _learn(X: Any, scale: Scale, nominal: np.ndarray, takes_missing: bool, cosine: bool) -> Measure:
    d = X.shape[1]
    low, high, width = np.zeros(d), np.zeros(d), np.ones(d)
    if scale is not None or takes_missing:
        low, high = column_range(X)
        unknown = np.isnan(low)
        low[unknown] = high[unknown] = 0.0
        if scale is not None:
            width = column_std(X) if scale == "standard" else high - low
            width[(high == low) | (width == 0)] = np.inf
        width[unknown] = np.inf
    return Measure(width, low, high, np.ascontiguousarray(nominal), cosine)


def _check(metric: Metric, scale: Scale, sparse: bool, nominal: bool, missing: str) -> None:
    """Raise if the metric is unknown, or cannot do what else is asked."""
    if scale not in (None, "range", "standard"):
        asked = 'scale is None, "range" or "standard"'
        raise InputError(asked, f"scale is {scale!r}", "Choose one of the three")
    if not callable(metric) and metric not in _KNOWN:
        raise InputError(
            "metric is a callable or a metric that scikit-learn knows",
            f"metric is {metric!r}",
            f"Choose one of {', '.join(_KNOWN)}",
        )
    if sparse and (callable(metric) or metric not in _KNOWN_SPARSE):
        raise InputError(
            f"The metric {metric!r} needs a dense X",
            "X is sparse",
            f"Choose one of {', '.join(_KNOWN_SPARSE)}",
        )
    if metric != "euclidean" and (nominal or missing == "distance"):
        thing = "nominal features" if nominal else 'missing="distance"'
        raise InputError(
            f"The metric {metric!r} compares known numbers",
            f"there are {thing}" if nominal else f"it was called with {thing}",
            'Use metric="euclidean", or encode and fill X first',
        )
