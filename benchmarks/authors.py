"""Against the authors' program, fold by fold: the same figures? And how much cheaper?

Their figures are CSV files, ``perfold_NAME.csv`` (learner, method, repetition, fold, F,
AUC_nanmean, AUCPR, train_cpu_seconds) and ``folds_NAME.csv`` (row, rep0, rep1, ...), in a folder::

    python benchmarks/authors.py --reference FOLDER --datasets flags,emotions --seeds 3

Ours are computed on the same folds by the program's rules (the preset ``mulan-small``), for
several seeds, into a store that is resumed. A row of the table is the mean over folds of our
mean over seeds minus theirs, in paired standard errors.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from labelance.study import (
    Component,
    DataSource,
    Learner,
    Study,
    load_study,
    read_results,
    run_study,
)

MEASURES = {"macro_f1": "F", "macro_auc_roc": "AUC_nanmean", "macro_auc_pr": "AUCPR"}
KEYS = ["learner", "method", "repeat", "fold"]


def theirs(folder: Path, name: str) -> pd.DataFrame:
    table = pd.read_csv(
        folder / f"perfold_{name}.csv", keep_default_na=False, na_values=["", "NaN"]
    )
    table["method"] = table["method"].replace({"None": "Default"})
    return table.rename(columns={"repetition": "repeat"})


def study_for(folder: Path, name: str, table: pd.DataFrame, seed: int) -> Study:
    """Return the program's rules on its folds, for the pairs that it was run with."""
    base = load_study("mulan-small")
    source = DataSource(name, protocol="paper", folds=str(folder / f"folds_{name}.csv"))
    found = set(zip(table["learner"], table["method"]))
    methods = tuple(
        replace(method, learners=tuple(learner for learner, one in found if one == method.name))
        for method in base.methods
        if any(one == method.name for _, one in found)
    )
    names = {learner for learner, _ in found}
    learners = [reseeded(learner, seed) for learner in base.learners if learner.name in names]
    return replace(base, datasets=(source,), learners=tuple(learners), methods=methods, seed=seed)


def reseeded(learner: Learner, seed: int) -> Learner:
    """Give a learner that draws lots other lots for every seed but the first."""
    params = dict(learner.component.params)
    if "random_state" in params:
        params["random_state"] += 1000 * seed
    return Learner(learner.name, Component(learner.component.path, params))


def ours(folder: Path, name: str, table: pd.DataFrame, seeds: int, store: Path, jobs: int):
    frames = []
    for seed in range(seeds):
        study = study_for(folder, name, table, seed)
        run_study(study, store, n_jobs=jobs)
        frames.append(read_results(study, store))
    return pd.concat(frames)


def paired(name: str, mine: pd.DataFrame, other: pd.DataFrame) -> list[dict]:
    rows = []
    mean = mine.groupby(KEYS, as_index=False)[list(MEASURES)].mean()
    both = mean.merge(other, on=KEYS)
    for (learner, method), group in both.groupby(["learner", "method"], sort=False):
        for measure, their in MEASURES.items():
            gaps = (group[measure] - group[their]).dropna().to_numpy()
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            equal = np.abs(gaps) < 1e-9
            t = 0.0 if equal.all() else gaps.mean() / error
            rows.append(
                {
                    "dataset": name,
                    "learner": learner,
                    "method": method,
                    "measure": their.partition("_")[0],
                    "folds": len(gaps),
                    "equal": int(equal.sum()),
                    "gap": gaps.mean(),
                    "t": t,
                }
            )
    return rows


def costs(name: str, mine: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return CPU seconds of training where the program's are known.

    Ours are those of the last seed, when all kernels are compiled; theirs have a warm machine, too.
    """
    last = mine.drop_duplicates(KEYS, keep="last")
    both = last.merge(other.dropna(subset=["train_cpu_seconds"]), on=KEYS)
    both["dataset"] = name
    return both[["dataset", "learner", "method", "cpu_seconds", "train_cpu_seconds"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--datasets", default="flags,emotions,genbase,enron,yeast")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", type=Path, default=Path("authors.store"))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows, spent = [], []
    for name in options.datasets.split(","):
        other = theirs(options.reference, name)
        mine = ours(options.reference, name, other, options.seeds, options.store, options.jobs)
        rows += paired(name, mine, other)
        spent.append(costs(name, mine, other))
    show(pd.DataFrame(rows))
    show_costs(pd.concat(spent))


def show(table: pd.DataFrame) -> None:
    wide = table.pivot_table(
        index=["dataset", "learner", "method"], columns="measure", values=["gap", "t"], sort=False
    )
    print(wide.to_string(float_format=lambda value: f"{value:+.4f}"))
    size = np.abs(table["t"])
    chance = [2 * stats.t.sf(limit, table["folds"].median() - 1) for limit in (2, 3)]
    for limit, expected in zip((2, 3), chance):
        print(
            f"beyond {limit} errors: {(size > limit).sum()} of {len(table)} "
            f"({(size > limit).mean():.1%}; by chance alone {expected:.1%})"
        )


def show_costs(spent: pd.DataFrame) -> None:
    if spent.empty:
        return
    sums = spent.groupby("dataset", sort=False)[["cpu_seconds", "train_cpu_seconds"]].agg(
        ["sum", "count"]
    )
    for name, row in sums.iterrows():
        mine, their = row["cpu_seconds", "sum"], row["train_cpu_seconds", "sum"]
        count = int(row["cpu_seconds", "count"])
        print(f"{name}: {count} rows, {their:.0f} s theirs, {mine:.1f} s ours, {their / mine:.1f}x")
    mine, their = spent["cpu_seconds"].sum(), spent["train_cpu_seconds"].sum()
    print(f"all: {len(spent)} rows, {their:.0f} s theirs, {mine:.1f} s ours, {their / mine:.1f}x")


if __name__ == "__main__":
    main()
