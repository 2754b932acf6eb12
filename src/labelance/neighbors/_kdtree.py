"""Engine for very many rows of few features: scikit-learn's k-d tree finds candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.neighbors import KDTree

from labelance.neighbors._embedding import Points, embed_all
from labelance.neighbors._search import Search, log_engine, search_brute
from labelance.neighbors._topk import Candidates, TopK

_QUERIES, _ROWS = 1024, 2000
_MORE = 4  # neighbors asked for beyond k; rarely are as many about as near as the last


def suits_kdtree(search: Search) -> bool:
    """Tell whether a tree beats products of all pairs; each feature makes trees slower."""
    embedding = search.embedding
    d, plain = embedding.n_coordinates, not (embedding.unit or embedding.whole)
    return plain and len(embedding.many) == 0 and bool(len(search.X) >= _ROWS * 2.5 ** min(d, 64))


def search_kdtree(search: Search) -> TopK:
    """Return the k nearest rows of X for every row of Q."""
    log_engine(search, "a k-d tree, as there are few features")
    points = embed_all(search.Q, search.X, replace(search.embedding, dtype=np.dtype(np.float64)))
    if points is None:
        return search_brute(search)
    return search.run_blocks(KDTreeEngine(search, points, KDTree(points.corpus)).block, _QUERIES)


@dataclass(frozen=True, eq=False)
class KDTreeEngine:
    """A tree of float64 points, without one-hot encoded features."""

    search: Search
    points: Points
    tree: KDTree

    def block(self, start: int, stop: int) -> TopK:
        """Return the nearest rows of some queries."""
        search, n = self.search, len(self.search.X)
        last = search.k - 1 + bool((search.own[start:stop] >= 0).any())
        asked = min(last + 1 + _MORE, n)
        distances, rows = self.tree.query(self.points.queries[start:stop], k=asked)
        reach = self._reach(distances[:, last], start, stop)
        near = distances <= reach[:, np.newaxis]
        counts = near.sum(axis=1)
        candidates = Candidates(np.sort(np.where(near, rows, n), axis=1), counts)
        found = search.rank(np.arange(start, stop), candidates)
        for i in np.flatnonzero(counts == asked) if asked < n else ():
            within = self.tree.query_radius(self.points.queries[[start + i]], reach[i])[0]
            candidates = Candidates(np.sort(within)[np.newaxis], np.array([len(within)]))
            line = search.rank(np.array([start + i]), candidates)
            found.rows[i], found.values[i] = line.rows[0], line.values[0]
        return found

    def _reach(self, last: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return how far, in the tree's rounded distances, a neighbor may be."""
        unit = (self.points.corpus.shape[1] + 16) * 2.0**-51
        lengths = np.sqrt(self.points.query_lengths[start:stop])
        vanishing = 1e-149 * self.points.embedding.factor  # its square is no longer precise
        return last * (1 + 2 * unit) + 4 * unit * lengths + vanishing
