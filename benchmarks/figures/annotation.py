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
        [kind, way]
        + [f"{means.loc[(kind, way, band), 'precision']:.2f}" for band in bands]
        + [", ".join(f"{means.loc[(kind, way, band), 'in_first_100']:.0f}" for band in bands)]
        for kind in flips["flipped"].unique()
        for way in ways
    ]
    by_way = rounds.groupby("way", sort=False)[["rare_positives", "mAP", "mAP_rare"]].mean()
    head = ["flipped", "way", *bands, "first 100"]
    early = flips[(flips["flipped"] == "positives") & (flips["band"] == bands[0])]
    early = early.groupby(["dataset", "way"])["in_first_100"].mean().unstack()
    found = rounds.groupby(["dataset", "way"])["rare_positives"].mean().unstack().loc["yeast"]
    return {
        "enron": "{suspect_labels:.0f} instead of {one list:.0f}".format(**early.loc["enron"]),
        "rcv1": "{suspect_labels:.0f} instead of {one list:.0f}".format(**early.loc["rcv1subset1"]),
        "yeast": f"{found['uncertainty, mean']:.0f}, ours {found['rows_to_annotate']:.0f}",
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
