"""C4.5 as slow, readable Python: the oracle that the compiled trees are checked against.

Everything is written the way the specification tells it, one row and one cut at a time.
A row travels as ``(row, weight)``; missing values are NaN; a nominal cell holds its code.
"""

from dataclasses import dataclass, field
from math import log, log2, sqrt
from statistics import NormalDist

import numpy as np

E = 1e-6  # J48 compares with this tolerance


def eq(a, b):
    return abs(a - b) < E


def gr(a, b):
    return a - b > E


def sm(a, b):
    return b - a > E


def gr_or_eq(a, b):
    return b - a < E or a >= b


def sm_or_eq(a, b):
    return a - b < E or a <= b


def xlogx(x):
    return 0.0 if x < E else x * log(x)


def entropy(histogram):
    """The total weight times the entropy in bits."""
    return (xlogx(sum(histogram)) - sum(xlogx(n) for n in histogram)) / log(2)


def gain_of(bags, W):
    K = bags.sum()
    numerator = (K / W) * (entropy(bags.sum(axis=0)) - sum(entropy(bag) for bag in bags))
    return 0.0 if eq(numerator, 0) else numerator / K


def ratio_of(gain, bags, W):
    info = (xlogx(W) - xlogx(W - bags.sum()) - sum(xlogx(n) for n in bags.sum(axis=1))) / log(2)
    return 0.0 if eq(info, 0) else gain / (info / W)


def added_errors(N, e, confidence):
    if confidence > 0.5:
        return 0.0
    if e < 1:
        base = N * (1 - confidence ** (1 / N))
        return base if e == 0 else base + e * (added_errors(N, 1, confidence) - base)
    if e + 0.5 >= N:
        return max(N - e, 0)
    z, f = NormalDist().inv_cdf(1 - confidence), (e + 0.5) / N
    r = (f + z * z / (2 * N) + z * sqrt(f / N - f * f / N + z * z / (4 * N * N))) / (1 + z * z / N)
    return r * N - e


@dataclass
class Node:
    rows: list  # of (row, weight)
    bags: np.ndarray  # class weights per branch; one bag at a leaf
    feature: int = -1
    threshold: float = np.nan
    children: list = field(default_factory=list)
    empty: bool = False

    @property
    def weight(self):
        return self.bags.sum()

    @property
    def errors(self):
        return self.bags.sum() - self.bags.sum(axis=0).max()

    def become_leaf(self):
        self.bags = self.bags.sum(axis=0, keepdims=True)
        self.feature, self.threshold, self.children = -1, np.nan, []


