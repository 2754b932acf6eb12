"""What can be read off one fitted tree: depth, importances, the leaf of a row, a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from labelance.learners.tree._tree import LEAF, Forest


def _children(tree: Forest, v: int) -> range:
    """Return the children of node v of a forest of one tree."""
    return range(int(tree.first[v]), int(tree.first[v] + tree.width[v]))


def tree_depth(tree: Forest) -> int:
    """Return the number of splits on the longest way from the root to a leaf."""
    depth = np.zeros(len(tree.feature), dtype=np.int64)
    for v in np.flatnonzero(tree.feature != LEAF):  # parents come before their children
        depth[tree.first[v] : tree.first[v] + tree.width[v]] = depth[v] + 1
    return int(depth.max())


def feature_importances(tree: Forest) -> NDArray[np.float64]:
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


def apply_tree(tree: Forest, X: Any) -> NDArray[np.int64]:
    """Return the leaf that each row reaches; missing values take the heaviest branch."""
    at = np.zeros(X.shape[0], dtype=np.int64)
    heaviest = np.zeros(len(tree.feature), dtype=np.int64)
    for split in np.flatnonzero(tree.feature != LEAF):
        first = tree.first[split]
        heaviest[split] = np.argmax(tree.weight[first : first + tree.width[split]])
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


def tree_text(
    tree: Forest,
    features: Sequence[str],
    classes: Sequence[str],
    words: Mapping[int, Sequence[str]],
    decimals: int,
) -> str:
    """Return the tree as text; a leaf shows its class and (weight/weight of other classes).

    ``words`` are the categories of nominal features; those that are not in it show their codes.
    """

    def outcome(v: int) -> str:
        C = len(classes)
        weights = tree.histogram[v * C : (v + 1) * C]
        best, total = int(np.argmax(weights)), float(tree.weight[v])
        wrong = total - float(weights[best]) if total else 0.0
        seen = f"{total:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{total:.0f}"
        lost = f"{wrong:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{wrong:.0f}"
        return (
            f": {classes[best]} ({seen})" if lost == "0" else f": {classes[best]} ({seen}/{lost})"
        )

    def condition(v: int, branch: int) -> str:
        f = int(tree.feature[v])
        name = features[f]
        if tree.n_categories[f]:
            return f"{name} = {words[f][branch] if f in words else branch}"
        return f"{name} {'>' if branch else '<='} {tree.threshold[v]:.{decimals + 4}g}"

    def lines(v: int, indent: str) -> list[str]:
        written = []
        for branch, child in enumerate(_children(tree, v)):
            end = outcome(child) if tree.feature[child] == LEAF else ""
            written.append(indent + condition(v, branch) + end)
            written += lines(child, indent + "|   ")
        return written

    return "\n".join(lines(0, "")) or outcome(0)
