"""Engine for rows in blocks of Dask: search pairs of blocks, and merge what was found.

Every pair of blocks is one task, searched by the engine that suits it as in memory, and the k
nearest of all are merged by distance and row number; so the neighbors are those of a search in
memory, whatever the blocks are and wherever they were searched.

Very many dense rows are shuffled first. Rows are divided among centers (k-means on a sample), and
cells near each other become one block, which is searched cell by cell as in
:mod:`labelance.neighbors._partition`. A row's k nearest there give it a reach, and bounds say which
cells of other blocks may hold a nearer one; only these are sent and searched. So the cost grows
with what is near, and not with all pairs. The centers are spread with more care than in memory: a
cluster without a center would lie in cells of several blocks, which would all be sent about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from labelance._arrays._dask import DaskRows, compute, cut_rows, even_edges, map_blocks, share
from labelance._utils._threads import single_threaded_blas, thread_count
from labelance.neighbors._candidates import DOUBLE, Scan, error_of
from labelance.neighbors._embedding import (
    Embedding,
    Points,
    choose_embedding,
    embed_all,
    is_ordinary,
)
from labelance.neighbors._kernels import bound_cells
from labelance.neighbors._metric import FeatureMetric
from labelance.neighbors._neighborhood import TopK, merge
from labelance.neighbors._partition import (
    WORTHWHILE,
    Cells,
    Error,
    Extents,
    PartitionEngine,
    arrange,
    center_gaps,
    cut_cells,
    divide,
    measure_cells,
    spread_centers,
)
from labelance.neighbors._search import Search

Engine = Callable[[Search], TopK]

_MANY_ROWS = 10_000  # from which on rows are shuffled by cell
_CELLS_PER_ROOT = 2.0  # centers for every root of the number of rows
_ROWS_PER_CENTER = 24  # sampled to place a center
_SAFE = 1 - 2.0**-18  # keeps a bound below what rounding may make of it
_NO_ROW = np.iinfo(np.int64).max  # comes after every row that is as far
_LONGEST = 2.0**200  # squared length of a point whose bounds, of float32, do not overflow


@dataclass(frozen=True, eq=False)
class BlockSearch:
    """A search on blocks: how many neighbors, how far they are, and who searches in memory."""

    k: int
    metric: FeatureMetric
    engine: Engine

    def pair(self, Q: Any, X: Any, same: bool, first: int) -> TopK:
        """Return the nearest rows of one block for the queries of another, as many as there are.

        Parameters
        ----------
        Q, X : arrays or CSR arrays
            Queries and rows.
        same : bool
            Whether both are the same block, so that every query meets itself there.
        first : int
            The number of the first row of X.
        """
        own = np.arange(Q.shape[0]) if same else np.full(Q.shape[0], -1)
        k = min(self.k, X.shape[0] - same)
        found = self._pad(Search(Q, X, own, k, self.metric, threads=1), self.engine)
        return TopK(np.where(found.rows == _NO_ROW, _NO_ROW, found.rows + first), found.values)

    def own(
        self, X: np.ndarray, cell_of: np.ndarray, bounds: CellBounds
    ) -> tuple[TopK, np.ndarray, np.ndarray]:
        """Return the nearest rows of a block's rows in it, and who must look elsewhere, and where.

        Parameters
        ----------
        X : array
            The rows of a block.
        cell_of : array of int
            Their cells.
        bounds : CellBounds
            All cells.

        Returns
        -------
        TopK
            Numbers of rows in the block, and distances.
        ndarrays of int
            The rows whose neighbors may be in other blocks, and the cells in which they may be.
        """
        n = len(X)
        search = Search(X, X, np.arange(n), min(self.k, n - 1), self.metric, threads=1)
        with single_threaded_blas():
            engine, numbers = _make_engine(search, cell_of, bounds)
            found = self._pad(search, partial(self._run, engine))
            return found, *_find_needed(engine, numbers, found.values[:, -1], bounds)

    def elsewhere(
        self,
        Q: np.ndarray,
        X: np.ndarray,
        queries: np.ndarray,
        distances: np.ndarray,
        cell_of: np.ndarray,
        bounds: CellBounds,
    ) -> TopK:
        """Return the nearest of the rows X for some of Q, who have as many within ``distances``."""
        Q = Q[queries]
        search = Search(Q, X, np.full(len(Q), -1), min(self.k, len(X)), self.metric, threads=1)
        with single_threaded_blas():
            engine, _ = _make_engine(search, cell_of, bounds, distances)
            return self._pad(search, partial(self._run, engine))

    def _run(self, engine: PartitionEngine, search: Search) -> TopK:
        """Search cell by cell, or all pairs where bounds would leave too many of them."""
        return engine.run() if engine.probe()[0] <= WORTHWHILE else self.engine(search)

    def _pad(self, search: Search, engine: Engine) -> TopK:
        """Return what an engine finds, filled up with no one to k neighbors."""
        shape = search.Q.shape[0], self.k
        rows, values = np.full(shape, _NO_ROW), np.full(shape, np.inf)
        if search.k:
            rows[:, : search.k], values[:, : search.k] = engine(search)
        rows[np.isinf(values)] = _NO_ROW
        return TopK(rows, values)


def search_blocks(
    X: DaskRows, k: int, metric: FeatureMetric, engine: Engine, queries: Any = None
) -> TopK:
    """Return the k nearest rows of all rows in blocks, or of other queries.

    Parameters
    ----------
    X : DaskRows
        The rows that are searched.
    k : int
        How many neighbors.
    metric : FeatureMetric
        How distances are measured.
    engine : callable
        Searches in memory; a function of a module, which workers can import.
    queries : array or CSR array, optional
        Search for these rows.
    """
    search = BlockSearch(k, metric, engine)
    if queries is not None:
        edges = even_edges(queries.shape[0], X.largest)
        return _search_all_pairs(X, search, cut_rows(queries, edges))
    if _suits_cells(X, metric):
        found = _search_by_cell(X, search)
        if found is not None:
            return found
    return _search_all_pairs(X, search, X.blocks)


def _search_all_pairs(X: DaskRows, search: BlockSearch, queries: Sequence[Any]) -> TopK:
    """Search every block of queries in every block of rows."""
    shared, starts = share(search), X.edges[:-1].tolist()
    merged = []
    for block in queries:
        same = [block is other for other in X.blocks]
        task = [shared] * len(starts), repeat(block), X.blocks, same, starts
        merged.append(list(map_blocks(BlockSearch.pair, *task)))
    return _join(compute(map_blocks(merge, merged, repeat(search.k))))


def _join(parts: Sequence[TopK]) -> TopK:
    rows, values = zip(*parts)
    return TopK(np.concatenate(rows), np.concatenate(values))


# --- rows shuffled by cell ------------------------------------------------------------------------


class CellPlacement(NamedTuple):
    """How rows become points, and the centers to which these are nearest."""

    embedding: Embedding
    centers: np.ndarray
    error: Error

    def points(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of rows, and their squared lengths."""
        points, squared = self.embedding.embed(X)
        return points, self.lengths(squared)

    def lengths(self, squared: np.ndarray) -> np.ndarray:
        """Return the squared lengths of points from those of their rows."""
        return np.ones(len(squared)) if self.embedding.unit else squared

    def holds(self, squared: np.ndarray) -> bool:
        """Tell whether bounds hold for rows of these squared lengths, though it knew a sample."""
        if self.embedding.unit:  # a row of zeros is at distance 1 from all, which no point is
            return bool(squared.all()) and is_ordinary(squared, each=True)
        return is_ordinary(squared, each=False) and bool(squared.max() < _LONGEST)


