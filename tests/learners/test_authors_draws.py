"""With the authors' own draws and choices among ties, all figures of their program are equal.

Their program seeds Java's generator with 1 in every fold, so its results are one draw, repeated
ten times: fair comparisons with draws of ours show how lucky that one was. Drawing as it does
leaves nothing to luck.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from labelance.learners import COCOA, ECCRU3, MLkNN
from labelance.learners import _cocoa as cocoa
from labelance.learners._chains import ChainPlan
from labelance.neighbors import Neighborhood

pytestmark = pytest.mark.data


class JavaRandom:
    """``java.util.Random``."""

    def __init__(self, seed):
        self.state = (seed ^ 0x5DEECE66D) % 2**48

    def bits(self, n):
        self.state = (self.state * 0x5DEECE66D + 0xB) % 2**48
        return self.state >> (48 - n)

    def whole(self):
        bits = self.bits(32)
        return bits - 2**32 if bits >= 2**31 else bits

    def below(self, bound):
        if bound & -bound == bound:
            return bound * self.bits(31) >> 31
        while True:
            bits = self.bits(31)
            if bits - bits % bound + bound - 1 < 2**31:
                return bits % bound

    def fraction(self):
        return ((self.bits(26) << 27) + self.bits(27)) / 2**53

    def shuffle(self, items):
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def table(part):
    return np.asarray(part.todense() if sp.issparse(part) else part)


def in_order_of_dealing(Y, rows):
    """Rows in the order in which the program's stratification gave them to their fold."""
    order, left = [], np.ones(len(Y), dtype=bool)
    while left.any():
        counts = Y[left].sum(axis=0)
        rarest = np.argmin(np.where(counts > 0, counts, len(Y) + 1))
        dealt = left & (Y[:, rarest] == 1) if counts.any() else left
        order.extend(np.flatnonzero(dealt))
        left = left & ~dealt
    inside = np.isin(order, rows)
    return np.array(order)[inside]


def fit_in_their_order(fold, learner):
    X, Y = fold.dataset.values, table(fold.dataset.Y)
    rows = in_order_of_dealing(Y, fold.train)
    return learner.fit(X[rows], Y[rows])


def assert_equal_figures(fold, learner):
    new = fold.dataset.values[fold.test]
    figures = fold.measure(learner.predict(new), learner.predict_proba(new))
    np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)


def draw_balanced(classes):
    """Places of as many of each class as the smallest has; their generator starts at 1 again."""
    random, members = JavaRandom(1), [np.flatnonzero(classes == c) for c in np.unique(classes)]
    drawn = []
    for places in members:
        mine = {}
        while len(mine) < min(map(len, members)):
            mine[random.below(len(places))] = None
        drawn.extend(places[list(mine)])
    return np.array(drawn)


class TheirPlan(ChainPlan):
    def draw_rows(self, present):
        return self.bag[draw_balanced(present[self.bag])]


class TheirECCRU3(ECCRU3):
    def _plan_chains(self, labels, n, rng):
        """Shuffle rows anew, take them at the same places, and swap labels at random."""
        random, rows, plans = JavaRandom(1), list(range(n)), []
        for some in labels:
            JavaRandom(random.whole()).shuffle(rows)
            again = JavaRandom(1)
            bag = np.array([rows[int(n * again.fraction())] for _ in range(n)])
            order = list(some)
            for place in range(len(order)):
                other = random.below(len(order))
                order[place], order[other] = order[other], order[place]
            plans.append(TheirPlan(np.array(order), bag, rng, balanced=True))
        return plans


@pytest.mark.parametrize(("name", "n_folds"), [("flags", 10), ("emotions", 10), ("genbase", 2)])
def test_eccru3(name, n_folds, authors_folds):
    for fold in authors_folds(name, "ECCRU3")[:n_folds]:
        learner = TheirECCRU3(fold.estimator, threshold_search="grid", variant="mulan")
        assert_equal_figures(fold, fit_in_their_order(fold, learner))


def their_couples(q, n_couples, rng):
    random, labels, couples = JavaRandom(1), list(range(q)), []
    for j in range(q):
        random.shuffle(labels)
        couples.append([other for other in labels if other != j][:n_couples])
    return np.array(couples)


