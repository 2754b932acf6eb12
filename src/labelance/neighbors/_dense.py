"""Two engines for dense rows: products of all pairs (BLAS gemm), and a k-d tree.

float32 products are twice as fast as float64 ones. They only rule rows out, with a bound on their
error, so the answers are those of float64. For very many rows of few features scikit-learn's k-d
tree finds candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.neighbors import KDTree

from labelance._utils._threads import single_threaded_blas
from labelance.neighbors._candidates import (
    DOUBLE,
    CandidateEngine,
    Scan,
    bounds_of,
    search_candidates,
)
from labelance.neighbors._embedding import Points, embed_all
from labelance.neighbors._neighborhood import Candidates, TopK
from labelance.neighbors._search import Search, block_cells, log_engine, search_brute

_GEMM_QUERIES, _GEMM_ROWS = 512, 2048  # a block of scores that stays in the processor's cache
_TREE_QUERIES, _TREE_ROWS = 1024, 2000
_MORE = 4  # neighbors asked for beyond k; rarely are as many about as near as the last


@dataclass(frozen=True, eq=False)
class GemmEngine(CandidateEngine):
    """Scores are products of blocks of points."""

    points: Points

    def scan_segment(self, first: int, start: int, stop: int, scan: Scan) -> None:
        queries = self.points.queries[start:stop] * self.points.embedding.weights()
        scores = queries @ self.points.corpus[first : first + self.segment].T
        self.scan_scores(scores, first, start, scan)

    def only(self, queries: np.ndarray) -> Self:
        points = replace(self.points, queries=self.points.queries[queries])
        return replace(super().only(queries), points=points)


def search_gemm(search: Search) -> TopK:
    """Return the k nearest rows of X for every row of Q."""
    cells = block_cells(24, search.threads)
    most = int(np.clip(np.sqrt(cells) / 2, 1, _GEMM_QUERIES))
    segment = int(np.clip(cells // most, 1, _GEMM_ROWS))

    def make(dtype: np.dtype) -> GemmEngine | None:
        points = embed_all(search.Q, search.X, replace(search.embedding, dtype=dtype))
        if points is None:
            return None
        lengths, whole = (points.corpus_lengths, points.query_lengths), search.embedding.whole
        terms = 0 if whole else search.embedding.n_coordinates
        bounds = bounds_of(*lengths, terms, dtype, cosine=search.embedding.unit)
        return GemmEngine(search, bounds, lengths[1] if whole else None, segment, points)

    with single_threaded_blas():
        return search_candidates(make, search, most)


# --- a k-d tree -----------------------------------------------------------------------------------


def suits_kdtree(search: Search) -> bool:
    """Tell whether a tree beats products of all pairs; each feature makes trees slower."""
    embedding = search.embedding
    plain = not (embedding.unit or embedding.whole or len(embedding.many))
    return plain and bool(len(search.X) >= _TREE_ROWS * 2.5 ** min(embedding.n_coordinates, 64))


def search_kdtree(search: Search) -> TopK:
    """Return the k nearest rows of X for every row of Q."""
    log_engine(search, "a k-d tree, as there are few features")
    points = embed_all(search.Q, search.X, replace(search.embedding, dtype=DOUBLE))
    if points is None:
        return search_brute(search)
    engine = KDTreeEngine(search, points, KDTree(points.corpus))
    return search.run_blocks(engine.block, _TREE_QUERIES)


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
