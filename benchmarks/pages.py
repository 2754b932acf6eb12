"""Time and size of the profile page, for growing numbers of labels.

    python benchmarks/pages.py
    python benchmarks/pages.py --rows 100000 --labels 1000

Rows have 50 dense features; labels fall off as a power of their rank, about three a row. The
seconds of the profile (mostly the search for neighbors) and of the page are wall-clock time, and
CPU seconds those of both; kernels are compiled before.
"""

from __future__ import annotations

import argparse
from time import perf_counter, process_time

import numpy as np
import scipy.sparse as sp

from labelance import profile

WIDTHS = {"rows": 8, "labels": 7, "searched": 9, "profile s": 10, "page s": 7, "CPU s": 6, "kB": 6}


def make_data(n: int, q: int, d: int = 50, seed: int = 0) -> tuple[np.ndarray, sp.csr_array]:
    """Return blobs around one center per label, and labels whose counts fall off with rank."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, q + 1)
    share *= 3 / share.sum()
    counts = np.maximum(1, rng.poisson(n * share.clip(max=0.7)))
    label = np.repeat(np.arange(q), counts)
    Y = sp.csr_array(
        (np.ones(len(label), np.int8), (rng.integers(n, size=len(label)), label)), (n, q)
    )
    Y.data[:] = 1  # a row drawn twice has the label once
    centers = rng.normal(size=(q, d))
    return Y @ centers + rng.normal(size=(n, d)), Y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--subsample", type=int, default=50_000, help="as labelance profile has it")
    options = parser.parse_args()
    profile(*make_data(500, 10)).to_html()
    print(" ".join(f"{name:>{width}}" for name, width in WIDTHS.items()), flush=True)
    for q in options.labels:
        X, Y = make_data(options.rows, q)
        names = [f"a label with a name, number {j}" for j in range(q)]
        start, cpu = perf_counter(), process_time()
        found = profile(X, Y, label_names=names, subsample=options.subsample)
        middle = perf_counter()
        size = len(found.to_html().encode())
        end = perf_counter()
        seconds = (middle - start, end - middle, process_time() - cpu)
        cells = (
            options.rows,
            q,
            found.n_searched,
            *(f"{one:.1f}" for one in seconds),
            size // 1000,
        )
        told = (f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS.values()))
        print(" ".join(told), flush=True)


if __name__ == "__main__":
    main()
