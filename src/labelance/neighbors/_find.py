"""Find the nearest neighbors: validate, let an engine search, return one neighborhood.

The first engine that suits a search runs it. All give the same answer, bit for bit; they differ in
time. A new engine is a line in ``ENGINES``: a question about a :class:`Search`, and a function that
returns its :class:`TopK`, or None where it finds out that another engine would be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import clone

from labelance._arrays._columns import has_missing
from labelance._arrays._memory import return_freed_memory
from labelance._arrays._open import has_sparse_rows, kind_of, place_of, take_rows
from labelance._progress import show_progress
from labelance._utils._messages import warn_user
from labelance._utils._threads import thread_count
from labelance._validation._arguments import check_choice
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import (
    Features,
    check_no_other_places,
    validate_features,
    validate_like,
)
from labelance.exceptions import (
    ContainerError,
    FeatureScaleWarning,
    InputError,
    LongSearchWarning,
    LowRecallWarning,
    MissingValuesError,
    TooFewRowsError,
    arg,
)
from labelance.neighbors._approx import search_approx
from labelance.neighbors._dask import search_blocks
from labelance.neighbors._dense import search_gemm, search_kdtree, suits_kdtree
from labelance.neighbors._metric import INSTEAD, FeatureMetric, Metric, Scale, find_dominant_columns
from labelance.neighbors._neighborhood import Neighborhood, TopK
from labelance.neighbors._partition import search_partition, suits_cells
from labelance.neighbors._search import Search, search_brute, search_pairwise
from labelance.neighbors._sparse import search_sparse
from labelance.neighbors._torch import search_tensors

Algorithm = Literal["auto", "exact", "approx"]
ALGORITHMS = get_args(Algorithm)

_LOW_RECALL = 0.9  # below that, "nearly all" is not true
# Cells of all pairs together: below the first, preparing costs more than measuring them all, and
# below the second, starting threads does.
_SMALL, _LARGE = 250_000, 50_000_000
_LONG, _LONG_SPARSE = 2e12, 1e13  # takes minutes on a few cores


def find_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: Metric = "euclidean",
    scale: Scale = None,
    categorical_features: CategoricalFeatures = None,
    missing: Literal["error", "distance"] = "error",
    among: Any = None,
    queries: Any = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Neighborhood:
    """Find the nearest other rows of every row, exactly unless asked otherwise.

    A row is left out of its own neighbors by its number, not by its distance, so that rows
    which occur twice find each other. Equal distances are ordered by lower row number. The
    result is the same, bit for bit, for any container, block size and number of threads.

    Parameters
    ----------
    X : array, tensor, sparse matrix, data frame or Dask collection of shape (n, d)
        The rows that are searched. A tensor on a GPU is searched there, and blocks of a Dask
        collection by the workers of the active client.
    n_neighbors : int
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
    queries : array, tensor, sparse matrix or data frame of shape (m, d), optional
        Search for the neighbors of these rows among the rows of X; nothing is left out. A
        category that X does not have differs from all of its categories.
    algorithm : {"auto", "exact", "approx"}, default="auto"
        "approx" may miss some of the nearest of 30,000 dense rows and more, which takes less
        time and the extra ``approx`` (faiss); ``recall_`` of the result says how many it found,
        and a ``LowRecallWarning`` says that it is less than 0.9. Fewer rows, and rows that faiss
        cannot tell apart, are searched exactly. Sparse rows raise an error.
        "auto" is exact like "exact", and warns where that will take long.
    n_jobs : int, optional
        The number of threads; by default as many as scikit-learn would use.
    verbose : int, default=0
        1 shows on a terminal or in a notebook how far the search is and how long it still takes.

    Returns
    -------
    Neighborhood
        ``indices`` and ``distances``, nearest first.

    Raises
    ------
    TooFewRowsError
        If there are not more than ``n_neighbors`` rows.

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
    return find_neighbors_for(
        "find_neighbors",
        X,
        n_neighbors,
        metric=metric,
        scale=scale,
        categorical_features=categorical_features,
        missing=missing,
        among=among,
        queries=queries,
        algorithm=algorithm,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def find_neighbors_for(
    caller: str,
    X: Any,
    n_neighbors: int,
    *,
    metric: Metric,
    scale: Scale,
    categorical_features: CategoricalFeatures,
    missing: Literal["error", "distance"],
    among: Any = None,
    queries: Any = None,
    algorithm: Algorithm = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
    judge_scales: bool = False,
) -> Neighborhood:
    """Find neighbors for a function that takes X from a user: errors name ``caller``.

    ``judge_scales`` warns of columns that alone decide. All else is as in :func:`find_neighbors`.
    """
    _check_options(missing, scale, algorithm, among, queries)
    check_no_other_places(X, queries, "queries", caller=caller)
    check_works_on_disk(X, metric=metric, algorithm=algorithm)
    features = validate_features(
        X, caller=caller, categorical_features=categorical_features, missing=missing, in_blocks=True
    )
    if judge_scales and scale is None and metric == "euclidean":
        warn_of_dominant_columns(caller, features)
    X, nominal, Q = features.X, features.categorical, None
    n = X.shape[0]
    if among is not None:
        among = _validate_bag(among, n)
        n = len(among)
    learned = FeatureMetric.learn(
        X, metric=metric, scale=scale, categorical=nominal, missing=missing, rows=among
    )
    k = check_n_neighbors(n_neighbors, n if queries is None else n + 1, caller=caller)
    if queries is not None:
        Q = validate_like(queries, features.schema(), caller=caller)
        _check_queries(Q, features, missing)
    with show_progress(verbose):
        return search_neighbors(
            X, k, learned, among=among, queries=Q, algorithm=algorithm, n_jobs=n_jobs
        )


def search_neighbors(
    X: Any,
    k: int,
    metric: FeatureMetric,
    *,
    among: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    queries: Any = None,
    algorithm: Algorithm = "exact",
    n_jobs: int | None = None,
) -> Neighborhood:
    """Return the k nearest rows of clean data: :func:`find_neighbors` without validation.

    Parameters
    ----------
    X : array, CSR array or tensor on a GPU, of shape (n, d)
        Clean rows.
    k : int
        How many neighbors; smaller than the number of rows searched.
    metric : FeatureMetric
        How distances are measured.
    among : array of distinct row numbers, optional
        Search for these rows inside these rows only.
    rows : array of row numbers, optional
        Search for these rows only, among all others.
    queries : array or CSR array of shape (m, d), optional
        Search for these rows among the rows of X.
    algorithm : {"auto", "exact", "approx"}
        As in :func:`find_neighbors`.
    n_jobs : int, optional
        The number of threads.
    """
    if among is not None:
        return _search_bag(X, k, metric, among, algorithm=algorithm, n_jobs=n_jobs)
    X = metric.rescale_rows(X)
    if kind_of(X) == "blocks":
        Q = None if queries is None else metric.rescale_rows(queries)
        assert rows is None  # a search for some rows works in memory
        nearest = search_blocks(X, k, metric, run_exact, Q)
        return _finite_neighborhood(nearest, metric)
    if queries is not None:
        Q, own = metric.rescale_rows(queries), np.full(queries.shape[0], -1)
    elif rows is not None:
        Q, own = take_rows(X, rows), rows
    else:
        Q, own = X, np.arange(X.shape[0])
    search = Search(Q, X, own, k, metric, thread_count(n_jobs), warns=algorithm == "auto")
    found = search_approx(search, run_exact) if algorithm == "approx" else None
    nearest, recall = found or (run_exact(search), None)
    if recall is not None and recall < _LOW_RECALL:
        warn_user(
            f"The approximate search found {recall:.0%} of the nearest neighbors, measured on a "
            f"sample of rows. Use {arg('algorithm', 'exact')}, or reduce the features first, for "
            "example with sklearn.decomposition.PCA.",
            LowRecallWarning,
        )
    return_freed_memory(X.shape[0])
    return _finite_neighborhood(nearest, metric, recall)


def _finite_neighborhood(
    nearest: TopK, metric: FeatureMetric, recall: float | None = None
) -> Neighborhood:
    if not np.isfinite(nearest.values.max(initial=0.0)):  # NaN wins, and there is no -inf
        raise InputError(
            "Neighbors need finite distances",
            f"The metric {metric.metric!r} gives infinite or undefined ones",
            "Scale very large numbers down, or use a metric that is defined for every pair of rows",
        )
    for array in nearest:
        array.flags.writeable = False  # no one else has it: it needs no copy to stay as it is
    return Neighborhood(nearest.rows, nearest.values, recall)


def warn_of_dominant_columns(
    caller: str, features: Features, cure: str = f", or pass {arg('scale', 'standard')}"
) -> None:
    """Warn where distances are those of few columns, such as an income next to shares."""
    if features.container.kind == "device":  # rows of a GPU are not brought here for a warning
        return
    wide = find_dominant_columns(features.X, features.categorical)
    if len(wide):
        columns = "column" if len(wide) == 1 else "columns"
        warn_user(
            f"{caller} takes rows for neighbors by {columns} {name_columns(wide, features.names)} "
            "of X alone, with over 99.9 % of the mean squared distance. Scale X first "
            f"(sklearn.preprocessing.StandardScaler){cure}.",
            FeatureScaleWarning,
        )


def check_works_on_disk(
    X: Any, *, metric: Metric, algorithm: Algorithm, k_neighbors: Any = None
) -> None:
    """Raise for a search that blocks of a Dask collection cannot do, before one of them is read.

    Parameters
    ----------
    X : Any
        Rows as given; all but a Dask collection are welcome.
    metric, algorithm
        As in :func:`find_neighbors`.
    k_neighbors : int or object with ``kneighbors``, optional
        As in :func:`resolve_neighbors`.
    """
    if place_of(X) != "Dask":
        return
    if hasattr(k_neighbors, "kneighbors"):
        raise ContainerError(
            "A custom search needs rows in memory",
            "X is a Dask collection",
            "Pass an integer as k_neighbors, or bring the rows into memory: X.compute()",
        )
    if algorithm == "approx":
        raise InputError(
            "Rows of a Dask collection can only be searched exactly",
            f"Got {arg('algorithm', 'approx')}",
            "Omit algorithm, or search rows in memory, X.compute()",
        )
    if isinstance(metric, str) and metric in INSTEAD:
        raise ContainerError(
            f"The metric {metric!r} needs all rows in memory",
            "X is a Dask collection",
            INSTEAD[metric],
        )


def _search_bag(
    X: Any, k: int, metric: FeatureMetric, among: np.ndarray, **options: Any
) -> Neighborhood:
    order = np.argsort(among)
    ordered = among[order]  # a tie goes to the lower row number, however the bag is listed
    inside = search_neighbors(take_rows(X, ordered), k, metric, **options)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return Neighborhood(ordered[inside.indices[back]], inside.distances[back], inside.recall_)


def resolve_neighbors(
    k_neighbors: Any,
    X: Any,
    metric: FeatureMetric,
    *,
    algorithm: Algorithm = "exact",
    n_jobs: int | None,
    caller: str,
) -> Neighborhood:
    """Find neighbors of clean rows as ``k_neighbors`` says, in imbalanced-learn's way.

    Parameters
    ----------
    k_neighbors : int or object with ``kneighbors``
        A number, or a search such as ``sklearn.neighbors.NearestNeighbors``. As in
        imbalanced-learn, the ``n_neighbors`` of such an object counts the row itself, so it
        gives one neighbor less. An object that can be fitted is cloned and fitted on X.
    X : array, CSR array or tensor on a GPU, of shape (n, d)
        Clean rows.
    metric : FeatureMetric
        How distances are measured, where k_neighbors is a number.
    algorithm : {"auto", "exact", "approx"}
        As in :func:`find_neighbors`, where k_neighbors is a number.
    n_jobs : int or None
        The number of threads, where k_neighbors is a number.
    caller : str
        Who asks; begins the error messages.
    """
    if not hasattr(k_neighbors, "kneighbors"):
        k = check_n_neighbors(k_neighbors, X.shape[0], caller=caller, name="k_neighbors")
        return search_neighbors(X, k, metric, algorithm=algorithm, n_jobs=n_jobs)
    finder = k_neighbors
    if hasattr(finder, "fit"):
        finder = clone(finder, safe=False)
        wanted = getattr(finder, "n_neighbors", None)
        if wanted is not None:
            name = "k_neighbors.n_neighbors - 1"
            check_n_neighbors(wanted - 1, X.shape[0], caller=caller, name=name)
        finder.fit(X)
    distances, indices = finder.kneighbors(X)
    found = _without_own_row(np.asarray(indices), np.asarray(distances))
    _check_possible_rows(found, X.shape[0], caller)
    return found


def _without_own_row(indices: np.ndarray, distances: np.ndarray) -> Neighborhood:
    """Drop from line i the row i itself, or the last one where it is not listed."""
    m, k = indices.shape
    own = indices == np.arange(m)[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return Neighborhood(indices[~own].reshape(m, k - 1), distances[~own].reshape(m, k - 1))


def check_neighborhood(
    given: Neighborhood, X: Any, metric: FeatureMetric, k: int | None, *, caller: str
) -> None:
    """Raise unless a neighborhood found before is one of these rows.

    Parameters
    ----------
    given : Neighborhood
        What the caller was given.
    X : array or CSR array of shape (n, d)
        Clean rows.
    metric : FeatureMetric
        How the distances of the neighborhood should have been measured.
    k : int or None
        How many neighbors each row should have; None takes any number.
    caller : str
        Who asks; begins the error messages.
    """
    found = None
    if given.n_rows != X.shape[0]:
        found = f"It has {given.n_rows} rows, and X has {X.shape[0]}"
    elif k is not None and given.n_neighbors != k:
        found = f"It has {given.n_neighbors} neighbors per row, and {k} are needed"
    else:
        _check_possible_rows(given, X.shape[0], caller)
        for near, distances in zip(given.indices.T, given.distances.T):
            if not np.allclose(metric.paired(X, X, None, near), distances, rtol=1e-9, atol=1e-12):
                found = "Its distances are not those of these rows, metric and scale"
    if found:
        raise InputError(
            f"The neighborhood of {caller} must belong to the rows of X",
            found,
            f"Make it with find_neighbors(X, n_neighbors, …) and the same metric, scale and "
            f"categorical_features as those of {caller}, or omit it",
        )


def _check_possible_rows(found: Neighborhood, n: int, caller: str) -> None:
    """Raise for row numbers that are not there; compiled code would read past the data."""
    outside = (found.indices < 0) | (found.indices >= n)
    own = found.indices == np.arange(found.n_rows)[:, None]
    if outside.any() or own.any():
        raise InputError(
            f"{caller} needs neighbors that are other rows of X",
            "A row is its own neighbor" if own.any() else f"Some are outside 0 … {n - 1}",
            "Make the neighborhood with find_neighbors(X, n_neighbors), or fix kneighbors",
        )


def check_n_neighbors(k: Any, n: int, *, caller: str, name: str = "n_neighbors") -> int:
    """Return k, or say why there cannot be that many neighbors among n rows."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"{arg(name)} of {caller} must be an integer >= 1", f"Got {k!r}")
    if k >= n:
        raise TooFewRowsError(
            f"{arg(name)} of {caller} must be < n_samples",
            f"Got {k}, and there are only {n} rows",
            f"Lower {arg(name)} to at most {n - 1}" if n > 1 else "",
        )
    return int(k)


def _check_options(missing: str, scale: Scale, algorithm: str, among: Any, queries: Any) -> None:
    check_choice("missing", missing, ("error", "distance"))
    check_choice("scale", scale, (None, "range", "standard"))
    check_choice("algorithm", algorithm, ALGORITHMS)
    if among is not None and queries is not None:
        raise InputError("among and queries of find_neighbors exclude each other", "Got both")


def _validate_bag(among: Any, n: int) -> np.ndarray:
    """Return distinct row numbers."""
    bag = np.asarray(among)
    whole = bag.ndim == 1 and (bag.dtype.kind in "iu" or bag.size == 0)
    if not whole or (bag.size and (bag.min() < 0 or bag.max() >= n)):
        raise InputError(
            f"among must be a list of row numbers from 0 to {n - 1}",
            f"Got {bag.dtype}{list(bag.shape)}"
            + (f" from {bag.min()} to {bag.max()}" if whole else ""),
        )
    if len(np.unique(bag)) < len(bag):
        raise InputError(
            "among must list every row once",
            f"{len(bag) - len(np.unique(bag))} of its {len(bag)} entries are repetitions",
        )
    return bag.astype(np.int64)


def _check_queries(Q: Any, features: Features, missing: str) -> None:
    """Raise for queries in another kind of container, or with unknown numbers."""
    sparse = map(has_sparse_rows, (features.X, Q))
    kinds = ["a sparse matrix" if one else "a dense table" for one in sparse]
    if kinds[0] != kinds[1]:
        raise InputError(
            "queries must be dense or sparse, like X", "X is {} and queries is {}".format(*kinds)
        )
    if missing == "error" and has_missing(Q, ~features.categorical):
        raise MissingValuesError(
            "find_neighbors does not accept missing values in queries",
            "queries has NaN",
            f"Fill them (sklearn.impute.SimpleImputer), or pass {arg('missing', 'distance')}",
        )


# --- engines --------------------------------------------------------------------------------------


class Engine(NamedTuple):
    """An engine, and which searches it suits if none before it does."""

    suits: Callable[[Search], bool]
    run: Callable[[Search], TopK | None]


def run_exact(search: Search) -> TopK:
    """Return the k nearest rows of every query, by the first engine that suits."""
    if search.metric.is_exact and search.effort <= _LARGE:
        search = replace(search, threads=1)
    for engine in ENGINES:
        if engine.suits(search):
            if engine.run in (search_sparse, search_gemm):
                _warn_of_long_search(search)
            found = engine.run(search)
            if found is not None:
                return found
    raise AssertionError("The last engine suits every search.")


def _has_many_categories(search: Search) -> bool:
    """Tell whether there are too many categories to give each a coordinate."""
    return search.embedding.n_coordinates > 4 * search.X.shape[1] + 64


def _warn_of_long_search(search: Search) -> None:
    n, d = search.X.shape
    if search.kind == "sparse":
        is_long = search.effort > _LONG_SPARSE
        instead = "sklearn.decomposition.TruncatedSVD makes fewer features"
    else:
        is_long = search.effort > _LONG and suits_cells(search)
        instead = f"{arg('algorithm', 'approx')} finds nearly all of them much faster"
    if not (search.warns and is_long):
        return
    warn_user(
        f"The exact neighbors of {search.Q.shape[0]:,} rows among {n:,} with {d:,} features take "
        f"minutes. {instead}; {arg('algorithm', 'exact')} silences this.",
        LongSearchWarning,
    )


ENGINES = (
    Engine(lambda search: search.kind == "device", search_tensors),
    Engine(lambda search: not search.metric.is_exact, search_pairwise),
    Engine(lambda search: search.effort < _SMALL, search_brute),
    Engine(lambda search: search.has_missing_numbers, search_brute),
    Engine(lambda search: search.kind == "sparse", search_sparse),
    Engine(_has_many_categories, search_brute),
    Engine(suits_kdtree, search_kdtree),
    Engine(suits_cells, search_partition),
    Engine(lambda search: True, search_gemm),
)
