"""Our engines for neighbors beside those of others: recall, CPU seconds and memory in one run.

Every engine has a process of its own for each kind of data, and sizes follow each other in it, so
that what is compiled at first use is compiled once and not counted. Recall is that of 5 neighbors
of 1,000 rows, memory the peak above X as a multiple of X, and "same" says whether two searches
among 10,000 rows give the same neighbors. What is not installed, and what an engine does not take,
is skipped by name.

    pip install pynndescent hnswlib usearch faiss-cpu voyager
    python benchmarks/engines.py --rows 30000 100000
    python benchmarks/engines.py --kinds text --engines "labelance exact" pynndescent
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from _measure import peak_extra_bytes
from _scale_data import KINDS, TEXTS, data_bytes, make_rows
from labelance.neighbors import find_neighbors
from scale import engine

K = 5
PACKAGES = {
    "pynndescent": "pynndescent",
    "hnswlib": "hnswlib",
    "usearch": "usearch",
    "labelance approx": "faiss-cpu",
    "faiss flat": "faiss-cpu",
    "faiss IVF": "faiss-cpu",
    "voyager": "voyager",
}
TAKES_SPARSE = {"labelance pairs", "labelance exact", "pynndescent"}

Find = Callable[[Any], np.ndarray]


def ours(method: str) -> Find:
    """Return our search by an engine."""

    def find(X: Any) -> np.ndarray:
        with engine(method, few_rows=X.shape[0] <= 10_000) as way:
            return find_neighbors(X, K, algorithm=way).indices

    return find


def by_pynndescent(X: Any) -> np.ndarray:
    from pynndescent import NNDescent

    index = NNDescent(X, metric="euclidean", n_neighbors=10, random_state=0)
    return index.neighbor_graph[0][:, : K + 1]


def by_hnswlib(X: np.ndarray) -> np.ndarray:
    import hnswlib

    index = hnswlib.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), ef_construction=100, M=16, random_seed=0)
    index.add_items(X)
    index.set_ef(50)
    return index.knn_query(X, k=K + 1)[0]


def by_usearch(X: np.ndarray) -> np.ndarray:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X)
    return index.search(X, K + 1).keys


def by_faiss_flat(X: np.ndarray) -> np.ndarray:
    import faiss

    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, K + 1)[1]


def by_faiss_ivf(X: np.ndarray) -> np.ndarray:
    import faiss

    lists = int(4 * np.sqrt(len(X)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], lists)
    index.train(X)
    index.add(X)
    index.nprobe = 8
    return index.search(X, K + 1)[1]


def by_voyager(X: np.ndarray) -> np.ndarray:
    from voyager import Index, Space

    index = Index(Space.Euclidean, num_dimensions=X.shape[1], random_seed=0)
    index.add_items(X)
    return index.query(X, k=K + 1)[0]


ENGINES: dict[str, Find] = {
    "labelance pairs": ours("pairs"),
    "labelance exact": ours("exact"),
    "labelance approx": ours("approx"),
    "pynndescent": by_pynndescent,
    "hnswlib": by_hnswlib,
    "usearch": by_usearch,
    "faiss flat": by_faiss_flat,
    "faiss IVF": by_faiss_ivf,
    "voyager": by_voyager,
}


def recall_of(found: np.ndarray, X: Any) -> float:
    """Return the share of the 5 nearest rows of 1,000 that were found, whoever else was."""
    some = np.unique(np.linspace(0, X.shape[0] - 1, 1000).astype(int))
    nearest = find_neighbors(X, K + 1, queries=X[some]).indices
    others = [[row for row in line if row != own][:K] for own, line in zip(some, nearest)]
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(others, found[some])]))


def run(name: str, kind: str, sizes: list[int]) -> None:
    """Print a line of JSON for every size."""
    find = ENGINES[name]
    find(make_rows(kind, 2000))  # compiles, and makes threads
    few = make_rows(kind, 10_000)
    same = bool((np.asarray(find(few)) == np.asarray(find(few))).all())
    for n in sizes:
        X = make_rows(kind, n)
        found: list[np.ndarray] = []
        seconds = 0.0

        def work(X: Any = X, found: list[np.ndarray] = found) -> None:
            nonlocal seconds
            start = time.process_time()
            found.append(np.asarray(find(X)))
            seconds = time.process_time() - start

        extra = peak_extra_bytes(work) / data_bytes(X)
        figures = {"rows": n, "seconds": seconds, "memory": extra, "same": same}
        print(json.dumps({**figures, "recall": recall_of(found[0], X)}), flush=True)


def why_not(name: str, kind: str) -> str:
    """Return why an engine is skipped; nothing if it is not."""
    if name in PACKAGES:
        try:
            version(PACKAGES[name])
        except PackageNotFoundError:
            return f"{PACKAGES[name]} is not installed"
    if kind in TEXTS and name not in TAKES_SPARSE:
        return "no sparse rows"
    return ""


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        run(sys.argv[2], sys.argv[3], [int(n) for n in sys.argv[4:]])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[30_000, 100_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    options = parser.parse_args()
    print(f"{'data':<15} {'engine':<17} {'rows':>9} {'recall@5':>8} {'CPU s':>8} memory/X same")
    for kind in options.kinds:
        for name in options.engines:
            if reason := why_not(name, kind):
                print(f"{kind:<15} {name:<17} skipped: {reason}", flush=True)
                continue
            command = [sys.executable, __file__, "one", name, kind, *map(str, options.rows)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                for line in process.stdout or ():
                    got = json.loads(line)
                    print(
                        f"{kind:<15} {name:<17} {got['rows']:>9,} {got['recall']:>8.4f} "
                        f"{got['seconds']:>8.2f} {got['memory']:>8.2f} {got['same']}",
                        flush=True,
                    )
            if process.returncode:
                print(f"{kind:<15} {name:<17} failed, exit {process.returncode}", flush=True)


if __name__ == "__main__":
    main()
