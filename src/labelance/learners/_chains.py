"""Chains of classifiers: each link learns one label from X and the labels before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._cells import join_columns
from labelance._progress import Progress, loop, run_parallel
from labelance._validation._arguments import take_weights
from labelance._validation._data import Data
from labelance.learners._base import (
    CloneTrainer,
    Floats,
    Rows,
    Trainer,
    TreeModels,
    TreeTrainer,
    class_shares,
)
from labelance.learners.tree import C45Classifier, Forest, TreeData, subset_problems
from labelance.learners.tree._asking import RowBlock, predict_links, stack_columns, stack_rows
from labelance.learners.tree._classes import grow_forest
from labelance.learners.tree._data import list_problems, offsets
from labelance.learners.tree._tree import as_bits, lay_out

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
ChainFeatures = Literal["true", "predicted"]
UNKNOWN = np.int8(-1)  # in a column of labels


class Chain(NamedTuple):
    """A fitted chain: labels in the order of its links, and the classifier of each link.

    The classifier of a link takes the features of X and after them the labels before its own,
    in the order of y. A tree of C4.5 takes all labels, but asks only for those.
    """

    labels: Ints
    estimators: list[Any]


@dataclass(frozen=True, eq=False)
class ChainPlan:
    """What a chain will learn: labels in order, from a bag of rows.

    Attributes
    ----------
    labels : ndarray
        Labels in the order of the links.
    bag : ndarray
        Rows, some of them more than once if it is a bootstrap.
    rng : Generator
        Of this chain alone, for what is drawn link by link.
    balanced : bool
        Let every link learn from as many rows with its label as without it.
    """

    labels: Ints
    bag: Ints
    rng: np.random.Generator
    balanced: bool

    def draw_rows(self, present: NDArray[np.int8]) -> Ints:
        """Return the rows that the next link learns from, given its label in all rows.

        Those are rows of the bag in which the label is known. Where the bag has none, they are all
        such rows, so that the chain does not vote against what it never saw.
        """
        known = present != UNKNOWN
        bag = self.bag[known[self.bag]]
        if not len(bag):
            bag = np.flatnonzero(known) if known.any() else self.bag
        if not self.balanced:
            return bag
        with_label = present[bag] == 1
        few, many = bag[with_label], bag[~with_label]
        if len(few) > len(many):
            few, many = many, few
        if len(few) == 0:
            return many[:1]  # there is nothing to tell apart, and one row tells that
        return np.concatenate([few, self.rng.choice(many, len(few), replace=False)])


class LabelColumns:
    """Y by columns, written out one at a time: 0, 1 or ``UNKNOWN``."""

    def __init__(self, Y: sp.csr_array, unknown: sp.csr_array | None = None) -> None:
        self.has_unknown = unknown is not None
        # The entry of an unknown cell is UNKNOWN, of others 1; Y has no entry there.
        self._columns = sp.csc_array(Y if unknown is None else Y + UNKNOWN * unknown)

    def __len__(self) -> int:
        return self._columns.shape[1]

    def __getitem__(self, j: int) -> NDArray[np.int8]:
        present = np.zeros(self._columns.shape[0], dtype=np.int8)
        start, stop = self._columns.indptr[j], self._columns.indptr[j + 1]
        present[self._columns.indices[start:stop]] = self._columns.data[start:stop]
        return present


def count_chains(label_lists: Sequence[Ints], q: int) -> Ints:
    """Return in how many chains every label is."""
    return np.bincount(np.concatenate(label_lists), minlength=q)


# ---- clones


@dataclass(frozen=True, eq=False, repr=False)
class CloneChains:
    """Fitted clones, link by link."""

    chains: list[Chain]
    n_labels: int

    def __len__(self) -> int:
        return len(self.chains)

    def __getitem__(self, c: int) -> Chain:
        return self.chains[c]

    def __repr__(self) -> str:
        return f"<{len(self)} chains>"

    def take(self, c: int) -> CloneChains:
        """Return chain c alone."""
        return CloneChains([self.chains[c]], self.n_labels)

    def aggregate(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Return the sum of the scores of all chains for every row and label.

        A chain gives the probability of the label, or with ``votes`` its 0/1 decision. Links
        get the decisions of the links before them. Chains are asked in parallel, and added up in
        order, whatever ``n_jobs`` is.
        """
        scores = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_chain_scores)(chain, rows.clean, votes, self.n_labels) for chain in self.chains
        )
        total = np.zeros((rows.clean.shape[0], self.n_labels))
        with loop("Asking chains", len(self), "chains") as progress:
            for part in scores:
                total += part
                progress.advance()
        return total


