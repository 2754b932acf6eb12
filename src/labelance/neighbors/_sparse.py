"""Engine for sparse rows: an inverted index finds candidates, merged rows rank them.

Adding up, for every feature of a query, its products with the rows that have it too gives the
scores without touching a zero. A feature that many rows have is kept as a strip, one number
per row, because adding a strip is what processors are fastest at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from labelance._arrays._columns import columns_beyond_binary
from labelance._arrays._containers import SparseRows
from labelance._arrays._sparse import narrow_indices
from labelance.neighbors._candidates import CandidateEngine, Scan, bounds_of, search_candidates
from labelance.neighbors._embedding import is_ordinary, is_whole, safe_factor
from labelance.neighbors._kernels import score_rows
from labelance.neighbors._metric import CompiledMetric, sparse_rows
from labelance.neighbors._neighborhood import TopK
from labelance.neighbors._search import Search, block_cells, log_engine

_QUERIES, _ROWS = 128, 4096
_PLACED = 1 << 13  # rows that are scaled together, so that what lies between stays small
_STRIP_FROM = 8  # a feature is a strip if one row in this many has it


@dataclass(frozen=True, eq=False)
class InvertedIndexEngine(CandidateEngine):
    """Scores are added up from an inverted index."""

    query: SparseRows
    segments: list[InvertedIndex]

    def scan_segment(self, first: int, start: int, stop: int, scan: Scan) -> None:
        index = self.segments[first // self.segment]
        scores = np.empty((stop - start, index.strips.shape[1]), dtype=index.strips.dtype)
        score_rows(*self.query, start, index, scores)
        self.scan_scores(scores, first, start, scan)

    def only(self, queries: np.ndarray) -> Self:
        rows = sp.csr_array(
            (self.query.data, self.query.indices, self.query.indptr), shape=self.search.Q.shape
        )
        return replace(super().only(queries), query=sparse_rows(rows[queries])[0])


@np.errstate(over="ignore", invalid="ignore")
def search_sparse(search: Search) -> TopK:
    """Return the k nearest rows of X for every row of Q."""
    log_engine(search, "an inverted index, as rows are sparse")
    cells = block_cells(16, search.threads)
    most = int(np.clip(np.sqrt(cells) / 8, 1, _QUERIES))
    segment = int(np.clip(cells // most, 1, _ROWS))
    nominal = search.metric.compiled.nominal
    many = np.zeros(len(nominal), dtype=bool)
    for table in (search.X, search.Q):
        many[columns_beyond_binary(table, nominal)] = True
    return search_candidates(partial(_make_engine, search, many, segment), search, most)


def _make_engine(
    search: Search, many: np.ndarray, segment: int, dtype: np.dtype
) -> InvertedIndexEngine | None:
    """Index the rows; None where squares overflow or underflow."""
    metric, n = search.metric.compiled, search.X.shape[0]
    corpus, queries = _place_both(search, many, dtype)
    lengths = np.append(corpus.lengths, queries.lengths)
    if not is_ordinary(lengths, each=metric.cosine):
        return None
    whole = not metric.cosine and corpus.whole and queries.whole and is_whole(lengths)
    factor = 1.0 if metric.cosine else safe_factor(lengths)
    if factor != 1:
        corpus, queries = _place_both(search, many, dtype, factor)
        lengths *= factor**2
    terms = 0 if whole else int(max(1, np.diff(search.Q.indptr).max()))
    bounds = bounds_of(lengths[:n], lengths[n:], terms, dtype, cosine=metric.cosine)
    starts = range(0, n, segment)
    cells = block_cells(4, 1) // len(starts)
    segments = [make_index(corpus.rows[i : i + segment], many, factor, cells) for i in starts]
    exact = lengths[n:] if whole else None
    (query,) = sparse_rows(queries.rows)
    return InvertedIndexEngine(search, bounds, exact, segment, query, segments)


class Placed(NamedTuple):
    """Scaled rows, their squared lengths in float64, and whether all numbers are whole."""

    rows: sp.csr_array
    lengths: np.ndarray
    whole: bool


def _place_both(
    search: Search, many: np.ndarray, dtype: np.dtype, factor: float = 1.0
) -> tuple[Placed, Placed]:
    place = partial(
        _place_rows, metric=search.metric.compiled, many=many, dtype=dtype, factor=factor
    )
    corpus = place(search.X)
    return corpus, corpus if search.Q is search.X else place(search.Q)


def _place_rows(
    X: sp.csr_array, metric: CompiledMetric, many: np.ndarray, dtype: np.dtype, factor: float = 1.0
) -> Placed:
    """Return the rows scaled; a category counts 1 in their lengths.

    Parameters
    ----------
    X : CSR array
        Clean rows.
    metric : CompiledMetric
        How they are scaled.
    many : boolean array
        The features whose values are categories.
    dtype : float32 or float64
        The type of the scaled rows.
    factor : float
        What numbers are multiplied by at last; lengths, and codes of categories, are not.
    """
    width, whole = np.where(metric.nominal, 1.0, metric.width), True
    values, lengths = np.empty(X.nnz, dtype=dtype), np.empty(X.shape[0])
    for start in range(0, X.shape[0], _PLACED):
        part = slice(start, start + _PLACED)
        ends = X.indptr[start : start + _PLACED + 1]
        cells = slice(ends[0], ends[-1])
        features = X.indices[cells]
        rows = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        scaled = X.data[cells] / width[features]
        squares = np.where(many[features], 1.0, scaled * scaled)
        lengths[part] = np.bincount(rows, weights=squares, minlength=len(ends) - 1)
        if metric.cosine:
            scaled /= np.sqrt(np.where(lengths[part] > 0, lengths[part], 1.0))[rows]
        whole = whole and bool(((scaled == np.rint(scaled)) | many[features]).all())
        if factor != 1:
            scaled = np.where(many[features], scaled, scaled * factor)
        values[cells] = scaled
    return Placed(sp.csr_array((values, X.indices, X.indptr), shape=X.shape), lengths, whole)


class InvertedIndex(NamedTuple):
    """The rows that have a feature, for every feature, in one segment of rows."""

    values: np.ndarray
    rows: np.ndarray
    starts: np.ndarray  # where a feature's rows begin; one more at the end
    strips: np.ndarray
    strip_of: np.ndarray  # the number of a feature's strip, or -1
    many: np.ndarray  # nominal features with other codes than 0 and 1
    category_scores: np.ndarray  # what different, and what equal, categories add to a score


def make_index(points: sp.csr_array, many: np.ndarray, factor: float, cells: int) -> InvertedIndex:
    """Index some rows.

    Parameters
    ----------
    points : CSR array
        The rows, scaled.
    many : boolean array
        The features whose values are categories.
    factor : float
        What the points were multiplied by.
    cells : int
        How many numbers all strips together may hold.
    """
    by_feature = narrow_indices(points).tocsc()
    n, counts = points.shape[0], np.diff(by_feature.indptr)
    wanted = np.flatnonzero((counts * _STRIP_FROM > n) & ~many)
    wanted = wanted[np.argsort(-counts[wanted], kind="stable")][: cells // max(1, n)]
    strip_of = np.full(len(counts), -1, dtype=np.int32)  # every segment has one
    strip_of[wanted] = np.arange(len(wanted))
    strips = np.zeros((len(wanted), n), dtype=points.dtype)
    of_cell = np.repeat(strip_of, counts)
    in_strip = of_cell >= 0
    strips[of_cell[in_strip], by_feature.indices[in_strip]] = by_feature.data[in_strip]
    category_scores = np.array([-1.0, -2.0], dtype=points.dtype) * points.dtype.type(factor**2)
    index = by_feature.data, by_feature.indices, by_feature.indptr
    return InvertedIndex(*index, strips, strip_of, many, category_scores)
