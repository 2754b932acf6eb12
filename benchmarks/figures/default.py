"""Which blend is RareLabelClassifier? The runs of benchmarks/default_blend.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import table_of

PARTS = {
    "F": "random forest",
    "E": "extra trees",
    "L": "logistic regression",
    "K": "kernel ridge",
    "B": "boosting",
    "M": "MLSOLBagging",
    "V": "support vectors",
}
CHOSEN = ("FEKB", "mean")


def default_figures(folder: Path) -> dict[str, str]:
    """Return the table of the choice, and what the chosen blend costs."""
    lines = pd.read_csv(folder / "choice.csv")
    unit = lines["data"].where(~lines["data"].str.startswith("made"), "made data")
    keys = ["set", "weights"]
    units = lines.assign(unit=unit).groupby([*keys, "unit"], sort=False).mean(numeric_only=True)
    means = units.groupby(keys, sort=False).mean()
    chosen = units.query("set == @CHOSEN[0] and weights == @CHOSEN[1]").droplevel(keys)
    best = means["macro"].max()
    return {
        "choice": table_of(
            ["parts", "weights", "macro F", "micro F", "AUCPR", "log loss", "CPU s"],
            [
                [", ".join(PARTS[letter] for letter in name), how, *cells(row)]
                for (name, how), row in means.iterrows()
            ],
        ),
        "chosen-on": table_of(
            ["data", "macro F", "micro F", "AUCPR", "log loss", "CPU s"],
            [[name, *cells(row)] for name, row in chosen.iterrows()],
        ),
        "best": number(best),
        "chosen": number(means["macro"][CHOSEN]),
        "ties": str((means["macro"] > best - 0.003).sum()),
    }


def cells(row: pd.Series) -> list[str]:
    figures = [number(row[name]) for name in ("macro", "micro", "aucpr", "log_loss")]
    return [*figures, f"{row['seconds']:.1f}"]


def number(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")
