"""Hits and misses, and the rates made of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Confusion:
    """True and false positives and negatives of each label (or each row).

    Every rate here follows one rule: where there was nothing to find and nothing was found
    it is ``zero_division``; any other 0/0 is 0, because then something went wrong. So a rare
    label that is never predicted has precision 0, and predicting a label that no row has
    costs its recall.
    """

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts

    def total(self) -> "Confusion":
        """All labels pooled, for micro averages."""
        tp, fp, fn, tn = (np.array([part.sum()]) for part in self._parts())
        return Confusion(tp, fp, fn, tn)

    def precision(self, *, zero_division: float) -> Values:
        """Share of the predicted that is true."""
        return _rate(self.tp, self.tp + self.fp, self._idle, zero_division)

    def recall(self, *, zero_division: float) -> Values:
        """Share of the true that is predicted."""
        return _rate(self.tp, self.tp + self.fn, self._idle, zero_division)

    def f1(self, *, zero_division: float) -> Values:
        """Harmonic mean of precision and recall, 2TP / (2TP + FP + FN)."""
        return _rate(2 * self.tp, 2 * self.tp + self.fp + self.fn, self._idle, zero_division)

    def specificity(self, *, zero_division: float) -> Values:
        """Recall of the zeros."""
        return self._flipped().recall(zero_division=zero_division)

    def g_mean(self, *, zero_division: float) -> Values:
        """Geometric mean of recall and specificity."""
        recall = self.recall(zero_division=zero_division)
        return np.sqrt(recall * self.specificity(zero_division=zero_division))

    def balanced_accuracy(self, *, zero_division: float) -> Values:
        """Mean of recall and specificity."""
        recall = self.recall(zero_division=zero_division)
        return (recall + self.specificity(zero_division=zero_division)) / 2

    @property
    def support(self) -> Counts:
        """How many ones there are to find."""
        return self.tp + self.fn

    @property
    def _idle(self) -> NDArray[np.bool_]:
        return (self.tp + self.fp + self.fn) == 0

    def _flipped(self) -> "Confusion":
        """The same with zeros and ones exchanged."""
        return Confusion(self.tn, self.fn, self.fp, self.tp)

    def _parts(self) -> tuple[Counts, Counts, Counts, Counts]:
        return self.tp, self.fp, self.fn, self.tn


def count(Y: csr_array, Y_pred: csr_array, *, axis: int = 0) -> Confusion:
    """Count hits and misses of every label (``axis=0``) or of every row (``axis=1``).

    Three sparse sums; scikit-learn's ``multilabel_confusion_matrix`` does the same for
    labels but checks its input a second time and refuses a sparse Y of one label.
    """
    true, predicted = _ones(Y, axis), _ones(Y_pred, axis)
    tp = _ones(Y * Y_pred, axis)
    fp, fn = predicted - tp, true - tp
    return Confusion(tp, fp, fn, Y.shape[axis] - tp - fp - fn)


def _ones(Y: csr_array, axis: int) -> Counts:
    """Number of ones along an axis; the labels are int8, so the sum needs a wider type."""
    return np.asarray(Y.sum(axis=axis, dtype=np.int64)).ravel()


def _rate(part: Counts, whole: Counts, idle: NDArray[np.bool_], zero_division: float) -> Values:
    out = np.where(idle, float(zero_division), 0.0)
    return np.divide(part, whole, out=out, where=whole > 0)
