"""Label problems become binary or multiclass problems, trained as C4.5 trees or as clones.

The classes of the problems vote for the labels by a sparse matrix of *votes*: class c of problem p
is a row (a *slot*), and votes for outputs, of which there is mostly one per label. The scores of
all learners are sums of such votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._columns import to_rows
from labelance._arrays._open import take_rows
from labelance._arrays._sparse import narrow_indices
from labelance._classifier import weight_options
from labelance._progress import loop, run_parallel
from labelance._utils._random import draw_seeds, set_random_states
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._features import Schema
from labelance._validation._labels import absent_if_never_known
from labelance.exceptions import InputError
from labelance.imbalance._measures import find_labelsets
from labelance.learners._label_weight import LabelWeights
from labelance.learners.tree import (
    C45Classifier,
    Forest,
    Problems,
    TreeData,
    class_problems,
    prepare_data,
)
from labelance.learners.tree._classes import grow_forest, options_of
from labelance.learners.tree._data import categories_of_features, nominal_columns, offsets
from labelance.learners.tree._options import C45Options
from labelance.learners.tree._problems import (
    Problem,
    expand_problem,
    problem_per_known_label,
    problem_per_label,
    problem_per_pair,
)
from labelance.learners.tree._tree import Ties

Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """The same rows twice."""

    clean: Any  # numbers and category codes, for compiled trees
    given: Any  # as the user gave them, for classifiers of others

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        return Rows(self.clean[rows], take_rows(self.given, rows))


class Models(Protocol):
    """One fitted classifier per problem."""

    @property
    def n_classes(self) -> NDArray[np.int32]:
        """Number of classes of every problem."""

    def __len__(self) -> int: ...

    def __getitem__(self, p: int) -> Any:
        """Return the classifier of problem p."""

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Sum the votes of all classifiers for each row; see :meth:`Forest.aggregate`."""


class Trainer(Protocol):
    """Fits classifiers to problems over the rows that it holds."""

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> Models:
        """Fit one classifier per problem; every problem has at least one row.

        ``rng`` gives each of them a seed of its own; without it they keep the estimator's.
        """


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reduction:
    """Problems, and the votes of their classes for the labels.

    Attributes
    ----------
    problems : Problems
        Rows and classes.
    votes : csr_array of shape (slots, outputs)
        One row per class of each problem, in order.
    """

    problems: Problems
    votes: csr_array


def split_labels(Y: csr_array, unknown: csr_array | None = None) -> Reduction:
    """Return one problem per label; its class 1 votes for the label.

    Rows of which a label is ``unknown`` are left out of its problem.
    """
    q = Y.shape[1]
    start = np.repeat(np.arange(q + 1), 2)[:-1]  # class 0 has no vote
    votes = csr_array((np.ones(q), np.arange(q), start), shape=(2 * q, q))
    return Reduction(_problem_per_label(Y, unknown), votes)


def _problem_per_label(Y: csr_array, unknown: csr_array | None) -> Problems:
    unknown = absent_if_never_known(Y, unknown)
    return problem_per_label(Y) if unknown is None else problem_per_known_label(Y, unknown)


def split_against_virtual(Y: csr_array, unknown: csr_array | None = None) -> Reduction:
    """Return one problem per label: label or virtual label? The last output is the virtual one."""
    q = Y.shape[1]
    votes = _one_vote(np.arange(q), np.full(q, q), q + 1)
    return Reduction(_problem_per_label(Y, unknown), votes)


def split_pairs(
    Y: csr_array, first: Ints, second: Ints, unknown: csr_array | None = None
) -> Reduction:
    """Return one problem per pair of labels, on the rows that have exactly one of them.

    Class 1 votes for the first label, class 0 for the second; the last output is the virtual
    label, for which pairs do not vote.
    """
    votes = _one_vote(first, second, Y.shape[1] + 1)
    return Reduction(problem_per_pair(Y, first, second, unknown), votes)


def _one_vote(winner: Ints, loser: Ints, n_outputs: int) -> csr_array:
    """Let class 0 of every problem vote for the loser, class 1 for the winner."""
    output = np.stack([loser, winner], axis=1).ravel()
    slots = len(output)
    return csr_array((np.ones(slots), output, np.arange(slots + 1)), shape=(slots, n_outputs))


