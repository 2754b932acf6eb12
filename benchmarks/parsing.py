"""Reading ARFF: labelance against liac-arff, and scipy.io.arff where it can read the file.

All read the same gzipped file, in turn, in one process; the shortest of several runs counts. The
others stop at their own lists and records, while labelance goes on to matrices of features and
labels, chosen by the label file. Processor seconds are what a busy machine disturbs least. The
target is to be five times as fast on bibtex, delicious and rcv1subset1.

    LABELANCE_DATA=folder python benchmarks/parsing.py --repeats 5
"""

import argparse
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.io import arff as scipy_arff

from labelance.datasets import read_multilabel

TARGET = 5.0
AIMED = ("bibtex", "delicious", "rcv1subset1")
NAMES = (*AIMED, "yahoo-Business1", "yeast", "scene")


def readers(path: Path) -> dict[str, Callable[[], Any]]:
    """What reads this file, by name; labelance comes first."""
    try:
        import arff
    except ImportError:
        raise SystemExit("liac-arff is missing. Install it with: pip install liac-arff") from None

    def liac() -> Any:
        with gzip.open(path, "rt") as stream:
            return arff.load(stream, return_type=arff.COO if sparse else arff.DENSE)

    def scipy() -> Any:
        with gzip.open(path, "rt") as stream:
            return scipy_arff.loadarff(stream)

    sparse = is_sparse(path)
    calls = {"labelance": lambda: read_multilabel(path), "liac-arff": liac}
    return calls if sparse else calls | {"scipy.io.arff": scipy}


def is_sparse(path: Path) -> bool:
    with gzip.open(path, "rt") as stream:
        for line in stream:
            if line.lower().startswith("@data"):
                return next(stream).startswith("{")
    return False


def measure(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, tuple[float, float]]:
    """Shortest processor and wall seconds of every call, taken in turn."""
    calls["labelance"]()  # imports pandas
    best = dict.fromkeys(calls, (float("inf"), float("inf")))
    for _ in range(repeats):
        for name, call in calls.items():
            wall, processor = time.perf_counter(), time.process_time()
            call()
            now = time.process_time() - processor, time.perf_counter() - wall
            best[name] = min(best[name][0], now[0]), min(best[name][1], now[1])
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if "LABELANCE_DATA" not in os.environ:
        raise SystemExit("Set LABELANCE_DATA to the folder of the ARFF files")
    folder = Path(os.environ["LABELANCE_DATA"])
    missed = []
    print(f"{'file':<16} {'reader':<14} {'processor':>9} {'wall':>7} {'ratio':>6} {'(wall)':>7}")
    for name in options.names:
        seconds = measure(readers(folder / f"{name}.arff.gz"), options.repeats)
        ours, our_wall = seconds["labelance"]
        for reader, (processor, wall) in seconds.items():
            ratio, wall_ratio = processor / ours, wall / our_wall
            figures = f"{processor:9.3f} {wall:7.3f} {ratio:6.1f} {wall_ratio:7.1f}"
            print(f"{name:<16} {reader:<14} {figures}")
            if name in AIMED and reader != "labelance" and ratio < TARGET:
                missed.append(f"{name} against {reader}: {ratio:.1f}")
    print(f"target: {TARGET:g} on {', '.join(AIMED)}", *missed or ["(met)"])
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