class CellBounds(NamedTuple):
    """What tells which cells may hold a neighbor."""

    place: CellPlacement
    extents: Extents
    block_of: np.ndarray  # the block that every cell is in


def _suits_cells(X: DaskRows, metric: FeatureMetric) -> bool:
    """Tell whether rows are of the kind, and as many, that cells are for."""
    plain = metric.is_exact and not X.is_sparse and not metric.compiled.nominal.any()
    return plain and X.shape[0] >= _MANY_ROWS and not len(X.columns_where("isnan"))


def _search_by_cell(X: DaskRows, search: BlockSearch) -> TopK | None:
    """Shuffle rows so that near cells are one block, and search a row only where it must look.

    None where the bounds would not hold.
    """
    place = _place_cells(X, search.metric)
    if place is None:
        return None
    divided = X.compute(_divide_block, repeat(share(place)))
    if not place.holds(np.concatenate([part.lengths for part in divided])):
        return None
    cell_of = np.concatenate([part.cell_of for part in divided])
    counts = np.bincount(cell_of, minlength=len(place.centers))
    block_of = _group_cells(place.centers, counts, X.largest)
    order = np.argsort(block_of[cell_of], kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(block_of[cell_of])))
    shuffled = X.take(order, edges).persist()
    bounds = CellBounds(place, _join_extents(place, divided), block_of)
    found = _search_shuffled(shuffled, search, bounds, order, cell_of[order])
    rows, values = np.empty_like(found.rows), np.empty_like(found.values)
    rows[order], values[order] = found
    return TopK(rows, values)


