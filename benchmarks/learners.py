"""Learners over C4.5 trees: whole fits through the public API, warm, on one core.

    LABELANCE_DATA=... python benchmarks/learners.py [--repeats 3] [--only BR CLR bibtex MLkNN]

BR        fit against one ``DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)`` per
          label, the faster of dense and CSC, and against the authors' program where its timing
          lies beside the datasets. Targets: 10x on yeast, 15x on enron, 30x on bibtex, 20x on
          corel5k; 15x of the authors' J48.
CLR       fit one half of corel5k (60,031 pairs) in under 10 s, predict the other in under 20 s,
          within 2 GB.
bibtex    RAkEL, COCOA and ECCRU3, fit on one half of bibtex: seconds, the share spent in trees,
          memory.
MLkNN     fit on one half of bibtex and predict the other, against scikit-multilearn-ng where it
          is installed. Target: 20x.

All data are prepared as in the paper. Processor seconds, the least of the repeats.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from _measure import peak_extra_bytes
from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.learners import (
    COCOA,
    ECCRU3,
    BinaryRelevance,
    CalibratedLabelRanking,
    MLkNN,
    RAkEL,
    _chain_trees,
    _tree_models,
)

BR_CASES = {"yeast": 10, "enron": 15, "bibtex": 30, "corel5k": 20}  # how many times faster

Learner = Callable[..., Any]


def cpu_seconds(call: Callable[[], Any], repeats: int) -> float:
    """Return the least processor time of ``repeats`` calls; noise only ever adds."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def scikit_seconds(data: MultiLabelDataset, repeats: int) -> dict[str, float]:
    """Processor time of one scikit-learn tree per label, on X in its own favorite forms."""
    X = dense(data.values)
    forms = {"dense": X.astype(np.float32), "csc": sp.csc_matrix(X.astype(np.float32))}
    columns = data.Y.toarray().T

    def fit(form: Any) -> None:
        for y in columns:
            DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=0).fit(
                form, y
            )

    return {name: cpu_seconds(partial(fit, form), repeats) for name, form in forms.items()}


def authors_seconds(name: str) -> float:
    """Processor time of the authors' BR with J48, where it lies beside the datasets."""
    table = Path(os.environ.get("LABELANCE_DATA", ".")).parent / "reference/timing/timing.csv"
    if not table.is_file():
        return np.nan
    with table.open() as lines:
        rows = [row for row in csv.DictReader(lines) if row["what"] == "BR" and row["cpu_s"]]
    # "-exp" marks data reduced as in the paper; yeast is the same before and after.
    wanted = name if name == "yeast" else f"{name}-exp"
    times = [float(row["cpu_s"]) for row in rows if row["dataset"] == wanted]
    return min(times, default=np.nan)


def binary_relevance(repeats: int) -> None:
    print(
        f"\n{'BR':<10}{'trees':>6}{'ours s':>9}{'dense s':>9}{'CSC s':>9}{'times':>8}{'target':>8}"
        f"{'J48 s':>8}{'times':>8}"
    )
    for name, target in BR_CASES.items():
        data = load_dataset(name, protocol="paper")
        learner = BinaryRelevance(categorical_features=data.categorical_features)
        learner.fit(data.values, data.Y)
        ours = cpu_seconds(lambda: learner.fit(data.values, data.Y), 3 * repeats)  # noqa: B023
        theirs = scikit_seconds(data, repeats)
        authors = authors_seconds(name)
        j48 = f"{authors:8.2f}{authors / ours:7.1f}x" if np.isfinite(authors) else ""
        print(
            f"{name:<10}{data.n_labels:6}{ours:9.4f}{theirs['dense']:9.3f}{theirs['csc']:9.3f}"
            f"{min(theirs.values()) / ours:7.1f}x{target:7}x{j48}",
            flush=True,
        )


