"""How the time and memory of MLSOL grow with the rows, for each way to find neighbors.

Kinds of data: clusters and few intrinsic dimensions (dense, d = 64, float32), and sparse rows like
those of texts, whose vocabulary stays as it is or grows. Every line is a process of its own: CPU
seconds, and the peak of memory as a multiple of X, X itself included. An exponent is fitted to the
times.

    python benchmarks/scale.py --rows 10000 30000 100000
    python benchmarks/scale.py --rows 300000 1000000 --methods approx --out results/scale/curves.csv
    python benchmarks/scale.py exponents            # of what was kept
    python benchmarks/scale.py picture              # docs/_static/scale.svg, of the same

A Parquet file larger than memory, for Dask:

    python benchmarks/scale.py make big.parquet --gigabytes 5
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from _measure import peak_extra_bytes
from _scale_data import KINDS, N_FEATURES, TEXTS, data_bytes, make_labels, make_rows
from labelance.datasets import MultiLabelDataset
from labelance.datasets.formats._parquet import to_arrow
from labelance.neighbors import Neighborhood, _partition
from labelance.sampling import MLSOL, _base

METHODS = ("pairs", "exact", "approx")
ROOT = Path(__file__).parent.parent
KEPT, PICTURE = ROOT / "results" / "scale" / "curves.csv", ROOT / "docs" / "_static" / "scale.svg"
COLUMNS = ("kind", "method", "rows", "features", "search", "mlsol", "recall", "memory")
SHARES = 0.2 * 0.75 ** np.arange(20)  # of the rows, for every label of a file
CLUSTERS, ROWS_PER_GROUP = 1000, 100_000
COLORS = {"pairs": "#b30000", "exact": "#0072b2", "approx": "#009e73"}
WORDS = {"pairs": "all pairs", "exact": "exact, as chosen", "approx": "approximate"}


@contextmanager
def engine(method: str, *, few_rows: bool = False) -> Iterator[str]:
    """Yield the method of `find_neighbors` that runs an engine, for few rows too if asked."""
    kept = _partition._MANY_ROWS
    if few_rows:
        _partition._MANY_ROWS = 0
    if method == "pairs":
        _partition._MANY_ROWS = sys.maxsize
    try:
        yield "approx" if method == "approx" else "exact"
    finally:
        _partition._MANY_ROWS = kept


@contextmanager
def watched_search(figures: dict[str, Any]) -> Iterator[None]:
    """Keep the CPU seconds and the recall of a sampler's search, which nobody else holds."""
    find = _base.resolve_neighbors

    def watch(*arguments: Any, **options: Any) -> Neighborhood:
        start = time.process_time()
        around = find(*arguments, **options)
        figures["search"] = round(time.process_time() - start, 3)
        figures["recall"] = 1.0 if around.recall_ is None else round(around.recall_, 4)
        return around

    _base.resolve_neighbors = watch
    try:
        yield
    finally:
        _base.resolve_neighbors = find


def one(kind: str, n: int, d: int, method: str) -> dict[str, Any]:
    """Resample once, compiled before; return CPU seconds, the recall, and memory by X."""
    figures: dict[str, Any] = {}

    def resample(X: Any, Y: sp.csr_array, *, few_rows: bool = False) -> None:
        with engine(method, few_rows=few_rows) as way, watched_search(figures):
            start = time.process_time()
            MLSOL(algorithm=way, random_state=0).fit_resample(X, Y)
            figures["mlsol"] = round(time.process_time() - start, 3)

    # Compiles, or reads what was compiled.
    resample(make_rows(kind, 2000, d), make_labels(2000), few_rows=True)
    X, Y = make_rows(kind, n, d), make_labels(n)
    extra = peak_extra_bytes(lambda: resample(X, Y))
    about = {"kind": kind, "method": method, "rows": n, "features": X.shape[1]}
    return {**about, **figures, "memory": round(1 + extra / data_bytes(X), 2)}


def measure(kind: str, n: int, d: int, method: str) -> dict[str, Any]:
    """Return what `one` does, in a process of its own."""
    command = [sys.executable, __file__, "one", kind, str(n), str(d), method]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def curves(options: argparse.Namespace) -> None:
    """Print, and keep, a line for every size, and print the exponents."""
    lines = []
    for kind in options.kinds:
        for method in options.methods:
            if method == "approx" and kind in TEXTS:
                continue  # the approximate search takes dense rows
            for n in options.rows:
                lines.append(measure(kind, n, options.features, method))
                print(show(lines[-1]), flush=True)
                if options.out:
                    keep(lines[-1], options.out)
    exponents(lines)


