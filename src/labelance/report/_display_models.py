"""Displays of models: calibration, thresholds, a measure by rarity, and ranks of methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

from labelance._arrays._containers import column_counts
from labelance._arrays._labels import mark_unknown
from labelance._validation._arguments import check_choice
from labelance._validation._data import validate_labels
from labelance._validation._predictions import validate_scores
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.exceptions import InputError
from labelance.imbalance._measures import rarity_bands
from labelance.metrics import (
    CalibrationBins,
    calibration_bins,
    imbalance_report,
    label_areas,
    label_scores,
)
from labelance.report._display import (
    Display,
    find_label,
    name_labels,
    rarest_label,
    write_numbers,
)
from labelance.report._figures import BLUE, FAINT, ORANGE, draw_ranks, ranks_size, short
from labelance.study.statistics import Comparison, compare

Rate = Literal["precision", "recall", "specificity", "g_mean", "f1"]
Area = Literal["auc_roc", "auc_pr"]
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


@dataclass(eq=False, kw_only=True, repr=False)
class ThresholdDisplay(Display):
    """Precision, recall and F of one label over the threshold of its scores.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    thresholds, precision, recall, f1 : ndarray of the same length
        The curve: the label is predicted where its score is at least the threshold.
    threshold : float
        The threshold that is marked.
    label_name : str
        The name of the label.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.decisions import LabelThresholds
    >>> from labelance.report import ThresholdDisplay
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = LabelThresholds(KNeighborsClassifier(9), random_state=0).fit(X, y)
    >>> display = ThresholdDisplay.from_estimator(model, X, y, label=0)
    >>> bool(display.threshold == model.thresholds_[0])
    True
    """

    thresholds: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]
    threshold: float
    label_name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, label: Any = None, **options: Any
    ) -> ThresholdDisplay:
        """Score rows and draw the curve; the estimator's own threshold is marked if it has one.

        Parameters
        ----------
        estimator : classifier
            Fitted, with ``predict_proba`` or ``decision_function``.
        X, y : array-like, sparse or data frame
            Rows with known labels, best ones that the estimator was not fitted to.
        label, **options
            As for :meth:`from_predictions`.
        """
        labels = validate_labels(y, caller=cls.__name__, needs_all=None)
        names = name_labels(labels, options.get("label_names"), cls.__name__)
        chosen = rarest_label(labels) if label is None else find_label(label, names, cls.__name__)
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        if options.get("threshold") is None and hasattr(last, "thresholds_"):
            options["threshold"] = float(last.thresholds_[chosen])
        options["label_names"] = names
        scores = label_scores(estimator, X)
        Y = mark_unknown(labels.Y, labels.unknown)
        return cls.from_predictions(Y, scores, label=names[chosen], **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        label: Any = None,
        threshold: float | None = None,
        label_names: Sequence[Any] | None = None,
        ax: Any = None,
    ) -> ThresholdDisplay:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true : array-like, sparse or data frame of shape (n_samples, n_labels)
            The true labels.
        y_score : array of shape (n_samples, n_labels)
            Scores, larger where the label is more likely.
        label : name or column number, optional
            By default the rarest label that occurs.
        threshold : float, optional
            What to mark; by default the threshold with the best F.
        label_names : sequence, optional
            By default the column names of y_true, or their numbers.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        labels = validate_labels(y_true, caller=cls.__name__, needs_all=None)
        names = name_labels(labels, label_names, cls.__name__)
        scored = validate_scores(labels.Y, y_score, caller=cls.__name__)
        j = rarest_label(labels) if label is None else find_label(label, names, cls.__name__)
        column, scores = labels.Y[:, [j]], np.asarray(scored.scores, dtype=float)[:, j]
        if labels.unknown is not None:
            known = np.flatnonzero(labels.unknown[:, [j]].toarray().ravel() == 0)
            column, scores = column[known], scores[known]
        if not column.nnz:
            raise InputError(
                f"{cls.__name__} needs a label that some rows have", f"No row has {names[j]!r}"
            )
        if threshold is None:
            rows = ScoredRows.of(column, scores[:, None])
            threshold = float(search_thresholds(rows).own[0])
        precision, recall, thresholds = precision_recall_curve(column.toarray().ravel(), scores)
        precision, recall = precision[:-1], recall[:-1]  # the last point has no threshold
        f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
        display = cls(
            thresholds=thresholds,
            precision=precision,
            recall=recall,
            f1=f1,
            threshold=threshold,
            label_name=str(names[j]),
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> ThresholdDisplay:
        """Draw the three curves, and mark the threshold.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        ax = self._open(ax, size=(6.0, 3.8))
        curves = {"precision": "#56B4E9", "recall": "#009E73", "f1": BLUE}
        for name, color in curves.items():
            width = 2.2 if name == "f1" else 1.4
            label = "F" if name == "f1" else name
            values = getattr(self, name)
            ax.plot(self.thresholds, values, drawstyle="steps-pre", color=color,
                    linewidth=width, label=label)  # fmt: skip
        mark = f"threshold {self.threshold:.3g}"
        ax.axvline(self.threshold, color=ORANGE, linestyle="--", linewidth=1.2, label=mark)
        ax.set(ylim=(0, 1.02), xlabel="threshold of the score", ylabel="on these rows")
        ax.set_title(short(self.label_name, 40), parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return self


@dataclass(eq=False, kw_only=True, repr=False)
class MetricByRarityDisplay(Display):
    """A measure of every label against the rows that it has, and the mean of like labels.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`; a second one on the same
    axes (``ax=first.ax_``) compares two models.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
        The rows of every label.
    values : ndarray of shape (n_labels,)
        The measure of every label; nan where it is not defined.
    metric : str
        What the measure is.
    name : str or None
        What the legend calls the model.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.report import MetricByRarityDisplay
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> model = KNeighborsClassifier(5).fit(X[:100], y[:100])
    >>> display = MetricByRarityDisplay.from_estimator(model, X[100:], y[100:], y_train=y[:100])
    >>> display.ax_.get_ylabel()
    'f1'
    """

    counts: NDArray[np.int64]
    values: NDArray[np.float64]
    metric: str
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, metric: Rate | Area = "f1", **options: Any
    ) -> MetricByRarityDisplay:
        """Predict rows, measure every label and draw.

        Parameters
        ----------
        estimator : classifier
            Fitted.
        X, y : array-like, sparse or data frame
            Rows with known labels.
        metric, **options
            As for :meth:`from_predictions`.
        """
        is_area = metric in get_args(Area)
        told = label_scores(estimator, X) if is_area else estimator.predict(X)
        options.setdefault("name", type(estimator).__name__)
        return cls.from_predictions(y, told, metric=metric, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        metric: Rate | Area = "f1",
        y_train: Any = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> MetricByRarityDisplay:
        """Measure every label and draw.

        Parameters
        ----------
        y_true : array-like, sparse or data frame of shape (n_samples, n_labels)
            The true labels.
        y_pred : array-like, sparse or data frame of the same shape
            Predicted labels; scores for "auc_roc" and "auc_pr".
        metric : str, default="f1"
            "precision", "recall", "specificity", "g_mean", "f1", "auc_roc" or "auc_pr".
        y_train : array-like, sparse or data frame, optional
            Where the rows of a label are counted, if not in ``y_true``.
        name : str, optional
            What the legend calls the model.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for :meth:`plot`.
        """
        check_choice("metric", metric, (*get_args(Rate), *get_args(Area)))
        counted = validate_labels(
            y_true if y_train is None else y_train, caller=cls.__name__, needs_all=None
        )
        if metric in get_args(Area):
            areas = label_areas(y_true, y_pred)
            values = getattr(areas, metric)
        else:
            told = imbalance_report(y_true, y_pred, y_train=y_train)
            # Where there was nothing to find, a rate would say nothing of rarity.
            values = np.where(told.support > 0, getattr(told, metric), np.nan)
        counts = column_counts(counted.Y)
        display = cls(counts=counts, values=np.asarray(values), metric=metric, name=name)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, **scatter: Any) -> MetricByRarityDisplay:
        """Draw a point for every label, and a line through the means of labels of like rarity.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **scatter
            Options of the points, such as ``color``.
        """
        ax = self._open(ax, size=(6.0, 3.8))
        known = (self.counts > 0) & ~np.isnan(self.values)
        points = {"s": 18, "alpha": 0.5, "linewidth": 0, **scatter}
        drawn = ax.scatter(self.counts[known], self.values[known], **points)
        bands = [labels[known[labels]] for labels in rarity_bands(self.counts).values()]
        middles = [
            (np.exp(np.log(self.counts[band]).mean()), self.values[band].mean())
            for band in bands
            if len(band)
        ]
        if middles:
            ax.plot(*zip(*middles), "o-", color=drawn.get_facecolor()[0][:3], label=self.name)
        ax.set(xscale="log", xlabel="rows of the label", ylabel=self.metric, ylim=(-0.02, 1.02))
        write_numbers(ax.xaxis)
        ax.spines[["top", "right"]].set_visible(False)
        if self.name is not None:
            ax.legend(frameon=False)
        return self


