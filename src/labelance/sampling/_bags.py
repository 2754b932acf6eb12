"""The bag of rows that a label has, and the seeds that are drawn from bags."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def label_bags(Y: sp.csr_array, labels: np.ndarray) -> list[np.ndarray]:
    """Return, for each of the labels, the rows that have it, in row order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._bags import label_bags
    >>> label_bags(sp.csr_array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]), [1, 2])
    [array([0, 2]), array([2])]
    """
    by_label = Y.tocsc()
    rows, starts = by_label.indices.astype(np.int64), by_label.indptr
    return [rows[starts[label] : starts[label + 1]] for label in labels]


def draw_places(
    sizes: np.ndarray, n_seeds: int | np.ndarray | None, rng: np.random.Generator
) -> np.ndarray | slice:
    """Return which members are seeds, counted through all bags, bag by bag.

    All (None), a number of them drawn from all bags together, or from each bag its number.
    """
    if n_seeds is None:
        return slice(None)
    if isinstance(n_seeds, np.ndarray):
        first = np.cumsum(sizes) - sizes
        return np.sort(np.repeat(first, n_seeds) + rng.integers(np.repeat(sizes, n_seeds)))
    total = sizes.sum()
    return np.sort(rng.integers(total, size=n_seeds)) if total else np.empty(0, dtype=np.int64)


def split_places(places: np.ndarray | slice, sizes: np.ndarray) -> list[np.ndarray | slice]:
    """Return the places that were drawn bag by bag, counted inside each bag."""
    if isinstance(places, slice):
        return [places] * len(sizes)
    first = np.cumsum(sizes) - sizes
    parts = np.split(places, np.searchsorted(places, first[1:]))
    return [part - start for part, start in zip(parts, first)]
