"""Dealing the rows of a node to its branches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree._piece import piece
from labelance.learners.tree._rules import EPS
from labelance.learners.tree._table import MISSING, ONE, TreeTable


@piece
def rank_of(
    row_start: NDArray,
    row_feature: NDArray,
    row_rank: NDArray,
    stored: NDArray,
    words: int,
    implicit: NDArray,
    row: int,
    feature: int,
) -> int:
    """Return the rank of one cell.

    The arrays of the table come one by one, and it looks into all of them whatever it finds:
    so the compiler can drop the reference counting, which would cost more than the search.
    """
    low, end = row_start[row], row_start[row + 1]
    high, usual = end, implicit[feature]
    bits = stored[row * words + min(feature >> 6, words)]
    if end - low == len(implicit):  # all cells are stored
        low = high = low + feature
    elif not (bits >> np.uint64(feature & 63)) & ONE:
        low = high
    while low < high:
        middle = (low + high) >> 1
        if row_feature[middle] < feature:
            low = middle + 1
        else:
            high = middle
    rank, found = row_rank[low], row_feature[low] == feature
    return rank if low < end and found else usual


@piece
def take_branches(
    table: TreeTable,
    feature: int,
    cut: int,
    row: NDArray,
    start: int,
    stop: int,
    origin: NDArray,
    branch: NDArray,
) -> None:
    """Note the branch that each of some entries' rows takes, -1 where its value is missing."""
    row_start, row_feature, row_rank = (
        table.row_start,
        table.row_feature,
        table.row_rank,
    )
    stored, words, implicit = table.stored, table.words, table.implicit
    nominal = table.n_categories[feature] > 0
    for e in range(start, stop):
        i = row[e]
        rank = rank_of(
            row_start,
            row_feature,
            row_rank,
            stored,
            words,
            implicit,
            origin[i],
            feature,
        )
        branch[i] = -1 if rank == MISSING else (rank if nominal else rank > cut)


@piece
def plan_deal(
    row: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    used: int,
    branch: NDArray,
    share: NDArray,
    begin: NDArray,
) -> int:
    """Find where each branch's entries will lie, behind the ``used`` ones; return their end.

    A row whose branch is -1 takes every branch, with the ``share`` of the known weight that
    the branch has. Without ``weight``, all are 1.
    """
    width, known, missing, unit = len(share), 0.0, 0, len(weight) == 0
    for b in range(width):
        share[b], begin[b] = 0.0, 0
    for e in range(start, stop):
        b, w = branch[row[e]], 1.0 if unit else weight[e]
        if b < 0:
            missing += 1
        else:
            share[b] += w
            known += w
            begin[b] += 1
    for b in range(width):
        share[b] = 1.0 / width if known < EPS else share[b] / known
        count = begin[b] + (missing if share[b] > EPS else 0)
        begin[b] = used
        used += count
    begin[width] = used
    return used


@piece
def deal(
    row: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    branch: NDArray,
    share: NDArray,
    begin: NDArray,
) -> None:
    """Write the entries of each branch where :func:`plan_deal` said."""
    place, unit = begin.copy(), len(weight) == 0
    for e in range(start, stop):
        i = row[e]
        known = branch[i] >= 0
        for b in range(branch[i] if known else 0, branch[i] + 1 if known else len(share)):
            if known or share[b] > EPS:
                row[place[b]] = i
                if not unit:
                    weight[place[b]] = weight[e] * (1.0 if known else share[b])
                place[b] += 1