def fit_clone_chains(
    trainer: CloneTrainer,
    labels: LabelColumns,
    plans: list[ChainPlan],
    *,
    features: ChainFeatures,
    n_jobs: int | None,
) -> CloneChains:
    """Fit the planned chains, several at a time.

    Classifiers of others get X as numbers too, for the labels have to be appended to it.
    """
    tasks = (delayed(_fit_chain)(trainer, labels, plan, features) for plan in plans)
    chains = run_parallel(Parallel, tasks, len(plans), "Fitting chains", "chains", n_jobs=n_jobs)
    return CloneChains(chains, len(labels))


def _fit_chain(
    trainer: CloneTrainer, labels: LabelColumns, plan: ChainPlan, features: ChainFeatures
) -> Chain:
    X, models = trainer.rows.clean, []
    before = np.empty((X.shape[0], len(labels)), dtype=np.int8)
    for t, label in enumerate(plan.labels):
        present, wide = labels[label], _append(X, before, plan.labels[:t])
        rows = plan.draw_rows(present)
        estimator = _declare(trainer.estimator, X.shape[1], t)
        own = None if trainer.label_weight is None else trainer.label_weight.take(label)
        of_link = CloneTrainer(estimator, Rows(wide, wide), True, trainer.weight, own)
        targets = np.maximum(present[rows], 0)
        link = of_link.fit(subset_problems([rows], [targets], 2), rng=plan.rng)
        if features == "predicted" or labels.has_unknown:
            before[:, label] = _decide(class_shares(link[0], wide, 2))
        if features == "true":
            before[:, label] = np.where(present == UNKNOWN, before[:, label], present)
        models.append(link[0])
    return Chain(plan.labels, models)


def _chain_scores(chain: Chain, X: Any, votes: bool, n_labels: int) -> Floats:
    before = np.empty((X.shape[0], n_labels), dtype=np.int8)
    scores = np.zeros(before.shape)
    for t, (label, model) in enumerate(zip(*chain)):
        shares = class_shares(model, _append(X, before, chain.labels[:t]), 2)
        before[:, label] = _decide(shares)
        scores[:, label] = before[:, label] if votes else shares[:, 1]
    return scores


def _decide(shares: Floats) -> NDArray[np.bool_]:
    """Decide for presence where it is at least as probable as absence."""
    return shares[:, 1] >= shares[:, 0]


def _append(X: Any, decided: NDArray[np.int8], labels: Ints) -> Any:
    """Return X with what is decided about some labels as further columns, in their order."""
    return join_columns([X, decided[:, np.sort(labels)].astype(X.dtype)])


def _declare(estimator: Any, d: int, t: int) -> Any:
    """Tell C4.5 that the t columns after the d of X are categorical."""
    if not isinstance(estimator, C45Classifier):
        return estimator
    known = estimator.get_params()
    columns = np.append(known["categorical_features"], np.arange(d, d + t)).astype(int)
    counts = np.append(known["n_categories"], np.full(t, 2)).astype(int)
    return clone(estimator).set_params(categorical_features=columns, n_categories=counts)


# ---- trees of C4.5

_NOT_SUMMED = np.empty((0, 0))
_CELLS_PER_GROUP = 1 << 25  # of the rows and decisions of chains that grow side by side
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
        features = np.append(self.used, np.arange(n_features, len(forest.n_categories)))
        weights = forest.histogram.reshape(-1, 2)
        self.nodes = *forest.compact_nodes(features), weights[:, 1] / weights.sum(axis=1)

    def blocks(self, X: Any) -> Iterator[LaidOut]:
        """Yield the used features of blocks of rows."""
        step = _CELLS_PER_BLOCK // max(1, len(self.used)) & ~63
        step = int(np.clip(step, 64, _ROWS_PER_BLOCK))
        return _lay_out_blocks(X[:, self.used], self.n_categories, step)


