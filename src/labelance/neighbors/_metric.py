"""The feature metric: what is learned from the columns of X, and distances of rows by it.

The Euclidean and cosine distances are our own. The distance of two rows is the root of a
float64 sum over the features in column order. A feature in which both rows are zero adds
exactly 0, so merging two sparse rows gives the same bits as walking two dense ones, and no
block, thread or engine can change an answer. Every other metric is scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

from labelance._arrays._columns import (
    column_range,
    column_std,
    divide_columns,
    gather_in_memory,
    largest_in_rows,
    map_pairs,
    map_rows,
    quick_column_std,
    shift_exponents,
)
from labelance._arrays._containers import SparseRows, to_dense
from labelance._arrays._memory import split_rows
from labelance._arrays._open import kind_of
from labelance.exceptions import ContainerError, InputError, arg
from labelance.neighbors import _tensor_metric
from labelance.neighbors._kernels import rank_dense, rank_sparse
from labelance.neighbors._neighborhood import Candidates, TopK, new_top_k
from labelance.neighbors._tensor_metric import FAINT

Metric = str | Callable[[np.ndarray, np.ndarray], float]
Params = dict[str, np.ndarray]
Scale = Literal["range", "standard"] | None

# Without missing values, which only our own distance takes, these two are the plain distance.
_OWN = ("euclidean", "cosine")
# Metrics that learn from all rows, and what has the same neighbors where these are never together.
INSTEAD = {
    "seuclidean": 'Scale its features instead: metric="euclidean" with scale="standard"',
    "mahalanobis": "Whiten its features first, X @ np.linalg.cholesky(np.linalg.inv("
    'da.cov(X.T).compute())), and pass metric="euclidean"',
}
_ALIASES = {"l2": "euclidean", "nan_euclidean": "euclidean"}
_KNOWN = sorted({*VALID_METRICS["brute"]} - {"precomputed"})
_KNOWN_SPARSE = sorted({*VALID_METRICS_SPARSE["brute"]} - {"precomputed"})

_PAIRS = 32  # pairs measured by one call of scikit-learn, which measures all their combinations
_MORE = 1000  # times the squared distance of all other columns together: these decide nothing
_ROWS_TO_LOOK_AT = 1_000
_CELLS_TO_LOOK_AT = 50_000  # of wide tables, whose squares and places take memory, too
_BYTES_PER_PAIR = 256  # so that what is computed of many pairs in memory stays small


class CompiledMetric(NamedTuple):
    """A feature metric as compiled code takes it, one entry per feature."""

    width: np.ndarray  # a difference is divided by it: 1 is plain, inf leaves the feature out
    low: np.ndarray  # smallest and largest known value, for pairs with a missing one
    high: np.ndarray
    nominal: np.ndarray
    cosine: bool


@dataclass(frozen=True, eq=False)
class FeatureMetric:
    """A metric with the widths that scale the features.

    Parameters
    ----------
    metric : str or callable
        "euclidean", "cosine", or another metric of scikit-learn.
    compiled : CompiledMetric
        Widths, ranges and nominal features.
    takes_missing : bool
        Whether rows may have missing values.
    on_device : bool
        Whether rows are tensors on a device.
    params : dict
        What else the metric learned: variances, or the inverse covariance matrix.
    """

    metric: Metric
    compiled: CompiledMetric
    takes_missing: bool
    on_device: bool = False
    params: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        X: Any,
        *,
        metric: Metric = "euclidean",
        scale: Scale = None,
        categorical: np.ndarray | None = None,
        missing: str = "error",
        rows: np.ndarray | None = None,
    ) -> FeatureMetric:
        """Learn the widths from the clean rows of X, or from the given ones alone.

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
        kind = kind_of(X)
        sparse = kind == "sparse" or (kind == "blocks" and X.is_sparse)
        _check(metric, sparse, bool(nominal.any()), missing)
        if metric not in _OWN and kind == "device":
            raise ContainerError(
                f"The metric {metric!r} of scikit-learn needs X in main memory",
                f"X is on {X.device}",
                'Copy it: X.cpu(), or use metric="euclidean" or "cosine"',
            )
        searched = X if rows is None else X[rows]
        takes_missing = missing == "distance"
        compiled = _learn(searched, scale, nominal, takes_missing, metric == "cosine")
        learned = cls(metric, compiled, takes_missing, kind == "device")
        if metric in INSTEAD:
            return replace(learned, params=_learn_params(metric, learned.scaled(searched)))
        return learned

    @property
    def is_exact(self) -> bool:
        """Whether the metric is one of our own, summed feature by feature."""
        return self.metric in _OWN

    def scaled(self, X: Any) -> Any:
        """Return X in float64 with every numeric feature divided by its width."""
        return divide_columns(X, np.where(self.compiled.nominal, 1.0, self.compiled.width))

    def rescale_rows(self, X: Any) -> Any:
        """Return X with very long and very short rows brought near length 1, for the cosine.

        Their squares would overflow or underflow. They are multiplied by powers of two, which
        rounds nothing and turns no direction. Squares of float32 numbers fit float64 as they are.
        """
        if not self.compiled.cosine or X.dtype.itemsize < 8:
            return X
        return map_rows(self._rescale, X)

    def _rescale(self, X: Any) -> Any:
        largest = largest_in_rows(X, self.compiled.width)
        extreme = (largest > 2.0**450) | ((largest < 2.0**-450) & (largest > 0))
        if not extreme.any():
            return X
        return shift_exponents(X, np.where(extreme, -np.frexp(largest)[1], 0))

    def rank(
        self, Q: Any, queries: np.ndarray, X: Any, own: np.ndarray, candidates: Candidates, k: int
    ) -> TopK:
        """Return the k nearest among the candidates of each query row of Q."""
        nearest = new_top_k(len(queries), k)
        candidates = Candidates(*map(_as_list, candidates))
        queries, own = map(_as_list, (queries, own))
        if sp.issparse(X):
            of_q, of_x = sparse_rows(Q, X)
            rank_sparse(*of_q, queries, *of_x, own, candidates, self.compiled, nearest)
        else:
            Q, X = map(np.ascontiguousarray, (Q, X))
            rank_dense(Q, queries, X, own, candidates, self.compiled, nearest)
        return nearest

    def paired(
        self, A: Any, B: Any, rows_a: np.ndarray | None = None, rows_b: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the distance between row ``rows_a[t]`` of A and row ``rows_b[t]`` of B, for all t.

        Parameters
        ----------
        A, B : arrays, CSR arrays or tensors, of d columns
            Clean features in the same kind of container.
        rows_a, rows_b : arrays of int, optional
            Which rows; all of them, in order, if not given.
        """
        return map_pairs(self._measure, A, B, [(rows_a, rows_b)])[0]

    def distances_to(self, A: Any, B: Any, *each: np.ndarray) -> list[np.ndarray]:
        """Return the distances of all rows of A to rows of B, for each choice of these.

        Rows in blocks are made once for all choices.
        """
        return map_pairs(self._measure, A, B, [(None, rows) for rows in each])

    def _measure(
        self, A: Any, B: Any, rows_a: np.ndarray | None = None, rows_b: np.ndarray | None = None
    ) -> np.ndarray:
        """Measure pairs of rows that are not in blocks."""
        rows_a = np.arange(A.shape[0]) if rows_a is None else np.asarray(rows_a, dtype=np.int64)
        rows_b = np.arange(B.shape[0]) if rows_b is None else np.asarray(rows_b, dtype=np.int64)
        A, B = self.rescale_rows(A), self.rescale_rows(B)
        if not self.is_exact:
            A, B = self.scaled(A[rows_a]), self.scaled(B[rows_b])
            return paired_distances(self.metric, A, B, self.params)
        if self.on_device:
            return _tensor_metric.paired_distances(A, B, rows_a, rows_b, self.compiled)
        out = np.empty(len(rows_a))
        for part in split_rows(len(rows_a), _BYTES_PER_PAIR):
            m = part.stop - part.start
            only = Candidates(rows_b[part, np.newaxis], np.ones(m, dtype=np.int64))
            out[part] = self.rank(A, rows_a[part], B, np.full(m, -1), only, 1).values[:, 0]
        return out


def _learn(
    X: Any, scale: Scale, nominal: np.ndarray, takes_missing: bool, cosine: bool
) -> CompiledMetric:
    d = X.shape[1]
    low, high, width = np.zeros(d), np.zeros(d), np.ones(d)
    if scale is not None or takes_missing:
        low, high = column_range(X)
        unknown = np.isnan(low)
        low[unknown] = high[unknown] = 0.0
        if scale is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                width = _learn_std(X, low, high) if scale == "standard" else high - low
            _check_finite_widths(width, scale)
            width[(high == low) | (width == 0)] = np.inf
        width[unknown] = np.inf
    return CompiledMetric(width, low, high, np.ascontiguousarray(nominal), cosine)


def _learn_std(X: Any, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return standard deviations, also of columns whose squares underflow."""
    width = column_std(X)
    faint = (width < FAINT) & (low < high)
    if faint.any():
        exponents = np.frexp(np.fmax(abs(low), abs(high)))[1]
        unit = np.ldexp(1.0, np.where(faint, exponents, 0))
        width[faint] = (column_std(divide_columns(X, unit)) * unit)[faint]
    return width


def _check_finite_widths(width: np.ndarray, scale: str) -> None:
    columns = np.flatnonzero(~np.isfinite(width))
    if len(columns):
        raise InputError(
            f"{arg('scale', scale)} needs features with a finite spread",
            f"The values of feature {columns[0]} are too large",
            "Scale X down first, for example with sklearn.preprocessing.MaxAbsScaler",
        )


def _check(metric: Metric, sparse: bool, nominal: bool, missing: str) -> None:
    """Raise if the metric is unknown, or cannot do what else is asked."""
    known = _KNOWN_SPARSE if sparse else _KNOWN
    if metric not in known and (sparse or not callable(metric)):
        raise InputError(
            "metric must be a metric of scikit-learn"
            + (" that takes sparse rows, as X is sparse" if sparse else ", or a callable"),
            f"Got {metric!r}",
            f"Choose one of {', '.join(known)}",
        )
    if metric != "euclidean" and (nominal or missing == "distance"):
        thing = "categorical features" if nominal else arg("missing", "distance")
        raise InputError(
            f"The metric {metric!r} needs known numbers",
            f"There are {thing}" if nominal else f"It was called with {thing}",
            'Use metric="euclidean", or encode and fill X first',
        )


def find_dominant_columns(X: Any, categorical: np.ndarray) -> np.ndarray:
    """Return the numeric columns that alone decide Euclidean distances, if there are some.

    Such as an income next to shares: at most half of the columns that vary, each of which takes
    1,000 times as much of the mean squared distance between two rows as all others together.
    """
    shares = distance_shares(X, categorical)
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)]
    ordered = shares[order]
    others = np.append(np.cumsum(ordered[:0:-1])[::-1], 0.0)  # after each column
    ends = np.flatnonzero(ordered > _MORE * others) + 1
    columns = order[: ends[0] if len(ends) and 2 * ends[0] <= len(order) else 0]
    return np.sort(columns[~categorical[columns]])


