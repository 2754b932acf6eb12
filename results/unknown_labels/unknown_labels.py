"""What unknown labels cost: known cells only, against "unknown is absent" and "rows are dropped".

    LABELANCE_DATA=... python results/unknown_labels/unknown_labels.py --keep cells.csv
    python results/unknown_labels/unknown_labels.py --keep results/unknown_labels/cells.csv --table

The protocol, fixed before the run, but for one dataset: emotions was looked at while this program
was written, so its figures are no test. The others were run for the first time under this text.

- six datasets: emotions, flags, birds, scene, genbase, medical; two partitions into two stratified
  halves. A model learns from one half, in which cells are hidden; the other half, with all labels,
  judges it;
- 10, 30 and 60 % of the cells are hidden: completely at random, or positives more often than
  negatives, as annotators who stop early do. Then the odds of a positive to be hidden are four
  times those of a negative, and the share of all cells is the same;
- three treatments: "negative" takes an unknown label for absent, "drop" leaves out rows with an
  unknown label, "known" is this library's: every label learns, and finds its threshold, from
  the rows in which it is known. "all known", without hidden cells, is the reference;
- one learner, chosen for its speed: a forest of 25 trees per label, with thresholds for F by
  `LabelThresholds` on out-of-bag scores;
- measures: macro F of decisions; macro AUC-ROC, macro Brier loss and macro calibration error of
  scores; over labels with both values in the judging half and in all labels of the learning half.
  "drop" has no value where fewer than 20 rows are complete;
- the unit is a dataset: the mean over its partitions. A comparison with "drop" is one over the
  datasets in which it has a value in both partitions. The claim is that "known" has the largest
  mean macro F over datasets at every share and for both ways of hiding.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from labelance._arrays._containers import to_dense
from labelance.datasets import load_dataset
from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import label_areas, macro_brier_loss, macro_calibration_error, macro_f1
from labelance.model_selection import multilabel_train_test_split

DATASETS = ("emotions", "flags", "birds", "scene", "genbase", "medical")
SHARES = (0.1, 0.3, 0.6)
WAYS = ("at random", "positives first")
TREATMENTS = ("negative", "drop", "known")
PARTITIONS = 2
KEY = ["dataset", "partition", "way", "share", "treatment"]
MEASURES = ["macro_f", "auc_roc", "brier", "calibration_error"]
_FEWEST_ROWS = 20
_ODDS = 4.0


def make_learner() -> LabelThresholds:
    """Return a classifier per label, with thresholds."""
    forest = RandomForestClassifier(25, random_state=0)
    return LabelThresholds(BinaryRelevance(forest), random_state=0)


def hide(y: np.ndarray, way: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return the labels with a share of NaN."""
    chance = np.full(y.shape, share)
    if way == "positives first":
        low, high = 0.0, share
        for _ in range(60):  # the chance of a negative that gives the share over all cells
            middle = (low + high) / 2
            odds = _ODDS * middle / (1 - middle)
            chance = np.where(y == 1, odds / (1 + odds), middle)
            low, high = (middle, high) if chance.mean() < share else (low, middle)
    return np.where(rng.random(y.shape) < chance, np.nan, y)


def treat(X: Any, y: np.ndarray, treatment: str) -> tuple[Any, np.ndarray]:
    """Return what a learner is given."""
    if treatment == "negative":
        return X, np.nan_to_num(y)
    if treatment == "drop":
        complete = np.flatnonzero(~np.isnan(y).any(axis=1))
        return X[complete], y[complete]
    return X, y


def run_cell(
    dataset: str, partition: int, way: str, share: float, treatment: str
) -> dict[str, Any]:
    """Learn from one half, and judge on the other."""
    data = load_dataset(dataset)
    X, Y = to_dense(data.values), data.Y.toarray()
    rows = multilabel_train_test_split(np.arange(len(Y)), Y, test_size=0.5, random_state=partition)
    train, test = rows[:2]
    seed = int(1000 * share) + 10_000 * partition + 100_000 * WAYS.index(way)
    holes = hide(Y[train], way, share, np.random.default_rng(seed)) if share else Y[train]
    X_train, y_train = treat(X[train], holes, treatment)
    judged = np.flatnonzero(
        [len(np.unique(y)) == 2 and len(np.unique(z)) == 2 for y, z in zip(Y[test].T, Y[train].T)]
    )
    line = dict(zip(KEY, (dataset, partition, way, share, treatment)))
    line |= {"rows": len(y_train), "labels": len(judged)} | dict.fromkeys(MEASURES, np.nan)
    if len(y_train) < _FEWEST_ROWS:
        return line
    empty = np.isnan(y_train).all(axis=0)  # of such a label nothing is known: never predicted
    scores, decisions = np.zeros((2, *Y[test].shape))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_learner().fit(X_train, y_train[:, ~empty])
        scores[:, ~empty] = model.predict_proba(X[test])
        decisions[:, ~empty] = model.predict(X[test])
    truth = Y[test][:, judged]
    return line | {
        "macro_f": macro_f1(truth, decisions[:, judged].astype(int)),
        "auc_roc": float(np.mean(label_areas(truth, scores[:, judged]).auc_roc)),
        "brier": macro_brier_loss(truth, scores[:, judged]),
        "calibration_error": macro_calibration_error(truth, scores[:, judged]),
    }


def all_cells(datasets: list[str]) -> list[tuple[Any, ...]]:
    """Return the cells, small datasets first; without hidden cells there is one treatment."""
    parts = product(datasets, range(PARTITIONS))
    return [
        (*part, *rest)
        for part in parts
        for rest in [("at random", 0.0, "known"), *product(WAYS, SHARES, TREATMENTS)]
    ]


def run(keep: Path, datasets: list[str]) -> None:
    """Run the cells that a file does not have, and add each to it as soon as it is done."""
    done = set()
    if keep.exists():
        done = set(pd.read_csv(keep)[KEY].itertuples(index=False, name=None))
    for cell in all_cells(datasets):
        if cell not in done:
            line = pd.DataFrame([run_cell(*cell)]).round(6)
            line.to_csv(keep, mode="a", header=not keep.exists(), index=False)


def tabulate(keep: Path) -> pd.DataFrame:
    """Return means over datasets of the means over partitions."""
    cells = pd.read_csv(keep)
    of_dataset = cells.groupby(["way", "share", "treatment", "dataset"])[MEASURES].mean()
    means = of_dataset.groupby(["way", "share", "treatment"]).mean()
    means["datasets"] = of_dataset["macro_f"].groupby(["way", "share", "treatment"]).count()
    return means.round(3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True, help="CSV file of finished cells")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--table", action="store_true", help="print the table, run nothing")
    arguments = parser.parse_args()
    if not arguments.table:
        run(arguments.keep, arguments.datasets)
    print(tabulate(arguments.keep).to_string())


if __name__ == "__main__":
    main()
