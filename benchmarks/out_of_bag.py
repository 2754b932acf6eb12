"""What out-of-bag scores are good for: thresholds and calibration of a random forest.

    LABELANCE_DATA=... python benchmarks/out_of_bag.py [--data flags yeast] [--trees 100]

Data as in the paper, 2 stratified folds, one forest for each. The first line of a dataset has the
macro F in percent at 0.5, with thresholds found on the training rows, with each label's own out of
bag, with one for all, and shrunk to the latter (strength 5); the second the Brier loss times
10,000 and the expected calibration error times 1,000, as it is, by sigmoids and by isotonic steps.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier

from labelance._validation._data import validate_data
from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.decisions._calibration import fit_calibrators
from labelance.decisions._held_out import out_of_bag_scores
from labelance.decisions._search import (
    ScoredRows,
    pooled_threshold,
    search_thresholds,
    shrink_thresholds,
)
from labelance.metrics import label_scores, macro_brier_loss, macro_calibration_error, macro_f1
from labelance.model_selection import IterativeStratifiedKFold

DATA = (
    *("flags", "emotions", "genbase", "medical", "birds", "cal500", "scene", "yeast", "enron"),
    "verbframes",
)


def figures(data: MultiLabelDataset, trees: int) -> tuple[np.ndarray, np.ndarray]:
    """Return macro F by threshold, and both losses by calibration, means over folds."""
    X = sp.csr_matrix(data.X) if sp.issparse(data.X) else data.values
    Y = data.Y.toarray() if sp.issparse(data.Y) else np.asarray(data.Y)
    found = []
    for train, test in IterativeStratifiedKFold(2, shuffle=True, random_state=0).split(X, Y):
        forest = RandomForestClassifier(trees, random_state=0).fit(X[train], Y[train])
        known = out_of_bag_scores(forest, validate_data(X[train], Y[train], caller="benchmark"))
        seen, scores = label_scores(forest, X[train]), label_scores(forest, X[test])
        Y_known, Y_test = sp.csr_array(Y[train][known.rows]), Y[test]
        own = search_thresholds(ScoredRows.of(Y_known, known.scores)).own
        common = pooled_threshold(ScoredRows.of(Y_known, known.scores), own)
        n_positive = np.asarray(Y_known.sum(axis=0))
        cuts = (
            0.5,
            search_thresholds(ScoredRows.of(sp.csr_array(Y[train]), seen)).own,
            own,
            common,
            shrink_thresholds(own, common, n_positive, 5),
        )
        by_cut = [100 * macro_f1(Y_test, scores >= cut, zero_division=1) for cut in cuts]
        ways = [scores, *(calibrated(Y_known, known.scores, scores, m) for m in METHODS)]
        losses = [1e4 * macro_brier_loss(Y_test, way) for way in ways]
        losses += [1e3 * macro_calibration_error(Y_test, way) for way in ways]
        found.append((by_cut, losses))
    return np.mean([f for f, _ in found], axis=0), np.mean([loss for _, loss in found], axis=0)


METHODS = ("sigmoid", "isotonic")


def calibrated(Y: sp.csr_array, known: np.ndarray, scores: np.ndarray, method: str) -> np.ndarray:
    changed = scores.copy()
    for labels, found in fit_calibrators(Y, known, method=method, min_class_count=10).maps:
        changed[:, labels] = found(scores[:, labels])
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        for line in figures(load_dataset(name, protocol="paper"), options.trees):
            print(f"{name:<10}" + "".join(f"{value:9.1f}" for value in line), flush=True)


if __name__ == "__main__":
    main()