def halves(name: str) -> tuple[MultiLabelDataset, MultiLabelDataset]:
    """Return every second row, and the others."""
    data = load_dataset(name, protocol="paper")
    first = np.arange(data.n_samples) % 2 == 0
    return data.take(first), data.take(~first)


def on_one_half(name: str, make: Learner, repeats: int, **options: Any) -> None:
    """Fit a learner on every second row, predict the others, and print what it took.

    The share in trees is the time inside the growing of forests.
    """
    even, odd = halves(name)
    learner = make(categorical_features=even.categorical_features, **options)
    few = even.take(np.arange(200))
    learner.fit(few.X, few.Y).predict_proba(few.X)  # compiles
    # Memory first: what a later run needs may still be there from an earlier one.
    memory = peak_extra_bytes(lambda: learner.fit(even.X, even.Y).predict_proba(odd.X)) / 2**20
    fit, growing = _fit_and_growing_seconds(learner, even, repeats)
    predict = cpu_seconds(lambda: learner.predict_proba(odd.X), repeats)
    label = f"{make.__name__} {name}"
    print(f"{label:<34}{fit:9.2f}{growing / fit:10.0%}{predict:12.2f}{memory:10.0f}", flush=True)


def _fit_and_growing_seconds(
    learner: Any, data: MultiLabelDataset, repeats: int
) -> tuple[float, float]:
    """Return the processor time of the fastest fit, and its part inside ``grow_forest``."""
    users = (_tree_models, _chain_trees)
    grow, spent = vars(_tree_models)["grow_forest"], [0.0]

    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        forest = grow(*args, **kwargs)
        spent[0] += time.process_time() - start
        return forest

    runs = []
    with ExitStack() as patches:
        for module in users:
            patches.enter_context(mock.patch.object(module, "grow_forest", timed))
        for _ in range(repeats):
            spent[0] = 0.0
            whole = cpu_seconds(lambda: learner.fit(data.values, data.Y), 1)
            runs.append((whole, spent[0]))
    return min(runs)


def halves_heading() -> None:
    print(f"\n{'one half':<34}{'fit s':>9}{'in trees':>10}{'predict s':>12}{'extra MB':>10}")


def calibrated_label_ranking(repeats: int) -> None:
    halves_heading()
    on_one_half("corel5k", CalibratedLabelRanking, repeats)


def on_bibtex(repeats: int) -> None:
    halves_heading()
    for make in (RAkEL, COCOA, ECCRU3):
        on_one_half("bibtex", make, repeats, random_state=0)


def nearest_neighbors(repeats: int) -> None:
    """Fit and predict with MLkNN, ours and theirs, in one run and on one core."""
    even, odd = halves("bibtex")
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: MLkNN().fit(even.X, even.Y).predict_proba(odd.X)
    }
    if find_spec("skmultilearn"):
        their = import_module("skmultilearn.adapt").MLkNN
        rows, new = dense(even.X), dense(odd.X)  # sparse rows take as long
        labels = sp.lil_matrix(even.Y)
        calls["theirs"] = lambda: their(k=10).fit(rows, labels).predict_proba(new)
    else:
        print("\nMLkNN: scikit-multilearn-ng is not installed, and left out")
    calls["ours"]()  # compiles
    with threadpool_limits(1):
        seconds = {
            caller: cpu_seconds(call, repeats if caller == "ours" else 1)
            for caller, call in calls.items()
        }
    ratio = f"{seconds['theirs'] / seconds['ours']:8.1f}x" if "theirs" in seconds else ""
    told = "".join(f"  {caller} {value:.2f} s" for caller, value in seconds.items())
    print(f"\nMLkNN, fit on one half of bibtex and predict the other:{told}{ratio}", flush=True)


PARTS: dict[str, Callable[[int], None]] = {
    "BR": binary_relevance,
    "CLR": calibrated_label_ranking,
    "bibtex": on_bibtex,
    "MLkNN": nearest_neighbors,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    for part in options.only:
        PARTS[part](options.repeats)


if __name__ == "__main__":
    main()
