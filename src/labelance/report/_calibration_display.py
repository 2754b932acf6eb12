"""Reliability of many labels in one picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._validation._labels import validate_labels
from labelance.exceptions import InputError
from labelance.imbalance._measures import rarity_bands
from labelance.metrics import CalibrationBins, calibration_bins, label_scores
from labelance.report._display import Display
from labelance.report._figures import BLUE, FAINT, ORANGE

# Rare to frequent; distinguished also by people with color-blindness, and in grey.
_COLORS = (ORANGE, "#E69F00", "#56B4E9", BLUE, "#009E73", "#CC79A7")


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """Reliability curves of many labels: a line for each rarity band, a faint one for each label.

    Made by :meth:`from_predictions` or :meth:`from_estimator`. A point is a bin of like scores: its
    mean score, and the share of its cells that have the label; it is the larger the more cells it
    has. On the diagonal scores are
    probabilities; below it they are too large.

    Attributes
    ----------
    bins : CalibrationBins
        The bins of every label.
    bands : dict of str to ndarray
        The labels of each rarity band, by how many rows of ``y_true`` have them.
    ax_, figure_, lines_
        What was drawn last: the axes, their figure, and the lines of the bands.

    See Also
    --------
    labelance.metrics.macro_calibration_error : The same as a number.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.report import CalibrationDisplay
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = make_multilabel_imbalanced(400, random_state=0)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[:200], y[:200])
    >>> display = CalibrationDisplay.from_estimator(forest, X[200:], y[200:])
    >>> sorted(display.bands)
    ['1-9 rows', '10-99 rows']
    """

    bins: CalibrationBins
    bands: dict[str, NDArray[np.intp]]
    lines_: list[Any] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        n_bins: int = 10,
        strategy: Literal["uniform", "quantile"] = "uniform",
        ax: Any = None,
    ) -> CalibrationDisplay:
        """Draw true labels against probabilities.

        Parameters
        ----------
        y_true : array, sparse matrix or data frame of shape (n, q)
            True labels, 0 or 1.
        y_score : array or data frame of shape (n, q)
            Probabilities.
        n_bins : int, default=10
            Bins of each label.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or of about as many rows each.
        ax : matplotlib axes, optional
            Where to draw; new ones unless given.

        Returns
        -------
        CalibrationDisplay
        """
        bins = calibration_bins(y_true, y_score, n_bins=n_bins, strategy=strategy)
        counts = column_counts(validate_labels(y_true, caller=cls.__name__, needs_all=None).Y)
        bands = rarity_bands(counts)
        if not bands:
            raise InputError(
                "CalibrationDisplay needs rows that have labels", "No row has any label"
            )
        return cls(bins, bands).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> CalibrationDisplay:
        """Draw the labels of rows against the probabilities that a fitted classifier gives.

        Parameters
        ----------
        estimator : classifier
            A fitted multi-label classifier with ``predict_proba``.
        X : array, sparse matrix or data frame of shape (n, d)
            Rows that it did not learn from.
        y : array, sparse matrix or data frame of shape (n, q)
            Their labels.
        ax : matplotlib axes, optional
            Where to draw; new ones unless given.
        **options
            ``n_bins`` and ``strategy``, as in :meth:`from_predictions`.

        Returns
        -------
        CalibrationDisplay
        """
        return cls.from_predictions(y, label_scores(estimator, X), ax=ax, **options)

    def plot(self, *, ax: Any = None) -> CalibrationDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones unless given.

        Returns
        -------
        self : CalibrationDisplay
        """
        ax = self._open(ax, size=(4.6, 5.2))
        ax.plot([0, 1], [0, 1], color=FAINT, linestyle=":", linewidth=1, label="calibrated")
        shown = np.concatenate(list(self.bands.values()))
        ax.plot(
            self._padded(self.bins.score, shown),
            self._padded(self.bins.share, shown),
            color=FAINT,
            alpha=0.3,
            linewidth=0.6,
        )
        self.lines_ = []
        for place, (band, labels) in enumerate(self.bands.items()):
            score, share, weight, error = self._pool(labels)
            color = _COLORS[place % len(_COLORS)]
            words = f"{len(labels)} label{'s' * (len(labels) != 1)} in {band}, error {error:.3f}"
            self.lines_ += ax.plot(score, share, color=color, label=words)
            ax.scatter(score, share, s=60 * np.sqrt(weight / weight.max()) + 2, color=color)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set(xlabel="mean score", ylabel="share of rows that have the label")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), fontsize="small", frameon=False)
        return self

    def _pool(self, labels: NDArray[np.intp]) -> tuple[Any, Any, Any, float]:
        """Return the curve of all cells of some labels, how many a point is, and the mean error."""
        count = self.bins.count[:, labels]
        total = count.sum(axis=1)
        filled = total > 0
        score, share = (
            (count * np.nan_to_num(values[:, labels])).sum(axis=1)[filled] / total[filled]
            for values in (self.bins.score, self.bins.share)
        )
        return score, share, total[filled], float(self.bins.error[labels].mean())

    @staticmethod
    def _padded(values: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the bins of labels one after the other, a gap between them: one line for all."""
        return np.vstack([values[:, labels], np.full(len(labels), np.nan)]).T.ravel()
