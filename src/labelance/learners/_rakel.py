"""RAkEL: votes of label powersets over random small sets of labels."""

from __future__ import annotations

from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelance._utils._compat import Interval
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import Data
from labelance._validation._labels import absent_if_never_known
from labelance.exceptions import UnknownLabelsError
from labelance.learners._base import LearnerWithEstimator
from labelance.learners._reduction import Reduction, Rows, split_labelsets, split_powerset


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

    _needs_all: ClassVar[str | None] = None
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

    @property
    def _weights_count_rows(self) -> bool:
        return self._grows_c45()

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
        self.estimators_ = self._trainer(data, X, weight).fit(
            split.problems, n_jobs=self.n_jobs, rng=rng
        )
        models_with = np.bincount(self.subsets_.ravel(), minlength=q)
        self._voters = np.maximum(models_with, 1)
        self._vote_matrix = split.votes

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
        rows = Rows(clean, X)
        votes = self.estimators_.aggregate(rows, self._vote_matrix, hard=True, n_jobs=self.n_jobs)
        return votes / self._voters


def draw_subsets(q: int, k: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
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
