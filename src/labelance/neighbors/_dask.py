"""Engine for rows in blocks of Dask: search pairs of blocks, and merge what was found.

Every pair of blocks is one task, searched by the engine that suits it as in memory, and the k
nearest of all are merged by distance and row number; so the answers are those of a search in
memory to the last bit, whatever the blocks are and wherever they were searched.

Very many dense rows are shuffled first. Rows are divided among centers (k-means on a sample, as in
:mod:`labelance.neighbors._partition`), and cells near each other become one block. A row's k
nearest in its own block give it a reach, and the bounds of `_partition` say which other cells may
hold a nearer one; only these are searched for it. So the cost grows with what is near, and not with
all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from labelance._arrays import (
    DaskRows,
    compute,
    cut_rows,
    even_edges,
    map_blocks,
    persist,
    share,
)
from labelance.neighbors._brute import Search, single_threaded_blas, thread_count
from labelance.neighbors._candidates import error_of, is_ordinary, safe_factor
from labelance.neighbors._gemm import Embedding, choose_embedding
from labelance.neighbors._metric import FeatureMetric, TopK
from labelance.neighbors._partition import (
    Error,
    Extents,
    bound_cells,
    center_gaps,
    divide,
    place_centers,
)

Engine = Callable[[Search], TopK]

_MANY_ROWS = 30_000  # from which on rows are shuffled by cell
_CELLS_PER_ROOT = 2.0  # centers for every root of the number of rows
_ROWS_PER_CENTER = 24  # sampled to place a center
_QUERIES = 256  # queries of one cell, whose bounds are taken together
_NOBODY = np.iinfo(np.int64).max  # comes after every row that is as far
_DOUBLE = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class BlockSearch:
    """A search on blocks: how many neighbors, how far they are, and who searches in memory."""

    k: int
    metric: FeatureMetric
    engine: Engine

    def pair(self, Q: Any, X: Any, same: bool, numbers: np.ndarray | int) -> TopK:
        """Return the nearest rows of one block for the queries of another, as many as there are.

        Parameters
        ----------
        Q, X : arrays or CSR arrays
            Queries and rows.
        same : bool
            Whether both are the same block, so that every query meets itself there.
        numbers : ndarray of int, or int
            The numbers of the rows of X, ascending; or that of the first, if there are no gaps.
        """
        n, m = X.shape[0], Q.shape[0]
        rows, values = np.full((m, self.k), _NOBODY), np.full((m, self.k), np.inf)
        k = min(self.k, n - same)
        if k:
            own = np.arange(m) if same else np.full(m, -1)
            found = self.engine(Search(Q, X, own, k, self.metric, threads=1))
            values[:, :k] = found.values
            rows[:, :k] = found.rows + numbers if isinstance(numbers, int) else numbers[found.rows]
        return TopK(rows, values)

    def pair_in_cells(
        self,
        Q: Any,
        X: Any,
        queries: np.ndarray,
        wanted: np.ndarray,
        cell_of: np.ndarray,
        numbers: np.ndarray,
    ) -> TopK:
        """Return the nearest rows in some cells of another block, for some queries; else nobody."""
        places = np.flatnonzero(np.isin(cell_of, wanted))
        found = self.pair(Q[queries], X[places], False, numbers[places])
        values = np.full((Q.shape[0], self.k), np.inf)
        rows = np.full((Q.shape[0], self.k), _NOBODY)
        rows[queries], values[queries] = found
        return TopK(rows, values)

    def merge(self, parts: Sequence[TopK]) -> TopK:
        """Return the k nearest of all that were found; the lower row wins a tie."""
        rows = np.concatenate([part.rows for part in parts], axis=1)
        values = np.concatenate([part.values for part in parts], axis=1)
        order = rows.argsort(axis=1, kind="stable")
        by_row = np.take_along_axis(values, order, axis=1)
        order = np.take_along_axis(order, by_row.argsort(axis=1, kind="stable"), axis=1)
        order = order[:, : self.k]
        return TopK(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))


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
        place = _place_cells(X, metric)
        if place is not None:
            return _search_by_cell(X, search, place)
    return _search_all_pairs(X, search, X.blocks)


def _search_all_pairs(X: DaskRows, search: BlockSearch, queries: Sequence[Any]) -> TopK:
    """Search every block of queries in every block of rows."""
    shared, starts = share(search), X.edges[:-1].tolist()
    merged = []
    for block in queries:
        same = [block is other for other in X.blocks]
        task = [shared] * len(starts), repeat(block), X.blocks, same, starts
        merged.append(list(map_blocks(BlockSearch.pair, *task)))
    return _join(compute(map_blocks(BlockSearch.merge, [shared] * len(merged), merged)))


def _join(parts: Sequence[TopK]) -> TopK:
    rows, values = zip(*parts)
    return TopK(np.concatenate(rows), np.concatenate(values))


# --- rows shuffled by cell ------------------------------------------------------------------------


class Placement(NamedTuple):
    """How rows become points, and the centers to which these are nearest."""

    embedding: Embedding
    centers: np.ndarray
    error: Error

    def points(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of rows, and their squared lengths."""
        points, lengths = self.embedding.embed(X)
        return points, np.ones(len(points)) if self.embedding.unit else lengths


