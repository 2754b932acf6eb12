"""A million rows and 5,000 labels through C, w, T and 300,000 draws, given the neighbors.

d = 200 features as CSR with 1 % non-zeros; Y as CSR with cardinality 5, one label in 60 % of the
rows. Prints seconds and the peak of memory above the data.

    python benchmarks/million.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp

from _measure import peak_extra_bytes
from labelance.neighbors import Neighborhood
from labelance.sampling import MLSOL


def make(n: int, d: int, q: int) -> tuple[sp.csr_array, sp.csr_array, np.ndarray]:
    """Return X, Y and stand-in neighbors: rows a few places away."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=0.01, rng=rng, format="csr")
    counts = rng.poisson(4.4, size=n)
    rows = np.repeat(np.arange(n), counts)
    popular = np.minimum((rng.pareto(1.2, size=len(rows)) * 20).astype(np.int64), q - 2) + 1
    often = np.flatnonzero(rng.random(n) < 0.6)
    rows = np.concatenate([rows, often])
    labels = np.concatenate([popular, np.zeros(len(often), dtype=np.int64)])
    Y = sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, labels)), shape=(n, q))
    Y.sum_duplicates()
    Y.data[:] = 1
    steps = np.array([-2, -1, 1, 2, 3])
    return X, Y, (np.arange(n)[:, None] + steps) % n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    MLSOL().fit_resample(*make(500, 200, 50)[:2])  # compile
    X, Y, around = make(rows, 200, 5_000)
    print(f"{rows:,} rows, {Y.shape[1]:,} labels, cardinality {Y.nnz / rows:.2f}")
    sampler = MLSOL(random_state=0)
    # Distances of the rows as they are, so that the neighborhood is one of these rows.
    distances = np.stack([sampler_distance(X, around[:, j]) for j in range(5)], axis=1)
    order = np.argsort(distances, axis=1, kind="stable")
    given = Neighborhood(
        np.take_along_axis(around, order, axis=1), np.take_along_axis(distances, order, axis=1)
    )
    seconds = 0.0

    def whole() -> None:
        nonlocal seconds
        start = time.perf_counter()
        X_new, Y_new = sampler.fit_resample(X, Y, neighborhood=given)
        seconds = time.perf_counter() - start
        print(f"made {X_new.shape[0] - rows:,} rows, {Y_new.nnz:,} labels in all")

    extra = peak_extra_bytes(whole)
    print(f"{seconds:.1f} s, {extra / 2**30:.2f} GB above the data")


def sampler_distance(X: sp.csr_array, others: np.ndarray) -> np.ndarray:
    """Return the Euclidean distance of every row to another."""
    apart = X - X[others]
    return np.sqrt(np.asarray(apart.multiply(apart).sum(axis=1)).ravel())


if __name__ == "__main__":
    main()
