"""Measures of 0/1 predictions, label by label and averaged over labels."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from labelance.metrics._counts import count
from labelance.metrics._door import check_average, open_predictions

Values = NDArray[np.float64]
Average = Literal["macro"] | None


@overload
def macro_f1(
    Y: Any, Y_pred: Any, *, average: Literal["macro"] = ..., zero_division: float = ...
) -> float: ...
@overload
def macro_f1(Y: Any, Y_pred: Any, *, average: None, zero_division: float = ...) -> Values: ...
def macro_f1(
    Y: Any, Y_pred: Any, *, average: Average = "macro", zero_division: float = 1
) -> float | Values:
    """Mean over all labels of F = 2TP / (2TP + FP + FN).

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float, default=1
        F of a label that no row has and that is never predicted. 1 as in the paper's
        program; scikit-learn's default is 0. ``nan`` leaves such labels out of the mean.

    Returns
    -------
    float or ndarray of shape (q,)

    Examples
    --------
    >>> from labelance.metrics import macro_f1
    >>> Y = [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> Y_pred = [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    >>> round(macro_f1(Y, Y_pred), 4)
    0.7778
    >>> macro_f1(Y, Y_pred, average=None).round(4)
    array([0.6667, 0.6667, 1.    ])
    """
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="macro_f1")
    return _average(count(Y, Y_pred).f1(zero_division=zero_division), average)


@overload
def macro_g_mean(
    Y: Any, Y_pred: Any, *, average: Literal["macro"] = ..., zero_division: float = ...
) -> float: ...
@overload
def macro_g_mean(Y: Any, Y_pred: Any, *, average: None, zero_division: float = ...) -> Values: ...
def macro_g_mean(
    Y: Any, Y_pred: Any, *, average: Average = "macro", zero_division: float = 1
) -> float | Values:
    """Mean over all labels of the geometric mean of recall and specificity.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float, default=1
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
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="macro_g_mean")
    return _average(count(Y, Y_pred).g_mean(zero_division=zero_division), average)


@overload
def macro_balanced_accuracy(
    Y: Any, Y_pred: Any, *, average: Literal["macro"] = ..., zero_division: float = ...
) -> float: ...
@overload
def macro_balanced_accuracy(
    Y: Any, Y_pred: Any, *, average: None, zero_division: float = ...
) -> Values: ...
def macro_balanced_accuracy(
    Y: Any, Y_pred: Any, *, average: Average = "macro", zero_division: float = 1
) -> float | Values:
    """Mean over all labels of the mean of recall and specificity.

    Parameters
    ----------
    Y, Y_pred : array, sparse matrix or data frame of shape (n, q)
        True and predicted labels, 0 or 1.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    zero_division : float, default=1
        As in :func:`macro_g_mean`.

    Returns
    -------
    float or ndarray of shape (q,)

    Examples
    --------
    >>> from labelance.metrics import macro_balanced_accuracy
    >>> macro_balanced_accuracy([[1, 0], [1, 1], [0, 1]], [[1, 0], [0, 1], [0, 0]])
    0.75
    """
    Y, Y_pred, _ = open_predictions(Y, Y_pred, who="macro_balanced_accuracy")
    return _average(count(Y, Y_pred).balanced_accuracy(zero_division=zero_division), average)


def _average(of_labels: Values, average: Average) -> float | Values:
    """Average over labels, leaving out those that ``zero_division=nan`` left undefined."""
    check_average(average)
    if average is None:
        return of_labels
    defined = of_labels[~np.isnan(of_labels)]
    return float(defined.mean()) if defined.size else float("nan")
