"""Areas under the ROC and the precision-recall curve of every label."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from labelance.exceptions import InputError, UndefinedLabelWarning
from labelance.metrics._door import check_average, open_scores
from labelance.metrics._standing import Standing, stand

Values = NDArray[np.float64]
Undefined = Literal["skip", "nan"] | float
Average = Literal["macro"] | None


@dataclass(frozen=True, eq=False)
class LabelAreas:
    """Both areas of every label; nan where a label does not have one.

    Attributes
    ----------
    auc_roc : ndarray of shape (q,)
        Undefined for a label that no row has, or that all have.
    auc_pr : ndarray of shape (q,)
        Undefined for a label that no row has.
    """

    auc_roc: Values
    auc_pr: Values


def label_areas(Y: Any, scores: Any, *, n_jobs: int | None = None) -> LabelAreas:
    """Both areas of every label, from one sort of each column of scores.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    LabelAreas

    Examples
    --------
    >>> from labelance.metrics import label_areas
    >>> Y, scores = [[1], [0], [1], [0], [0], [1]], [[0.9], [0.8], [0.8], [0.3], [0.2], [0.1]]
    >>> areas = label_areas(Y, scores)
    >>> areas.auc_roc.round(6), areas.auc_pr.round(6)
    (array([0.611111]), array([0.722222]))
    """
    standing = _stand(Y, scores, n_jobs, who="label_areas")
    return LabelAreas(_auc_roc(standing), _auc_pr(standing))


@overload
def macro_auc_roc(
    Y: Any,
    scores: Any,
    *,
    average: Literal["macro"] = ...,
    undefined: Undefined = ...,
    n_jobs: int | None = ...,
) -> float: ...
@overload
def macro_auc_roc(
    Y: Any, scores: Any, *, average: None, undefined: Undefined = ..., n_jobs: int | None = ...
) -> Values: ...
def macro_auc_roc(
    Y: Any,
    scores: Any,
    *,
    average: Average = "macro",
    undefined: Undefined = "skip",
    n_jobs: int | None = None,
) -> float | Values:
    """Mean over labels of the area under the ROC curve; ties between scores count half.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    undefined : {"skip", "nan"} or float, default="skip"
        What a label counts that no row has, or that all rows have. "skip" leaves it out of
        the mean and warns; "nan" makes the mean nan, as scikit-learn and the paper's program
        do; a number stands in for it. Without averaging, "skip" is the same as "nan".
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    float or ndarray of shape (q,)

    Warns
    -----
    UndefinedLabelWarning
        If labels were skipped; it says how many.

    See Also
    --------
    label_areas : both areas of every label, from one sort.

    Examples
    --------
    >>> from labelance.metrics import macro_auc_roc
    >>> Y = [[1, 0], [0, 0], [1, 0], [0, 0]]
    >>> scores = [[0.9, 0.1], [0.8, 0.3], [0.8, 0.2], [0.3, 0.4]]
    >>> macro_auc_roc(Y, scores, undefined=0.5)
    0.6875
    """
    standing = _stand(Y, scores, n_jobs, who="macro_auc_roc")
    return _settle(_auc_roc(standing), average, undefined, who="macro_auc_roc")


@overload
def macro_auc_pr(
    Y: Any,
    scores: Any,
    *,
    average: Literal["macro"] = ...,
    undefined: Undefined = ...,
    n_jobs: int | None = ...,
) -> float: ...
@overload
def macro_auc_pr(
    Y: Any, scores: Any, *, average: None, undefined: Undefined = ..., n_jobs: int | None = ...
) -> Values: ...
def macro_auc_pr(
    Y: Any,
    scores: Any,
    *,
    average: Average = "macro",
    undefined: Undefined = "skip",
    n_jobs: int | None = None,
) -> float | Values:
    """Mean over labels of the area under the precision-recall curve, by steps.

    The area is the average precision: the sum over distinct thresholds of the gain in recall
    times the precision, without interpolation and with tied scores in one step.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    scores : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    undefined : {"skip", "nan"} or float, default="skip"
        What a label counts that no row has. "skip" leaves it out of the mean and warns;
        "nan" makes the mean nan; a number stands in for it, e.g. 0 as scikit-learn and
        the paper's program do. Without averaging, "skip" is the same as "nan".
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    float or ndarray of shape (q,)

    Warns
    -----
    UndefinedLabelWarning
        If labels were skipped; it says how many.

    See Also
    --------
    label_areas : both areas of every label, from one sort.

    Examples
    --------
    >>> from labelance.metrics import macro_auc_pr
    >>> Y = [[1, 0], [0, 0], [1, 0], [0, 0]]
    >>> scores = [[0.9, 0.1], [0.8, 0.3], [0.8, 0.2], [0.3, 0.4]]
    >>> round(macro_auc_pr(Y, scores, undefined=0), 4)
    0.4167
    """
    standing = _stand(Y, scores, n_jobs, who="macro_auc_pr")
    return _settle(_auc_pr(standing), average, undefined, who="macro_auc_pr")


def _stand(Y: Any, scores: Any, n_jobs: int | None, *, who: str) -> Standing:
    Y, scores = open_scores(Y, scores, who=who)
    return stand(Y, scores, within="label", n_jobs=n_jobs)


def _auc_roc(standing: Standing) -> Values:
    """Share of (positive, negative) pairs won, half of the tied ones included."""
    at_least = standing.at_least - standing.relevant_at_least
    above = standing.above - standing.relevant_above
    lost = standing.reduce(np.add, at_least + above, empty=np.nan) / 2
    pairs = standing.relevant * standing.irrelevant
    share = np.divide(lost, pairs, out=np.full(lost.shape, np.nan), where=pairs > 0)
    return 1.0 - share


def _auc_pr(standing: Standing) -> Values:
    """Mean over positives of the precision at their own score."""
    precision = standing.relevant_at_least / standing.at_least
    return standing.mean(precision, empty=np.nan)


def _settle(
    of_labels: Values, average: Average, undefined: Undefined, *, who: str
) -> float | Values:
    """Apply the caller's choice for undefined labels, and average."""
    check_average(average)
    left_out = np.isnan(of_labels)
    if not isinstance(undefined, str):
        of_labels = np.where(left_out, float(undefined), of_labels)
    elif undefined not in ("skip", "nan"):
        raise InputError(
            f'{who} takes undefined="skip", "nan" or a number',
            f"undefined={undefined!r}",
            "Choose one of these",
        )
    if average is None:
        return of_labels
    if undefined == "skip" and left_out.any():
        _warn_skipped(int(left_out.sum()), of_labels.size, who)
        of_labels = of_labels[~left_out]
    return float(of_labels.mean()) if of_labels.size else float("nan")


def _warn_skipped(skipped: int, n_labels: int, who: str) -> None:
    warnings.warn(
        f"{who} is undefined for {skipped} of {n_labels} labels, which have only ones or only "
        f"zeros in Y and were left out of the mean. Pass undefined= a number or 'nan' to decide "
        f"otherwise.",
        UndefinedLabelWarning,
        stacklevel=4,
    )
