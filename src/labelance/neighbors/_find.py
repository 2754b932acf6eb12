"""The public door to the search."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from labelance._validation import CategoricalFeatures, Features, validate_features, validate_like
from labelance.exceptions import InputError, MissingValuesError
from labelance.neighbors._metrics import Metric
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._resolve import check_k
from labelance.neighbors._search import lacks_numbers, search
from labelance.neighbors._space import Scale, Space

_WHO = "find_neighbors"


def find_neighbors(
    X: Any,
    k: int,
    *,
    metric: Metric = "euclidean",
    scale: Scale = None,
    categorical_features: CategoricalFeatures = None,
    missing: Literal["error", "distance"] = "error",
    among: Any = None,
    queries: Any = None,
    n_jobs: int | None = None,
) -> Neighborhood:
    """Find the k nearest other rows of every row, exactly.

    A row is left out of its own neighbors by its number, not by its distance, so that rows
    which occur twice find each other. Equal distances are ordered by lower row number. The
    result is the same, bit for bit, for any container, block size and number of threads.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The rows that are searched.
    k : int
        How many neighbors; smaller than the number of rows.
    metric : str or callable, default="euclidean"
        "euclidean", "cosine" (a row of zeros is at distance 1 from everything), or any other
        metric of scikit-learn.
    scale : {None, "range", "standard"}, default=None
        Divide each numeric feature by nothing, by its range, or by its population standard
        deviation, taken over the rows searched. A feature that does not vary contributes 0.
    categorical_features : None, "auto", mask, column numbers or names
        Nominal features: they contribute 0 if equal and 1 if not, and are never scaled. A
        frame's categorical columns are nominal whatever is said here.
    missing : {"error", "distance"}, default="error"
        "distance" lets missing values (NaN) contribute the largest difference that they could
        make: for one missing value the distance to the farther end of the feature's range, for
        two the whole range, and 1 for a nominal feature.
    among : array of row numbers, optional
        Search for the neighbors of these rows inside these rows only (a bag). The result has
        one line for each of them; ``indices`` are row numbers of X.
    queries : array, sparse matrix or data frame of shape (m, d), optional
        Search for the neighbors of these rows among the rows of X; nothing is left out. A
        category that X does not have differs from all of its categories.
    n_jobs : int, optional
        The number of threads; by default as many as scikit-learn would use.

    Returns
    -------
    Neighborhood
        ``indices`` and ``distances``, nearest first.

    Raises
    ------
    TooFewRowsError
        If there are not more than k rows.

    Notes
    -----
    The squared Euclidean distance is the float64 sum of squared differences in column order,
    whatever the type of X. Fast float32 products (BLAS for dense rows, an inverted index for
    sparse ones) only rule rows out, with a bound on their rounding error; who is left, all
    ties included, is measured exactly. Memory is bounded by scikit-learn's ``working_memory``.

    Examples
    --------
    >>> from labelance.neighbors import find_neighbors
    >>> X = [[0.0, 0], [1.0, 0], [1.0, 0], [5.0, 1]]
    >>> find_neighbors(X, 2).indices
    array([[1, 2],
           [2, 0],
           [1, 0],
           [1, 2]])
    >>> find_neighbors(X, 1, scale="range", among=[0, 1, 3]).indices.ravel()
    array([1, 0, 1])
    >>> find_neighbors(X, 1, queries=[[4.0, 1]]).distances
    array([[1.]])
    """
    _check_options(missing, among, queries)
    opened = validate_features(
        X, who=_WHO, categorical_features=categorical_features, missing=missing
    )
    n = opened.X.shape[0]
    bag = None if among is None else _open_bag(among, n)
    space = Space.of(
        opened.X,
        metric=metric,
        scale=scale,
        categorical=opened.categorical,
        missing=missing,
        rows=bag,
    )
    if queries is None:
        k = check_k(k, n if bag is None else len(bag), who=_WHO)
        return search(opened.X, k, space, among=bag, n_jobs=n_jobs)
    k = check_k(k, n + 1, who=_WHO)
    Q = validate_like(queries, opened.schema(), who=_WHO)
    _check_queries(Q, opened, missing)
    return search(opened.X, k, space, queries=Q, n_jobs=n_jobs)


def _check_options(missing: str, among: Any, queries: Any) -> None:
    if missing not in ("error", "distance"):
        raise InputError(
            'missing is "error" or "distance"', f"missing is {missing!r}", "Choose one of the two"
        )
    if among is not None and queries is not None:
        raise InputError(
            "find_neighbors searches inside a bag (among) or for other rows (queries)",
            "both were given",
            "Select the rows of X first and pass queries alone",
        )


def _open_bag(among: Any, n: int) -> np.ndarray:
    """Return distinct row numbers."""
    bag = np.asarray(among)
    whole = bag.ndim == 1 and (bag.dtype.kind in "iu" or bag.size == 0)
    if not whole or (bag.size and (bag.min() < 0 or bag.max() >= n)):
        raise InputError(
            f"among is a list of row numbers from 0 to {n - 1}",
            f"it is {bag.dtype}{list(bag.shape)}"
            + (f" from {bag.min()} to {bag.max()}" if whole else ""),
            "Pass np.flatnonzero(mask) if you have a mask",
        )
    if len(np.unique(bag)) < len(bag):
        raise InputError(
            "among lists every row once",
            f"{len(bag) - len(np.unique(bag))} of its {len(bag)} entries are repetitions",
            "Pass np.unique(among), or repeat the rows in X",
        )
    return bag.astype(np.int64)


def _check_queries(Q: Any, opened: Features, missing: str) -> None:
    """Raise for queries in another kind of container, or with unknown numbers."""
    X = opened.X
    if sp.issparse(Q) != sp.issparse(X):
        raise InputError(
            "queries are dense or sparse as X is",
            f"X is {_kind(X)} and queries is {_kind(Q)}",
            "Convert the queries in the way X was made",
        )
    if missing == "error" and lacks_numbers(Q, opened.categorical):
        raise MissingValuesError(
            "find_neighbors needs known values in queries",
            "there are missing ones (NaN)",
            'Fill them (sklearn.impute.SimpleImputer), or pass missing="distance"',
        )


def _kind(X: Any) -> str:
    return "a sparse matrix" if sp.issparse(X) else "a dense table"
