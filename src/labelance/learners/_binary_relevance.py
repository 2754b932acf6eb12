"""Binary relevance: one classifier per label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance.learners._base import LearnerWithEstimator, Rows, split_labels
from labelance.learners._label_weight import LABEL_WEIGHT


class BinaryRelevance(LearnerWithEstimator):
    """Binary relevance (BR): one classifier per label, each on all rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees for all
        labels are grown together.
    label_weight : "balanced", mapping, array or function, default=None
        What the cells of each label weigh, times ``sample_weight``, which the estimator must take.
        A mapping has, by name or number of a label, the weight of positives or a mapping of both
        classes, such as {0: 1, 1: 5}; other labels have 1. An array has shape (q,), for positives;
        (q, 2), for absence and presence; or (n, q), for all cells. A function of y returns one of
        these. "balanced" is :func:`~labelance.sampling.label_weights`: both classes of a label
        weigh the same.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    n_jobs : int, default=None
        Number of labels fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : sequence of classifiers
        The fitted classifier of every label.
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
    CalibratedLabelRanking : Asks pairs of labels as well.
    RAkEL : Learns small sets of labels together.

    Notes
    -----
    The score of a label is the probability of its presence, and the label is predicted from
    0.5 on. An estimator that has only a ``decision_function``, such as ``LinearSVC``, gives
    margins, which are squeezed into [0, 1] with 0 becoming 0.5: they rank rows and thresholds move
    over them, but they are no probabilities; ``CalibratedClassifierCV`` around it gives those. A
    label that all training rows agree on is predicted like that.
    scikit-learn's ``MultiOutputClassifier`` does the same one label at a time, but refuses sparse y
    and such labels, and returns probabilities as a list. Where cells of y are unknown (NaN), every
    label learns from the rows of which it is known.

    References
    ----------
    .. [1] M. R. Boutell, J. Luo, X. Shen and C. M. Brown, Learning multi-label scene
           classification. Pattern Recognition 37, 2004.

    Examples
    --------
    >>> from labelance.learners import BinaryRelevance
    >>> X = [[0], [1], [2], [3], [4], [5], [6], [7]]
    >>> y = [[0, 1], [0, 1], [0, 1], [1, 1], [1, 0], [1, 0], [1, 0], [1, 0]]
    >>> learner = BinaryRelevance().fit(X, y)
    >>> learner.predict([[1.5], [5.5]])
    array([[0, 1],
           [1, 0]])
    >>> print(learner.estimators_[0].export_text())
    x0 <= 2: 0 (3)
    x0 > 2: 1 (5)
    """

    _fits_each_label = True
    _learns_all_rows: ClassVar[bool] = True
    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        **LABEL_WEIGHT,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        label_weight: Any = None,
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.label_weight = label_weight

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        self._fit_problems(data, X, weight, split_labels(data.Y, data.unknown))

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._sum_votes(Rows(clean, X))
