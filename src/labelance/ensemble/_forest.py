"""Forests of many labels: trees split by at most 64 outputs, and labels by the rows of a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import gen_batches

from labelance._arrays._cells import to_columns
from labelance._progress import run_parallel
from labelance._utils._compat import drop_node_values
from labelance._utils._random import draw_seeds
from labelance._validation._arguments import Weights
from labelance.ensemble._encoding import Floats, Table, Task

_MOST_OUTPUTS = 64  # labels that trees split by themselves; more are projected
_PROJECTIONS = 16
_BLOCK = 2000  # rows whose weights are held at a time
BAG = 10_000  # rows that a tree draws, of as many or more


@dataclass(frozen=True, eq=False)
class BaggedTrees:
    """Trees for all labels together, each grown on a bag of rows.

    Splits are those of the Gini index: for a label of 0 and 1 it is twice the variance, which
    trees for regression reduce. Of more than 64 labels every tree sees 16 random projections of
    its own. A score is a weighted mean of the labels of training rows, where a row's weight is
    its share of the leaves that the new row falls into. A tree draws at most 10,000 rows, so
    that its cost has a bound; it holds splits only, and the labels of all leaves are one matrix.

    References
    ----------
    A. Joly, P. Geurts, L. Wehenkel (2014): Random forests with random projections of the output
    space for high dimensional multi-label classification. ECML PKDD.
    Y. Lin, Y. Jeon (2006): Random forests and adaptive nearest neighbors. JASA 101.
    """

    trees: list[DecisionTreeRegressor]
    start: NDArray[np.int64]  # of every tree's nodes among all nodes
    present: sp.csr_array  # (n_nodes, n_labels): shares of a leaf's rows that have the label
    known: sp.csr_array | None = None  # those in which it is known; None: all

    @classmethod
    def fit(cls, task: Task, rng: np.random.Generator, splitter: str) -> tuple[BaggedTrees, Floats]:
        """Return the forest, and scores of its rows by the trees that left them out.

        A label that is unknown in a row counts, where trees split, as the share of its bag that
        has it; scores are means over rows in which it is known, NaN where the leaves have none.
        """
        Y, known, n_trees = task.present, task.known, task.n_trees
        of_all = task.table.astype(np.float32), Y, known, _spread(Y, known), task.weight, splitter
        options = {"n_jobs": task.n_jobs, "require": "sharedmem"}
        trees_to_grow = (delayed(_grow)(*of_all, seed) for seed in draw_seeds(rng, n_trees))
        grown = run_parallel(Parallel, trees_to_grow, n_trees, "Growing trees", "trees", **options)
        trees, leaves, bags = zip(*grown)
        sizes = [tree.tree_.node_count for tree in trees]
        start = np.concatenate([[0], np.cumsum(sizes)])
        shares = _leaf_shares(leaves, bags, start)
        present = shares @ sp.csr_array(Y)
        seen = None if known is None else shares @ sp.csr_array(known * 1.0)
        forest = cls(list(trees), start, present, seen)
        inside = np.zeros((len(Y), n_trees), dtype=bool)
        for tree, (drawn, _) in enumerate(bags):
            inside[drawn, tree] = True
        held_out = np.vstack(
            [
                forest._mean(np.column_stack([one[block] for one in leaves]), ~inside[block])
                for block in gen_batches(len(Y), _BLOCK)
            ]
        )
        held_out[inside.all(axis=1)] = np.nan  # no tree left them out
        return forest, held_out

    def scores(self, table: Table) -> Floats:
        """Return scores in [0, 1]."""
        n = table.shape[0]
        scores = np.empty((n, self.present.shape[1]))
        for block in gen_batches(n, _BLOCK):
            rows = table[block].astype(np.float32)
            place = np.column_stack([tree.apply(rows, check_input=False) for tree in self.trees])
            scores[block] = self._mean(place, np.ones(place.shape, dtype=bool))
        return scores

    def _mean(self, place: NDArray[Any], asked: NDArray[np.bool_]) -> Floats:
        """Return the mean over the trees that are asked about every row; of none, of all.

        ``place`` has the node of every row in each tree.
        """
        asked = asked | ~asked.any(axis=1, keepdims=True)
        row, tree = np.nonzero(asked)
        part = 1 / asked.sum(axis=1)
        cells = part[row], (row, place[row, tree] + self.start[tree])
        near = sp.csr_array(sp.coo_array(cells, shape=(len(part), self.present.shape[0])))
        scores = (near @ self.present).toarray()
        if self.known is not None:
            total = (near @ self.known).toarray()
            scores /= np.where(total > 0, total, np.nan)
        return np.clip(scores, 0, 1)


def _leaf_shares(leaves: Any, bags: Any, start: NDArray[np.int64]) -> sp.csr_array:
    """Return the share (n_nodes, n_rows) of every row in the weight of its leaves."""
    drawn = np.concatenate([rows for rows, _ in bags])
    weight = np.concatenate([own for _, own in bags])
    node = np.concatenate(
        [place[rows] + first for place, (rows, _), first in zip(leaves, bags, start)]
    )
    total = np.bincount(node, weight, minlength=start[-1])
    shape = int(start[-1]), len(leaves[0])
    return sp.csr_array(sp.coo_array((weight / total[node], (node, drawn)), shape=shape))


def _spread(Y: Floats, known: Any) -> Floats:
    """Return the standard deviation of every label over the rows in which it is known."""
    if known is None:
        return Y.std(axis=0)
    share = Y.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.sqrt(share * (1 - share))


def _grow(
    rows: Any, Y: Floats, known: Any, spread: Floats, weight: Weights, splitter: str, seed: int
) -> tuple[DecisionTreeRegressor, NDArray[np.int32], tuple[NDArray[np.int64], Floats]]:
    """Return a tree, the leaf of every row, and the rows of the tree's bag with their weights."""
    rng = np.random.default_rng(seed)
    n, q = Y.shape
    bag = np.bincount(rng.integers(n, size=min(n, BAG)), minlength=n).astype(float)
    if weight is not None:
        bag *= weight
    drawn = np.flatnonzero(bag)
    bag, Y = bag[drawn], Y[drawn]
    if known is not None:
        known = known[drawn]
        share = (bag @ Y) / np.maximum(bag @ known, 1e-300)  # Y is 0 where it is unknown
        Y = np.where(known, Y, share)
    if q > _MOST_OUTPUTS:
        # In units of their spread, so that rare labels have a voice in the splits.
        Y = Y @ (rng.normal(size=(q, _PROJECTIONS)) / np.maximum(spread, 1e-12)[:, None])
    tree = DecisionTreeRegressor(
        splitter=splitter, max_features="sqrt", random_state=int(rng.integers(2**31 - 1))
    )
    tree.fit(to_columns(rows[drawn]), Y, sample_weight=bag, check_input=False)
    drop_node_values(tree)
    leaves = [tree.apply(rows[block], check_input=False) for block in gen_batches(n, _BLOCK)]
    return tree, np.concatenate(leaves).astype(np.int32), (drawn, bag)
