"""Compiled code for chains of C4.5 trees: the data that links learn from, and how they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners.tree import NO_RANK, ROW, Forest, TreeData


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


_CELLS_PER_BLOCK = 1 << 18  # of X, laid out densely while its rows are asked for: 2 MB


class Links(NamedTuple):
    """Links in the order in which they are asked.

    Attributes
    ----------
    tree : ndarray
        The tree of each link.
    label : ndarray
        The label of each link.
    base : ndarray
        Column of the decisions where those of its chain begin; there is one for every label.
    """

    tree: NDArray[np.int64]
    label: NDArray[np.int64]
    base: NDArray[np.int64]


class Nodes(NamedTuple):
    """Trees of two classes as compiled code takes them; see ``Forest`` for the meaning.

    Features of X come first, as they are laid out, then the labels.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weight: NDArray[np.float64]
    share: NDArray[np.float64]  # probability of presence


class LinkPredictor:
    """Trees of links, ready to be asked about rows of X.

    Parameters
    ----------
    forest : Forest
        Trees over the features of X and behind them the labels.
    n_features : int
        Number of features of X.
    """

    def __init__(self, forest: Forest, n_features: int) -> None:
        f = forest.feature
        self.used = np.unique(f[(f >= 0) & (f < n_features)])
        self.n_categories = forest.n_categories[self.used]
        compact = np.where(f < n_features, np.searchsorted(self.used, f), f)
        compact[f >= n_features] += len(self.used) - n_features
        weights = forest.histogram.reshape(-1, 2)
        self.nodes = Nodes(
            forest.node_start,
            np.where(f < 0, -1, compact),
            forest.threshold,
            forest.first,
            forest.width,
            forest.weight,
            weights[:, 1] / weights.sum(axis=1),
        )

    def blocks(self, X: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield where blocks of rows begin and end, and the used features of their rows."""
        n, X = X.shape[0], X[:, self.used]
        step = int(np.clip(_CELLS_PER_BLOCK // max(1, len(self.used)), 16, 4096))
        for start in range(0, n, step):
            stop = min(n, start + step)
            yield start, stop, X[start:stop]

    def predict(
        self, rows: Any, links: Links, decisions: NDArray[np.int8], votes: bool, out: NDArray
    ) -> None:
        """Ask links about a block of rows: note their decisions, and add them up by label.

        Nothing is added up where ``out`` has no columns.
        """
        cells = rows.toarray() if sp.issparse(rows) else rows
        columns = np.array(cells.T, dtype=np.float64, order="C")
        # Categories never declared are missing values.
        nominal = np.flatnonzero(self.n_categories)
        codes, counts = columns[nominal], self.n_categories[nominal, None]
        columns[nominal] = np.where((codes >= 0) & (codes < counts), codes, np.nan)
        predict_links(columns, self.nodes, links, decisions, votes, out)


@kernel
def predict_links(
    X: NDArray, nodes: Nodes, links: Links, decisions: NDArray, votes: bool, out: NDArray
) -> None:
    """Send every row down the tree of every link; X is laid out column by column."""
    m, feature, threshold = X.shape[0], nodes.feature, nodes.threshold
    first, width, share = nodes.first, nodes.width, nodes.share
    for k in range(len(links.tree)):
        root, base, label = nodes.start[links.tree[k]], links.base[k], links.label[k]
        for i in range(X.shape[1]):
            v = root
            while feature[v] >= 0:
                f = feature[v]
                x = X[f, i] if f < m else np.float64(decisions[i, base + f - m])
                if np.isnan(x):
                    break
                step = np.int64(x > threshold[v]) if width[v] == 2 else np.int64(x)
                v = root + first[v] + step
            part = share[v]
            if feature[v] >= 0:
                part = _share_with_missing(X, i, nodes, root, v, decisions, base)
            decisions[i, base + label] = part >= 0.5
            if out.shape[1] > 0:
                out[i, label] += part >= 0.5 if votes else part


@kernel
def _share_with_missing(
    X: NDArray, i: int, nodes: Nodes, root: int, v: int, decisions: NDArray, base: int
) -> float:
    """Send a row from node v down all branches where its value is missing, part by part."""
    m, share, sum_of_parts = X.shape[0], 0.0, 0.0
    agenda = [(np.int64(v), 1.0)]
    while len(agenda) > 0:
        node, part = agenda.pop()
        f, first = nodes.feature[node], root + nodes.first[node]
        if f < 0:
            share += part * nodes.share[node]
            sum_of_parts += part
            continue
        x = X[f, i] if f < m else np.float64(decisions[i, base + f - m])
        if not np.isnan(x):
            step = np.int64(x > nodes.threshold[node]) if nodes.width[node] == 2 else np.int64(x)
            agenda.append((np.int64(first + step), part))
            continue
        for child in range(first, first + nodes.width[node]):
            if nodes.weight[child] > 0:
                agenda.append((np.int64(child), part * nodes.weight[child] / nodes.weight[node]))
    return share / sum_of_parts
