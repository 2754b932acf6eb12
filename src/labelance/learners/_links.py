"""Links of chains of C4.5 trees: the data that they learn from, and how they decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.learners.tree import Forest, TreeData
from labelance.learners.tree._asking import (
    RowBlock,
    predict_links,
    stack_columns,
    stack_rows,
)
from labelance.learners.tree._tree import lay_out


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
    some = np.asarray(before.any(axis=1)).view(np.uint8)
    row_start, row_feature, row_rank = stack_rows(data, rows, start, base, before, some, n_labels)
    column_start = np.concatenate([[0], np.cumsum(np.bincount(row_feature[:-1], minlength=d))])
    return TreeData(
        n_rows=len(rows),
        n_categories=np.append(data.n_categories, np.full(n_labels, 2, np.int32)),
        implicit=np.append(data.implicit, np.zeros(n_labels, np.int32)),
        column_start=column_start,
        cells=stack_columns(data, rows, row_start, row_feature, column_start),
        row_start=row_start,
        row_feature=row_feature,
        row_rank=row_rank,
        level_start=np.append(data.level_start, np.full(n_labels, data.level_start[-1])),
        levels=data.levels,
    )


_CELLS_PER_BLOCK = 1 << 18  # of X, laid out densely while its rows are asked for: 2 MB
_CELLS_KEPT = 1 << 23  # of X, laid out once for all links that are asked about it: 64 MB
_ROWS_PER_BLOCK = 4096


class LaidOut(NamedTuple):
    """A block of rows as compiled code takes them, see ``lay_out``."""

    first_row: int  # a multiple of 64, so that threads do not share words of bits
    rows: RowBlock


def lay_out_once(X: Any, n_categories: NDArray[np.int32]) -> list[LaidOut] | None:
    """Lay out all features of X for many forests; None if that would take much memory."""
    if X.shape[0] * X.shape[1] > _CELLS_KEPT:
        return None
    return list(_lay_out_blocks(X, n_categories, _ROWS_PER_BLOCK))


def _lay_out_blocks(X: Any, n_categories: NDArray[np.int32], step: int) -> Iterator[LaidOut]:
    for start in range(0, X.shape[0], step):
        yield LaidOut(start, lay_out(X[start : start + step], n_categories))


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
        self.nodes = (
            forest.node_start,
            np.where(f < 0, -1, compact).astype(np.int32),
            forest.threshold,
            forest.first,
            forest.width,
            forest.weight,
            weights[:, 1] / weights.sum(axis=1),
        )

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
        predict_links(block.rows, self.nodes, links, decisions, block.first_row >> 6, votes, out)


def no_decisions(n: int, n_lines: int) -> NDArray[np.uint64]:
    """Return lines of bits, one for each of ``n`` rows, none of them set."""
    return np.zeros((n_lines, (n + 63) >> 6), dtype=np.uint64)
