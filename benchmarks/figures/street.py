"""Data of today: the runs of benchmarks/street.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import t as student

from figures.tables import table_of
from street import MODELS, REPORT, ROWS

RIVALS = ["LR", "RF", "HGB", "MLP"]
KEYS = ["data", "rows"]
# Pages of the guide by kind of data, and the sizes that they ask about.
KINDS = {
    "table": "made", "texts": "goemotions_tfidf", "embeddings": "goemotions_minilm",
    "images": "mirflickr", "molecules": "tox21",
}  # fmt: skip
ASKED = (10_000, 100_000, 1_000_000)


def street_figures(folder: Path) -> dict[str, str]:
    """Return tables of the figures, of what they cost, and of differences to the best rival."""
    cells = pd.read_csv(folder / "results.csv")
    whole = cells["rows"] == 0
    cells.loc[whole, "rows"] = cells.loc[whole, "data"].map(ROWS)
    found: dict[str, str] = {}
    for name, column in (("f", "f"), ("map", "map"), ("lrap", "lrap")):
        found[name] = table(cells, column, "{:.3f}")
    for name, form in (("cpu", "{:,.0f}"), ("gb", "{:.1f}"), ("predict", "{:.2f}")):
        found[name] = table(cells, name, form)
    for name, chosen in (("reported", True), ("chosen-by", False)):
        some = cells[cells["data"].isin(REPORT) == chosen]
        found |= {f"{name}-{one}": difference(some, one) for one in ("f", "map")}
    found |= {kind: page_table(cells[cells["data"] == data]) for kind, data in KINDS.items()}
    both = cells[cells["data"] == "goemotions_both"].iloc[0]
    return found | {"both": f"macro F {both['f']:.3f} and mAP {both['map']:.3f}"}


def table(cells: pd.DataFrame, column: str, form: str) -> str:
    """Return a figure of all models, the mean over seeds, or why there is none."""
    there = [one for one in MODELS if cells.loc[cells["model"] == one, column].notna().any()]
    lines = []
    for (data, rows), part in cells.groupby(KEYS):
        line = [data, f"{rows:,}"]
        for model in there:
            own = part[part["model"] == model]
            values, notes = own[column].dropna(), own["note"].dropna()
            if len(values):
                line.append(form.format(values.mean()))
            else:
                line.append(notes.iloc[0] if len(notes) else "–")
        lines.append(line)
    return table_of(["data", "rows", *there], lines)


def page_table(cells: pd.DataFrame) -> str:
    """Return the default next to the best plain learner, by rows; what was not measured, too."""
    wide = cells.pivot_table(index="rows", columns="model", values=["f", "map", "cpu", "gb"])
    lines = []
    for rows, own in wide.iterrows():
        plain = own["f"].reindex(RIVALS).dropna()
        best = plain.idxmax()
        lines.append([
            f"{rows:,}", best, f"{own['f', best]:.3f}", f"{own['map', best]:.3f}",
            f"{own['cpu', best]:,.0f}", f"{own['f', 'default']:.3f}",
            f"{own['map', 'default']:.3f}", f"{own['cpu', 'default']:,.0f}",
            f"{own['gb', 'default']:.1f}",
        ])  # fmt: skip
    first = next(rows for rows in ASKED if rows > wide.index.max())
    lines.append([f"{first:,} and more", "not measured", *[""] * 7])
    figures = ["macro F", "mAP", "CPU s"]
    head = ["rows", "best plain", *figures, "`RareLabelClassifier`: macro F", *figures[1:]]
    return table_of([*head, "peak GB"], lines)


def difference(cells: pd.DataFrame, column: str) -> str:
    """Return the mean of the default less the best rival, with its paired 95 % interval."""
    wide = cells.pivot_table(index=KEYS, columns="model", values=column)  # the mean over seeds
    gaps = (wide["default"] - wide.reindex(columns=RIVALS).max(axis=1)).dropna()
    reach = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return (
        f"{gaps.mean():+.3f} ({gaps.mean() - reach:+.3f} to {gaps.mean() + reach:+.3f}, "
        f"{len(gaps)} cells, {(gaps > 0).sum()} above)"
    )
