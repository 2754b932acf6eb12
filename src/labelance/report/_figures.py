"""The figures of a study: critical differences, scores, and time against quality."""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from labelance._utils._messages import optional_import
from labelance.study.statistics import Comparison

# Dark text on white, and two colors that people with color-blindness can tell apart.
INK, FAINT, BLUE, ORANGE = "#1b1f24", "#8a9099", "#0072B2", "#D55E00"
PALE_BLUE, PAPER = "#d7e8f3", "#ffffff"

# What a page calls these colors, where it has others for the dark.
_VARIABLES = {
    INK: "--ink",
    FAINT: "--edge",
    BLUE.lower(): "--mark",
    ORANGE.lower(): "--join",
    PALE_BLUE: "--box",
    PAPER: "--page",
}
# Inches: at this width letters of 10 points are about 11 pixels on a phone.
WIDTH = 4.6

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Names are other people's text: a dollar sign in them does not begin a formula.
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    # Letters stay letters: smaller files, and readable by search and screen readers.
    "svg.fonttype": "none",
}


def short(name: str, most: int = 18) -> str:
    """Cut a long name; figures have little room and the tables have it whole."""
    return name if len(name) <= most else name[: most - 1] + "…"


@contextmanager
def drawing() -> Iterator[Any]:
    """Yield matplotlib's figure module under the report's style."""
    style = optional_import("matplotlib.style", extra="report", purpose="Drawing a report")
    figures = optional_import("matplotlib.figure", extra="report", purpose="Drawing a report")
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # Names in any script are drawn by the reader's fonts, not by those found here.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield figures


def to_svg(figure: Any, *, name: str, title: str, description: str) -> str:
    """Return a figure as SVG to stand inside HTML, with words for those who cannot see it.

    Its colors are variables of the page, and as they are in the figure where it has none. The
    same figure gives the same bytes: no date, and ids made from ``name``.
    """
    matplotlib = optional_import("matplotlib", extra="report", purpose="Drawing a report")
    file = io.StringIO()
    with drawing(), matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(file.getvalue(), name, title, description)


def _inline(svg: str, name: str, title: str, description: str) -> str:
    """Drop what only files need, and all ids that nothing refers to."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    head, _, body = svg.partition(">")
    body = body.replace("xlink:href", "href")
    body = re.sub(r"(?<=: )#[0-9a-f]{6}\b", _make_variable, body)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", body))
    body = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", body)
    box = re.search(r'viewBox="([^"]*)"', head)
    words = f"<title>{html.escape(title)}</title><desc>{html.escape(description)}</desc>"
    size = box[1] if box else "0 0 1 1"
    return f'<svg viewBox="{size}" role="img" aria-label="{html.escape(title)}">{words}{body}'


def _make_variable(color: re.Match[str]) -> str:
    name = _VARIABLES.get(color[0])
    return color[0] if name is None else f"var({name}, {color[0]})"


# Inches: heights of a line, a bar, the axis with its title, the foot; and the width of a letter.
_LINE, _BAR, _AXIS, _FOOT = 0.26, 0.11, 0.62, 0.14
_LETTER = 0.085
# Inches: the shortest axis, the least room between two ranks on it, and what a number there takes.
_SHORTEST, _RANK, _NUMBER = 1.1, 0.13, 0.24


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
    with drawing() as figures:
        width, height = ranks_size(comparison)
        figure = figures.Figure(figsize=(width, height))
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, y=1 - 0.05 / height,
                        ha="left", va="top")  # fmt: skip
        draw_ranks(figure.add_axes((0, 0, 1, 1)), comparison)
    return figure


def ranks_size(comparison: Comparison) -> tuple[float, float]:
    """Return width and height, in inches, that a critical-difference diagram needs."""
    bars, lines = len(comparison.cliques), math.ceil(len(comparison.methods) / 2)
    height = _AXIS + _BAR * (bars + 1) + _LINE * lines + _FOOT
    axis = max(_SHORTEST, _RANK * (len(comparison.methods) - 1))
    return max(WIDTH, 2 * _name_width(comparison) + axis), height


def _name_width(comparison: Comparison) -> float:
    return 0.1 + _LETTER * (7 + max(len(short(name, 15)) for name in comparison.methods))


def draw_ranks(ax: Any, comparison: Comparison) -> None:
    """Draw a critical-difference diagram, with names left and right, into the whole of an axes."""
    ranks = np.asarray(comparison.average_ranks, dtype=float)
    order = np.argsort(ranks, kind="stable")
    names = [comparison.methods[place] for place in order]
    ranks, k = ranks[order], max(len(names), 2)
    bars = [[names.index(name) for name in group] for group in comparison.cliques]
    _, height = ranks_size(comparison)
    width = ax.get_position().width * ax.figure.get_figwidth()
    margin = min(_name_width(comparison), 0.45 * width)
    reach = (k - 1) * margin / (width - 2 * margin)  # the names' room, in ranks
    # One unit of y is one inch where the axes are as high as asked for.
    ax.set(xlim=(1 - reach, k + reach), ylim=(-(height - _AXIS), _AXIS))
    ax.axis("off")
    _draw_axis(ax, k, room=(width - 2 * margin) / (k - 1))
    _draw_names(ax, names, ranks, top=-_BAR * (len(bars) + 1), k=k)
    for level, group in enumerate(bars):
        y = -_BAR * (level + 1)
        ends = ranks[group[0]] - 0.01 * k, ranks[group[-1]] + 0.01 * k
        ax.plot(ends, (y, y), color=ORANGE, linewidth=3.5, solid_capstyle="round", zorder=3)


def _draw_axis(ax: Any, k: int, *, room: float) -> None:
    """Draw a tick for every rank, and numbers at as many as ``room`` inches between them allow."""
    ink = ax.title.get_color()  # that of text, light where the style is dark
    ax.plot((1, k), (0, 0), color=ink, linewidth=1.2, clip_on=False)
    number = _NUMBER if k > 9 else _NUMBER - _LETTER
    every = math.ceil(number / room)
    for rank in range(1, k + 1):
        ax.plot((rank, rank), (0, 0.06), color=ink, linewidth=1.2, clip_on=False)
        if (rank - 1) % every == 0:
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
            parse_math=False,
        )  # fmt: skip


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
            patch_artist=True, boxprops={"facecolor": PALE_BLUE, "edgecolor": BLUE},
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
    >>> from labelance.report._figures import spread
    >>> spread(np.array([1.0, 1.0, 3.0]), 0.5).tolist()
    [0.75, 1.25, 3.0]
    """
    steps = gap * np.arange(len(places))
    return np.asarray(isotonic_regression(places - steps)) + steps
