"""Binary relevance: one classifier per label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelance._arrays._containers import column_counts
from labelance._utils._compat import StrOptions
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures, name_columns
from labelance._validation._data import Data
from labelance._validation._labels import MissingLabels
from labelance.exceptions import LabelFormatError
from labelance.learners._base import LearnerWithEstimator
from labelance.learners._reduction import Rows, split_labels


class BinaryRelevance(LearnerWithEstimator):
    """Binary relevance (BR): one classifier per label, each on all rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees for all
        labels are grown together.
    categorical_features : None, mask, column numbers or names, default=None
        Nominal columns of X. A data frame's categorical columns are nominal in any case. Only
        C4.5 is told; other estimators get X as it is.
    missing_labels : {"error", "ignore"}, default="error"
        What to do with NaN in y, in partially labelled data: refuse it, or let every label learn
        from the rows of which it is known.
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
    0.5 on. An estimator without ``predict_proba``, such as ``LinearSVC``, decides: its scores are 0
    or 1, which rank nothing and leave thresholds nothing to move; ``CalibratedClassifierCV`` around
    it gives probabilities. A label that all training rows agree on is predicted like that.
    scikit-learn's ``MultiOutputClassifier`` does the same one label at a time, but refuses sparse y
    and such labels, and returns probabilities as a list.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "missing_labels": [StrOptions({"error", "ignore"})],
    }

    _fits_each_label = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        categorical_features: CategoricalFeatures = None,
        missing_labels: MissingLabels = "error",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.missing_labels = missing_labels

    @property
    def _weights_count_rows(self) -> bool:
        return self._grows_c45()

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        if data.labels.unknown is not None:
            _check_known_labels(data)
        split = split_labels(data.Y, data.labels.unknown)
        self.estimators_ = self._trainer(data, X, weight).fit(split.problems, n_jobs=self.n_jobs)
        self._vote_matrix = split.votes

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self.estimators_.aggregate(Rows(clean, X), self._vote_matrix, n_jobs=self.n_jobs)


def _check_known_labels(data: Data) -> None:
    """Raise for labels of which no row is known."""
    unknown = np.flatnonzero(column_counts(data.labels.unknown) == data.n_samples)
    if len(unknown):
        raise LabelFormatError(
            "BinaryRelevance learns every label from the rows of which it is known",
            f"no row of {name_columns(unknown, data.labels.names)} is known",
            "Leave these columns out of y",
        )
