"""What the first call costs: processor seconds of compilation, from an empty cache of kernels.

    python benchmarks/start.py
    python benchmarks/start.py --root ../before --only MLSOL split
    python benchmarks/start.py --only MLSOL --compiled 30

Every line is a fresh process with a fresh ``NUMBA_CACHE_DIR``, which imports what it needs and
then calls it once on 300 x 10 data; only the call counts. The demo is the whole command, its
imports included. ``--root`` names another checkout, measured in turn with this one, in a column
before it. ``--compiled N`` tells instead the N costliest signatures that each line compiles,
with the processor seconds of each (those of the functions that it calls not counted).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO = "demo"
# What a line has to reach; None where no aim was set.
AIMS: dict[str, float | None] = {
    "MLSOL": 2.5,
    "MLSOL, CSR": None,
    "MLSMOTE": 2,
    "profile": 2,
    "split": 2,
    "metrics": None,
    "MLkNN": 2,
    "BR of C4.5": 15,
    "RAkEL": None,
    "ECCRU3": None,
    DEMO: 25,
}


def prepare(name: str) -> Callable[[], Any]:
    """Import what a line needs, and return its first call."""
    import numpy as np
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = rng.random((300, 10))
    Y = (rng.random((300, 5)) < [0.1, 0.2, 0.3, 0.4, 0.5]).astype(np.int64)
    scores = rng.random(Y.shape)
    from labelance import MLSMOTE, MLSOL, learners, metrics, model_selection, profile

    folds = model_selection.IterativeStratifiedKFold(5, random_state=0)
    return {
        "MLSOL": lambda: MLSOL(random_state=0).fit_resample(X, Y),
        "MLSOL, CSR": lambda: MLSOL(random_state=0).fit_resample(csr_array(X), Y),
        "MLSMOTE": lambda: MLSMOTE(random_state=0).fit_resample(X, Y),
        "profile": lambda: profile(X, Y),
        "split": lambda: list(folds.split(X, Y)),
        "metrics": lambda: [metrics.label_areas(Y, scores), metrics.ranking_loss(Y, scores)],
        "MLkNN": lambda: learners.MLkNN().fit(X, Y).predict(X),
        "BR of C4.5": lambda: learners.BinaryRelevance().fit(X, Y).predict(X),
        "RAkEL": lambda: learners.RAkEL(random_state=0).fit(X, Y).predict(X),
        "ECCRU3": lambda: learners.ECCRU3(random_state=0).fit(X, Y).predict(X),
    }[name]


def call_once(name: str, n_compiled: int) -> None:
    """Print the processor seconds of a line's first call, or what it compiles."""
    call = prepare(name)
    if n_compiled:
        print_compiled(call, n_compiled)
        return
    start = time.process_time()
    call()
    print(time.process_time() - start)


def print_compiled(call: Callable[[], Any], n_compiled: int) -> None:
    """Print the costliest signatures that ``call`` compiles."""
    from numba.core import event

    class Recorder(event.Listener):  # type: ignore[misc]
        """Own processor seconds of every compilation; one waits for those that it starts."""

        def __init__(self) -> None:
            self.done: list[tuple[float, str, str]] = []
            self.waiting: list[list[float]] = []  # when it began, seconds of those it started

        def on_start(self, event: Any) -> None:
            self.waiting.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            began, others = self.waiting.pop()
            seconds = time.process_time() - began
            if self.waiting:
                self.waiting[-1][1] += seconds
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            arguments = ", ".join(str(each)[:40] for each in event.data["args"])
            self.done.append((seconds - others, name, arguments))

    with event.install_listener("numba:compile", Recorder()) as recorder:
        start = time.process_time()
        call()
        total = time.process_time() - start
    own = sum(seconds for seconds, _, _ in recorder.done)
    functions = {name for _, name, _ in recorder.done}
    print(f"  {total:.2f} s, {own:.2f} of it for {len(recorder.done)} signatures of "
          f"{len(functions)} functions")  # fmt: skip
    for seconds, name, arguments in sorted(recorder.done, reverse=True)[:n_compiled]:
        print(f"  {seconds:6.2f} {name.removeprefix('labelance.')}({arguments[:120]})")


def first_call(name: str, root: Path, n_compiled: int) -> str:
    """Return what a fresh process with an empty cache prints."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": cache,
        }  # fmt: skip
        program = [__file__, "--call", name, "--compiled", str(n_compiled)]
        if name == DEMO:
            program = ["-c", "from labelance.cli import main; main()", "demo", "--no-picture"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *program], env=environment, text=True, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{name} in {root} failed:\n{done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{used}" if name == DEMO else done.stdout.rstrip("\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(AIMS), default=list(AIMS))
    parser.add_argument("--root", type=Path, nargs="+", default=[], help="other checkouts")
    parser.add_argument("--compiled", type=int, default=0, metavar="N")
    parser.add_argument("--repeats", type=int, default=1, help="the best of so many")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        call_once(options.call, options.compiled)
        return 0
    roots = [*(root.resolve() for root in options.root), ROOT]
    if options.compiled:
        for name in options.only:
            for root in roots:
                print(f"{name}, {root}\n{first_call(name, root, options.compiled)}", flush=True)
        return 0
    print(
        f"{'first call, CPU s':<18}" + "".join(f" {root.name[:9]:>9}" for root in roots) + "  aim"
    )
    missed = False
    for name in options.only:
        rounds = [
            [float(first_call(name, root, 0)) for root in roots] for _ in range(options.repeats)
        ]
        seconds = [min(column) for column in zip(*rounds)]
        aim = AIMS[name]
        missed |= aim is not None and seconds[-1] > aim
        print(f"{name:<18}" + "".join(f" {value:9.2f}" for value in seconds)
              + (f" {aim:4g}" if aim else ""), flush=True)  # fmt: skip
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
