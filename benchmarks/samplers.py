"""All samplers over what they cannot do without: their neighbor searches, or copying the rows.

- A sampler that looks at neighbors is held against its search alone, found by the same code.
- A sampler that clones, deletes or edits rows is held against one row-take of the same output.
- MLSMOTE is held against the PyPI package ``multismote``, if that is installed, and against the
  authors' program, if its timings lie beside the datasets.

Both sides of a ratio run in one process, taking turns. Needs the real datasets: set
LABELANCE_DATA, or let them be downloaded.

    python benchmarks/samplers.py --repeats 3
    python benchmarks/samplers.py --slow --only yeast enron
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from _measure import best_seconds, interleaved_seconds, peak_extra_bytes
from _reference import authors_seconds
from labelance._validation._data import validate_data
from labelance.datasets import load_dataset
from labelance.neighbors import find_neighbors
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    MLeNN,
    MLRkNNOS,
    RHwROS,
)

DATASETS = ("yeast", "enron", "bibtex", "delicious")
SEARCH_TARGET, TAKE_TARGET, MULTISMOTE_TARGET = 1.3, 5.0, 10.0
LIKE_THE_AUTHORS = {
    "variant": "mulan",
    "scale": "range",
}
Call = Callable[[], Any]


class Stopwatch:
    """How often to measure, and by which clock."""

    def __init__(self, repeats: int, *, cpu: bool) -> None:
        self.repeats = repeats
        self.clock = time.process_time if cpu else time.perf_counter

    def once(self, call: Call) -> float:
        """Return the seconds of one call."""
        return best_seconds(call, 1, self.clock)

    def take_turns(self, calls: dict[str, Call]) -> dict[str, float]:
        """Return the least seconds of each call; short ones, which noise would drown, run often."""
        often = 1 / max(self.once(call) for call in calls.values())
        return interleaved_seconds(calls, int(np.clip(often, self.repeats, 50)), self.clock)


def row_takers() -> list[Any]:
    """Return the samplers whose output is rows of the input."""
    return [
        MLROS(random_state=0),
        MLRUS(random_state=0),
        MLRUS(variant="bags", random_state=0),
        LPROS(random_state=0),
        LPRUS(random_state=0),
        REMEDIAL(),
        RHwROS(random_state=0),
    ]


def searchers() -> list[Any]:
    """Return the samplers that search once among all rows."""
    return [MLSOL(random_state=0), MLUL(random_state=0), MLeNN(), MLTL()]


def rows_of(sampler: Any, n: int) -> np.ndarray:
    """Return the rows that a fitted sampler's output consists of."""
    kept = getattr(sampler, "sample_indices_", np.arange(n))
    return np.concatenate([kept, getattr(sampler, "seed_indices_", np.empty(0, dtype=int))])


def search_bags(sampler: MLSMOTE, X: Any, Y: Any) -> Call:
    """Return a call that does the searches of MLSMOTE and nothing else."""
    data = validate_data(X, Y, caller="the benchmark")
    bags = [data.X[bag] for bag in sampler.plan(X, Y).details.bags]
    return lambda: [sampler._search(bag, data.categorical) for bag in bags]


def over_search(X: Any, Y: Any) -> Iterator[tuple[Any, Call]]:
    """Yield the samplers that look at neighbors, and their searches alone."""
    for sampler in searchers():
        yield sampler, lambda k=sampler.k_neighbors: find_neighbors(X, k)
    mlsmote = MLSMOTE(random_state=0)
    yield mlsmote, search_bags(mlsmote, X, Y)


def over_take(X: Any, Y: Any) -> Iterator[tuple[Any, Call]]:
    """Yield the samplers that copy rows, and one taking of the same rows."""
    for sampler in row_takers():
        sampler.fit_resample(X, Y)
        rows = rows_of(sampler, X.shape[0])
        yield sampler, lambda rows=rows: (X[rows], Y[rows])


def compare(
    name: str, pairs: Iterator[tuple[Any, Call]], X: Any, Y: Any, target: float, watch: Stopwatch
) -> None:
    """Print one line for each sampler: its seconds, those of what it is held against, memory."""
    kind = "csr" if sp.issparse(X) else "dense"
    for sampler, alone in pairs:
        calls = {"all": lambda s=sampler: s.fit_resample(X, Y), "alone": alone}
        seconds = watch.take_turns(calls)
        extra = peak_extra_bytes(calls["all"]) / 2**20
        ratio = seconds["all"] / seconds["alone"]
        method = type(sampler).__name__ + ("/bags" if "'bags'" in repr(sampler) else "")
        print(
            f"{name:<10} {kind:<6} {method:<12} {seconds['alone']:9.4f} {seconds['all']:9.4f} "
            f"{ratio:6.2f} {target:7.2f} {'' if ratio <= target else 'missed':<7} {extra:9.0f}",
            flush=True,
        )