class CellBounds(NamedTuple):
    """What tells which cells may hold a neighbor."""

    place: Placement
    extents: Extents
    block_of: np.ndarray  # the block that every cell is in


def _suits_cells(X: DaskRows, metric: FeatureMetric) -> bool:
    """Tell whether rows are of the kind, and as many, that cells are for."""
    plain = metric.is_exact and not X.is_sparse and not metric.compiled.nominal.any()
    return plain and X.shape[0] >= _MANY_ROWS and not len(X.columns_where("isnan"))


def _place_cells(X: DaskRows, metric: FeatureMetric) -> Placement | None:
    """Place centers by a sample of the rows; None where the bounds would not hold."""
    n, d = X.shape
    n_centers = int(_CELLS_PER_ROOT * np.sqrt(n))
    size = min(n, _ROWS_PER_CENTER * n_centers)
    sample = X.gather(np.sort(np.random.default_rng(0).choice(n, size, replace=False)))
    embedding = replace(choose_embedding(sample, sample, metric.compiled), dtype=_DOUBLE)
    lengths = np.concatenate(X.compute(_extreme_lengths, repeat(embedding)))
    rows_of_zeros = embedding.unit and not lengths.all()  # at distance 1 from all: no point is
    if embedding.whole or rows_of_zeros or not is_ordinary(lengths, each=embedding.unit):
        return None
    if not embedding.unit:
        embedding = replace(embedding, factor=safe_factor(lengths))
    with single_threaded_blas():
        centers = place_centers(embedding.embed(sample)[0], n_centers, thread_count(None))
    return Placement(embedding, centers, Error(*error_of(d, _DOUBLE)))


@np.errstate(over="ignore", invalid="ignore")
def _extreme_lengths(X: np.ndarray, embedding: Embedding) -> np.ndarray:
    lengths = embedding.embed(X)[1]
    return np.array([lengths.min(), lengths.max()])


def _search_by_cell(X: DaskRows, search: BlockSearch, place: Placement) -> TopK:
    """Shuffle rows so that near cells are one block, and search a row only where it must look."""
    placed = share(place)
    cells, *extents = zip(*X.compute(_divide_block, repeat(placed)))
    cell_of = np.concatenate(cells)
    lengths = np.einsum("ij,ij->i", place.centers, place.centers)
    nearest, farthest, longest = extents
    whole = Extents(
        lengths, np.minimum.reduce(nearest), np.maximum.reduce(farthest), np.maximum.reduce(longest)
    )
    counts = np.bincount(cell_of, minlength=len(lengths))
    block_of = _group_cells(place.centers, counts, X.largest)
    order = np.argsort(block_of[cell_of], kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(block_of[cell_of])))
    shuffled = X.take(order, edges).persist()
    found = _search_shuffled(
        shuffled, search, CellBounds(place, whole, block_of), order, cell_of[order]
    )
    rows, values = np.empty_like(found.rows), np.empty_like(found.values)
    rows[order], values[order] = found
    return TopK(rows, values)


def _divide_block(X: np.ndarray, place: Placement) -> tuple[np.ndarray, ...]:
    """Return the cell of every row of a block, and the extents of all cells in it."""
    points, lengths = place.points(X)
    with single_threaded_blas():
        cells, squares = divide(points, place.centers, 1, keep_empty=True)
    n_cells = len(place.centers)
    cell_of = np.empty(len(points), dtype=np.int32)
    cell_of[cells.order] = np.repeat(np.arange(n_cells), np.diff(cells.edges))
    squares += lengths
    of_center = np.einsum("ij,ij->i", place.centers, place.centers)[cell_of]
    wrong = place.error.share * (lengths + of_center) + place.error.tiny
    nearest, farthest, longest = np.full(n_cells, np.inf), np.zeros(n_cells), np.zeros(n_cells)
    np.minimum.at(nearest, cell_of, np.sqrt(np.maximum(squares - wrong, 0)))
    np.maximum.at(farthest, cell_of, np.sqrt(np.maximum(squares, 0) + wrong))
    np.maximum.at(longest, cell_of, lengths)
    return cell_of, nearest, farthest, longest


