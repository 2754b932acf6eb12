"""How the time and memory of MLSOL grow with the rows, for each way to find neighbors.

Three kinds of data: clusters and few intrinsic dimensions (dense, d = 64, float32), and sparse
rows like those of texts. Every line is a process of its own: CPU seconds, and the peak of memory
as a multiple of X. An exponent is fitted to the times.

    python benchmarks/scale.py --rows 10000 30000 100000
    python benchmarks/scale.py --rows 300000 1000000 --methods approx --kinds clusters
    python benchmarks/scale.py quality    # what approximate neighbors do to C on real datasets

Data larger than memory: make a file, and resample it from the command line under a limit.

    python benchmarks/scale.py make big.parquet --gigabytes 5
    python benchmarks/scale.py disk big.parquet --memory 2GB --methods mlros mlrus mlsmote
    python benchmarks/scale.py disk small.parquet --memory 2GB --methods mlsol --set \
        neighbor_method=approx
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.datasets.formats import to_arrow
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL

KINDS = ("clusters", "few dimensions", "text")
METHODS = ("exact", "approx")
QUALITY = ("bibtex", "delicious", "rcv1subset1", "yahoo-Business1")
D, Q = 64, 50


def make(kind: str, n: int) -> tuple[np.ndarray | sp.csr_array, sp.csr_array]:
    """Return n rows of a kind, and rare labels that depend on where a row lies."""
    rng = np.random.default_rng(0)
    group = rng.integers(max(20, n // 200), size=n)
    if kind == "clusters":
        centers = rng.normal(size=(group.max() + 1, D))
        X = (centers[group] + 0.3 * rng.normal(size=(n, D))).astype(np.float32)
    elif kind == "few dimensions":
        inner = rng.normal(size=(n, 8))
        X = np.tanh(inner @ rng.normal(size=(8, D))) + 0.01 * rng.normal(size=(n, D))
        X = X.astype(np.float32)
    else:
        X = sp.random_array((n, 1000), density=0.02, rng=rng, format="csr")
    rows = np.arange(n)
    labels = np.minimum((group % 997 + rng.integers(3, size=n)) % 200, Q - 1)
    return X, sp.csr_array((np.ones(n, np.int8), (rows, labels)), shape=(n, Q))


def one(kind: str, n: int, method: str) -> dict[str, float]:
    """Resample once, compiled before; return CPU seconds, the recall, and memory by X."""
    sampler = MLSOL(neighbor_method=method, random_state=0)
    sampler.fit_resample(*make(kind, 2000))
    if kind != "text":
        find_neighbors(make(kind, 31_000)[0], 5, method=method)  # compiles what cells need
    X, Y = make(kind, n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = (X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes) / 1024
    start = time.process_time()
    around = find_neighbors(X, 5, method=method)
    searched = time.process_time() - start
    sampler.fit_resample(X, Y, neighborhood=around)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "search": searched,
        "whole": seconds,
        "recall": 1.0 if around.recall_ is None else around.recall_,
        "memory": max(0.0, peak - before) / size,
    }


def measure(kind: str, n: int, method: str) -> dict[str, float]:
    """Return what `one` does, in a process of its own."""
    command = [sys.executable, __file__, "one", kind, str(n), method]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def curves(kinds: list[str], methods: list[str], sizes: list[int]) -> None:
    """Print a line for every size, and the exponents."""
    print(f"{'data':<15} {'method':<7} {'rows':>9} {'search s':>9} {'MLSOL s':>8} recall  extra/X")
    for kind in kinds:
        for method in methods:
            seconds = []
            for n in sizes:
                got = measure(kind, n, method)
                seconds.append(got["search"])
                print(
                    f"{kind:<15} {method:<7} {n:>9,} {got['search']:>9.2f} {got['whole']:>8.2f} "
                    f"{got['recall']:>6.3f} {got['memory']:>8.2f}",
                    flush=True,
                )
            if len(sizes) > 1:
                exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
                print(f"{kind:<15} {method:<7} exponent of the search {exponent:.2f}")


def quality(names: list[str]) -> None:
    """Print how far C moves where neighbors are approximate, though the data is small.

    Sparse rows are searched exactly, so these are embeddings in 100 dimensions.
    """
    from labelance.neighbors import _partition

    print(f"{'dataset':<16} {'rows':>7} recall  mean |C - C exact|")
    for name in names:
        data = load_dataset(name)
        X = TruncatedSVD(100, random_state=0).fit_transform(sp.csr_array(data.values))
        exact = find_neighbors(X, 5)
        enough, _partition._MANY_ROWS = _partition._MANY_ROWS, 0
        near = find_neighbors(X, 5, method="approx")
        _partition._MANY_ROWS = enough
        C = [local_distribution(data.Y, around).C for around in (near, exact)]
        moved = np.abs(C[0] - C[1]).sum() / C[1].nnz
        print(f"{name:<16} {X.shape[0]:>7,} {near.recall_:>6.3f} {moved:>18.4f}", flush=True)


SHARES = 0.2 * 0.75 ** np.arange(20)  # of the rows, for every label of a file
CLUSTERS, ROWS_PER_GROUP = 1000, 100_000


def make_rows(centers: np.ndarray, rng: np.random.Generator) -> MultiLabelDataset:
    """Return rows in clusters; most of the rows of a label are in a tenth of the clusters."""
    cluster = rng.integers(CLUSTERS, size=ROWS_PER_GROUP)
    X = centers[cluster] + 0.3 * rng.normal(size=(ROWS_PER_GROUP, D))
    at_home = (7919 * cluster[:, np.newaxis] + 31 * np.arange(len(SHARES))) % 100 < 10
    Y = rng.random(at_home.shape) < np.where(at_home, 8.2, 0.2) * SHARES
    return MultiLabelDataset(X, sp.csr_array(Y))


def make_file(path: Path, gigabytes: float) -> None:
    """Write a Parquet file of so many 10⁹ bytes, row group by row group."""
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLUSTERS, D))
    n_groups = max(1, round(gigabytes * 1e9 / (8 * D * ROWS_PER_GROUP)))
    schema = to_arrow(make_rows(centers, rng)).schema
    with ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(n_groups):
            writer.write_table(to_arrow(make_rows(centers, rng)))
    print(f"{path}: {n_groups * ROWS_PER_GROUP:,} rows x {D}, {os.path.getsize(path):,} bytes")


def disk(path: Path, memory: str, methods: list[str], settings: list[str]) -> None:
    """Resample a file with each method in a process of its own; print time and peak memory."""
    print(f"{'method':<8} {'GB':>6} {'GB out':>6} {'clock s':>8} {'CPU s':>8} {'peak GB':>8}")
    out = path.with_name("resampled.parquet")
    for method in methods:
        command = [sys.executable, "-m", "labelance", "resample", str(path), "-o", str(out)]
        command += ["--method", method, "--memory", memory]
        command += [word for setting in settings for word in ("--set", setting)]
        start = time.perf_counter()
        process = subprocess.Popen(command)
        _, status, used = os.wait4(process.pid, 0)  # the peak of this one alone
        if status:
            sys.exit(f"{method} failed")
        seconds = used.ru_utime + used.ru_stime
        print(
            f"{method:<8} {path.stat().st_size / 1e9:>6.2f} {out.stat().st_size / 1e9:>6.2f} "
            f"{time.perf_counter() - start:>8.1f} {seconds:>8.1f} {used.ru_maxrss / 1e6:>8.2f}",
            flush=True,
        )
        out.unlink()


def on_disk() -> None:
    parser = argparse.ArgumentParser(description="Data larger than memory")
    commands = parser.add_subparsers(dest="command", required=True)
    make_parser, disk_parser = commands.add_parser("make"), commands.add_parser("disk")
    for one_parser in (make_parser, disk_parser):
        one_parser.add_argument("path", type=Path)
    make_parser.add_argument("--gigabytes", type=float, default=5.0)
    disk_parser.add_argument("--memory", default="2GB")
    disk_parser.add_argument("--methods", nargs="+", default=["mlros", "mlrus", "mlsmote"])
    disk_parser.add_argument("--set", nargs="*", default=[], dest="settings")
    options = parser.parse_args()
    if options.command == "make":
        make_file(options.path, options.gigabytes)
    else:
        disk(options.path, options.memory, options.methods, options.settings)


def main() -> None:
    if sys.argv[1:2] in (["make"], ["disk"]):
        on_disk()
        return
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(one(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
        return
    if sys.argv[1:2] == ["quality"]:
        quality(sys.argv[2:] or list(QUALITY))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    options = parser.parse_args()
    curves(options.kinds, options.methods, options.rows)


if __name__ == "__main__":
    main()
