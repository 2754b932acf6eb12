"""How time and memory grow with the rows: what benchmarks/scale.py kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from figures.tables import table_of

KINDS = {
    "clusters": "clusters",
    "few dimensions": "few dimensions",
    "text": "text",
    "growing text": "text, growing vocabulary",
}
METHODS = {"pairs": "all pairs", "exact": "exact, as chosen", "approx": "approximate"}
FEW_ROWS = 30_000  # below, memory has one digit


def scale_figures(folder: Path) -> dict[str, str]:
    """Return the curves of MLSOL with their exponents, and of its memory."""
    kept = pd.read_csv(folder / "curves.csv")
    keys = ["kind", "method", "rows", "features"]
    kept = kept.drop_duplicates(keys, keep="last").set_index(keys).sort_index()
    lines = kept.droplevel("features")
    by_rows = [seconds(row) for _, row in lines.loc["clusters", "exact"].sort_index().iterrows()]
    return {
        "clusters": f"{', '.join(by_rows[:-1])} and {by_rows[-1]}",
        "curves": curves(lines, seconds, {"exponent of MLSOL": slope}),
        "memory": curves(lines, memory, {}),
    }


def curves(
    lines: pd.DataFrame,
    show: Callable[[Any], str],
    last: dict[str, Callable[[pd.DataFrame], str]],
) -> str:
    """Return a line for every kind of data and search, a column for every number of rows."""
    sizes = sorted(lines.index.unique("rows"))
    rows = []
    for kind, kind_words in KINDS.items():
        for method in (m for m in METHODS if (kind, m) in lines.index.droplevel("rows")):
            line = lines.loc[kind, method]
            cells = [show(line.loc[n]) if n in line.index else "" for n in sizes]
            rows.append(
                [kind_words, METHODS[method], *cells, *(make(line) for make in last.values())]
            )
    return table_of(["data", "search", *(f"{n:,}" for n in sizes), *last], rows)


def seconds(row: pd.Series) -> str:
    time = f"{row['mlsol']:.1f}" if row["mlsol"] < 100 else f"{row['mlsol']:.0f}"
    recall = f"{row['recall']:.3f}"
    return time if recall == "1.000" else f"{time} ({recall})"


def memory(row: pd.Series) -> str:
    return f"{row['memory']:.1f}" if row.name < FEW_ROWS else f"{row['memory']:.2f}"


def slope(line: pd.DataFrame) -> str:
    """Return the exponent of the rows in the time."""
    return f"{np.polyfit(np.log(line.index), np.log(line['mlsol']), 1)[0]:.2f}"
