"""Label powersets: classes are labelsets, of all labels or, in RAkEL, of random few."""

from __future__ import annotations

from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import Data, absent_if_never_known
from labelance.exceptions import InputError, UnknownLabelsError
from labelance.imbalance._measures import find_labelsets
from labelance.learners._base import LearnerWithEstimator, Reduction, Rows
from labelance.learners.tree import class_problems
from labelance.learners.tree._data import list_problems, offsets

Ints = NDArray[np.int64]
_CELLS_PER_BLOCK = 1 << 22  # of the probabilities of rows times labelsets


class LabelPowerset(LearnerWithEstimator):
    """Label powerset (LP): one classifier whose classes are the labelsets seen in training.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier of several classes; None is :class:`C45Classifier`.
    proba : {"marginal", "winner"}, default="marginal"
        The score of a label: the probability of all labelsets that have it; or, with x the
        probability of the most probable labelset, x if that one has the label, else 1 - x.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    n_jobs : int, default=None
        Number of threads that predict; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    labelsets_ : csr_array of shape (n_labelsets, n_labels)
        The classes, in the order of bit strings (the first label leads).
    estimators_ : sequence of classifiers
        The one fitted classifier; class c is labelset c.
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
    RAkEL : Many label powersets over few labels each.

    Notes
    -----
    The most probable labelset is predicted, the first of equals, whatever ``proba`` says; no
    other labelset than those of the training rows ever is.

    References
    ----------
    .. [1] G. Tsoumakas and I. Katakis, Multi-label classification: an overview.
           International Journal of Data Warehousing and Mining 3, 2007.

    Examples
    --------
    >>> from labelance.learners import LabelPowerset
    >>> X = [[0], [1], [2], [3], [4], [5], [6], [7]]
    >>> y = [[0, 1], [0, 1], [0, 1], [1, 1], [1, 0], [1, 0], [1, 0], [1, 0]]
    >>> learner = LabelPowerset().fit(X, y)
    >>> learner.labelsets_.toarray()
    array([[0, 1],
           [1, 0],
           [1, 1]], dtype=int8)
    >>> learner.predict([[1.5], [5.5]])
    array([[0, 1],
           [1, 0]])
    """

    _needs_all: ClassVar[str | None] = "its classes are the labels of whole rows"
    _learns_all_rows: ClassVar[bool] = True
    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "proba": [StrOptions({"marginal", "winner"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        proba: Literal["marginal", "winner"] = "marginal",
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.proba = proba

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        split = split_powerset(data.Y)
        self._fit_problems(data, X, weight, split)
        self.labelsets_ = split.votes.astype(np.int8)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        rows = Rows(clean, X)
        if self.proba == "marginal":
            return self._sum_votes(rows)
        n, m = clean.shape[0], self.labelsets_.shape[0]
        step = max(1, _CELLS_PER_BLOCK // m)
        blocks = [np.arange(a, min(n, a + step)) for a in range(0, n, step)]
        return np.vstack([self._winner_scores(rows.take(block)) for block in blocks])

    def _winner_scores(self, rows: Rows) -> np.ndarray:
        every_class = sp.csr_array(sp.eye_array(self.labelsets_.shape[0]))
        shares = self.estimators_.aggregate(rows, every_class, n_jobs=self.n_jobs)
        best = shares.max(axis=1, keepdims=True)
        return np.where(self._sum_votes(rows, hard=True) > 0, best, 1 - best)

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return self._sum_votes(Rows(clean, X), hard=True).astype(np.int64)


class RAkEL(LearnerWithEstimator):
    """Random k-labelsets (RAkEL): label powersets over random sets of k labels vote.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier of several classes; None is :class:`C45Classifier`, whose
        trees for all sets are grown together.
    labelset_size : int, default=3
        Number of labels k in every set.
    n_estimators : int, default=None
        Number of sets, all different and so at most as many as there are; None is twice the
        number of labels.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    random_state : int, RandomState, Generator or None, default=None
        Draws the sets, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of sets learned at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    subsets_ : ndarray of shape (n_estimators, labelset_size)
        The labels of every set.
    estimators_ : sequence of classifiers
        The label powerset of every set.
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
    LabelPowerset : All labels in one set.

    Notes
    -----
    Every model decides for its most probable labelset, the first of equals. The score of a
    label is the share of the models with it that decide for it, 0 if there are none; it is
    predicted from 0.5 on. With no more labels than ``labelset_size`` there is one set: all. Where
    cells of y are unknown (NaN), a set learns from the rows in which all its labels are known.

    References
    ----------
    .. [1] G. Tsoumakas, I. Katakis and I. Vlahavas, Random k-labelsets for multilabel
           classification. IEEE Transactions on Knowledge and Data Engineering 23, 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelance.learners import RAkEL
    >>> X, y = make_multilabel_classification(n_classes=6, random_state=0)
    >>> learner = RAkEL(random_state=0).fit(X, y)
    >>> learner.subsets_.shape
    (12, 3)
    >>> learner.predict(X[:2])
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 0, 1]])
    """

    _learns_all_rows: ClassVar[bool] = True
    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "labelset_size": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int = 3,
        n_estimators: int | None = None,
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.labelset_size = labelset_size
        self.n_estimators = n_estimators
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        rng, q = as_generator(self.random_state), self.n_labels_
        self.subsets_ = np.arange(q)[None, :]
        if q > self.labelset_size:
            n_estimators = 2 * q if self.n_estimators is None else self.n_estimators
            self.subsets_ = draw_subsets(q, self.labelset_size, n_estimators, rng)
        if q <= self.labelset_size and data.unknown is None:
            split = split_powerset(data.Y)
        else:
            unknown = absent_if_never_known(data.Y, data.unknown)
            split = split_labelsets(data.Y, self.subsets_, unknown)
            self._check_rows_of_sets(split)
        self._fit_problems(data, X, weight, split, rng)
        models_with = np.bincount(self.subsets_.ravel(), minlength=q)
        self._voters = np.maximum(models_with, 1)

    def _check_rows_of_sets(self, split: Reduction) -> None:
        """Raise where no row knows all labels of a set."""
        nothing = np.flatnonzero(split.problems.n_classes == 0)
        if len(nothing):
            labels = name_columns(self.subsets_[nothing[0]], self.label_names_)
            raise UnknownLabelsError(
                "RAkEL needs rows in which all labels of a set are known",
                f"No row knows all of labels {labels}",
                "Lower labelset_size, or use BinaryRelevance, which needs one label at a time",
            )

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._sum_votes(Rows(clean, X), hard=True) / self._voters


def draw_subsets(q: int, k: int, n: int, rng: np.random.Generator) -> Ints:
    """Draw ``n`` different sets of ``k`` of ``q`` labels, all of them if there are no more.

    Every collection of sets is equally likely.
    """
    total = comb(q, k)
    # Drawing again what was drawn before stays rare as long as half of all sets are not drawn.
    if 2 * n >= total:
        every = np.array(list(combinations(range(q), k)))
        return every[np.sort(rng.choice(total, min(n, total), replace=False))]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < n:
        drawn.add(tuple(np.sort(rng.choice(q, k, replace=False)).tolist()))
    return np.array(sorted(drawn))


def split_powerset(Y: sp.csr_array) -> Reduction:
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
    Y: sp.csr_array, subsets: ArrayLike, unknown: sp.csr_array | None = None
) -> Reduction:
    """Return one problem per subset of k labels; its classes are the labelsets within it.

    Parameters
    ----------
    Y : sp.csr_array of shape (n, q)
        Clean labels.
    subsets : array-like of shape (n_problems, k)
        Labels of every subset, ascending.
    unknown : sp.csr_array of shape (n, q) or None
        Cells that are not known; rows with such a label have no class in a subset.
    """
    subsets = np.asarray(subsets)
    n, (n_problems, k) = Y.shape[0], subsets.shape
    if k + n_problems.bit_length() > 62:
        raise InputError(
            "There are more labelsets than 62 bits can number",
            f"There are {n_problems} subsets of {k} labels",
        )
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
    problems = list_problems(
        problem[listed], codes.indices[listed], classes[listed], n_classes, all_rows=True
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
    problems = list_problems(problem, rows, classes - offsets(n_classes)[problem], n_classes)
    return Reduction(problems, _labelset_votes(known, subsets, bits, q))


def _labelset_votes(known: Ints, subsets: Ints, bits: Ints, q: int) -> sp.csr_array:
    """Let labelsets, numbered by subset and code, vote for their labels."""
    slot, place = np.nonzero(known[:, None] & bits)
    labels = subsets[known[slot] >> len(bits), place]
    return sp.csr_array((np.ones(len(slot)), (slot, labels)), shape=(len(known), q))


def _codes(Y: sp.csr_array, subsets: Ints, bits: Ints) -> sp.csc_array:
    """Return every row's labelset within every subset as a number, as (n, n_problems)."""
    n_problems, k = subsets.shape
    cells = (subsets.ravel(), np.repeat(np.arange(n_problems), k))
    weights = sp.csr_array((np.tile(bits, n_problems), cells), shape=(Y.shape[1], n_problems))
    codes = sp.csc_array(Y.astype(np.int64) @ weights)
    codes.sort_indices()
    return codes
