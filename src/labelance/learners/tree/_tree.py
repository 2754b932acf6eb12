"""Fitted trees in flat arrays: what they predict, and what can be read off a single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from scipy.special import xlogy

from labelance._arrays._containers import to_dense
from labelance._arrays._open import take_columns
from labelance._progress import loop
from labelance.learners.tree._asking import RowBlock, sum_votes
from labelance.learners.tree._data import offsets

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
    def join(cls, forests: Sequence[Forest]) -> Forest:
        """Put forests over the same features together."""
        parts = {field.name for field in fields(cls)} - {"n_categories", "node_start"}
        return cls(
            n_categories=forests[0].n_categories,
            node_start=offsets(np.concatenate([forest.sizes for forest in forests])),
            **{name: np.concatenate([getattr(f, name) for f in forests]) for name in parts},
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
        return self.aggregate(X, eye_array(self.slot_start[-1], format="csr"), n_jobs=n_jobs)

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
        classes = self.histogram, self.histogram_start, self.slot_start
        trees = (*self.compact_nodes(used), *classes)
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

    def compact_nodes(self, used: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Return the nodes as compiled code takes them, over the used features only."""
        feature = np.where(self.feature == LEAF, LEAF, np.searchsorted(used, self.feature))
        feature = feature.astype(np.int32)
        return self.node_start, feature, self.threshold, self.first, self.width, self.weight

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


# What can be read off a forest of one tree.


def tree_depth(tree: Forest) -> int:
    """Return the number of splits on the longest way from the root to a leaf."""
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for v in np.flatnonzero(tree.feature != LEAF):  # parents come before their children
        depth[tree.first[v] : tree.first[v] + tree.width[v]] = depth[v] + 1
    return int(depth.max())


def feature_importances(tree: Forest) -> NDArray[np.float64]:
    """Return each feature's share of the entropy that the tree's splits take away."""
    C = int(tree.n_classes[0])
    shares = tree.histogram.reshape(-1, C)
    shares = shares / shares.sum(axis=1, keepdims=True)
    entropy = -tree.weight * xlogy(shares, shares).sum(axis=1)
    inner = np.flatnonzero(tree.feature != LEAF)
    total = np.zeros(len(tree.n_categories))
    if len(inner):
        # Breadth first, the children of all inner nodes follow one another after the root.
        taken = entropy[inner] - np.add.reduceat(entropy, tree.first[inner])
        np.add.at(total, tree.feature[inner], taken)
    return total / total.sum() if total.sum() > 0 else total


def apply_tree(tree: Forest, X: Any) -> NDArray[np.int64]:
    """Return the leaf that each row reaches; missing values take the heaviest branch."""
    at = np.zeros(X.shape[0], dtype=np.int64)
    heaviest = np.zeros(len(tree.feature), dtype=np.int64)
    for split in np.flatnonzero(tree.feature != LEAF):
        first = tree.first[split]
        heaviest[split] = np.argmax(tree.weight[first : first + tree.width[split]])
    while True:
        rows = np.flatnonzero(tree.feature[at] != LEAF)
        if len(rows) == 0:
            return at
        v = at[rows]
        f = tree.feature[v]
        x = np.asarray(X[rows, f], dtype=np.float64).ravel()
        k = tree.n_categories[f]
        missing = np.isnan(x) | ((k > 0) & ((x < 0) | (x >= k)))
        code = np.where(tree.width[v] == 2, x > tree.threshold[v], np.where(missing, 0, x))
        at[rows] = tree.first[v] + np.where(missing, heaviest[v], code).astype(np.int64)


def tree_text(
    tree: Forest,
    features: Sequence[str],
    classes: Sequence[str],
    words: Mapping[int, Sequence[str]],
    decimals: int,
) -> str:
    """Return the tree as text; a leaf shows its class and (weight/weight of other classes).

    ``words`` are the categories of nominal features; those that are not in it show their codes.
    """

    def number(value: float) -> str:
        text = f"{value:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text

    def outcome(v: int) -> str:
        weights = tree.histogram.reshape(-1, len(classes))[v]
        best, total = int(np.argmax(weights)), float(tree.weight[v])
        wrong = number(total - float(weights[best]) if total else 0.0)
        others = "" if wrong == "0" else f"/{wrong}"
        return f": {classes[best]} ({number(total)}{others})"

    def condition(v: int, branch: int) -> str:
        f = int(tree.feature[v])
        name = features[f]
        if tree.n_categories[f]:
            return f"{name} = {words[f][branch] if f in words else branch}"
        return f"{name} {'>' if branch else '<='} {tree.threshold[v]:.{decimals + 4}g}"

    def lines(v: int, indent: str) -> list[str]:
        written = []
        for branch, child in enumerate(range(tree.first[v], tree.first[v] + tree.width[v])):
            end = outcome(child) if tree.feature[child] == LEAF else ""
            written.append(indent + condition(v, branch) + end)
            written += lines(child, indent + "|   ")
        return written

    return "\n".join(lines(0, "")) or outcome(0)