def split_powerset(Y: csr_array) -> Reduction:
    """Return one problem whose classes are the labelsets of Y, in the order of bit strings."""
    found = find_labelsets(Y)
    # A labelset comes after another if it has a label earlier, or continues where the other ends.
    labels = np.split(-found.sets.indices, found.sets.indptr[1:-1])
    order = np.array(sorted(range(len(found)), key=lambda i: tuple(labels[i])))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    problem = class_problems(place[found.membership][:, None], len(order))
    return Reduction(problem, found.sets[order].astype(np.float64))


def split_labelsets(
    Y: csr_array, subsets: ArrayLike, unknown: csr_array | None = None
) -> Reduction:
    """Return one problem per subset of k labels; its classes are the labelsets within it.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    subsets : array-like of shape (n_problems, k)
        Labels of every subset, ascending.
    unknown : csr_array of shape (n, q) or None
        Cells that are not known; rows with such a label have no class in a subset.
    """
    subsets = np.asarray(subsets)
    n, (n_problems, k) = Y.shape[0], subsets.shape
    _check_no_long_codes(n_problems, k)
    bits = np.left_shift(1, np.arange(k - 1, -1, -1), dtype=np.int64)  # the first label leads
    codes = _codes(Y, subsets, bits)
    if unknown is not None:
        complete = _codes(unknown, subsets, bits).toarray().T == 0
        return _split_complete(codes.toarray().T, complete, subsets, bits, Y.shape[1])
    sizes = np.diff(codes.indptr)
    problem = np.repeat(np.arange(n_problems), sizes)
    keys = problem << k | codes.data
    # The empty labelset has the code 0, which is not stored.
    known = np.unique(np.concatenate([keys, np.flatnonzero(sizes < n) << k]))
    n_classes = np.bincount(known >> k, minlength=n_problems)
    classes = np.searchsorted(known, keys) - offsets(n_classes)[problem]
    listed = classes > 0
    problems = Problems(
        n_classes.astype(np.int32),
        offsets(np.bincount(problem[listed], minlength=n_problems)),
        codes.indices[listed].astype(np.int32),
        classes[listed].astype(np.int32),
        True,
    )
    return Reduction(problems, _labelset_votes(known, subsets, bits, Y.shape[1]))


def _split_complete(
    codes: Ints, complete: NDArray[np.bool_], subsets: Ints, bits: Ints, q: int
) -> Reduction:
    """Return the problems of subsets on ``complete`` rows, given codes as (n_problems, n)."""
    n_problems, k = subsets.shape
    problem, rows = np.nonzero(complete)
    known, classes = np.unique(problem << k | codes[complete], return_inverse=True)
    n_classes = np.bincount(known >> k, minlength=n_problems)
    problems = Problems(
        n_classes.astype(np.int32),
        offsets(np.bincount(problem, minlength=n_problems)),
        rows.astype(np.int32),
        (classes - offsets(n_classes)[problem]).astype(np.int32),
        False,
    )
    return Reduction(problems, _labelset_votes(known, subsets, bits, q))


def _labelset_votes(known: Ints, subsets: Ints, bits: Ints, q: int) -> csr_array:
    """Let labelsets, numbered by subset and code, vote for their labels."""
    slot, place = np.nonzero(known[:, None] & bits)
    labels = subsets[known[slot] >> len(bits), place]
    return csr_array((np.ones(len(slot)), (slot, labels)), shape=(len(known), q))


def _codes(Y: csr_array, subsets: Ints, bits: Ints) -> csc_array:
    """Return every row's labelset within every subset as a number, as (n, n_problems)."""
    n_problems, k = subsets.shape
    cells = (subsets.ravel(), np.repeat(np.arange(n_problems), k))
    weights = csr_array((np.tile(bits, n_problems), cells), shape=(Y.shape[1], n_problems))
    codes = csc_array(Y.astype(np.int64) @ weights)
    codes.sort_indices()
    return codes


def _check_no_long_codes(n_problems: int, k: int) -> None:
    if k + int(n_problems).bit_length() > 62:
        raise InputError(
            "There are more labelsets than 62 bits can number",
            f"There are {n_problems} subsets of {k} labels",
        )