def _place_cells(X: DaskRows, metric: FeatureMetric) -> CellPlacement | None:
    """Place centers by a sample of the rows; None where these are small integers."""
    n, d = X.shape
    n_centers = int(_CELLS_PER_ROOT * np.sqrt(n))
    size = min(n, _ROWS_PER_CENTER * n_centers)
    sample = X.gather(np.sort(np.random.default_rng(0).choice(n, size, replace=False)))
    embedding = replace(choose_embedding(sample, sample, metric.compiled), dtype=DOUBLE)
    if embedding.whole:
        return None
    points = embed_all(sample, sample, embedding)
    if points is None:
        return None
    with single_threaded_blas():
        centers = spread_centers(points.corpus, n_centers, thread_count(None))
    return CellPlacement(points.embedding, centers, Error(*error_of(d, DOUBLE)))


class DividedBlock(NamedTuple):
    """The cell of every row of a block, the cells with rows in it, and what bounds need."""

    cell_of: np.ndarray
    cells: np.ndarray
    extents: Extents
    lengths: np.ndarray  # squared, of its shortest and its longest row


@np.errstate(over="ignore", invalid="ignore")
def _divide_block(X: np.ndarray, place: CellPlacement) -> DividedBlock:
    """Give every row of a block to its nearest center."""
    points, squared = place.embedding.embed(X)
    lengths = place.lengths(squared)
    with single_threaded_blas():
        (centers, order, edges), squares = divide(points, place.centers, 1, keep_empty=True)
    counts = np.diff(edges)
    filled = np.flatnonzero(counts)
    cell_of = np.empty(len(points), dtype=np.int32)
    cell_of[order] = np.repeat(np.arange(len(centers)), counts)
    cells = Cells(centers[filled], order, np.append(edges[filled], len(points)))
    extents = measure_cells(cells, squares + lengths, lengths, place.error)
    return DividedBlock(cell_of, filled, extents, np.array([squared.min(), squared.max()]))


def _join_extents(place: CellPlacement, divided: Sequence[DividedBlock]) -> Extents:
    """Return the extents of all cells from those of their parts in every block."""
    n_cells = len(place.centers)
    nearest, farthest, longest = np.full(n_cells, np.inf), np.zeros(n_cells), np.zeros(n_cells)
    for _, cells, part, _ in divided:
        nearest[cells] = np.minimum(nearest[cells], part.nearest)
        farthest[cells] = np.maximum(farthest[cells], part.farthest)
        longest[cells] = np.maximum(longest[cells], part.longest)
    lengths = np.einsum("ij,ij->i", place.centers, place.centers)
    return Extents(lengths, nearest, farthest, longest)


