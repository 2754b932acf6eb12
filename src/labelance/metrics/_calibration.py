"""Are the scores probabilities? Brier loss and calibration error of every label."""

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

from labelance._validation._arguments import check_positive
from labelance._validation._predictions import check_average, validate_scores
from labelance.exceptions import InputError

Values = NDArray[np.float64]
Scores = NDArray[np.floating]
Average = Literal["macro"] | None
Binning = Literal["uniform", "quantile"]


@dataclass(frozen=True, eq=False)
class CalibrationBins:
    """The cells of every label in bins of like score.

    Attributes
    ----------
    count : ndarray of shape (n_bins, q)
        Rows in each bin.
    score : ndarray of shape (n_bins, q)
        Their mean score, nan in an empty bin.
    share : ndarray of shape (n_bins, q)
        The share of them that has the label, nan in an empty bin.
    """

    count: NDArray[np.int64]
    score: Values
    share: Values

    @property
    def error(self) -> Values:
        """The expected calibration error: the mean over rows of how far share and score differ."""
        gap = np.where(self.count > 0, abs(self.share - self.score), 0)
        return (self.count * gap).sum(axis=0) / self.count.sum(axis=0)


def calibration_bins(
    y_true: Any, y_score: Any, *, n_bins: int = 10, strategy: Binning = "uniform"
) -> CalibrationBins:
    """Return how scores and shares agree, bin by bin, for all labels at once.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Probabilities.
    n_bins : int, default=10
        Bins of each label.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of about as many rows each; equal scores are in one bin.

    Returns
    -------
    CalibrationBins

    Examples
    --------
    >>> from labelance.metrics import calibration_bins
    >>> bins = calibration_bins([[1], [0], [1], [1]], [[0.1], [0.2], [0.8], [0.9]], n_bins=2)
    >>> bins.share.ravel(), bins.score.ravel().round(2)
    (array([0.5, 1. ]), array([0.15, 0.85]))
    """
    caller = "calibration_bins"
    Y, scores, *_ = validate_scores(y_true, y_score, caller=caller, probabilities=True)
    _check_bins(n_bins, strategy, caller=caller)
    return bin_scores(Y, scores, n_bins, strategy)


def _check_bins(n_bins: Any, strategy: Any, *, caller: str) -> None:
    check_positive("n_bins", n_bins, caller=caller)
    if strategy not in ("uniform", "quantile"):
        raise InputError(
            f"{caller} has bins of one width or of as many rows each",
            f"strategy is {strategy!r}",
            'Choose "uniform" or "quantile"',
        )


def bin_scores(Y: csr_array, scores: Scores, n_bins: int, strategy: Binning) -> CalibrationBins:
    """Count clean labels and scores in bins, by three sums over all cells."""
    n, q = scores.shape
    if strategy == "uniform":
        bins = np.minimum((scores * n_bins).astype(np.int64), n_bins - 1)
    else:
        bins = np.ceil(rankdata(scores, method="max", axis=0) * n_bins / n).astype(np.int64) - 1
    cells = bins * q + np.arange(q)
    row = np.repeat(np.arange(n), np.diff(Y.indptr))
    shape = (n_bins, q)
    count = np.bincount(cells.ravel(), minlength=n_bins * q).reshape(shape)
    total = np.bincount(cells.ravel(), scores.ravel(), n_bins * q).reshape(shape)
    present = np.bincount(cells[row, Y.indices], minlength=n_bins * q).reshape(shape)
    some = np.maximum(count, 1)
    empty = np.where(count > 0, 0.0, np.nan)
    return CalibrationBins(count, total / some + empty, present / some + empty)


@overload
def macro_brier_loss(y_true: Any, y_score: Any, *, average: Literal["macro"] = ...) -> float: ...
@overload
def macro_brier_loss(y_true: Any, y_score: Any, *, average: None) -> Values: ...
def macro_brier_loss(y_true: Any, y_score: Any, *, average: Average = "macro") -> float | Values:
    """Mean over labels of the mean squared difference of probability and label.

    Smaller is better. Always saying a label's share p costs p(1 - p), which is little for a rare
    label: compare methods on the same labels, not labels with each other.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Probabilities.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.

    Returns
    -------
    float or ndarray of shape (q,)

    See Also
    --------
    labelance.decisions.LabelCalibration : Makes it smaller.

    Examples
    --------
    >>> from labelance.metrics import macro_brier_loss
    >>> round(macro_brier_loss([[1, 0], [0, 0]], [[0.8, 0.1], [0.4, 0.1]]), 4)
    0.055
    """
    Y, scores, *_ = validate_scores(y_true, y_score, caller="macro_brier_loss", probabilities=True)
    return _average(brier_of_labels(Y, scores), average)


def brier_of_labels(Y: csr_array, scores: Scores) -> Values:
    """Return the Brier loss of every label; (s - 1)² is s² and what the label changes."""
    n, q = scores.shape
    row = np.repeat(np.arange(n), np.diff(Y.indptr))
    change = np.bincount(Y.indices, 1 - 2 * scores[row, Y.indices], q)
    return ((scores**2).sum(axis=0, dtype=np.float64) + change) / n


@overload
def macro_calibration_error(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["macro"] = ...,
    n_bins: int = ...,
    strategy: Binning = ...,
) -> float: ...
@overload
def macro_calibration_error(
    y_true: Any, y_score: Any, *, average: None, n_bins: int = ..., strategy: Binning = ...
) -> Values: ...
def macro_calibration_error(
    y_true: Any,
    y_score: Any,
    *,
    average: Average = "macro",
    n_bins: int = 10,
    strategy: Binning = "uniform",
) -> float | Values:
    """Mean over labels of the expected calibration error.

    The rows are put into bins of like score; in each bin the mean score is compared with the
    share of rows that has the label, and the differences are averaged over rows.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1.
    y_score : array or data frame of shape (n, q)
        Probabilities.
    average : {"macro", None}, default="macro"
        ``None`` returns the value of every label.
    n_bins : int, default=10
        Bins of each label.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of the same width, or of about as many rows each. Of a rare label nearly all rows
        are in the first of the former.

    Returns
    -------
    float or ndarray of shape (q,)

    See Also
    --------
    calibration_bins : What is compared, bin by bin.
    labelance.report.CalibrationDisplay : The same as a picture.

    Notes
    -----
    Chance alone makes the error of n rows larger than 0, about as one over the root of n.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht, Obtaining well calibrated probabilities using
    Bayesian binning. AAAI 2015.

    Examples
    --------
    >>> from labelance.metrics import macro_calibration_error
    >>> y_true, y_score = [[1], [0], [1], [1]], [[0.1], [0.2], [0.8], [0.9]]
    >>> round(macro_calibration_error(y_true, y_score, n_bins=2), 4)
    0.25
    """
    caller = "macro_calibration_error"
    Y, scores, *_ = validate_scores(y_true, y_score, caller=caller, probabilities=True)
    _check_bins(n_bins, strategy, caller=caller)
    return _average(calibration_error_of_labels(Y, scores, n_bins, strategy), average)


def calibration_error_of_labels(
    Y: csr_array, scores: Scores, n_bins: int = 10, strategy: Binning = "uniform"
) -> Values:
    """Return the expected calibration error of every label."""
    return bin_scores(Y, scores, n_bins, strategy).error


def _average(of_labels: Values, average: Average) -> float | Values:
    check_average(average)
    return of_labels if average is None else float(of_labels.mean())
