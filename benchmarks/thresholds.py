"""On which scores to find thresholds: macro F on unseen rows, by ``tune_on``.

    LABELANCE_DATA=... python benchmarks/thresholds.py [--data flags yeast] [--repeats 3]

For binary relevance (C4.5) and MLkNN, each alone (``LabelThresholds``), in plain bags, in EMLSOL,
and in EMLSOL over bags, thresholds of F found on

0.5       nothing: the common threshold
train     the training rows, as in the paper
oob       rows that members left out
cv        out-of-fold models

Data as in the paper, 2 stratified folds, several times. The table has the mean macro F in
percent; the last lines are the mean over datasets, and the mean difference from ``train`` over all
folds with its standard error.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.decisions import LabelThresholds
from labelance.ensemble import EMLS
from labelance.exceptions import LabelanceWarning
from labelance.learners import BinaryRelevance, MLkNN
from labelance.metrics import macro_f1
from labelance.model_selection import RepeatedIterativeStratifiedKFold
from labelance.sampling import MLSOL

DATA = ("flags", "emotions", "scene", "yeast", "enron", "medical", "cal500")
WAYS = {
    "alone": ("train", "cv"),
    "bags": ("train", "oob", "cv"),
    "EMLSOL": ("train", "cv"),
    "EMLSOL bags": ("train", "oob"),
}
COLUMNS = [(model, way) for model, ways in WAYS.items() for way in ("0.5", *ways)]


def models(learner: Any, sampler: Any) -> dict[str, Any]:
    return {
        "alone": LabelThresholds(learner, random_state=0),
        "bags": EMLS(learner, None, bootstrap=True, random_state=0),
        "EMLSOL": EMLS(learner, sampler, random_state=0),
        "EMLSOL bags": EMLS(learner, sampler, bootstrap=True, random_state=0),
    }


def fold_figures(data: MultiLabelDataset, learner: Any, sampler: Any, repeats: int) -> np.ndarray:
    """Return macro F in percent, a line for every fold and a column for every way."""
    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=0)
    lines = []
    for train, test in folds.split(data.values, data.Y):
        part, unseen = data.take(train), data.take(test)
        made = models(learner, sampler)
        lines.append([f for name in WAYS for f in figures(made[name], WAYS[name], part, unseen)])
    return 100 * np.array(lines)


def figures(
    model: Any, ways: tuple[str, ...], train: MultiLabelDataset, test: MultiLabelDataset
) -> Iterator[float]:
    """Yield macro F at 0.5, and with thresholds found in each way; the scores are the same."""
    scores = None
    for way in ways:
        model.set_params(tune_on=way).fit(train.X, train.Y)
        if scores is None:
            scores = model.predict_proba(test.X)
            yield macro_f1(test.Y, scores >= 0.5, zero_division=1)
        yield macro_f1(test.Y, scores >= model.thresholds_, zero_division=1)


def learners(data: MultiLabelDataset) -> dict[str, Any]:
    nominal = data.categorical_features
    return {
        "BR": BinaryRelevance(categorical_features=nominal),
        "MLkNN": MLkNN(scale="range", categorical_features=nominal),
    }


def compare(learner: str, names: list[str], repeats: int) -> None:
    print(f"\n{learner:<10}" + "".join(f"{model:>12}" for model, _ in COLUMNS))
    print(f"{'':<10}" + "".join(f"{way:>12}" for _, way in COLUMNS))
    tables = []
    for name in names:
        data = load_dataset(name, protocol="paper")
        sampler = MLSOL(scale="range", categorical_features=data.categorical_features)
        tables.append(fold_figures(data, learners(data)[learner], sampler, repeats))
        print_line(name, tables[-1].mean(axis=0))
    print_line("mean", np.mean([table.mean(axis=0) for table in tables], axis=0))
    every = np.vstack(tables)
    base = every[:, [COLUMNS.index((model, "train")) for model, _ in COLUMNS]]
    gain = every - base
    print_line("- train", gain.mean(axis=0), sign="+")
    print_line("+-", gain.std(axis=0, ddof=1) / np.sqrt(len(gain)))


def print_line(name: str, values: np.ndarray, *, sign: str = "-") -> None:
    print(f"{name:<10}" + "".join(f"{value:{sign}12.2f}" for value in values), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", LabelanceWarning)
    start = time.process_time()
    for learner in ("BR", "MLkNN"):
        compare(learner, options.data, options.repeats)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
