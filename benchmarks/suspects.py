"""Are flipped labels found, and positives of rare labels? Next to cleanlab and plain uncertainty.

    LABELANCE_DATA=... python benchmarks/suspects.py [--data yeast enron] [--keep FOLDER]

cleanlab is left out, with a word, where it is not installed: `pip install --target FOLDER --no-deps
cleanlab termcolor`, and PYTHONPATH=FOLDER. One logistic regression per label; labels in fewer than
10 rows are left out; two seeds.

- Flips: 5 % of the cells ("cells"), or 5 % of the positives of each label and as many of its
  negatives ("positives"). Scores are out of fold (3 folds), learned from the flipped labels. The
  share of flipped cells among the first 100 that a way lists of a band of labels, and how many of
  the first 100 of the whole list are flipped and of this band. Bands are by the share of rows that
  have the label. "one list" is `suspect_labels` without turns, by the probability of the given
  value.
- Rounds: 200 random rows, and five times 50 more. Judged by how many positives of the rarer half of
  the labels are among the 250 rows, and by the mean average precision on the third of the
  rows that is never chosen from, over all labels and over the rarer half. Rounds of enron were
  looked at while the rule was chosen.

`--cost` prints seconds and memory at 1,000,000 rows and 20 labels instead, with 100 rows to
annotate.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelance.annotation import rows_to_annotate, suspect_labels
from labelance.datasets import load_dataset
from labelance.learners import BinaryRelevance
from labelance.model_selection import IterativeStratifiedKFold

try:
    from cleanlab.multilabel_classification import filter as cleanlab
except ImportError:
    cleanlab = None

DATA = ("yeast", "enron", "cal500", "corel5k", "rcv1subset1")
SEEDS = (0, 1)
BANDS = {"below 3 %": (0, 0.03), "3 to 10 %": (0.03, 0.1), "10 % or more": (0.1, 1.01)}
FIRST, START, STEP, ROUNDS = 100, 200, 50, 5


def load(name: str) -> tuple[Any, np.ndarray]:
    data = load_dataset(name)
    y = np.asarray(data.Y.toarray()).astype(int)
    X = sp.csr_matrix(data.values) if sp.issparse(data.values) else np.asarray(data.values, float)
    return X, y[:, y.sum(axis=0) >= 10]


def learner(X: Any) -> BinaryRelevance:
    plain = LogisticRegression(solver="liblinear")
    return BinaryRelevance(plain if sp.issparse(X) else make_pipeline(StandardScaler(), plain))


def flip(y: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return which cells are flipped."""
    if kind == "cells":
        return rng.random(y.shape) < 0.05
    flipped = np.zeros(y.shape, dtype=bool)
    for label, column in enumerate(y.T):
        n = max(1, round(0.05 * column.sum()))
        for value in (0, 1):
            rows = np.flatnonzero(column == value)
            flipped[rng.choice(rows, min(n, len(rows)), replace=False), label] = True
    return flipped


def out_of_fold(X: Any, y: np.ndarray, seed: int) -> np.ndarray:
    proba = np.zeros(y.shape)
    for train, test in IterativeStratifiedKFold(3, random_state=seed).split(X, y):
        proba[test] = learner(X).fit(X[train], y[train]).predict_proba(X[test])
    return proba


