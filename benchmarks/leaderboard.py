"""Run the study leaderboard in pieces: a process for a dataset and learner, the cheap ones first.

    python benchmarks/leaderboard.py --store board.store --jobs 16 --seconds 540
    python benchmarks/leaderboard.py --store practice.store --plan practice --learners Boosting \\
        --datasets birds,genbase,yeast --repeats 1

`labelance study run leaderboard` does the same in one process a fold, dataset by dataset. This
order has most of the table after a few minutes, and uses many cores to the end: folds of dear
pieces run at the same time. The command goes on where it stopped; cells above ``--cell-timeout``
have failed, and pieces whose forecast is above ``--most`` seconds are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from labelance.study import Store, load_study, merge_results, run_study

# Seconds of a fit on emotions, times how much more a dataset is: rough, but the order is right.
SECONDS = {
    "Logistic": 0.1, "MLkNN": 0.1, "LinearSVM": 0.2, "RandomForest": 0.5, "ExtraTrees": 0.5,
    "ECCRU3": 0.5, "EMLSOL": 0.5, "MLSOLBagging": 0.7, "RareLabelClassifier": 2, "BOOMER": 1.5,
    "LightGBM": 1.8, "XGBoost": 2.2, "HistGradientBoosting": 4, "Boosting": 4, "CatBoost": 10,
    "XGBoostMulti": 19,
}  # fmt: skip
SIZES = {
    "flags": 0.1, "emotions": 1, "genbase": 2, "birds": 5, "medical": 5, "scene": 6, "yeast": 6,
    "cal500": 20, "enron": 20, "yahoo-Business1": 60, "yahoo-Arts1": 60, "corel5k": 150,
    "bibtex": 150, "delicious": 2000,
}  # fmt: skip
DEAR = 60.0  # from here on folds run at the same time


def forecast(dataset: str, learner: str) -> float:
    """Return about how many seconds a fold takes: a fit, and three or four for thresholds."""
    return 5 * SECONDS.get(learner, 2) * SIZES.get(dataset, 20)


def pieces(study, most: float) -> list[tuple[str, str]]:
    """Return datasets and learners, the cheapest first; a dear pair comes once a fold."""
    pairs = [(source.name, learner.name) for source in study.datasets for learner in study.learners]
    chosen = sorted((pair for pair in pairs if forecast(*pair) <= most), key=lambda p: forecast(*p))
    return [pair for pair in chosen for _ in range(study.folds if forecast(*pair) > DEAR else 1)]


def run_piece(options: argparse.Namespace) -> None:
    """Do one piece in this process; another process may do other folds of it."""
    study = part_of(options)
    run_study(study, options.store, executor="serial", cell_timeout=options.cell_timeout)


def part_of(options: argparse.Namespace):
    """Return the part of the plan that the options name."""
    names = {key: getattr(options, key) for key in ("datasets", "learners")}
    chosen = {key: names[key].split(",") for key in names if names[key]}
    return load_study(options.plan).only(**chosen, repeats=options.repeats).installed()


def run_pieces(options: argparse.Namespace) -> None:
    """Start pieces while there is time, then stop them and merge what they finished."""
    end, study = time.monotonic() + options.seconds, part_of(options)
    done = Store(options.store).status(study) if options.store.exists() else {}
    with TemporaryDirectory(dir=options.store.absolute().parent, prefix="pieces-") as folder:

        def store_of(pair: tuple[str, str]) -> Path:
            return Path(folder, f"{pair[0]}-{pair[1]}.store")

        def do(pair: tuple[str, str]) -> None:
            cells = {cell for cell in study.cells() if (cell.dataset, cell.learner) == pair}
            if not cells <= done.keys() and (left := end - time.monotonic()) > 0:
                start_piece(pair, store_of(pair), options, left)

        for pair in {(cell.dataset, cell.learner) for cell in done}:
            part = study.only(datasets=[pair[0]], learners=[pair[1]])
            Store(store_of(pair)).add(Store(options.store).rows(part))
        with ThreadPoolExecutor(options.jobs) as threads:
            list(threads.map(do, pieces(study, options.most)))
        merge_results(sorted(Path(folder).glob("*.store")), options.store)
    status = Store(options.store, read_only=True).status(study)
    failed = sum(one == "failed" for one in status.values())
    print(f"{len(status) - failed} of {len(study.cells())} cells done, {failed} failed")


def start_piece(
    pair: tuple[str, str], store: Path, options: argparse.Namespace, seconds: float
) -> None:
    """Run a piece in a process of its own for at most some seconds."""
    began = time.monotonic()
    words = [sys.executable, __file__, "--piece", "--plan", options.plan, "--store", str(store)]
    words += ["--datasets", pair[0], "--learners", pair[1]]
    words += ["--cell-timeout", str(options.cell_timeout)]
    words += [] if options.repeats is None else ["--repeats", str(options.repeats)]
    threads = ("OMP", "OPENBLAS", "MKL")
    alone = {f"{name}_NUM_THREADS": "1" for name in threads}
    process = subprocess.Popen(words, env={**os.environ, **alone, "PYTHONWARNINGS": "ignore"})
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()  # what is finished is in its store
        process.wait()
    print(f"{'-'.join(pair)}: {time.monotonic() - began:.0f} s, {process.returncode}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--plan", default="leaderboard")
    parser.add_argument("--datasets")
    parser.add_argument("--learners")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--cell-timeout", type=float, default=300)
    parser.add_argument("--most", type=float, default=1500)
    parser.add_argument("--piece", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    (run_piece if options.piece else run_pieces)(options)


if __name__ == "__main__":
    main()
