"""Fitted trees: grown ones are pruned and packed into flat arrays, which then predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._containers import to_dense
from labelance._arrays._open import take_columns
from labelance._progress import loop
from labelance._utils._kernel import ZERO, inlined_kernel, inner_kernel, kernel, read_only
from labelance.learners.tree._criterion import EPS, C45Options
from labelance.learners.tree._data import NO_RANK, TreeData, offsets, rank_of
from labelance.learners.tree._nodes import (
    CUT,
    FEATURE,
    FIRST,
    LEAF,
    WIDTH,
    Entries,
    UnprunedTree,
    UnprunedTrees,
)
from labelance.learners.tree._problems import Problems, load_problem
from labelance.learners.tree._pruning import PruningBuffers, collapse, new_pruning_buffers, prune
from labelance.learners.tree._voting import (
    ForestArrays,
    RowBlock,
    SparseVotes,
    Voting,
    sum_votes,
)

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
        sizes = np.concatenate([packed.sizes for packed in blocks])
        parts, at = [], 0
        for packed in blocks:
            nodes = int(packed.sizes.sum())
            cells = int(packed.sizes @ problems.n_classes[at : at + len(packed.sizes)])
            parts.append([*(a[:nodes] for a in packed[1:-1]), packed.histogram[:cells]])
            at += len(packed.sizes)
        return cls(
            data.n_categories,
            problems.n_classes,
            offsets(sizes),
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
        return offsets(self.n_classes)

    @property
    def histogram_start(self) -> NDArray[np.int64]:
        """Where the class weights of every tree begin."""
        return offsets(self.sizes * self.n_classes)

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
        per_node = csr_array((0, votes.shape[1])) if hard else csr_array(self._soft() @ votes)
        winner = self._winners(ties) if hard else np.empty(0, dtype=np.int64)
        used = np.unique(self.feature[self.feature != LEAF])
        trees = self._compact(used)
        voting = Voting(winner, _sparse(per_node), _sparse(votes), ties == "last")
        X = take_columns(X, used)
        out = np.empty((X.shape[0], votes.shape[1]))

        step = _CELLS_PER_BLOCK // max(1, len(used), int(self.sizes.max(initial=0)) // 64)
        step = int(np.clip(step, 64, 4096))
        with loop("Asking trees", len(out), "rows") as progress:

            def sum_block(a: int, b: int) -> None:
                totals, words = np.zeros((votes.shape[1], b - a)), (b - a + 63) >> 6
                members = np.empty(words * int(self.sizes.max(initial=0)), np.uint64)
                voters = np.zeros(words * int(self.n_classes.max(initial=0)), np.uint64)
                block, missing = lay_out(X[a:b], self.n_categories[used])
                sum_votes(block, missing, trees, voting, members, voters, totals)
                out[a:b] = totals.T
                progress.advance(b - a)

            if 0 < len(out) <= step:  # a pool takes longer to set up than few rows take
                sum_block(0, len(out))
            else:
                Parallel(n_jobs=n_jobs, prefer="threads")(
                    delayed(sum_block)(a, min(a + step, len(out))) for a in range(0, len(out), step)
                )
        return out

    def _compact(self, used: NDArray[np.int32]) -> ForestArrays:
        """Return the trees as compiled code takes them, over the used features only."""
        feature = np.where(self.feature == LEAF, LEAF, np.searchsorted(used, self.feature))
        parts = (
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
        return ForestArrays(*map(read_only, parts))

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


def lay_out(
    rows: Any, n_categories: NDArray[np.int32]
) -> tuple[RowBlock, NDArray[np.uint64] | None]:
    """Lay out rows column by column; return the rows of each feature without a value, too.

    Categories never declared are missing values. None says that no value is missing.
    """
    columns = np.array(to_dense(rows).T, dtype=np.float64, order="C")
    nominal = np.flatnonzero(n_categories)
    codes, counts = columns[nominal], n_categories[nominal, None]
    columns[nominal] = np.where((codes >= 0) & (codes < counts), codes, np.nan)
    two, missing = n_categories == 2, np.isnan(columns)
    ones = np.zeros((len(columns), -(-columns.shape[1] // 64)), dtype=np.uint64)
    ones[two] = as_bits(columns[two] == 1)
    return RowBlock(columns, two, ones), as_bits(missing) if missing.any() else None


def as_bits(sets: NDArray[Any]) -> NDArray[np.uint64]:
    """Return sets of rows, one per line, as bits, 64 to a word."""
    padded = np.zeros((len(sets), -(-sets.shape[1] // 64) * 64), dtype=bool)
    padded[:, : sets.shape[1]] = sets
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _sparse(votes: csr_array) -> SparseVotes:
    """Return votes in the types that the kernel is compiled for, whatever SciPy chose."""
    parts = (votes.indptr, np.int64), (votes.indices, np.int64), (votes.data, np.float64)
    return SparseVotes(*(read_only(values.astype(kind, copy=False)) for values, kind in parts))


class PackedTrees(NamedTuple):
    """Pruned trees, one after the other; ``first`` counts from the root of its tree."""

    sizes: NDArray[np.int64]  # nodes of each tree
    feature: NDArray[np.int32]  # LEAF at a leaf
    threshold: NDArray[np.float64]  # numeric split: values up to this one go left
    first: NDArray[np.int32]  # first child; the others follow it
    width: NDArray[np.int32]  # number of children
    weight: NDArray[np.float64]
    histogram: NDArray[np.float64]  # class weights, node by node


def prune_trees(
    data: TreeData,
    problems: Problems,
    trees: UnprunedTrees,
    missing: bool | None,
    options: C45Options,
) -> PackedTrees:
    """Collapse and prune grown trees, and pack what is left of them; see :func:`prune_and_pack`."""
    most = int(trees.node_start[-1])
    packed = PackedTrees(
        np.zeros(len(problems), np.int64),
        np.empty(most, np.int32),
        np.empty(most),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most),
        np.empty(int(trees.histogram_start[-1])),
    )
    buffers = new_pruning_buffers(
        int(problems.sizes(data.n_rows).max()),
        int(np.diff(trees.node_start).max()),
        int(problems.n_classes.max()),
    )
    prune_and_pack(data, problems, trees, missing, options, packed, buffers)
    return packed


@kernel
def prune_and_pack(
    data: TreeData,
    problems: Problems,
    trees: UnprunedTrees,
    missing: bool | None,
    options: C45Options,
    packed: PackedTrees,
    buffers: PruningBuffers,
) -> None:
    """Collapse and prune grown trees, and pack what is left of them.

    None for ``missing`` says that no value is missing; see :func:`grow_sorted`.
    """
    base, cells = ZERO, ZERO
    for p in range(len(problems.n_classes)):
        problem = load_problem(problems, p, data.n_rows, buffers.rows, buffers.y)
        nodes = trees.nodes[trees.node_start[p] : trees.node_start[p + 1]]
        tree = UnprunedTree(nodes, trees.histogram[trees.histogram_start[p] :], problem)
        if options.collapse:
            collapse(nodes, tree.histogram, problem.n_classes, buffers.alone, buffers.estimate)
        if options.prune and nodes[0, FEATURE] != LEAF:
            start, stop = trees.entry_start[p], trees.entry_start[p + 1]
            entries = Entries(trees.row[start:stop], trees.weight[start:stop], stop - start)
            prune(data, tree, entries, missing, options, buffers)
        size = _pack(data, tree, problems.all_rows, packed, base, cells, buffers.stack)
        packed.sizes[p] = size
        base += size
        cells += size * problem.n_classes


@inlined_kernel
def _pack(
    data: TreeData,
    tree: UnprunedTree,
    all_rows: bool,
    packed: PackedTrees,
    base: int,
    cells: int,
    queue: NDArray,
) -> int:
    """Copy the nodes that are still in reach, breadth first; return their number."""
    nodes, rows, C, size = tree.nodes, tree.problem.rows, tree.problem.n_classes, 1
    _, feature, threshold, first, width, weights, histogram = packed
    queue[0] = 0
    i = 0
    while i < size:
        v, to, total = queue[i], base + i, 0.0
        f = nodes[v, FEATURE]
        for c in range(C):
            histogram[cells + i * C + c] = tree.histogram[v * C + c]
            total += tree.histogram[v * C + c]
        weights[to] = total if total >= EPS else 0.0
        feature[to], threshold[to], first[to], width[to] = f, np.nan, 0, 0
        if f != LEAF:
            first[to], width[to] = size, nodes[v, WIDTH]
            if data.n_categories[f] == 0:
                threshold[to] = _threshold(data, rows, all_rows, f, nodes[v, CUT])
            elif nodes[v, WIDTH] == 2:
                threshold[to] = 0.5
            for b in range(nodes[v, WIDTH]):
                queue[size] = nodes[v, FIRST] + b
                size += 1
        i += 1
    for i in range(size):
        # A leaf that no row reached has the class weights of its parent, to predict with.
        for child in range(first[base + i], first[base + i] + width[base + i]):
            if weights[base + child] == 0.0:
                for c in range(C):
                    histogram[cells + child * C + c] = histogram[cells + i * C + c]
    return size


@inner_kernel
def _threshold(data: TreeData, rows: NDArray, all_rows: bool, feature: int, cut: int) -> float:
    """Return the largest value of the tree's training rows that goes left."""
    last = cut
    if not all_rows:
        last = np.int64(NO_RANK)
        for i in range(len(rows)):
            rank = np.int64(rank_of(
                data.row_start, data.row_feature, data.row_rank, data.stored, data.words,
                data.implicit, rows[i], feature,
            ))  # fmt: skip
            if last < rank <= cut:
                last = rank
                if rank == cut:  # mostly soon: words that are not in a row all have one rank
                    break
    return data.levels[data.level_start[feature] + last]
