"""Candidates: the few rows that approximate scores cannot rule out, to be ranked exactly.

A fast engine knows, for a query and every row, a lower and an upper bound of the exact value.
The k-th smallest upper bound seen so far is the limit: a later row whose lower bound is not
below it has k earlier rows that are as near or nearer, and loses even a tie. The few others
are candidates. Where the bounds coincide, the k best are the answer already.

How wrong a fast dot product can be:
Points are the scaled rows, rounded to float32 (or float64), and multiplied by a power of two
where they would be too long or too short for that. Take unit roundoff u, ``terms`` products in
a sum and S = |x|² + |z|². Rounding the points and their lengths moves the squared distance by
less than 8 u S, summing in any order by less than terms u / (1 - terms u) S, and the bounds' own
arithmetic by a few u S. Products too small for a type lose less than float32's smallest normal
number each. The definition itself, a float64 sum of at most 2 terms squares, is off by less
than 2⁻⁵¹ (terms + 4) S; a little more lets sums that have the same root count as equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from labelance.neighbors._kernels import scan_lines
from labelance.neighbors._neighborhood import Candidates, TopK, new_top_k
from labelance.neighbors._search import Search, search_brute, spread_rows

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_PROBE, _TOO_MANY = 16, 16  # too coarse is what leaves one row in this many, for this many queries


class Bounds(NamedTuple):
    """What to add to a query's -2 x·z to get bounds, up to a number that only the query knows."""

    low: np.ndarray  # for every row searched
    high: np.ndarray
    margin: np.ndarray  # for every query, on top of ``high``


class Scan(NamedTuple):
    """What is known about a block of queries while segments of rows are scanned."""

    best: TopK  # by upper bound
    candidates: Candidates  # rows not yet ruled out; without columns if they are not kept
    low: np.ndarray  # their lower bounds


@dataclass(frozen=True, eq=False)
class CandidateEngine(ABC):
    """Scan segments of rows for candidates by fast scores, then rank the candidates exactly.

    Parameters
    ----------
    search : Search
        What is searched.
    bounds : Bounds
        How far scores may be from exact values.
    exact : array of float64, or None
        Squared lengths of the queries if scores are exact, so that nothing is left to be ranked.
    segment : int
        How many rows are scanned together.
    """

    search: Search
    bounds: Bounds
    exact: np.ndarray | None
    segment: int

    @abstractmethod
    def scan_segment(self, first: int, start: int, stop: int, scan: Scan) -> None:
        """Scan the segment that begins at row ``first`` for the queries start to stop."""

    def scan_scores(self, scores: np.ndarray, first: int, start: int, scan: Scan) -> None:
        """Scan the rows from ``first`` on for queries from ``start`` on, a line of scores each."""
        lines, rows = np.arange(len(scores)), np.array([scores.shape[1]])
        needed, own = np.ones((1, len(lines)), dtype=bool), self.search.own[start:][: len(lines)]
        scan_lines(scores, np.array([first]), rows, needed, own, lines, start, self.bounds, scan)

    def run(self, most: int) -> TopK:
        """Return the nearest rows of all queries, in blocks of at most ``most``."""
        return self.search.run_blocks(lambda start, stop: self.block(start, stop)[0], most)

    def block(self, start: int, stop: int) -> tuple[TopK, int]:
        """Return the nearest rows of some queries, and how many were ranked for them."""
        most = most_candidates(self.search.k)
        capacity = 0 if self.exact is not None else most + self.segment
        scan = new_scan(stop - start, self.search.k, capacity, self.bounds.low.dtype)
        counts, ranked = scan.candidates.counts, 0
        for first in range(0, self.search.X.shape[0], self.segment):
            self.scan_segment(first, start, stop, scan)
            if counts.max() > most:
                ranked += self._rank_early(scan, start)
        if self.exact is not None:
            squares = scan.best.values + self.exact[start:stop, np.newaxis]
            return TopK(scan.best.rows, np.sqrt(squares)), 0
        nearest = self.search.rank(np.arange(start, stop), scan.candidates)
        return nearest, ranked + int(counts.sum())

    def is_too_coarse(self) -> bool:
        """Tell from a few queries whether the bounds leave too many rows to be ranked.

        They are spread over all, since the first ones may be outliers.
        """
        if self.exact is not None:
            return False
        some = spread_rows(self.search.Q.shape[0], _PROBE)
        _, ranked = self.only(some).block(0, len(some))
        return ranked * _TOO_MANY > len(some) * self.search.X.shape[0]

    def only(self, queries: np.ndarray) -> Self:
        """Return the same engine for some of its queries."""
        bounds = self.bounds._replace(margin=self.bounds.margin[queries])
        return replace(self, search=self.search.only(queries), bounds=bounds)

    def _rank_early(self, scan: Scan, start: int) -> int:
        """Cut overlong lists of candidates to the k nearest; return how many were ranked."""
        k, (rows, counts) = self.search.k, scan.candidates
        full = np.flatnonzero(counts > most_candidates(k))
        ranked = counts[full]
        nearest = self.search.rank(start + full, Candidates(rows[full], ranked))
        rows[full, :k], scan.low[full, :k] = nearest.rows, -np.inf
        counts[full] = k
        # k equal rows: no later row comes before them.
        scan.best.values[full[nearest.values[:, -1] == 0]] = -np.inf
        return int(ranked.sum())


