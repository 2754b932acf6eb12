"""Pictures of data: label frequencies, types of minority cells, before and after a sampler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD

from labelance._arrays._containers import column_counts, to_dense
from labelance._arrays._open import stack_rows
from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance._validation._arguments import check_choice
from labelance._validation._data import check_no_device, validate_data, validate_labels
from labelance.exceptions import InputError
from labelance.imbalance import ImbalanceProfile, LabelType, profile
from labelance.imbalance._measures import rarest_first
from labelance.report._display import Display, find_label, name_labels, write_numbers
from labelance.report._figures import BLUE, FAINT, ORANGE, short

# Safe, borderline, rare and outlier, for people with color-blindness too.
TYPE_COLORS = ("#009E73", "#56B4E9", "#E69F00", "#D55E00")
_BAR = 0.24  # inches that a label takes
# Colors that people with color-blindness can tell apart.
ABSENT, PRESENT, ADDED = "#C9CCD1", "#0072B2", "#D55E00"


@dataclass(eq=False, kw_only=True, repr=False)
class LabelFrequencyDisplay(Display):
    """Rows of every label on a log scale, rarest first.

    Make it with :meth:`from_data` or :meth:`from_profile`.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
        The rows that have each label.
    label_names : sequence of str
        The names of the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from labelance.datasets import load_dataset
    >>> from labelance.report import LabelFrequencyDisplay
    >>> X, y = load_dataset("flags", return_X_y=True)
    >>> display = LabelFrequencyDisplay.from_data(y, folds=10)
    >>> display.ax_.get_xscale()
    'log'
    """

    counts: NDArray[np.int64]
    label_names: Sequence[str]

    @classmethod
    def from_data(
        cls, y: Any, *, label_names: Sequence[Any] | None = None, ax: Any = None, **options: Any
    ) -> LabelFrequencyDisplay:
        """Count the rows of every label and draw them.

        Parameters
        ----------
        y : array-like, sparse or data frame of shape (n_samples, n_labels)
            The labels, zeros and ones.
        label_names : sequence, optional
            By default the column names of y, or their numbers.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            As for :meth:`plot`.
        """
        labels = validate_labels(y, caller=cls.__name__, needs_all=None)
        names = tuple(map(str, name_labels(labels, label_names, cls.__name__)))
        return cls(counts=column_counts(labels.Y), label_names=names).plot(ax, **options)

    @classmethod
    def from_profile(
        cls, profile: ImbalanceProfile, *, ax: Any = None, **options: Any
    ) -> LabelFrequencyDisplay:
        """Draw the counts of a profile."""
        names = tuple(map(str, profile.label_names))
        return cls(counts=profile.label_counts, label_names=names).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, top: int = 40, folds: int | None = None
    ) -> LabelFrequencyDisplay:
        """Draw a bar for every label, or one line where there are many labels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        top : int, default=40
            The most labels that get a bar and their name.
        folds : int, optional
            Mark this many rows: labels with fewer cannot be in all folds.
        """
        order = rarest_first(self.counts)
        if len(order) <= top:
            ax = self._open(ax, size=(6.4, 1.2 + _BAR * len(order)))
            _draw_counts(ax, self.counts[order])
            _name_bars(ax, [self.label_names[j] for j in order])
            ax.set(xscale="log", xlim=(0.7, 1.35 * max(1, self.counts.max())), xlabel="rows")
            write_numbers(ax.xaxis)
        else:
            ax = self._open(ax, size=(6.4, 3.6))
            seen = np.sort(self.counts[self.counts > 0])
            ax.step(np.arange(1, len(seen) + 1), seen, where="mid", color=BLUE)
            ax.set(yscale="log", xlabel="labels, rarest first", ylabel="rows")
            write_numbers(ax.yaxis)
        if folds is not None:
            mark = ax.axvline if len(order) <= top else ax.axhline
            mark(folds, color=ORANGE, linestyle="--", linewidth=1.2, label=f"{folds} folds")
            ax.legend(frameon=False)
        return self


@dataclass(eq=False, kw_only=True, repr=False)
class MinorityTypesDisplay(Display):
    """Shares of safe, borderline, rare and outlier among the minority cells of every label.

    Make it with :meth:`from_data` or :meth:`from_profile`.

    Parameters
    ----------
    type_counts : ndarray of shape (n_labels, 4)
        Each label's minority cells of the four types.
    label_counts : ndarray of shape (n_labels,)
        The rows that have each label, which order the labels.
    label_names : sequence of str
        The names of the labels.
    n_neighbors : int
        The number of neighbors that decide the types.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> from labelance.datasets import make_multilabel_imbalanced
    >>> from labelance.report import MinorityTypesDisplay
    >>> X, y = make_multilabel_imbalanced(200, random_state=0)
    >>> display = MinorityTypesDisplay.from_data(X, y)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['safe', 'borderline', 'rare', 'outlier']
    """

    type_counts: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    label_names: Sequence[str]
    n_neighbors: int

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, n_neighbors: int = 5, top: int = 40, ax: Any = None, **options: Any
    ) -> MinorityTypesDisplay:
        """Type the minority cells and draw them.

        Parameters
        ----------
        X, y : array-like, sparse or data frame
            Features and labels.
        n_neighbors : int, default=5
            The number of neighbors.
        top : int, default=40
            The most labels that are drawn.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        **options
            Other parameters of `labelance.imbalance.profile`, such as ``scale``.
        """
        return cls.from_profile(profile(X, y, n_neighbors=n_neighbors, **options), top=top, ax=ax)

    @classmethod
    def from_profile(
        cls, profile: ImbalanceProfile, *, top: int = 40, ax: Any = None
    ) -> MinorityTypesDisplay:
        """Draw the types of a profile that has searched neighbors."""
        if profile.type_counts is None or profile.n_neighbors is None:
            problem = f"{cls.__name__} needs a profile with types: profile(X, y, n_neighbors=5)"
            raise InputError(problem, "Got none")
        display = cls(
            type_counts=profile.type_counts,
            label_counts=profile.label_counts,
            label_names=tuple(map(str, profile.label_names)),
            n_neighbors=profile.n_neighbors,
        )
        return display.plot(ax, top=top)

    def plot(self, ax: Any = None, *, top: int = 40) -> MinorityTypesDisplay:
        """Draw a bar for every label, rarest first.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        top : int, default=40
            The most labels that are drawn: the rarest.
        """
        totals = self.type_counts.sum(axis=1)
        order = rarest_first(self.label_counts)
        order = order[totals[order] > 0][:top]
        shares = self.type_counts[order] / totals[order, None]
        ax = self._open(ax, size=(6.4, 1.4 + _BAR * len(order)))
        left = np.zeros(len(order))
        for kind, color, share in zip(LabelType, TYPE_COLORS, shares.T):
            places = np.arange(len(order))
            ax.barh(places, share, left=left, color=color, height=0.75, label=kind.name.lower())
            left += share
        _name_bars(ax, [self.label_names[j] for j in order])
        ax.set(xlim=(0, 1), xlabel=f"share of minority cells, k = {self.n_neighbors}")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
        return self


@dataclass(eq=False, kw_only=True, repr=False)
class ResamplingDisplay(Display):
    """What a sampler did: the rows of one label in a plane, or the counts of all labels.

    Make it with :meth:`from_estimator` or :meth:`from_data`.

    Parameters
    ----------
    resampling : Resampling
        Rows and labels before and after, as points of one plane.
    label_names : sequence of str
        The names of the labels.
    label : int
        The label whose rows are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it is drawn.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    plot_before_after : Several labels before and after, as a figure.

    Examples
    --------
    >>> from labelance import MLSOL
    >>> from labelance.datasets import make_figure1
    >>> from labelance.report import ResamplingDisplay
    >>> X, y = make_figure1("b", random_state=0)
    >>> display = ResamplingDisplay.from_estimator(MLSOL(random_state=0), X, y, label=0)
    >>> display.ax_.get_title()
    '0: 60 -> 94 rows'
    """

    resampling: Resampling
    label_names: Sequence[str]
    label: int

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **options: Any) -> ResamplingDisplay:
        """Resample and draw before and after.

        Parameters
        ----------
        estimator : sampler
            An object with ``fit_resample``.
        X, y : array-like, sparse or data frame
            Features and labels.
        **options
            As for :meth:`from_data`.
        """
        return cls.from_data(X, y, *estimator.fit_resample(X, y), **options)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        X_resampled: Any,
        y_resampled: Any,
        *,
        label: Any = None,
        label_names: Sequence[Any] | None = None,
        kind: Literal["map", "counts"] = "map",
        ax: Any = None,
    ) -> ResamplingDisplay:
        """Draw data before and after a sampler.

        Parameters
        ----------
        X, y : array-like, sparse or data frame
            Before. X with more than two features is projected on its two main directions.
        X_resampled, y_resampled : the same kinds
            What a sampler returned.
        label : name or column number, optional
            The label whose rows are drawn; by default the one that gained most for its size.
        label_names : sequence, optional
            By default the column names of y, or their numbers.
        kind : {"map", "counts"}, default="map"
            The rows of one label, or the rows of every label counted.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        """
        caller = cls.__name__
        found, names = open_resampling(X, y, X_resampled, y_resampled, label_names, caller=caller)
        counts = column_counts(found.Y), column_counts(found.Y_after)
        gained = (counts[1] - counts[0]) / np.maximum(counts[0], 1)
        chosen = int(gained.argmax()) if label is None else find_label(label, names, caller)
        display = cls(resampling=found, label_names=tuple(map(str, names)), label=chosen)
        return display.plot(ax, kind=kind)

    def plot(self, ax: Any = None, *, kind: Literal["map", "counts"] = "map") -> ResamplingDisplay:
        """Draw the rows of the label, or the counts of all labels.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        kind : {"map", "counts"}, default="map"
            What to draw.
        """
        check_choice("kind", kind, ("map", "counts"))
        if kind == "map":
            self._plot_map(self._open(ax, size=(5.2, 4.6)))
        else:
            self._plot_counts(ax)
        return self

    def _plot_map(self, ax: Any) -> None:
        n, n_after = self.resampling.draw(ax, self.label, after=True)
        name = self.label_names[self.label]
        ax.set_title(f"{short(name, 28)}: {n} -> {n_after} rows", parse_math=False)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, frameon=False)

    def _plot_counts(self, ax: Any) -> None:
        before, after = (column_counts(Y) for Y in (self.resampling.Y, self.resampling.Y_after))
        order = rarest_first(before)[:40]
        ax = self._open(ax, size=(6.4, 1.4 + _BAR * len(order)))
        places = np.arange(len(order))
        low, high = (np.maximum(part[order], 0.8) for part in (before, after))
        ax.hlines(places, low, high, color=FAINT, linewidth=2)
        ax.plot(low, places, "o", color=BLUE, label="before")
        ax.plot(high, places, "o", color=ORANGE, label="after")
        _name_bars(ax, [self.label_names[j] for j in order])
        ax.set(xscale="log", xlabel="rows")
        write_numbers(ax.xaxis)
        ax.legend(ncols=2, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)


def _draw_counts(ax: Any, counts: NDArray[np.int64]) -> None:
    places = np.arange(len(counts))
    ax.barh(places, counts, color=BLUE, alpha=0.75, height=0.7)
    for place, count in zip(places, counts.tolist()):
        ax.annotate(
            f"{count:,}", (max(count, 0.75), place), (3, 0), textcoords="offset points",
            va="center", fontsize=8,
        )  # fmt: skip


def _name_bars(ax: Any, names: Sequence[str]) -> None:
    """Name the bars, the first on top; a name is other people's text, and no formula."""
    ax.set_yticks(range(len(names)), [short(name, 28) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)


# --- before and after -----------------------------------------------------------------------------


def plot_before_after(
    X: Any,
    y: Any,
    X_resampled: Any,
    y_resampled: Any,
    *,
    label_names: Sequence[str] | None = None,
    labels: Sequence[int] | None = None,
    title: str = "resampling",
) -> Any:
    """Draw where each label is present, before and after resampling.

    Parameters
    ----------
    X, y : array, sparse matrix or data frame
        The data before. X with more than two features is projected on its two main
        directions.
    X_resampled, y_resampled : the same kinds
        What a sampler returned.
    label_names : sequence of str, optional
        Names for the pictures' headings.
    labels : sequence of int, optional
        The labels to draw; by default the first three.
    title : str
        What was done, for the heading of the lower row.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Not shown and not saved yet.

    Examples
    --------
    >>> from labelance import MLSOL
    >>> from labelance.datasets import make_figure1
    >>> from labelance.report import plot_before_after
    >>> X, y = make_figure1("b", random_state=0)
    >>> figure = plot_before_after(X, y, *MLSOL(random_state=0).fit_resample(X, y))
    >>> len(figure.axes)
    6
    """
    figures = optional_import("matplotlib.figure", extra="plots", purpose="Drawing")
    found, names = open_resampling(
        X, y, X_resampled, y_resampled, label_names, caller="plot_before_after"
    )
    chosen = list(labels if labels is not None else range(min(3, len(names))))
    figure = figures.Figure(figsize=(3.4 * len(chosen) + 0.6, 7.0), layout="constrained")
    axes = figure.subplots(2, len(chosen), sharex=True, sharey=True, squeeze=False)
    n, n_after = len(found.points), len(found.points_after)
    for column, label in enumerate(chosen):
        found.draw(axes[0, column], label, after=False)
        rows, rows_after = found.draw(axes[1, column], label, after=True)
        axes[0, column].set_title(f"{names[label]}: {rows} of {n}", fontsize=11, parse_math=False)
        axes[1, column].set_title(f"{rows_after} of {n_after}", fontsize=11)
    axes[0, 0].set_ylabel("before")
    axes[1, 0].set_ylabel(f"after {title}")
    handles, told = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, told, loc="outside lower center", ncols=3, frameon=False)
    return figure


