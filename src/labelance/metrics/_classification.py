"""Measures of 0/1 predictions: by label, averaged over labels, over all cells, over rows."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._validation._predictions import check_average, validate_predictions

Counts = NDArray[np.int64]
Values = NDArray[np.float64]
Average = Literal["macro"] | None


class Confusion(NamedTuple):
    """True and false positives and negatives of each label (or each row).

    Every rate here follows one rule: where there was nothing to find and nothing was found
    it is ``zero_division``; any other 0/0 is 0, because then something went wrong. So a rare
    label that is never predicted has precision 0, and predicting a label that no row has
    costs its recall. Without any known cell, it is nan. With ``zero_division=0`` all rates
    are scikit-learn's.
    """

    tp: Counts
    fp: Counts
    fn: Counts
    tn: Counts

    def total(self) -> "Confusion":
        """All labels pooled, for micro averages."""
        return Confusion(*(np.array([part.sum()]) for part in self))

    def precision(self, *, zero_division: float) -> Values:
        """Share of the predicted that is true."""
        return self._rate(self.tp, self.tp + self.fp, zero_division)

    def recall(self, *, zero_division: float) -> Values:
        """Share of the true that is predicted."""
        return self._rate(self.tp, self.tp + self.fn, zero_division)

    def f1(self, *, zero_division: float) -> Values:
        """Harmonic mean of precision and recall, 2TP / (2TP + FP + FN)."""
        return self._rate(2 * self.tp, 2 * self.tp + self.fp + self.fn, zero_division)

    def specificity(self, *, zero_division: float) -> Values:
        """Recall of the zeros."""
        return Confusion(self.tn, self.fn, self.fp, self.tp).recall(zero_division=zero_division)

    def g_mean(self, *, zero_division: float) -> Values:
        """Geometric mean of recall and specificity."""
        recall = self.recall(zero_division=zero_division)
        return np.sqrt(recall * self.specificity(zero_division=zero_division))

    def balanced_accuracy(self, *, zero_division: float | None) -> Values:
        """Mean of recall and specificity; of the one that exists, if ``zero_division`` is None."""
        recall = self.recall(zero_division=zero_division or 0.0)
        specificity = self.specificity(zero_division=zero_division or 0.0)
        if zero_division is None:
            recall = np.where(self.support > 0, recall, specificity)
            specificity = np.where(self.tn + self.fp > 0, specificity, recall)
        return (recall + specificity) / 2

    @property
    def support(self) -> Counts:
        """How many ones there are to find."""
        return self.tp + self.fn

    @property
    def _idle(self) -> NDArray[np.bool_]:
        return (self.tp + self.fp + self.fn) == 0

    def _rate(self, part: Counts, whole: Counts, zero_division: float) -> Values:
        out = np.where(self._idle, float(zero_division), 0.0)
        out[self._idle & (self.tn == 0)] = np.nan  # no cell is known
        return np.divide(part, whole, out=out, where=whole > 0)


def count_confusion(
    Y: csr_array, Y_pred: csr_array, *, axis: int = 0, unknown: csr_array | None = None
) -> Confusion:
    """Count hits and misses of every label (``axis=0``) or of every row (``axis=1``).

    Cells that are ``unknown`` count nowhere.

    Three sparse sums; scikit-learn's ``multilabel_confusion_matrix`` does the same for
    labels but checks its input a second time and refuses a sparse Y of one label.
    """
    true, predicted, n_cells = _ones(Y, axis), _ones(Y_pred, axis), Y.shape[axis]
    if unknown is not None:
        predicted = predicted - _ones(Y_pred * unknown, axis)
        n_cells = n_cells - _ones(unknown, axis)
    tp = _ones(Y * Y_pred, axis)
    fp, fn = predicted - tp, true - tp
    return Confusion(tp, fp, fn, n_cells - tp - fp - fn)


def _ones(Y: csr_array, axis: int) -> Counts:
    """Count the ones along an axis; the labels are int8, so the sum needs a wider type."""
    return np.asarray(Y.sum(axis=axis, dtype=np.int64)).ravel()


def macro_f1(
    y_true: Any,
    y_pred: Any,
    *,
    average: Average = "macro",
    zero_division: float = 0,
) -> Any:
    """Mean over all labels of F = 2TP / (2TP + FP + FN).

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float, default=0
        F of a label that no row has and that is never predicted. 0 as in scikit-learn, which
        also warns; the paper's program takes 1. ``nan`` leaves such labels out of the mean.

    Returns
    -------
    float or ndarray of shape (q,)

    Examples
    --------
    >>> from labelance.metrics import macro_f1
    >>> y_true = [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> y_pred = [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    >>> round(macro_f1(y_true, y_pred), 4)
    0.4444
    >>> round(macro_f1(y_true, y_pred, zero_division=1), 4)  # as the paper's program
    0.7778
    >>> macro_f1(y_true, y_pred, average=None).round(4)
    array([0.6667, 0.6667, 0.    ])
    >>> y_true = [[1, 0, 0], [float("nan"), 1, 0], [0, 1, 0]]
    >>> macro_f1(y_true, y_pred, average=None).round(4)
    array([1.    , 0.6667, 0.    ])
    """
    confusion = _label_confusion(y_true, y_pred, caller="macro_f1")
    return average_labels(confusion.f1(zero_division=zero_division), average)


def macro_g_mean(
    y_true: Any,
    y_pred: Any,
    *,
    average: Average = "macro",
    zero_division: float = 0,
) -> Any:
    """Mean over all labels of the geometric mean of recall and specificity.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float, default=0
        Recall where no row has the label and none is predicted to have it, and specificity
        where all have it and all are predicted to. Any other 0/0 counts as 0.

    Returns
    -------
    float or ndarray of shape (q,)

    Examples
    --------
    >>> from labelance.metrics import macro_g_mean
    >>> round(macro_g_mean([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.7071
    """
    confusion = _label_confusion(y_true, y_pred, caller="macro_g_mean")
    return average_labels(confusion.g_mean(zero_division=zero_division), average)


def macro_balanced_accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    average: Average = "macro",
    zero_division: float | None = None,
) -> Any:
    """Mean over all labels of the mean of recall and specificity.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float or None, default=None
        ``None`` takes only the recall or only the specificity of a label that all rows have or
        that none has, as scikit-learn's ``balanced_accuracy_score`` does. A number counts as in
        :func:`macro_g_mean`.

    Returns
    -------
    float or ndarray of shape (q,)

    Examples
    --------
    >>> from labelance.metrics import macro_balanced_accuracy
    >>> macro_balanced_accuracy([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]])
    0.75
    """
    confusion = _label_confusion(y_true, y_pred, caller="macro_balanced_accuracy")
    return average_labels(confusion.balanced_accuracy(zero_division=zero_division), average)


def _label_confusion(y_true: Any, y_pred: Any, *, caller: str) -> Confusion:
    Y, Y_pred, _, unknown = validate_predictions(y_true, y_pred, caller=caller, needs_all=None)
    return count_confusion(Y, Y_pred, unknown=unknown)


def average_labels(of_labels: Values, average: Average) -> Any:
    """Average over labels, leaving out those that are undefined."""
    check_average(average)
    return of_labels if average is None else mean_of_defined(of_labels)


def mean_of_defined(values: Values) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def micro_f1(y_true: Any, y_pred: Any, *, zero_division: float = 0) -> float:
    """F of all labels pooled: hits and misses are added up before dividing.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.
    zero_division : float, default=0
        The value if there is no label to find and none was predicted.

    Returns
    -------
    float

    Examples
    --------
    >>> from labelance.metrics import micro_f1
    >>> round(micro_f1([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.6667
    """
    confusion = _label_confusion(y_true, y_pred, caller="micro_f1")
    return float(confusion.total().f1(zero_division=zero_division)[0])


def example_f1(y_true: Any, y_pred: Any, *, zero_division: float = 0) -> float:
    """Mean over rows of the F between the true and the predicted labels of a row.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.
    zero_division : float, default=0
        F of a row without labels for which none was predicted; ``nan`` leaves it out.

    Returns
    -------
    float

    Examples
    --------
    >>> from labelance.metrics import example_f1
    >>> round(example_f1([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.5556
    """
    both = validate_predictions(y_true, y_pred, caller="example_f1", needs_all=None)
    of_rows = count_confusion(both.Y, both.Y_pred, axis=1, unknown=both.unknown)
    return mean_of_defined(of_rows.f1(zero_division=zero_division))


# scikit-learn has the next two, but refuses a sparse Y of a single label.


def hamming_loss(y_true: Any, y_pred: Any) -> float:
    """Share of cells predicted wrongly; with rare labels, predicting nothing already looks good.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1. Cells of y_true that are unknown (NaN) are left out.

    Returns
    -------
    float

    Examples
    --------
    >>> from labelance.metrics import hamming_loss
    >>> round(hamming_loss([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.3333
    """
    pooled = _label_confusion(y_true, y_pred, caller="hamming_loss").total()
    wrong, right = pooled.fp + pooled.fn, pooled.tp + pooled.tn
    return float(wrong[0] / (wrong + right)[0]) if (wrong + right)[0] else float("nan")


def subset_accuracy(y_true: Any, y_pred: Any) -> float:
    """Share of rows whose labels are all predicted rightly.

    Parameters
    ----------
    y_true, y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from labelance.metrics import subset_accuracy
    >>> round(subset_accuracy([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.3333
    """
    whole = "a row is right only if all its labels are"
    Y, Y_pred, *_ = validate_predictions(y_true, y_pred, caller="subset_accuracy", needs_all=whole)
    wrong = Y != Y_pred
    return float(np.mean(wrong.sum(axis=1) == 0))
