"""IRUS: many members for every label, each with more minority than majority rows."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._utils._compat import Interval
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, absent_if_never_known
from labelance.imbalance._local import minority_matrix, minority_values
from labelance.learners._base import LearnerWithEstimator, Reduction, Rows
from labelance.learners._kernels import deal_majority
from labelance.learners.tree import Problems
from labelance.learners.tree._data import offsets

Ints = NDArray[np.int64]


class IRUS(LearnerWithEstimator):
    """Inverse random under-sampling (a reconstruction): imbalance turned around, in many members.

    For every label many classifiers learn, each from all minority rows and from a few majority
    rows: fewer than the minority has. So each of them leans towards the minority, and their mean
    takes back what is too much. Among them they see the majority rows, which plain
    under-sampling throws away.

    It helps where the minority is rare but not tiny: with five minority rows and two others a
    classifier learns little. It hurts the precision of labels that are not rare.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees for all labels
        and members are grown together.
    n_estimators : int, default=50
        Members of every label.
    majority_ratio : float, default=0.5
        Majority rows of a member, as a share of the minority rows, rounded down; at least one.
        Below 1 the imbalance is turned around, at 1 it is gone, as in COCOA and ECCRU.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    random_state : int, RandomState, Generator or None, default=None
        Chooses the rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of classifiers fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : sequence of classifiers
        The members of the first label, then those of the second, and so on.
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
    COCOA : Balanced samples, and couples of labels.
    PerLabel : One resampled training set for every label.

    Notes
    -----
    The score of a label is the mean probability that its members give, and it is predicted from
    0.5 on; :class:`labelance.decisions.LabelThresholds` finds other thresholds.

    A reconstruction: of the paper we know its summary, and how others describe it. From there: all
    minority rows in every set, fewer majority rows than those, a great number of sets, a classifier
    for each, and their outputs combined; for many labels, label by label. Ours are: 50 members,
    half as many majority as minority rows, and the mean as the combination; and majority rows are
    dealt out, so that all of them are used once before one is used again. The minority class of a
    label may be its absence. Rows in which a label is unknown (NaN) are in none of its members.

    Cost: labels times members fits, each on 1.5 times the minority rows.

    References
    ----------
    .. [1] M. A. Tahir, J. Kittler and F. Yan, Inverse random under sampling for class imbalance
           problem and its application to multi-label classification. Pattern Recognition 45,
           2012.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import IRUS
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> learner = IRUS(n_estimators=20, random_state=0).fit(X, y)
    >>> learner.predict(X).shape, len(learner.estimators_)
    ((200, 10), 200)
    """

    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "majority_ratio": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        majority_ratio: float = 0.5,
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.n_estimators = n_estimators
        self.majority_ratio = majority_ratio
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        rng = as_generator(self.random_state)
        split = split_inversely(
            data.Y, self.n_estimators, self.majority_ratio, rng, unknown=data.unknown
        )
        self._fit_problems(data, X, weight, split, rng)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        n_members = len(self.estimators_) // self.n_labels_
        # A sum of probabilities may exceed the number of members by its last digit.
        return np.minimum(self._sum_votes(Rows(clean, X)) / n_members, 1.0)


def split_inversely(
    Y: sp.csr_array,
    n_members: int,
    ratio: float,
    rng: np.random.Generator,
    *,
    unknown: sp.csr_array | None = None,
) -> Reduction:
    """Return the problems of every label's members: all minority rows, and some of the others.

    Rows in which a label is ``unknown`` are neither. Their class 1, presence, votes for the label.
    """
    n, q = Y.shape
    unknown = absent_if_never_known(Y, unknown)
    value = minority_values(Y, unknown)
    M = minority_matrix(Y, value, unknown)
    minority, no_majority = sp.csc_array(M), sp.csc_array(M if unknown is None else M + unknown)
    minority.sort_indices()
    rare = np.diff(minority.indptr).astype(np.int64)
    common_rows = n - np.diff(no_majority.indptr).astype(np.int64)
    wanted = np.floor(np.round(ratio * rare, 9)).clip(1, common_rows).astype(np.int64)
    sizes = np.repeat(rare + wanted, n_members)
    rows, is_rare = deal_majority(
        minority.indptr.astype(np.int64),
        minority.indices.astype(np.int64),
        no_majority.indptr.astype(np.int64),
        no_majority.indices.astype(np.int64),
        n,
        wanted,
        n_members,
        rng.random(n_members * wanted.sum()),
    )
    common = np.repeat(1 - value, n_members)
    targets = np.where(is_rare, 1 - np.repeat(common, sizes), np.repeat(common, sizes))
    n_classes = np.full(q * n_members, 2, dtype=np.int32)
    problems = Problems(n_classes, offsets(sizes), rows, targets.astype(np.int32), False)
    slots = 2 * np.arange(q * n_members) + 1
    cells = (np.ones(len(slots)), (slots, np.repeat(np.arange(q), n_members)))
    return Reduction(problems, sp.csr_array(cells, shape=(2 * len(slots), q)))
