"""Engine that measures every pair exactly: for small bags, and for rows with missing values."""

from __future__ import annotations

import numpy as np

from labelance.neighbors._blocks import even_block, for_each_block
from labelance.neighbors._task import Task

_MOST_QUERIES = 64


def search_exhaustively(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    Q, X, own, k, threads = task.Q, task.X, task.own, task.k, task.threads
    m, n = Q.shape[0], X.shape[0]
    everybody, count = np.arange(n)[np.newaxis], np.array([n])

    def work(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        queries = np.arange(start, stop)
        return task.space.rank(Q, queries, X, own[start:stop], everybody, count, k)

    block = even_block(m, _MOST_QUERIES if threads > 1 else m, threads)
    rows, distances = zip(*for_each_block(work, m, block=block, threads=threads))
    return np.concatenate(rows), np.concatenate(distances)
