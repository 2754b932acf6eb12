"""Time against quality: what a method costs and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from labelance.report._figure import BLUE, FAINT, WIDTH, drawing, short


def plot_time_quality(seconds: Any, ranks: Any, *, title: str = "") -> Any:
    """Draw the average rank of every method over the seconds it takes; best is top left.

    Parameters
    ----------
    seconds, ranks : pandas.Series
        CPU seconds and average rank, by method.
    title : str, default=""
        The heading.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Not shown and not saved yet.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelance.report import plot_time_quality
    >>> figure = plot_time_quality(pd.Series({"Default": 1.0, "EMLSOL": 6.0}),
    ...                            pd.Series({"Default": 1.9, "EMLSOL": 1.1}))
    >>> figure.axes[0].get_xscale()
    'log'
    """
    ranks = ranks.sort_values(kind="stable")
    x = np.maximum(seconds[ranks.index].to_numpy(dtype=float), 1e-4)
    y = ranks.to_numpy(dtype=float)
    low, high = y.min() - 0.4, y.max() + 0.4
    with drawing() as figures:
        figure = figures.Figure(figsize=(WIDTH, 3.3))
        room = 0.05 + 0.0175 * max(len(short(name)) for name in ranks.index)
        ax = figure.add_axes((0.11, 0.15, 0.87 - room, 0.74))
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, y=0.985, ha="left", va="top")
        ax.set(xscale="log", ylim=(high, low), xlim=(x.min() / 1.5, x.max() * 1.5))
        ax.plot(x, y, "o", color=BLUE, markersize=6.5, zorder=3)
        gap = (high - low) * 0.075
        for name, point, place in zip(ranks.index, zip(x, y), spread(y, gap)):
            ax.annotate(
                short(name), point, (1.04, place), textcoords=ax.get_yaxis_transform(), va="center",
                fontsize=9.5, annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.7, "alpha": 0.8},
            )  # fmt: skip
        ax.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_formatter(lambda value, _: "")
        ax.set_xlabel("CPU seconds per fold (log scale)", fontsize=9.5)
        ax.set_ylabel("average rank (best on top)", fontsize=9.5)
        ax.grid(color=FAINT, alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def spread(places: np.ndarray, gap: float) -> np.ndarray:
    """Move ascending places apart to at least ``gap``, each as little as possible.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.report._time_figure import spread
    >>> spread(np.array([1.0, 1.0, 3.0]), 0.5).tolist()
    [0.75, 1.25, 3.0]
    """
    steps = gap * np.arange(len(places))
    return np.asarray(isotonic_regression(places - steps)) + steps
