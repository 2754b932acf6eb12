"""Data of today: `RareLabelClassifier` next to plain learners with our thresholds.

    LABELANCE_DATA=... python benchmarks/street.py --out results/street/results.csv --jobs 16
    LABELANCE_DATA=... python benchmarks/street.py --data tox21 --models LR,default --sizes 3000
    python benchmarks/claims.py --write                  # the tables of docs/studies/default.md

The protocol, committed before it was run:

- to choose by: goemotions (TF-IDF, sentence embeddings, both), stackex_cooking, tox21, made data,
  and the datasets of the paper. Parts, weights and limits of the default were chosen on these and
  nothing else. To report only: mirflickr and imdb. Nothing was to be changed after these were
  looked at; limits of cost were, and the page says which;
- goemotions has its own test part; of stackex_cooking, tox21, mirflickr and imdb one of three
  stratified folds is the test part, by a seed; of made data 10,000 rows are. Sizes are the first
  rows of a shuffle of the training rows: 3,000, 10,000, 30,000, where there are more, and all.
  Data of fewer than 10,000 rows are run whole with five seeds, all others with one;
- learners: logistic regression per label (LR; C = 3 sparse, .1 standardised), random forest (RF,
  150 trees), histogram boosting (HGB) and LightGBM per label, a network (MLP, 256 units, 12
  rounds), all in `LabelThresholds`, and the default. With all rows of the larger sets, LR, MLP and
  the default. "old" is the default's first edition, of commit 063e31a (``--old`` names a checkout),
  with 3,000 rows;
- a learner that cannot take sparse rows (HGB) or unknown labels (MLP) is marked so. A cell has 600
  seconds, and what takes longer is marked;
- figures of the test part: macro F (a label without test rows counts 0), mAP (labels with test
  rows), LRAP; CPU seconds of the fit with all its held-out scores, seconds of predict, peak memory
  of the process. Every cell is a process of its own with one thread;
- the comparison: in every cell of the set the default against the best of LR, RF, HGB and MLP,
  chosen after the fact by the measure itself; mean difference and its paired t interval.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

CHOOSE = ("goemotions_tfidf", "goemotions_minilm", "goemotions_both", "stackex_cooking", "tox21")
REPORT = ("mirflickr", "imdb")
DATA = (*CHOOSE, "made", *REPORT)
SMALL = ("stackex_cooking", "tox21", "mirflickr")  # whole, with five seeds
ROWS = {
    "goemotions_tfidf": 48_836, "goemotions_minilm": 48_836, "goemotions_both": 48_836,
    "imdb": 80_702, "made": 200_000, "stackex_cooking": 6994, "tox21": 5337, "mirflickr": 3333,
}  # fmt: skip
SIZES = (3000, 10_000, 30_000)
MODELS = ("LR", "RF", "HGB", "LightGBM", "MLP", "default", "old")
WITH_ALL = ("LR", "MLP", "default")
SECONDS = 600
FIELDS = ("data", "rows", "seed", "model", "f", "map", "lrap", "cpu", "predict", "gb", "note")
# Seconds of a fit to 3,000 rows, so that the longest cells start first.
DEAR = {"LightGBM": 200, "HGB": 150, "old": 120, "default": 60, "RF": 40, "MLP": 10, "LR": 5}


class Cell(NamedTuple):
    """One model, learned from one sample."""

    data: str
    rows: int  # 0: all
    seed: int
    model: str


def cells(options: argparse.Namespace) -> list[Cell]:
    """Return the cells of the protocol that the options leave, the longest first."""
    found = [
        Cell(name, rows, seed, model)
        for name in options.data
        for rows, seed in plan(name)
        for model in options.models
        if rows or name in SMALL or name == "goemotions_both" or model in WITH_ALL
        if name != "goemotions_both" or model == "default"
        if model != "old" or (rows == SIZES[0] and options.old)
        if options.sizes is None or rows in options.sizes
    ]
    return sorted(found, key=lambda one: -DEAR[one.model] * (one.rows or ROWS[one.data]))


def plan(name: str) -> list[tuple[int, int]]:
    """Return sizes and seeds of a set."""
    if name == "goemotions_both":
        return [(0, 0)]
    if name in SMALL:
        return [(3000, 0), *((0, seed) for seed in range(5))]
    return [(size, 0) for size in (*SIZES, 0)]


# ------------------------------------------------------------------------------------------- data


def load(name: str, seed: int, folder: Path) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return X, Y (NaN where unknown), training rows and test rows."""
    if name == "made":
        X, Y = make_rows(210_000, 50, 20, seed)
        return X, Y, np.arange(200_000), np.arange(200_000, 210_000)
    if name in ("goemotions_tfidf", "goemotions_both"):
        part, Y, texts = read_posts(folder)
        train, test = np.flatnonzero(part != "test"), np.flatnonzero(part == "test")
        if name == "goemotions_both":
            return join(texts, folder), Y, train, test
        return weigh(texts, train).astype(np.float32), Y, train, test
    file = np.load(folder / f"{name}.npz", allow_pickle=True)
    if "X_int8" in file:
        X = file["X_int8"].astype(np.float32) * file["scale"]
    elif "X" in file:
        X = file["X"].astype(np.float32)
    else:
        cells = file["X_data"], file["X_indices"], file["X_indptr"]
        X = sp.csr_matrix(cells, shape=tuple(file["X_shape"]))
    Y = file["Y"]
    Y = Y if Y.dtype.kind == "f" else Y.astype(int)
    if "part" in file:
        return X, Y, np.flatnonzero(file["part"] < 2), np.flatnonzero(file["part"] == 2)
    from labelance.model_selection import IterativeStratifiedKFold

    folds = IterativeStratifiedKFold(3, shuffle=True, random_state=5 + seed)
    train, test = next(iter(folds.split(X, np.nan_to_num(Y).astype(int))))
    return X, Y, train, test


