"""What do unknown labels cost? The runs of results/unknown_labels/unknown_labels.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of

MEASURES = ["macro_f", "auc_roc", "brier", "calibration_error"]
HEAD = ["hidden", "share", "treatment", "macro F", "AUC-ROC", "Brier loss", "calibration error"]
CASE = ["way", "share"]


def unknown_label_figures(folder: Path) -> dict[str, str]:
    """Return the table of treatments, what dropping rows leaves, and how often "known" wins."""
    cells = pd.read_csv(folder / "cells.csv")
    # A dataset has a value where both of its partitions have one.
    keys = [*CASE, "treatment", "dataset"]
    values = cells.groupby(keys)[MEASURES].agg(lambda part: part.mean(skipna=False))
    means = values.groupby([*CASE, "treatment"]).mean()
    complete, hidden = means.loc[("at random", 0.0, "known")], means.drop(0.0, level="share")
    cases = sorted(set(hidden.index.droplevel("treatment")))
    rows = [["nothing", "", "", *map(number, complete)]]
    for way, share in cases:
        for treatment in ("negative", "known"):
            found = map(number, hidden.loc[(way, share, treatment)])
            rows.append([way, f"{share:.0%}", treatment, *found])
    by_treatment = values["macro_f"].drop(0.0, level="share").unstack("treatment")
    gain = by_treatment["known"] - by_treatment["negative"]
    kept = by_treatment.dropna(subset="drop")
    dropped = kept.groupby(CASE).agg(["mean", "count"])
    holds = gain.groupby(CASE).mean() > 0
    holds &= ~((kept["drop"] - kept["known"]).groupby(CASE).mean() > 0).reindex(
        holds.index, fill_value=False
    )
    run = list(dict.fromkeys(cells["dataset"]))
    return {
        "table": table_of(HEAD, rows),
        "drop": table_of(
            ["hidden", "share", "datasets", "macro F of drop", "macro F of known"],
            [
                [way, f"{share:.0%}", f"{line['drop', 'count']:.0f}"]
                + [number(line[name, "mean"]) for name in ("drop", "known")]
                for (way, share), line in dropped.iterrows()
            ],
        ),
        "above": f"{(gain > 0).sum()} of {len(gain)}",
        "above-drop": f"{(kept['known'] > kept['drop']).sum()} of {len(kept)}",
        "claim": f"{holds.sum()} of {len(holds)}",
        "datasets": f"{len(run)} of 6 ({', '.join(run)})",
    }


def number(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