@dataclass(frozen=True, eq=False)
class Resampling:
    """Rows before and after a sampler, as points of one plane.

    Attributes
    ----------
    points, points_after : ndarray of shape (n, 2)
        The rows.
    Y, Y_after : csr_array
        Their clean labels.
    """

    points: np.ndarray
    points_after: np.ndarray
    Y: sp.csr_array
    Y_after: sp.csr_array

    def draw(self, ax: Any, label: int, *, after: bool) -> tuple[int, int]:
        """Draw the rows with a label among the others; return how many before and after."""
        before, now = (Y[:, [label]].toarray().ravel() != 0 for Y in (self.Y, self.Y_after))
        points, present = (self.points_after, now) if after else (self.points, before)
        _scatter_rows(ax, points, present, len(self.points))
        return int(before.sum()), int(now.sum())


def open_resampling(
    X: Any,
    y: Any,
    X_after: Any,
    y_after: Any,
    label_names: Sequence[Any] | None,
    *,
    caller: str,
) -> tuple[Resampling, tuple[Any, ...]]:
    """Check and clean data before and after a sampler; return them with the label names."""
    check_no_device(X, caller=caller)
    before = validate_data(X, y, caller=caller, missing="refuse")
    n_labels = before.Y.shape[1]
    words = before.labels.names or ()
    after = validate_data(X_after, y_after, caller=caller, missing="refuse", vocabulary=words)
    if after.Y.shape[1] != n_labels:
        found = f"y has {n_labels} labels, and y_resampled has {after.Y.shape[1]}"
        raise InputError(f"{caller} needs the same labels before and after", found)
    names = name_labels(before.labels, label_names, caller)
    return Resampling(*_flatten(before.X, after.X), before.Y, after.Y), names


