"""ECCRU2 and ECCRU3: the rarer a label, the more chains have it."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from labelance._utils import RandomStateLike
from labelance._validation import CategoricalFeatures
from labelance.learners._chains import ChainFeatures, Ints
from labelance.learners._eccru import ECCRU
from labelance.learners._with_thresholds import ThresholdSearch


class ECCRU2(ECCRU):
    """ECCRU with more chains for rarer labels, and fewer for others.

    Balanced samples of a rare label are small, so that chains are cheap and see few of the
    majority rows. With m the rows of the minority class of a label, the label is in
    ``n_chains`` * mean m / m chains: each label learns from about as many rows in all.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_chains : int, default=10
        Number c of chains of a label with as many minority rows as the mean.
    theta_max : float, default=10
        At most ``theta_max * n_chains`` chains have a label.
    chain_features : {"predicted", "true"}, default="predicted"
        Let links learn from the labels before theirs as the links before them decide, or as
        they are.
    bootstrap_seed : {"fresh", "shared"}, default="fresh"
        Draw every bootstrap anew; or once, as places in lists of the rows that are shuffled
        anew, which is what the program of the paper's authors does.
    threshold_search : {"exact", "grid", "grid_mulan"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
        "grid_mulan" follows it also where no value of the grid is any good.
    categorical_features : None, mask, column numbers or names, default=None
        Nominal columns of X. A data frame's categorical columns are nominal in any case. Only
        C4.5 is told; other estimators get their codes as numbers.
    random_state : int, RandomState, Generator or None, default=None
        Draws orders and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of chains fitted at a time; the result does not depend on it.

    Attributes
    ----------
    chains_, chain_counts_, thresholds_, n_labels_, label_names_, n_features_in_, feature_names_in_
        As in :class:`ECCRU`. Chain t is over the labels that want at least t chains; when only
        one label is left, no more chains are made, so that it may get fewer than it wants.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU2
    >>> X, Y = make_multilabel_imbalanced(200, 5, n_labels=4, random_state=0)
    >>> learner = ECCRU2(random_state=0).fit(X, Y)
    >>> learner.chain_counts_.max() == len(learner.chains_)
    np.True_
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ECCRU._parameter_constraints,
        "theta_max": [Interval(Real, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 10,
        theta_max: float = 10,
        chain_features: ChainFeatures = "predicted",
        bootstrap_seed: Literal["fresh", "shared"] = "fresh",
        threshold_search: ThresholdSearch = "exact",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            n_chains=n_chains,
            chain_features=chain_features,
            bootstrap_seed=bootstrap_seed,
            threshold_search=threshold_search,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.theta_max = theta_max

    def _wanted_chains(self, minority: Ints) -> Ints:
        return share_chains(minority, self.n_chains, 0, self.theta_max)


class ECCRU3(ECCRU2):
    """ECCRU2 with a least number of chains: more for rarer labels, but not too few for others.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_chains : int, default=10
        Number c of chains of a label with as many minority rows as the mean.
    theta_max : float, default=10
        At most ``theta_max * n_chains`` chains have a label.
    theta_min : float, default=0.5
        At least ``theta_min * n_chains`` chains have a label.
    chain_features : {"predicted", "true"}, default="predicted"
        Let links learn from the labels before theirs as the links before them decide, or as
        they are.
    bootstrap_seed : {"fresh", "shared"}, default="fresh"
        Draw every bootstrap anew; or once, as places in lists of the rows that are shuffled
        anew, which is what the program of the paper's authors does.
    threshold_search : {"exact", "grid", "grid_mulan"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
        "grid_mulan" follows it also where no value of the grid is any good.
    categorical_features : None, mask, column numbers or names, default=None
        Nominal columns of X. A data frame's categorical columns are nominal in any case. Only
        C4.5 is told; other estimators get their codes as numbers.
    random_state : int, RandomState, Generator or None, default=None
        Draws orders and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of chains fitted at a time; the result does not depend on it.

    Attributes
    ----------
    chains_, chain_counts_, thresholds_, n_labels_, label_names_, n_features_in_, feature_names_in_
        As in :class:`ECCRU2`.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU3
    >>> X, Y = make_multilabel_imbalanced(200, 5, n_labels=4, random_state=0)
    >>> learner = ECCRU3(random_state=0).fit(X, Y)
    >>> learner.chain_counts_.min() >= 5
    np.True_
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ECCRU2._parameter_constraints,
        "theta_min": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 10,
        theta_max: float = 10,
        theta_min: float = 0.5,
        chain_features: ChainFeatures = "predicted",
        bootstrap_seed: Literal["fresh", "shared"] = "fresh",
        threshold_search: ThresholdSearch = "exact",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            n_chains=n_chains,
            theta_max=theta_max,
            chain_features=chain_features,
            bootstrap_seed=bootstrap_seed,
            threshold_search=threshold_search,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.theta_min = theta_min

    def _wanted_chains(self, minority: Ints) -> Ints:
        return share_chains(minority, self.n_chains, self.theta_min, self.theta_max)


def share_chains(minority: Ints, c: int, theta_min: float, theta_max: float) -> Ints:
    """Return the number of chains b_j of every label j: c times mean m over m_j, within bounds.

    Labels without minority rows get c chains, and are left out of the mean.
    """
    known = minority > 0
    wanted = np.full(len(minority), c)
    if known.any():
        fair = minority[known].mean() / minority[known]
        fewest, most = _whole(c * np.array([theta_min, theta_max]))
        wanted[known] = np.clip(_whole(c * fair), max(1, fewest), most)
    return wanted


def _whole(numbers: NDArray[np.float64]) -> Ints:
    """Cut off the fractions of products; what is 29 but for rounding stays 29."""
    return np.floor(np.round(numbers, 9)).astype(np.int64)
