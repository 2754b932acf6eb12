"""ECC: an ensemble of classifier chains."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from labelance._utils._compat import Interval, StrOptions
from labelance._utils._random import RandomStateLike, as_generator
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data, known_cells, take_unknown
from labelance.learners._base import Floats, LearnerWithEstimator, Rows
from labelance.learners._chains import ChainFeatures, ChainPlan, Ints, fit_chains
from labelance.learners._label_weight import LABEL_WEIGHT

SHARE_WITHOUT_BOOTSTRAP = 0.67


class ECC(LearnerWithEstimator):
    """Ensemble of classifier chains (ECC).

    A chain puts the labels in a random order and learns them one after the other, each from X
    and the labels before it; when it predicts, its own decisions take their place. Each chain
    learns from rows of its own, and the score of a label is the mean over the chains.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees of all chains
        are grown side by side.
    n_estimators : int, default=10
        Number of chains.
    bootstrap : bool, default=True
        Draw the rows of every chain with replacement, as many as there are; else 67% of them
        without.
    chain_features : {"true", "predicted"}, default="true"
        Let links learn from the labels before theirs as they are, or as the links before them
        decide about the rows, as they will have to when they predict.
    use_votes : bool, default=False
        Average the decisions of the chains, not the probabilities.
    threshold : float or "cardinality", default=0.5
        A label is predicted where its score is at least this. "cardinality" chooses the
        threshold that predicts as many labels as the training rows have, judged by rows that
        the chains did not learn from.
    label_weight : "balanced", mapping, array or function, default=None
        What the cells of each label weigh, as in :class:`BinaryRelevance`; found once, in all rows.
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
    threshold_ : float
        A label is predicted where its score is at least this.
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
    ECCRU3 : Chains for imbalanced labels.

    Notes
    -----
    scikit-learn's ``ClassifierChain`` is one such chain, but refuses sparse y and labels that
    all rows agree on, and knows no categorical features. The authors of the method choose the
    threshold by cardinality on the rows to be predicted; rows that chains left out serve as
    well, and keep the prediction of a row from depending on the other rows.

    Where cells of y are unknown (NaN), a link learns from the rows in which its label is known, and
    decides about the others for the links after it, as it does for new rows.

    References
    ----------
    .. [1] J. Read, B. Pfahringer, G. Holmes and E. Frank, Classifier chains for multi-label
           classification. Machine Learning 85, 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from labelance.learners import ECC
    >>> X, y = make_multilabel_classification(n_classes=4, random_state=0)
    >>> learner = ECC(random_state=0).fit(X, y)
    >>> len(learner.estimators_), sorted(learner.estimators_[0].labels.tolist())
    (10, [0, 1, 2, 3])
    >>> learner.predict_proba(X).shape
    (100, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "chain_features": [StrOptions({"true", "predicted"})],
        "use_votes": ["boolean"],
        "threshold": [Interval(Real, 0, 1, closed="both"), StrOptions({"cardinality"})],
        **LABEL_WEIGHT,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        bootstrap: bool = True,
        chain_features: ChainFeatures = "true",
        use_votes: bool = False,
        threshold: float | Literal["cardinality"] = 0.5,
        label_weight: Any = None,
        categorical_features: CategoricalFeatures = None,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.n_estimators = n_estimators
        self.bootstrap = bootstrap
        self.chain_features = chain_features
        self.use_votes = use_votes
        self.threshold = threshold
        self.label_weight = label_weight
        self.random_state = random_state

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        rng, n = as_generator(self.random_state), data.n_samples
        plans = [
            ChainPlan(stream.permutation(self.n_labels_), self._draw_bag(n, stream), stream, False)
            for stream in rng.spawn(self.n_estimators)
        ]
        trainer, names = self._trainer(data, X, weight), self.label_names_
        self.estimators_ = fit_chains(trainer, data, plans, self.chain_features, names, self.n_jobs)
        self.threshold_ = self.threshold
        if self.threshold == "cardinality":
            rows, scores = self._out_of_bag_scores(data, X, [plan.bag for plan in plans])
            known = known_cells(take_unknown(data.unknown, rows))
            self.threshold_ = cardinality_threshold(
                scores if known is None else scores[known], data.Y[rows].nnz
            )

    def _draw_bag(self, n: int, rng: np.random.Generator) -> Ints:
        if self.bootstrap:
            return rng.integers(n, size=n)
        return rng.choice(n, max(1, int(SHARE_WITHOUT_BOOTSTRAP * n)), replace=False)

    def _out_of_bag_scores(self, data: Data, X: Any, bags: list[Ints]) -> tuple[Ints, Floats]:
        """Return the rows that chains left out, scored by those that did; all rows if none."""
        n, rows = data.n_samples, Rows(data.X, X)
        total, voters = np.zeros(data.Y.shape), np.zeros(n)
        for c, bag in enumerate(bags):
            left_out = np.setdiff1d(np.arange(n), bag)
            if len(left_out):
                total[left_out] += self._aggregate(self.estimators_.take(c), rows.take(left_out))
                voters[left_out] += 1
        tells = np.full(n, True)  # anything about a label
        if data.unknown is not None:
            tells = np.diff(data.unknown.indptr) < self.n_labels_
        scored = np.flatnonzero((voters > 0) & tells)
        if len(scored) == 0:
            return np.arange(n), self._scores(data.X, X)
        return scored, total[scored] / voters[scored, None]

    def _aggregate(self, chains: Any, rows: Rows) -> Floats:
        return chains.aggregate(rows, votes=self.use_votes, n_jobs=self.n_jobs)

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._aggregate(self.estimators_, Rows(clean, X)) / len(self.estimators_)

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        return (self._scores(clean, X) >= self.threshold_).astype(np.int64)


def cardinality_threshold(scores: NDArray[np.float64], wanted: int) -> float:
    """Return the score t for which the number of scores >= t comes closest to ``wanted``.

    Of two that come equally close it is the larger; infinity stands for no score at all.
    """
    values, counts = np.unique(scores, return_counts=True)
    thresholds = np.append(np.inf, values[::-1])
    reached = np.append(0, np.cumsum(counts[::-1]))
    return float(thresholds[np.argmin(abs(reached - wanted))])