def read_posts(folder: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the part of each text of goemotions, its labels, and the texts."""
    with gzip.open(folder / "goemotions.tsv.gz", "rt", encoding="utf8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    Y = np.zeros((len(lines), 28), dtype=int)
    for row, line in zip(Y, lines):
        row[[int(label) for label in line[1].split(",")]] = 1
    return np.array([line[0] for line in lines]), Y, [line[2] for line in lines]


def weigh(texts: list[str], train: np.ndarray) -> sp.csr_matrix:
    """Return TF-IDF of 1 and 2 words of texts, by the words of training rows."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
    return words.fit([texts[i] for i in train]).transform(texts)


def join(texts: list[str], folder: Path) -> Any:
    """Return a frame of texts and of their embeddings."""
    import pandas as pd

    file = np.load(folder / "goemotions_minilm.npz")
    vectors = file["X_int8"].astype(np.float32) * file["scale"]
    return pd.DataFrame({"text": texts, "embedding": list(vectors)})


def make_rows(n: int, d: int, q: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return linear effects of few columns, products of signs, corners and noise; rare labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    W = rng.normal(size=(d, q)) * (rng.random((d, q)) < 8 / d)
    a = rng.integers(d, size=(q, 4))
    score = X @ W + 1.5 * np.sign(X[:, a[:, 0]] * X[:, a[:, 1]])
    score += 2 * ((X[:, a[:, 2]] > 1) & (X[:, a[:, 3]] > 0)) + rng.normal(size=(n, q))
    share = np.geomspace(0.2, 0.003, q)
    return X, (score > np.quantile(score, 1 - share, axis=0).diagonal()).astype(int)


# ----------------------------------------------------------------------------------------- models


def make_model(name: str, *, sparse: bool, unknown: bool) -> Any:
    """Return a learner; text that says why it cannot take the data."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from labelance import LabelThresholds, RareLabelClassifier
    from labelance.learners import BinaryRelevance

    def scaled(model: Any) -> Any:
        return model if sparse else make_pipeline(StandardScaler(), model)

    if name in ("default", "old"):
        return RareLabelClassifier(random_state=0)
    if name == "LR":
        model = BinaryRelevance(scaled(LogisticRegression(C=3 if sparse else 0.1, max_iter=200)))
    elif name == "RF":
        model = RandomForestClassifier(150, random_state=0)
        model = BinaryRelevance(model) if unknown else model
    elif name == "HGB":
        if sparse:
            return "takes no sparse rows"
        model = BinaryRelevance(HistGradientBoostingClassifier(random_state=0))
    elif name == "LightGBM":
        from lightgbm import LGBMClassifier

        model = BinaryRelevance(LGBMClassifier(random_state=0, verbosity=-1, n_jobs=1))
    else:
        if unknown:
            return "takes no unknown labels"
        network = MLPClassifier((256,), alpha=1e-3, batch_size=256, max_iter=12, random_state=0)
        model = scaled(network)
    return LabelThresholds(model)


def measure(truth: np.ndarray, scores: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return macro F, mAP and LRAP of known cells."""
    from sklearn.metrics import (
        average_precision_score,
        f1_score,
        label_ranking_average_precision_score,
    )

    known = ~np.isnan(truth.astype(float))
    labels = [
        (truth[rows, j].astype(int), predicted[rows, j].astype(int), scores[rows, j])
        for j, rows in enumerate(known.T)
    ]
    lrap = np.nan
    if known.all():
        lrap = label_ranking_average_precision_score(truth.astype(int), scores)
    return {
        "f": np.mean([f1_score(y, p, zero_division=0) for y, p, _ in labels]),
        "map": np.mean([average_precision_score(y, s) for y, _, s in labels if y.any()]),
        "lrap": lrap,
    }


def run_cell(cell: Cell, folder: Path) -> dict[str, Any]:
    """Fit one model in this process and return its figures."""
    warnings.simplefilter("ignore")
    X, Y, train, test = load(cell.data, cell.seed, folder)
    if cell.rows:
        train = np.random.default_rng(cell.seed).permutation(train)[: cell.rows]
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    rows, truth, learned, new = take(train), Y[test], Y[train], take(test)
    unknown = bool(np.isnan(Y.astype(float)).any())
    model = make_model(cell.model, sparse=sp.issparse(X), unknown=unknown)
    del X
    if isinstance(model, str):
        return {"note": model}
    before = cpu_seconds()
    model.fit(rows, learned)
    spent, start = cpu_seconds() - before, time.perf_counter()
    predicted = np.asarray(model.predict(new))
    predicting = time.perf_counter() - start
    found = measure(truth, np.asarray(model.predict_proba(new)), predicted)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found | {"cpu": spent, "predict": predicting, "gb": peak}


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# ------------------------------------------------------------------------------------------- runs


def start_cell(cell: Cell, seconds: float, old: Path | None) -> dict[str, Any]:
    """Run a cell in a process of its own, and return its line."""
    own = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if cell.model == "old":
        own["PYTHONPATH"] = os.pathsep.join([str(old), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, __file__, "--cell", json.dumps(cell)]
    try:
        done = subprocess.run(
            command, env=os.environ | own, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {**cell._asdict(), "note": f"more than {SECONDS} s"}
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["was killed"])[-1]
        return {**cell._asdict(), "note": f"failed: {why[:120]}"}
    return {**cell._asdict(), **json.loads(done.stdout)}


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write all lines, aside first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = sorted(lines, key=lambda one: (one["data"], int(one["rows"]), int(one["seed"])))
    aside = path.with_suffix(".new")
    with aside.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: shorten(one.get(key, "")) for key in FIELDS} for one in lines)
    aside.replace(path)


def shorten(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def run_cells(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run the cells that the file lacks, as many at a time as there are jobs, and yield lines."""
    lines, lock = read(options.out), Lock()
    done = {(one["data"], int(one["rows"]), int(one["seed"]), one["model"]) for one in lines}
    end = time.monotonic() + options.seconds

    def run(cell: Cell) -> dict[str, Any] | None:
        left = end - time.monotonic()
        if left < SECONDS / 10:
            return None
        line = start_cell(cell, min(SECONDS, left), options.old)
        if left < SECONDS and str(line.get("note", "")).startswith("more than"):
            return None  # it was this run that was short
        with lock:
            lines.append(line)
            write(options.out, lines)
        return line

    with ThreadPoolExecutor(options.jobs) as pool:
        wanted = [cell for cell in cells(options) if tuple(cell) not in done]
        yield from filter(None, pool.map(run, wanted))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=lambda text: text.split(","), default=DATA)
    parser.add_argument("--models", type=lambda text: text.split(","), default=MODELS)
    parser.add_argument("--sizes", type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--out", type=Path, default=Path("street.csv"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--old", type=Path, help="the folder src of the edition before")
    parser.add_argument("--seconds", type=float, default=1e9, help="for the whole run")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = Path(os.environ["LABELANCE_DATA"]) / "street"
    if options.cell:
        print(json.dumps(run_cell(Cell(*json.loads(options.cell)), folder)))
        return
    for line in run_cells(options):
        print(*(shorten(line.get(key, "")) for key in FIELDS), flush=True)


if __name__ == "__main__":
    main()