def stack_links(
    data: TreeData, rows: NDArray, start: NDArray, base: NDArray, before: Bits, n_labels: int
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
    column_start = offsets(np.bincount(row_feature[:-1], minlength=d))
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

    def aggregate(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Do what :meth:`CloneChains.aggregate` does in one compiled pass through the rows."""
        links = Links(self.tree, self.label, np.zeros_like(self.tree))
        predictor = LinkPredictor(self.forest, self.n_features)
        total = np.empty((rows.clean.shape[0], self.n_labels))
        decisions = _no_decisions(*total.shape)
        with loop("Asking chains", len(total), "rows") as progress:

            def sum_block(first: int, block: RowBlock) -> None:
                sums = np.zeros((self.n_labels, block.n_rows))
                predict_links(block, predictor.nodes, links, decisions, first >> 6, votes, sums)
                total[first : first + block.n_rows] = sums.T
                progress.advance(block.n_rows)

            Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(sum_block)(*block) for block in predictor.blocks(rows.clean)
            )
        return total


def fit_tree_chains(
    trainer: TreeTrainer,
    X: Any,
    labels: LabelColumns,
    plans: list[ChainPlan],
    *,
    features: ChainFeatures,
    label_names: tuple[str, ...],
    n_jobs: int | None,
) -> TreeChains:
    """Grow the planned chains over one prepared X."""
    groups = _groups(trainer, plans, len(labels), effective_n_jobs(n_jobs))
    # The links of every position are asked about the same rows.
    asks = features == "predicted" or labels.has_unknown
    laid_out = lay_out_once(X, trainer.data.n_categories) if asks else None
    start = offsets(np.array([len(plan.labels) for plan in plans]))
    with loop("Growing chains", int(start[-1]), "links") as progress:
        grown = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_grow_group)(
                trainer, X, laid_out, labels, [plans[c] for c in group], features, progress
            )
            for group in groups
        )
    links = [_links_in_order(start[group], np.diff(start)[group]) for group in groups]
    tree = np.empty(start[-1], dtype=np.int64)
    tree[np.concatenate(links)] = np.arange(start[-1])
    return TreeChains(
        forest=Forest.join([forest for forests in grown for forest in forests]),
        start=start,
        tree=tree,
        label=np.concatenate([plan.labels for plan in plans]),
        n_features=X.shape[1],
        n_labels=len(labels),
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
    trainer: TreeTrainer,
    X: Any,
    laid_out: list[LaidOut] | None,
    labels: LabelColumns,
    plans: list[ChainPlan],
    features: ChainFeatures,
    progress: Progress,
) -> list[Forest]:
    """Grow chains side by side; return a forest for every position, with a tree per chain."""
    lengths = np.array([len(plan.labels) for plan in plans])
    # What the links of each chain hand on to those after them: a line of bits for every label.
    before = _no_decisions(X.shape[0], len(plans) * len(labels))
    forests = []
    for position in range(lengths.max()):
        active = np.flatnonzero(lengths > position)
        label = np.array([plans[c].labels[position] for c in active])
        cells = np.column_stack([labels[j] for j in label])
        rows = [plans[c].draw_rows(present) for c, present in zip(active, cells.T)]
        base = active * len(labels)
        forest = _grow_links(trainer, rows, np.maximum(cells, 0), base, before, len(labels))
        if position + 1 < lengths.max() and (features == "predicted" or labels.has_unknown):
            links = Links(np.arange(len(active)), label, base)
            predictor = LinkPredictor(forest, X.shape[1], all_features=laid_out is not None)
            for first, block in predictor.blocks(X) if laid_out is None else laid_out:
                nodes = predictor.nodes
                predict_links(block, nodes, links, before, first >> 6, False, _NOT_SUMMED)
        if features == "true":
            decided = before[base + label] & as_bits(cells.T == UNKNOWN)
            before[base + label] = decided | as_bits(cells.T == 1)
        forests.append(forest)
        progress.advance(len(active))
    return forests


def _grow_links(
    trainer: TreeTrainer,
    rows: list[Ints],
    present: NDArray[np.int8],
    base: Ints,
    before: Bits,
    n_labels: int,
) -> Forest:
    """Grow one tree for each list of rows, with their labels in the columns of ``present``."""
    every = np.concatenate(rows)
    link = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    two = np.full(len(rows), 2)
    problems = list_problems(link, np.arange(len(every)), present[every, link], two)
    data = stack_links(trainer.data, every, problems.start, base, before, n_labels)
    weight = take_weights(trainer.weight, every)
    return grow_forest(data, problems, trainer.options, weight=weight)


def _no_decisions(n: int, n_lines: int) -> Bits:
    """Return lines of bits, one for each of ``n`` rows, none of them set."""
    return np.zeros((n_lines, (n + 63) >> 6), dtype=np.uint64)


# ---- both

Chains = CloneChains | TreeChains


def fit_chains(
    trainer: Trainer,
    data: Data,
    plans: list[ChainPlan],
    features: ChainFeatures,
    label_names: tuple[Any, ...] | None,
    n_jobs: int | None,
) -> Chains:
    """Fit the planned chains.

    Parameters
    ----------
    trainer : Trainer
        Of the rows of X.
    data : Data
        Clean rows and labels. A link learns from rows in which its label is known.
    plans : list of ChainPlan
        What the chains learn.
    features : {"true", "predicted"}
        What links learn from after X: the labels before theirs as they are, or as the links
        before decide. An unknown label is always as its link decides.
    label_names : tuple or None
        Names of the labels, for trees to print.
    n_jobs : int or None
        Chains fitted at a time; the result does not depend on it.
    """
    labels = LabelColumns(data.Y, data.unknown)
    if isinstance(trainer, CloneTrainer):
        return fit_clone_chains(trainer, labels, plans, features=features, n_jobs=n_jobs)
    names = tuple(map(str, label_names or (f"y{j}" for j in range(len(labels)))))
    return fit_tree_chains(
        trainer, data.X, labels, plans, features=features, label_names=names, n_jobs=n_jobs
    )