def _group_cells(centers: np.ndarray, counts: np.ndarray, most: int) -> np.ndarray:
    """Return the block of every cell: near cells together, with at most ``most`` rows if they can.

    Cells are halved at the middle of their rows along their widest coordinate, again and again.
    """
    filled = np.flatnonzero(counts)
    block_of, n_blocks, waiting = np.zeros(len(centers), dtype=np.int64), 0, [filled]
    while waiting:
        cells = waiting.pop()
        if counts[cells].sum() <= most or len(cells) == 1:
            block_of[cells] = n_blocks
            n_blocks += 1
            continue
        widest = centers[cells].std(axis=0).argmax()
        cells = cells[np.argsort(centers[cells, widest], kind="stable")]
        passed = np.cumsum(counts[cells])
        half = int(np.clip(np.searchsorted(passed, passed[-1] / 2), 1, len(cells) - 1))
        waiting += [cells[half:], cells[:half]]
    return block_of


def _search_shuffled(
    X: DaskRows, search: BlockSearch, bounds: CellBounds, order: np.ndarray, cell_of: np.ndarray
) -> TopK:
    """Search every block in itself, then for each of its rows in the cells within reach."""
    blocks, inner = X.blocks, X.edges[1:-1]
    numbers, cells = (list(map(share, np.split(of, inner))) for of in (order, cell_of))
    shared = [share(search)] * len(blocks)
    own = persist(map_blocks(BlockSearch.pair, shared, blocks, blocks, repeat(True), numbers))
    needed = compute(map_blocks(_find_needed, blocks, own, cells, repeat(share(bounds))))
    merged = []
    for b, others in enumerate(needed):
        parts = [
            map_blocks(
                BlockSearch.pair_in_cells,
                shared[:1], [blocks[b]], [blocks[c]], [queries], [wanted], [cells[c]], [numbers[c]],
            )[0]
            for c, (queries, wanted) in others.items()
        ]  # fmt: skip
        merged.append([own[b], *parts])
    return _join(compute(map_blocks(BlockSearch.merge, shared, merged)))


def _find_needed(
    X: np.ndarray, own: TopK, cell_of: np.ndarray, bounds: CellBounds
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return, for every other block that may hold neighbors, the rows that ask and the cells asked.

    Parameters
    ----------
    X : array
        The rows of a block.
    own : TopK
        The nearest rows of that block, whose farthest is how far a row has to look.
    cell_of : array of int
        The cells of the rows.
    bounds : CellBounds
        All cells.
    """
    (embedding, centers, error), extents, block_of = bounds
    points, lengths = bounds.place.points(X)
    reach = _reach(own.values[:, -1], lengths, embedding, error)
    by_block = np.argsort(block_of, kind="stable")
    starts = np.flatnonzero(np.diff(block_of[by_block], prepend=-1))
    asks = np.zeros((len(starts), len(points)), dtype=bool)
    asked = np.zeros(len(centers), dtype=bool)
    order = np.argsort(cell_of, kind="stable")
    edges = np.flatnonzero(np.diff(cell_of[order], prepend=-1, append=-1))
    for group, start in zip(cell_of[order[edges[:-1]]], pairwise(edges)):
        gaps = center_gaps(centers, extents.lengths, group, error)
        for first in range(*start, _QUERIES):
            queries = order[first : min(first + _QUERIES, start[1])]
            with single_threaded_blas():
                products = centers @ points[queries].T
            nearest = np.empty(products.shape, dtype=np.float32)
            bound_cells(products, group, lengths[queries], extents, gaps, error, nearest)
            within = nearest <= reach[queries]
            asks[:, queries] = np.logical_or.reduceat(within[by_block], starts, axis=0)
            asked |= within.any(axis=1)
    here = block_of[cell_of[0]]
    return {
        int(b): (_whole(asks[b]), _whole(asked & (block_of == b)))
        for b in np.flatnonzero(asks.any(axis=1))
        if b != here
    }


def _whole(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(mask).astype(np.int32)  # half as much to send


def _reach(
    distances: np.ndarray, lengths: np.ndarray, embedding: Embedding, error: Error
) -> np.ndarray:
    """Return no less than how far apart points are whose rows have these distances."""
    squares = 2 * distances if embedding.unit else (distances * embedding.factor) ** 2
    both = lengths + (np.sqrt(lengths) + np.sqrt(squares)) ** 2
    return np.sqrt(squares + 2 * error.share * both + 2 * error.tiny)
