"""How long the search takes next to scikit-learn's brute force, in one process.

    LABELANCE_DATA=... python benchmarks/neighbors.py [DATASET ...] [--n-jobs N] [--repeat R]

Both searches get the same container and type. The first run of ours, which may compile, is
left out and printed. scikit-learn finds k + 1 neighbors, because it counts the row itself.
Wall and processor time are both shown: on a busy machine only the second can be trusted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from _measure import peak_extra_bytes
from labelance.datasets import load_dataset
from labelance.neighbors import find_neighbors

DATASETS = ("yeast", "scene", "bibtex", "corel5k", "delicious")
K = 5


def containers(X: Any) -> Iterator[tuple[str, Any]]:
    """The same rows dense in both float types, and sparse."""
    dense = X.toarray() if sp.issparse(X) else X
    yield "float64", np.ascontiguousarray(dense, dtype=np.float64)
    yield "float32", np.ascontiguousarray(dense, dtype=np.float32)
    yield "CSR", sp.csr_array(X, dtype=np.float64)


def seconds(work: Callable[[], Any]) -> np.ndarray:
    """Wall and processor time of one call."""
    start = time.perf_counter(), time.process_time()
    work()
    return np.array([time.perf_counter() - start[0], time.process_time() - start[1]])


def compare(name: str, kind: str, X: Any, n_jobs: int | None, repeat: int) -> None:
    def ours() -> Any:
        return find_neighbors(X, K, n_jobs=n_jobs)

    def theirs() -> Any:
        with threadpool_limits(n_jobs):
            return NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(X).kneighbors(X)

    first = seconds(ours)[0]
    peak = peak_extra_bytes(ours)
    a = np.min([seconds(ours) for _ in range(repeat)], axis=0)
    b = np.min([seconds(theirs) for _ in range(repeat)], axis=0)
    print(
        f"{name:10s} {kind:8s} {a[0]:8.3f} {b[0]:8.3f} {a[0] / b[0]:6.2f} "
        f"{a[1] / b[1]:6.2f} {first:8.2f} {peak / 1e6:8.0f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--n-jobs", type=int, default=None)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("dataset    kind         ours  sklearn   wall    cpu    first   MB more")
    for name in options.datasets:
        for kind, X in containers(load_dataset(name).values):
            compare(name, kind, X, options.n_jobs, options.repeat)


if __name__ == "__main__":
    main()
