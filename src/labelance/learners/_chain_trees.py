"""Chains of C4.5 trees, grown side by side: first all first links, then all second ones, …"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from labelance.learners._chain_table import stack_links
from labelance.learners._chain_walk import Links, Walk
from labelance.learners._chains import Chain, ChainFeatures, ChainPlan, Ints, Labels
from labelance.learners._models import Floats, Rows
from labelance.learners._tree_models import TreeModels, TreeTrainer
from labelance.learners.tree import C45Classifier, Forest, Problems, grow_forest

_CELLS_PER_GROUP = 1 << 25  # of the rows and decisions of chains that grow side by side


@dataclass(frozen=True, eq=False, repr=False)
class TreeChains:
    """Chains of trees; link t of chain c is number ``start[c] + t``."""

    forest: Forest
    start: Ints
    tree: Ints  # of every link
    label: Ints  # of every link
    n_features: int  # of X
    n_labels: int
    estimator: C45Classifier
    names: tuple[str, ...] | None  # of the features of X, then of the labels

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, c: int) -> Chain:
        first, last = self.start[c], self.start[c + 1]
        return Chain(self.label[first:last], [self._model(k) for k in range(first, last)])

    def __repr__(self) -> str:
        return f"<{len(self)} chains of {self.estimator}>"

    def _model(self, link: int) -> C45Classifier:
        """Return the tree of a link as a classifier of its own."""
        tree = self.forest.take(self.tree[link], self.tree[link] + 1)
        return TreeModels(tree, self.estimator, self.names)[0]

    def take(self, c: int) -> TreeChains:
        """Return chain c alone."""
        links = slice(self.start[c], self.start[c + 1])
        start = self.start[c : c + 2] - self.start[c]
        return replace(self, start=start, tree=self.tree[links], label=self.label[links])

    def add_up(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Ask all links of all chains in one compiled pass through the rows."""
        links = Links(self.tree, self.label, np.zeros_like(self.tree))
        walk = Walk(self.forest, self.n_features)
        total = np.zeros((rows.clean.shape[0], self.n_labels))
        Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(walk.ask)(
                block,
                links,
                np.empty((stop - start, self.n_labels), dtype=np.int8),
                votes,
                total[start:stop],
            )
            for start, stop, block in walk.blocks(rows.clean)
        )
        return total


def fit_tree_chains(
    trainer: TreeTrainer,
    X: Any,
    Y: sp.csr_array,
    plans: list[ChainPlan],
    *,
    features: ChainFeatures,
    label_names: tuple[str, ...],
    n_jobs: int | None,
) -> TreeChains:
    """Grow the planned chains over one prepared X."""
    groups = _groups(trainer, plans, Y.shape[1], effective_n_jobs(n_jobs))
    grown = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_grow_group)(trainer, X, Labels(Y), [plans[c] for c in group], features)
        for group in groups
    )
    start = np.concatenate([[0], np.cumsum([len(plan.labels) for plan in plans])])
    links = [_links_in_order(start[group], np.diff(start)[group]) for group in groups]
    tree = np.empty(start[-1], dtype=np.int64)
    tree[np.concatenate(links)] = np.arange(start[-1])
    return TreeChains(
        forest=_join([forest for forests in grown for forest in forests]),
        start=start,
        tree=tree,
        label=np.concatenate([plan.labels for plan in plans]),
        n_features=X.shape[1],
        n_labels=Y.shape[1],
        estimator=trainer.estimator,
        names=trainer.names and (*trainer.names, *label_names),
    )


def _groups(trainer: TreeTrainer, plans: list[ChainPlan], q: int, n_jobs: int) -> list[Ints]:
    """Divide the chains into groups that fit into memory, at least one for every thread."""
    cells = len(plans) * (len(trainer.data.cells) + trainer.data.n_rows * q)
    n_groups = min(max(-(-cells // _CELLS_PER_GROUP), n_jobs), len(plans))
    return [np.arange(g, len(plans), n_groups) for g in range(n_groups)]


def _links_in_order(start: Ints, lengths: Ints) -> Ints:
    """Return the numbers of the links of a group in the order in which they are grown."""
    positions = range(int(lengths.max()))
    return np.concatenate([start[lengths > position] + position for position in positions])


def _grow_group(
    trainer: TreeTrainer, X: Any, labels: Labels, plans: list[ChainPlan], features: ChainFeatures
) -> list[Forest]:
    """Grow chains side by side; return a forest for every position, with a tree per chain."""
    lengths = np.array([len(plan.labels) for plan in plans])
    # What the links of each chain hand on to those after them: a column for every label.
    before = np.zeros((X.shape[0], len(plans) * len(labels)), dtype=np.int8)
    forests = []
    for position in range(lengths.max()):
        active = np.flatnonzero(lengths > position)
        label = np.array([plans[c].labels[position] for c in active])
        known = np.column_stack([labels[j] for j in label])
        rows = [plans[c].draw_rows(present) for c, present in zip(active, known.T)]
        base = active * len(labels)
        forest = _grow_links(trainer, rows, known, base, before, len(labels))
        if features == "true":
            before[:, base + label] = known
        elif position + 1 < lengths.max():
            _note_decisions(forest, X, Links(np.arange(len(active)), label, base), before)
        forests.append(forest)
    return forests


def _grow_links(
    trainer: TreeTrainer,
    rows: list[Ints],
    known: NDArray[np.int8],
    base: Ints,
    before: NDArray[np.int8],
    n_labels: int,
) -> Forest:
    """Grow one tree for each list of rows, with their labels in the columns of ``known``."""
    every, sizes = np.concatenate(rows), np.array([len(part) for part in rows])
    link = np.repeat(np.arange(len(rows)), sizes)
    data = stack_links(trainer.data, every, base[link], before, n_labels)
    problems = Problems(
        np.full(len(rows), 2, dtype=np.int32),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.arange(len(every), dtype=np.int32),
        known[every, link].astype(np.int32),
        False,
    )
    return grow_forest(data, problems, trainer.options)


def _note_decisions(forest: Forest, X: Any, links: Links, before: NDArray[np.int8]) -> None:
    """Write down what some links decide about every row."""
    walk = Walk(forest, X.shape[1])
    for start, stop, block in walk.blocks(X):
        walk.ask(block, links, before[start:stop], False, np.empty((stop - start, 0)))


def _join(forests: list[Forest]) -> Forest:
    """Put forests over the same features together."""
    parts = {field.name for field in fields(Forest)} - {"n_categories", "node_start"}
    sizes = np.concatenate([forest.sizes for forest in forests])
    return Forest(
        n_categories=forests[0].n_categories,
        node_start=np.concatenate([[0], np.cumsum(sizes)]),
        **{name: np.concatenate([getattr(f, name) for f in forests]) for name in parts},
    )