def in_turns(y: np.ndarray, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = suspect_labels(y, proba)
    return found["row"].to_numpy(), found["label"].to_numpy()


def in_one_list(y: np.ndarray, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return by_probability(y, proba, *in_turns(y, proba))


def by_cleanlab(y: np.ndarray, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of its filter, by its quality, which is the probability of the label."""
    labels = [np.flatnonzero(row).tolist() for row in y]
    found = cleanlab.find_multilabel_issues_per_class(labels, proba)
    return by_probability(y, proba, *np.nonzero(found))


def by_probability(
    y: np.ndarray, proba: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    quality = np.where(y == 1, proba, 1 - proba)[rows, labels]
    order = np.lexsort((labels, rows, quality))
    return rows[order], labels[order]


SUSPECTS: dict[str, Callable[..., Any]] = {
    "suspect_labels": in_turns,
    "one list": in_one_list,
    "cleanlab": by_cleanlab,
}


def flips_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    X, truth = load(name)
    share = truth.mean(axis=0)
    for kind in ("cells", "positives"):
        flipped = flip(truth, kind, np.random.default_rng(seed))
        y = np.where(flipped, 1 - truth, truth)
        proba = out_of_fold(X, y, seed)
        for way, find in SUSPECTS.items():
            if way == "cleanlab" and cleanlab is None:
                continue
            rows, labels = find(y, proba)
            right, early = flipped[rows, labels], np.arange(len(rows)) < FIRST
            for band, (low, high) in BANDS.items():
                of_band = ((low <= share) & (share < high))[labels]
                yield {
                    "dataset": name, "seed": seed, "flipped": kind, "way": way, "band": band,
                    "labels": int(((low <= share) & (share < high)).sum()),
                    "precision": right[of_band][:FIRST].mean() if of_band.any() else np.nan,
                    "in_first_100": int((right & of_band & early).sum()),
                }  # fmt: skip


def at_random(proba: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(len(proba), STEP, replace=False)


def by_mean_uncertainty(proba: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return np.argsort(-np.minimum(proba, 1 - proba).mean(axis=1), kind="stable")[:STEP]


def by_most_uncertain_label(proba: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return np.argsort(-np.minimum(proba, 1 - proba).max(axis=1), kind="stable")[:STEP]


ROWS: dict[str, Callable[..., np.ndarray]] = {
    "rows_to_annotate": lambda proba, _: rows_to_annotate(proba, STEP),
    "random rows": at_random,
    "uncertainty, mean": by_mean_uncertainty,
    "uncertainty, most uncertain label": by_most_uncertain_label,
}


def rounds_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    test, pool = np.split(order, [len(y) // 3])
    judged = (y[test].sum(axis=0) > 0) & (y[pool].sum(axis=0) > 0)
    rare = y.mean(axis=0) <= np.median(y.mean(axis=0))
    for way, choose in ROWS.items():
        rng = np.random.default_rng(seed)
        known, rest = pool[:START], pool[START:]
        for _ in range(ROUNDS):
            if len(rest) < STEP:
                break
            chosen = choose(learner(X).fit(X[known], y[known]).predict_proba(X[rest]), rng)
            known, rest = np.append(known, rest[chosen]), np.delete(rest, chosen)
        proba = learner(X).fit(X[known], y[known]).predict_proba(X[test])
        area = np.array(
            [
                average_precision_score(*one) if one[0].any() else 0
                for one in zip(y[test].T, proba.T)
            ]
        )
        yield {
            "dataset": name, "seed": seed, "way": way, "rows": len(known) - START,
            "rare_positives": int(y[known[START:]][:, rare].sum()),
            "mAP": area[judged].mean(), "mAP_rare": area[judged & rare].mean(),
        }  # fmt: skip


def show_cost(n: int = 1_000_000) -> None:
    """Print processor seconds, and memory as it is at a tenth of the rows."""
    share = np.geomspace(0.3, 0.001, 20)
    rng = np.random.default_rng(0)
    proba = rng.beta(2 * share, 2 - 2 * share, size=(n, 20))
    y = (rng.random(proba.shape) < proba).astype(np.int8)
    few = slice(n // 10)
    for name, call in {
        "suspect_labels": lambda rows: suspect_labels(y[rows], proba[rows]),
        "rows_to_annotate": lambda rows: rows_to_annotate(proba[rows], 100),
    }.items():
        call(slice(200))
        start = time.process_time()
        call(slice(n))
        seconds = time.process_time() - start
        tracemalloc.start()
        call(few)
        print(f"{name:<17}{seconds:6.1f} s {tracemalloc.get_traced_memory()[1] / 1e8:6.2f} GB")
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument(
        "--what", nargs="+", choices=("flips", "rounds"), default=["flips", "rounds"]
    )
    parser.add_argument("--keep", type=Path, help="a folder for flips.csv and rounds.csv")
    parser.add_argument("--cost", action="store_true", help="seconds and memory alone")
    options = parser.parse_args()
    if options.cost:
        show_cost()
        return
    warnings.simplefilter("ignore")
    if cleanlab is None:
        print("cleanlab is not installed and is left out")
    start = time.process_time()
    keys = {"flips": ["flipped", "band", "way"], "rounds": ["way"]}
    for what, run in {"flips": flips_of, "rounds": rounds_of}.items():
        if what not in options.what:
            continue
        lines = [line for name in options.data for seed in SEEDS for line in run(name, seed)]
        table = pd.DataFrame(lines)
        if options.keep:
            table.to_csv(options.keep / f"{what}.csv", index=False, float_format="%.4f")
        values = table.drop(columns=["dataset", "seed"])
        print(values.groupby(keys[what], sort=False).mean().round(3).to_string())
        print(f"{time.process_time() - start:.0f} s of processor time\n", flush=True)


if __name__ == "__main__":
    main()
