"""What can be read off one finished tree: depth, importances, the leaf of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from labelance.learners.tree._forest import Forest
from labelance.learners.tree._sprouts import LEAF


def children_of(tree: Forest, v: int) -> range:
    """Return the children of node v of a forest of one tree."""
    return range(int(tree.first[v]), int(tree.first[v] + tree.width[v]))


def depth_of(tree: Forest) -> int:
    """Return the number of splits on the longest way from the root to a leaf."""
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for v in np.flatnonzero(tree.feature != LEAF):  # parents come before their children
        depth[tree.first[v] : tree.first[v] + tree.width[v]] = depth[v] + 1
    return int(depth.max())


def importances_of(tree: Forest) -> NDArray[np.float64]:
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


def leaf_of(tree: Forest, X: Any) -> NDArray[np.int64]:
    """Return the leaf that each row reaches; missing values take the heaviest branch."""
    at = np.zeros(X.shape[0], dtype=np.int64)
    heaviest = np.zeros(len(tree.feature), dtype=np.int64)
    for v in np.flatnonzero(tree.feature != LEAF):
        heaviest[v] = np.argmax(tree.weight[tree.first[v] : tree.first[v] + tree.width[v]])
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
