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
GROUPS = {
    "report-others": ("birds", "scene", "cal500", "enron", "bibtex", "delicious"),
    "report-outside": ("langlog", "slashdot", "stackex_chess", "ng20"),
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
    published = pd.read_csv(folder / "best_of_28.csv", index_col="data")["macro"]
    shared = published.index.intersection(chosen.index)
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
        **report_tables(folder),
        "above-chosen-on": str((chosen["macro"][shared] > published[shared]).sum()),
        "flags": f"{number(chosen['macro']['flags'])} against {number(published['flags'])}",
        "best": number(best),
        "chosen": number(means["macro"][CHOSEN]),
        "ties": str((means["macro"] > best - 0.003).sum()),
    }


def report_tables(folder: Path) -> dict[str, str]:
    """Return the figures of the classifier as it is, next to the best of 28 published ones."""
    lines = pd.read_csv(folder / "report.csv").groupby("data").mean(numeric_only=True)
    published = pd.read_csv(folder / "best_of_28.csv", index_col="data")
    head = ["data", "macro F", "empty as 0", "empty as 1", "best of 28", "AUCPR", "CPU s"]
    tables = {}
    for name, data in GROUPS.items():
        rows = []
        for one in (one for one in data if one in lines.index):
            row, best = lines.loc[one], "not compared"
            if one in published.index:
                best = f"{number(published['macro'][one])} ({published['method'][one]})"
            found = [number(row[key]) for key in ("macro", "macro, empty 0", "macro, empty 1")]
            rows.append([one, *found, best, number(row["aucpr"]), f"{row['seconds']:.0f}"])
        tables[name] = table_of(head, rows)
    both = lines["macro, empty 0"].reindex(published.index).dropna()
    tables["above"] = str((both > published["macro"][both.index]).sum())
    return tables


def cells(row: pd.Series) -> list[str]:
    figures = [number(row[name]) for name in ("macro", "micro", "aucpr", "log_loss")]
    return [*figures, f"{row['seconds']:.1f}"]


def number(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")
