"""Compiled code for chains of C4.5 trees: the data that links learn from, and how they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import inner_kernel, kernel, read_only
from labelance.learners.tree import Forest, TreeData
from labelance.learners.tree._data import NO_RANK, ONE_BIT, ROW, popcount
from labelance.learners.tree._tree import lay_out
from labelance.learners.tree._voting import RowBlock, add_to_rows, partition_rows, set_all


def stack_links(
    data: TreeData,
    rows: NDArray,
    start: NDArray,
    base: NDArray,
    before: NDArray[np.uint64],
    n_labels: int,
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
    start : ndarray of shape (n_links + 1,)
        Link k has the rows from ``start[k]`` up to ``start[k + 1]``,
    base : ndarray of shape (n_links,)
        and its labels are the lines ``base[k]`` up to ``base[k] + n_labels`` of ``before``.
    before : ndarray of uint64
        The rows of X that have a label, as bits.
    n_labels : int
        Number of further features.
    """
    d = data.n_features + n_labels
    some = np.asarray(before.any(axis=1))
    row_start, row_feature, row_rank = _rows(data, rows, start, base, before, some, n_labels)
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
    data: TreeData,
    rows: NDArray,
    link_start: NDArray,
    base: NDArray,
    before: NDArray,
    some: NDArray,
    n_labels: int,
) -> tuple[NDArray, NDArray, NDArray]:
    """Copy the cells of X row by row, and put the ones of the labels after them.

    Labels that are yet to come in a chain do not have ``some`` ones.
    """
    d, start = len(data.n_categories), np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        start[i + 1] = data.row_start[rows[i] + 1] - data.row_start[rows[i]]
    for k in range(len(base)):
        for line in range(base[k], base[k] + n_labels):
            for i in range(link_start[k], link_start[k + 1] if some[line] else 0):
                start[i + 1] += np.int64(_bit(before, line, rows[i]))
    for i in range(len(rows)):
        start[i + 1] += start[i]
    feature, rank = np.full(start[-1] + 1, NO_RANK), np.full(start[-1] + 1, NO_RANK)
    place = start.copy()
    for i in range(len(rows)):
        for e in range(data.row_start[rows[i]], data.row_start[rows[i] + 1]):
            feature[place[i]], rank[place[i]] = data.row_feature[e], data.row_rank[e]
            place[i] += 1
    for k in range(len(base)):
        for line in range(base[k], base[k] + n_labels):
            for i in range(link_start[k], link_start[k + 1] if some[line] else 0):
                if _bit(before, line, rows[i]):
                    feature[place[i]], rank[place[i]] = d + line - base[k], 1
                    place[i] += 1
    return start, feature, rank


@inner_kernel
def _bit(sets: NDArray, line: int, row: int) -> np.uint64:
    """Return whether a row is in one of several sets."""
    return (sets[line, row >> 6] >> np.uint64(row & 63)) & ONE_BIT


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
_CELLS_KEPT = 1 << 23  # of X, laid out once for all links that are asked about it: 64 MB
_ROWS_PER_BLOCK = 4096


class LaidOut(NamedTuple):
    """A block of rows as compiled code takes them, see ``lay_out``."""

    first_row: int  # a multiple of 64, so that threads do not share words of bits
    rows: RowBlock
    missing: NDArray[np.uint64] | None

    @property
    def n_rows(self) -> int:
        return int(self.rows.X.shape[1])


def lay_out_once(X: Any, n_categories: NDArray[np.int32]) -> list[LaidOut] | None:
    """Lay out all features of X for many forests; None if that would take much memory."""
    if X.shape[0] * X.shape[1] > _CELLS_KEPT:
        return None
    return list(_lay_out_blocks(X, n_categories, _ROWS_PER_BLOCK))


def _lay_out_blocks(X: Any, n_categories: NDArray[np.int32], step: int) -> Iterator[LaidOut]:
    for start in range(0, X.shape[0], step):
        yield LaidOut(start, *lay_out(X[start : start + step], n_categories))