def their_rows(indptr, indices, hole_indptr, hole_indices, n, label, other, wanted, chance):
    assert not len(hole_indices)  # their program knows every label
    rows, classes = [], []
    for j, k in zip(label, other):
        codes = np.zeros(n, dtype=np.int32)
        if k >= 0:
            codes[indices[indptr[k] : indptr[k + 1]]] = 1
        codes[indices[indptr[j] : indptr[j + 1]]] = 1 if k < 0 else 2
        drawn = draw_balanced(codes)
        rows.append(drawn.astype(np.int32))
        classes.append(codes[drawn])
    return np.concatenate(rows), np.concatenate(classes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flags", "emotions"])
def test_cocoa(name, authors_folds, monkeypatch):
    monkeypatch.setattr(cocoa, "draw_couples", their_couples)
    monkeypatch.setattr(cocoa, "draw_balanced", their_rows)
    for fold in authors_folds(name, "COCOA"):
        learner = COCOA(fold.estimator, threshold_search="grid", variant="mulan")
        assert_equal_figures(fold, fit_in_their_order(fold, learner))


class WorstOnTop:
    """A heap of the k nearest rows so far, in which the program's choice among ties lies."""

    def __init__(self, distances):
        self.distances, self.heap = distances, []

    def add(self, row):
        self.heap.append(row)
        at = len(self.heap)
        while at > 1 and self._far(at) > self._far(at // 2):
            self._swap(at, at // 2)
            at //= 2

    def drop_worst(self):
        self.heap[0] = self.heap[-1]
        self.heap.pop()
        at, size = 1, len(self.heap)
        while 2 * at <= size:
            right_is_worse = 2 * at < size and self._far(2 * at + 1) >= self._far(2 * at)
            child = 2 * at + right_is_worse
            if self._far(at) >= self._far(child):
                break
            self._swap(at, child)
            at = child

    def _far(self, at):
        return self.distances[self.heap[at - 1]]

    def _swap(self, a, b):
        self.heap[a - 1], self.heap[b - 1] = self.heap[b - 1], self.heap[a - 1]


def nearest_by_heap(squared, k):
    """The k nearest rows as the program chooses them: a row as far as the worst comes too late."""
    found = np.empty((len(squared), k), dtype=int)
    for i, line in enumerate(squared.tolist()):
        heap = WorstOnTop(line)
        for row, distance in enumerate(line):
            if len(heap.heap) == k and distance < line[heap.heap[0]]:
                heap.drop_worst()
            if len(heap.heap) < k and distance < np.inf:
                heap.add(row)
        found[i] = sorted(heap.heap, key=line.__getitem__)
    return Neighborhood(found, np.sqrt(np.take_along_axis(squared, found, axis=1)))


def squared_distances(A, B, low, width, nominal):
    total = np.zeros((len(A), len(B)))
    for f in range(A.shape[1]):
        if nominal[f]:
            total += np.not_equal.outer(A[:, f], B[:, f])
        elif width[f] > 0:
            a, b = (A[:, f] - low[f]) / width[f], (B[:, f] - low[f]) / width[f]
            total += np.subtract.outer(a, b) ** 2
    return total


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_folds"), [("flags", 10), ("genbase", 2), ("enron", 2)])
def test_mlknn(name, n_folds, authors_folds):
    """Nominal features make many rows equally near: with the program's choice among them, and
    the rows in its order, all figures are equal, but for F where a probability is exactly 0.5."""
    for fold in authors_folds(name, "MLkNN")[:n_folds]:
        X, Y = table(fold.dataset.values), table(fold.dataset.Y)
        nominal, train = fold.dataset.categorical_features, in_order_of_dealing(Y, fold.train)
        low, width = X[train].min(axis=0), np.ptp(X[train], axis=0)
        among = squared_distances(X[train], X[train], low, width, nominal)
        np.fill_diagonal(among, np.inf)
        learner = MLkNN(scale="range", categorical_features=nominal)
        learner.fit(X[train], Y[train], neighborhood=nearest_by_heap(among, 10))
        asked = squared_distances(X[fold.test], X[train], low, width, nominal)
        e = Y[train][nearest_by_heap(asked, 10).indices].sum(axis=1)
        scores = learner.posterior_[np.arange(Y.shape[1]), e]
        figures = fold.measure(scores >= 0.5, scores)
        coins = int(np.any(scores == 0.5))
        np.testing.assert_allclose(figures[coins:], fold.figures[coins:], rtol=0, atol=1e-9)
