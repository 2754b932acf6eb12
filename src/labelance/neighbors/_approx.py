"""Approximate engine for very many dense rows: look into the nearest cells only.

Rows are divided among small cells in two levels, so that the cost of dividing them grows little
faster than their number. The rows of a cell look at those of the nearest cells, about as many for
any number of rows; then every row looks at the neighbors of its neighbors, who are likely to be
near it, too. What is found is measured exactly and its ties are broken as ever: only its being
the nearest is not proved. Nothing depends on chance, threads or blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelance._scratch import new_zeros
from labelance.neighbors._brute import Search, block_cells, for_each_block, single_threaded_blas
from labelance.neighbors._candidates import Scan
from labelance.neighbors._gemm import Embedding
from labelance.neighbors._metric import Candidates, TopK
from labelance.neighbors._partition import (
    CellEngine,
    Cells,
    arrange,
    divide,
    embed_points,
    place_centers,
)

_ROWS_PER_CELL = 64
_CELLS = 64  # the nearest cells, at whose rows every row looks
_BACK = 2  # how many times k rows are remembered that a row is a neighbor of
_BLOCK = 4096  # rows whose neighbors look at their neighbors together, at most
_BYTES_PER_ROW_LISTED = 24  # its number, twice while lists are joined, and whether it came before


def search_approx(search: Search, embedding: Embedding) -> TopK | None:
    """Return k near rows of X for every row of Q; None where points cannot stand for the rows."""
    with single_threaded_blas():
        points = embed_points(search, embedding)
        if points is None:
            return None
        cells = _divide_twice(points.corpus, search.threads)
        nearest = _nearest_cells(cells, search)
        found = ApproxEngine(search, *arrange(search, points, cells), nearest).run()
        return _refine(search, found) if search.Q is search.X else found


def _divide_twice(points: np.ndarray, threads: int) -> Cells:
    """Divide points among large cells, and each of these among small ones."""
    n_cells = max(1, len(points) // _ROWS_PER_CELL)
    n_large = max(1, round(np.sqrt(n_cells)))
    large, _ = divide(points, place_centers(points, n_large, threads), threads, keep_empty=True)
    centers, orders, sizes = [], [], []
    for rows in filter(len, np.split(large.order, large.edges[1:-1])):
        inside = points[rows]
        wanted = max(1, len(rows) // _ROWS_PER_CELL)
        small, _ = divide(inside, place_centers(inside, wanted, threads), threads)
        centers.append(small.centers)
        orders.append(rows[small.order])
        sizes.append(np.diff(small.edges))
    edges = np.append(0, np.cumsum(np.concatenate(sizes)))
    return Cells(np.concatenate(centers), np.concatenate(orders), edges)


def _nearest_cells(cells: Cells, search: Search) -> np.ndarray:
    """Return, for every cell, the cells nearest to it: itself first, and enough for k rows."""
    centers, n_cells = cells.centers, len(cells.centers)
    lengths = np.einsum("ij,ij->i", centers, centers)
    turned = np.ascontiguousarray(-2 * centers.T)
    least = int(np.diff(cells.edges).min())
    wanted = min(n_cells, max(_CELLS, -(-2 * (search.k + 1) // least)))

    def work(start: int, stop: int) -> np.ndarray:
        gaps = centers[start:stop] @ turned
        gaps += lengths
        gaps[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        nearest = np.argpartition(gaps, wanted - 1, axis=1)[:, :wanted]
        order = np.take_along_axis(gaps, nearest, axis=1).argsort(axis=1, kind="stable")
        return np.take_along_axis(nearest, order, axis=1)

    parts = for_each_block(
        work,
        n_cells,
        block=256,
        threads=search.threads,
        what="Finding cells near cells",
        unit="cells",
    )
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ApproxEngine(CellEngine):
    """Scan the nearest cells."""

    nearest: np.ndarray

    def scan(self, group: int, start: int, stop: int) -> Scan:
        scan, lines = self.new_scan(stop - start), np.arange(stop - start)
        for cells in self.batches(self.nearest[group]):
            self.scan_cells(cells, start, lines, np.ones((len(cells), len(lines)), bool), scan)
        return scan


def _refine(search: Search, found: TopK) -> TopK:
    """Let every row look at its neighbors' neighbors, and at those that it is a neighbor of."""
    n, k = found.rows.shape
    graph = new_zeros((n + 1, (1 + _BACK) * k), np.int64)
    graph[n], graph[:n, :k] = n, found.rows  # nobody's neighbors are the last line
    _fill_reverse(found.rows, graph[:n, k:])

    def work(start: int, stop: int) -> TopK:
        near = graph[start:stop]
        rows = np.concatenate([near, graph[near].reshape(len(near), -1)], axis=1)
        rows.sort(axis=1)
        rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = n  # who was listed before
        rows.sort(axis=1)
        return search.rank(np.arange(start, stop), Candidates(rows, (rows < n).sum(axis=1)))

    width = graph.shape[1] * (graph.shape[1] + 1)
    most = int(np.clip(block_cells(_BYTES_PER_ROW_LISTED, search.threads) // width, 1, _BLOCK))
    return search.run_blocks(work, most)


def _fill_reverse(rows: np.ndarray, back: np.ndarray) -> None:
    """Fill ``back`` with the first rows that every row is a neighbor of; n stands for nobody."""
    n, k = rows.shape
    order = np.argsort(rows, axis=None, kind="stable")
    ends = rows.ravel()[order]
    place = np.arange(n * k) - np.searchsorted(ends, ends)
    kept = place < back.shape[1]
    back[:] = n
    back[ends[kept], place[kept]] = order[kept] // k
