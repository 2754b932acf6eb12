"""Engine that measures every pair exactly: for small bags, and for rows with missing values."""

from __future__ import annotations

import numpy as np

from labelance.neighbors._blocks import even_block, for_each_block
from labelance.neighbors._task import Task

_QUERIES = 64


def search_exhaustively(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    m, n, threads = task.Q.shape[0], task.X.shape[0], task.threads
    everybody, count = np.arange(n)[np.newaxis], np.array([n])

    def work(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return task.rank(np.arange(start, stop), everybody, count)

    block = even_block(m, _QUERIES if threads > 1 else m, threads)
    rows, distances = zip(*for_each_block(work, m, block=block, threads=threads))
    return np.concatenate(rows), np.concatenate(distances)
