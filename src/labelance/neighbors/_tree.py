"""Engine for very many rows of few features: scikit-learn's tree to sieve, exact ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.neighbors import KDTree

from labelance.neighbors._blocks import even_block, for_each_block
from labelance.neighbors._exhaustive import search_exhaustively
from labelance.neighbors._points import Embedding, Points, place_all
from labelance.neighbors._task import Task

_QUERIES, _ROWS = 1024, 2000
_MORE = 4  # neighbors asked for beyond k; rarely are as many about as near as the last


def suits_tree(task: Task, embedding: Embedding) -> bool:
    """Tell whether a tree beats products of all pairs; each feature makes trees slower."""
    d, plain = embedding.n_coordinates, not (embedding.unit or embedding.whole)
    return plain and len(embedding.many) == 0 and bool(len(task.X) >= _ROWS * 2.5 ** min(d, 64))


def search_tree(task: Task, embedding: Embedding) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    points = place_all(task.Q, task.X, replace(embedding, dtype=np.dtype(np.float64)))
    if points is None:
        return search_exhaustively(task)
    return TreeSieve(task, points, KDTree(points.corpus)).search()


@dataclass(frozen=True, eq=False)
class TreeSieve:
    """A tree of float64 points, without spelled-out categories."""

    task: Task
    points: Points
    tree: KDTree

    def search(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances for all queries."""
        m, threads = len(self.task.Q), self.task.threads
        block = even_block(m, _QUERIES, threads)
        rows, distances = zip(*for_each_block(self.block, m, block=block, threads=threads))
        return np.concatenate(rows), np.concatenate(distances)

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances for some queries."""
        n, last = len(self.task.X), self.task.k - 1 + (self.task.Q is self.task.X)
        asked = min(last + 1 + _MORE, n)
        distances, rows = self.tree.query(self.points.queries[start:stop], k=asked)
        reach = self._reach(distances[:, last], start, stop)
        near = distances <= reach[:, np.newaxis]
        pool, counts = np.sort(np.where(near, rows, n), axis=1), near.sum(axis=1)
        found = self.task.rank(np.arange(start, stop), pool, counts)
        for i in np.flatnonzero(counts == asked) if asked < n else ():
            crowd = self.tree.query_radius(self.points.queries[[start + i]], reach[i])[0]
            pool, counts = np.sort(crowd)[np.newaxis], np.array([len(crowd)])
            for whole, line in zip(found, self.task.rank(np.array([start + i]), pool, counts)):
                whole[i] = line[0]
        return found

    def _reach(self, last: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return how far, in the tree's rounded distances, a neighbor may be."""
        unit = (self.points.corpus.shape[1] + 16) * 2.0**-51
        lengths = np.sqrt(self.points.query_lengths[start:stop])
        vanishing = 1e-149 * self.points.embedding.factor  # its square is no longer precise
        return last * (1 + 2 * unit) + 4 * unit * lengths + vanishing