def show(line: dict[str, Any]) -> str:
    """Return a line of figures for people."""
    return (
        f"{line['kind']:<15} {line['method']:<7} {int(line['rows']):>9,} x {line['features']:<6} "
        f"search {float(line['search']):>8.2f} s  MLSOL {float(line['mlsol']):>8.2f} s  "
        f"recall {float(line['recall']):.3f}  memory {float(line['memory']):.2f} X"
    )


def keep(line: dict[str, Any], path: Path) -> None:
    """Append a line of figures to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


def read(path: Path = KEPT) -> list[dict[str, str]]:
    """Return the lines that were kept, the last one where something was measured again."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    last = {tuple(line[name] for name in COLUMNS[:4]): line for line in lines}
    return list(last.values())


def curve(lines: list[dict[str, Any]], kind: str, method: str) -> np.ndarray:
    """Return rows, seconds of the search and of all, recall and memory; d = 64, or texts."""
    wanted = [
        [float(line[name]) for name in ("rows", "search", "mlsol", "recall", "memory")]
        for line in lines
        if (line["kind"], line["method"]) == (kind, method)
        and (kind in TEXTS or int(line["features"]) == N_FEATURES)
    ]
    return np.array(sorted(wanted)).reshape(-1, 5)


def exponents(lines: list[dict[str, Any]]) -> None:
    """Print the slopes of log seconds over log rows."""
    for kind in KINDS:
        for method in METHODS:
            rows, search, whole, *_ = curve(lines, kind, method).T
            if len(rows) > 1:
                slopes = [np.polyfit(np.log(rows), np.log(s), 1)[0] for s in (search, whole)]
                print(
                    f"{kind:<15} {method:<7} {int(rows[0]):,} to {int(rows[-1]):,} rows: "
                    f"exponent {slopes[0]:.2f} of the search, {slopes[1]:.2f} of MLSOL"
                )


def picture(path: Path = PICTURE) -> None:
    """Draw seconds of MLSOL over rows, a panel for every kind of data."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "labelance"  # the same file for the same figures
    lines = read()
    figure, axes = plt.subplots(1, len(KINDS), figsize=(12, 3.4), sharey=True)
    for kind, ax in zip(KINDS, axes):
        for method in METHODS:
            rows, _, seconds, *_ = curve(lines, kind, method).T
            if len(rows):
                ax.loglog(rows, seconds, "o-", color=COLORS[method], label=WORDS[method], ms=4)
        ax.set(title=kind, xlabel="rows")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("CPU seconds of MLSOL")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def make_group(centers: np.ndarray, rng: np.random.Generator) -> MultiLabelDataset:
    """Return rows in clusters; most of the rows of a label are in a tenth of the clusters."""
    cluster = rng.integers(CLUSTERS, size=ROWS_PER_GROUP)
    X = centers[cluster] + 0.3 * rng.normal(size=(ROWS_PER_GROUP, N_FEATURES))
    at_home = (7919 * cluster[:, np.newaxis] + 31 * np.arange(len(SHARES))) % 100 < 10
    Y = rng.random(at_home.shape) < np.where(at_home, 8.2, 0.2) * SHARES
    return MultiLabelDataset(X, sp.csr_array(Y))


def make_file(path: Path, gigabytes: float) -> None:
    """Write a Parquet file of so many 10⁹ bytes, row group by row group."""
    from pyarrow.parquet import ParquetWriter

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLUSTERS, N_FEATURES))
    n_groups = max(1, round(gigabytes * 1e9 / (8 * N_FEATURES * ROWS_PER_GROUP)))
    schema = to_arrow(make_group(centers, rng)).schema
    with ParquetWriter(path, schema, use_dictionary=False) as writer:
        for _ in range(n_groups):
            writer.write_table(to_arrow(make_group(centers, rng)))
    size = os.path.getsize(path)
    print(f"{path}: {n_groups * ROWS_PER_GROUP:,} rows x {N_FEATURES}, {size:,} bytes")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="curves")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    parser.add_argument("--features", type=int, default=N_FEATURES, help="of dense rows")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--out", type=Path, help="where to keep the figures, as CSV")
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        kind, n, d, method = sys.argv[2:]
        print(json.dumps(one(kind, int(n), int(d), method)))
        return
    if sys.argv[1:2] == ["make"]:
        parser = argparse.ArgumentParser(description="Make a file larger than memory")
        parser.add_argument("what")
        parser.add_argument("path", type=Path)
        parser.add_argument("--gigabytes", type=float, default=5.0)
        options = parser.parse_args()
        make_file(options.path, options.gigabytes)
        return
    options = parse()
    {
        "curves": lambda: curves(options),
        "exponents": lambda: exponents(read()),
        "picture": picture,
    }[options.what]()


if __name__ == "__main__":
    main()
