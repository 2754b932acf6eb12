"""ECCRU, ECCRU2 and ECCRU3: chains on balanced samples, and more of them for rarer labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance.decisions._search import (
    SEARCHING,
    ScoredRows,
    ThresholdSearch,
    Variant,
    search_thresholds,
)
from labelance.learners._base import LearnerWithEstimator, Rows
from labelance.learners._chains import ChainFeatures, ChainPlan, Ints, count_chains, fit_chains


class ECCRU(LearnerWithEstimator):
    """Ensemble of classifier chains with random under-sampling (ECCRU).

    Each chain has a bootstrap of the rows, and each of its links learns from all of them that
    are of the minority class of its label and as many others, chosen at random. A link then
    decides about all rows of the bootstrap, and the links after it learn from that decision.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_estimators : int, default=10
        Number c of chains.
    chain_features : {"predicted", "true"}, default="predicted"
        Let links learn from the labels before theirs as the links before them decide, or as
        they are.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
    variant : {"paper", "mulan"}, default="paper"
        "mulan" follows the program of the paper's authors: the bootstrap is drawn once, as
        places in lists of the rows that are shuffled again for every chain; and where no
        value of the grid is any good, the threshold is 0.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get their codes as numbers.
    random_state : int, RandomState, Generator or None, default=None
        Draws orders and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of chains fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : sequence of chains
        Each has ``labels``, in the order of its links, and ``models``, the classifiers of the
        links. Their features are those of X and after them the labels before, in the order
        of y; trees of C4.5 take all labels, but ask only for those.
    chain_counts_ : ndarray of shape (n_labels,)
        In how many chains every label is.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score, the mean over the chains that it is in, is at
        least this: the threshold with the largest F on all training rows.
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
    ECCRU2 : More chains for rarer labels, fewer for others.
    ECCRU3 : The same, but not too few.

    Notes
    -----
    Where cells of y are unknown (NaN), a label counts, and its links learn from, the rows in which
    it is known; with ``chain_features="true"`` a link decides about the others for those after it.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> learner = ECCRU(n_estimators=4, random_state=0).fit(X, y)
    >>> learner.chain_counts_
    array([4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    >>> learner.predict(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        **SEARCHING,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "chain_features": [StrOptions({"true", "predicted"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        chain_features: ChainFeatures = "predicted",
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
        self.n_estimators = n_estimators
        self.chain_features = chain_features

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        n, rng = data.n_samples, as_generator(self.random_state)
        ones = column_counts(data.Y)
        wanted = self._wanted_chains(np.minimum(ones, data.labels.n_known - ones))
        plans = self._plan_chains(open_labels_by_chain(wanted), n, rng)
        self.chain_counts_ = count_chains([plan.labels for plan in plans], self.n_labels_)
        trainer, names = self._trainer(data, X, weight), self.label_names_
        self.estimators_ = fit_chains(trainer, data, plans, self.chain_features, names, self.n_jobs)
        rows = ScoredRows.of(data.Y, self._scores(data.X, X), data.unknown, weight)
        found = search_thresholds(
            rows, search=self.threshold_search, variant=self.variant, names=self.label_names_
        )
        # The score of a label that all known rows agree on is 0 or 1 for every row.
        self.thresholds_ = np.where(rows.vary(), found.own, 0.5)

    def _thresholds(self) -> np.ndarray:
        return self.thresholds_

    def _wanted_chains(self, minority: Ints) -> Ints:
        """Return the number of chains that every label is to be in, by its minority rows."""
        return np.full(len(minority), self.n_estimators)

    def _plan_chains(self, labels: list[Ints], n: int, rng: np.random.Generator) -> list[ChainPlan]:
        places = rng.integers(n, size=n)
        plans = []
        for some, stream in zip(labels, rng.spawn(len(labels))):
            order = stream.permutation(some)
            shared = self.variant == "mulan"
            bag = stream.permutation(n)[places] if shared else stream.integers(n, size=n)
            plans.append(ChainPlan(order, bag, stream, balanced=True))
        return plans

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        total = self.estimators_.aggregate(Rows(clean, X), votes=False, n_jobs=self.n_jobs)
        return total / self.chain_counts_


def open_labels_by_chain(wanted: Ints) -> list[Ints]:
    """Return the labels of every chain t = 1, 2, …: those that want at least t chains.

    There is no chain of one label only, unless that is all there is.
    """
    chains = []
    for t in range(1, wanted.max() + 1):
        still_open = np.flatnonzero(wanted >= t)
        if len(still_open) == 1 < len(wanted):
            break
        chains.append(still_open)
    return chains


class ECCRU2(ECCRU):
    """ECCRU with more chains for rarer labels, and fewer for others.

    Balanced samples of a rare label are small, so that chains are cheap and see few of the
    majority rows. With m the rows of the minority class of a label, the label is in
    ``n_estimators`` * mean m / m chains: each label learns from about as many rows in all.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_estimators : int, default=10
        Number c of chains of a label with as many minority rows as the mean.
    theta_max : float, default=10
        At most ``theta_max * n_estimators`` chains have a label.
    chain_features : {"predicted", "true"}, default="predicted"
        Let links learn from the labels before theirs as the links before them decide, or as
        they are.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
    variant : {"paper", "mulan"}, default="paper"
        "mulan" follows the program of the paper's authors: the bootstrap is drawn once, as
        places in lists of the rows that are shuffled again for every chain; and where no
        value of the grid is any good, the threshold is 0.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get their codes as numbers.
    random_state : int, RandomState, Generator or None, default=None
        Draws orders and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of chains fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_, chain_counts_, thresholds_
        As in :class:`ECCRU`. Chain t is over the labels that want at least t chains; when only
        one label is left, no more chains are made, so that it may get fewer than it wants.
    n_labels_, label_names_, n_features_in_, feature_names_in_
        As in :class:`ECCRU`.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU2
    >>> X, y = make_multilabel_imbalanced(200, 5, n_labels=4, random_state=0)
    >>> learner = ECCRU2(random_state=0).fit(X, y)
    >>> learner.chain_counts_.max() == len(learner.estimators_)
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
        n_estimators: int = 10,
        theta_max: float = 10,
        chain_features: ChainFeatures = "predicted",
        threshold_search: ThresholdSearch = "exact",
        variant: Variant = "paper",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            chain_features=chain_features,
            threshold_search=threshold_search,
            variant=variant,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.theta_max = theta_max

    def _wanted_chains(self, minority: Ints) -> Ints:
        return share_chains(minority, self.n_estimators, 0, self.theta_max)


class ECCRU3(ECCRU2):
    """ECCRU2 with a least number of chains: more for rarer labels, but not too few for others.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_estimators : int, default=10
        Number c of chains of a label with as many minority rows as the mean.
    theta_max : float, default=10
        At most ``theta_max * n_estimators`` chains have a label.
    theta_min : float, default=0.5
        At least ``theta_min * n_estimators`` chains have a label.
    chain_features : {"predicted", "true"}, default="predicted"
        Let links learn from the labels before theirs as the links before them decide, or as
        they are.
    threshold_search : {"exact", "grid"}, default="exact"
        Try every distinct score, or 0.05, 0.10, … 0.95 as the authors' program does.
    variant : {"paper", "mulan"}, default="paper"
        "mulan" follows the program of the paper's authors: the bootstrap is drawn once, as
        places in lists of the rows that are shuffled again for every chain; and where no
        value of the grid is any good, the threshold is 0.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get their codes as numbers.
    random_state : int, RandomState, Generator or None, default=None
        Draws orders and rows, and seeds the estimators that have a ``random_state``.
    n_jobs : int, default=None
        Number of chains fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_, chain_counts_, thresholds_
        As in :class:`ECCRU2`.
    n_labels_, label_names_, n_features_in_, feature_names_in_
        As in :class:`ECCRU`.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU3
    >>> X, y = make_multilabel_imbalanced(200, 5, n_labels=4, random_state=0)
    >>> learner = ECCRU3(random_state=0).fit(X, y)
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
        n_estimators: int = 10,
        theta_max: float = 10,
        theta_min: float = 0.5,
        chain_features: ChainFeatures = "predicted",
        threshold_search: ThresholdSearch = "exact",
        variant: Variant = "paper",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators=n_estimators,
            theta_max=theta_max,
            chain_features=chain_features,
            threshold_search=threshold_search,
            variant=variant,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.theta_min = theta_min

    def _wanted_chains(self, minority: Ints) -> Ints:
        return share_chains(minority, self.n_estimators, self.theta_min, self.theta_max)


def share_chains(minority: Ints, c: int, theta_min: float, theta_max: float) -> Ints:
    """Return the number of chains b_j of every label j: c times mean m over m_j, within bounds.

    Labels without minority rows get c chains, and are left out of the mean.
    """
    known = minority > 0
    wanted = np.full(len(minority), c)
    if known.any():
        fair = minority[known].mean() / minority[known]
        fewest, most = _floor(c * np.array([theta_min, theta_max]))
        wanted[known] = np.clip(_floor(c * fair), max(1, fewest), most)
    return wanted


def _floor(numbers: NDArray[np.float64]) -> Ints:
    """Cut off the fractions of products; what is 29 but for rounding stays 29."""
    return np.floor(np.round(numbers, 9)).astype(np.int64)
