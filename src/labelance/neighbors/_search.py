"""What every engine is asked, the blocks of queries that all engines work through, brute force.

Neither blocks nor threads can change a result. For small data and for rows with missing values
our own distance of every pair is the engine; every other metric is measured by scikit-learn.
Of rows that are as near, the lower one wins: see ``_neighborhood``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config

from labelance._arrays._columns import has_missing
from labelance._arrays._containers import Kind
from labelance._arrays._open import kind_of, take_rows
from labelance._progress import loop, note
from labelance.neighbors._embedding import Embedding, choose_embedding
from labelance.neighbors._kernels import select_top_k
from labelance.neighbors._metric import FeatureMetric, all_distances
from labelance.neighbors._neighborhood import Candidates, TopK, new_top_k

_QUERIES, _QUERIES_PAIRWISE = 64, 256  # of brute force, in a block
_MANY = 1 << 27  # pairs from which on one thread works through blocks too, so that it tells how far
_WORTH_TELLING = 10_000  # rows, whose search takes longer than reading a line


@dataclass(frozen=True, eq=False)
class Search:
    """What every engine is asked: for every row of Q, the k nearest rows of X except its own."""

    Q: Any
    X: Any
    own: np.ndarray
    k: int
    metric: FeatureMetric
    threads: int
    warns: bool = False  # where the exact search takes minutes

    @property
    def effort(self) -> float:
        """Cells of all pairs together; merging sparse rows is slow for each entry."""
        n, d = self.X.shape
        return self.Q.shape[0] * (8 * self.X.nnz if self.kind == "sparse" else n * d)

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self.X)

    @cached_property
    def embedding(self) -> Embedding:
        """How dense rows without missing values become points."""
        return choose_embedding(self.Q, self.X, self.metric.compiled)

    @cached_property
    def has_missing_numbers(self) -> bool:
        """Whether a number is missing in rows or queries."""
        numeric = ~self.metric.compiled.nominal  # nominal features simply differ
        if self.Q is not self.X and has_missing(self.Q, numeric):
            return True
        return self.metric.takes_missing and has_missing(self.X, numeric)

    def only(self, queries: np.ndarray) -> Search:
        """Return the same search for some of its queries."""
        return replace(self, Q=take_rows(self.Q, queries), own=self.own[queries])

    def rank(self, queries: np.ndarray, candidates: Candidates) -> TopK:
        """Return the k nearest among the candidates of each query, measured exactly."""
        return self.metric.rank(self.Q, queries, self.X, self.own[queries], candidates, self.k)

    def run_blocks(self, work: Callable[[int, int], TopK], most: int) -> TopK:
        """Join what ``work(start, stop)`` returns for blocks of at most ``most`` queries."""
        m = self.Q.shape[0]
        found = new_top_k(m, self.k)

        def fill(start: int, stop: int) -> None:
            found.rows[start:stop], found.values[start:stop] = work(start, stop)

        for_each_block(fill, m, even_block(m, most, self.threads), self.threads)
        return found


def spread_rows(n: int, most: int) -> np.ndarray:
    """Return at most ``most`` of n row numbers, spread over all, always the same."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def log_engine(search: Search, engine: str) -> None:
    """Report which engine searches many rows, and why."""
    m, n = search.Q.shape[0], search.X.shape[0]
    if min(m, n) >= _WORTH_TELLING:
        note(f"Searching neighbors of {m:,} rows among {n:,}: {engine}.")


def for_each_block(
    work: Callable[[int, int], None],
    n: int,
    block: int,
    threads: int,
    *,
    what: str = "Searching neighbors",
    unit: str = "rows",
) -> None:
    """Call ``work(start, stop)`` for blocks of n queries."""
    edges = [(start, min(start + block, n)) for start in range(0, n, block)]
    if len(edges) == 1:
        work(*edges[0])
        return
    with loop(what, n, unit) as progress:

        def count(start: int, stop: int) -> None:
            work(start, stop)
            progress.advance(stop - start)

        # One job works in the calling thread.
        jobs = Parallel(n_jobs=min(threads, len(edges)), require="sharedmem")
        jobs(delayed(count)(*edge) for edge in edges)


def block_cells(bytes_per_cell: int, threads: int) -> int:
    """Return how many cells each thread may hold within scikit-learn's ``working_memory``."""
    return max(1, int(get_config()["working_memory"] * 2**20) // (bytes_per_cell * threads))


def even_block(n: int, most: int, threads: int) -> int:
    """Return a block size of at most ``most`` that gives every thread the same number of blocks."""
    rounds = max(1, -(-n // (threads * most)))
    return max(1, -(-n // (threads * rounds)))


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
        select_top_k(distances, search.own[start:stop], nearest)
        return nearest

    most = int(np.clip(block_cells(16, search.threads) // n, 1, _QUERIES_PAIRWISE))
    return search.run_blocks(work, most)
