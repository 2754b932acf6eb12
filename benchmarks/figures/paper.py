"""Does the paper reproduce, and is it the ensemble or the sampler? Studies paper and fair."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from figures.tables import (
    LEARNERS,
    disagreement,
    gap,
    header,
    markdown,
    means,
    plain,
    read_cells,
    summary,
)
from labelance.report import study_tables

ENSEMBLES = {"MLSMOTE": "EMLSMOTE", "RHwRSMT": "ERHwRSMT", "MLSOL": "EMLSOL"}


def paper_figures(folder: Path) -> dict[str, str]:
    """Return the figures of the paper's own comparison."""
    cells = read_cells(folder)
    scores = means(cells)
    tables = study_tables(cells)
    whole = (cells.groupby("dataset").size() == 420).sum()
    return {
        "share": f"{len(cells):,} of 5,460 cells ({len(cells) / 5460:.1%}); "
        f"{whole} of 13 datasets complete",
        **{
            name: plain(tables[name].reset_index(drop=True))
            for name in ("table2", "beside-paper", "agreement", "first-places")
        },
        "ensembles": ensembles_beat_singles(scores),
        "remedial": by_learner(scores, "RHwRSMT", "Default"),
        "gain": by_learner(scores, "EMLSOL", "Default"),
        "ensembling-mlsol": by_learner(scores, "EMLSOL", "MLSOL"),
        "ensembling-mlsmote": by_learner(scores, "EMLSMOTE", "MLSMOTE"),
        "disagreement": disagreement(cells, list(ENSEMBLES.values())),
        "time": where_time_goes(cells),
        "cells": f"{len(cells):,}",
        **headline(tables),
        **shares_of_time(cells, {"rcv1": "rcv1", "yahoo": "yahoo"}),
    }


def fair_figures(folder: Path) -> dict[str, str]:
    """Return the figures of the methods that the paper leaves out."""
    cells = read_cells(folder)
    scores = means(cells)
    return {
        "all": fair(scores),
        "parts": parts_of_the_gain(scores),
        "bags": disagreement(cells, ["EMLSOL", "Bagging", "BaggingMLSOL"]),
        **weak_gains(scores),
    }


def headline(tables: dict[str, pd.DataFrame]) -> dict[str, str]:
    """Return how often EMLSOL is first, and how well ranks agree with the paper's."""
    first = tables["first-places"].set_index("Method").loc["EMLSOL"]
    agreement = tables["agreement"].set_index("Learner").astype(float)
    return {
        "first": f"{first.iloc[0]} of 18",
        "first-there": f"{first.iloc[1]} of 18",
        "correlation": f"{agreement.mean(axis=None):.2f}",
    }


def shares_of_time(cells: pd.DataFrame, families: dict[str, str]) -> dict[str, str]:
    """Return the share of the time that datasets with a common beginning of the name take."""
    done = trained(cells)
    of = done.groupby("dataset")["cpu_seconds"].sum() / done["cpu_seconds"].sum()
    return {
        f"time-{name}": f"{of[of.index.str.startswith(begin)].sum():.0%}"
        for name, begin in families.items()
    }


def weak_gains(scores: pd.DataFrame) -> dict[str, str]:
    """Return points gained over doing nothing under BR, and the sampler's part under MLkNN."""
    found = {}
    for method in ("MLSOL", "EMLSOL", "Bagging", "BaggingMLSOL"):
        gains = gap(scores.loc[["BR"]], method, "Default")
        found[f"{method}-f"] = f"{100 * gains['macro_f1'].mean():.1f}"
        found[f"{method}-auc"] = f"{100 * gains['macro_auc_roc'].mean():.1f}"
    emlsol = gap(scores.loc[["BR"]], "EMLSOL", "Default")
    found["EMLSOL-f-better"] = f"{(emlsol['macro_f1'] > 0).sum()} of {len(emlsol)}"
    found["EMLSOL-auc-better"] = f"{(emlsol['macro_auc_roc'] > 0).sum()} of {len(emlsol)}"
    of_sampler, of_both = (
        gap(scores.loc[["MLkNN"]], "EMLSOL", rival)["macro_auc_pr"].mean()
        for rival in ("Bagging", "Default")
    )
    return found | {"sampler-part": f"{of_sampler / of_both:.0%}"}


def ensembles_beat_singles(scores: pd.DataFrame) -> str:
    lines = header("ensemble minus single, all learners and datasets")
    for single, ensemble in ENSEMBLES.items():
        lines.append(f"| {ensemble} − {single} | {summary(gap(scores, ensemble, single))} |")
    return "\n".join(lines)


def by_learner(scores: pd.DataFrame, better: str, worse: str) -> str:
    lines = header(f"{better} minus {worse}")
    gaps = gap(scores, better, worse)
    for learner in LEARNERS:
        if learner in gaps.index.get_level_values("learner"):
            lines.append(f"| {learner} | {summary(gaps.loc[learner])} |")
    return "\n".join([*lines, f"| all | {summary(gaps)} |"])


def fair(scores: pd.DataFrame) -> str:
    """Return what each rival is worth against EMLSOL and against doing nothing."""
    rivals = ["Tuned", "TunedCV", "Weights", "MLSOL", "Bagging", "BaggingMLSOL", "EMLSOL"]
    rivals.append("EMLSOL-CV")
    parts = []
    known = scores.index.get_level_values("method").unique()
    for learner in [one for one in LEARNERS if one in scores.index.get_level_values("learner")]:
        lines = header(f"{learner}: method minus Default")
        for rival in (one for one in rivals if one in known):
            gaps = gap(scores.loc[[learner]], rival, "Default")
            if len(gaps):
                lines.append(f"| {rival} | {summary(gaps)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def parts_of_the_gain(scores: pd.DataFrame) -> str:
    """Split EMLSOL's gain over Default into that of a bagged ensemble, and the rest."""
    lines = header("step, mean over datasets")
    steps = [("Bagging", "Default"), ("EMLSOL", "Bagging"), ("BaggingMLSOL", "Bagging")]
    for learner in [one for one in LEARNERS if one in scores.index.get_level_values("learner")]:
        for better, worse in steps:
            gaps = gap(scores.loc[[learner]], better, worse)
            if len(gaps):
                lines.append(f"| {learner}: {better} − {worse} | {summary(gaps)} |")
    return "\n".join(lines)


def trained(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose training was done once."""
    return cells[cells["method"].isin(["Default", *ENSEMBLES.values()])]


def where_time_goes(frame: pd.DataFrame) -> str:
    """Return CPU seconds by dataset and learner, of work done once: Default and the ensembles."""
    table = trained(frame).pivot_table(
        index="dataset", columns="learner", values="cpu_seconds", aggfunc="sum"
    )
    table = table[[one for one in LEARNERS if one in table]]
    table["all"] = table.sum(axis=1)
    table.loc["all"] = table.sum()
    return markdown(table, "dataset", "{:.0f}")
