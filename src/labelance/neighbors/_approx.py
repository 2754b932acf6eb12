"""Approximate engine for very many rows: look at the likeliest ones only.

Dense rows are divided among small cells in two levels, so that the cost of dividing them grows
little faster than their number. The rows of a cell look at those of the nearest cells, about as
many for any number of rows. Sparse rows look at those that share features with them, in an inverted
index that keeps of every feature at most this many rows: those in which it weighs most. What a row
shares with another is then known in part; it is taken to share as much of what is not kept.

Then every row looks at the neighbors of its neighbors, who are likely to be near it, too, until a
sample of rows with exact neighbors says that enough are found. What is found is measured exactly
and its ties are broken as ever: only its being the nearest is not proved. Nothing depends on
chance, threads or blocks.

Why not pynndescent, which finds more of rows without clusters (``benchmarks/approximate.py``): it
compiles in every process, so that the first call takes 36 CPU seconds or more; its neighbors depend
on ``n_jobs``; texts take six times as long; and rows in files, whose neighbors are those of rows in
memory, would need this engine still.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import SparseRows, sparse_rows
from labelance._arrays._memory import return_freed_memory
from labelance._utils._kernel import inlined_kernel, kernel
from labelance._utils._threads import single_threaded_blas
from labelance.neighbors._candidates import Scan, error_of
from labelance.neighbors._embedding import Points, is_ordinary
from labelance.neighbors._partition import (
    CellEngine,
    Cells,
    arrange,
    divide,
    embed_points,
    place_centers,
)
from labelance.neighbors._search import Search, block_cells, for_each_block, log_engine
from labelance.neighbors._sparse import place_rows
from labelance.neighbors._topk import Candidates, TopK, insert, new_top_k

_MANY_SPARSE_ROWS = 30_000  # below that, an inverted index of all of them takes a second
_ROWS_PER_CELL = 64
_COARSER = 4  # times fewer large cells than small ones in each: rows part at their borders
_CELLS = 64  # the nearest cells, at whose rows every row looks
_CELLS_AT_ONCE = 32  # whose distances to all others are in memory
_VALUES_PER_FEATURE = (128, 256, 512, 1024, 2048, 4096, 8192)  # the next if it is too few
_PRIOR = 0.05  # of a row's squared length that counts as kept and shared in part, against chance
_COARSE = 0.5  # of the queries may be unable to tell near rows from others in float32
_LIKELY = 32  # sparse rows that share most with a query, which are measured
_SINGLE = np.dtype(np.float32)
_ENOUGH_LISTED = 0.99  # of recall, since longer lists of features take little more time
_ENOUGH, _ROUNDS = 0.97, 3  # of recall, and the most rounds of looking at neighbors' neighbors
_BACK = 1  # how many times k rows are remembered that a row is a neighbor of
_BLOCK = 1024  # rows whose neighbors look at their neighbors together, at most
_GOLDEN = 2654435769  # 2^32 over the golden ratio, which scatters row numbers
_LONGEST = 1e30  # squared length of a row whose products fit float32
_BYTES_PER_ROW_LISTED = 24  # its number, twice while lists are joined, and whether it was seen


class Sample(NamedTuple):
    """Some queries, and how far the last of their k nearest rows really is."""

    queries: np.ndarray
    reach: np.ndarray

    def recall(self, found: TopK) -> float:
        """Return the share of their nearest rows that are among those of all queries."""
        return self.share(found.values[self.queries])

    def share(self, distances: np.ndarray) -> float:
        """Return the same for the distances of these queries alone."""
        # Who is as near as the last one is as good.
        return float((distances <= self.reach[:, np.newaxis]).mean())


class Approximation(NamedTuple):
    """Near rows, and the share of the nearest that is among them."""

    nearest: TopK
    recall: float


def suits_pruning(search: Search) -> bool:
    """Tell whether these are sparse rows, many enough for an index that is pruned."""
    X, Q, metric = search.X, search.Q, search.metric.compiled
    many = X.shape[0] >= _MANY_SPARSE_ROWS and Q.shape[0] * 8 >= X.shape[0]
    return many and not metric.nominal.any()


def search_approx(search: Search, sample: Sample) -> Approximation | None:
    """Return k near rows of X for every row of Q; None where points cannot stand for the rows.

    Parameters
    ----------
    search : Search
        What is searched.
    sample : Sample
        By what it is judged.
    """
    is_sparse = search.kind == "sparse"
    with single_threaded_blas():
        first = (_search_sparse if is_sparse else _search_dense)(search, sample)
        if first is None:
            return None
        found, order = first
        del first  # so that what is found is not kept when there is better
        recall, rounds = sample.recall(found), 0
        while recall < _ENOUGH and rounds < _ROUNDS and search.Q is search.X:
            graph = _both_ways(found.rows, _BACK * search.k)
            del found
            found, rounds = _look_further(search, graph, order), rounds + 1
            recall = sample.recall(found)
    source = "an index of heavy features" if is_sparse else "the nearest cells"
    reason = f"{source} and {rounds} rounds of neighbors' neighbors, as asked for"
    log_engine(search, f"{reason}, with a recall of {recall:.3f}")
    return Approximation(found, recall)


def share_scanned(n: int) -> float:
    """Return the share of n dense rows at which every row looks first."""
    return _CELLS * _ROWS_PER_CELL / n


def _search_dense(search: Search, sample: Sample) -> tuple[TopK, np.ndarray] | None:
    """Scan the nearest cells; return also an order of the rows in which near ones are together."""
    points = embed_points(search, search.embedding)
    if points is not None and _is_too_coarse(points, sample):
        points = embed_points(search, replace(search.embedding, dtype=np.dtype(np.float64)))
    if points is None or _is_too_coarse(points, sample):
        return None
    cells = _divide_twice(points.corpus, _ROWS_PER_CELL, search.threads)
    nearest = _nearest_cells(cells, _CELLS, search)
    return ApproxEngine(search, *arrange(search, points, cells), nearest).run(), cells.order


def _is_too_coarse(points: Points, sample: Sample) -> bool:
    """Tell whether rounding hides which rows are near, so that all that are scanned are measured.

    A few far rows are enough: then all others are close to each other, as seen from the middle.
    """
    if points.embedding.unit:
        return False
    share, _ = error_of(points.corpus.shape[1], points.embedding.dtype)
    apart = sample.reach > 0  # rows that occur k times are found at once
    reach = sample.reach[apart] * points.embedding.factor
    wrong = 4 * share * points.query_lengths[sample.queries[apart]]
    return bool(np.mean(wrong > reach**2) > _COARSE) if len(reach) else False


def _search_sparse(search: Search, sample: Sample) -> tuple[TopK, np.ndarray] | None:
    """Measure the rows that share heavy features with a query, by an index that is large enough."""
    placed = _place_both(search)
    if placed is None:
        return None
    corpus, lengths, queries = placed
    index = _choose_index(search, corpus, lengths, queries, sample)
    return_freed_memory(search.X.shape[0])
    found = _search_index(search, sparse_rows(queries), index, _shortest(lengths, search.k))
    return found, np.arange(search.Q.shape[0])


def _choose_index(
    search: Search,
    corpus: sp.csr_array,
    lengths: np.ndarray,
    queries: sp.csr_array,
    sample: Sample,
) -> FeatureLists:
    """Return the index with the shortest lists that find enough of the neighbors of a sample."""
    some, short = sample.queries, _shortest(lengths, search.k)
    trial = search.only(some)
    for most in _VALUES_PER_FEATURE[:-1]:
        index = _list_heaviest(corpus, lengths, most)
        found = _search_index(trial, sparse_rows(queries[some]), index, short)
        if sample.share(found.values) >= _ENOUGH_LISTED or len(index.rows) == corpus.nnz:
            return index
        del index  # before there is another, which is longer
    return _list_heaviest(corpus, lengths, _VALUES_PER_FEATURE[-1])


def _shortest(lengths: np.ndarray, k: int) -> np.ndarray:
    """Return the rows nearest to a query that share nothing with it, its own next to k others."""
    return np.argsort(lengths, kind="stable")[: k + 1].copy()


def _search_index(
    search: Search, query: SparseRows, index: FeatureLists, short: np.ndarray
) -> TopK:
    """Measure the rows that seem nearest to each query by what the index keeps, and short ones."""
    n, k = search.X.shape[0], search.k

    def work(start: int, stop: int) -> TopK:
        likely = new_top_k(stop - start, max(_LIKELY, 4 * k), _SINGLE)
        _collect(query, start, n, index, likely)
        rows = np.where(likely.rows < 0, n, likely.rows)
        rows = np.hstack([rows, np.tile(short, (stop - start, 1))])
        return search.rank(np.arange(start, stop), _list_once(rows, n))

    return search.run_blocks(work, _BLOCK)


@np.errstate(over="ignore")
def _place_both(search: Search) -> tuple[sp.csr_array, np.ndarray, sp.csr_array] | None:
    """Return rows, their squared lengths and queries in float32; None if that has no room."""
    metric = search.metric.compiled
    place = partial(place_rows, metric=metric, many=metric.nominal, dtype=_SINGLE)
    corpus = place(search.X)
    queries = corpus if search.Q is search.X else place(search.Q)
    both = np.append(corpus.lengths, queries.lengths)
    if not is_ordinary(both, each=metric.cosine):
        return None
    if metric.cosine:
        return corpus.rows, np.ones(len(corpus.lengths), _SINGLE), queries.rows
    if both.max() > _LONGEST:
        return None
    return corpus.rows, corpus.lengths.astype(_SINGLE), queries.rows


class FeatureLists(NamedTuple):
    """The rows that have a feature, for every feature: an inverted index."""

    rows: np.ndarray
    values: np.ndarray
    lengths: np.ndarray  # squared, of the rows; kept next to their numbers, which lie anywhere
    starts: np.ndarray  # where a feature's rows begin; one more at the end


def _list_heaviest(corpus: sp.csr_array, lengths: np.ndarray, most: int) -> FeatureLists:
    """List the rows in which a feature weighs most, the first ones where it weighs as much.

    Values are those of rows that have nothing but what is kept of them, at their full length:
    otherwise the less is kept of a row, the farther it would seem.
    """
    rows, counts = sparse_rows(corpus), np.bincount(corpus.indices, minlength=corpus.shape[1])
    starts = np.append(0, np.cumsum(np.minimum(counts, most)))
    limits, ties = _find_limits(rows, lengths, counts, most)
    size = int(starts[-1])
    numbers = np.empty(size, corpus.indices.dtype)
    kept = FeatureLists(numbers, np.empty(size, _SINGLE), np.empty(size, _SINGLE), starts)
    _fill_lists(rows, lengths, limits, ties, kept)
    _stretch(kept, np.zeros(len(lengths)), np.float32(1 + _PRIOR), np.float32(_PRIOR))
    return kept


@inlined_kernel
def _weigh(value: float, length: float) -> float:
    """Return what a feature weighs in a row of a squared length."""
    return abs(value) / np.sqrt(length)


def _find_limits(
    rows: SparseRows, lengths: np.ndarray, counts: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of every feature's last value that is kept, and how many of it are."""
    heavy = np.where(counts > most, counts, 0)
    ends = np.cumsum(heavy)
    weights = np.empty(ends[-1], dtype=_SINGLE)
    _gather_weights(rows, lengths, heavy, ends - heavy, weights)
    limits, ties = np.full(counts.size, -np.inf, dtype=_SINGLE), np.zeros_like(counts)
    # Each has more than `most` rows. A partition takes numba ten seconds to compile.
    for feature in np.flatnonzero(heavy):
        own = weights[ends[feature] - heavy[feature] : ends[feature]]
        limits[feature] = np.partition(own, own.size - most)[own.size - most]
        ties[feature] = most - np.count_nonzero(own > limits[feature])
    return limits, ties