def _group_cells(centers: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """Return the block of every cell: near cells together, with about ``most`` rows.

    Cells are divided along their widest coordinate, again and again.
    """
    filled = np.flatnonzero(counts)
    block_of, n_blocks = np.zeros(len(centers), dtype=np.int64), 0
    waiting = [(filled, -(-int(counts.sum()) // most))]
    while waiting:
        cells, parts = waiting.pop()
        if parts == 1 or len(cells) == 1:
            block_of[cells] = n_blocks
            n_blocks += 1
            continue
        widest = centers[cells].std(axis=0).argmax()
        cells = cells[np.argsort(centers[cells, widest], kind="stable")]
        passed, left = np.cumsum(counts[cells]), parts // 2
        cut = np.searchsorted(passed, passed[-1] * left / parts)
        cut = int(np.clip(cut, 1, len(cells) - 1))
        waiting += [(cells[cut:], parts - left), (cells[:cut], left)]
    return block_of


def _search_shuffled(
    X: DaskRows, search: BlockSearch, bounds: CellBounds, order: np.ndarray, cell_of: np.ndarray
) -> TopK:
    """Search every block in itself, then some of its rows in cells elsewhere, and merge both.

    Parameters
    ----------
    X : DaskRows
        Rows in the order of blocks of cells.
    search : BlockSearch
        What is searched.
    bounds : CellBounds
        All cells.
    order, cell_of : arrays of int
        The numbers of the rows, and their cells.
    """
    shared, known, blocks = share(search), share(bounds), X.blocks
    cells = np.split(cell_of, X.edges[1:-1])
    own_tasks = map_blocks(BlockSearch.own, [shared] * len(blocks), blocks, cells, repeat(known))
    found = compute(own_tasks)
    asked = np.zeros(len(bounds.block_of), dtype=bool)
    asking: list[tuple[int, np.ndarray]] = []
    tasks: list[Any] = []
    for b, (own, queries, wanted) in enumerate(found):
        asked[:] = False
        asked[wanted] = True
        places = np.flatnonzero(asked[cell_of])  # in order, so that a part has rows of few blocks
        parts = even_edges(len(places), X.largest) if len(places) else np.zeros(1, np.int64)
        for start, stop in pairwise(parts):
            part = places[start:stop]
            places[start:stop] = part[np.argsort(order[part])]  # a tie goes to the lower number
        near = X.take(places, parts)
        for (start, stop), block in zip(pairwise(parts), near.blocks):
            rows = places[start:stop]
            asking.append((b, order[rows]))
            tasks += map_blocks(
                BlockSearch.elsewhere,
                [shared], [blocks[b]], [block], [queries], [own.values[queries, -1]],
                [cell_of[rows]], [known],
            )  # fmt: skip
    numbered = zip(found, np.split(order, X.edges[1:-1]))
    nearest = _join([_renumber(own, numbers) for (own, *_), numbers in numbered])
    for (b, numbers), elsewhere in zip(asking, compute(tasks)):
        rows = X.edges[b] + found[b][1]
        mine = TopK(nearest.rows[rows], nearest.values[rows])
        both = merge([mine, _renumber(elsewhere, numbers)], search.k)
        nearest.rows[rows], nearest.values[rows] = both
    return nearest


def _renumber(found: TopK, numbers: np.ndarray) -> TopK:
    """Map positions to row numbers; keep gaps."""
    nobody = found.rows == _NO_ROW
    return TopK(np.where(nobody, _NO_ROW, numbers[np.where(nobody, 0, found.rows)]), found.values)


# --- one block, cell by cell ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WithinReach(PartitionEngine):
    """Scan only cells within a reach that every query has already."""

    known: np.ndarray

    def _begin(
        self, group: int, gaps: np.ndarray, start: int, stop: int
    ) -> tuple[Scan, np.ndarray]:
        return self.new_scan(stop - start), self.bound(group, gaps, start, stop)

    def _reach(self, scan: Scan, start: int, stop: int) -> np.ndarray:
        known = self.known[self.groups.order[start:stop]]
        return np.minimum(super()._reach(scan, start, stop), known)


def _make_engine(
    search: Search, cell_of: np.ndarray, bounds: CellBounds, distances: np.ndarray | None = None
) -> tuple[PartitionEngine, np.ndarray]:
    """Return the engine of rows whose cells are known, and the cells' numbers.

    Parameters
    ----------
    search : Search
        What is searched.
    cell_of : array of int
        The cells of its rows.
    bounds : CellBounds
        All cells.
    distances : array, optional
        Within which every query knows k rows already.
    """
    place = bounds.place
    corpus = place.points(search.X)
    queries = corpus if search.Q is search.X else place.points(search.Q)
    filled, counts = np.unique(cell_of, return_counts=True)
    edges = np.append(0, np.cumsum(counts))
    # The numbers of cells stand for their centers while large cells are cut.
    numbers, order, edges = cut_cells(Cells(filled, np.argsort(cell_of, kind="stable"), edges))
    cells = Cells(place.centers[numbers], order, edges)
    extents = Extents(*(of[numbers] for of in bounds.extents))
    arranged = arrange(search, Points(place.embedding, *corpus, *queries), cells)
    if distances is None:
        return PartitionEngine(search, *arranged, extents, place.error), numbers
    reach = _reach(distances, queries[1], place.embedding, place.error)
    return WithinReach(search, *arranged, extents, place.error, reach), numbers


def _find_needed(
    engine: PartitionEngine, numbers: np.ndarray, distances: np.ndarray, bounds: CellBounds
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a block that must look into other blocks, and the cells there.

    Parameters
    ----------
    engine : PartitionEngine
        The rows of the block, in the order of their cells.
    numbers : array of int
        The numbers of its cells.
    distances : array
        How far the k-th nearest row of the block is from every row.
    bounds : CellBounds
        All cells.
    """
    (embedding, centers, error), extents, block_of = bounds
    order, points, lengths = engine.groups.order, engine.points.queries, engine.points.query_lengths
    reach = _reach(distances[order], lengths, embedding, error)
    asks, asked = np.zeros(len(order), dtype=bool), np.zeros(len(centers), dtype=bool)
    elsewhere = block_of != block_of[numbers[0]]
    for cell, start, stop in engine.blocks():
        group = numbers[cell]
        gaps = center_gaps(centers, extents.lengths, group, error)
        # No row of the group is farther from its center than the farthest, nor looks farther.
        both = extents.lengths + extents.lengths[group]
        apart = np.sqrt(np.maximum(gaps**2 - 2 * (error.share * both + error.tiny), 0))
        most = extents.farthest[group] + reach[start:stop].max()
        near = np.flatnonzero(elsewhere & (apart * _SAFE - extents.farthest <= most))
        if not len(near):
            continue
        near = np.append(group, near)
        products = centers[near] @ points[start:stop].T
        lower = np.empty(products.shape, dtype=np.float32)
        some = Extents(*(of[near] for of in extents))
        bound_cells(products, 0, lengths[start:stop], some, gaps[near], error, lower)
        within = lower[1:] <= reach[start:stop]
        asks[order[start:stop]] = within.any(axis=0)
        asked[near[1:]] |= within.any(axis=1)
    return _whole(asks), _whole(asked)


def _whole(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(mask).astype(np.int32)  # half as much to send


def _reach(
    distances: np.ndarray, lengths: np.ndarray, embedding: Embedding, error: Error
) -> np.ndarray:
    """Return no less than how far apart points are whose rows have these distances."""
    squares = 2 * distances if embedding.unit else (distances * embedding.factor) ** 2
    both = lengths + (np.sqrt(lengths) + np.sqrt(squares)) ** 2
    return np.sqrt(squares + 2 * error.share * both + 2 * error.tiny)
