"""``k_neighbors`` as imbalanced-learn takes it: a number, or any object that finds neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from labelance.exceptions import InputError, TooFewRowsError
from labelance.neighbors._neighborhood import Neighborhood
from labelance.neighbors._search import search
from labelance.neighbors._space import Space


def check_k(k: Any, n: int, *, who: str, name: str = "k") -> int:
    """Return k, or say why there cannot be that many neighbors among n rows."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(
            f"{who} needs {name} as a whole number of at least 1",
            f"{name} is {k!r}",
            f"Choose {name} from 1 to {n - 1}",
        )
    if k >= n:
        raise TooFewRowsError(
            f"{who} looks for {name}={k} neighbors of every row (k must be < n_samples)",
            f"there are only {n} rows",
            f"Lower {name} to at most {n - 1}" if n > 1 else "Pass more rows",
        )
    return int(k)


def resolve_neighbors(
    k_neighbors: Any, X: Any, space: Space, *, n_jobs: int | None, who: str
) -> Neighborhood:
    """Return the neighborhood of clean rows that a sampler's ``k_neighbors`` asks for.

    Parameters
    ----------
    k_neighbors : int or object with ``kneighbors``
        A number, or a search such as ``sklearn.neighbors.NearestNeighbors``. As in
        imbalanced-learn, the ``n_neighbors`` of such an object counts the row itself, so it
        gives one neighbor less. An object that can be fitted is cloned and fitted on X.
    X : array or CSR array of shape (n, d)
        Clean rows.
    space : Space
        How distances are measured, where k_neighbors is a number.
    n_jobs : int or None
        The number of threads, where k_neighbors is a number.
    who : str
        Who asks; begins the error messages.
    """
    if not hasattr(k_neighbors, "kneighbors"):
        k = check_k(k_neighbors, X.shape[0], who=who, name="k_neighbors")
        return search(X, k, space, n_jobs=n_jobs)
    finder = k_neighbors
    if hasattr(finder, "fit"):
        finder = clone(finder, safe=False)
        wanted = getattr(finder, "n_neighbors", None)
        if wanted is not None:
            check_k(wanted - 1, X.shape[0], who=who, name="k_neighbors.n_neighbors - 1")
        finder.fit(X)
    distances, indices = finder.kneighbors(X)
    return without_own_row(np.asarray(indices), np.asarray(distances))


def without_own_row(indices: np.ndarray, distances: np.ndarray) -> Neighborhood:
    """Drop from line i the row i itself, or the last one where it is not listed."""
    m, k = indices.shape
    own = indices == np.arange(m)[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    return Neighborhood(indices[~own].reshape(m, k - 1), distances[~own].reshape(m, k - 1))
