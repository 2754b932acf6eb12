"""Draw the pictures of the front page: the problem and the cure, and the card that links show.

    python tools/make_front_pictures.py

writes ``front-light.svg`` and ``front-dark.svg``, the same with three parts below each other for
phones (``front-light-stacked.svg``, ``front-dark-stacked.svg``), and ``og-image.png`` to
``docs/_static``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from labelance import MLSOL
from labelance.datasets import make_figure1
from labelance.metrics import macro_f1

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
LABELS = ("triangle", "borderless", "red")
SHOWN = 1  # the rarest
REPEATS = 6


@dataclass(frozen=True)
class Colors:
    """Ink and paper of a page."""

    ink: str
    soft: str
    other: str
    rare: str
    new: str
    paper: str


LIGHT = Colors("#1b1f24", "#57606a", "#c9d0d6", "#d55e00", "#00588c", "#ffffff")
DARK = Colors("#e8eaed", "#a3acb5", "#4a545e", "#f0803c", "#7fb8d6", "#14181c")


def measure():
    """Return F of every label on new rows, without and with MLSOL, over several data sets."""
    classifier = OneVsRestClassifier(SVC())
    found = []
    for seed in range(REPEATS):
        X, y = make_figure1("b", n_samples=300, random_state=seed)
        X_test, y_test = make_figure1("b", n_samples=1000, random_state=100 + seed)
        both = (X, y), MLSOL(sampling_ratio=1.0, random_state=0).fit_resample(X, y)
        found.append(
            [macro_f1(y_test, classifier.fit(*rows).predict(X_test), average=None) for rows in both]
        )
    return np.mean(found, axis=0)


def draw(colors, scores, size=(11.4, 3.7), *, stacked=False):
    """Return the figure: rows before, rows after, and what a classifier makes of both."""
    X, y = make_figure1("b", n_samples=300, random_state=0)
    X_more, y_more = MLSOL(sampling_ratio=1.0, random_state=0).fit_resample(X, y)
    figure = Figure(figsize=size, layout="constrained")
    if stacked:
        before, after, bars = figure.subplots(3, 1, height_ratios=(1, 1, 0.75))
    else:
        before, after, bars = figure.subplots(1, 3, width_ratios=(1, 1, 1.05))
    is_new = np.arange(len(X_more)) >= len(X)
    has = y_more[:, SHOWN] == 1
    for ax, new in ((before, False), (after, True)):
        ax.scatter(*X_more[~has & ~is_new].T, s=12, color=colors.other, linewidth=0)
        ax.scatter(*X_more[has & ~is_new].T, s=24, color=colors.rare, linewidth=0)
        if new:
            rows = X_more[has & is_new]
            ax.scatter(*rows.T, s=20, facecolor="none", edgecolor=colors.new, linewidth=1.1)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(colors.other)
    title(before, colors, "A rare label", f"{y[:, SHOWN].sum()} of {len(y)} rows, in small groups")
    title(after, colors, "More of it, where it is hard", f"{(has & is_new).sum()} rows by MLSOL")
    place = np.arange(3)
    bars.barh(place - 0.19, scores[0], 0.34, color=colors.other, label="as it was")
    bars.barh(place + 0.19, scores[1], 0.34, color=colors.new, label="with MLSOL")
    for row, values in zip((-0.19, 0.19), scores):
        for at, value in zip(place + row, values):
            bars.text(value + 0.01, at, f"{value:.2f}", va="center", color=colors.ink, fontsize=9)
    bars.set_yticks(place, [f"{n}\n{y[:, j].mean():.0%} of rows" for j, n in enumerate(LABELS)])
    bars.invert_yaxis()
    bars.set(xlim=(0, 0.75), xticks=[])
    bars.spines[:].set_visible(False)
    bars.tick_params(left=False, labelcolor=colors.ink)
    where = {"loc": "center right", "bbox_to_anchor": (1.0, 0.58)}  # next to the bar that is none
    bars.legend(frameon=False, labelcolor=colors.ink, fontsize=9, **where)
    title(bars, colors, "Found on new rows", "F of each label, support vector machine")
    return figure


def title(ax, colors, first, second):
    """Write two lines over a part of the picture."""
    ax.set_title(f"{first}\n", loc="left", fontsize=12.5, color=colors.ink, fontweight="bold")
    ax.text(0, 1.02, second, transform=ax.transAxes, color=colors.soft, fontsize=10)


def save_svg(figure, name):
    """Write a picture of the page, with short numbers."""
    path = FOLDER / name
    figure.savefig(path, transparent=True, metadata={"Date": None})
    # Two digits after the point are finer than any screen; small numbers are scales of text.
    text = re.sub(r"(\d{2,}\.\d{2})\d+", r"\1", path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    print(path, path.stat().st_size)


def save_card(scores):
    """Write the card of 1200 x 630 points that other sites show for a link."""
    figure = draw(LIGHT, scores, size=(12, 6.3))
    figure.get_layout_engine().set(rect=(0.02, 0.02, 0.96, 0.76))
    figure.text(0.03, 0.9, "labelance", fontsize=40, fontweight="bold", color=LIGHT.ink)
    figure.text(0.03, 0.83, "learn rare labels of multi-label data", fontsize=20, color=LIGHT.soft)
    figure.savefig(FOLDER / "og-image.png", dpi=100, facecolor=LIGHT.paper)


def main():
    """Draw all pictures."""
    matplotlib.rcParams |= {"svg.hashsalt": "labelance", "font.family": "DejaVu Sans"}
    scores = measure()
    print(dict(zip(LABELS, scores.T.round(3).tolist())))
    for name, colors in (("light", LIGHT), ("dark", DARK)):
        save_svg(draw(colors, scores), f"front-{name}.svg")
        tall = draw(colors, scores, size=(4.4, 9.8), stacked=True)
        save_svg(tall, f"front-{name}-stacked.svg")
    save_card(scores)


if __name__ == "__main__":
    main()
