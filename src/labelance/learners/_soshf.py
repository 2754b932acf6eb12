"""SOSHF: a forest whose oblique splits part rare labelsets from the rest by Hellinger distance."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts, stored_values, to_dense
from labelance._classifier import BaseMultiLabelClassifier
from labelance._progress import run_parallel
from labelance._utils._compat import Interval
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._data import Data, validate_features
from labelance.exceptions import InputError
from labelance.learners._kernels import gradient_ascent, project

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LLOYD_STEPS = 25
STEPS = 50
HALVINGS = 20
TOLERANCE = 1e-9  # less than this is rounding, not progress
_LARGEST = 1e150  # of the numbers in X: the square of one, times any number of rows, is finite


class Rules(NamedTuple):
    """What a node may do, and how its split is looked for."""

    min_leaf: int  # least number of rows on each side
    l1: float
    steepness: float
    restarts: int = 1
    n_features: int = 1  # drawn for a node
    max_depth: float = inf


class ObliqueSplit(NamedTuple):
    """Rows with ``X[:, features] @ coefficients > threshold`` go right."""

    features: Ints
    coefficients: Floats
    threshold: float


class ObliqueTree(NamedTuple):
    """A tree whose places are nodes if they are at least 0, and else the leaf ~place."""

    root: int
    splits: list[ObliqueSplit]  # of the nodes
    children: list[list[int]]
    leaves: sp.csr_array  # mean label vectors

    def leaves_of(self, X: Any) -> Ints:
        """Return the leaf of every row."""
        leaf = np.empty(X.shape[0], dtype=np.int64)
        todo = [(self.root, np.arange(len(leaf)))]
        while todo:
            place, rows = todo.pop()
            if place < 0:
                leaf[rows] = ~place
            elif len(rows):
                features, coefficients, threshold = self.splits[place]
                right = project(_values(X, rows, features), coefficients) > threshold
                todo += zip(self.children[place], (rows[~right], rows[right]))
        return leaf


def grow_tree(
    X: Any, Y: sp.csr_array, rows: Ints, rules: Rules, rng: np.random.Generator
) -> ObliqueTree:
    """Grow one tree on ``rows``, which increase and may repeat."""
    children: list[list[int]] = []
    splits: list[ObliqueSplit] = []
    leaf_rows: list[Ints] = []
    root = [0]
    todo: list[tuple[Ints, int, list[int], int]] = [(rows, 0, root, 0)]
    while todo:
        rows, depth, parent, side = todo.pop()
        found = _find_split(X, Y, rows, rules, rng) if depth < rules.max_depth else None
        if found is None:
            parent[side] = ~len(leaf_rows)
            leaf_rows.append(rows)
            continue
        split, goes_right = found
        parent[side] = len(splits)
        splits.append(split)
        children.append([0, 0])
        todo.append((rows[goes_right], depth + 1, children[-1], 1))
        todo.append((rows[~goes_right], depth + 1, children[-1], 0))
    return ObliqueTree(root[0], splits, children, _mean_labels(leaf_rows, Y))


def _find_split(
    X: Any, Y: sp.csr_array, rows: Ints, rules: Rules, rng: np.random.Generator
) -> tuple[ObliqueSplit, Bools] | None:
    """Return how a node is split, and which rows go right; None for a leaf."""
    if len(rows) < 2 * rules.min_leaf:
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
    a, b, value = best_split(values, plus, directions, rules)
    if value <= TOLERANCE:
        return None
    used = np.flatnonzero(a)
    return ObliqueSplit(features[used], a[used], b), project(values, a) > b


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


def label_costs(Y: sp.csr_array) -> Floats:
    """Return omega_j = 1 / (p_j + 1 / n) scaled to sum 1; 0 for labels constant in the node."""
    n, counts = Y.shape[0], column_counts(Y)
    omega = np.where((counts > 0) & (counts < n), n / (counts + 1.0), 0.0)
    return omega / (np.cumsum(omega)[-1] or 1.0)


def two_classes(Y: sp.csr_array, omega: Floats, chance: Floats) -> Bools:
    """Divide the rows of a node by 2-means of z = sqrt(omega) y; True is the smaller cluster.

    ``chance`` has two uniform random numbers, for the seeds. The rows differ in some label.
    """
    ones_and_Y = sp.hstack([sp.csr_array(np.ones((Y.shape[0], 1))), Y], format="csr")
    first = int(chance[0] * Y.shape[0])
    from_first = _distances(ones_and_Y, omega, Y[[first]].toarray()[0])
    second = _second_seed(from_first, chance[1])
    distance = np.array([from_first, _distances(ones_and_Y, omega, Y[[second]].toarray()[0])])
    cluster = _nearest(distance)
    for _ in range(LLOYD_STEPS):
        shares = [column_counts(Y[rows]) / rows.sum() for rows in (~cluster, cluster)]
        distance = np.array([_distances(ones_and_Y, omega, share) for share in shares])
        before, cluster = cluster, _nearest(distance)
        if (cluster == before).all():
            break
    in_second = int(cluster.sum())
    if 2 * in_second > len(cluster) or (2 * in_second == len(cluster) and not cluster[0]):
        return ~cluster
    return cluster


def _distances(ones_and_Y: sp.csr_array, omega: Floats, shares: Floats) -> Floats:
    """Return the squared distance of every row to a center with these shares of ones.

    Labels stay sparse: ``|z - center|^2 = sum omega y - 2 sum omega s y + sum omega s^2``.
    """
    length = np.cumsum(omega * shares * shares)[-1]
    distance = ones_and_Y @ np.append(length, omega * (1 - 2 * shares))
    return np.where(distance > 1e-12, distance, 0.0)  # what is left of equal terms is no distance


def _second_seed(distance: Floats, chance: float) -> int:
    """Choose a row with probability proportional to its squared distance to the first seed."""
    apart = np.flatnonzero(distance)
    total = np.cumsum(distance[apart])
    at = int(np.searchsorted(total, chance * total[-1], side="right"))
    return int(apart[min(at, len(apart) - 1)])


def _nearest(distance: Floats) -> Bools:
    """Say which rows are nearer to the second center; no cluster is empty."""
    cluster = distance[1] < distance[0]
    if cluster.all() or not cluster.any():
        farthest = np.argmax(distance.min(axis=0))
        cluster[farthest] = not cluster[farthest]
    return cluster


def best_split(
    X: Floats, plus: Bools, directions: Floats, rules: Rules
) -> tuple[Floats, float, float]:
    """Find the split ``X @ a > b`` that tells two classes apart.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        Some features of the rows of a node.
    plus : ndarray of shape (n,)
        The class of every row; both classes occur.
    directions : ndarray of shape (restarts - 1, k)
        Where to start, in addition to the difference of class means.
    rules : Rules
        Least number of rows on each side, price of ``|a|_1`` and steepness of the soft split.

    Returns
    -------
    a : ndarray of shape (k,)
        Coefficients for the features as they are.
    b : float
        The threshold.
    value : float
        Hellinger distance of the split; 0 if there is none.
    """
    weight = np.where(plus, 1 / plus.sum(), 1 / (~plus).sum())
    mean, scale = balanced_moments(X, weight)
    varies = scale > 0
    Z = (X[:, varies] - mean[varies]) / scale[varies]
    a = np.zeros(X.shape[1])
    a[varies] = oblique_direction(Z, plus, weight, directions[:, varies], rules) / scale[varies]
    # One scan for all: the oblique split comes first, and so a single feature must do better.
    column, b, value = scan(np.column_stack([project(X, a), X]), plus, rules.min_leaf)
    if column > 0:
        a = np.zeros(X.shape[1])
        a[column - 1] = 1.0
    return a, b, value


def balanced_moments(X: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of every feature; the deviation is 0 if constant.

    Both classes weigh a half, so that a split does not depend on how many rows a class has.
    """
    share = weight[:, None] / 2
    mean = (share * X).sum(axis=0)
    scale = np.sqrt((share * (X - mean) ** 2).sum(axis=0))
    return mean, np.where((X == X[0]).all(axis=0), 0.0, scale)


