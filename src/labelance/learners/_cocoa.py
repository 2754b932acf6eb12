"""COCOA: every label against some others, in balanced problems of two and three classes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._compat import Interval
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, absent_if_never_known
from labelance.decisions._search import (
    SEARCHING,
    ScoredRows,
    ThresholdSearch,
    Variant,
    search_thresholds,
)
from labelance.learners._base import LearnerWithEstimator, Reduction, Rows
from labelance.learners._kernels import draw_balanced
from labelance.learners.tree import Problems
from labelance.learners.tree._data import offsets

Ints = NDArray[np.int64]
NO_LABEL = -1


class COCOA(LearnerWithEstimator):
    """Cross-coupling aggregation (COCOA): labels in couples, on balanced samples.

    For every label a classifier learns whether it is present. And for each of K other labels,
    chosen at random, one learns to tell rows with the label from rows with only the other and
    from rows with neither. All of them learn from as many rows of every class as the smallest
    class has, and the score of a label is the mean probability that they give to it.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier of several classes; None is :class:`C45Classifier`, whose
        trees are grown together.
    n_couples : int, default=10
        Number K of other labels that every label is coupled with; at most all others.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
    variant : {"paper", "mulan"}, default="paper"
        "mulan" follows the program of the paper's authors: it predicts a label where its score
        is larger than the threshold, not where it is equal, though the threshold was found
        for equal ones too; and where no value of the grid is any good, the threshold is 0.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    random_state : int, RandomState, Generator or None, default=None
        Chooses couples and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of classifiers fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    couples_ : ndarray of shape (n_labels, K)
        The labels that every label is coupled with.
    estimators_ : sequence of classifiers
        K + 1 for every label: of its presence, then of its couples. A couple of which no row
        knows both labels has none.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score is at least this: the threshold with the largest
        F on all training rows.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    Notes
    -----
    Where cells of y are unknown (NaN), a classifier learns from the rows in which its label, or
    both labels of its couple, are known.

    References
    ----------
    .. [1] M.-L. Zhang, Y.-K. Li and X.-Y. Liu, Towards class-imbalance aware multi-label
           learning. IJCAI, 2015.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import COCOA
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> learner = COCOA(n_couples=3, random_state=0).fit(X, y)
    >>> learner.couples_.shape, len(learner.estimators_)
    ((10, 3), 40)
    >>> learner.predict(X).shape
    (200, 10)
    """

    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        **SEARCHING,
        "n_couples": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_couples: int = 10,
        threshold_search: ThresholdSearch = "exact",
        variant: Variant = "paper",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.threshold_search = threshold_search
        self.variant = variant
        self.random_state = random_state
        self.n_couples = n_couples

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        rng = as_generator(self.random_state)
        self.couples_ = draw_couples(self.n_labels_, self.n_couples, rng)
        split = split_couples(data.Y, self.couples_, rng, unknown=data.unknown)
        self._fit_problems(data, X, weight, split, rng)
        rows = ScoredRows.of(data.Y, self._scores(data.X, X), data.unknown, weight)
        found = search_thresholds(
            rows, search=self.threshold_search, variant=self.variant, names=self.label_names_
        )
        # The score of a label that all known rows agree on is 0 or 1 for every row.
        self.thresholds_ = np.where(rows.vary(), found.own, 0.5)

    def _thresholds(self) -> np.ndarray:
        return self.thresholds_

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._sum_votes(Rows(clean, X)) / column_counts(self._vote_matrix)

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        if self.variant == "paper":
            return super()._predict(clean, X)
        return (self._scores(clean, X) > self.thresholds_).astype(np.int64)


def draw_couples(q: int, n_couples: int, rng: np.random.Generator) -> Ints:
    """Draw for every label as many others, at most all; any of them are equally likely."""
    K = min(q - 1, n_couples)
    others = np.array([rng.choice(q - 1, K, replace=False) for _ in range(q)], dtype=np.int64)
    others = others.reshape(q, K)
    return others + (others >= np.arange(q)[:, None])  # the label itself does not count


def split_couples(
    Y: sp.csr_array, couples: Ints, rng: np.random.Generator, *, unknown: sp.csr_array | None = None
) -> Reduction:
    """Return the balanced problems of every label: alone, then with each of its couples.

    The last class of a problem is presence of the label, and votes for it. Of a couple, class 1
    is presence of the other label only, and class 0 absence of both. Rows in which a label of a
    problem is ``unknown`` have no class; a couple that no row knows is left out.
    """
    q, K = couples.shape
    unknown = absent_if_never_known(Y, unknown)
    label = np.repeat(np.arange(q), K + 1)
    other = np.column_stack([np.full(q, NO_LABEL), couples]).ravel()
    columns = sp.csc_array(Y)
    columns.sort_indices()
    holes = sp.csc_array(Y.shape, dtype=np.int8) if unknown is None else sp.csc_array(unknown)
    sizes = _class_sizes(columns, holes, label, other)
    known = sizes.any(axis=1)
    label, other, sizes = label[known], other[known], sizes[known]
    n_classes = np.where(other == NO_LABEL, 2, 3).astype(np.int32)
    # Every class that has rows gives as many as the smallest of them.
    smallest = np.where(sizes > 0, sizes, Y.shape[0]).min(axis=1)
    drawn = smallest * np.count_nonzero(sizes, axis=1)
    rows, classes = draw_balanced(
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        holes.indptr.astype(np.int64),
        holes.indices.astype(np.int64),
        Y.shape[0],
        label,
        other,
        smallest,
        rng.random(drawn.sum()),
    )
    slot = np.cumsum(n_classes) - 1
    votes = sp.csr_array((np.ones(len(slot)), (slot, label)), shape=(int(slot[-1]) + 1, q))
    return Reduction(Problems(n_classes, offsets(drawn), rows, classes, False), votes)


def _class_sizes(Y: sp.csc_array, unknown: sp.csc_array, label: Ints, other: Ints) -> Ints:
    """Return the rows with neither label, with the other only, and with the label."""
    ones, holes = (np.diff(part.indptr).astype(np.int64) for part in (Y, unknown))
    sizes = np.zeros((len(label), 3), dtype=np.int64)
    sizes[:, 2], n_known = ones[label], Y.shape[0] - holes[label]
    coupled = np.flatnonzero(other != NO_LABEL)
    a, b = label[coupled], other[coupled]

    def overlap(first: sp.csc_array, second: sp.csc_array) -> Ints:
        both = first[:, a].multiply(second[:, b])
        return np.asarray(both.sum(axis=0, dtype=np.int64))

    sizes[coupled, 1] = ones[b] - overlap(Y, Y) - overlap(unknown, Y)
    sizes[coupled, 2] -= overlap(Y, unknown)
    n_known[coupled] -= holes[b] - overlap(unknown, unknown)
    sizes[:, 0] = n_known - sizes[:, 1] - sizes[:, 2]
    return sizes
