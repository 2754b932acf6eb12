"""Engine for dense rows: blocked BLAS products to sieve, exact distances to rank.

float32 products are twice as fast as float64 ones. They only rule rows out, with a bound on
their error, so the answers are those of float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from labelance.neighbors._blocks import block_cells, single_threaded_blas
from labelance.neighbors._bounds import bounds_of
from labelance.neighbors._exhaustive import search_exhaustively
from labelance.neighbors._points import Embedding, Points, place_all
from labelance.neighbors._scan import Tally, scan_block
from labelance.neighbors._sieve import Sieve
from labelance.neighbors._task import Task

_QUERIES, _ROWS = 512, 2048  # a block of scores that stays in the processor's cache


@dataclass(frozen=True, eq=False)
class DenseSieve(Sieve):
    """Scores are products of blocks of points."""

    points: Points

    def pass_by(self, first: int, start: int, stop: int, tally: Tally) -> None:
        queries = self.points.queries[start:stop] * self.points.embedding.weights()
        scores = queries @ self.points.corpus[first : first + self.segment].T
        scan_block(scores, first, self.task.own[start:stop], start, self.bounds, tally)


def search_dense(task: Task, embedding: Embedding) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    cells = block_cells(24, task.threads)
    most = int(np.clip(np.sqrt(cells) / 2, 1, _QUERIES))
    segment = int(np.clip(cells // most, 1, _ROWS))
    with single_threaded_blas():
        sieve = _make_sieve(task, embedding, segment)
        if sieve is not None and sieve.is_too_coarse():
            sieve = _make_sieve(task, replace(embedding, dtype=np.dtype(np.float64)), segment)
        return search_exhaustively(task) if sieve is None else sieve.search(most)


def _make_sieve(task: Task, embedding: Embedding, segment: int) -> DenseSieve | None:
    points = place_all(task.Q, task.X, embedding)
    if points is None:
        return None
    embedding = points.embedding
    lengths, whole = (points.corpus_lengths, points.query_lengths), embedding.whole
    terms = 0 if whole else embedding.n_coordinates
    bounds = bounds_of(*lengths, terms, embedding.dtype, cosine=embedding.unit)
    return DenseSieve(task, bounds, points.query_lengths if whole else None, segment, points)
