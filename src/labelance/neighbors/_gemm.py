"""Engine for dense rows: blocked matrix products (BLAS gemm) find candidates.

float32 products are twice as fast as float64 ones. They only rule rows out, with a bound on
their error, so the answers are those of float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from labelance._utils._threads import single_threaded_blas
from labelance.neighbors._candidates import CandidateEngine, Scan, bounds_of
from labelance.neighbors._embedding import Embedding, Points, embed_all
from labelance.neighbors._search import Search, block_cells, search_brute
from labelance.neighbors._topk import TopK

_QUERIES, _ROWS = 512, 2048  # a block of scores that stays in the processor's cache


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
    most = int(np.clip(np.sqrt(cells) / 2, 1, _QUERIES))
    segment = int(np.clip(cells // most, 1, _ROWS))
    with single_threaded_blas():
        engine = _make_engine(search, search.embedding, segment)
        if engine is not None and engine.is_too_coarse():
            double = replace(search.embedding, dtype=np.dtype(np.float64))
            engine = _make_engine(search, double, segment)
        return search_brute(search) if engine is None else engine.run(most)


def _make_engine(search: Search, embedding: Embedding, segment: int) -> GemmEngine | None:
    points = embed_all(search.Q, search.X, embedding)
    if points is None:
        return None
    embedding = points.embedding
    lengths, whole = (points.corpus_lengths, points.query_lengths), embedding.whole
    terms = 0 if whole else embedding.n_coordinates
    bounds = bounds_of(*lengths, terms, embedding.dtype, cosine=embedding.unit)
    return GemmEngine(search, bounds, points.query_lengths if whole else None, segment, points)
