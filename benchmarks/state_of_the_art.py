"""Results of the study leaderboard to commit, and the picture of the page on it.

    python benchmarks/state_of_the_art.py results/leaderboard --stores board.store more.store
    python benchmarks/state_of_the_art.py results/leaderboard --draw docs/_static

The first command adds what is finished in some stores to the exported study, to ``measures.csv``
(figures of folds) and to ``labels.csv`` (figures of labels). ``published.csv`` is not ours: figures
of 28 methods by Bogatinovski, Todorovski, Dzeroski and Kocev (Expert Systems with Applications,
2022), from metaDataset.csv of their repository; tuned for Hamming loss, and cut by one threshold
for all labels. ``benchmarks/claims.py`` fills the tables of the page.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from figures.leaderboard import (
    DATASETS,
    KEYS,
    OURS,
    PUBLISHED,
    fold_measures,
    label_table,
    whole_means,
)
from labelance.study import export_results, merge_results, read_label_results


def export(stores: list[Path], folder: Path) -> None:
    """Add what is finished in some stores to the results in a folder."""
    there = [folder] if (folder / "results.csv").exists() else []
    with TemporaryDirectory() as place:
        new, store = Path(place, "new.store"), Path(place, "all.store")
        merge_results(stores, new)
        merge_results([*there, new], store)
        results = export_results(store, folder)
        labels = read_label_results(results.study, new)
    measures = fold_measures(labels).set_index([*KEYS, "fold"])
    add(measures, folder / "measures.csv", "%.5g")
    add(
        label_table(labels).set_index(["dataset", "label", "measure"]),
        folder / "labels.csv",
        "%.4g",
    )


def add(new: pd.DataFrame, path: Path, digits: str) -> None:
    """Write a table with the cells of a file that it lacks."""
    if path.exists():
        old = pd.read_csv(path, index_col=new.index.names)
        columns = [*old, *(name for name in new if name not in old)]
        new = new.combine_first(old)[columns].reindex(
            old.index.append(new.index.difference(old.index))
        )
    new.to_csv(path, float_format=digits)


def draw(folder: Path, path: Path) -> None:
    """Draw macro F of the published methods, of today's learners and of the default."""
    from matplotlib.figure import Figure

    means = whole_means(pd.read_csv(folder / "measures.csv"))["macro_f1"]
    published = pd.read_csv(folder / "published.csv").set_index(["dataset", "metric"])
    theirs = published.xs(PUBLISHED["macro_f1"], level="metric")
    here = [name for name in DATASETS if name in means.index.unique("dataset")]
    figure = Figure(figsize=(9, 0.42 * len(here) + 1.4), layout="constrained", facecolor="white")
    panel = figure.subplots()
    kinds = {
        "28 published methods": (-0.2, "#9a9a9a", "|", [theirs.loc[d] for d in here]),
        "learners of today, as they are": (0.0, "#d08a4e", "o", _forms(means, here, "Default")),
        "with thresholds": (0.2, "#1b6ca8", "o", _forms(means, here, "Thresholds")),
    }
    for words, (shift, color, mark, values) in kinds.items():
        x = np.concatenate([100 * np.asarray(one, dtype=float) for one in values])
        y = np.repeat(np.arange(len(here)) + shift, [len(one) for one in values])
        panel.plot(x, y, mark, color=color, ms=7 if mark == "|" else 4, alpha=0.8, label=words)
    ours = [(100 * means[name, OURS, "Default"], place) for place, name in enumerate(here)
            if (name, OURS, "Default") in means.index]  # fmt: skip
    if ours:
        panel.plot(*zip(*ours), "D", color="#b3204d", ms=7, label=f"{OURS}, untuned")
    panel.set_yticks(range(len(here)), here)
    panel.invert_yaxis()
    panel.set_xlabel("macro F, in percent; a label that no test row has counts 0")
    panel.grid(axis="x", color="#dddddd", lw=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize=8.5)
    figure.savefig(path, dpi=150)


def _forms(means: pd.Series, datasets: list[str], method: str) -> list[pd.Series]:
    of = means[means.index.get_level_values(KEYS[2]) == method].drop(
        OURS, level="learner", errors="ignore"
    )
    return [of[of.index.get_level_values("dataset") == name] for name in datasets]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--stores", type=Path, nargs="+")
    what.add_argument("--draw", type=Path)
    options = parser.parse_args()
    if options.stores:
        export(options.stores, options.folder)
    else:
        draw(options.folder, options.draw / "state-of-the-art.png")


if __name__ == "__main__":
    main()
