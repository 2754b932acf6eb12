"""Which sampler? Study rivals: like with like, and learners that are many models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from figures.tables import MEASURES, header, holm, read_cells, summary, wilcoxon
from labelance.study.statistics import compare

# One model each, or five with tuned thresholds; and learners that are many models.
SINGLES = ["Default", "MLSMOTE", "RHwRSMT", "MLSOL", "MLBOTE", "LSDMLO"]
FIVES = ["EMLSMOTE", "ERHwRSMT", "EMLSOL", "EMLBOTE", "ELSDMLO"]
MODELS = ["Default", "EMLSOL", "PerLabel", "UCLSO", "IRUS", "MCE"]


def rivals_figures(folder: Path) -> dict[str, str]:
    """Return the figures of the page on samplers."""
    frame = read_cells(folder)
    n = complete(frame, "BR", [*SINGLES, *FIVES]).index.unique("dataset").size
    folds = frame.groupby(["repeat", "fold"]).ngroups
    return {
        "share": f"Done so far: {folds} test folds on each of {n} datasets, for samplers.",
        "singles": ranks(frame, SINGLES),
        "fives": ranks(frame, FIVES),
        "default": against(frame, SINGLES[1:], "Default"),
        "emlsol": against(frame, [m for m in FIVES if m != "EMLSOL"], "EMLSOL"),
        "learners": models(frame),
    }


def complete(frame: pd.DataFrame, learner: str, methods: list[str]) -> pd.DataFrame:
    """Return means over folds, rows (dataset, method), of datasets where all of that is done."""
    done = frame[
        (frame["status"] == "done") & (frame["learner"] == learner) & frame["method"].isin(methods)
    ]
    folds = len(frame[["repeat", "fold"]].drop_duplicates())
    whole = done.groupby("dataset").size() == folds * len(methods)
    done = done[done["dataset"].isin(whole.index[whole])]
    return done.groupby(["dataset", "method"])[list(MEASURES)].mean()


def ranks(frame: pd.DataFrame, methods: list[str]) -> str:
    """Return average ranks, wins and losses by Bergmann-Hommel, and Friedman's test."""
    head = ["Measure", "Learner", "datasets", *methods, "Iman-Davenport p"]
    lines = ["| " + " | ".join(head) + " |", "|---|---|---:|" + "---|" * (len(methods) + 1)]
    for measure, word in MEASURES.items():
        for learner in ("BR", "MLkNN"):
            table = complete(frame, learner, methods)[measure].unstack()[methods]
            found = compare(table)
            cells = [
                f"{found.average_ranks[m]:.2f} ({found.wins[m]}/{found.losses[m]})" for m in methods
            ]
            p = f"{found.friedman.F_p:.1e}"
            lines.append("| " + " | ".join([word, learner, str(len(table)), *cells, p]) + " |")
    return "\n".join(lines)


def against(frame: pd.DataFrame, methods: list[str], control: str) -> str:
    """Return what methods gain over one that is named beforehand, Wilcoxon p corrected by Holm."""
    parts = []
    for learner in ("BR", "MLkNN"):
        scores = complete(frame, learner, [control, *methods])
        if not len(scores):
            continue
        n = scores.index.get_level_values("dataset").nunique()
        lines = header(f"{learner}: method minus {control}, {n} datasets")
        adjusted = {m: holm_against(scores[m].unstack(), methods, control) for m in MEASURES}
        for method in methods:
            both = scores.unstack("method")
            cells = [
                _gain((both[m, method] - both[m, control]), adjusted[m][method]) for m in MEASURES
            ]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def holm_against(table: pd.DataFrame, methods: list[str], control: str) -> dict[str, float]:
    """Return Holm's adjusted p of every method against a control."""
    p = np.array([wilcoxon(table, method, control) for method in methods])
    return dict(zip(methods, holm(p)))


def models(frame: pd.DataFrame) -> str:
    """Return what learners of many models gain, each on the datasets that it was run on."""
    head = header("BR: method minus Default")
    lines = [
        head[0].replace(" | F |", " | datasets | F |"),
        head[1].replace("|---:|", "|---:|---:|", 1),
    ]
    common = complete(frame, "BR", MODELS[:-1]).index.unique("dataset")  # MCE is the slowest
    for method in MODELS[1:]:
        both = complete(frame, "BR", ["Default", method]).unstack("method")
        both = both[both.index.isin(common)]
        gaps = pd.DataFrame({m: both[m, method] - both[m, "Default"] for m in MEASURES})
        lines.append(f"| {method} | {len(gaps)} | {summary(gaps)} |")
    return "\n".join(lines)


def _gain(gaps: pd.Series, p: float) -> str:
    words = f"{gaps.mean():+.4f} ({(gaps > 0).sum()} of {len(gaps)}), p {p:.3f}"
    return f"**{words}**" if p <= 0.05 else words