def containers(X: Any, Y: Any) -> list[tuple[Any, Any]]:
    """Return the data as CSR and as dense arrays."""
    X, Y = sp.csr_array(X), sp.csr_array(Y)
    return [(X, Y), (X.toarray(), Y.toarray())]


def measure_slow_ones(name: str, X: Any, Y: Any, watch: Stopwatch) -> None:
    """Print the time of one run of MLRkNNOS, nearly all of which its classifiers take."""
    sampler = MLRkNNOS(random_state=0, max_synthetic=None)
    seconds = watch.once(lambda: sampler.fit_resample(X, Y))
    made = len(sampler.seed_indices_)
    print(f"{name:<10} MLRkNNOS: {seconds:.1f} s for {made} rows, once", flush=True)


def measure_rivals(name: str, X: Any, Y: Any, watch: Stopwatch) -> None:
    """Print MLSMOTE's time beside those of other programs, where there are any."""
    calls = {
        "default": lambda: MLSMOTE(random_state=0).fit_resample(X, Y),
        "like the authors'": lambda: MLSMOTE(random_state=0, **LIKE_THE_AUTHORS).fit_resample(X, Y),
    }
    seconds = watch.take_turns(calls)
    ours = ", ".join(f"{option} {value:.3f} s" for option, value in seconds.items())
    print(f"{name:<10} MLSMOTE: {ours}", flush=True)
    theirs = authors_seconds("MLSMOTE").get(name)
    if theirs is not None:
        times = theirs / seconds["like the authors'"]
        print(f"{'':<10} authors' program: {theirs:.2f} CPU s, {times:.1f} times ours", flush=True)
    if name == "bibtex":
        measure_multismote(X, Y, seconds["default"], watch)


def measure_multismote(X: Any, Y: Any, ours: float, watch: Stopwatch) -> None:
    """Print the time of the PyPI package, which takes dense arrays only."""
    try:
        from multismote import MultiSMOTE
    except ImportError:
        print(f"{'':<10} multismote: not installed (pip install multismote)")
        return
    X, Y = containers(X, Y)[1]
    rival = MultiSMOTE(random_state=0)
    seconds = watch.once(lambda: rival.fit_resample(X, Y))
    print(
        f"{'':<10} multismote: {seconds:.1f} s, {seconds / ours:.0f} times ours "
        f"(target {MULTISMOTE_TARGET:.0f})",
        flush=True,
    )


def warm_up() -> None:
    """Compile everything once."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((80, 5)).round(1), (rng.random((80, 4)) < [0.6, 0.4, 0.2, 0.1]).astype(int)
    mlsmotes = [MLSMOTE(), MLSMOTE(**LIKE_THE_AUTHORS)]
    for values, labels in containers(X, Y):
        for sampler in [*row_takers(), *searchers(), *mlsmotes]:
            sampler.fit_resample(values, labels)
            sampler.fit_resample(values, sp.csr_array(labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=DATASETS, default=DATASETS)
    parser.add_argument("--cpu", action="store_true", help="CPU seconds, for a busy machine")
    parser.add_argument("--slow", action="store_true", help="MLRkNNOS too, on yeast and enron")
    options = parser.parse_args()
    watch = Stopwatch(options.repeats, cpu=options.cpu)
    warm_up()
    gc.freeze()  # or the collector, which runs before every timing, takes longer than the timings
    print(
        f"{'dataset':<10} {'kind':<6} {'sampler':<12} {'alone s':>9} {'all s':>9} {'ratio':>6} "
        f"{'target':>7} {'':<7} {'extra MB':>9}"
    )
    for name in options.only:
        data = load_dataset(name)
        X, Y = data.values, data.Y
        compare(name, over_search(X, Y), X, Y, SEARCH_TARGET, watch)
        for values, labels in containers(X, Y):
            compare(name, over_take(values, labels), values, labels, TAKE_TARGET, watch)
        measure_rivals(name, X, Y, watch)
        if options.slow and name in ("yeast", "enron"):
            measure_slow_ones(name, X, Y, watch)


if __name__ == "__main__":
    main()
