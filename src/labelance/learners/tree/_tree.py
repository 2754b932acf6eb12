"""Fitted trees: grown ones are pruned and packed into flat arrays, which then predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._containers import to_dense
from labelance._arrays._open import take_columns
from labelance._progress import loop
from labelance.learners.tree._asking import RowBlock, sum_votes
from labelance.learners.tree._data import TreeData, offsets
from labelance.learners.tree._problems import Problems

LEAF = -1
_CELLS_PER_BLOCK = 1 << 21  # of X, laid out densely while its rows are predicted: 16 MB
Ties = Literal["first", "last"]


@dataclass(frozen=True, eq=False)
class Forest:
    """Fitted trees t = 0, 1, …, each with its own classes, in flat arrays.

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
    def of(cls, data: TreeData, problems: Problems, blocks: list[PackedTrees]) -> Forest:
        """Concatenate the trees of several blocks of problems."""
        sizes, *arrays = (np.concatenate(parts) for parts in zip(*blocks))
        return cls(data.n_categories, problems.n_classes, offsets(sizes), *arrays)

    def __len__(self) -> int:
        return len(self.n_classes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of every tree."""
        return np.diff(self.node_start)

    @property
    def slot_start(self) -> NDArray[np.int64]:
        """Classes of all trees in one row: tree t has the slots from ``slot_start[t]`` on."""
        return offsets(self.n_classes)

    @property
    def histogram_start(self) -> NDArray[np.int64]:
        """Where the class weights of every tree begin."""
        return offsets(self.sizes * self.n_classes)

    def take(self, first: int, last: int) -> Forest:
        """Return the trees from ``first`` up to ``last``."""
        a, b = self.node_start[first], self.node_start[last]
        c, d = self.histogram_start[first], self.histogram_start[last]
        return replace(
            self,
            n_classes=self.n_classes[first:last],
            node_start=self.node_start[first : last + 1] - a,
            feature=self.feature[a:b],
            threshold=self.threshold[a:b],
            first=self.first[a:b],
            width=self.width[a:b],
            weight=self.weight[a:b],
            histogram=self.histogram[c:d],
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
        return self.aggregate(X, everything, n_jobs=n_jobs)

    def aggregate(
        self,
        X: Any,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Sum the votes of all trees for each row.

        Nothing of the size rows x trees is ever made.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, n_features)
            Clean rows.
        votes : csr_array of shape (slots, q)
            The votes of each class of each tree for q outputs; see :attr:`slot_start`.
        hard : bool, default=False
            Only the most probable class of a tree votes; else all classes do, in proportion
            to their probabilities.
        ties : {"first", "last"}, default="first"
            Which of several most probable classes a hard decision takes.
        n_jobs : int, optional
            Number of threads.

        Returns
        -------
        ndarray of shape (n, q)
        """
        soft = csr_array((0, votes.shape[1])) if hard else csr_array(self._soft() @ votes)
        per_node, per_slot = _sparse(soft), _sparse(votes)
        winner = self._winners(ties) if hard else np.empty(0, dtype=np.int64)
        used = np.unique(self.feature[self.feature != LEAF])
        trees = self._compact(used)
        X = take_columns(X, used)
        out = np.empty((X.shape[0], votes.shape[1]))

        step = _CELLS_PER_BLOCK // max(1, len(used), int(self.sizes.max(initial=0)) // 64)
        step = int(np.clip(step, 64, 4096))
        with loop("Asking trees", len(out), "rows") as progress:

            def sum_block(a: int, b: int) -> None:
                totals = np.zeros((votes.shape[1], b - a))
                block = lay_out(X[a:b], self.n_categories[used])
                sum_votes(block, trees, winner, per_node, per_slot, ties == "last", totals)
                out[a:b] = totals.T
                progress.advance(b - a)

            if 0 < len(out) <= step:  # a pool takes longer to set up than few rows take
                sum_block(0, len(out))
            else:
                Parallel(n_jobs=n_jobs, prefer="threads")(
                    delayed(sum_block)(a, min(a + step, len(out))) for a in range(0, len(out), step)
                )
        return out

    def _compact(self, used: NDArray[np.int32]) -> tuple[NDArray[Any], ...]:
        """Return the trees as compiled code takes them, over the used features only."""
        feature = np.where(self.feature == LEAF, LEAF, np.searchsorted(used, self.feature))
        return (
            self.node_start,
            feature.astype(np.int32),
            self.threshold,
            self.first,
            self.width,
            self.weight,
            self.histogram,
            self.histogram_start,
            self.slot_start,
        )

    def _soft(self) -> csr_array:
        """Return every node's class probabilities, as (nodes, slots)."""
        C = np.repeat(self.n_classes, self.sizes)
        slot = np.repeat(self.slot_start[:-1], self.sizes)
        start = offsets(C)
        within = np.arange(len(self.histogram)) - np.repeat(start[:-1], C)
        total = np.add.reduceat(self.histogram, start[:-1])
        share = self.histogram / np.repeat(total, C)
        columns = np.repeat(slot, C) + within
        return csr_array((share, columns, start), shape=(len(C), int(self.slot_start[-1])))

    def _winners(self, ties: Ties) -> NDArray[np.int64]:
        """Return every node's most probable class."""
        C = np.repeat(self.n_classes, self.sizes)
        start = offsets(C)
        best = np.maximum.reduceat(self.histogram, start[:-1])
        node = np.repeat(np.arange(len(C)), C)
        winners = np.flatnonzero(self.histogram == best[node])
        # The last assignment to a node stays, so going backwards keeps the first winner.
        winners = winners[::-1] if ties == "first" else winners
        winner = np.empty(len(C), dtype=np.int64)
        winner[node[winners]] = winners
        return winner - start[:-1]


def lay_out(rows: Any, n_categories: NDArray[np.int32]) -> RowBlock:
    """Lay out rows column by column, with the rows of each feature that have no value.

    Categories never declared are missing values.
    """
    columns = np.array(to_dense(rows).T, dtype=np.float64, order="C")
    nominal = np.flatnonzero(n_categories)
    codes, counts = columns[nominal], n_categories[nominal, None]
    columns[nominal] = np.where((codes >= 0) & (codes < counts), codes, np.nan)
    two, missing = n_categories == 2, np.isnan(columns)
    ones = np.zeros((len(columns), -(-columns.shape[1] // 64)), dtype=np.uint64)
    ones[two] = as_bits(columns[two] == 1)
    return RowBlock(columns, two.view(np.uint8), ones, as_bits(missing) if missing.any() else None)


def as_bits(sets: NDArray[Any]) -> NDArray[np.uint64]:
    """Return sets of rows, one per line, as bits, 64 to a word."""
    padded = np.zeros((len(sets), -(-sets.shape[1] // 64) * 64), dtype=bool)
    padded[:, : sets.shape[1]] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _sparse(votes: csr_array) -> tuple[NDArray[Any], ...]:
    """Return votes in the types that compiled code takes, whatever SciPy chose."""
    parts = (votes.indptr, np.int64), (votes.indices, np.int64), (votes.data, np.float64)
    return tuple(values.astype(kind, copy=False) for values, kind in parts)


class PackedTrees(NamedTuple):
    """Pruned trees, one after the other; ``first`` counts from the root of its tree."""

    sizes: NDArray[np.int64]  # nodes of each tree
    feature: NDArray[np.int32]  # LEAF at a leaf
    threshold: NDArray[np.float64]  # numeric split: values up to this one go left
    first: NDArray[np.int32]  # first child; the others follow it
    width: NDArray[np.int32]  # number of children
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]  # class weights, node by node
