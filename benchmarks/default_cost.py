"""The law of cost of `RareLabelClassifier`: CPU, memory and predict, against its best part alone.

    LABELANCE_DATA=... python benchmarks/default_cost.py --jobs 16 [--cases made,sparse]

Of every case, in a process of its own: CPU seconds of the fit and of the best part alone with the
same held-out scores (least log loss of those that learned from all rows), peak memory against
1 GB + 4 x (X + 8 n q bytes), seconds of predict against those of that part, and the clock.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from street import cpu_seconds, load, make_rows

CASES = ("goemotions_tfidf", "goemotions_minilm", "made", "imdb", "embeddings", "sparse", "million")


def make_case(name: str) -> tuple[Any, np.ndarray]:
    """Return X and y of a case."""
    rng = np.random.default_rng(0)
    if name == "million":
        return make_rows(1_000_000, 50, 20)
    if name == "embeddings":  # a cluster for each label, in noise
        y = rng.random((50_000, 100)) < np.geomspace(0.1, 0.002, 100)
        X = y.astype(np.float32) @ rng.normal(size=(100, 768)).astype(np.float32)
        return X + 3 * rng.normal(size=X.shape).astype(np.float32), y.astype(int)
    if name == "sparse":  # words, by Zipf's law; a label has ten words of its own
        n, d, q, k = 100_000, 50_000, 200, 100
        words = (d ** rng.random((n, k))).astype(np.int64) % d
        y = rng.random((n, q)) < np.geomspace(0.1, 0.002, q)
        own = rng.integers(1000, d, size=(q, 10))
        for label in range(q):
            rows = np.flatnonzero(y[:, label])
            words[rows[:, None], rng.integers(k, size=(len(rows), 3))] = own[
                label, rng.integers(10, size=(len(rows), 3))
            ]
        cells = np.ones(n * k, np.float32), words.ravel(), np.arange(0, n * k + 1, k)
        X = sp.csr_array(cells, shape=(n, d))
        X.sum_duplicates()
        return X, y.astype(int)
    X, Y, train, _ = load(name, 0, Path(os.environ["LABELANCE_DATA"]) / "street")
    return X[train], Y[train]


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run_case(name: str, jobs: int, *, fit_only: bool = False) -> str:
    """Return the line of a case."""
    from labelance import RareLabelClassifier
    from labelance._validation._data import validate_data
    from labelance.ensemble import _race
    from labelance.ensemble._encoding import find_learned, make_tasks

    warnings.simplefilter("ignore")
    X, y = make_case(name)
    size = sum(part.nbytes for part in ((X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)))
    law = 1 + 4 * (size + 8 * y.size) / 2**30
    before, clock = cpu_seconds(), time.perf_counter()
    model = RareLabelClassifier(random_state=0, n_jobs=jobs).fit(X, y)
    spent, clock = cpu_seconds() - before, time.perf_counter() - clock
    peak, new = peak_gb(), X[:10_000]
    start = time.perf_counter()
    model.predict(new)
    predicting = time.perf_counter() - start
    parts = ", ".join(f"{part} {weight:.2f}" for part, weight in zip(model.parts_, model.weights_))
    head = f"{name} {X.shape[0]:,} x {X.shape[1]:,}, {y.shape[1]} labels: CPU {spent:.0f} s"
    tail = f"; peak {peak:.1f} GB of {law:.1f}; clock {clock:.0f} s, {jobs} jobs; {parts}"
    if fit_only:
        return f"{head}; predict {predicting:.2f} s{tail}"
    data = validate_data(X, y, caller="default_cost", missing="keep", needs_all=None)
    tables, rows = model._tables.fit(data, X)
    (task,) = make_tasks(rows, data, find_learned(data), n_trees=model.n_estimators, n_jobs=jobs)
    found = {}
    for one in _race.find_candidates([task], tables.names):
        if one.name not in model.parts_:
            continue
        before = cpu_seconds()
        fitted = one.part.fit(task, np.random.default_rng(0))
        cost, start = cpu_seconds() - before, time.perf_counter()
        fitted.model.scores(task.table[:10_000])
        loss = _race.log_loss(fitted.held_out, task)
        found[loss] = one.name, cost, time.perf_counter() - start
    best, cost, alone = found[min(found)]
    return (
        f"{head} = {spent / cost:.1f} x {best} ({cost:.0f} s); predict {predicting:.2f} s = "
        f"{predicting / alone:.1f} x{tail}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=lambda text: text.split(","), default=CASES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fit-only", action="store_true", help="no fit of the best part alone")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(run_case(options.one, options.jobs, fit_only=options.fit_only), flush=True)
        return
    for name in options.cases:
        command = [sys.executable, __file__, "--one", name, "--jobs", str(options.jobs)]
        command += ["--fit-only"] * options.fit_only
        if subprocess.run(command).returncode:
            print(f"{name}: failed", flush=True)


if __name__ == "__main__":
    main()
