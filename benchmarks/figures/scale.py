"""How time and memory grow with the rows: what benchmarks/scale.py and cost.py kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cost import Cluster, Rates, fit_kept, project
from figures.tables import table_of

KINDS = {
    "clusters": "clusters",
    "few dimensions": "few dimensions",
    "text": "text",
    "growing text": "text, growing vocabulary",
}
METHODS = {"pairs": "all pairs", "exact": "exact, as chosen", "approx": "approximate"}
FEW_ROWS = 30_000  # below, the approximate search is the exact one


def scale_figures(folder: Path) -> dict[str, str]:
    """Return the curves of MLSOL, their exponents, and the model of the cost."""
    kept = pd.read_csv(folder / "curves.csv")
    keys = ["kind", "method", "rows", "features"]
    kept = kept.drop_duplicates(keys, keep="last").set_index(keys).sort_index()
    lines = kept.drop(index=256, level="features").droplevel("features")
    slopes = [slope(lines.loc[kind, "approx"].loc[FEW_ROWS:]) for kind in KINDS]
    spread = pd.read_csv(folder / "spread.csv").pivot(index="kind", columns="rows", values="spread")
    rates = fit_kept()
    return {
        "curves": curves(lines, seconds, {"exponent of MLSOL": slope}),
        "memory": curves(lines, memory, {}),
        "memory-wide": f"{kept['memory']['clusters', 'approx', 100_000, 256]:.2f}",
        "slopes": "{} in clusters, {} of few dimensions, and {} and {} of texts".format(*slopes),
        "slope-growing": slopes[-1],
        "rates": table_of(
            ["rate", "fitted"],
            [
                ["matrix products", f"{1e-9 / rates.flop:.1f} Gflop/s a core"],
                ["the rest of the search", f"{1e6 * rates.row:.0f} µs a row"],
                ["C, types, draws", f"{1e6 * rates.draw:.1f} µs a row"],
                ["checks, interpolation, copies", f"{1e9 * rates.cell:.0f} ns a cell"],
            ],
        ),
        "fit-error": f"{rates.error:.0%}".replace("%", " %"),
        "spread": table_of(
            ["data", *(f"{rows:,} rows" for rows in spread)],
            [[kind, *(f"{value:.1f}" for value in row)] for kind, row in spread.iterrows()],
        ),
        "most-visited": f"{spread.max(axis=None):.0f}",
        "projection": projection(rates, round(spread.max(axis=None))),
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


def projection(rates: Rates, spread: int) -> str:
    """Return what 10⁸ rows of 768 features would take."""
    nodes = 50
    told = project(1e8, 768, rates, Cluster(nodes, cores=16, gigabits=10), spread)
    flops = told.flops
    shares = {
        "cells near cells": flops.cells,
        "dividing": flops.dividing,
        "scanning": flops.scanning,
    }
    parts = ", ".join(
        f"{part / flops.all:.0%} {name}".replace("%", " %") for name, part in shares.items()
    )
    return table_of(
        ["", ""],
        [
            ["data, float32", f"{told.data / 1e9:.0f} GB, {told.data / 1e9 / nodes:.1f} a node"],
            ["matrix products", f"{flops.all / 1e15:.1f} · 10¹⁵ flop: {parts}"],
            [
                "CPU",
                f"{told.cpu_seconds / 3600:.0f} core hours, "
                f"{told.compute_seconds / 60:.0f} minutes",
            ],
            ["shuffled once", f"{told.shuffled / 1e9:.0f} GB"],
            [
                "visiting other nodes",
                f"{told.visiting / 1e12:.1f} TB, {told.network_seconds / 60:.0f} minutes with the "
                "shuffle and the answers",
            ],
            [
                "memory of a node",
                f"{told.node_memory / 1e9:.0f} GB: rows, their points, new rows, neighbors",
            ],
        ],
    )
