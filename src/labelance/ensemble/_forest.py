"""Forests of many labels: trees split by at most 64 outputs, and labels by the rows of a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from labelance._arrays._tables import to_columns
from labelance._progress import run_parallel
from labelance._utils._compat import drop_node_values
from labelance._utils._random import draw_seeds
from labelance._validation._arguments import Weights
from labelance.ensemble._encoding import Floats, Table

_MOST_OUTPUTS = 64  # labels that trees split by themselves; more are projected
_PROJECTIONS = 16
_BLOCK = 2000  # rows whose weights are held at a time


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees for all labels together, each grown on a bag of rows.

    Splits are those of the Gini index: for a label of 0 and 1 it is twice the variance, which
    trees for regression reduce. Of more than 64 labels every tree sees 16 random projections of
    its own. A score is a weighted mean of the labels of training rows, where a row's weight is
    its share of the leaves that the new row falls into. So the forest holds its rows' leaves, once,
    and trees hold splits only.

    References
    ----------
    A. Joly, P. Geurts, L. Wehenkel (2014): Random forests with random projections of the output
    space for high dimensional multi-label classification. ECML PKDD.
    Y. Lin, Y. Jeon (2006): Random forests and adaptive nearest neighbors. JASA 101.
    """

    trees: list[DecisionTreeRegressor]
    start: NDArray[np.int64]  # of every tree's nodes among all nodes
    shares: sp.csr_array  # (n_nodes, n_rows): of a row in the weight of its leaf
    Y: Floats
    known: NDArray[np.bool_] | None = None  # None: all cells of Y

    @classmethod
    def fit(
        cls,
        table: Table,
        Y: Floats,
        weight: Weights,
        rng: np.random.Generator,
        *,
        splitter: str,
        n_trees: int,
        n_jobs: int | None = None,
        known: NDArray[np.bool_] | None = None,
    ) -> tuple[Forest, Floats]:
        """Return the forest, and scores of its rows by the trees that left them out.

        A label that is unknown in a row counts, where trees split, as the share of its bag that
        has it; scores are means over rows in which it is known, NaN where the leaves have none.
        """
        rows = _in_single_precision(table)
        to_fit = to_columns(rows)
        spread = _spread(Y, known)
        tasks = (
            delayed(_grow)(rows, to_fit, Y, known, spread, weight, seed, splitter)
            for seed in draw_seeds(rng, n_trees)
        )
        grown = run_parallel(
            Parallel, tasks, n_trees, "Growing trees", "trees", n_jobs=n_jobs, prefer="threads"
        )
        trees, leaves, bags = zip(*grown)
        sizes = [tree.tree_.node_count for tree in trees]
        start = np.concatenate([[0], np.cumsum(sizes)])
        n = len(Y)
        bag = np.column_stack(bags)
        place = np.column_stack(leaves) + start[:-1]
        inside = bag > 0
        numbers = np.broadcast_to(np.arange(n)[:, None], bag.shape)
        cells = bag[inside], (place[inside], numbers[inside])
        shares = sp.csr_array(sp.coo_array(cells, shape=(start[-1], n)))
        total = np.asarray(shares.sum(axis=1)).ravel()
        shares = sp.diags_array(1 / np.where(total > 0, total, 1)) @ shares
        forest = cls(list(trees), start, sp.csr_array(shares), Y, known)
        held_out = forest._mean(place, ~inside)
        held_out[inside.all(axis=1)] = np.nan  # no tree left them out
        return forest, held_out

    def scores(self, table: Table) -> Floats:
        """Return scores in [0, 1]."""
        rows = _in_single_precision(table)
        place = np.column_stack([tree.apply(rows, check_input=False) for tree in self.trees])
        return self._mean(place + self.start[:-1], np.ones(place.shape, dtype=bool))

    def _mean(self, place: NDArray[Any], asked: NDArray[np.bool_]) -> Floats:
        """Return the mean over the trees that are asked about every row; of none, of all."""
        asked = asked | ~asked.any(axis=1, keepdims=True)
        scores = np.empty((len(place), self.Y.shape[1]))
        for begin in range(0, len(place), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            row, tree = np.nonzero(asked[block])
            part = 1 / asked[block].sum(axis=1)
            cells = part[row], (row, place[block][row, tree])
            shape = len(part), self.shares.shape[0]
            near = sp.csr_array(sp.coo_array(cells, shape=shape)) @ self.shares
            scores[block] = near @ self.Y
            if self.known is not None:
                total = near @ self.known.astype(float)
                scores[block] /= np.where(total > 0, total, np.nan)
        return np.clip(scores, 0, 1)


def _in_single_precision(table: Table) -> Any:
    return table.astype(np.float32)


def _spread(Y: Floats, known: Any) -> Floats:
    """Return the standard deviation of every label over the rows in which it is known."""
    if known is None:
        return Y.std(axis=0)
    share = Y.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.sqrt(share * (1 - share))


def _grow(
    rows: Any,
    to_fit: Any,
    Y: Floats,
    known: Any,
    spread: Floats,
    weight: Weights,
    seed: int,
    splitter: str,
) -> tuple[DecisionTreeRegressor, NDArray[np.int64], Floats]:
    """Return a tree, the leaf of every row, and the weight of every row in the tree's bag."""
    rng = np.random.default_rng(seed)
    n, q = Y.shape
    bag = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
    if weight is not None:
        bag *= weight
    if known is not None:
        share = (bag @ Y) / np.maximum(bag @ known, 1e-300)  # Y is 0 where it is unknown
        Y = np.where(known, Y, share)
    if q > _MOST_OUTPUTS:
        # In units of their spread, so that rare labels have a voice in the splits.
        Y = Y @ (rng.normal(size=(q, _PROJECTIONS)) / np.maximum(spread, 1e-12)[:, None])
    tree = DecisionTreeRegressor(
        splitter=splitter, max_features="sqrt", random_state=int(rng.integers(2**31 - 1))
    )
    tree.fit(to_fit, Y, sample_weight=bag, check_input=False)
    drop_node_values(tree)
    return tree, tree.apply(rows, check_input=False), bag
