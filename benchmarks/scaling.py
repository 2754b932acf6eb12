"""How MLSOL's cost grows in n, d, q and k, against the paper's O(n²d + n²k + nkq).

For each of the four, the others stay fixed and an exponent is fitted to the times of the
larger sizes. A side of the sum that does not matter at these sizes shows as an exponent near 0.

    python benchmarks/scaling.py
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp

from _measure import best_seconds
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL

BASE = {"n": 4000, "d": 200, "q": 50, "k": 5}
SIZES = {
    "n": [2000, 4000, 8000, 16000],
    "d": [200, 400, 800, 1600],
    "q": [200, 800, 3200, 12800],
    "k": [5, 10, 20, 40],
}
PAPER = {"n": "2 (n²d)", "d": "1 (n²d)", "q": "1 (nkq, of C alone)", "k": "1 (n²k, nkq)"}


def make(n: int, d: int, q: int) -> tuple[np.ndarray, sp.csr_array]:
    """Return random data with about 5 % of the label cells present."""
    rng = np.random.default_rng(0)
    Y = sp.random_array((n, q), density=0.05, rng=rng, format="csr")
    Y.data[:] = 1
    return rng.random((n, d)), Y


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Return the exponent of a power law through the points."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    MLSOL().fit_resample(*make(100, 5, 3))
    print(f"{'size':<4} {'whole':>7} {'C, w, T':>8}  paper")
    for name, sizes in SIZES.items():
        whole, local = [], []
        for size in sizes:
            shape = {**BASE, name: size}
            k = shape.pop("k")
            X, Y = make(**shape)
            around = find_neighbors(X, k)
            sampler = MLSOL(k_neighbors=k, random_state=0)
            whole.append(best_seconds(lambda s=sampler, X=X, Y=Y: s.fit_resample(X, Y), repeats))
            local.append(
                best_seconds(lambda Y=Y, around=around: local_distribution(Y, around), repeats)
            )
        print(
            f"{name:<4} {slope(sizes, whole):7.2f} {slope(sizes, local):8.2f}  {PAPER[name]}"
            f"   whole: {', '.join(f'{s:.3f}' for s in whole)} s at {sizes}",
            flush=True,
        )


if __name__ == "__main__":
    main()
