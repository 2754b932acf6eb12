"""Which library finds near rows for `algorithm="approx"`: recall, CPU seconds, memory, threads.

    pip install faiss-cpu hnswlib usearch
    python benchmarks/approx_libraries.py [--rows 20000] [--kinds clusters normal]
    python benchmarks/approx_libraries.py --rows 1000000 --kinds clusters --threads 16

Every library has a process of its own for each kind of data. It names 16 rows for each row, in
float32, of which the 5 nearest are taken by exact distances; that is in the CPU seconds. labelance
is what `find_neighbors` does, by lists of faiss and centers of its own, as many as a sample asks
for. Recall is that of 1,000 rows, by distance, so that any of several equal rows is right. "MB" is
the peak above X. "same" says whether one thread and two (or ``--threads``) give the same rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from _measure import peak_extra_bytes
from _scale_data import make_rows
from labelance.neighbors import _partition, find_neighbors
from labelance.neighbors._metric import FeatureMetric
from labelance.neighbors._neighborhood import Candidates

K, NAMED, MEASURED, BLOCK = 5, 16, 1000, 1024
_partition._MANY_ROWS = 0  # so that few rows are searched as many are

Find = Callable[[np.ndarray, int], np.ndarray]


def make(kind: str, n: int) -> np.ndarray:
    """Return n rows of a kind."""
    rng = np.random.default_rng(0)
    if kind == "normal":
        return rng.standard_normal((n, 16), dtype=np.float32)
    if kind == "far rows":
        X = rng.standard_normal((n, 10), dtype=np.float32)
        X[rng.choice(n, 300, replace=False)] += 1e6
        return X
    return make_rows(kind, n)


KINDS = ("clusters", "normal", "few dimensions", "far rows")


def labelance(X: np.ndarray, threads: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a low recall, which is printed
        return find_neighbors(X, K, algorithm="approx", n_jobs=threads).indices


def faiss_ivf(X: np.ndarray, threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.index_factory(X.shape[1], f"IVF{int(4 * np.sqrt(len(X)))},Flat")
    index.train(X)
    index.add(X)
    return index.search(X, NAMED, params=faiss.SearchParametersIVF(nprobe=32))[1]


def faiss_hnsw(X: np.ndarray, threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.index_factory(X.shape[1], "HNSW16")
    index.add(X)
    return index.search(X, NAMED, params=faiss.SearchParametersHNSW(efSearch=50))[1]


def hnswlib(X: np.ndarray, threads: int) -> np.ndarray:
    import hnswlib

    index = hnswlib.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), ef_construction=100, M=16, random_seed=0)
    index.set_num_threads(threads)
    index.add_items(X)
    index.set_ef(50)
    return index.knn_query(X, k=NAMED)[0]


def usearch(X: np.ndarray, threads: int) -> np.ndarray:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X, threads=threads)
    return index.search(X, NAMED, threads=threads).keys


SIDES: dict[str, tuple[Find, str]] = {
    "labelance": (labelance, "faiss"),
    "faiss IVF, 32 lists": (faiss_ivf, "faiss"),
    "faiss HNSW": (faiss_hnsw, "faiss"),
    "hnswlib": (hnswlib, "hnswlib"),
    "usearch": (usearch, "usearch"),
}


def nearest_of(named: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return the 5 nearest of the rows that a library names, by exact distances."""
    metric, n = FeatureMetric.learn(X), len(X)
    found = []
    for start in range(0, n, BLOCK):
        own = np.arange(start, min(start + BLOCK, n))
        rows = np.sort(named[own].astype(np.int64), axis=1)
        counts = np.full(len(own), rows.shape[1])
        found.append(metric.rank(X, own, X, own, Candidates(rows, counts), K).rows)
    return np.concatenate(found)


def recall_of(found: np.ndarray, X: np.ndarray) -> float:
    """Return the share of found rows that are as near as the fifth nearest."""
    some = np.unique(np.linspace(0, len(X) - 1, MEASURED).astype(int))
    nearest = find_neighbors(X, K + 1, queries=X[some], algorithm="exact")
    own = nearest.indices == some[:, None]
    own[~own.any(axis=1), -1] = True
    reach = nearest.distances[~own].reshape(-1, K)[:, -1:]
    gaps = X[found[some]].astype(float) - X[some][:, None]
    return float((np.sqrt((gaps**2).sum(axis=2)) <= reach * (1 + 1e-12)).mean())


def run(side: str, kind: str, n: int, threads: int) -> dict[str, Any]:
    """Return the figures of one side."""
    X, (find, _) = make(kind, n), SIDES[side]
    seconds: list[float] = []
    found: list[np.ndarray] = []

    def work(rows: np.ndarray = X, n_threads: int = 1) -> None:
        start = time.process_time()
        named = find(rows, n_threads)
        found.append(named if named.shape[1] == K else nearest_of(named, rows))
        seconds.append(time.process_time() - start)

    work(X[:2000])  # compiles
    extra = peak_extra_bytes(work)
    work(X, threads)
    same = bool((found[1] == found[2]).all())
    return {"recall": recall_of(found[1], X), "CPU s": seconds[1], "MB": extra / 1e6, "same": same}


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        side, kind, *numbers = sys.argv[2:]
        print(json.dumps(run(side, kind, *map(int, numbers))))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--sides", nargs="+", choices=list(SIDES), default=list(SIDES))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    print(f"{'data':<15} {'library':<20} {'recall':>7} {'CPU s':>8} {'MB':>7}  same")
    for kind in options.kinds:
        for side in options.sides:
            if find_spec(SIDES[side][1]) is None:
                print(f"{kind:<15} {side:<20} skipped: {SIDES[side][1]} is not installed")
                continue
            command = [sys.executable, __file__, "one", side, kind, options.rows, options.threads]
            done = subprocess.run(
                list(map(str, command)), stdout=subprocess.PIPE, check=True, text=True
            )
            got = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{kind:<15} {side:<20} {got['recall']:>7.4f} {got['CPU s']:>8.2f} "
                f"{got['MB']:>7.0f}  {'yes' if got['same'] else 'no'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
