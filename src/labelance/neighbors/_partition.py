"""Engine for very many dense rows: cells around centers, most of which hold no neighbor.

Rows are divided among centers (k-means on a sample), each going to its nearest. For a query q
with center a and the rows x of another cell, with center b, two bounds hold:

- the triangle inequality: d(q, x) >= d(q, b) - R, where R is the farthest that a row of the cell
  is from b (and d(q, x) >= r - d(q, b), where r is the nearest);
- the plane between the centers: f(p) = d(p, b)² - d(p, a)² is linear in p, with a gradient of
  length 2 d(a, b). It is at most 0 for rows of the cell, so d(q, x) >= f(q) / (2 d(a, b)).

A query scans its own cell first, which gives it k rows and hence a reach; a cell that lies beyond
the reach is skipped with all of its rows. Distances to centers are float32 products with the error
of `bounds_of`, and every bound is moved to its safe side by that error. What is scanned is scanned
as in :mod:`labelance.neighbors._dense`, so the answers are the same to the last bit, whatever the
centers are. Where a sample of queries says that too little would be skipped, they are products of
all pairs after all.

The order of the rows is that of the cells. Ties do not suffer: bounds never coincide (points of
integers, where they would, are not searched here), so a row as near as the k-th nearest
stays a candidate, and candidates are ranked in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from labelance._utils._threads import single_threaded_blas
from labelance.neighbors._candidates import (
    DOUBLE,
    Bounds,
    Scan,
    bounds_of,
    error_of,
    most_candidates,
    new_scan,
)
from labelance.neighbors._embedding import Embedding, Points, embed_all
from labelance.neighbors._kernels import bound_cells, scan_lines
from labelance.neighbors._neighborhood import Candidates, TopK, new_top_k
from labelance.neighbors._search import Search, for_each_block, log_engine

_MANY_ROWS = 30_000  # below that, products of all pairs take a second or two
_CELLS_PER_ROOT = 2.0  # centers for every root of the number of rows
_ROWS_PER_CENTER, _ROUNDS = 24, 4  # sampled to place a center, and how often it is moved
_DRAWS = 8  # in which centers are drawn that lie far from those before
_QUERIES, _ROWS = 128, 1024  # scanned together
_FIRST = 3  # cells next to the own one that are scanned before the reach is taken
_PROBES, WORTHWHILE = 24, 0.2  # groups of queries tried, and the share of rows that may be left
_TOO_COARSE = 1 / 16  # ... and the share of the rows scanned that may have to be ranked
_COLUMNS = 8  # of points that are copied at once where their order is changed


class Cells(NamedTuple):
    """Cell c has the rows ``order[edges[c] : edges[c + 1]]``, in ascending order."""

    centers: np.ndarray
    order: np.ndarray
    edges: np.ndarray


class Extents(NamedTuple):
    """What the bounds need to know of every cell, each on its safe side."""

    lengths: np.ndarray  # squared, of the centers
    nearest: np.ndarray  # distance of a row from the center
    farthest: np.ndarray
    longest: np.ndarray  # squared length of a row


class Error(NamedTuple):
    """How wrong a squared distance can be: ``share`` of both squared lengths, and ``tiny``."""

    share: float
    tiny: float


def suits_cells(search: Search) -> bool:
    """Tell whether cells may be worth their centers."""
    plain = not search.embedding.whole and len(search.embedding.many) == 0
    return plain and len(search.X) >= _MANY_ROWS and len(search.Q) * 8 >= len(search.X)


def search_partition(search: Search) -> TopK | None:
    """Return the k nearest rows of X for every row of Q, or None where cells would not pay."""
    with single_threaded_blas():
        engine = _make_engine(search, search.embedding)
        if engine is None:
            return None
        left, ranked = engine.probe()
        if left > WORTHWHILE:
            log_engine(search, f"all pairs, as bounds of cells would leave {left:.0%} of them")
            return None
        n_cells = len(engine.cells.centers)
        log_engine(search, f"{n_cells:,} cells, whose bounds leave {left:.1%} of all pairs")
        if ranked > _TOO_COARSE:
            del engine  # before there is another, twice as large
            engine = _make_engine(search, replace(search.embedding, dtype=DOUBLE))
        return None if engine is None else engine.run()


def _make_engine(search: Search, embedding: Embedding) -> PartitionEngine | None:
    """Divide rows and queries among cells; None where the bounds hold no longer."""
    points = embed_points(search, embedding)
    if points is None:
        return None
    n_centers = int(_CELLS_PER_ROOT * np.sqrt(len(search.X)))
    centers = place_centers(points.corpus, n_centers, search.threads)
    cells, squares = divide(points.corpus, centers, search.threads)
    error = Error(*error_of(points.corpus.shape[1], embedding.dtype))
    extents = measure_cells(cells, squares + points.corpus_lengths, points.corpus_lengths, error)
    return PartitionEngine(search, *arrange(search, points, cells), extents, error)


def embed_points(search: Search, embedding: Embedding) -> Points | None:
    """Embed rows and queries with the lengths that the points have; None if that cannot be."""
    points = embed_all(search.Q, search.X, embedding)
    if points is None or not embedding.unit:
        return points
    if not (points.corpus_lengths.all() and points.query_lengths.all()):
        return None  # a row of zeros has distance 1 from everything, which no point has
    ones = np.ones(len(search.X)), np.ones(len(search.Q))
    return replace(points, corpus_lengths=ones[0], query_lengths=ones[1])


def arrange(search: Search, points: Points, cells: Cells) -> tuple[Points, Cells, Cells, Bounds]:
    """Return points in the order of cells, the cells, the groups of queries, and bounds.

    The points are changed in place: a second copy would be as large as the data.
    """
    groups = cells
    if search.Q is not search.X:
        groups = divide(points.queries, cells.centers, search.threads, keep_empty=True)[0]
    lengths = (points.corpus_lengths[cells.order],) * 2
    corpus = queries = _reorder(points.corpus, cells.order)
    if search.Q is not search.X:
        lengths = lengths[0], points.query_lengths[groups.order]
        queries = _reorder(points.queries, groups.order)
    bounds = bounds_of(*lengths, corpus.shape[1], corpus.dtype, cosine=points.embedding.unit)
    return Points(points.embedding, corpus, lengths[0], queries, lengths[1]), cells, groups, bounds


def _reorder(points: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Bring points into another order in place, a few columns at a time."""
    for columns in _few_columns(points):
        points[:, columns] = points[order, columns]
    return points