@kernel
def _gather_weights(
    rows: SparseRows, lengths: np.ndarray, heavy: np.ndarray, at: np.ndarray, weights: np.ndarray
) -> None:
    """Write the weights of heavy features, those of each from its place ``at`` on."""
    for row in range(lengths.size):
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = rows.indices[p]
            if heavy[feature]:
                weights[at[feature]] = _weigh(rows.data[p], lengths[row])
                at[feature] += 1


@kernel
def _fill_lists(
    rows: SparseRows, lengths: np.ndarray, limits: np.ndarray, ties: np.ndarray, kept: FeatureLists
) -> None:
    """Fill the lists with the rows above the limits, in ascending order, and with first ties."""
    at = kept.starts[:-1].copy()
    for row in range(lengths.size):
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            feature, value = rows.indices[p], rows.data[p]
            weight, limit = _weigh(value, lengths[row]), limits[feature]
            if weight > limit or (weight == limit and ties[feature] > 0):
                ties[feature] -= weight == limit
                kept.rows[at[feature]], kept.values[at[feature]] = row, value
                kept.lengths[at[feature]] = lengths[row]
                at[feature] += 1


@kernel
def _stretch(kept: FeatureLists, known: np.ndarray, more: np.float32, prior: np.float32) -> None:
    """Bring what is kept of every row to the row's full length, in place; ``known`` is zeros."""
    for t in range(kept.rows.size):
        known[kept.rows[t]] += np.float64(kept.values[t]) ** 2
    for t in range(kept.rows.size):
        length, part = kept.lengths[t], known[kept.rows[t]]
        kept.values[t] *= np.float32(more * length / (part + prior * length))


