"""Are scores probabilities? Brier loss and calibration error before and after calibration.

    LABELANCE_DATA=... python benchmarks/calibration.py [--data flags yeast] [--trees 100]

A random forest on dense data and a logistic regression for every label on sparse data: as it is,
with ``LabelCalibration`` by sigmoids and by isotonic steps (out of bag for the forest, out of
fold for the regression), after MLROS (``sampling_ratio=0.5``), and the latter with
``correct_prior``. Data as in the paper, 2 stratified folds; labels in a single row of the data are
left out. The table has means over labels and folds: the Brier loss times 10,000 and the expected
calibration error (10 bins of one width) times 1,000, then both for labels in fewer than 50 rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.decisions import LabelCalibration, correct_prior
from labelance.learners import BinaryRelevance
from labelance.metrics import label_scores, macro_brier_loss, macro_calibration_error
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLROS

DATA = (
    *("flags", "emotions", "birds", "genbase", "medical", "cal500", "scene", "yeast", "enron"),
    "corel5k",
)
WAYS = ("as it is", "sigmoid", "isotonic", "MLROS", "MLROS corrected")
RARE = 50


def learner(X: Any, trees: int) -> Any:
    if sp.issparse(X):
        return BinaryRelevance(LogisticRegression(solver="liblinear"))
    return RandomForestClassifier(trees, random_state=0)


def scores_of(X: Any, Y: np.ndarray, X_test: Any, trees: int) -> dict[str, np.ndarray]:
    """Return the scores of the test rows, by every way."""
    model = learner(X, trees)
    found = {"as it is": label_scores(model.fit(X, Y), X_test)}
    for method in ("sigmoid", "isotonic"):
        calibrated = LabelCalibration(model, method=method, random_state=0).fit(X, Y)
        found[method] = calibrated.predict_proba(X_test)
    X_more, Y_more = MLROS(sampling_ratio=0.5, random_state=0).fit_resample(X, Y)
    found["MLROS"] = label_scores(learner(X, trees).fit(X_more, Y_more), X_test)
    found["MLROS corrected"] = correct_prior(found["MLROS"], Y_more.mean(axis=0), Y.mean(axis=0))
    return found


def losses(data: MultiLabelDataset, trees: int) -> np.ndarray:
    """Return means over folds, by way, loss, and all or rare labels."""
    X, Y = data.values, np.asarray(data.Y.toarray() if sp.issparse(data.Y) else data.Y)
    X = X.tocsr() if sp.issparse(X) else X
    Y = Y[:, Y.sum(axis=0) >= 2]
    rare = Y.sum(axis=0) < RARE
    parts = []
    for train, test in IterativeStratifiedKFold(2, random_state=0).split(X, Y):
        found = scores_of(X[train], Y[train], X[test], trees)
        parts.append([measure(Y[test], found[way], rare) for way in WAYS])
    return np.mean(parts, axis=0)


def measure(Y: np.ndarray, scores: np.ndarray, rare: np.ndarray) -> list[float]:
    brier = 1e4 * macro_brier_loss(Y, scores, average=None)
    error = 1e3 * macro_calibration_error(Y, scores, average=None)
    few = [float(value[rare].mean()) if rare.any() else np.nan for value in (brier, error)]
    return [float(brier.mean()), float(error.mean()), *few]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.process_time()
    tables = []
    print(f"{'':<10}{'':<18}{'Brier':>9}{'error':>9}{'Brier':>9}{'error':>9}  (rare)")
    for name in options.data:
        tables.append(losses(load_dataset(name, protocol="paper"), options.trees))
        show(name, tables[-1])
    show("mean", np.nanmean(tables, axis=0))
    print(f"\n{time.process_time() - start:.0f} s of processor time")


def show(name: str, table: np.ndarray) -> None:
    for way, row in zip(WAYS, table):
        print(f"{name:<10}{way:<18}" + "".join(f"{value:9.1f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
