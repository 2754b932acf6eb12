"""Engine for every other metric that scikit-learn knows: all distances, block by block."""

from __future__ import annotations

import numpy as np

from labelance.neighbors._blocks import block_cells, even_block, for_each_block
from labelance.neighbors._metrics import all_distances
from labelance.neighbors._scan import Bounds, new_tally, scan_block
from labelance.neighbors._task import Task

_QUERIES = 256


def search_pairwise(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    space, m, n = task.space, task.Q.shape[0], task.X.shape[0]
    X = space.scaled(task.X)
    Q = X if task.Q is task.X else space.scaled(task.Q)
    nothing = Bounds(np.zeros(n), np.zeros(n), np.zeros(m))  # to add to a distance

    def work(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        tally = new_tally(stop - start, task.k, 0, np.dtype(np.float64))
        scores = all_distances(space.metric, Q[start:stop], X, space.params)
        scan_block(scores, 0, task.own[start:stop], start, nothing, tally)
        return tally.rows, tally.best

    most = int(np.clip(block_cells(16, task.threads) // n, 1, _QUERIES))
    block = even_block(m, most, task.threads)
    rows, values = zip(*for_each_block(work, m, block=block, threads=task.threads))
    return np.concatenate(rows), np.concatenate(values)
