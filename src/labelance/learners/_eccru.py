"""ECCRU: chains that learn from balanced samples, more of them for rarer labels."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from labelance._utils import RandomStateLike, as_generator
from labelance._validation import CategoricalFeatures, Data
from labelance.learners._chains import ChainFeatures, ChainPlan, Ints, count_chains
from labelance.learners._fit_chains import fit_chains
from labelance.learners._models import Rows
from labelance.learners._with_thresholds import LearnerWithThresholds, ThresholdSearch


class ECCRU(LearnerWithThresholds):
    """Ensemble of classifier chains with random under-sampling (ECCRU).

    Each chain has a bootstrap of the rows, and each of its links learns from all of them that
    are of the minority class of its label and as many others, chosen at random. A link then
    decides about all rows of the bootstrap, and the links after it learn from that decision.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_chains : int, default=10
        Number c of chains.
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
    chains_ : sequence of chains
        Each has ``labels``, in the order of its links, and ``models``, the classifiers of the
        links. Their features are those of X and behind them the labels before, in the order
        of Y; trees of C4.5 take all labels, but ask only for those.
    chain_counts_ : ndarray of shape (n_labels,)
        In how many chains every label is.
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its score, the mean over the chains that it is in, is at
        least this: the threshold with the largest F on all training rows.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where Y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    See Also
    --------
    ECCRU2 : More chains for rarer labels, fewer for others.
    ECCRU3 : The same, but not too few.

    References
    ----------
    .. [1] B. Liu and G. Tsoumakas, Making classifier chains resilient to class imbalance.
           ACML, 2018.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.learners import ECCRU
    >>> X, Y = make_multilabel_imbalanced(200, random_state=0)
    >>> learner = ECCRU(n_chains=4, random_state=0).fit(X, Y)
    >>> learner.chain_counts_
    array([4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
    >>> learner.predict(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithThresholds._parameter_constraints,
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "chain_features": [StrOptions({"true", "predicted"})],
        "bootstrap_seed": [StrOptions({"fresh", "shared"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_chains: int = 10,
        chain_features: ChainFeatures = "predicted",
        bootstrap_seed: Literal["fresh", "shared"] = "fresh",
        threshold_search: ThresholdSearch = "exact",
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            threshold_search=threshold_search,
            categorical_features=categorical_features,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.n_chains = n_chains
        self.chain_features = chain_features
        self.bootstrap_seed = bootstrap_seed

    def _fit(self, data: Data, X: Any) -> None:
        n, rng = data.n_samples, as_generator(self.random_state)
        ones = np.bincount(data.Y.indices, minlength=self.n_labels_)
        wanted = self._wanted_chains(np.minimum(ones, n - ones))
        plans = self._plan_chains(open_labels_by_chain(wanted), n, rng)
        self.chain_counts_ = count_chains([plan.labels for plan in plans], self.n_labels_)
        self.chains_ = fit_chains(
            self._trainer(data, X),
            data.X,
            data.Y,
            plans,
            features=self.chain_features,
            label_names=self.label_names_,
            n_jobs=self.n_jobs,
        )
        self._find_thresholds(data, X)

    def _wanted_chains(self, minority: Ints) -> Ints:
        """Return the number of chains that every label is to be in, by its minority rows."""
        return np.full(len(minority), self.n_chains)

    def _plan_chains(self, labels: list[Ints], n: int, rng: np.random.Generator) -> list[ChainPlan]:
        places = rng.integers(n, size=n)
        plans = []
        for some, stream in zip(labels, rng.spawn(len(labels))):
            order = stream.permutation(some)
            fresh = self.bootstrap_seed == "fresh"
            bag = stream.integers(n, size=n) if fresh else stream.permutation(n)[places]
            plans.append(ChainPlan(order, bag, stream, balanced=True))
        return plans

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        total = self.chains_.add_up(Rows(clean, X), votes=False, n_jobs=self.n_jobs)
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