def distance_shares(X: Any, categorical: np.ndarray, scale: Scale = None) -> np.ndarray:
    """Return the share of every column in the mean squared distance between two rows.

    Of a sample of rows: about a thousand, fewer of wide tables.
    """
    few = max(50, min(_ROWS_TO_LOOK_AT, _CELLS_TO_LOOK_AT // X.shape[1]))
    rows = gather_in_memory(X, np.arange(0, X.shape[0], max(1, X.shape[0] // few)))
    if scale is not None:
        learned = FeatureMetric.learn(X, scale=scale, categorical=categorical, missing="distance")
        rows = learned.scaled(rows)
    low, high = column_range(rows)
    size = np.nan_to_num(np.fmax(abs(low), abs(high)))
    unit = np.where(size > 0, size, 1.0)  # neither squares nor their sums overflow or underflow
    with np.errstate(divide="ignore"):
        log = np.log2(quick_column_std(divide_columns(rows, unit))) + np.log2(unit) + 0.5
    for column in np.flatnonzero(categorical):
        log[column] = _log_root_of_difference(rows[:, [column]])
    varies = np.isfinite(log)
    squares = np.zeros(len(log))
    squares[varies] = np.exp2(np.maximum(2 * (log[varies] - log.max()), -1000.0))  # never 0
    return squares / max(squares.sum(), 1.0)


def _log_root_of_difference(codes: Any) -> float:
    """Return half the binary logarithm of the chance that two rows differ in a nominal feature."""
    codes = to_dense(codes)
    counts = np.unique(codes, return_counts=True)[1] / codes.size
    differ = 1 - (counts**2).sum()
    return float(np.log2(differ) / 2) if differ > 0 else -np.inf


def _learn_params(metric: Metric, X: np.ndarray) -> Params:
    """Return the variances or the inverse covariance that the metric divides by."""
    if metric == "seuclidean":
        variance = np.var(X, axis=0, ddof=1)
        return {"V": np.where(variance > 0, variance, np.inf)}
    try:
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X.T))).T}
    except np.linalg.LinAlgError:
        raise InputError(
            'metric="mahalanobis" needs linearly independent features',
            "The covariance matrix of X has no inverse",
            "Reduce X with sklearn.decomposition.PCA first, or use another metric",
        ) from None


# --- distances of rows ----------------------------------------------------------------------------


def all_distances(metric: Metric, A: Any, B: Any, params: Params) -> np.ndarray:
    """Return the distances between all rows of A and all rows of B."""
    if metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        A, B = A != 0, B != 0
    with np.errstate(over="ignore", invalid="ignore"):
        distances = pairwise_distances(A, B, metric=metric, n_jobs=1, **params)
    if np.isinf(distances).any():
        raise InputError(
            f"The metric {metric!r} must give finite distances",
            "Some distances are infinite, since X has very large numbers",
            "Scale X down first, for example with sklearn.preprocessing.MaxAbsScaler",
        )
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


def _as_list(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers, dtype=np.int64)


def sparse_rows(*tables: Any) -> list[SparseRows]:
    """Return the arrays of CSR tables, with indices of one type."""
    index = np.result_type(*(part for X in tables for part in (X.indices, X.indptr)))
    return [
        SparseRows(X.data, X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False))
        for X in tables
    ]