class OracleTree:
    """One tree; ``n_categories[f]`` is 0 for a numeric feature."""

    def __init__(
        self, X, y, *, n_classes, n_categories, weights=None, min_samples_leaf=2, confidence=0.25,
        prune=True, subtree_raising=True, collapse=True, mdl_correction=True,
    ):  # fmt: skip
        self.X, self.y, self.C, self.n_categories = X, y, n_classes, n_categories
        self.M, self.confidence, self.mdl = min_samples_leaf, confidence, mdl_correction
        self.raising = subtree_raising
        w = np.ones(len(y)) if weights is None else weights
        root = [(i, w[i]) for i in range(len(y)) if w[i] > 0]
        self.W_root = sum(weight for _, weight in root)
        self.root_rows = [i for i, _ in root]
        self.root = self.grow(root)
        if collapse:
            self.collapse(self.root)
        if prune:
            self.prune(self.root)

    # --- growing -------------------------------------------------------------------------

    def histogram(self, rows):
        counts = np.zeros(self.C)
        for i, w in rows:
            counts[self.y[i]] += w
        return counts

    def branch(self, feature, threshold, i):
        """The branch that row i takes, None if it misses the feature."""
        x = self.X[i, feature]
        if np.isnan(x):
            return None
        return int(x) if self.n_categories[feature] else int(x > threshold)

    def candidate(self, feature, rows, W):
        """(gain, ratio, threshold) of the best split on a feature, or None."""
        known = [(i, w) for i, w in rows if not np.isnan(self.X[i, feature])]
        if self.n_categories[feature]:
            return self.nominal_candidate(feature, known, W)
        return self.numeric_candidate(feature, known, W)

    def nominal_candidate(self, feature, known, W):
        bags = np.zeros((self.n_categories[feature], self.C))
        for i, w in known:
            bags[int(self.X[i, feature]), self.y[i]] += w
        if sum(gr_or_eq(weight, self.M) for weight in bags.sum(axis=1)) < 2:
            return None
        gain = gain_of(bags, W)
        return gain, ratio_of(gain, bags, W), np.nan

    def numeric_candidate(self, feature, known, W):
        known = sorted(known, key=lambda row: self.X[row[0], feature])
        values = [self.X[i, feature] for i, _ in known]
        minsplit = 0.1 * sum(w for _, w in known) / self.C
        if sm_or_eq(minsplit, self.M):
            minsplit = self.M
        elif gr(minsplit, 25):
            minsplit = 25
        best, tries, cut = 0.0, 0, None
        bags = np.array([np.zeros(self.C), self.histogram(known)])
        for r, (i, w) in enumerate(known[:-1]):
            bags[0, self.y[i]] += w
            bags[1, self.y[i]] -= w
            sides = bags.sum(axis=1)
            if values[r] + 1e-5 < values[r + 1] and all(gr_or_eq(s, minsplit) for s in sides):
                tries += 1
                gain = gain_of(bags, W)
                if gr(gain, best):
                    best, cut, best_bags = gain, r, bags.copy()
        if tries == 0:
            return None
        best -= log2(tries) / W if self.mdl else 0
        if sm_or_eq(best, 0):
            return None
        threshold = (values[cut] + values[cut + 1]) / 2
        if threshold == values[cut + 1]:
            threshold = values[cut]
        return best, ratio_of(best, best_bags, W), threshold

    def choose(self, rows, histogram):
        """(feature, threshold) of the split, or None for a leaf."""
        W = histogram.sum()
        if sm(W, 2 * self.M) or eq(W, histogram.max()):
            return None
        few = [not k or sm(k, 0.3 * self.W_root) for k in self.n_categories]
        candidates = [self.candidate(f, rows, W) for f in range(self.X.shape[1])]
        averaged = [c[0] for c, ok in zip(candidates, few) if c and (ok or not any(few))]
        if not averaged:
            return None
        average, best, chosen = sum(averaged) / len(averaged), 0.0, None
        for f, candidate in enumerate(candidates):
            if candidate and candidate[0] >= average - 1e-3 and gr(candidate[1], best):
                best, chosen = candidate[1], f
        if chosen is None:
            return None
        return chosen, self.moved(chosen, candidates[chosen][2])

    def moved(self, feature, threshold):
        """The threshold as the largest value of the tree's training rows that is not above it."""
        if self.n_categories[feature]:
            return np.nan
        return max(x for x in self.X[self.root_rows, feature] if x <= threshold)

    def bags_of(self, feature, threshold, rows):
        """Known rows in their bags, then the missing ones spread in proportion."""
        bags = np.zeros((self.n_categories[feature] or 2, self.C))
        for i, w in rows:
            v = self.branch(feature, threshold, i)
            if v is not None:
                bags[v, self.y[i]] += w
        known = bags.sum()
        share = np.full(len(bags), 1 / len(bags)) if eq(known, 0) else bags.sum(axis=1) / known
        for i, w in rows:
            if self.branch(feature, threshold, i) is None:
                bags[:, self.y[i]] += share * w
        return bags

    def deal(self, node, rows):
        """The rows of every child."""
        share = node.bags.sum(axis=1) / node.weight
        dealt = [[] for _ in node.bags]
        for i, w in rows:
            v = self.branch(node.feature, node.threshold, i)
            if v is not None:
                dealt[v].append((i, w))
                continue
            for v, part in enumerate(share):
                if gr(part, 0):
                    dealt[v].append((i, w * part))
        return dealt

    def grow(self, rows):
        histogram = self.histogram(rows)
        node = Node(rows, histogram[None, :], empty=eq(histogram.sum(), 0))
        split = self.choose(rows, histogram)
        if split is not None:
            node.feature, node.threshold = split
            node.bags = self.bags_of(*split, rows)
            node.children = [self.grow(part) for part in self.deal(node, rows)]
        return node

    # --- after growing -------------------------------------------------------------------

    def leaves(self, node):
        return [leaf for c in node.children for leaf in self.leaves(c)] or [node]

    def collapse(self, node):
        if not node.children:
            return
        if sum(leaf.errors for leaf in self.leaves(node)) >= node.errors - 1e-3:
            node.become_leaf()
        for child in node.children:
            self.collapse(child)

    def pessimistic(self, histogram):
        N = histogram.sum()
        if eq(N, 0):
            return 0.0
        errors = N - histogram.max()
        return errors + added_errors(N, errors, self.confidence)

    def branch_errors(self, node, rows):
        """The estimate of a subtree if these rows were sent down it."""
        if not node.children:
            return self.pessimistic(self.histogram(rows))
        bags = self.bags_of(node.feature, node.threshold, rows)
        trial = Node(rows, bags, node.feature, node.threshold)
        parts = self.deal(trial, rows)
        return sum(self.branch_errors(c, part) for c, part in zip(node.children, parts))

    def redistribute(self, node, rows):
        node.rows = rows
        if not node.children:
            node.bags = self.histogram(rows)[None, :]
            node.empty = node.empty and eq(node.weight, 0)
            return
        node.bags = self.bags_of(node.feature, node.threshold, rows)
        for child, part in zip(node.children, self.deal(node, rows)):
            self.redistribute(child, part)

    def prune(self, node):
        if not node.children:
            return
        for child in node.children:
            self.prune(child)
        largest, heaviest = 0, 0.0
        for v, weight in enumerate(node.bags.sum(axis=1)):
            if gr_or_eq(weight, heaviest):
                largest, heaviest = v, weight
        child = node.children[largest]
        as_leaf = self.pessimistic(node.bags.sum(axis=0))
        as_tree = sum(self.pessimistic(leaf.bags.sum(axis=0)) for leaf in self.leaves(node))
        as_branch = self.branch_errors(child, node.rows) if self.raising else np.inf
        if sm_or_eq(as_leaf, as_tree + 0.1) and sm_or_eq(as_leaf, as_branch + 0.1):
            node.become_leaf()
        elif sm_or_eq(as_branch, as_tree + 0.1):
            node.feature, node.threshold = child.feature, child.threshold
            node.children = child.children
            self.redistribute(node, node.rows)
            self.prune(node)

    # --- predicting ----------------------------------------------------------------------

    def proba(self, x):
        total = self.walk(self.root, x, 1.0)
        return total / total.sum()

    def walk(self, node, x, weight):
        if not node.children:
            return weight * node.bags[0] / node.bags.sum()
        value, k = x[node.feature], self.n_categories[node.feature]
        missing = np.isnan(value) or (k and (value not in range(k)))
        if missing:
            shares = node.bags.sum(axis=1) / node.weight
            return sum(
                self.walk(child, x, weight * share)
                for child, share in zip(node.children, shares)
                if not child.empty
            )
        child = node.children[int(value) if k else int(value > node.threshold)]
        if child.empty:
            return weight * node.bags.sum(axis=0) / node.weight
        return self.walk(child, x, weight)
