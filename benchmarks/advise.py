"""Is advice good? What ``advise`` says on half of the data, against all candidates on the rest.

    LABELANCE_DATA=... python benchmarks/advise.py [--data flags yeast] [--budget 20] [--halves 2]

Four real and two generated datasets, split in stratified halves. On one half advice is taken; then
every candidate is fitted to that half and predicts the other. A line has the macro F of doing
nothing, of what was advised and of the best candidate, the gap between these two in percent with
its 95 % interval over 500 bootstrap samples of the test rows, whether it contains 0 (within
noise), and the seconds of the processor that the advice took. These are also what its budget
counts here, so that a busy machine prints the same lines.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np

from labelance import advise
from labelance._validation._data import validate_data
from labelance.advice._compare import CANDIDATES, make_estimator, make_learner
from labelance.datasets import load_dataset, make_multilabel_imbalanced
from labelance.exceptions import LabelanceError
from labelance.metrics import label_scores, macro_f1
from labelance.model_selection import IterativeStratifiedKFold

REAL = ("flags", "emotions", "birds", "scene", "yeast", "medical")
MADE: dict[str, dict[str, Any]] = {
    "safe": {"n_samples": 800, "n_labels": 8, "imbalance": 10},
    "noise": {"n_samples": 800, "n_labels": 8, "imbalance": 10, "n_features": 4},
}
TRIAL = ("flags", "emotions", "birds", "yeast", *MADE)


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in MADE:
        X, y = make_multilabel_imbalanced(random_state=0, **MADE[name])
        if name == "noise":  # features that say nothing
            X = np.random.default_rng(0).normal(size=X.shape)
        return X, y
    data = load_dataset(name)
    X, y = data.to_X_y()
    y = np.asarray(y)
    return X, y[:, y.sum(axis=0) >= 10]


def take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def predictions(X: Any, y: np.ndarray, X_test: Any) -> dict[str, np.ndarray]:
    """Return what every candidate predicts after learning from X and y."""
    data = validate_data(X, y, caller="advise", missing="keep")
    learner = make_learner(data, n_jobs=None)
    found = {}
    for name in CANDIDATES:
        try:
            model = make_estimator(name, learner, data, 0).fit(X, y)
        except LabelanceError:
            continue
        scores, cuts = label_scores(model, X_test), getattr(model, "thresholds_", None)
        found[name] = scores > 0.5 if cuts is None else scores >= cuts
    return found


def gap_interval(y: np.ndarray, best: np.ndarray, advised: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of the difference in macro F, over samples of the rows."""
    rng, gaps = np.random.default_rng(0), []
    for _ in range(500):
        rows = rng.integers(len(y), size=len(y))
        f = [macro_f1(y[rows], one[rows], zero_division=1) for one in (best, advised)]
        gaps.append(f[0] - f[1])
    low, high = np.quantile(gaps, [0.025, 0.975])
    return 100 * float(low), 100 * float(high)


def try_half(name: str, budget: float, half: int) -> bool:
    """Print a line; return whether what was advised is within noise of the best."""
    X, y = load(name)
    splits = IterativeStratifiedKFold(2, shuffle=True, random_state=0).split(
        np.empty((len(y), 1)), y
    )
    train, test = list(splits)[half]
    X_train, X_test = take(X, train), take(X, test)
    with patch("labelance.advice._advise.perf_counter", time.process_time):
        advice = advise(X_train, y[train], budget=budget)
    found = predictions(X_train, y[train], X_test)
    figures = {
        one: 100 * macro_f1(y[test], predicted, zero_division=1) for one, predicted in found.items()
    }
    best = max(figures, key=lambda one: figures[one])
    low, high = gap_interval(y[test], found[best], found[advice.advised])
    noise, design = low <= 0, advice.design
    print(
        f"{name:10}{advice.advised:>21}{best:>21}{figures['nothing']:9.1f}"
        f"{figures[advice.advised]:9.1f}{figures[best]:9.1f}   {low:+6.1f} … {high:+5.1f}"
        f"{'yes' if noise else 'no':>6}"
        f"{design.n_run:4}/{design.n_folds:<3}{advice.seconds:7.0f}",
        flush=True,
    )
    return noise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=(*REAL, *MADE), default=list(TRIAL))
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--halves", type=int, choices=(1, 2), default=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'':10}{'advised':>21}{'best':>21}{'nothing':>9}{'advised':>9}{'best':>9}"
        f"   {'gap (95 %)':>14}{'noise':>6}{'folds':>8}{'seconds':>7}"
    )
    hits = [
        try_half(name, options.budget, half)
        for name in options.data
        for half in range(options.halves)
    ]
    print(f"\nwithin noise of the best: {sum(hits)} of {len(hits)}")


if __name__ == "__main__":
    main()
