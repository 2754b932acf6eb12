"""Measures of 0/1 predictions over all cells or over rows."""

from typing import Any

import numpy as np

from labelance.metrics._counts import count
from labelance.metrics._door import open_predictions


def micro_f1(Y: Any, Y_pred: Any, *, zero_division: float = 1) -> float:
    """F of all labels pooled: hits and misses are added up before dividing.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    zero_division : float, default=1
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
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="micro_f1")
    return float(count(Y, Y_pred).total().f1(zero_division=zero_division)[0])


def example_f1(Y: Any, Y_pred: Any, *, zero_division: float = 1) -> float:
    """Mean over rows of the F between the true and the predicted labels of a row.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    zero_division : float, default=1
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
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="example_f1")
    of_rows = count(Y, Y_pred, axis=1).f1(zero_division=zero_division)
    defined = of_rows[~np.isnan(of_rows)]
    return float(defined.mean()) if defined.size else float("nan")


# scikit-learn has the next two, but refuses a sparse Y of a single label.


def hamming_loss(Y: Any, Y_pred: Any) -> float:
    """Share of cells predicted wrongly; with rare labels, predicting nothing already looks good.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.

    Returns
    -------
    float

    Examples
    --------
    >>> from labelance.metrics import hamming_loss
    >>> round(hamming_loss([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]]), 4)
    0.3333
    """
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="hamming_loss")
    wrong = Y != Y_pred
    return float(wrong.count_nonzero() / (Y.shape[0] * Y.shape[1]))


def subset_accuracy(Y: Any, Y_pred: Any) -> float:
    """Share of rows whose labels are all predicted rightly.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
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
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="subset_accuracy")
    wrong = Y != Y_pred
    return float(np.mean(wrong.sum(axis=1) == 0))
