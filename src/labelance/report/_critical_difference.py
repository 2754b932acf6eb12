"""The critical-difference diagram: methods on an axis of ranks, bars over those not told apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from labelance.report._figure import BLUE, FAINT, INK, ORANGE, WIDTH, drawing, short
from labelance.study.statistics import Comparison

# Inches: heights of a line, a bar, the axis with its title, the foot; and the width of a letter.
_LINE, _BAR, _AXIS, _FOOT = 0.26, 0.11, 0.62, 0.14
_LETTER = 0.085


def plot_critical_difference(comparison: Comparison, *, title: str = "") -> Any:
    """Draw a comparison's average ranks; a bar joins methods that do not differ significantly.

    Parameters
    ----------
    comparison : Comparison
        What :func:`labelance.study.statistics.compare` returned.
    title : str, default=""
        The heading.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Not shown and not saved yet.

    References
    ----------
    J. Demšar. "Statistical comparisons of classifiers over multiple data sets". JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.report import plot_critical_difference
    >>> from labelance.study.statistics import compare
    >>> scores = np.random.default_rng(0).normal([0.70, 0.71, 0.78], 0.02, size=(10, 3))
    >>> figure = plot_critical_difference(compare(scores, methods=["none", "MLSOL", "EMLSOL"]))
    >>> len(figure.axes)
    1
    """
    ranks = np.asarray(comparison.average_ranks, dtype=float)
    order = np.argsort(ranks, kind="stable")
    names = [comparison.methods[place] for place in order]
    ranks, k = ranks[order], len(names)
    bars = [[names.index(name) for name in group] for group in comparison.cliques]
    below = _BAR * (len(bars) + 1)
    lines = math.ceil(k / 2)
    height = _AXIS + below + _LINE * lines + _FOOT
    margin = _LETTER * (7 + max(len(short(name, 15)) for name in names))
    width = max(WIDTH, 2 * margin + 1.1)
    with drawing() as figures:
        figure = figures.Figure(figsize=(width, height))
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, y=1 - 0.05 / height,
                        ha="left", va="top")  # fmt: skip
        ax = figure.add_axes((margin / width, 0, 1 - 2 * margin / width, 1))
        # One unit of y is one inch, so that lines keep their distance for any number of methods.
        ax.set(xlim=(1, max(k, 2)), ylim=(-(height - _AXIS), _AXIS))
        ax.axis("off")
        _draw_axis(ax, k)
        _draw_names(ax, names, ranks, top=-below, k=max(k, 2))
        for level, group in enumerate(bars):
            y = -_BAR * (level + 1)
            ends = ranks[group[0]] - 0.01 * k, ranks[group[-1]] + 0.01 * k
            ax.plot(ends, (y, y), color=ORANGE, linewidth=3.5, solid_capstyle="round", zorder=3)
    return figure


def _draw_axis(ax: Any, k: int) -> None:
    ax.plot((1, max(k, 2)), (0, 0), color=INK, linewidth=1.2, clip_on=False)
    for rank in range(1, max(k, 2) + 1):
        ax.plot((rank, rank), (0, 0.06), color=INK, linewidth=1.2, clip_on=False)
        ax.text(rank, 0.09, str(rank), ha="center", va="bottom", fontsize=9.5)


def _draw_names(ax: Any, names: list[str], ranks: np.ndarray, *, top: float, k: int) -> None:
    """Hang the better half on the left and the others on the right, outermost first."""
    half = math.ceil(len(names) / 2)
    reach = 0.02 * (k - 1)
    for place, (name, rank) in enumerate(zip(names, ranks)):
        left = place < half
        line = place if left else len(names) - 1 - place
        y = top - _LINE * (line + 0.35)
        end = 1 - reach if left else k + reach
        ax.plot((rank, rank, end), (0, y, y), color=FAINT, linewidth=0.8, clip_on=False)
        ax.plot(rank, 0, marker="o", markersize=4, color=BLUE, clip_on=False, zorder=4)
        text = f"{short(name, 15)}  {rank:.2f}" if left else f"{rank:.2f}  {short(name, 15)}"
        ax.annotate(
            text, (end, y), (-4 if left else 4, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", fontsize=9.5, annotation_clip=False,
        )  # fmt: skip
