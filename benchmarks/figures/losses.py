"""Losses of networks: the runs of benchmarks/losses.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of

PLAIN = "cross-entropy"
COLUMNS = {"f_half": "F at 0.5", "f": "F with thresholds", "map": "mAP"}


def losses_figures(folder: Path) -> dict[str, str]:
    """Return a table for each dataset, and what the best loss gains without and with thresholds."""
    cells = pd.read_csv(folder / "results.csv")
    found = {}
    for name, part in cells.groupby("data"):
        groups = part.groupby("loss", sort=False)[list(COLUMNS)]
        mean, spread = groups.mean(), groups.std()
        rows = [
            [loss, *(f"{mean.loc[loss, c]:.3f} ± {spread.loc[loss, c]:.3f}" for c in COLUMNS)]
            for loss in mean.index
        ]
        found[f"{name}-table"] = table_of(["loss", *COLUMNS.values()], rows)
        others = mean.drop(PLAIN)
        for column in COLUMNS:
            best = others[column].idxmax()
            gain = others.loc[best, column] - mean.loc[PLAIN, column]
            found[f"{name}-{column}"] = f"{gain:+.3f} ({best})"
        found[f"{name}-thresholds"] = f"{mean.loc[PLAIN, 'f'] - mean.loc[PLAIN, 'f_half']:+.3f}"
    return found
