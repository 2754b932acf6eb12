"""The neighborhood is one value: who is near whom, and how near; and the nearest rows of a query.

Of rows that are as near, the lower one wins. Every engine puts rows in with ``insert`` of
``_kernels.pyx``, in ascending order of their numbers, and joins what was found in several parts of
the rows with :func:`merge`. Only the engines of a GPU (``_torch``, ``_cuda``) have their own form
of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance.exceptions import InputError


@dataclass(frozen=True, eq=False, repr=False)
class Neighborhood:
    """The nearest rows of every row, nearest first, with their distances.

    A row is never its own neighbor, and equal distances are ordered by lower row number.
    The arrays cannot be written to, so that one neighborhood can be shared by several methods.

    Parameters
    ----------
    indices : array of shape (m, k)
        Row numbers of the neighbors.
    distances : array of shape (m, k)
        How far they are.
    recall_ : float or None, default=None
        For an approximate search, the share of the nearest rows that it found, measured on some
        rows; None says that all are the nearest.

    Attributes
    ----------
    n_neighbors : int
        The number of neighbors of every row.
    n_rows : int
        The number of rows that have neighbors here.

    Examples
    --------
    >>> from labelance.neighbors import find_neighbors
    >>> around = find_neighbors([[0.0], [1.0], [2.5], [2.5]], 2)
    >>> around
    Neighborhood(4 rows, k=2, median reach 1.5)
    >>> around.indices
    array([[1, 2],
           [0, 2],
           [3, 1],
           [2, 1]])
    >>> around.distances[0]
    array([1. , 2.5])
    """

    indices: np.ndarray
    distances: np.ndarray
    recall_: float | None = None

    def __post_init__(self) -> None:
        indices = np.asarray(self.indices)
        distances = np.asarray(self.distances, dtype=np.float64)
        if indices.ndim != 2 or indices.shape != distances.shape or indices.dtype.kind not in "iu":
            raise InputError(
                "A Neighborhood needs indices and distances, two arrays of shape (m, k)",
                f"indices is {indices.dtype}{list(indices.shape)} and distances has shape "
                f"{distances.shape}",
                "Pass both as a neighbor search returns them, without the row itself",
            )
        object.__setattr__(self, "indices", _locked(indices))
        object.__setattr__(self, "distances", _locked(distances))

    @property
    def n_neighbors(self) -> int:
        """The number of neighbors of every row."""
        return self.indices.shape[1]

    @property
    def n_rows(self) -> int:
        """The number of rows that have neighbors here."""
        return self.indices.shape[0]

    def adjacency(self, n_columns: int | None = None) -> sp.csr_array:
        """Return the graph as a sparse matrix with k ones in every row.

        Parameters
        ----------
        n_columns : int, optional
            The number of rows searched, where it is not the number of rows that have neighbors
            (a search inside a bag, or for other queries).

        Examples
        --------
        >>> from labelance.neighbors import find_neighbors
        >>> find_neighbors([[0.0], [1.0], [3.0]], 1).adjacency().toarray()
        array([[0, 1, 0],
               [1, 0, 0],
               [0, 1, 0]], dtype=int8)
        """
        m, k = self.indices.shape
        columns = self.n_rows if n_columns is None else n_columns
        whole = np.int32 if max(m * k, columns) < 2**31 else np.int64
        ones = np.ones(m * k, dtype=np.int8)
        indptr = np.arange(0, m * k + 1, k, dtype=whole)
        graph = sp.csr_array((ones, self.indices.ravel().astype(whole), indptr), shape=(m, columns))
        graph.sort_indices()
        return graph

    def truncate(self, n_neighbors: int) -> Neighborhood:
        """Return the nearest ``n_neighbors`` of the neighbors of every row.

        Examples
        --------
        >>> from labelance.neighbors import find_neighbors
        >>> find_neighbors([[0.0], [1.0], [3.0]], 2).truncate(1).indices.ravel()
        array([1, 0, 1])
        """
        if not 1 <= n_neighbors <= self.n_neighbors:
            raise InputError(
                f"n_neighbors must be from 1 to {self.n_neighbors}",
                f"Got {n_neighbors}",
                "Search again with a larger n_neighbors",
            )
        return Neighborhood(
            self.indices[:, :n_neighbors], self.distances[:, :n_neighbors], self.recall_
        )

    def __repr__(self) -> str:
        reach = np.median(self.distances[:, -1]) if self.indices.size else np.nan
        recall = "" if self.recall_ is None else f", recall {self.recall_:.3f}"
        size = f"{self.n_rows} rows, k={self.n_neighbors}"
        return f"Neighborhood({size}, median reach {reach:.4g}{recall})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Neighborhood, (self.indices, self.distances, self.recall_)  # a copy is locked too


def _locked(array: np.ndarray) -> np.ndarray:
    """Return the array so that no one can write to it: a copy, unless it is locked already."""
    base = array.base
    if array.flags.writeable or (isinstance(base, np.ndarray) and base.flags.writeable):
        array = array.copy()
        array.flags.writeable = False
    return array


def scale_to_all(
    seen: NDArray[np.integer], known: NDArray[np.integer], k: int
) -> NDArray[np.integer]:
    """Return votes as if all k neighbors were known: the share among known ones, times k, rounded.

    0 where no neighbor is known.
    """
    return (2 * k * seen + known) // np.maximum(2 * known, 1)


class TopK(NamedTuple):
    """The k rows with the smallest values of every query, ascending."""

    rows: np.ndarray
    values: np.ndarray


class Candidates(NamedTuple):
    """Rows that may be among the nearest of a query; one line serves all queries."""

    rows: np.ndarray  # (n_queries, capacity) or (1, capacity)
    counts: np.ndarray  # how many there are in each line


def new_top_k(queries: int, k: int, dtype: Any = np.float64) -> TopK:
    """Return the top-k of queries that have seen no row."""
    shape = (queries, k)
    return TopK(np.full(shape, -1, dtype=np.int64), np.full(shape, np.inf, dtype=dtype))


def merge(parts: Sequence[TopK], k: int) -> TopK:
    """Return the k nearest of all that were found; the lower row wins a tie."""
    rows = np.concatenate([part.rows for part in parts], axis=1)
    values = np.concatenate([part.values for part in parts], axis=1)
    order = rows.argsort(axis=1, kind="stable")
    by_row = np.take_along_axis(values, order, axis=1)
    order = np.take_along_axis(order, by_row.argsort(axis=1, kind="stable"), axis=1)
    order = order[:, :k]
    return TopK(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))
