"""Box plots: the scores of every method over datasets."""

from __future__ import annotations

from typing import Any

from labelance.report._figure import BLUE, FAINT, INK, WIDTH, drawing, short


def plot_scores(scores: Any, *, title: str = "", measure: str = "score") -> Any:
    """Draw one box per method over its scores on all datasets, and the scores as dots.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per dataset, one column per method.
    title : str, default=""
        The heading.
    measure : str, default="score"
        What the axis shows.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Not shown and not saved yet.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelance.report import plot_scores
    >>> figure = plot_scores(pd.DataFrame({"Default": [0.4, 0.5], "MLSOL": [0.5, 0.6]}))
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['Default', 'MLSOL']
    """
    methods = list(scores.columns)
    columns = [scores[method].dropna().to_numpy() for method in methods]
    places = range(len(methods))
    with drawing() as figures:
        figure = figures.Figure(figsize=(WIDTH, 0.95 + 0.34 * len(methods)), layout="constrained")
        ax = figure.subplots()
        ax.set_title(title, fontsize=11, fontweight="bold", loc="left")
        ax.boxplot(
            columns, positions=places, orientation="horizontal", widths=0.62, showfliers=False,
            patch_artist=True, boxprops={"facecolor": "#d7e8f3", "edgecolor": BLUE},
            medianprops={"color": INK, "linewidth": 1.8}, whiskerprops={"color": BLUE},
            capprops={"color": BLUE},
        )  # fmt: skip
        for place, values in zip(places, columns):
            ax.plot(values, [place] * len(values), "o", color=INK, markersize=2.6, alpha=0.55)
        ax.set_yticks(list(places), [short(name) for name in methods])
        ax.invert_yaxis()
        ax.set_xlabel(measure, fontsize=9.5)
        ax.grid(axis="x", color=FAINT, alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
    return figure
