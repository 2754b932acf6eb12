"""Label powerset: one classifier whose classes are the labelsets."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from labelance._utils._compat import StrOptions
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance.learners._base import LearnerWithEstimator
from labelance.learners._reduction import Rows, split_powerset

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

    @property
    def _weights_count_rows(self) -> bool:
        return self._grows_c45()

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        split = split_powerset(data.Y)
        self.estimators_ = self._trainer(data, X, weight).fit(split.problems, n_jobs=self.n_jobs)
        self._vote_matrix = split.votes
        self.labelsets_ = split.votes.astype(np.int8)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        rows = Rows(clean, X)
        if self.proba == "marginal":
            return self.estimators_.aggregate(rows, self._vote_matrix, n_jobs=self.n_jobs)
        n, m = clean.shape[0], len(self._vote_matrix.indptr) - 1
        step = max(1, _CELLS_PER_BLOCK // m)
        blocks = [np.arange(a, min(n, a + step)) for a in range(0, n, step)]
        return np.vstack([self._winner_scores(rows.take(block)) for block in blocks])

    def _winner_scores(self, rows: Rows) -> np.ndarray:
        every_class = sp.csr_array(sp.eye_array(self._vote_matrix.shape[0]))
        best = self.estimators_.aggregate(rows, every_class, n_jobs=self.n_jobs).max(
            axis=1, keepdims=True
        )
        return np.where(self._winners(rows) > 0, best, 1 - best)

    def _winners(self, rows: Rows) -> np.ndarray:
        return self.estimators_.aggregate(rows, self._vote_matrix, hard=True, n_jobs=self.n_jobs)

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return self._winners(Rows(clean, X)).astype(np.int64)
