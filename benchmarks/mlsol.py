"""MLSOL's total time over scikit-learn's brute-force neighbor search alone.

Both sides run in one process, taking turns, on the same container, dtype and threads. Needs the
real datasets: set LABELANCE_DATA, or let them be downloaded.

    python benchmarks/mlsol.py --repeats 3
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from _measure import interleaved_seconds, peak_extra_bytes
from _reference import authors_seconds
from labelance.datasets import load_dataset
from labelance.sampling import MLSOL

CASES = [
    # dataset, container, the most that the ratio should be
    ("yeast", "dense", 1.15),
    ("scene", "dense", 1.15),
    ("bibtex", "dense", 1.15),
    ("corel5k", "dense", 1.15),
    ("delicious", "dense", 1.15),
    ("bibtex", "csr", 0.8),
    ("corel5k", "csr", 0.35),
    ("delicious", "csr", 0.35),
]


def features(name: str, container: str) -> tuple[object, object]:
    data = load_dataset(name)
    X = data.values.toarray() if sp.issparse(data.values) else np.asarray(data.values)
    return (X if container == "dense" else sp.csr_matrix(X)), data.Y


def warm_up() -> float:
    """Compile everything once; return the seconds it took."""
    start = time.perf_counter()
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 5)), rng.integers(0, 2, (60, 3))
    for values in (X, X.round(), sp.csr_matrix(X.round(1)), sp.csr_matrix(X.round())):
        MLSOL().fit_resample(values, Y)
    return time.perf_counter() - start


def measure(name: str, container: str, repeats: int) -> tuple[float, float, float]:
    """Return seconds of the search, seconds of MLSOL, and MLSOL's peak of extra memory in MB."""
    X, Y = features(name, container)
    search = NearestNeighbors(n_neighbors=6, algorithm="brute")
    sampler = MLSOL(random_state=0)
    seconds = interleaved_seconds(
        {
            "search": lambda: search.fit(X).kneighbors(X),
            "mlsol": lambda: sampler.fit_resample(X, Y),
        },
        repeats,
    )
    extra = peak_extra_bytes(lambda: sampler.fit_resample(X, Y)) / 2**20
    return seconds["search"], seconds["mlsol"], extra


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="one dataset")
    options = parser.parse_args()
    print(f"compilation or loading of compiled code: {warm_up():.1f} s (not counted below)")
    theirs = authors_seconds("MLSOL")
    print(
        f"{'dataset':<10} {'kind':<6} {'search s':>9} {'MLSOL s':>9} {'ratio':>6} {'target':>7} "
        f"{'extra MB':>9} {'authors CPU s':>14} {'times':>6}"
    )
    for name, container, target in CASES:
        if options.only and name != options.only:
            continue
        search, mlsol, extra = measure(name, container, options.repeats)
        authors = theirs.get(name)
        against = f"{authors:14.1f} {authors / mlsol:6.0f}" if authors else ""
        print(
            f"{name:<10} {container:<6} {search:9.3f} {mlsol:9.3f} {mlsol / search:6.2f} "
            f"{target:7.2f} {extra:9.0f} {against}",
            flush=True,
        )


if __name__ == "__main__":
    main()