@kernel
def _collect(query: SparseRows, start: int, n: int, index: FeatureLists, likely: TopK) -> None:
    """Fill ``likely`` with the rows that seem nearest to each query by what the index keeps.

    Scores are added up in a hash table that is as small as the lists of the query, not as n, so
    that it stays in the processor's cache.
    """
    listed = np.zeros(likely.rows.shape[0], dtype=np.int64)
    for i in range(listed.size):
        for p in range(query.indptr[start + i], query.indptr[start + i + 1]):
            feature = query.indices[p]
            listed[i] += index.starts[feature + 1] - index.starts[feature]
        listed[i] = min(listed[i], n)
    bits = _table_bits(listed.max())
    keys = np.empty(1 << bits, dtype=np.int32)
    owners = np.full(1 << bits, -1, dtype=np.int32)  # a slot of another query is free
    scores = np.empty(1 << bits, dtype=np.float32)
    touched = np.empty(listed.max(), dtype=np.int64)
    for i in range(listed.size):
        bits, n_touched = _table_bits(listed[i]), 0
        for p in range(query.indptr[start + i], query.indptr[start + i + 1]):
            feature, value = query.indices[p], query.data[p]
            for r in range(index.starts[feature], index.starts[feature + 1]):
                row = np.int64(index.rows[r])
                slot = ((row * _GOLDEN) & 0xFFFFFFFF) >> (32 - bits)
                while owners[slot] == i and keys[slot] != row:
                    slot = (slot + 1) & ((1 << bits) - 1)
                if owners[slot] != i:
                    owners[slot], keys[slot], scores[slot] = i, row, index.lengths[r]
                    touched[n_touched] = slot
                    n_touched += 1
                scores[slot] -= 2 * value * index.values[r]
        for t in range(n_touched):
            slot = touched[t]
            if scores[slot] < likely.values[i, -1]:
                insert(keys[slot], scores[slot], likely, i)


