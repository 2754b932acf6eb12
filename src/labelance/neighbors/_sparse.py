"""Engine for sparse rows: an inverted index to sieve, merged rows to rank.

Adding up, for every feature of a query, its products with the rows that have it too gives the
scores without touching a zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from labelance._utils import kernel
from labelance.neighbors._blocks import block_cells
from labelance.neighbors._bounds import bounds_of, is_ordinary, is_whole, safe_factor
from labelance.neighbors._exact import Measure, SparseRows, sparse_rows
from labelance.neighbors._exhaustive import search_exhaustively
from labelance.neighbors._postings import Postings, make_postings, score
from labelance.neighbors._scan import Bounds, Tally, scan_row
from labelance.neighbors._sieve import Sieve
from labelance.neighbors._task import Task

_QUERIES, _ROWS = 128, 4096


@kernel
def scan_postings(
    query: SparseRows,
    start: int,
    own: np.ndarray,
    first: int,
    index: Postings,
    bounds: Bounds,
    tally: Tally,
    scores: np.ndarray,
) -> None:
    """Let a segment of rows, the first of which is ``first``, pass by the queries of a tally."""
    for i in range(own.size):
        score(query, start + i, index, scores)
        scan_row(scores, first, own[i], i, start + i, bounds, tally)


@dataclass(frozen=True, eq=False)
class SparseSieve(Sieve):
    """Scores are added up from postings."""

    query: SparseRows
    segments: list[Postings]

    def pass_by(self, first: int, start: int, stop: int, tally: Tally) -> None:
        rows = min(self.segment, self.task.X.shape[0] - first)
        scores = np.empty(rows, dtype=tally.best.dtype)
        index, own = self.segments[first // self.segment], self.task.own[start:stop]
        scan_postings(self.query, start, own, first, index, self.bounds, tally, scores)


@np.errstate(over="ignore", invalid="ignore")
def search_sparse(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and distances of the k nearest rows of X for every row of Q."""
    cells = block_cells(16, task.threads)
    most = int(np.clip(np.sqrt(cells) / 8, 1, _QUERIES))
    segment = int(np.clip(cells // most, 1, _ROWS))
    points = _place_both(task)
    if not is_ordinary(points.lengths, each=task.space.measure.cosine):
        return search_exhaustively(task)
    sieve = _make_sieve(task, points, segment, np.dtype(np.float32))
    if sieve.is_too_coarse():
        sieve = _make_sieve(task, points, segment, np.dtype(np.float64))
    return sieve.search(most)


@dataclass(frozen=True, eq=False)
class _Points:
    """Scaled rows searched and queries, and the squared lengths of both, one after the other."""

    corpus: sp.csr_array
    queries: sp.csr_array
    lengths: np.ndarray
    many: np.ndarray

    @property
    def are_whole(self) -> bool:
        """Whether scores of these points are exact in float32."""
        return is_whole(self.lengths) and all(
            bool(((part.data == np.rint(part.data)) | self.many[part.indices]).all())
            for part in (self.corpus, self.queries)
        )


def _place_both(task: Task) -> _Points:
    Q, X, measure = task.Q, task.X, task.space.measure
    many = _many_categories(X, measure) | _many_categories(Q, measure)
    corpus, lengths = _place(X, measure, many)
    queries, query_lengths = (corpus, lengths) if Q is X else _place(Q, measure, many)
    return _Points(corpus, queries, np.append(lengths, query_lengths), many)


def _make_sieve(task: Task, points: _Points, segment: int, dtype: np.dtype) -> SparseSieve:
    many, n, cosine = points.many, task.X.shape[0], task.space.measure.cosine
    whole = points.are_whole and not cosine
    terms = 0 if whole else int(max(1, np.diff(task.Q.indptr).max()))
    factor = 1.0 if cosine else safe_factor(points.lengths)
    lengths = points.lengths * factor**2
    bounds = bounds_of(lengths[:n], lengths[n:], terms, dtype, cosine=cosine)
    corpus = _resize(points.corpus, many, factor, dtype)
    queries = corpus if task.Q is task.X else _resize(points.queries, many, factor, dtype)
    starts = range(0, n, segment)
    cells = block_cells(4, 1) // len(starts)
    segments = [make_postings(corpus[i : i + segment], many, factor, cells) for i in starts]
    exact = lengths[n:] if whole else None
    return SparseSieve(task, bounds, exact, segment, sparse_rows(queries), segments)


def _many_categories(X: sp.csr_array, measure: Measure) -> np.ndarray:
    """Return the mask of nominal features that are not 0 or 1 everywhere."""
    many = np.zeros(X.shape[1], dtype=bool)
    if measure.nominal.any():
        many[X.indices[X.data != 1]] = True
    return many & measure.nominal


def _place(X: sp.csr_array, measure: Measure, many: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Return the rows scaled, and their squared lengths; a category counts 1."""
    width = np.where(measure.nominal, 1.0, measure.width)
    values = X.data / width[X.indices]
    counts = np.diff(X.indptr)
    rows = np.repeat(np.arange(X.shape[0]), counts)
    squares = np.where(many[X.indices], 1.0, values * values)
    lengths = np.bincount(rows, weights=squares, minlength=X.shape[0])
    if measure.cosine:
        values /= np.sqrt(np.where(lengths > 0, lengths, 1.0))[rows]
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape), lengths


def _resize(points: sp.csr_array, many: np.ndarray, factor: float, dtype: np.dtype) -> sp.csr_array:
    """Return the points in their final type; codes of categories stay as they are."""
    values = points.data
    if factor != 1:
        values = np.where(many[points.indices], values, values * factor)
    return sp.csr_array((values.astype(dtype), points.indices, points.indptr), shape=points.shape)
