"""What the first call costs beyond the second: processor seconds in a fresh process.

    python benchmarks/start.py
    python benchmarks/start.py --root ../before --only MLSOL split

Every line is a fresh process, which imports what it needs, calls it on 300 x 10 data, and calls it
again; the first call less the second counts. The demo is the whole command, its imports included.
``--root`` names another checkout, measured in turn with this one, in a column before it.
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
LINES = (
    "MLSOL", "MLSOL, CSR", "MLSMOTE", "profile", "split", "metrics", "MLkNN", "BR of C4.5", "RAkEL",
    "ECCRU3", "RareLabelClassifier", DEMO,
)  # fmt: skip
AIM, AIM_OF_DEMO = 0.1, 8.0


def prepare(name: str) -> Callable[[], Any]:
    """Import what a line needs, and return its call."""
    import numpy as np
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    X = rng.random((300, 10))
    Y = (rng.random((300, 5)) < [0.1, 0.2, 0.3, 0.4, 0.5]).astype(np.int64)
    scores = rng.random(Y.shape)
    from labelance import MLSMOTE, MLSOL, learners, metrics, model_selection, profile
    from labelance.ensemble import RareLabelClassifier

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
        "RareLabelClassifier": lambda: RareLabelClassifier(random_state=0).fit(X, Y).predict(X),
    }[name]


def call_twice(name: str) -> None:
    """Print by how many processor seconds the first call of a line is dearer than the second."""
    call, times = prepare(name), [time.process_time()]
    for _ in range(2):
        call()
        times.append(time.process_time())
    print(2 * times[1] - times[0] - times[2])


def first_call(name: str, root: Path) -> float:
    """Return what a fresh process says."""
    with tempfile.TemporaryDirectory() as cache:  # of checkouts that compile on the first call
        environment = {
            **os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": cache,
        }  # fmt: skip
        program = [__file__, "--call", name]
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
    return used if name == DEMO else float(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=LINES, default=LINES)
    parser.add_argument("--root", type=Path, nargs="+", default=[], help="other checkouts")
    parser.add_argument("--repeats", type=int, default=1, help="the best of so many")
    parser.add_argument("--call", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call:
        call_twice(options.call)
        return 0
    roots = [*(root.resolve() for root in options.root), ROOT]
    print(f"{'CPU s':<20}" + "".join(f" {root.name[:9]:>9}" for root in roots) + "  aim")
    missed = False
    for name in options.only:
        rounds = [[first_call(name, root) for root in roots] for _ in range(options.repeats)]
        seconds = [min(column) for column in zip(*rounds)]
        aim = AIM_OF_DEMO if name == DEMO else AIM
        missed |= seconds[-1] > aim
        print(f"{name:<20}" + "".join(f" {value:9.2f}" for value in seconds)
              + f" {aim:4g}", flush=True)  # fmt: skip
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