_MODELS_PER_BLOCK = 64  # asked one after the other, and added up together


@dataclass(frozen=True, eq=False)
class CloneTrainer:
    """Fits a clone of any scikit-learn classifier to every problem."""

    estimator: Any
    rows: Rows
    clean: bool
    weight: Weights = None
    label_weight: LabelWeights | None = None  # of problems, one per label

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> CloneModels:
        """Fit one clone per problem, in parallel."""
        n, m = self.rows.clean.shape[0], len(problems)
        X = self.rows.clean if self.clean else self.rows.given
        X = X if problems.all_rows else to_rows(X)  # once, not whenever rows are taken
        X = narrow_indices(X)  # liblinear takes no others
        seeds = [None] * m if rng is None else draw_seeds(rng, m)
        tasks = (
            delayed(_fit_clone)(
                self.estimator,
                X,
                expand_problem(problems, p, n),
                problems.all_rows,
                self.weight,
                self.label_weight,
                p,
                seed,
            )
            for p, seed in enumerate(seeds)
        )
        models = run_parallel(
            Parallel, tasks, m, "Fitting classifiers", "classifiers", n_jobs=n_jobs
        )
        return CloneModels(models, problems.n_classes, self.clean)


@dataclass(frozen=True, eq=False, repr=False)
class CloneModels:
    """Fitted clones, in a list."""

    models: list[Any]
    n_classes: NDArray[np.int32]
    clean: bool

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, p: int) -> Any:
        return self.models[p]

    def __repr__(self) -> str:
        return f"<{len(self)} classifiers>"

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Ask blocks of models in parallel, and add up in order, whatever ``n_jobs`` is."""
        X = rows.clean if self.clean else rows.given
        slot = np.concatenate([[0], np.cumsum(self.n_classes)])
        edges = [*range(0, len(self), _MODELS_PER_BLOCK), len(self)]
        parts = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(_votes_of_block)(
                self.models[a:b], self.n_classes[a:b], X, votes[slot[a] : slot[b]], hard, ties
            )
            for a, b in pairwise(edges)
        )
        out = np.zeros((rows.clean.shape[0], votes.shape[1]))
        with loop("Asking classifiers", len(edges) - 1, "blocks") as progress:
            for part in parts:
                out += part
                progress.advance()
        return out


@dataclass(frozen=True, eq=False)
class ConstantClassifier:
    """The classifier of a problem with one class: it predicts that class, always.

    scikit-learn's ``DummyClassifier`` does the same, but takes 16 times as long to fit and 12
    times as long to predict, and there may be one for every pair of labels.
    """

    classes_: NDArray[Any]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class for every row."""
        return np.repeat(self.classes_, _length(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return 1 for every row."""
        return np.ones((_length(X), 1))


def _fit_clone(
    estimator: Any,
    X: Any,
    problem: Problem,
    all_rows: bool,
    weight: Weights,
    label_weight: LabelWeights | None,
    label: int,
    seed: Any,
) -> Any:
    rows, y, _ = problem
    classes = np.unique(y)
    if len(classes) == 1:
        return ConstantClassifier(classes)
    model = clone(estimator)
    if seed is not None:
        set_random_states(model, seed)
    weight = take_weights(weight, rows)
    if label_weight is not None:
        weight = label_weight.times(weight, label, rows, y)
    X = X if all_rows else take_rows(X, rows)
    return model.fit(X, y, **weight_options(model, weight))


def _votes_of_block(
    models: list[Any],
    n_classes: NDArray[np.int32],
    X: Any,
    votes: csr_array,
    hard: bool,
    ties: Ties,
) -> Floats:
    parts = [_class_votes(model, X, C, hard, ties) for model, C in zip(models, n_classes)]
    total: Floats = np.hstack(parts) @ votes
    return total


def _class_votes(model: Any, X: Any, n_classes: int, hard: bool, ties: Ties) -> Floats:
    """Return an (n, n_classes) array of probabilities, or of ones for the decisions.

    Margins between two classes are squeezed into [0, 1], 0 becoming 0.5, so that they rank rows. A
    classifier with neither probabilities nor such margins decides, whatever was asked.
    """
    shares = np.zeros((_length(X), n_classes))
    if not hasattr(model, "predict_proba"):
        margins = None if hard else _two_class_margins(model, X)
        if margins is None:
            shares[np.arange(len(shares)), model.predict(X)] = 1
        else:
            shares[:, model.classes_] = np.column_stack([expit(-margins), expit(margins)])
        return shares
    shares[:, model.classes_] = model.predict_proba(X)
    if not hard:
        return shares
    best = np.argmax(shares, axis=1)
    if ties == "last":
        best = n_classes - 1 - np.argmax(shares[:, ::-1], axis=1)
    return np.eye(n_classes)[best]


def _two_class_margins(model: Any, X: Any) -> Floats | None:
    """Return how far rows are on the side of the second of two classes, if the model tells."""
    if len(model.classes_) != 2 or not hasattr(model, "decision_function"):
        return None
    margins: Floats = np.asarray(model.decision_function(X), dtype=np.float64)
    return margins if margins.ndim == 1 else None


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


@dataclass(frozen=True, eq=False)
class TreeTrainer:
    """Grows all trees over one prepared X."""

    data: TreeData
    estimator: C45Classifier
    options: C45Options
    names: tuple[str, ...] | None  # of the features
    schema: Schema
    weight: Weights = None

    def fit(
        self,
        problems: Problems,
        *,
        n_jobs: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> TreeModels:
        """Grow one tree per problem; there is no chance in it."""
        forest = grow_forest(self.data, problems, self.options, weight=self.weight, n_jobs=n_jobs)
        return TreeModels(forest, self.estimator, self.names, self.schema)


@dataclass(frozen=True, eq=False, repr=False)
class TreeModels:
    """C4.5 trees in the flat arrays of one forest."""

    forest: Forest
    estimator: C45Classifier
    names: tuple[str, ...] | None
    schema: Schema | None = None  # None where features are labels too

    @property
    def n_classes(self) -> NDArray[np.int32]:
        return self.forest.n_classes

    def __len__(self) -> int:
        return len(self.forest)

    def __getitem__(self, p: int) -> C45Classifier:
        tree = clone(self.estimator)
        tree.forest_ = self.forest.take(p, p + 1)
        tree.classes_ = np.arange(self.forest.n_classes[p])
        tree.n_features_in_ = len(self.forest.n_categories)
        tree._schema = self.schema
        if self.names is not None:
            tree.feature_names_in_ = np.array(self.names, dtype=object)
        return tree

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self.estimator}>"

    def aggregate(
        self,
        rows: Rows,
        votes: csr_array,
        *,
        hard: bool = False,
        ties: Ties = "first",
        n_jobs: int | None = None,
    ) -> Floats:
        """Send all rows down all trees in one compiled pass."""
        return self.forest.aggregate(rows.clean, votes, hard=hard, ties=ties, n_jobs=n_jobs)


def make_trainer(
    estimator: Any,
    rows: Rows,
    schema: Schema,
    weight: Weights,
    label_weight: LabelWeights | None = None,
) -> Trainer:
    """Return the fastest trainer for an estimator (None: C4.5).

    Work that all problems share, such as sorting the columns for trees, is done here, once.
    """
    estimator = C45Classifier() if estimator is None else estimator
    if not isinstance(estimator, C45Classifier):
        return CloneTrainer(estimator, rows, False, weight, label_weight)
    own = nominal_columns(estimator.categorical_features, rows.clean.shape[1], schema.names)
    counts = categories_of_features(rows.clean, own, estimator.n_categories, schema)
    alike = estimator.class_weight is None and label_weight is None  # weights of all problems
    if type(estimator) is C45Classifier and alike:
        data, names = prepare_data(rows.clean, counts), _string_names(schema)
        return TreeTrainer(data, estimator, options_of(estimator), names, schema, weight)
    informed = clone(estimator).set_params(
        categorical_features=np.flatnonzero(counts), n_categories=counts[counts > 0]
    )
    return CloneTrainer(informed, rows, True, weight, label_weight)


def _string_names(schema: Schema) -> tuple[str, ...] | None:
    """Return the names of the features if all are strings, as scikit-learn remembers them."""
    names = schema.names
    return names if names and all(isinstance(name, str) for name in names) else None
