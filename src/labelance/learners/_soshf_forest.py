"""Trees of sparse oblique splits: growing one, and sending rows down all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.learners._soshf_classes import label_costs, two_classes
from labelance.learners._soshf_split import TOLERANCE, Search, best_split, project

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rules:
    """What a node may do."""

    max_depth: float
    n_features: int
    restarts: int
    search: Search


@dataclass(frozen=True, eq=False)
class Split:
    """Rows with ``X[:, features] @ coefficients > threshold`` go right."""

    features: Ints
    coefficients: Floats
    threshold: float
    goes_right: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Forest:
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
        trees = (
            self.roots,
            self.children,
            self.thresholds,
            self.starts,
            self.features,
            self.coefficients,
        )
        if sp.issparse(X):
            return _walk_sparse(X.data, X.indices, X.indptr, X.shape[1], *trees)
        return _walk_dense(X, *trees)

    def scores(self, X: Any) -> Floats:
        """Return the mean of the label vectors of the leaves, (n, q)."""
        leaf, n_trees = self.leaves_of(X), len(self.roots)
        starts = np.arange(0, leaf.size + 1, n_trees)
        shape = (X.shape[0], self.leaves.shape[0])
        visits = sp.csr_array((np.ones(leaf.size), leaf.ravel(), starts), shape)
        return (visits @ self.leaves).toarray() / n_trees


def grow_tree(
    X: Any, Y: sp.csr_array, rows: Ints, rules: Rules, rng: np.random.Generator
) -> Forest:
    """Grow one tree on ``rows``, which increase and may repeat; a forest of one."""
    children: list[list[int]] = []
    splits: list[Split] = []
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
    return Forest(
        roots=np.array(root),
        children=np.array(children, dtype=np.int64).reshape(-1, 2),
        thresholds=np.array([split.threshold for split in splits]),
        starts=np.cumsum([0, *(len(split.features) for split in splits)]),
        features=np.concatenate([np.empty(0, np.int64), *(split.features for split in splits)]),
        coefficients=np.concatenate([np.empty(0), *(split.coefficients for split in splits)]),
        leaves=_mean_labels(leaf_rows, Y),
    )


def join_forests(trees: Sequence[Forest]) -> Forest:
    """Put forests one after the other into one."""
    nodes = np.cumsum([0, *(len(tree.children) for tree in trees)])
    leaves = np.cumsum([0, *(tree.leaves.shape[0] for tree in trees)])
    cells = np.cumsum([0, *(len(tree.features) for tree in trees)])

    def moved(place: Ints, t: int) -> Ints:
        return np.where(place >= 0, place + nodes[t], place - leaves[t])

    return Forest(
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
) -> Split | None:
    """Return how a node is split; None for a leaf."""
    if len(rows) < 2 * rules.search.min_leaf:
        return None
    omega = label_costs(rows, Y.indptr, Y.indices, Y.shape[1])
    if not omega.any():
        return None
    plus = two_classes(rows, Y.indptr, Y.indices, omega, rng.random(2))
    drawn = _draw_features(X, rows, rules.n_features, rng)
    if drawn is None:
        return None
    features, values = drawn
    directions = _sparse_directions(rules.restarts - 1, len(features), rng)
    a, b, value = best_split(values, plus, directions, rules.search)
    if value <= TOLERANCE:
        return None
    used = np.flatnonzero(a)
    return Split(features[used], a[used], b, project(values, a) > b)


def _draw_features(
    X: Any, rows: Ints, k: int, rng: np.random.Generator
) -> tuple[Ints, Floats] | None:
    """Draw ``k`` features, and their values in the node, as a dense array of ``k`` columns.

    In sparse data all of them are often constant in the node; then the next ``k`` are drawn.
    """
    order = rng.permutation(X.shape[1])
    X = X[rows] if sp.issparse(X) else X
    for start in range(0, len(order), k):
        features = np.sort(order[start : start + k])
        values = X[:, features].toarray() if sp.issparse(X) else X[np.ix_(rows, features)]
        if (values != values[0]).any():
            return features, np.ascontiguousarray(values, dtype=np.float64)
    return None


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


@kernel
def _leaf(
    values: Floats,
    place: int,
    children: Ints,
    thresholds: Floats,
    starts: Ints,
    features: Ints,
    coefficients: Floats,
) -> int:
    """Follow one row down one tree; the sum is taken in the order in which it was learned."""
    while place >= 0:
        along = 0.0
        for at in range(starts[place], starts[place + 1]):
            along += coefficients[at] * values[features[at]]
        place = children[place, int(along > thresholds[place])]
    return ~place


@kernel
def _walk_dense(
    X: Floats,
    roots: Ints,
    children: Ints,
    thresholds: Floats,
    starts: Ints,
    features: Ints,
    coefficients: Floats,
) -> Ints:
    leaf = np.empty((X.shape[0], len(roots)), dtype=np.int64)
    for i in range(X.shape[0]):
        for t in range(len(roots)):
            leaf[i, t] = _leaf(X[i], roots[t], children, thresholds, starts, features, coefficients)
    return leaf


@kernel
def _walk_sparse(
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int32],
    d: int,
    roots: Ints,
    children: Ints,
    thresholds: Floats,
    starts: Ints,
    features: Ints,
    coefficients: Floats,
) -> Ints:
    n = len(indptr) - 1
    leaf = np.empty((n, len(roots)), dtype=np.int64)
    values = np.zeros(d, dtype=data.dtype)  # one row at a time
    for i in range(n):
        here = indices[indptr[i] : indptr[i + 1]]
        values[here] = data[indptr[i] : indptr[i + 1]]
        for t in range(len(roots)):
            leaf[i, t] = _leaf(
                values, roots[t], children, thresholds, starts, features, coefficients
            )
        values[here] = 0
    return leaf