def place_centers(points: np.ndarray, n_centers: int, threads: int) -> np.ndarray:
    """Return centers by a few rounds of k-means on a sample, always the same."""
    rng = np.random.default_rng(0)
    size = min(len(points), _ROWS_PER_CENTER * n_centers)
    sample = points[np.sort(rng.choice(len(points), size, replace=False))]
    return _move_centers(
        sample, sample[np.sort(rng.choice(size, n_centers, replace=False))], threads
    )


def spread_centers(sample: np.ndarray, n_centers: int, threads: int) -> np.ndarray:
    """Return centers that leave no cluster without one, always the same.

    They are drawn a few at a time, far rows more likely (by their squared distance from the nearest
    center so far), and moved by k-means.
    """
    rng, few = np.random.default_rng(0), -(-n_centers // _DRAWS)
    lengths = np.einsum("ij,ij->i", sample, sample, dtype=np.float64)
    centers = sample[np.sort(rng.choice(len(sample), few, replace=False))]
    while len(centers) < n_centers:
        squares = np.maximum(divide(sample, centers, threads)[1] + lengths, 0)
        more = min(few, n_centers - len(centers), int(np.count_nonzero(squares)))
        if not more:
            break  # every row is a center
        new = rng.choice(len(sample), more, replace=False, p=squares / squares.sum())
        centers = np.concatenate([centers, sample[np.sort(new)]])
    return _move_centers(sample, centers, threads)


def _move_centers(sample: np.ndarray, centers: np.ndarray, threads: int) -> np.ndarray:
    """Return centers after a few rounds of k-means."""
    for _ in range(_ROUNDS):
        cells, _ = divide(sample, centers, threads)
        centers = np.empty_like(cells.centers)
        for columns in _few_columns(sample):
            some = sample[cells.order, columns]
            sums = np.add.reduceat(some, cells.edges[:-1], axis=0, dtype=np.float64)
            centers[:, columns] = sums / np.diff(cells.edges)[:, np.newaxis]
    return centers


def _few_columns(points: np.ndarray) -> Iterator[slice]:
    """Yield slices of columns: a copy of all of them at once would be as large as the points."""
    for first in range(0, points.shape[1], _COLUMNS):
        yield slice(first, first + _COLUMNS)


def divide(
    points: np.ndarray, centers: np.ndarray, threads: int, *, keep_empty: bool = False
) -> tuple[Cells, np.ndarray]:
    """Give every point to its nearest center; return also that distance², less the point's own.

    Centers without points are left out, unless they are to keep their numbers.
    """
    # Rounded once: `Error` has room for the sum of a product, and for no second such sum.
    lengths = np.einsum("ij,ij->i", centers, centers, dtype=np.float64).astype(centers.dtype)
    turned = np.ascontiguousarray(-2 * centers.T)

    cell, squares = np.empty(len(points), np.int32), np.empty(len(points), centers.dtype)

    def work(start: int, stop: int) -> None:
        scores = points[start:stop] @ turned
        scores += lengths
        cell[start:stop] = scores.argmin(axis=1)
        squares[start:stop] = scores[np.arange(stop - start), cell[start:stop]]

    for_each_block(work, len(points), _ROWS, threads, what="Dividing rows among cells")
    counts = np.bincount(cell, minlength=len(centers))
    order = np.argsort(cell, kind="stable")
    cells = Cells(centers, order, np.append(0, np.cumsum(counts)))
    return cells if keep_empty else cut_cells(cells), squares


def cut_cells(cells: Cells) -> Cells:
    """Leave empty cells out, and cut large ones into several with the same center."""
    starts, counts = cells.edges[:-1], np.diff(cells.edges)
    parts = -(-counts // _ROWS)
    number = np.repeat(np.arange(len(parts)), parts)
    part = np.arange(len(number)) - np.repeat(np.cumsum(parts) - parts, parts)
    edges = np.append(starts[number] + part * _ROWS, cells.edges[-1])
    return Cells(cells.centers[number], cells.order, edges)


def measure_cells(cells: Cells, squares: np.ndarray, lengths: np.ndarray, error: Error) -> Extents:
    """Return the extents of cells, from squared distances of their rows to their centers."""
    centers = np.einsum("ij,ij->i", cells.centers, cells.centers, dtype=np.float64)
    of_row, starts = np.repeat(centers, np.diff(cells.edges)), cells.edges[:-1]
    squares, lengths = squares[cells.order], lengths[cells.order]
    wrong = error.share * (lengths + of_row) + error.tiny
    far = np.sqrt(np.maximum(squares, 0) + wrong)
    near = np.sqrt(np.maximum(squares - wrong, 0))
    return Extents(
        centers,
        np.minimum.reduceat(near, starts),
        np.maximum.reduceat(far, starts),
        np.maximum.reduceat(lengths, starts),
    )


def center_gaps(centers: np.ndarray, lengths: np.ndarray, group: int, error: Error) -> np.ndarray:
    """Return no less than the distances from one center to all, whose squared lengths are given."""
    both = lengths + lengths[group]
    squares = both - 2 * (centers @ centers[group]).astype(np.float64)
    squares[group] = 0.0  # itself comes first, however it was rounded
    return np.sqrt(np.maximum(squares, 0) + error.share * both + error.tiny)


@dataclass(frozen=True, eq=False)
class PartitionEngine:
    """Scan what bounds cannot rule out.

    Parameters
    ----------
    search : Search
        What is searched.
    points : Points
        Rows and queries in the order of their cells.
    cells, groups : Cells
        Those of the rows, and of the queries; they have the same centers.
    bounds : Bounds
        How far scores may be from exact values.
    extents : Extents
        What is known of every cell.
    error : Error
        How wrong a squared distance can be.
    """

    search: Search
    points: Points
    cells: Cells
    groups: Cells
    bounds: Bounds
    extents: Extents
    error: Error

    def run(self) -> TopK:
        """Return the nearest rows of all queries."""
        edges = self.blocks()
        results = new_top_k(len(self.groups.order), self.search.k)

        def work(first: int, last: int) -> None:
            for group, start, stop in edges[first:last]:
                found = self._rank(self.scan(group, start, stop).candidates, np.arange(start, stop))
                queries = self.groups.order[start:stop]
                results.rows[queries], results.values[queries] = found

        for_each_block(work, len(edges), 8, self.search.threads, unit="cells")
        return results

    def blocks(self) -> list[tuple[int, int, int]]:
        """Return (group, start, stop) for blocks of queries of one group."""
        edges = self.groups.edges
        return [
            (group, start, min(start + _QUERIES, edges[group + 1]))
            for group in range(len(edges) - 1)
            for start in range(edges[group], edges[group + 1], _QUERIES)
        ]

    def batches(self, cells: np.ndarray) -> list[np.ndarray]:
        """Divide cells into batches of about this many rows, so that their products are fast."""
        rows = np.cumsum(np.diff(self.cells.edges)[cells])
        return np.split(cells, np.flatnonzero(np.diff(rows // _ROWS)) + 1) if len(cells) else []

    def scan_cells(
        self, cells: np.ndarray, start: int, lines: np.ndarray, needed: np.ndarray, scan: Scan
    ) -> None:
        """Scan the rows of cells for lines of the queries from ``start`` on, where needed."""
        first, sizes = self.cells.edges[cells], np.diff(self.cells.edges)[cells]
        rows = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        queries = self.points.queries[start + lines] * self.points.embedding.weights()
        scores = queries @ self.points.corpus[rows].T
        own = self._own(start + lines)
        needed = np.ascontiguousarray(needed)  # as the transpose of another it may come
        scan_lines(scores, first, sizes, needed, own, lines, start, self.bounds, scan)
        if scan.candidates.counts.max() > most_candidates(self.search.k):
            self._rank_early(scan, start)

    def _own(self, places: np.ndarray) -> np.ndarray:
        """Return where the rows stand that queries are themselves, -1 if there are none."""
        own = self.search.own[self.groups.order[places]]
        return np.where(own < 0, -1, self._places[own])

    @cached_property
    def _places(self) -> np.ndarray:
        """Where every row stands in the order of cells."""
        places = np.empty_like(self.cells.order)
        places[self.cells.order] = np.arange(len(places))
        return places

    def new_scan(self, queries: int) -> Scan:
        """Return the scan of queries that have seen no row."""
        k = self.search.k
        capacity = most_candidates(k) + 2 * _ROWS  # a batch goes beyond, by less than a cell
        return new_scan(queries, k, capacity, self.bounds.low.dtype)

    def _rank_early(self, scan: Scan, start: int) -> None:
        """Cut overlong lists of candidates to the k nearest."""
        k, (places, counts) = self.search.k, scan.candidates
        full = np.flatnonzero(counts > most_candidates(k))
        nearest = self._rank(Candidates(places[full], counts[full]), start + full)
        places[full, :k] = self._places[nearest.rows]
        scan.low[full, :k] = -np.inf
        counts[full] = k

    def _rank(self, candidates: Candidates, queries: np.ndarray) -> TopK:
        """Return the k nearest of the candidates, whose numbers decide ties."""
        places, counts = candidates
        n, most = len(self.cells.order), int(counts.max())
        listed = np.arange(most) < counts[:, np.newaxis]
        rows = np.where(listed, self.cells.order[np.where(listed, places[:, :most], 0)], n)
        rows.sort(axis=1)
        return self.search.rank(self.groups.order[queries], Candidates(rows, counts))

    def probe(self) -> tuple[float, float]:
        """Return the shares of rows that some queries would scan, and of those to be ranked."""
        edges = self.blocks()
        sizes, scanned, ranked, asked = np.diff(self.cells.edges), 0, 0, 0
        for group, start, stop in edges[:: max(1, len(edges) // _PROBES)]:
            stop = min(stop, start + 16)
            scan, bounds = self._begin(group, self._gaps(group), start, stop)
            left = (bounds <= self._reach(scan, start, stop)) | np.isnan(bounds)
            scanned += int(sizes @ left.sum(axis=1))
            ranked += int(scan.candidates.counts.sum())
            asked += stop - start
        return scanned / (asked * len(self.cells.order)), ranked / max(1, scanned)

    def scan(self, group: int, start: int, stop: int) -> Scan:
        """Scan all cells that can hold a neighbor of these queries."""
        gaps = self._gaps(group)
        scan, bounds = self._begin(group, gaps, start, stop)
        left = np.flatnonzero((bounds <= self._reach(scan, start, stop)).any(axis=1))
        left = left[np.argsort(gaps[left], kind="stable")]
        for cells in self.batches(left):
            needed = bounds[cells] <= self._reach(scan, start, stop)
            lines, some = np.flatnonzero(needed.any(axis=0)), needed.any(axis=1)
            if len(lines):
                self.scan_cells(cells[some], start, lines, needed[some][:, lines], scan)
        return scan

    def _begin(
        self, group: int, gaps: np.ndarray, start: int, stop: int
    ) -> tuple[Scan, np.ndarray]:
        """Scan the nearest cells; return bounds of the distances to all others.

        A cell that has been scanned has none (NaN), and is within no reach, however far.
        """
        scan = self.new_scan(stop - start)
        first = np.argsort(gaps, kind="stable")[: _FIRST + 1]
        lines = np.arange(stop - start)
        for cells in self.batches(first):
            needed = np.ones((len(cells), len(lines)), dtype=bool)
            self.scan_cells(cells, start, lines, needed, scan)
        bounds = self.bound(group, gaps, start, stop)
        bounds[first] = np.nan
        return scan, bounds

    def bound(self, group: int, gaps: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return less than the distances of queries of a group to the rows of every cell."""
        lengths = self.points.query_lengths[start:stop]
        products = self.cells.centers @ self.points.queries[start:stop].T
        bounds = np.empty(products.shape, dtype=np.float32)
        bound_cells(products, group, lengths, self.extents, gaps, self.error, bounds)
        return bounds

    def _gaps(self, group: int) -> np.ndarray:
        return center_gaps(self.cells.centers, self.extents.lengths, group, self.error)

    def _reach(self, scan: Scan, start: int, stop: int) -> np.ndarray:
        """Return no less than the distance of the k-th nearest row seen so far."""
        lengths = self.points.query_lengths[start:stop]
        other = 1.0 if self.points.embedding.unit else 0.0  # bounds of unit points leave it out
        wrong = self.error.share * lengths + self.error.tiny
        squares = scan.best.values[:, -1].astype(np.float64) + lengths + other + wrong
        return np.sqrt(np.maximum(squares, 0))
