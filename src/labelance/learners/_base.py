"""The base of learners around an estimator, and how they fit it to problems and sum its votes.

Label problems become binary or multiclass problems, trained as C4.5 trees or as clones.
The classes of the problems vote for the labels by a sparse matrix of *votes*: class c of problem p
is a row (a *slot*), and votes for outputs, of which there is mostly one per label. The scores of
all learners are sums of such votes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from inspect import isabstract
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from labelance._arrays._columns import to_rows
from labelance._arrays._open import take_rows
from labelance._arrays._sparse import narrow_indices
from labelance._classifier import (
    BaseMultiLabelClassifier,
    WeightedClassifier,
    inherit_input_tags,
    weight_options,
)
from labelance._progress import loop, run_parallel
from labelance._utils._compat import HasMethods, StrOptions
from labelance._utils._random import draw_seeds, set_random_states
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, Schema
from labelance.learners._label_weight import LabelWeights, find_label_weights
from labelance.learners.tree import C45Classifier, Forest, Problems, TreeData, prepare_data
from labelance.learners.tree._classes import C45Options, grow_forest, options_of
from labelance.learners.tree._data import categories_of_features, offsets, problem_per_label
from labelance.learners.tree._tree import Ties

Floats = NDArray[np.float64]
_MODELS_PER_BLOCK = 64  # asked one after the other, and added up together


class Rows(NamedTuple):
    """The same rows twice."""

    clean: Any  # numbers and category codes, for compiled trees
    given: Any  # as the user gave them, for classifiers of others

    def take(self, rows: NDArray[Any]) -> Rows:
        """Return some of the rows."""
        return Rows(self.clean[rows], take_rows(self.given, rows))


class Reduction(NamedTuple):
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
    return Reduction(problem_per_label(Y, unknown), votes)


@dataclass(frozen=True, eq=False)
class CloneTrainer:
    """Fits a clone of any scikit-learn classifier to every problem over the rows that it holds."""

    estimator: Any
    rows: Rows
    clean: bool
    weight: Weights = None
    label_weight: LabelWeights | None = None  # of problems, one per label

    def fit(
        self, problems: Problems, *, n_jobs: int | None = None, rng: Generator | None = None
    ) -> CloneModels:
        """Fit one clone per problem, in parallel; every problem has at least one row.

        ``rng`` gives each of them a seed of its own; without it they keep the estimator's.
        """
        X = self.rows.clean if self.clean else self.rows.given
        X = X if problems.all_rows else to_rows(X)  # once, not whenever rows are taken
        X = narrow_indices(X)  # liblinear takes no others
        m = len(problems)
        seeds = [None] * m if rng is None else draw_seeds(rng, m)
        tasks = (self._task(X, problems, p, seed) for p, seed in enumerate(seeds))
        models = run_parallel(
            Parallel, tasks, m, "Fitting classifiers", "classifiers", n_jobs=n_jobs
        )
        return CloneModels(models, problems.n_classes, self.clean)

    def _task(self, X: Any, problems: Problems, p: int, seed: Any) -> Any:
        """Return the call that fits the clone of problem p."""
        rows, y = problems.expand(p, self.rows.clean.shape[0])
        weight = take_weights(self.weight, rows)
        if self.label_weight is not None:
            weight = self.label_weight.times(weight, p, rows, y)
        some_rows = None if problems.all_rows else rows
        return delayed(_fit_clone)(self.estimator, X, some_rows, y, weight, seed)


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
        """Sum the votes of all classifiers for each row; see :meth:`Forest.aggregate`.

        Blocks of models are asked in parallel, and added up in order, whatever ``n_jobs`` is.
        """
        X = rows.clean if self.clean else rows.given
        slot = offsets(self.n_classes)
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


def _fit_clone(estimator: Any, X: Any, rows: Any, y: Any, weight: Weights, seed: Any) -> Any:
    """Fit a clone to some rows of X; all if None."""
    classes = np.unique(y)
    if len(classes) == 1:
        return ConstantClassifier(classes)
    model = clone(estimator)
    if seed is not None:
        set_random_states(model, seed)
    X = X if rows is None else take_rows(X, rows)
    return model.fit(X, y, **weight_options(model, weight))


def _votes_of_block(
    models: list[Any],
    n_classes: NDArray[np.int32],
    X: Any,
    votes: csr_array,
    hard: bool,
    ties: Ties,
) -> Floats:
    parts = [class_shares(model, X, C, hard, ties) for model, C in zip(models, n_classes)]
    total: Floats = np.hstack(parts) @ votes
    return total


def class_shares(
    model: Any, X: Any, n_classes: int, hard: bool = False, ties: Ties = "first"
) -> Floats:
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
        self, problems: Problems, *, n_jobs: int | None = None, rng: Generator | None = None
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


Models = CloneModels | TreeModels  # one fitted classifier per problem
Trainer = CloneTrainer | TreeTrainer


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
    nominal, n_categories = estimator.categorical_features, estimator.n_categories
    counts = categories_of_features(rows.clean, nominal, n_categories, schema.names, schema)
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


class LearnerWithEstimator(WeightedClassifier):
    """Base of learners with ``estimator``, ``categorical_features``, ``n_jobs``, ``verbose``."""

    _needs_all: ClassVar[str | None] = None
    _learns_all_rows: ClassVar[bool] = False  # as often as they are there: no part, no bootstrap
    estimators_: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **WeightedClassifier._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "categorical_features": ["array-like", StrOptions({"auto"}), None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return inherit_input_tags(C45Classifier(), tags) if self.estimator is None else tags

    @property
    def _label_weight(self) -> Any:
        return getattr(self, "label_weight", None)  # not all learners have the parameter

    @property
    def _weights_count_rows(self) -> bool:
        grows_c45 = self.estimator is None or type(self.estimator) is C45Classifier
        return self._learns_all_rows and grows_c45 and self._label_weight is None

    def _trainer(self, data: Data, X: Any, weight: Weights) -> Trainer:
        weight, own = self._weights_of_estimator(weight), None
        if self._label_weight is not None:
            own = find_label_weights(self._label_weight, data.labels, caller=type(self).__name__)
        return make_trainer(self.estimator, Rows(data.X, X), self._schema, weight, own)

    def _fit_problems(
        self, data: Data, X: Any, weight: Weights, split: Reduction, rng: Generator | None = None
    ) -> None:
        """Fit a classifier to every problem, and keep the votes of their classes."""
        trainer = self._trainer(data, X, weight)
        self.estimators_ = trainer.fit(split.problems, n_jobs=self.n_jobs, rng=rng)
        self._vote_matrix = split.votes

    def _sum_votes(self, rows: Rows, *, hard: bool = False) -> Floats:
        votes = self._vote_matrix
        return self.estimators_.aggregate(rows, votes, hard=hard, n_jobs=self.n_jobs)


def all_learners() -> dict[str, type[BaseMultiLabelClassifier]]:
    """Return every public learner that can be made without arguments, by name.

    Examples
    --------
    >>> from labelance.learners import all_learners
    >>> "MLkNN" in all_learners()
    True
    """
    learners = vars(sys.modules[__package__])
    return {name: learners[name] for name in learners["__all__"] if _is_ready(learners[name])}


def _is_ready(kind: object) -> bool:
    is_learner = isinstance(kind, type) and issubclass(kind, BaseMultiLabelClassifier)
    return is_learner and not isabstract(kind)
