"""Before and after resampling: one column of pictures for each label."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from labelance._arrays._containers import to_dense
from labelance._arrays._open import stack_rows
from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance._validation._data import validate_data
from labelance._validation._features import check_no_device
from labelance.exceptions import InputError
from labelance.report._display import name_labels

# Colors that people with color-blindness can tell apart.
ABSENT, PRESENT, ADDED = "#C9CCD1", "#0072B2", "#D55E00"


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
        present, present_after = (_column(Y, label) for Y in (self.Y, self.Y_after))
        n = len(self.points)
        if after:
            _scatter_rows(ax, self.points_after, present_after, n)
        else:
            _scatter_rows(ax, self.points, present, n)
        return int(present.sum()), int(present_after.sum())


def open_resampling(
    X: Any,
    y: Any,
    X_resampled: Any,
    y_resampled: Any,
    label_names: Sequence[Any] | None,
    *,
    caller: str,
) -> tuple[Resampling, tuple[Any, ...]]:
    """Check and clean data before and after a sampler; return them with the label names."""
    check_no_device(X, caller=caller)
    before = validate_data(X, y, caller=caller, missing="refuse")
    n_labels = before.Y.shape[1]
    after = validate_data(
        X_resampled,
        y_resampled,
        caller=caller,
        missing="refuse",
        vocabulary=before.labels.names or (),
    )
    if after.Y.shape[1] != n_labels:
        raise InputError(
            f"{caller} needs the same labels before and after",
            f"y has {n_labels} labels, and y_resampled has {after.Y.shape[1]}",
        )
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


def _column(Y: sp.csr_array, label: int) -> np.ndarray:
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    present = np.zeros(Y.shape[0], dtype=bool)
    present[rows[Y.indices == label]] = True
    return present


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