@dataclass(eq=False, repr=False)
class CriticalDifferenceDisplay(Display):
    """Average ranks of methods; a bar joins those that do not differ significantly.

    Make it with :meth:`from_data` or :meth:`from_comparison`.

    Parameters
    ----------
    comparison : Comparison
        What `labelance.study.statistics.compare` returned.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    References
    ----------
    J. Demšar. "Statistical comparisons of classifiers over multiple data sets". JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.report import CriticalDifferenceDisplay
    >>> scores = np.random.default_rng(0).normal([0.70, 0.71, 0.78], 0.02, size=(10, 3))
    >>> display = CriticalDifferenceDisplay.from_data(scores, methods=["none", "MLSOL", "EMLSOL"])
    >>> display.comparison.cliques
    (('MLSOL', 'none'),)
    """

    comparison: Comparison

    @classmethod
    def from_data(
        cls, scores: Any, *, ax: Any = None, title: str = "", **options: Any
    ) -> CriticalDifferenceDisplay:
        """Compare methods and draw their ranks.

        Parameters
        ----------
        scores : array or data frame of shape (n_datasets, n_methods)
            One score for every dataset and method.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        title : str, default=""
            The heading.
        **options
            Of `labelance.study.statistics.compare`, such as ``methods`` and ``alpha``.
        """
        return cls.from_comparison(compare(scores, **options), ax=ax, title=title)

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, ax: Any = None, title: str = ""
    ) -> CriticalDifferenceDisplay:
        """Draw a comparison that was made before."""
        return cls(comparison).plot(ax, title=title)

    def plot(self, ax: Any = None, *, title: str = "") -> CriticalDifferenceDisplay:
        """Draw the ranks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure of fitting size.
        title : str, default=""
            The heading.
        """
        is_new = ax is None
        ax = self._open(ax, size=ranks_size(self.comparison))
        if is_new:
            ax.set_position((0, 0, 1, 1))  # the diagram has margins of its own
        if title:
            where = {"x": 0.02, "y": 1, "pad": -14} if is_new else {}
            ax.set_title(
                title, loc="left", fontsize=11, fontweight="bold", parse_math=False, **where
            )
        draw_ranks(ax, self.comparison)
        return self
