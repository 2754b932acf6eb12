"""Chains of classifiers: each link learns one label from X and the labels before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Protocol

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
from labelance.learners._links import (
    LaidOut,
    LinkPredictor,
    Links,
    lay_out_once,
    no_decisions,
    stack_links,
)
from labelance.learners._reduction import (
    CloneModels,
    CloneTrainer,
    Floats,
    Rows,
    Trainer,
    TreeModels,
    TreeTrainer,
)
from labelance.learners.tree import C45Classifier, Forest, Problems, subset_problems
from labelance.learners.tree._classes import grow_forest
from labelance.learners.tree._data import offsets
from labelance.learners.tree._tree import as_bits

Ints = NDArray[np.int64]
ChainFeatures = Literal["true", "predicted"]
UNKNOWN = np.int8(-1)  # in a column of labels


class Chain(NamedTuple):
    """A fitted chain: labels in the order of its links, and the classifier of each link.

    The classifier of a link takes the features of X and after them the labels before its own,
    in the order of y. A tree of C4.5 takes all labels, but asks only for those.
    """

    labels: Ints
    estimators: list[Any]


class Chains(Protocol):
    """Fitted chains, whatever their classifiers are."""

    def __len__(self) -> int: ...

    def __getitem__(self, c: int) -> Chain: ...

    def take(self, c: int) -> Chains:
        """Return chain c alone."""

    def aggregate(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Return the sum of the scores of all chains for every row and label.

        A chain gives the probability of the label, or with ``votes`` its 0/1 decision. Links
        get the decisions of the links before them.
        """


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


_BOTH_CLASSES = sp.csr_array(np.eye(2))


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
        """Ask the chains in parallel, and add up in order, whatever ``n_jobs`` is."""
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
    chains = run_parallel(
        Parallel,
        (delayed(_fit_chain)(trainer, labels, plan, features) for plan in plans),
        len(plans),
        "Fitting chains",
        "chains",
        n_jobs=n_jobs,
    )
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
            before[:, label] = _decide(_class_probabilities(link[0], wide))
        if features == "true":
            before[:, label] = np.where(present == UNKNOWN, before[:, label], present)
        models.append(link[0])
    return Chain(plan.labels, models)


def _chain_scores(chain: Chain, X: Any, votes: bool, n_labels: int) -> Floats:
    before = np.empty((X.shape[0], n_labels), dtype=np.int8)
    scores = np.zeros(before.shape)
    for t, (label, model) in enumerate(zip(*chain)):
        shares = _class_probabilities(model, _append(X, before, chain.labels[:t]))
        before[:, label] = _decide(shares)
        scores[:, label] = before[:, label] if votes else shares[:, 1]
    return scores


def _class_probabilities(model: Any, X: Any) -> Floats:
    """Return the probabilities of absence and presence."""
    alone = CloneModels([model], np.array([2], dtype=np.int32), clean=True)
    return alone.aggregate(Rows(X, X), _BOTH_CLASSES)


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


_NOT_SUMMED = np.empty((0, 0))
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

    def aggregate(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Ask all links of all chains in one compiled pass through the rows."""
        links = Links(self.tree, self.label, np.zeros_like(self.tree))
        predictor = LinkPredictor(self.forest, self.n_features)
        total = np.empty((rows.clean.shape[0], self.n_labels))
        decisions = no_decisions(*total.shape)
        with loop("Asking chains", len(total), "rows") as progress:

            def sum_block(block: LaidOut) -> None:
                n_rows = block.rows.n_rows
                sums = np.zeros((self.n_labels, n_rows))
                predictor.predict(block, links, decisions, votes, sums)
                total[block.first_row : block.first_row + n_rows] = sums.T
                progress.advance(n_rows)

            Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(sum_block)(block) for block in predictor.blocks(rows.clean)
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
    start = np.concatenate([[0], np.cumsum([len(plan.labels) for plan in plans])])
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
        forest=_join([forest for forests in grown for forest in forests]),
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
    before = no_decisions(X.shape[0], len(plans) * len(labels))
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
            _note_decisions(forest, X, laid_out, links, before)
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
    before: NDArray[np.uint64],
    n_labels: int,
) -> Forest:
    """Grow one tree for each list of rows, with their labels in the columns of ``present``."""
    every, sizes = np.concatenate(rows), np.array([len(part) for part in rows])
    start, link = offsets(sizes), np.repeat(np.arange(len(rows)), sizes)
    data = stack_links(trainer.data, every, start, base, before, n_labels)
    problems = Problems(
        np.full(len(rows), 2, dtype=np.int32),
        start,
        np.arange(len(every), dtype=np.int32),
        present[every, link].astype(np.int32),
        False,
    )
    weight = take_weights(trainer.weight, every)
    return grow_forest(data, problems, trainer.options, weight=weight)


def _note_decisions(
    forest: Forest,
    X: Any,
    laid_out: list[LaidOut] | None,
    links: Links,
    before: NDArray[np.uint64],
) -> None:
    """Write down what some links decide about every row."""
    predictor = LinkPredictor(forest, X.shape[1], all_features=laid_out is not None)
    for block in predictor.blocks(X) if laid_out is None else laid_out:
        predictor.predict(block, links, before, False, _NOT_SUMMED)


def _join(forests: list[Forest]) -> Forest:
    """Put forests over the same features together."""
    parts = {field.name for field in fields(Forest)} - {"n_categories", "node_start"}
    sizes = np.concatenate([forest.sizes for forest in forests])
    return Forest(
        n_categories=forests[0].n_categories,
        node_start=np.concatenate([[0], np.cumsum(sizes)]),
        **{name: np.concatenate([getattr(f, name) for f in forests]) for name in parts},
    )


def fit_chains(
    trainer: Trainer,
    data: Data,
    plans: list[ChainPlan],
    *,
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
    if isinstance(trainer, TreeTrainer):
        names = tuple(map(str, label_names or (f"y{j}" for j in range(len(labels)))))
        return fit_tree_chains(
            trainer, data.X, labels, plans, features=features, label_names=names, n_jobs=n_jobs
        )
    assert isinstance(trainer, CloneTrainer)
    return fit_clone_chains(trainer, labels, plans, features=features, n_jobs=n_jobs)
