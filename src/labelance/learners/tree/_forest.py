"""Finished trees in flat arrays, and what they say about new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from labelance.learners.tree._harvest import Harvest
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._sprouts import LEAF
from labelance.learners.tree._table import TreeTable
from labelance.learners.tree._tally import Block, Payoff, Trees, tally

_CELLS_PER_BLOCK = 1 << 21  # of X, laid out densely while its rows are predicted: 16 MB

Ties = Literal["first", "last"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees t = 0, 1, …, each with its own classes.

    Parameters
    ----------
    n_categories : ndarray of shape (n_features,)
        Number of categories of every nominal feature, 0 for a numeric one.
    n_classes : ndarray of shape (n_trees,)
        Number of classes of every tree.
    node_start : ndarray of shape (n_trees + 1,)
        Nodes of tree t are ``node_start[t]`` up to ``node_start[t + 1]``, its root first.
    feature : ndarray of shape (n_nodes,)
        The feature that a node splits on, -1 at a leaf.
    threshold : ndarray of shape (n_nodes,)
        Values up to this one go to the first child, larger ones to the second. 0.5 where the
        feature has two categories; NaN at leaves and splits into more categories.
    first, width : ndarray of shape (n_nodes,)
        First child, counted from the root of the tree, and number of children.
    weight : ndarray of shape (n_nodes,)
        Weight of the training rows of a node; 0 if none reached it.
    histogram : ndarray
        Class weights, node by node; a node without rows has those of its parent.
    """

    n_categories: NDArray[np.int32]
    n_classes: NDArray[np.int32]
    node_start: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    first: NDArray[np.int32]
    width: NDArray[np.int32]
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]

    @classmethod
    def of(cls, table: TreeTable, problems: Problems, harvests: list[Harvest]) -> Forest:
        """Put the trees of several blocks of problems together."""
        sizes = np.concatenate([harvest.sizes for harvest in harvests])
        parts, at = [], 0
        for harvest in harvests:
            nodes = int(harvest.sizes.sum())
            cells = int(harvest.sizes @ problems.n_classes[at : at + len(harvest.sizes)])
            parts.append([*(a[:nodes] for a in harvest[1:-1]), harvest.histogram[:cells]])
            at += len(harvest.sizes)
        return cls(
            table.n_categories,
            problems.n_classes,
            _starts(sizes),
            *(np.concatenate(arrays) for arrays in zip(*parts)),
        )

    def __len__(self) -> int:
        return len(self.n_classes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every tree."""
        return np.diff(self.node_start)

    @property
    def slot_start(self) -> NDArray[np.int64]:
        """Classes of all trees in one row: tree t has the slots from ``slot_start[t]`` on."""
        return _starts(self.n_classes)

    @property
    def histogram_start(self) -> NDArray[np.int64]:
        """Where the class weights of every tree begin."""
        return _starts(self.sizes * self.n_classes)

    def take(self, first: int, last: int) -> Forest:
        """Return the trees from ``first`` up to ``last``."""
        a, b = self.node_start[first], self.node_start[last]
        c, d = self.histogram_start[first], self.histogram_start[last]
        return Forest(
            self.n_categories,
            self.n_classes[first:last],
            self.node_start[first : last + 1] - a,
            *(getattr(self, name)[a:b] for name in ("feature", "threshold", "first", "width")),
            self.weight[a:b],
            self.histogram[c:d],
        )

    def predict_proba(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of every class of every tree.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, n_features)
            Clean rows.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        ndarray of shape (n, slots)
            Column ``slot_start[t] + c`` is class c of tree t.
        """
        slots = int(self.slot_start[-1])
        everything = csr_array(
            (np.ones(slots), np.arange(slots), np.arange(slots + 1)),
            shape=(slots, slots),
        )
        return self.tally(X, everything, n_jobs=n_jobs)

    def positive_proba(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of class 1 of every tree, as (n, n_trees).

        Parameters
        ----------
        X : array-like or csr_array of shape (n, n_features)
            Clean rows.
        n_jobs : int, optional
            Number of threads.
        """
        slots, trees = self.slot_start[:-1] + 1, np.arange(len(self))
        ones = (np.ones(len(self)), (slots, trees))
        return self.tally(X, csr_array(ones, shape=(self.slot_start[-1], len(self))), n_jobs=n_jobs)

    def tally(
        self,
        X: Any,
        payoff: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Add up, for every row, what the classes that the trees predict pay.

        Nothing of the size rows x trees is ever made.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, n_features)
            Clean rows.
        payoff : csr_array of shape (slots, q)
            What a class of a tree pays to each of q accounts; see :attr:`slot_start`.
        hard : bool, default=False
            Every tree pays for its most probable class; else for all classes, in proportion
            to their probabilities.
        ties : {"first", "last"}, default="first"
            Which of several most probable classes a hard decision takes.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        ndarray of shape (n, q)
        """
        per_node = csr_array((0, payoff.shape[1])) if hard else csr_array(self._soft() @ payoff)
        winner = self._winners(ties) if hard else np.empty(0, dtype=np.int64)
        used = np.unique(self.feature[self.feature != LEAF])
        trees = self._compact(used)
        X = (X if issparse(X) else np.asarray(X))[:, used]
        out = np.empty((X.shape[0], payoff.shape[1]))

        def tally_block(a: int, b: int) -> None:
            votes = np.zeros((payoff.shape[1], b - a))
            tally(
                self._block(X[a:b], used),
                trees,
                winner,
                Payoff(per_node.indptr, per_node.indices, per_node.data),
                Payoff(payoff.indptr, payoff.indices, payoff.data.astype(np.float64)),
                ties == "last",
                votes,
            )
            out[a:b] = votes.T

        step = _CELLS_PER_BLOCK // max(1, len(used), int(self.sizes.max(initial=0)) // 64)
        step = int(np.clip(step, 64, 4096))
        Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(tally_block)(a, min(a + step, len(out))) for a in range(0, len(out), step)
        )
        return out

    def _compact(self, used: NDArray[np.int32]) -> Trees:
        """Return the trees as compiled code takes them, over the used features only."""
        feature = np.where(self.feature == LEAF, LEAF, np.searchsorted(used, self.feature))
        return Trees(
            feature.astype(np.int32),
            self.threshold,
            self.first,
            self.width,
            self.weight,
            self.histogram,
            self.node_start,
            self.histogram_start,
            self.slot_start,
        )

    def _block(self, rows: Any, used: NDArray[np.int32]) -> Block:
        """Lay out a block of rows column by column; categories never declared are missing."""
        cells = rows.toarray() if issparse(rows) else rows
        columns = np.array(cells.T, dtype=np.float64, order="C")
        counts = self.n_categories[used]
        for i in np.flatnonzero(counts):
            declared = (columns[i] >= 0) & (columns[i] < counts[i])
            columns[i, ~declared] = np.nan
        missing = np.isnan(columns)
        return Block(
            columns,
            counts == 2,
            _as_bits(columns == 1),
            _as_bits(missing[:, : missing.any() * missing.shape[1]]),
        )

    def _soft(self) -> csr_array:
        """Return every node's class probabilities, as (nodes, slots)."""
        C = np.repeat(self.n_classes, self.sizes)
        slot = np.repeat(self.slot_start[:-1], self.sizes)
        start = _starts(C)
        within = np.arange(len(self.histogram)) - np.repeat(start[:-1], C)
        total = np.add.reduceat(self.histogram, start[:-1])
        share = self.histogram / np.repeat(total, C)
        columns = np.repeat(slot, C) + within
        return csr_array((share, columns, start), shape=(len(C), int(self.slot_start[-1])))

    def _winners(self, ties: Ties) -> NDArray[np.int64]:
        """Return every node's most probable class."""
        C = np.repeat(self.n_classes, self.sizes)
        start = _starts(C)
        best = np.maximum.reduceat(self.histogram, start[:-1])
        node = np.repeat(np.arange(len(C)), C)
        winners = np.flatnonzero(self.histogram == best[node])
        # The last assignment to a node stays, so going backwards keeps the first winner.
        winners = winners[::-1] if ties == "first" else winners
        winner = np.empty(len(C), dtype=np.int64)
        winner[node[winners]] = winners
        return winner - start[:-1]


def _as_bits(sets: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets of rows, one per line, as bits, 64 to a word."""
    padded = np.zeros((len(sets), -(-sets.shape[1] // 64) * 64), dtype=bool)
    padded[:, : sets.shape[1]] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _starts(counts: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
