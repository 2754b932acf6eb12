"""Are flipped labels and positives of rare labels found? The runs of benchmarks/suspects.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of


def annotation_figures(folder: Path) -> dict[str, str]:
    """Return the table of suspects, and that of rounds: means over datasets and seeds."""
    flips, rounds = (pd.read_csv(folder / f"{what}.csv") for what in ("flips", "rounds"))
    bands, ways = flips["band"].unique(), flips["way"].unique()
    means = flips.groupby(["flipped", "way", "band"])[["precision", "in_first_100"]].mean()
    rows = [
        [f"5 % of the {kind}", way]
        + [f"{means.loc[(kind, way, band), 'precision']:.2f}" for band in bands]
        + [", ".join(f"{means.loc[(kind, way, band), 'in_first_100']:.0f}" for band in bands)]
        for kind in flips["flipped"].unique()
        for way in ways
    ]
    by_way = rounds.groupby("way", sort=False)[["rare_positives", "mAP", "mAP_rare"]].mean()
    head = ["flipped", "way", *(f"labels in {band}" for band in bands), "of one list"]
    return {
        "flips": table_of(head, rows),
        "rounds": table_of(
            ["way", "rare positives found", "mAP", "mAP of rare labels"],
            [
                [
                    way,
                    f"{line['rare_positives']:.0f}",
                    f"{line['mAP']:.3f}",
                    f"{line['mAP_rare']:.3f}",
                ]
                for way, line in by_way.iterrows()
            ],
        ),
    }