def most_candidates(k: int) -> int:
    """Return how many candidates a query keeps before they are ranked."""
    return max(64, 4 * k)


def search_candidates(
    make: Callable[[np.dtype], CandidateEngine | None], search: Search, most: int
) -> TopK:
    """Return what an engine finds by bounds in float32, or in float64 if these are too coarse.

    ``make`` returns None where no bounds hold: then all pairs are measured.
    """
    engine = make(SINGLE)
    if engine is not None and engine.is_too_coarse():
        del engine  # before there is another, twice as large
        engine = make(DOUBLE)
    return search_brute(search) if engine is None else engine.run(most)


def new_scan(queries: int, k: int, capacity: int, dtype: np.dtype) -> Scan:
    """Return the scan of queries that have seen no row."""
    candidates = Candidates(
        np.empty((queries, capacity), dtype=np.int64), np.zeros(queries, dtype=np.int64)
    )
    return Scan(
        new_top_k(queries, k, dtype), candidates, np.empty((queries, capacity), dtype=dtype)
    )


def bounds_of(
    corpus: np.ndarray, queries: np.ndarray, terms: int, dtype: np.dtype, *, cosine: bool
) -> Bounds:
    """Return bounds from the squared lengths of the points.

    Parameters
    ----------
    corpus, queries : float64 arrays
        Squared lengths of the rows searched and of the queries.
    terms : int
        The most products in any dot product; 0 says that nothing was rounded at all.
    dtype : float32 or float64
        In which the products were summed.
    cosine : bool
        Points are unit vectors (or zero), and twice their cosine distance is wanted.
    """
    if terms == 0:
        exact = corpus.astype(dtype)
        return Bounds(exact, exact, np.zeros(len(queries), dtype=dtype))
    share, tiny = error_of(terms, dtype)
    if cosine:
        slack = np.full(len(corpus), 2 * share + tiny)
        return Bounds(
            (-slack).astype(dtype), slack.astype(dtype), np.zeros(len(queries), dtype=dtype)
        )
    low, high = corpus * (1 - share) - tiny, corpus * (1 + share) + tiny
    margin = 2 * share * queries + 2 * tiny
    return Bounds(low.astype(dtype), high.astype(dtype), margin.astype(dtype))


def error_of(terms: int, dtype: np.dtype) -> tuple[float, float]:
    """Return how wrong a squared distance can be: a share of S, and what tiny products lose."""
    unit = float(np.finfo(dtype).eps) / 2
    share = unit * (terms / (1 - terms * unit) + 32) + 2.0**-51 * (terms + 16)
    return share, 64.0 * terms * float(np.finfo(np.float32).tiny)
