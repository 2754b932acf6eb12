"""Areas under the ROC and the precision-recall curve of every label."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._messages import warn_user
from labelance._validation._categorical import name_columns
from labelance._validation._predictions import (
    check_average,
    validate_score_table,
    validate_scores,
)
from labelance.exceptions import LABEL, InputError, UndefinedLabelWarning
from labelance.metrics._rank_counts import RankCounts, count_ranks

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


def label_areas(y_true: Any, y_score: Any, *, n_jobs: int | None = None) -> LabelAreas:
    """Return both areas of every label, from one sort of each column of scores.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    LabelAreas

    Examples
    --------
    >>> from labelance.metrics import label_areas
    >>> y_true, y_score = [[1], [0], [1], [0], [0], [1]], [[0.9], [0.8], [0.8], [0.3], [0.2], [0.1]]
    >>> areas = label_areas(y_true, y_score)
    >>> areas.auc_roc.round(6), areas.auc_pr.round(6)
    (array([0.611111]), array([0.722222]))
    """
    counts = _count(y_true, y_score, n_jobs, caller="label_areas")
    return LabelAreas(_auc_roc(counts), _auc_pr(counts))


def macro_auc_roc(
    y_true: Any,
    y_score: Any,
    *,
    average: Average = "macro",
    undefined: Undefined = "nan",
    n_jobs: int | None = None,
) -> Any:
    """Mean over labels of the area under the ROC curve; ties between scores count half.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    undefined : {"skip", "nan"} or float, default="nan"
        What a label counts that no row has, or that all rows have. "nan" makes the mean nan and
        warns, as scikit-learn does, and the paper's program; "skip" leaves the label out of the
        mean and warns; a number stands in for it. Without averaging, "skip" is the same as "nan".
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    float or ndarray of shape (q,)

    Warns
    -----
    UndefinedLabelWarning
        If labels were skipped or made the mean nan; it says how many.

    See Also
    --------
    label_areas : both areas of every label, from one sort.

    Examples
    --------
    >>> from labelance.metrics import macro_auc_roc
    >>> y_true = [[1, 0], [0, 0], [1, 0], [0, 0]]
    >>> y_score = [[0.9, 0.1], [0.8, 0.3], [0.8, 0.2], [0.3, 0.4]]
    >>> macro_auc_roc(y_true, y_score, undefined=0.5)
    0.6875
    """
    counts = _count(y_true, y_score, n_jobs, caller="macro_auc_roc")
    return _settle(_auc_roc(counts), counts, average, undefined, y_true, caller="macro_auc_roc")


def macro_auc_pr(
    y_true: Any,
    y_score: Any,
    *,
    average: Average = "macro",
    undefined: Undefined = 0,
    n_jobs: int | None = None,
) -> Any:
    """Mean over labels of the area under the precision-recall curve, by steps.

    The area is the average precision: the sum over distinct thresholds of the gain in recall
    times the precision, without interpolation and with tied scores in one step.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
    y_score : array or data frame of shape (n, q)
        Higher means more likely; any finite numbers.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    undefined : {"skip", "nan"} or float, default=0
        What a label counts that no row has. A number stands in for it: 0 as in scikit-learn,
        which also warns, and in the paper's program. "skip" leaves the label out of the mean and
        warns; "nan" makes the mean nan and warns. Without averaging, "skip" is the same as "nan".
    n_jobs : int or None, default=None
        Threads over blocks of labels; the result does not depend on it.

    Returns
    -------
    float or ndarray of shape (q,)

    Warns
    -----
    UndefinedLabelWarning
        If labels were skipped or made the mean nan; it says how many.

    See Also
    --------
    label_areas : both areas of every label, from one sort.

    Examples
    --------
    >>> from labelance.metrics import macro_auc_pr
    >>> y_true = [[1, 0], [0, 0], [1, 0], [0, 0]]
    >>> y_score = [[0.9, 0.1], [0.8, 0.3], [0.8, 0.2], [0.3, 0.4]]
    >>> round(macro_auc_pr(y_true, y_score), 4)
    0.4167
    """
    counts = _count(y_true, y_score, n_jobs, caller="macro_auc_pr")
    return _settle(_auc_pr(counts), counts, average, undefined, y_true, caller="macro_auc_pr")


def _count(y_true: Any, y_score: Any, n_jobs: int | None, *, caller: str) -> RankCounts:
    Y, scores, unknown, _ = validate_scores(
        y_true, y_score, caller=caller, needs_all=None, in_blocks=True
    )
    if unknown is None:
        return count_ranks(Y, scores, within="label", n_jobs=n_jobs)
    scores = validate_score_table(y_score, None, caller=caller)  # in memory
    # Below every other score they stand above no positive, so no count around one holds them.
    scores = np.array(scores, dtype=np.float64)
    scores[unknown.nonzero()] = -np.inf
    counts = count_ranks(Y, scores, within="label", n_jobs=n_jobs)
    return replace(counts, size=Y.shape[0] - column_counts(unknown))


def _auc_roc(counts: RankCounts) -> Values:
    """Share of (positive, negative) pairs won, half of the tied ones included."""
    at_least = counts.at_least - counts.relevant_at_least
    above = counts.above - counts.relevant_above
    lost = counts.reduce(np.add, at_least + above, empty=np.nan) / 2
    pairs = counts.relevant * counts.irrelevant
    share = np.divide(lost, pairs, out=np.full(lost.shape, np.nan), where=pairs > 0)
    return 1.0 - share


def _auc_pr(counts: RankCounts) -> Values:
    """Mean over positives of the precision at their own score."""
    precision = counts.relevant_at_least / counts.at_least
    return counts.mean(precision, empty=np.nan)


def _settle(
    of_labels: Values,
    counts: RankCounts,
    average: Average,
    undefined: Undefined,
    y_true: Any,
    *,
    caller: str,
) -> Any:
    """Apply the caller's choice for undefined labels, and average."""
    check_average(average)
    known = np.broadcast_to(np.asarray(counts.size) > 0, of_labels.shape)
    left_out = np.isnan(of_labels) & known
    if not isinstance(undefined, str):
        of_labels = np.where(left_out, float(undefined), of_labels)
    elif undefined not in ("skip", "nan"):
        problem = f'undefined of {caller} must be "skip", "nan" or a number'
        raise InputError(problem, f"Got undefined={undefined!r}")
    if average is None:
        return of_labels
    if isinstance(undefined, str) and left_out.any():
        names = tuple(getattr(y_true, "columns", ()))
        shown = name_columns(np.flatnonzero(left_out), names, LABEL)
        effect, other = {
            "skip": ("were left out of the mean", "'nan'"),
            "nan": ("make the mean nan", "'skip' to leave them out of the mean,"),
        }[undefined]
        warn_user(
            f"{caller} is undefined for {left_out.sum()} of {of_labels.size} labels ({shown}), "
            f"which have only ones or only zeros in y_true and {effect}. Pass undefined={other} or "
            "a number to decide otherwise.",
            UndefinedLabelWarning,
        )
    of_labels = of_labels[known & ~left_out if undefined == "skip" else known]
    return float(of_labels.mean()) if of_labels.size else float("nan")
