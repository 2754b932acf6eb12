"""Draw the pictures of the front page: thresholds, then the model; and the card that links show.

    python tools/make_front_pictures.py

writes ``front-light.svg`` and ``front-dark.svg``, the same with three parts below each other for
phones (``front-light-stacked.svg``, ``front-dark-stacked.svg``), and ``og-image.png`` to
``docs/_static``. The first part fits a regression to the bundled texts; the others show committed
results: ``results/practice`` and ``results/street``.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from labelance import LabelThresholds
from labelance.datasets import load_dataset
from labelance.learners import BinaryRelevance
from labelance.model_selection import multilabel_train_test_split

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "_static"
LABEL = "something_verbs"
WAYS = {"Default": "as it is", "MLSOL": "rows by MLSOL", "Thresholds": "thresholds"}
PLAIN = ("LR", "RF", "HGB", "MLP")
DATA = {
    "mirflickr": "photos", "tox21": "molecules", "goemotions_tfidf": "comments, words",
    "goemotions_minilm": "comments, vectors", "stackex_cooking": "recipes", "imdb": "films",
    "made": "a made table",
}  # fmt: skip


@dataclass(frozen=True)
class Colors:
    """Ink and paper of a page."""

    ink: str
    soft: str
    other: str
    rare: str
    new: str
    paper: str


LIGHT = Colors("#1b1f24", "#57606a", "#b4bcc4", "#d55e00", "#00588c", "#ffffff")
DARK = Colors("#e8eaed", "#a3acb5", "#5d6872", "#f0803c", "#7fb8d6", "#14181c")


class Shown(NamedTuple):
    """What the picture shows."""

    truth: np.ndarray  # of test rows
    scores: np.ndarray
    threshold: float
    share: float  # of training rows
    ways: pd.Series  # macro F by what is done
    models: pd.DataFrame  # macro F of the best plain learner and of the default, by data


def measure():
    """Return scores of a rare label, and figures of committed results."""
    data = load_dataset("verbframes")
    X, y = data.to_X_y()
    X_train, X_test, y_train, y_test = multilabel_train_test_split(X, y, random_state=0)
    words = make_pipeline(TfidfTransformer(), BinaryRelevance(LogisticRegression()))
    model = LabelThresholds(words, random_state=0).fit(X_train, y_train)
    label = data.label_names.index(LABEL)
    labels = pd.read_csv(ROOT / "results" / "practice" / "labels.csv")
    forest = labels[labels["learner"] == "RandomForest"]
    ways = forest.groupby(["dataset", "method"])["f1"].mean().groupby("method").mean()
    cells = pd.read_csv(ROOT / "results" / "street" / "results.csv")
    whole = cells[cells["rows"] == 0].pivot_table(index="data", columns="model", values="f")
    plain = whole.reindex(columns=PLAIN).max(axis=1)
    models = pd.DataFrame({"plain": plain, "default": whole["default"]}).loc[list(DATA)]
    return Shown(
        y_test[:, label] == 1,
        model.predict_proba(X_test)[:, label],
        model.thresholds_[label],
        y_train[:, label].mean(),
        ways[list(WAYS)],
        models,
    )


def draw(colors, shown, size=(11.4, 3.6), *, stacked=False):
    """Return the figure: scores of a rare label, what thresholds gain, what the model gains."""
    figure = Figure(figsize=size, layout="constrained")
    if stacked:
        scores, ways, models = figure.subplots(3, 1, height_ratios=(1, 0.7, 1))
    else:
        scores, ways, models = figure.subplots(1, 3, width_ratios=(1.1, 0.85, 1))
    draw_scores(scores, colors, shown)
    draw_ways(ways, colors, shown.ways)
    draw_models(models, colors, shown.models)
    for ax in (scores, ways, models):
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, labelcolor=colors.ink)
    return figure


def draw_scores(ax, colors, shown):
    """Draw a point for each test row, and both cuts."""
    place = np.random.default_rng(0).uniform(-0.32, 0.32, len(shown.truth))
    for has, color, size in ((False, colors.other, 9), (True, colors.rare, 26)):
        rows = shown.truth == has
        ax.scatter(shown.scores[rows], has + place[rows], s=size, color=color, linewidth=0)
    cuts = {0.5: colors.soft, shown.threshold: colors.new}
    for cut, color in cuts.items():
        found = (shown.scores[shown.truth] >= cut).sum()
        ax.axvline(cut, color=color, linewidth=1.6, linestyle=(0, (4, 2)))
        words = f"{cut:.2f} finds\n{found} of {shown.truth.sum()}"
        ax.text(cut + 0.012, 1.66, words, color=color, fontsize=9.5, va="top")
    ax.set_yticks([0, 1], ["other\nrows", "rows\nwith it"])
    ax.set(ylim=(-0.45, 1.7), xlim=(0, 1), xticks=[])
    subtitle = f"score of a label that {shown.share:.0%} of the rows have"
    title(ax, colors, "Rare labels score below 0.5", subtitle)


def draw_ways(ax, colors, ways):
    """Draw macro F as it is, after a sampler, with thresholds."""
    place = np.arange(len(ways))
    ax.barh(place, ways, 0.55, color=[colors.other, colors.other, colors.new])
    for at, value in zip(place, ways):
        ax.text(value + 0.01, at, f"{value:.2f}", va="center", color=colors.ink, fontsize=10)
    ax.set_yticks(place, [WAYS[name] for name in ways.index])
    ax.invert_yaxis()
    ax.set(xlim=(0, 0.8), ylim=(2.6, -0.6), xticks=[])
    title(ax, colors, "Thresholds first", "macro F of a random forest, 5 datasets")


def draw_models(ax, colors, models):
    """Draw what the default gains over the best plain learner, both with thresholds."""
    gains = (models["default"] - models["plain"]).sort_values(ascending=False)
    place = np.arange(len(gains))
    ax.barh(place, gains, 0.55, color=[colors.new if g > 0 else colors.other for g in gains])
    for at, value in zip(place, gains):
        side = 1 if value > 0 else -1
        how = {"va": "center", "ha": "left" if value > 0 else "right", "fontsize": 9.5}
        ax.text(value + 0.0015 * side, at, f"{value:+.3f}", color=colors.ink, **how)
    ax.axvline(0, color=colors.soft, linewidth=0.8)
    ax.set_yticks(place, [DATA[name] for name in gains.index])
    ax.invert_yaxis()
    ax.set(xlim=(-0.062, 0.08), xticks=[])
    title(ax, colors, "Then the model", "gain over the best plain learner")


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


def save_card(shown):
    """Write the card of 1200 x 630 points that other sites show for a link."""
    figure = draw(LIGHT, shown, size=(12, 6.3))
    figure.get_layout_engine().set(rect=(0.02, 0.02, 0.96, 0.76))
    figure.text(0.03, 0.9, "labelance", fontsize=40, fontweight="bold", color=LIGHT.ink)
    figure.text(0.03, 0.83, "learn rare labels of multi-label data", fontsize=20, color=LIGHT.soft)
    figure.savefig(FOLDER / "og-image.png", dpi=100, facecolor=LIGHT.paper)


def main():
    """Draw all pictures."""
    matplotlib.rcParams |= {"svg.hashsalt": "labelance", "font.family": "DejaVu Sans"}
    shown = measure()
    print(shown.ways.round(3).to_dict(), shown.models.round(3), sep="\n")
    for name, colors in (("light", LIGHT), ("dark", DARK)):
        save_svg(draw(colors, shown), f"front-{name}.svg")
        tall = draw(colors, shown, size=(4.4, 9.2), stacked=True)
        save_svg(tall, f"front-{name}-stacked.svg")
    save_card(shown)


if __name__ == "__main__":
    main()