@inlined_kernel
def _table_bits(n_keys: int) -> int:
    """Return the number of bits of a slot of a table that at most half fills up."""
    bits = 4
    while (1 << bits) < 2 * n_keys:
        bits += 1
    return bits


def _divide_twice(points: np.ndarray, rows_per_cell: int, threads: int) -> Cells:
    """Divide points among large cells, and each of these among small ones."""
    n_cells = max(1, len(points) // rows_per_cell)
    n_large = max(1, round(np.sqrt(n_cells) / _COARSER))
    large, _ = divide(points, place_centers(points, n_large, threads), threads, keep_empty=True)
    centers, orders, sizes = [], [], []
    for rows in filter(len, np.split(large.order, large.edges[1:-1])):
        inside = points[rows]
        wanted = max(1, len(rows) // rows_per_cell)
        small, _ = divide(inside, place_centers(inside, wanted, threads), threads)
        centers.append(small.centers)
        orders.append(rows[small.order])
        sizes.append(np.diff(small.edges))
        del inside, small
        return_freed_memory(len(points))
    edges = np.append(0, np.cumsum(np.concatenate(sizes)))
    return Cells(np.concatenate(centers), np.concatenate(orders), edges)


def _nearest_cells(cells: Cells, at_least: int, search: Search) -> np.ndarray:
    """Return, for every cell, the cells nearest to it: itself first, and enough for k rows."""
    centers, n_cells = cells.centers, len(cells.centers)
    lengths = np.einsum("ij,ij->i", centers, centers)
    turned = np.ascontiguousarray(-2 * centers.T)
    least = int(np.diff(cells.edges).min())
    wanted = min(n_cells, max(at_least, -(-2 * (search.k + 1) // least)))

    nearest = np.empty((n_cells, wanted), np.int64)

    def work(start: int, stop: int) -> None:
        gaps = centers[start:stop] @ turned
        gaps += lengths
        gaps[np.arange(stop - start), np.arange(start, stop)] = -np.inf
        some = np.argpartition(gaps, wanted - 1, axis=1)[:, :wanted]
        order = np.take_along_axis(gaps, some, axis=1).argsort(axis=1, kind="stable")
        nearest[start:stop] = np.take_along_axis(some, order, axis=1)

    for_each_block(
        work,
        n_cells,
        block=_CELLS_AT_ONCE,
        threads=search.threads,
        what="Finding cells near cells",
        unit="cells",
    )
    return nearest


@dataclass(frozen=True, eq=False)
class ApproxEngine(CellEngine):
    """Scan the nearest cells."""

    nearest: np.ndarray

    def scan(self, group: int, start: int, stop: int) -> Scan:
        scan, lines = self.new_scan(stop - start), np.arange(stop - start)
        for cells in self.batches(self.nearest[group]):
            self.scan_cells(cells, start, lines, np.ones((len(cells), len(lines)), bool), scan)
        return scan


def _look_further(search: Search, graph: np.ndarray, order: np.ndarray) -> TopK:
    """Let every row look at its neighbors' neighbors, and at those that it is a neighbor of.

    Rows that come together in ``order`` look at the same ones, which are then read once.
    """
    n, width = len(order), graph.shape[1] * (graph.shape[1] + 1)

    def work(start: int, stop: int) -> TopK:
        queries = order[start:stop]
        near = graph[queries]
        far = graph[near.ravel()].reshape(len(near), -1)
        rows = np.concatenate([near, far], axis=1, dtype=np.int64)
        return search.rank(queries, _list_once(rows, n))

    most = int(np.clip(block_cells(_BYTES_PER_ROW_LISTED, search.threads) // width, 1, _BLOCK))
    return search.run_blocks(work, most, order)


def _both_ways(rows: np.ndarray, most: int) -> np.ndarray:
    """Return every row's neighbors and the first ``most`` that it is a neighbor of.

    n stands for no row, and has a line of its own, of no rows.
    """
    n, k = rows.shape
    short = np.int32 if n < 2**31 else np.int64
    graph = np.full((n + 1, k + most), n, short)
    graph[:n, :k] = rows
    _list_backward(graph, k, np.zeros(n, dtype=np.int32))
    return graph


@kernel
def _list_backward(graph: np.ndarray, k: int, counts: np.ndarray) -> None:
    """Put every row after the first k numbers of its neighbors' lines, where there is room."""
    most = graph.shape[1] - k
    for row in range(counts.size):
        for place in range(k):
            near = graph[row, place]
            if counts[near] < most:
                graph[near, k + counts[near]] = row
                counts[near] += 1


def _list_once(rows: np.ndarray, n: int) -> Candidates:
    """Return the rows of every line in ascending order, each once; n stands for no row."""
    rows.sort(axis=1)
    rows[:, 1:][rows[:, 1:] == rows[:, :-1]] = n
    rows.sort(axis=1)
    return Candidates(rows, (rows < n).sum(axis=1))
