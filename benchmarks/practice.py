"""Should I resample? Figures of labels from a store, and the pictures of that page.

    python benchmarks/practice.py results/practice --labels STORE        # labels.csv, from a store
    python benchmarks/practice.py results/practice --draw docs/_static --weak \\
        results/fair results/beyond

``labels.csv`` has the figures of every label, means over the folds, for Brier loss, calibration
error and rarity, which ``results.csv`` has not. The weak learner of the pictures is the paper's BR:
a C4.5 tree for each label. ``benchmarks/claims.py`` fills the tables of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from figures.practice import FIGURES, KEYS, LEARNERS, METHODS, WORDS, complete
from figures.tables import read_cells
from labelance.study import import_results, read_label_results


def summarise_labels(store: Path, folder: Path) -> pd.DataFrame:
    """Return the mean over folds of every label's figures, and in how many rows the label is."""
    study = import_results(folder).study
    found = read_label_results(study, store)
    groups = found.groupby([*KEYS, "label"], sort=False)
    # Every row is in one test fold of a repetition.
    rows = groups["n_positive"].sum() / found["repeat"].nunique()
    return groups[list(FIGURES)].mean().assign(n_positive=rows.astype(int)).reset_index()


def gains(means: pd.DataFrame, measure: str) -> dict[str, pd.DataFrame]:
    """Return for every learner the gain over doing nothing: datasets by methods, in points."""
    found = {}
    for learner, words in LEARNERS.items():
        if learner in means.index.get_level_values("learner"):
            wide = means.xs(learner, level="learner")[measure].unstack("method")
            found[words] = 100 * wide[list(METHODS[1:])].sub(wide["Default"], axis=0)
    return found


def weak_gains(folders: list[Path], measure: str) -> pd.DataFrame:
    """Return the same for BR of the paper, of the methods that studies with its folds have."""
    frame = pd.concat([read_cells(folder) for folder in folders])
    frame = frame[(frame["status"] == "done") & (frame["learner"] == "BR")]
    wide = frame.pivot_table(index="dataset", columns="method", values=f"macro_{measure}")
    wide = wide.rename(columns={"TunedCV": "Thresholds"})
    here = [method for method in METHODS if method in wide]
    wide = wide[here].dropna()
    return 100 * wide[here[1:]].sub(wide["Default"], axis=0)


def draw(
    parts: dict[str, pd.DataFrame], title: str, axis: str, path: Path, *, stacked: bool = False
) -> None:
    """Draw a panel for every learner: a dot a dataset, a bar their mean.

    Panels are next to each other, or below each other for phones (``stacked``). Losses far larger
    than any gain would leave no room for the others: they are given as numbers.
    """
    from matplotlib.figure import Figure

    furthest = max(max(table.max(axis=None) for table in parts.values()), 12.0)
    size = (4.8, 1.8 * len(parts) + 1) if stacked else (2.5 * len(parts) + 1, 3.0)
    figure = Figure(figsize=size, layout="constrained")
    grid = (len(parts), 1) if stacked else (1, len(parts))
    panels = np.atleast_1d(figure.subplots(*grid, sharey=True, sharex=True))
    names = [WORDS.get(method, method) for method in METHODS[1:]]
    for panel, (learner, table) in zip(panels, parts.items()):
        for place, method in enumerate(METHODS[1:]):
            if method not in table:
                continue
            values = table[method].to_numpy()
            color = "#1b6ca8" if values.mean() > 0 else "#b3412f"
            panel.barh(place, values.mean(), color=color, height=0.62, alpha=0.85)
            shown = values[values >= -furthest]
            panel.plot(shown, np.full(len(shown), place), "o", color="#222222", ms=3.2, alpha=0.7)
            if beyond := [f"{value:.0f}" for value in np.sort(values[values < -furthest])]:
                words = f"\N{BLACK LEFT-POINTING SMALL TRIANGLE} {', '.join(beyond)}"
                panel.text(-1.05 * furthest, place - 0.42, words, fontsize=7, va="bottom")
        panel.axvline(0, color="#222222", lw=0.8)
        panel.set_title(f"{learner}\n{len(table)} dataset{'s' * (len(table) > 1)}", fontsize=9)
        panel.set_yticks(range(len(names)), names)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=9)
    panels[0].set_xlim(-1.1 * furthest, 1.1 * furthest)
    panels[0].invert_yaxis()
    figure.suptitle(title, fontsize=11)
    figure.supxlabel(axis, fontsize=9)
    figure.savefig(path, dpi=150)


def draw_all(labels: pd.DataFrame, weak: list[Path], folder: Path) -> None:
    """Write the pictures of the page."""
    means = complete(labels)
    for name, measure, words in (
        ("decisions", "f1", "Decisions: macro F gained over doing nothing"),
        ("ranking", "auc_pr", "Ranking: AUCPR gained over doing nothing"),
    ):
        first = {"C4.5 trees (weak)": weak_gains(weak, measure)} if weak else {}
        parts = {**first, **gains(means, measure)}
        draw(parts, words, "points", folder / f"practice-{name}.png")
        if measure == "f1":
            draw(parts, words, "points", folder / f"practice-{name}-stacked.png", stacked=True)
    errors = {learner: -table for learner, table in gains(means, "calibration_error").items()}
    words = "Probabilities: calibration error saved against doing nothing (left of 0: added)"
    draw(errors, words, "points", folder / "practice-probabilities.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--labels", type=Path)
    what.add_argument("--draw", type=Path)
    parser.add_argument("--weak", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    if options.labels:
        table = summarise_labels(options.labels, options.folder)
        table.to_csv(options.folder / "labels.csv", index=False, float_format="%.6g")
        return
    labels = pd.read_csv(options.folder / "labels.csv")
    draw_all(labels, options.weak, options.draw)


if __name__ == "__main__":
    main()
