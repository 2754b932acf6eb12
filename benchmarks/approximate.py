"""Approximate neighbors, ours and pynndescent's: recall, CPU seconds, first calls, memory.

    pip install pynndescent
    python benchmarks/approximate.py [--rows 40000] [--kinds clusters text]

Every side has a process of its own for each kind of data, with one thread. The first lines show the
first call ever, where nothing is compiled. "first" is the first call of a later process, "CPU s"
its second call. Recall is that of 5 neighbors of 1,000 rows, by distance, so that any of
several equal rows is right. "MB" is the peak above X. "repeated" and "n_jobs" say whether further
calls, and one with two threads, give the same neighbors. Ratios are pynndescent's figures divided
by ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from _measure import peak_extra_bytes
from _scale_data import make_rows
from labelance.neighbors import find_neighbors

K, MEASURED, CANDIDATES = 5, 1000, 15
SIDES = ("labelance", "pynndescent")


def make(kind: str, n: int) -> Any:
    """Return n rows of a kind."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, 60), dtype=np.float32)
    if kind == "normal":
        return rng.standard_normal((n, 16), dtype=np.float32)
    if kind == "far rows":
        X = rng.normal(size=(n, 10))
        X[rng.choice(n, 300, replace=False)] += 1e6
        return X
    if kind == "duplicates":
        return np.repeat(make_rows("clusters", -(-n // 10)), 10, axis=0)[:n]
    return make_rows(kind, n)


KINDS = ("clusters", "uniform", "normal", "far rows", "few dimensions", "duplicates", "text")


def by_labelance(X: Any, n_jobs: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a low recall, which is printed
        return find_neighbors(X, K, algorithm="approx", n_jobs=n_jobs).indices


def by_pynndescent(X: Any, n_jobs: int) -> np.ndarray:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=CANDIDATES, random_state=0, n_jobs=n_jobs)
    rows = index.neighbor_graph[0]
    others = np.argsort(rows == np.arange(len(rows))[:, None], axis=1, kind="stable")
    return np.take_along_axis(rows, others, axis=1)[:, :K]


def recall_of(found: np.ndarray, X: Any) -> float:
    """Return the share of found rows that are as near as the fifth nearest."""
    some = np.unique(np.linspace(0, X.shape[0] - 1, MEASURED).astype(int))
    nearest = find_neighbors(X, K + 1, queries=X[some], algorithm="exact")
    own = nearest.indices == some[:, None]
    own[~own.any(axis=1), -1] = True
    reach = nearest.distances[~own].reshape(-1, K)[:, -1:]
    gaps = X[found[some].ravel()] - X[np.repeat(some, K)]
    squares = gaps.power(2).sum(axis=1) if sp.issparse(gaps) else (gaps.astype(float) ** 2).sum(1)
    return float((np.sqrt(squares).reshape(-1, K) <= reach * (1 + 1e-6)).mean())


def cpu_seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def run(side: str, kind: str, n: int, *, only_first: bool) -> dict[str, Any]:
    """Return the figures of one side."""
    X, find = make(kind, n), globals()[f"by_{side}"]
    found: list[np.ndarray] = []

    def work() -> None:
        found.append(find(X, 1))

    figures: dict[str, Any] = {"first": cpu_seconds(work)}
    if only_first:
        return figures
    figures["CPU s"] = cpu_seconds(work)
    figures["MB"] = peak_extra_bytes(work) / 1e6
    figures["repeated"] = all((found[0] == other).all() for other in found[1:])
    figures["n_jobs"] = bool((found[0] == find(X, 2)).all())
    figures["recall"] = recall_of(found[0], X)
    return figures


def measure(side: str, kind: str, n: int, cache: str, *more: str) -> dict[str, Any]:
    """Run one side in a process of its own, whose compiled code is in a folder."""
    command = [sys.executable, __file__, "one", side, kind, str(n), *more]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        side, kind, n = sys.argv[2:5]
        print(json.dumps(run(side, kind, int(n), only_first="first" in sys.argv[5:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    names = ("recall", "CPU s", "first", "MB")
    with tempfile.TemporaryDirectory() as cache:
        for side in SIDES:
            first = measure(side, options.kinds[0], options.rows, cache, "first")["first"]
            print(f"{side}: first call ever {first:.1f} CPU s, {options.kinds[0]}", flush=True)
        print(f"{'data':<15} {'engine':<12}" + "".join(f"{name:>8}" for name in names) + "  same")
        for kind in options.kinds:
            both = [measure(side, kind, options.rows, cache) for side in SIDES]
            for side, got in zip(SIDES, both):
                numbers = "".join(f"{got[name]:8.3f}" for name in names)
                same = [name for name in ("repeated", "n_jobs") if got[name]]
                print(f"{kind:<15} {side:<12}{numbers}  {', '.join(same)}", flush=True)
            ratios = "".join(f"{both[1][name] / both[0][name]:8.2f}" for name in names)
            print(f"{kind:<15} {'ratio':<12}{ratios}", flush=True)


if __name__ == "__main__":
    main()