def save_before_after(path: str | os.PathLike[str], *args: Any, **options: Any) -> None:
    """Draw as :func:`plot_before_after` does, into a file; its ending says the format."""
    figure = plot_before_after(*args, **options)
    with replace_when_done(path) as temporary:
        figure.savefig(temporary, dpi=140)


def _flatten(X: Any, X_after: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return both as points of a plane."""
    if X.shape[1] < 3:
        X, X_after = (
            np.pad(to_dense(part), ((0, 0), (0, 2 - X.shape[1]))) for part in (X, X_after)
        )
        return X, X_after
    projection = TruncatedSVD(2, random_state=0).fit(stack_rows(X, X_after))
    return projection.transform(X), projection.transform(X_after)


def _scatter_rows(ax: Any, points: np.ndarray, present: np.ndarray, n_original: int) -> None:
    """Draw absent below present below added, so that the rare stays visible."""
    added = np.arange(len(points)) >= n_original
    parts: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
        "absent": (~present, {"s": 9, "color": ABSENT, "linewidth": 0}),
        "present": (present & ~added, {"s": 16, "color": PRESENT, "linewidth": 0}),
        "present, synthetic": (
            present & added,
            {"s": 20, "facecolor": "none", "edgecolor": ADDED, "linewidth": 0.9},
        ),
    }
    for name, (rows, style) in parts.items():
        ax.scatter(*points[rows].T, label=name, **style)
    ax.set_xticks([])
    ax.set_yticks([])
    for side in ax.spines.values():
        side.set_color("#D9D9D9")
