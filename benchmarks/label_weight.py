"""Weights of labels, thresholds or both, under a regression and under XGBoost.

    pip install xgboost
    LABELANCE_DATA=... python benchmarks/label_weight.py [--data birds emotions yeast] [--folds 2]

Binary relevance with and without ``label_weight="balanced"``, each at 0.5 and with thresholds of F
(``LabelThresholds``): macro F, AUCPR and the calibration error in percent, the mean over stratified
folds, and CPU seconds of a fit of all labels with thresholds, which take three fits more. AUCPR and
calibration are of the scores, which thresholds do not change. The last lines are the means.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_auc_pr, macro_calibration_error, macro_f1
from labelance.model_selection import IterativeStratifiedKFold

DATA = ("birds", "emotions", "yeast")
REGRESSION = LogisticRegression(C=0.1, max_iter=1000)
LEARNERS = {
    "regression": make_pipeline(StandardScaler(with_mean=False), REGRESSION),
    "XGBoost": XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, random_state=0),
}
COLUMNS = ("F", "F cut", "AUCPR", "error", "fit s")


def figures(data: MultiLabelDataset, learner: Any, weight: Any, folds: int) -> np.ndarray:
    """Return the figures of a learner with such weights, the means over folds."""
    X, Y, found = data.values, data.Y.toarray(), []
    for train, test in IterativeStratifiedKFold(folds, shuffle=True, random_state=0).split(X, Y):
        tuned = LabelThresholds(BinaryRelevance(learner, label_weight=weight), random_state=0)
        start = time.process_time()
        model = tuned.fit(X[train], Y[train]).estimator_
        seconds = time.process_time() - start
        scores, there = model.predict_proba(X[test]), Y[test].any(axis=0)
        F = [macro_f1(Y[test][:, there], one.predict(X[test])[:, there]) for one in (model, tuned)]
        rest = macro_auc_pr(Y[test], scores), macro_calibration_error(Y[test], scores)
        found.append([*(100 * value for value in (*F, *rest)), seconds])
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--folds", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':<32}" + "".join(f"{name:>8}" for name in COLUMNS))
    total: dict[tuple[str, Any], list[np.ndarray]] = {}
    for name in args.data:
        data = load_dataset(name)
        for learner, estimator in LEARNERS.items():
            for weight in (None, "balanced"):
                line = figures(data, estimator, weight, args.folds)
                total.setdefault((learner, weight), []).append(line)
                show(name, learner, weight, line)
    for (learner, weight), lines in total.items():
        show("mean", learner, weight, np.mean(lines, axis=0))


def show(name: str, learner: str, weight: Any, line: np.ndarray) -> None:
    print(f"{name:<10}{learner:<12}{weight or 'none':<10}", end="")
    print("".join(f"{value:8.1f}" for value in line), flush=True)


if __name__ == "__main__":
    main()
