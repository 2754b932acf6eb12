"""Calibrated label ranking: votes of all pairs of labels, and of each label with a virtual one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance._utils._compat import StrOptions
from labelance._validation._arguments import Weights
from labelance._validation._categorical import CategoricalFeatures
from labelance._validation._data import Data
from labelance.learners._base import LearnerWithEstimator, Reduction, Rows
from labelance.learners.tree import Problems
from labelance.learners.tree._data import problem_per_label, problem_per_pair

_ROWS_PER_BLOCK = 1 << 19  # of the pairwise problems that are in memory at a time

Ints = NDArray[np.int64]


class CalibratedLabelRanking(LearnerWithEstimator):
    """Calibrated label ranking (CLR): pairs of labels vote, and so does each with a virtual one.

    For every pair of labels a classifier learns, from the rows that have exactly one of them,
    which one it is. For every label a classifier learns whether it is present, that is,
    whether it ranks above a virtual label. Each of them has a vote.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; None is :class:`C45Classifier`, whose trees for all pairs
        are grown together.
    soft : bool, default=False
        Give probabilities to both sides instead of one vote to the more probable.
    variant : {"paper", "mulan"}, default="paper"
        "mulan" lets no pair vote that comes after the first pair without a row, in the order
        (0, 1), (0, 2), … (1, 2), … This is a slip of the program of the paper's authors, here
        to compare with its results.
    categorical_features : None, mask, column numbers or names, default=None
        Categorical columns of X; those of a data frame count in any case. Only
        C4.5 uses them; other estimators get X as it is.
    n_jobs : int, default=None
        Number of classifiers fitted at a time; the result does not depend on it.
    verbose : int, default=0
        1 shows on a terminal how far fitting and predicting are, and how long they still take.

    Attributes
    ----------
    estimators_ : list of sequences of classifiers
        The classifiers of the labels, then those of the pairs, in blocks.
    pairs_ : ndarray of shape (n_pairs, 2)
        The pairs that have a classifier.
    n_labels_ : int
        Number of labels.
    label_names_ : tuple or None
        Their names, where y is a data frame.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X has names that are strings.

    Notes
    -----
    The score of a label is its votes over the number of labels q, which is the most it can
    get. A label is predicted if it has at least as many votes as the virtual label (the
    authors of the method ask for more votes; their followers' program, and the paper, do
    not). Ties within a classifier go to the label before the virtual one, and to the first
    of a pair. Pairs that no row tells apart do not vote. Where cells of y are unknown (NaN), a
    classifier learns from the rows in which its label, or both labels of its pair, are known.

    There are q (q + 1) / 2 classifiers, so this is for some hundreds of labels with trees,
    and some tens with other estimators.

    References
    ----------
    .. [1] J. Fürnkranz, E. Hüllermeier, E. Loza Mencía and K. Brinker, Multilabel
           classification via calibrated label ranking. Machine Learning 73, 2008.

    Examples
    --------
    >>> from labelance.learners import CalibratedLabelRanking
    >>> X = [[0], [1], [2], [3], [4], [5], [6], [7]]
    >>> y = [[0, 1], [0, 1], [0, 1], [1, 1], [1, 0], [1, 0], [1, 0], [1, 0]]
    >>> learner = CalibratedLabelRanking().fit(X, y)
    >>> learner.predict_proba([[1.5], [5.5]])
    array([[0., 1.],
           [1., 0.]])
    """

    _learns_all_rows: ClassVar[bool] = True
    _needs_only_rows: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LearnerWithEstimator._parameter_constraints,
        "soft": ["boolean"],
        "variant": [StrOptions({"paper", "mulan"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        soft: bool = False,
        variant: Literal["paper", "mulan"] = "paper",
        categorical_features: CategoricalFeatures = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, categorical_features=categorical_features, n_jobs=n_jobs, verbose=verbose
        )
        self.soft = soft
        self.variant = variant

    def _fit(self, data: Data, X: Any, weight: Weights = None) -> None:
        trainer = self._trainer(data, X, weight)
        self.estimators_, self._vote_matrices = [], []
        first, second, sizes = self._pairs(data.Y, data.unknown)
        for split in _splits(data.Y, data.unknown, first, second, sizes):
            self.estimators_.append(trainer.fit(split.problems, n_jobs=self.n_jobs))
            self._vote_matrices.append(split.votes)
        self.pairs_ = np.stack([first, second], axis=1)

    def _pairs(self, Y: sp.csr_array, unknown: sp.csr_array | None) -> tuple[Ints, Ints, Ints]:
        """Return the pairs that vote, and how many rows tell their labels apart."""
        first, second = np.triu_indices(Y.shape[1], k=1)
        sizes = _disagreements(Y, unknown)[first, second]
        voting = sizes > 0
        if self.variant == "mulan":
            voting = np.logical_and.accumulate(voting)
        return first[voting], second[voting], sizes[voting]

    def _votes(self, clean: Any, X: Any) -> np.ndarray:
        """Return the votes of every label, and in the last column those of the virtual label."""
        rows = Rows(clean, X)
        total = np.zeros((clean.shape[0], self.n_labels_ + 1))
        for models, votes in zip(self.estimators_, self._vote_matrices):
            total += models.aggregate(
                rows, votes, hard=not self.soft, ties="last", n_jobs=self.n_jobs
            )
        return total

    def _scores(self, clean: Any, X: Any) -> np.ndarray:
        return self._votes(clean, X)[:, :-1] / self.n_labels_

    def _predict(self, clean: Any, X: Any) -> np.ndarray:
        votes = self._votes(clean, X)
        return (votes[:, :-1] >= votes[:, -1:]).astype(np.int64)


def _disagreements(Y: sp.csr_array, unknown: sp.csr_array | None) -> Ints:
    """Return for every two labels the number of rows known to have exactly one of them."""
    ones = Y.T.astype(np.int64)
    together = (ones @ Y.astype(np.int64)).toarray()  # (q, q), as many as models
    counts = together.diagonal()
    apart = counts[:, None] + counts - 2 * together
    if unknown is not None:
        open_pairs = (ones @ unknown.astype(np.int64)).toarray()
        apart -= open_pairs + open_pairs.T
    return apart


def _splits(
    Y: sp.csr_array, unknown: sp.csr_array | None, first: Ints, second: Ints, sizes: Ints
) -> Iterator[Reduction]:
    """Yield the problems of the labels, then those of the pairs, a block at a time.

    The last output is the virtual label q, for which pairs do not vote.
    """
    q = Y.shape[1]
    yield _one_vote(problem_per_label(Y, unknown), np.arange(q), np.full(q, q), q)
    total = np.cumsum(sizes)
    n_blocks = -(-int(total[-1]) // _ROWS_PER_BLOCK) if len(total) else 0
    inner = np.searchsorted(total, np.arange(1, n_blocks) * _ROWS_PER_BLOCK)
    for a, b in pairwise(np.unique([0, *inner, len(sizes)])):
        one, other = first[a:b], second[a:b]
        yield _one_vote(problem_per_pair(Y, one, other, unknown), one, other, q)


def _one_vote(problems: Problems, winner: Ints, loser: Ints, q: int) -> Reduction:
    """Let class 0 of every problem vote for the loser, class 1 for the winner."""
    output = np.stack([loser, winner], axis=1).ravel()
    slots = len(output)
    votes = (np.ones(slots), output, np.arange(slots + 1))
    return Reduction(problems, sp.csr_array(votes, shape=(slots, q + 1)))