def oblique_direction(
    Z: Floats, plus: Bools, weight: Floats, directions: Floats, rules: Rules
) -> Floats:
    """Maximise ``H(a, b) - l1 |a|_1`` over ``|a|_2 <= 1`` from several starts.

    The start is the difference of class means, and then every one of ``directions``; the
    result is 0 if nothing is worth its price.
    """
    Z, signed = np.ascontiguousarray(Z), np.where(plus, weight, -weight)
    best, best_value = np.zeros(Z.shape[1]), 0.0
    for start in [(signed[:, None] * Z).sum(axis=0), *directions]:
        length = np.sqrt((start * start).sum())
        if length > 0:
            a = start / length
            climb = rules.l1, rules.steepness, STEPS, HALVINGS, TOLERANCE
            value = gradient_ascent(Z, plus.view(np.uint8), weight, a, *climb)
            if value > best_value + TOLERANCE:
                best, best_value = a, value
    return best


def hellinger_distances(right_of_plus: Any, right_of_minus: Any) -> Any:
    """Return Hellinger distances of two classes from their shares right of splits."""
    right = np.sqrt(right_of_plus) - np.sqrt(right_of_minus)
    left = np.sqrt(1 - right_of_plus) - np.sqrt(1 - right_of_minus)
    return np.sqrt(right * right + left * left)


