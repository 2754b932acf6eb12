"""Are the scores probabilities? Brier loss and calibration error of every label."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import rankdata

from labelance._arrays._cells import iterate_columns
from labelance._arrays._containers import column_counts
from labelance._validation._arguments import check_choice, check_positive
from labelance._validation._predictions import Scored, validate_scores
from labelance.metrics._classification import average_labels

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
        rows = self.count.sum(axis=0)
        return (self.count * gap).sum(axis=0) / np.where(rows > 0, rows, np.nan)


def calibration_bins(
    y_true: Any, y_score: Any, *, n_bins: int = 10, strategy: Binning = "uniform"
) -> CalibrationBins:
    """Return how scores and shares agree, bin by bin, for all labels at once.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
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
    return _bin(y_true, y_score, n_bins, strategy, caller="calibration_bins")


def _bin(y_true: Any, y_score: Any, n_bins: Any, strategy: Any, *, caller: str) -> CalibrationBins:
    Y, scores, unknown, _ = validate_probability_scores(y_true, y_score, caller)
    check_positive("n_bins", n_bins, caller=caller)
    check_choice("strategy", strategy, ("uniform", "quantile"), caller=caller)
    return bin_scores(Y, scores, n_bins, strategy, unknown)


def validate_probability_scores(y_true: Any, y_score: Any, caller: str) -> Scored:
    """Check labels, of which some may be unknown, and probabilities."""
    return validate_scores(y_true, y_score, caller=caller, probabilities=True, needs_all=None)


def bin_scores(
    Y: csr_array,
    scores: Scores,
    n_bins: int,
    strategy: Binning,
    unknown: csr_array | None = None,
) -> CalibrationBins:
    """Count clean labels and scores in bins, by three sums over all known cells."""
    n, q = scores.shape
    if unknown is not None:
        return _bin_known(Y, scores, n_bins, strategy, unknown)
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


def _bin_known(
    Y: csr_array, scores: Scores, n_bins: int, strategy: Binning, unknown: csr_array
) -> CalibrationBins:
    """Bin every label on the rows of which it is known."""
    columns = zip(iterate_columns(unknown), iterate_columns(Y), np.asarray(scores).T)
    parts = [
        bin_scores(csr_array(truth[hidden == 0, None]), score[hidden == 0, None], n_bins, strategy)
        for hidden, truth, score in columns
    ]
    return CalibrationBins(
        *(np.hstack([getattr(p, name) for p in parts]) for name in ("count", "score", "share"))
    )


def macro_brier_loss(y_true: Any, y_score: Any, *, average: Average = "macro") -> Any:
    """Mean over labels of the mean squared difference of probability and label.

    Smaller is better. Always saying a label's share p costs p(1 - p), which is little for a rare
    label: compare methods on the same labels, not labels with each other.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
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
    Y, scores, unknown, _ = validate_probability_scores(y_true, y_score, "macro_brier_loss")
    return average_labels(brier_of_labels(Y, scores, unknown), average)


def brier_of_labels(Y: csr_array, scores: Scores, unknown: csr_array | None = None) -> Values:
    """Return the Brier loss of every label; (s - 1)² is s² and what the label changes."""
    n, q = scores.shape
    n_known: Any = n
    if unknown is not None:
        scores, n_known = np.array(scores, dtype=np.float64), n - column_counts(unknown)
        scores[unknown.nonzero()] = 0
        n_known = np.where(n_known > 0, n_known, np.nan)  # without known cells there is no loss
    row = np.repeat(np.arange(n), np.diff(Y.indptr))
    change = np.bincount(Y.indices, 1 - 2 * scores[row, Y.indices], q)
    return ((scores**2).sum(axis=0, dtype=np.float64) + change) / n_known


def macro_calibration_error(
    y_true: Any,
    y_score: Any,
    *,
    average: Average = "macro",
    n_bins: int = 10,
    strategy: Binning = "uniform",
) -> Any:
    """Mean over labels of the expected calibration error.

    The rows are put into bins of like score; in each bin the mean score is compared with the
    share of rows that has the label, and the differences are averaged over rows.

    Parameters
    ----------
    y_true : array, sparse matrix or data frame of shape (n, q)
        True labels, 0 or 1. Unknown cells (NaN) are left out.
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
    bins = _bin(y_true, y_score, n_bins, strategy, caller="macro_calibration_error")
    return average_labels(bins.error, average)
