"""Read committed results, and write tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from labelance.study import import_results
from labelance.study.statistics import wilcoxon_matrix

MEASURES = {"macro_f1": "F", "macro_auc_roc": "AUC-ROC", "macro_auc_pr": "AUCPR"}
LEARNERS = ["BR", "MLkNN", "CLR", "RAkEL", "COCOA", "ECCRU3"]


@cache
def read_cells(folder: Path) -> pd.DataFrame:
    """Return the cells of a study that was exported."""
    return import_results(folder).frame()


def markdown(table: pd.DataFrame, first: str, form: str) -> str:
    """Return a table of numbers; a missing one is an empty cell."""
    lines = header(first, table.columns)
    for name, row in table.iterrows():
        cells = ["" if pd.isna(value) else form.format(value) for value in row]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plain(table: pd.DataFrame) -> str:
    """Return a table of words."""
    return table_of(map(str, table.columns), (map(str, row) for row in table.to_numpy()))


def table_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return lines of cells, which are words already."""
    lines = [list(line) for line in (head, *rows)]
    words = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([words[0], "|" + "---|" * len(lines[0]), *words[1:]])


def header(first: str, columns: object = MEASURES.values()) -> list[str]:
    """Return the two lines above the numbers."""
    names = list(map(str, columns))
    return [f"| {first} | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]


def means(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over folds: rows (learner, dataset, method), a column for each measure.

    A dataset counts under a learner when all folds of all methods are done.
    """
    done = cells[cells["status"] == "done"]
    groups = done.groupby(["learner", "dataset", "method"])
    folds = len(cells[["repeat", "fold"]].drop_duplicates())
    methods = done.groupby("learner")["method"].nunique()
    whole = (groups.size() == folds).groupby(["learner", "dataset"]).sum()
    whole = whole[whole == methods.reindex(whole.index.get_level_values("learner")).to_numpy()]
    found = groups[list(MEASURES)].mean()
    return found[found.index.droplevel("method").isin(whole.index)]


def gap(scores: pd.DataFrame, better: str, worse: str) -> pd.DataFrame:
    """Return how much better one method is, where both are there: rows (learner, dataset)."""
    both = scores.unstack("method")
    if not {better, worse} <= set(both.columns.get_level_values("method")):
        return pd.DataFrame(columns=list(MEASURES))
    return pd.DataFrame({m: both[m, better] - both[m, worse] for m in MEASURES}).dropna()


def summary(gaps: pd.DataFrame) -> str:
    """Return mean gap and how often it is above zero, for each measure."""
    return " | ".join(
        f"{gaps[m].mean():+.4f} ({(gaps[m] > 0).sum()} of {len(gaps)})" for m in MEASURES
    )


def disagreement(cells: pd.DataFrame, methods: list[str]) -> str:
    """Return one minus the mean correlation of two members' scores."""
    found = cells[cells["method"].isin(methods)]
    table = found.groupby(["learner", "method"])["member_disagreement"].mean().unstack()
    table = table.reindex(index=[one for one in LEARNERS if one in table.index])
    return markdown(table[methods], "learner", "{:.3f}")


def wilcoxon(table: pd.DataFrame, one: str, other: str) -> float:
    """Return the exact p of two columns, by datasets."""
    return float(np.asarray(wilcoxon_matrix(table[[one, other]]))[0, 1]) if len(table) > 1 else 1.0


def holm(p: np.ndarray) -> np.ndarray:
    """Return p-values adjusted by Holm's step-down rule, for all planned comparisons together."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