class Links(NamedTuple):
    """Links in the order in which they are asked.

    Attributes
    ----------
    tree : ndarray
        The tree of each link.
    label : ndarray
        The label of each link.
    base : ndarray
        Line of the decisions where those of its chain begin; there is one for every label.
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
        Trees over the features of X and after them the labels.
    n_features : int
        Number of features of X.
    all_features : bool, default=False
        Take rows with all features of X, not only with those that the trees use.
    """

    def __init__(self, forest: Forest, n_features: int, *, all_features: bool = False) -> None:
        f = forest.feature
        used = np.unique(f[(f >= 0) & (f < n_features)])
        self.used = np.arange(n_features) if all_features else used
        self.n_categories = forest.n_categories[self.used]
        compact = np.where(f < n_features, np.searchsorted(self.used, f), f)
        compact[f >= n_features] += len(self.used) - n_features
        weights = forest.histogram.reshape(-1, 2)
        parts = (
            forest.node_start,
            np.where(f < 0, -1, compact),
            forest.threshold,
            forest.first,
            forest.width,
            forest.weight,
            weights[:, 1] / weights.sum(axis=1),
        )
        self.nodes = Nodes(*map(read_only, parts))

    def blocks(self, X: Any) -> Iterator[LaidOut]:
        """Yield the used features of blocks of rows."""
        step = _CELLS_PER_BLOCK // max(1, len(self.used)) & ~63
        step = int(np.clip(step, 64, _ROWS_PER_BLOCK))
        return _lay_out_blocks(X[:, self.used], self.n_categories, step)

    def predict(
        self,
        block: LaidOut,
        links: Links,
        decisions: NDArray[np.uint64],
        votes: bool,
        out: NDArray[np.float64],
    ) -> None:
        """Ask links about a block of rows: note their decisions, and add them up by label.

        Parameters
        ----------
        block : LaidOut
            The rows.
        links : Links
            The links.
        decisions : ndarray of uint64
            A line of bits for every label of every chain.
        votes : bool
            Add up decisions, not probabilities.
        out : ndarray
            A line for every label and a column for every row of the block; nothing is added up
            where it has no lines.
        """
        at = block.first_row >> 6
        links = Links(*map(read_only, links))
        predict_links(block.rows, block.missing, self.nodes, links, decisions, at, votes, out)


def no_decisions(n: int, n_lines: int) -> NDArray[np.uint64]:
    """Return lines of bits, one for each of ``n`` rows, none of them set."""
    return np.zeros((n_lines, (n + 63) >> 6), dtype=np.uint64)


@kernel
def predict_links(
    block: RowBlock,
    missing: NDArray | None,
    nodes: Nodes,
    links: Links,
    decisions: NDArray,
    at: int,
    votes: bool,
    out: NDArray,
) -> None:
    """Send all rows of a block down the tree of every link, 64 at a time, see ``sum_votes``.

    The block's decisions begin at word ``at``.
    """
    feature, share, (m, n) = nodes.feature, nodes.share, block.X.shape
    words, most = (n + 63) >> 6, 1
    for t in links.tree:
        most = max(most, nodes.start[t + 1] - nodes.start[t])
    members, decided = np.empty(most * words, np.uint64), np.empty(words, np.uint64)
    for k in range(len(links.tree)):
        root, base, label = nodes.start[links.tree[k]], links.base[k], links.label[k]
        set_all(members, n)
        for w in range(words):
            decided[w] = 0
        for v in range(root, nodes.start[links.tree[k] + 1]):
            here, f, first = (v - root) * words, feature[v], nodes.first[v] * words
            if f >= m:
                for w in range(words):
                    ones = members[here + w] & decisions[base + f - m, at + w]
                    members[first + w] = members[here + w] ^ ones
                    members[first + words + w] = ones
            elif f >= 0:
                if missing is not None:
                    _decide_missing(
                        block.X, missing, nodes, links, k, v, members, decisions, at, decided,
                        votes, out,
                    )  # fmt: skip
                width = nodes.width[v]
                partition_rows(block, f, nodes.threshold[v], width, members, here, first)
            else:
                present = share[v] >= 0.5
                for w in range(words if present else 0):
                    decided[w] |= members[here + w]
                if out.shape[0] > 0:
                    part = np.float64(present) if votes else share[v]
                    add_to_rows(members, here, words, part, out, label)
        for w in range(words):
            decisions[base + label, at + w] = decided[w]


@inner_kernel
def _decide_missing(
    X: NDArray,
    missing: NDArray,
    nodes: Nodes,
    links: Links,
    k: int,
    v: int,
    members: NDArray,
    decisions: NDArray,
    at: int,
    decided: NDArray,
    votes: bool,
    out: NDArray,
) -> None:
    """Decide about the rows of node v whose value is missing there, and take them out."""
    root, base = nodes.start[links.tree[k]], links.base[k]
    here = (v - root) * len(decided)
    for w in range(len(decided)):
        rows = members[here + w] & missing[nodes.feature[v], w]
        members[here + w] ^= rows
        while rows != 0:
            lowest = rows & (~rows + ONE_BIT)
            i = (w << 6) + np.int64(popcount(lowest - ONE_BIT))
            rows ^= lowest
            part = _share_with_missing(X, i, nodes, root, v, decisions, at, base)
            decided[w] |= lowest if part >= 0.5 else np.uint64(0)
            if out.shape[0] > 0:
                out[links.label[k], i] += np.float64(part >= 0.5) if votes else part


@inner_kernel
def _share_with_missing(
    X: NDArray, i: Any, nodes: Nodes, root: int, v: int, decisions: NDArray, at: int, base: int
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
        x = X[f, i] if f < m else np.float64(_bit(decisions, base + f - m, (at << 6) + i))
        if not np.isnan(x):
            step = np.int64(x > nodes.threshold[node]) if nodes.width[node] == 2 else np.int64(x)
            agenda.append((np.int64(first + step), part))
            continue
        for child in range(first, first + nodes.width[node]):
            if nodes.weight[child] > 0:
                agenda.append((np.int64(child), part * nodes.weight[child] / nodes.weight[node]))
    return share / sum_of_parts
