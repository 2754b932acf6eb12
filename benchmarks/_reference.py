"""How long the authors' program took, where its timings lie beside the datasets."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path


def authors_seconds(method: str) -> dict[str, float]:
    """Return the least CPU seconds of the authors' program, by dataset; empty if unknown."""
    table = Path(os.environ.get("LABELANCE_DATA", ".")).parent / "reference/timing/timing.csv"
    if not table.is_file():
        return {}
    best: dict[str, float] = {}
    for row in csv.DictReader(table.open()):
        if row["what"] == method and row["cpu_s"]:
            best[row["dataset"]] = min(float(row["cpu_s"]), best.get(row["dataset"], math.inf))
    return best
