"""Labels in a handful of rows: the two tables of benchmarks/long_tail.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of

BEFORE, NEW = "boot 0.7 plain step6 train", "boot 0.85 own half5 train"
SHOWN = {
    "kept 0.85 own half5 train": "rare rows kept, 85%, common slope, m/(m+5)/2",
    NEW: "**bootstrap, 85%, common slope, m/(m+5)/2**",
    "boot 0.85 clip half5 train": "… scores cut off, no common slope",
    "boot 0.85 own step6 train": "… one half from six rows on",
    "boot 0.7 own half5 train": "… 70%",
    "boot 1 own half5 train": "… all features",
    "boot 0.85 own half5 oob": "… thresholds out of bag",
    BEFORE: "before: bootstrap, 70%, no common slope, one half from six rows on",
    "boot 0.85 none train": "bootstrap, 85%, no second level",
}
METHODS = {
    BEFORE: "before",
    NEW: "**now**",
    "boot 0.85 20 own half5 train": "now, 20 members",
    "Bagging": "bagging",
    "EMLSOL": "EMLSOL",
}
GAPS = ("auc - Bagging", "aucpr - Bagging", "f - Bagging")
RARE = ("tail aucpr BR", "tail aucpr MLkNN", "tail f BR", "tail f MLkNN")


def long_tail_figures(folder: Path) -> dict[str, str]:
    """Return the table of candidates, and that of the data that were not looked at."""
    choice = pd.read_csv(folder / "choice.csv", index_col="candidate")
    unseen = pd.read_csv(folder / "unseen.csv").set_index(["data", "learner", "candidate"])
    head = ["candidate", "mean rank", "admissible", "AUC-ROC", "AUCPR", "F"]
    head += [f"rare: {name}" for name in ("AUCPR, BR", "AUCPR, MLkNN", "F, BR", "F, MLkNN")]
    lines = [
        [words, f"{row['rank']:.0f}", "yes" if row["admissible"] else "no"]
        + [f"{row[name]:+.3f}" for name in (*GAPS, *RARE)]
        for words, row in ((words, choice.loc[name]) for name, words in SHOWN.items())
    ]
    columns = ("auc", "aucpr", "f", "tail auc", "tail aucpr", "tail f")
    rows = [
        [
            data,
            learner,
            words,
            *(f"{unseen.loc[(data, learner, name), one]:.3f}" for one in columns),
        ]
        for data in ("langlog", "stackex_chess")
        for learner in ("BR", "MLkNN")
        for name, words in METHODS.items()
    ]
    titles = ["data", "learner", "method", "AUC-ROC", "AUCPR", "F"]
    titles += ["rare: AUC-ROC", "rare: AUCPR", "rare: F"]
    return {"choice": table_of(head, lines), "unseen": table_of(titles, rows)}
