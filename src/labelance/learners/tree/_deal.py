"""Dealing the rows of a node to its branches, and the cells of a table to many problems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._rules import EPS
from labelance.learners.tree._table import ROW, TreeTable


@kernel
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

    ``branch[row]`` is the branch of a row, -1 if its value is missing: then it takes every
    branch, with the ``share`` of the known weight that the branch has.
    """
    width, known, missing = len(share), 0.0, 0
    for b in range(width):
        share[b], begin[b] = 0.0, 0
    for e in range(start, stop):
        b = branch[row[e]]
        if b < 0:
            missing += 1
        else:
            share[b] += weight[e]
            known += weight[e]
            begin[b] += 1
    for b in range(width):
        share[b] = 1.0 / width if known < EPS else share[b] / known
        count = begin[b] + (missing if share[b] > EPS else 0)
        begin[b] = used
        used += count
    return used


@kernel
def deal(
    row: NDArray,
    weight: NDArray,
    start: int,
    stop: int,
    branch: NDArray,
    share: NDArray,
    place: NDArray,
) -> None:
    """Write the entries of each branch from ``place`` on, which ends behind them."""
    for e in range(start, stop):
        i = row[e]
        known = branch[i] >= 0
        first = branch[i] if known else 0
        last = first + 1 if known else len(share)
        for b in range(first, last):
            if known or share[b] > EPS:
                row[place[b]] = i
                weight[place[b]] = weight[e] if known else weight[e] * share[b]
                place[b] += 1


@kernel
def deal_cells(table: TreeTable, problems: Problems) -> tuple[NDArray, NDArray]:
    """Return the cells of every problem, and where those of problem p and feature f begin.

    One pass through the sorted columns serves all problems: each cell goes to the problems
    that have its row, so their columns come out sorted.
    """
    n_problems, d = len(problems.n_classes), len(table.n_categories)
    first = np.full(table.n_rows, -1, np.int64)  # the last mention of a row, and
    following = np.empty(len(problems.rows), np.int64)  # from each mention the one before
    owner = np.empty(len(problems.rows), np.int64)
    begin = np.zeros(n_problems * d + 1, np.int64)
    for p in range(n_problems):
        for i in range(problems.start[p], problems.start[p + 1]):
            row = problems.rows[i]
            following[i], first[row], owner[i] = first[row], i, p
            for e in range(table.row_start[row], table.row_start[row + 1]):
                begin[p * d + table.row_feature[e] + 1] += 1
    for i in range(len(begin) - 1):
        begin[i + 1] += begin[i]
    place = begin.copy()
    cells = np.empty(begin[n_problems * d], np.uint64)
    for f in range(d):
        for t in range(table.column_start[f], table.column_start[f + 1]):
            rank, i = table.cells[t] & ~ROW, first[table.cells[t] & ROW]
            while i >= 0:
                p = owner[i]
                cells[place[p * d + f]] = rank | np.uint64(i - problems.start[p])
                place[p * d + f] += 1
                i = following[i]
    return cells, begin