def scan(along: Floats, plus: Bools, min_leaf: int) -> tuple[int, float, float]:
    """Return the column and midpoint that part the classes best, and the Hellinger distance.

    Of equal ones the first is taken.
    """
    n, n_plus = len(along), int(plus.sum())
    order = np.argsort(along, axis=0, kind="stable")
    inner = slice(min_leaf - 1, n - min_leaf)  # the last rows left of the cuts
    left = np.arange(1, n + 1)[inner, None]
    left_plus = np.cumsum(plus[order], axis=0)[inner]
    ordered = np.take_along_axis(along, order, axis=0)
    low, high = ordered[inner], ordered[min_leaf : n - min_leaf + 1]
    value = hellinger_distances(1 - left_plus / n_plus, 1 - (left - left_plus) / (n - n_plus))
    value[low == high] = 0.0
    found = value.T.ravel()
    best, place = 0.0, 0
    for record in np.flatnonzero(found > np.maximum.accumulate([0.0, *found[:-1]])):
        if found[record] > best + TOLERANCE:
            best, place = float(found[record]), int(record)
    if best == 0:
        return 0, 0.0, 0.0
    column, at = divmod(place, len(value))
    below, above = float(low[at, column]), float(high[at, column])
    middle = below + (above - below) / 2
    return column, middle if middle < above else below, best


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
    forest_ : list of trees
        Each has ``root``, ``splits``, ``children`` and ``leaves``, the mean label vectors.
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
        rules, n = self._rules(data.X.shape[1]), self.n_estimators
        streams = as_generator(self.random_state).spawn(n)
        tasks = (delayed(_grow)(data.X, data.Y, self.bootstrap, rules, rng) for rng in streams)
        self.forest_ = run_parallel(
            Parallel, tasks, n, "Growing trees", "trees", n_jobs=self.n_jobs, prefer="threads"
        )

    def _rules(self, d: int) -> Rules:
        drawn = ceil(sqrt(d)) if self.max_features is None else min(self.max_features, d)
        depth = inf if self.max_depth is None else self.max_depth
        l1, steepness = float(self.l1), float(self.steepness)
        return Rules(self.min_samples_leaf, l1, steepness, self.restarts, drawn, depth)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        _check_no_missing(clean, X)
        total = sum(tree.leaves[tree.leaves_of(clean)] for tree in self.forest_)
        return total.toarray() / len(self.forest_)


def _grow(
    X: Any, Y: sp.csr_array, bootstrap: bool, rules: Rules, rng: np.random.Generator
) -> ObliqueTree:
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
