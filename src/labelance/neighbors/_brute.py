"""Engines that measure every pair.

For small data and for rows with missing values our own distance is the engine; every other
metric is measured by scikit-learn.
"""

from __future__ import annotations

import numpy as np

from labelance._utils._kernel import kernel
from labelance.neighbors._distance import all_distances
from labelance.neighbors._search import Search, block_cells
from labelance.neighbors._topk import Candidates, TopK, insert, new_top_k

_QUERIES, _QUERIES_PAIRWISE = 64, 256
_MANY = 1 << 27  # pairs from which on one thread works through blocks too, so that it tells how far


def search_brute(search: Search) -> TopK:
    """Measure every pair by our own distance."""
    n = search.X.shape[0]
    everybody = Candidates(np.arange(n)[np.newaxis], np.array([n]))

    def work(start: int, stop: int) -> TopK:
        return search.rank(np.arange(start, stop), everybody)

    m = search.Q.shape[0]
    return search.run_blocks(work, _QUERIES if search.threads > 1 or m * n > _MANY else m)


def search_pairwise(search: Search) -> TopK:
    """Measure every pair by a metric of scikit-learn."""
    metric, n = search.metric, search.X.shape[0]
    X = metric.scaled(search.X)
    Q = X if search.Q is search.X else metric.scaled(search.Q)

    def work(start: int, stop: int) -> TopK:
        nearest = new_top_k(stop - start, search.k)
        distances = all_distances(metric.metric, Q[start:stop], X, metric.params)
        _select_top_k(distances, search.own[start:stop], nearest)
        return nearest

    most = int(np.clip(block_cells(16, search.threads) // n, 1, _QUERIES_PAIRWISE))
    return search.run_blocks(work, most)


@kernel
def _select_top_k(distances: np.ndarray, own: np.ndarray, nearest: TopK) -> None:
    """Fill ``nearest`` from a table of distances; the lower row wins a tie."""
    for i in range(distances.shape[0]):
        for row in range(distances.shape[1]):
            if distances[i, row] < nearest.values[i, -1] and row != own[i]:
                insert(row, distances[i, row], nearest, i)
