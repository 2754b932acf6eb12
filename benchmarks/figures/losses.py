"""Losses of networks: the runs of benchmarks/losses.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of

PLAIN = "cross-entropy"
COLUMNS = {"f_half": "F at 0.5", "f": "F, thresholds", "map": "mAP"}


def losses_figures(folder: Path) -> dict[str, str]:
    """Return the means over seeds, and the best gains on plain cross-entropy."""
    cells = pd.read_csv(folder / "results.csv")
    groups = cells.groupby(["data", "loss"], sort=False)[list(COLUMNS)]
    mean = groups.mean()
    wide = mean.unstack("data").swaplevel(axis=1)
    names = list(dict.fromkeys(cells["data"]))
    head = [f"{name.split('_')[0]}: {word}" for name in names for word in COLUMNS.values()]
    found = {
        "table": table_of(
            ["loss", *head],
            [
                [loss, *(f"{wide.loc[loss, (name, c)]:.3f}" for name in names for c in COLUMNS)]
                for loss in dict.fromkeys(cells["loss"])
            ],
        ),
        "spread": f"{groups.std().to_numpy().max():.3f}",
    }
    for name in names:
        own = mean.loc[name]
        plain, others = own.loc[PLAIN], own.drop(PLAIN)
        found[f"{name}-thresholds"] = f"{plain['f'] - plain['f_half']:+.3f}"
        gain = own.loc["weighted, effective", "f_half"] - plain["f_half"]
        found[f"{name}-effective"] = f"{gain:+.3f}"
        for column in COLUMNS:
            found[f"{name}-{column}"] = f"{others[column].max() - plain[column]:+.3f}"
    return found
