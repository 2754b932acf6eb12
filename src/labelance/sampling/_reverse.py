"""Reverse neighbors: the rows that have a row among their neighbors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelance.neighbors import Neighborhood


@dataclass(frozen=True, eq=False)
class ReverseNeighbors:
    """The rows with at least one reverse neighbor, and who these are.

    Parameters
    ----------
    seeds : ndarray of int of shape (s,)
        Rows that others have among their neighbors, in row order.
    bounds : ndarray of int of shape (s + 1,)
        ``members[bounds[t]:bounds[t + 1]]`` are the reverse neighbors of ``seeds[t]``.
    members : ndarray of int
        Row numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.neighbors import find_neighbors
    >>> from labelance.sampling._reverse import ReverseNeighbors
    >>> around = find_neighbors([[0.0], [1.0], [3.0]], 1)
    >>> reverse = ReverseNeighbors.of(around, np.arange(3))
    >>> reverse.seeds, reverse.members
    (array([0, 1]), array([1, 0, 2]))
    """

    seeds: np.ndarray
    bounds: np.ndarray
    members: np.ndarray

    @classmethod
    def of(cls, around: Neighborhood, rows: np.ndarray) -> ReverseNeighbors:
        """Turn the neighbors of the given rows around."""
        found = around.indices.ravel()
        order = np.argsort(found, kind="stable")
        seeds, counts = np.unique(found, return_counts=True)
        bounds = np.concatenate(([0], np.cumsum(counts)))
        return cls(seeds, bounds, np.repeat(rows, around.k)[order])

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw seeds evenly, and for each of them evenly one of its reverse neighbors."""
        chosen = rng.integers(len(self.seeds), size=size)
        partners = rng.integers(self.bounds[chosen], self.bounds[chosen + 1])
        return self.seeds[chosen], self.members[partners]
