"""Stratified folds against the two packages on PyPI: time, and how even the folds are.

    LABELANCE_DATA=... python benchmarks/splits.py [--data bibtex delicious] [--seeds 10] [--pairs]

All run in one process, on the same labels, with the same seeds, taking turns. Targets: at least
5 times faster than ``iterative-stratification`` and 20 times than ``scikit-multilearn-ng``, with a
mean LD and LPD (label and label pair distribution, 0 is perfect) at least as good. The figures
after +- are standard errors over the seeds: chance decides ties, so two programs that do the same
differ by about as much. ``--pairs`` adds the second order, in which scikit-multilearn-ng takes
many minutes on delicious.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from labelance.datasets import load_dataset
from labelance.model_selection import (
    IterativeStratifiedKFold,
    examples_distribution,
    label_distribution,
    label_pair_distribution,
)

try:
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
    from skmultilearn.model_selection import IterativeStratification
except ImportError as error:
    raise SystemExit(
        f"{error}. This benchmark compares with two packages: "
        "pip install --no-deps iterative-stratification scikit-multilearn-ng"
    ) from error

Splitter = Callable[[int], Any]
N_SPLITS = 5


def splitters(order: int) -> dict[str, Splitter]:
    """Name and, for a seed, splitter of every program that knows the order; ours first."""
    known: dict[str, Splitter] = {
        "labelance": lambda seed: IterativeStratifiedKFold(
            N_SPLITS, order=order, random_state=seed
        ),
        "scikit-multilearn-ng": lambda seed: IterativeStratification(
            N_SPLITS, order=order, random_state=seed
        ),
    }
    if order == 1:
        known["iterative-stratification"] = lambda seed: MultilabelStratifiedKFold(
            N_SPLITS, shuffle=True, random_state=seed
        )
    return known


def measure(splitter: Any, Y: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """Return the processor seconds of one split into folds, and the folds."""
    start = time.process_time()
    tests = [test for _, test in splitter.split(np.zeros((len(Y), 1)), Y)]
    return time.process_time() - start, tests


def quality(Y: np.ndarray, tests: list[np.ndarray]) -> tuple[float, float, float]:
    return (
        label_distribution(Y, tests),
        label_pair_distribution(Y, tests),
        examples_distribution(tests),
    )


def compare(name: str, order: int, seeds: int) -> None:
    Y = load_dataset(name).Y.toarray()  # dense: scikit-multilearn-ng takes nothing else
    makers = splitters(order)
    seconds: dict[str, list[float]] = {maker: [] for maker in makers}
    figures: dict[str, list[tuple[float, float, float]]] = {maker: [] for maker in makers}
    for seed in range(seeds):
        for maker, make in makers.items():
            taken, tests = measure(make(seed), Y)
            seconds[maker].append(taken)
            figures[maker].append(quality(Y, tests))
    n, q = Y.shape
    print(f"\n{name}, {n} rows, {q} labels: {N_SPLITS} folds, order {order}, {seeds} seeds")
    print(f"{'':26}{'seconds':>9}{'ratio':>8}{'LD':>21}{'LPD':>21}{'ED':>8}")
    for maker in makers:
        taken = np.median(seconds[maker])
        ratio = taken / np.median(seconds["labelance"])
        (ld, lpd, ed), (ld_se, lpd_se, _) = mean_and_error(figures[maker])
        print(
            f"{maker:26}{taken:9.4f}{ratio:7.1f}x{ld:11.6f} +-{ld_se:.6f}{lpd:11.6f} +-{lpd_se:.6f}"
            f"{ed:8.1f}"
        )


def mean_and_error(figures: list[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    values = np.array(figures)
    return values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))


def warm_up() -> None:
    """Compile before the clock starts."""
    Y = np.eye(10, 3, dtype=int)
    for order in (1, 2):
        list(IterativeStratifiedKFold(2, order=order).split(Y, Y))


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=["bibtex", "delicious"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--pairs", action="store_true", help="the second order too")
    options = parser.parse_args(arguments if arguments is None else list(arguments))
    warm_up()
    for name in options.data:
        for order in (1, 2) if options.pairs else (1,):
            compare(name, order, options.seeds)


if __name__ == "__main__":
    main()
