"""SOSHF: a forest whose oblique splits part rare labelsets from the rest by Hellinger distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray

from labelance._arrays._containers import stored_values, to_dense
from labelance._classifier import BaseMultiLabelClassifier
from labelance._progress import run_parallel
from labelance._utils._compat import Interval
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._data import Data
from labelance._validation._features import validate_features
from labelance.exceptions import InputError
from labelance.learners._kernels import project
from labelance.learners._soshf_split import (
    TOLERANCE,
    SplitSearch,
    best_split,
    label_costs,
    two_classes,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


_LARGEST = 1e150  # of the numbers in X: the square of one, times any number of rows, is finite


@dataclass(frozen=True)
class Rules:
    """What a node may do."""

    max_depth: float
    n_features: int
    restarts: int
    search: SplitSearch


@dataclass(frozen=True, eq=False)
class ObliqueSplit:
    """Rows with ``X[:, features] @ coefficients > threshold`` go right."""

    features: Ints
    coefficients: Floats
    threshold: float
    goes_right: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HellingerForest:
    """Trees in flat arrays; a place is a node if it is at least 0, and else the leaf ~place."""

    roots: Ints
    children: Ints
    thresholds: Floats
    starts: Ints
    features: Ints
    coefficients: Floats
    leaves: sp.csr_array

    def leaves_of(self, X: Any) -> Ints:
        """Return the leaf of every row in every tree."""
        leaf = np.empty((X.shape[0], len(self.roots)), dtype=np.int64)
        todo = [(root, t, np.arange(len(leaf))) for t, root in enumerate(self.roots)]
        while todo:
            place, t, rows = todo.pop()
            if place < 0:
                leaf[rows, t] = ~place
                continue
            own = slice(self.starts[place], self.starts[place + 1])
            values = _values(X, rows, self.features[own])
            along = project(values, self.coefficients[own])
            right = along > self.thresholds[place]
            todo += [
                (self.children[place, side], t, rows[there])
                for side, there in enumerate((~right, right))
                if there.any()
            ]
        return leaf

    def scores(self, X: Any) -> Floats:
        """Return the mean of the label vectors of the leaves, (n, q)."""
        leaf, n_trees = self.leaves_of(X), len(self.roots)
        starts = np.arange(0, leaf.size + 1, n_trees)
        shape = (X.shape[0], self.leaves.shape[0])
        visits = sp.csr_array((np.ones(leaf.size), leaf.ravel(), starts), shape)
        return (visits @ self.leaves).toarray() / n_trees


def grow_tree(
    X: Any, Y: sp.csr_array, rows: Ints, rules: Rules, rng: np.random.Generator
) -> HellingerForest:
    """Grow one tree on ``rows``, which increase and may repeat; a forest of one."""
    children: list[list[int]] = []
    splits: list[ObliqueSplit] = []
    leaf_rows: list[Ints] = []
    root = [0]
    todo: list[tuple[Ints, int, list[int], int]] = [(rows, 0, root, 0)]
    while todo:
        rows, depth, parent, side = todo.pop()
        split = _find_split(X, Y, rows, rules, rng) if depth < rules.max_depth else None
        if split is None:
            parent[side] = ~len(leaf_rows)
            leaf_rows.append(rows)
            continue
        parent[side] = len(splits)
        splits.append(split)
        children.append([0, 0])
        todo.append((rows[split.goes_right], depth + 1, children[-1], 1))
        todo.append((rows[~split.goes_right], depth + 1, children[-1], 0))
    return HellingerForest(
        roots=np.array(root),
        children=np.array(children, dtype=np.int64).reshape(-1, 2),
        thresholds=np.array([split.threshold for split in splits]),
        starts=np.cumsum([0, *(len(split.features) for split in splits)]),
        features=np.concatenate([np.empty(0, np.int64), *(split.features for split in splits)]),
        coefficients=np.concatenate([np.empty(0), *(split.coefficients for split in splits)]),
        leaves=_mean_labels(leaf_rows, Y),
    )


def join_forests(trees: Sequence[HellingerForest]) -> HellingerForest:
    """Put forests one after the other into one."""
    nodes = np.cumsum([0, *(len(tree.children) for tree in trees)])
    leaves = np.cumsum([0, *(tree.leaves.shape[0] for tree in trees)])
    cells = np.cumsum([0, *(len(tree.features) for tree in trees)])

    def moved(place: Ints, t: int) -> Ints:
        return np.where(place >= 0, place + nodes[t], place - leaves[t])

    return HellingerForest(
        roots=np.concatenate([moved(tree.roots, t) for t, tree in enumerate(trees)]),
        children=np.concatenate([moved(tree.children, t) for t, tree in enumerate(trees)]),
        thresholds=np.concatenate([tree.thresholds for tree in trees]),
        starts=np.concatenate([[0], *(tree.starts[1:] + cells[t] for t, tree in enumerate(trees))]),
        features=np.concatenate([tree.features for tree in trees]),
        coefficients=np.concatenate([tree.coefficients for tree in trees]),
        leaves=sp.csr_array(sp.vstack([tree.leaves for tree in trees], format="csr")),
    )


def _find_split(
    X: Any, Y: sp.csr_array, rows: Ints, rules: Rules, rng: np.random.Generator
) -> ObliqueSplit | None:
    """Return how a node is split; None for a leaf."""
    if len(rows) < 2 * rules.search.min_leaf:
        return None
    own = Y[rows]
    omega = label_costs(own)
    if not omega.any():
        return None
    plus = two_classes(own, omega, rng.random(2))
    drawn = _draw_features(X, rows, rules.n_features, rng)
    if drawn is None:
        return None
    features, values = drawn
    directions = _sparse_directions(rules.restarts - 1, len(features), rng)
    a, b, value = best_split(values, plus, directions, rules.search)
    if value <= TOLERANCE:
        return None
    used = np.flatnonzero(a)
    return ObliqueSplit(features[used], a[used], b, project(values, a) > b)


def _draw_features(
    X: Any, rows: Ints, k: int, rng: np.random.Generator
) -> tuple[Ints, Floats] | None:
    """Draw ``k`` features, and their values in the node, as a dense array of ``k`` columns.

    In sparse data all of them are often constant in the node; then the next ``k`` are drawn.
    """
    order = rng.permutation(X.shape[1])
    for start in range(0, len(order), k):
        features = np.sort(order[start : start + k])
        values = _values(X, rows, features)
        if (values != values[0]).any():
            return features, values
    return None


def _values(X: Any, rows: Ints, features: Ints) -> Floats:
    """Return some cells as a dense array."""
    return np.ascontiguousarray(to_dense(X[np.ix_(rows, features)]), dtype=np.float64)


def _sparse_directions(n: int, k: int, rng: np.random.Generator) -> Floats:
    """Draw normal vectors and keep the largest ceil(sqrt(k)) coefficients of each."""
    drawn = rng.standard_normal((n, k))
    small = np.argsort(-np.abs(drawn), axis=1)[:, ceil(sqrt(k)) :]
    np.put_along_axis(drawn, small, 0.0, axis=1)
    return drawn


def _mean_labels(leaf_rows: Sequence[Ints], Y: sp.csr_array) -> sp.csr_array:
    """Return the mean label vector of every leaf, as sparse as labels are."""
    sizes = np.array([len(rows) for rows in leaf_rows])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(starts[-1])
    member = sp.csr_array((ones, np.concatenate(leaf_rows), starts), (len(sizes), Y.shape[0]))
    mean = member @ Y
    mean.data /= np.repeat(sizes, np.diff(mean.indptr))
    return mean


class SOSHF(BaseMultiLabelClassifier):
    """Sparse oblique structured Hellinger forest: a reconstruction from the abstract.

    **This is a reconstruction.** It follows the abstract of Daniels and Metaxas [1]_, which
    names a structured forest with two changes: labels become one target in a cost-sensitive
    way at every node, and splits are oblique and chosen by Hellinger distance. How exactly
    is ours (see Notes). Do not report its figures as theirs.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of trees.
    max_depth : int, default=None
        Largest depth of a leaf; None is no limit.
    min_samples_leaf : int, default=5
        Least number of rows of a leaf.
    max_features : int, default=None
        Number of features drawn for every node; None is the square root of all, rounded up.
    l1 : float, default=1e-3
        Price of the coefficients of a split; larger means fewer features in a split.
    steepness : float, default=4
        How hard the soft split is that the coefficients are found with.
    restarts : int, default=3
        Number of starts of the search for a direction: the difference of class means, and
        random sparse directions.
    bootstrap : bool, default=True
        Draw the rows of every tree with replacement.
    random_state : int, RandomState, Generator or None, default=None
        One stream a tree; the same int gives the same forest for any ``n_jobs``.
    n_jobs : int, default=None
        Number of trees grown at a time.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    forest_ : HellingerForest
        The trees, in flat arrays.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    See Also
    --------
    labelance.decisions.LabelThresholds : A threshold for every label instead of 0.5.

    Notes
    -----
    A node with n rows, in which a share p_j has label j, is split like this:

    1. Every label that is not constant has the cost ``omega_j = 1 / (p_j + 1 / n)``, scaled
       to sum 1: rare labels count more.
    2. 2-means of the vectors ``sqrt(omega) y`` makes two classes. The smaller is "plus".
    3. On some random features, standardised in the node with equal weight for both classes,
       ``H(a, b) - l1 |a|_1`` is maximised over ``|a|_2 <= 1`` by proximal gradient steps. H
       is the Hellinger distance of the classes from their mean ``sigmoid(steepness (a x - b))``.
       It knows shares of classes only, and so it does not matter how rare a class is.
    4. b is then the midpoint with the largest Hellinger distance of the hard split
       ``a x > b``. If a single feature does better, it is taken instead.

    A node is a leaf if all its labels or all features are constant, if it has fewer than twice
    ``min_samples_leaf`` rows, or if no split has a Hellinger distance above 0. A leaf holds the
    mean label vector of its rows; the score of a label is the mean over trees, and the label
    is predicted from 0.5 on.

    References
    ----------
    .. [1] Z. A. Daniels and D. N. Metaxas, Addressing imbalance in multi-label classification
           using structured Hellinger forests. AAAI 2017, 1826-1832.
    .. [2] P. Dollár and C. L. Zitnick, Structured forests for fast edge detection. ICCV 2013.
    .. [3] D. A. Cieslak and N. V. Chawla, Learning decision trees for unbalanced data. ECML
           PKDD 2008.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import SOSHF
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> forest = SOSHF(n_estimators=5, random_state=0).fit(X, y)
    >>> forest.predict_proba(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseMultiLabelClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "l1": [Interval(Real, 0, None, closed="left")],
        "steepness": [Interval(Real, 0, None, closed="neither")],
        "restarts": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        max_features: int | None = None,
        l1: float = 1e-3,
        steepness: float = 4,
        restarts: int = 3,
        bootstrap: bool = True,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.l1 = l1
        self.steepness = steepness
        self.restarts = restarts
        self.bootstrap = bootstrap
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, data: Data, X: Any) -> None:
        if data.categorical.any():
            raise InputError(
                "SOSHF needs numeric features, since it sums them",
                f"{int(data.categorical.sum())} columns of X are categorical",
                "Encode them first, for example with sklearn.preprocessing.OneHotEncoder",
            )
        _check_no_missing(data.X, X)
        _check_not_huge(data.X)
        rules = self._rules(data.X.shape[1])
        streams = as_generator(self.random_state).spawn(self.n_estimators)
        trees = run_parallel(
            Parallel,
            (delayed(_grow)(data.X, data.Y, self.bootstrap, rules, stream) for stream in streams),
            len(streams),
            "Growing trees",
            "trees",
            n_jobs=self.n_jobs,
            prefer="threads",
        )
        self.forest_ = join_forests(trees)

    def _rules(self, d: int) -> Rules:
        drawn = ceil(sqrt(d)) if self.max_features is None else min(self.max_features, d)
        return Rules(
            max_depth=inf if self.max_depth is None else self.max_depth,
            n_features=drawn,
            restarts=self.restarts,
            search=SplitSearch(self.min_samples_leaf, float(self.l1), float(self.steepness)),
        )

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        _check_no_missing(clean, X)
        return self.forest_.scores(clean)


def _grow(
    X: Any, Y: sp.csr_array, bootstrap: bool, rules: Rules, rng: np.random.Generator
) -> HellingerForest:
    n = Y.shape[0]
    rows = np.sort(rng.integers(n, size=n)) if bootstrap else np.arange(n)
    return grow_tree(X, Y, rows, rules, rng)


def _check_no_missing(clean: Any, X: Any) -> None:
    if np.isnan(stored_values(clean)).any():
        validate_features(X, caller="SOSHF", missing="refuse")  # says which columns have them


def _check_not_huge(X: Any) -> None:
    """Raise for numbers whose squares, of which a split adds up many, are not finite."""
    largest = max(float(X.max()), -float(X.min()))
    if largest > _LARGEST:
        raise InputError(
            f"SOSHF needs numbers up to {_LARGEST:g} in X, since it squares them",
            f"X holds {largest:g}",
        )
