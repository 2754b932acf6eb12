"""One pass over approximate values that cannot lose a neighbor.

An engine knows, for a query and every row, a lower and an upper bound of the exact value. The
k-th smallest upper bound seen so far is the limit: a later row whose lower bound is not below
it has k earlier rows that are as near or nearer, and loses even a tie. The few others are kept
in a pool, to be ranked exactly. Where the bounds coincide, the k best are the answer already.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelance._utils import kernel
from labelance.neighbors._exact import insert

_STRIDE = 64  # rows tested together; nearly always none of them is below the limit


class Bounds(NamedTuple):
    """What to add to a query's -2 x·z to get bounds, up to a number that only the query knows."""

    low: np.ndarray  # for every row searched
    high: np.ndarray
    margin: np.ndarray  # for every query, on top of ``high``


class Tally(NamedTuple):
    """What is known about a block of queries while the rows pass by."""

    best: np.ndarray  # the k smallest upper bounds, ascending, and whose they are
    rows: np.ndarray
    pool: np.ndarray  # rows not yet ruled out, and their lower bounds; no columns if not kept
    low: np.ndarray
    counts: np.ndarray


def new_tally(queries: int, k: int, room: int, dtype: np.dtype) -> Tally:
    """Return a tally that has seen nothing."""
    return Tally(
        np.full((queries, k), np.inf, dtype=dtype),
        np.full((queries, k), -1, dtype=np.int64),
        np.empty((queries, room), dtype=np.int64),
        np.empty((queries, room), dtype=dtype),
        np.zeros(queries, dtype=np.int64),
    )


@kernel
def _any_below(scores: np.ndarray, low: np.ndarray, limit: float) -> bool:
    found = False
    for t in range(_STRIDE):
        found = found | (scores[t] + low[t] < limit)
    return found


@kernel
def scan_row(
    scores: np.ndarray, start: int, own: int, i: int, query: int, bounds: Bounds, tally: Tally
) -> None:
    """Let the rows ``start``, ``start + 1``, … pass by query ``i`` of the tally."""
    best, keep, count = tally.best[i], tally.pool.shape[1] > 0, tally.counts[i]
    low, margin, limit = bounds.low[start : start + scores.size], bounds.margin[query], best[-1]
    for first in range(0, scores.size, _STRIDE):
        last = min(first + _STRIDE, scores.size)
        if last - first == _STRIDE and not _any_below(scores[first:last], low[first:last], limit):
            continue
        for t in range(first, last):
            bound, row = scores[t] + low[t], start + t
            if bound < limit and row != own:
                if keep:
                    tally.pool[i, count], tally.low[i, count] = row, bound
                    count += 1
                upper = scores[t] + bounds.high[row] + margin
                if upper < limit:
                    insert(row, upper, tally.rows[i], best)
                    limit = best[-1]
    tally.counts[i] = _still_in(i, count, limit, tally)


@kernel
def _still_in(i: int, count: int, limit: float, tally: Tally) -> int:
    """Drop from the pool whom the falling limit has ruled out; return how many are left."""
    left = 0
    for c in range(count):
        if tally.low[i, c] <= limit:
            tally.pool[i, left], tally.low[i, left] = tally.pool[i, c], tally.low[i, c]
            left += 1
    return left


@kernel
def scan_block(
    scores: np.ndarray, start: int, own: np.ndarray, first: int, bounds: Bounds, tally: Tally
) -> None:
    """Let rows pass by the queries ``first``, ``first + 1``, …, one line of scores each."""
    for i in range(scores.shape[0]):
        scan_row(scores[i], start, own[i], i, first + i, bounds, tally)
