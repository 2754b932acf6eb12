"""The data that links of several chains learn from: their rows, and the labels before them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree import NO_RANK, ROW, TreeData


def stack_links(
    data: TreeData, rows: NDArray, base: NDArray, before: NDArray[np.int8], n_labels: int
) -> TreeData:
    """Return the data of some rows of X with the labels as further features, all nominal 0/1.

    Nothing is sorted again: the cells of X come in the order that they have in its columns. A
    label without ones costs nothing, and no tree can split on it.

    Parameters
    ----------
    data : TreeData
        X.
    rows : ndarray of shape (m,)
        Rows of X; a row may come several times.
    base : ndarray of shape (m,)
        The labels of a row are ``before[row, base : base + n_labels]``.
    before : ndarray of int8
        Ones and zeros.
    n_labels : int
        Number of further features.
    """
    d = data.n_features + n_labels
    row_start, row_feature, row_rank = _rows(data, rows, base, before, n_labels)
    column_start = np.concatenate([[0], np.cumsum(np.bincount(row_feature[:-1], minlength=d))])
    return TreeData(
        n_rows=len(rows),
        n_categories=np.append(data.n_categories, np.full(n_labels, 2, np.int32)),
        implicit=np.append(data.implicit, np.zeros(n_labels, np.int32)),
        column_start=column_start,
        cells=_columns(data, rows, row_start, row_feature, column_start),
        row_start=row_start,
        row_feature=row_feature,
        row_rank=row_rank,
        level_start=np.append(data.level_start, np.full(n_labels, data.level_start[-1])),
        levels=data.levels,
    )


@kernel
def _rows(
    data: TreeData, rows: NDArray, base: NDArray, before: NDArray, n_labels: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Copy the cells of X row by row, and put the ones of the labels behind them."""
    d, start = len(data.n_categories), np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        row, ones = rows[i], 0
        for is_one in before[row, base[i] : base[i] + n_labels]:
            ones += is_one
        start[i + 1] = start[i] + data.row_start[row + 1] - data.row_start[row] + ones
    feature, rank = np.full(start[-1] + 1, NO_RANK), np.full(start[-1] + 1, NO_RANK)
    at = 0
    for i in range(len(rows)):
        row, f = rows[i], 0
        for e in range(data.row_start[row], data.row_start[row + 1]):
            feature[at], rank[at] = data.row_feature[e], data.row_rank[e]
            at += 1
        labels = before[row, base[i] : base[i] + n_labels]
        while at < start[i + 1]:  # that is, until all ones are found
            feature[at], rank[at] = d + f, 1
            at += labels[f]
            f += 1
    return start, feature, rank


@kernel
def _columns(
    data: TreeData,
    rows: NDArray,
    row_start: NDArray,
    row_feature: NDArray,
    column_start: NDArray,
) -> NDArray:
    """Return the same cells column by column; those of X in the order of its columns."""
    d, place = len(data.n_categories), column_start.copy()
    cells = np.empty(row_start[-1], np.uint64)
    last = np.full(data.n_rows, -1, np.int64)  # the last mention of a row of X, and
    mention_before = np.empty(len(rows), np.int64)  # from each mention the one before
    for i in range(len(rows)):
        mention_before[i], last[rows[i]] = last[rows[i]], i
    for f in range(d):
        for t in range(data.column_start[f], data.column_start[f + 1]):
            rank, i = data.cells[t] & ~ROW, last[data.cells[t] & ROW]
            while i >= 0:
                cells[place[f]] = rank | np.uint64(i)
                place[f] += 1
                i = mention_before[i]
    for i in range(len(rows)):
        e = row_start[i + 1] - 1
        while e >= row_start[i] and row_feature[e] >= d:
            f = row_feature[e]
            cells[place[f]] = np.uint64(1) << np.uint64(32) | np.uint64(i)
            place[f] += 1
            e -= 1
    return cells
