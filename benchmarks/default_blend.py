"""Which blend `RareLabelClassifier` is: macro F of unseen rows by parts and weights.

    LABELANCE_DATA=... python benchmarks/default_blend.py fit --keep SCORES --jobs 16
    python benchmarks/default_blend.py choose --keep SCORES
    LABELANCE_DATA=... python benchmarks/default_blend.py report --out report.csv --jobs 16

The protocol. It was written before any run; a trial of the program then printed the figures of all
candidates on flags and the made data before the file was committed. Sets, criterion and parts were
not changed after that trial. The other five datasets to choose on, and all that are reported,
were not run before the commit.

- to choose on: flags, emotions, genbase, yeast, medical, corel5k, and made data (plain, nested,
  mixed with categories, text, rare: ``MADE``). Anything may be tried on these; what was tried is
  listed on the page of the classifier. To report on, after the choice is frozen and once: birds,
  scene, cal500, enron, bibtex, delicious, and four datasets that nobody looked at before: langlog,
  slashdot, ng20, stackex_chess;
- three random stratified splits, two thirds to learn from and one third to judge (one split of
  bibtex, corel5k, delicious and ng20). Thresholds are found by the present default rule
  (`find_thresholds`) on scores of training rows by models that did not learn from them;
- parts: random forest and extra trees (150 trees each, out of bag), logistic regression per label
  (three folds), kernel ridge regression of all labels (leave-one-out), boosting per label where the
  table is dense and labels are at most 32 (three folds); beside them, to compare: a support
  vector machine with RBF kernel per label (three folds), and MLSOLBagging of 20 members (out of
  bag) where labels are at most 64;
- candidates, simplest first: the part sets of ``SETS``, each with equal weights, with one set of
  weights for all labels (least log loss, halfway to equal), or with weights per label drawn
  to that;
- F is the mean over labels with positives in both parts of a split, AUCPR and log loss (in units
  of the label's entropy) likewise. The unit is a dataset, the mean over its splits; the made
  data are one unit together;
- the candidate with the largest mean F over the seven units is chosen. Those less than .003 below
  it are ties, which the simplest wins. It must not be more than .003 below in AUCPR or 1 % above
  in log loss, compared with the plain mean of the first set;
- dense and sparse tables may have different sets if that gains .003 or more in mean F.

The choice: the plain mean of FEKB. FELKB has the largest mean F, .5927, and FEKB (.5918) is the
simplest of the five ties; AUCPR is .6268 (.6109 of the first set) and log loss .6598 (.7846). Other
sets for sparse tables gain .0014 at most.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from _blend_weights import blend, label_weights, mean_weights, pooled_weights
from labelance._validation._data import Data, validate_data
from labelance.datasets import load_dataset, make_multilabel_imbalanced
from labelance.decisions import find_thresholds
from labelance.ensemble import MLSOLBagging, RareLabelClassifier
from labelance.ensemble._calibrated import LabelCurves
from labelance.ensemble._encoding import Encoding, Table
from labelance.ensemble._parts import PARTS, FittedPart, Task, choose_parts, fit_each_label
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_auc_pr
from labelance.model_selection import IterativeStratifiedKFold

CHOICE = ("flags", "emotions", "genbase", "yeast", "medical", "corel5k")
REPORT = ("birds", "scene", "cal500", "enron", "bibtex", "delicious")
OUTSIDE = ("langlog", "slashdot", "stackex_chess", "ng20")
LONGEST = ("delicious", "ng20", "bibtex", "corel5k", "cal500", "stackex_chess", "slashdot")
ONE_SPLIT = ("bibtex", "corel5k", "delicious", "ng20")
TREES = 150
make = partial(make_multilabel_imbalanced, random_state=0)
MADE = {
    "made plain": partial(make, 900),
    "made nested": partial(make, 900, label_correlation=1.0),
    "made mixed": partial(make, 900, n_categorical=8),
    "made text": partial(make, 900, 400, 30, sparse=True, density=0.03, cardinality=2),
    "made rare": partial(make, 1500, n_labels=20, imbalance=60),
}
# Simplest first: few and cheap parts.
SETS = {
    "F": ("random forest",),
    "E": ("extra trees",),
    "K": ("kernel ridge",),
    "L": ("logistic regression",),
    "EK": ("extra trees", "kernel ridge"),
    "FE": ("random forest", "extra trees"),
    "FEK": ("random forest", "extra trees", "kernel ridge"),
    "FEL": ("random forest", "extra trees", "logistic regression"),
    "FELK": ("random forest", "extra trees", "logistic regression", "kernel ridge"),
    "FEKB": ("random forest", "extra trees", "kernel ridge", "boosting"),
    "FELKB": ("random forest", "extra trees", "logistic regression", "kernel ridge", "boosting"),
    "FEKM": ("random forest", "extra trees", "kernel ridge", "MLSOLBagging"),
    "FEV": ("random forest", "extra trees", "support vectors"),
}
WEIGHTS = ("mean", "pooled", "per label")
FIGURES = ("macro", "micro", "aucpr", "log_loss")


class Margins:
    """A support vector machine that gives margins where probabilities are asked for."""

    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> Margins:
        self.machine = SVC().fit(X, y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X: Table) -> np.ndarray:
        margin = self.machine.decision_function(X)
        return np.column_stack([-margin, margin])


class WithCurves:
    """Scores of a model as probabilities."""

    def __init__(self, model: Any, curves: LabelCurves) -> None:
        self.model, self.curves = model, curves

    def scores(self, table: Table) -> np.ndarray:
        return self.curves(self.model.scores(table))


class Bagged:
    """MLSOLBagging, asked as parts are."""

    def __init__(self, model: MLSOLBagging) -> None:
        self.model = model

    def scores(self, table: Table) -> np.ndarray:
        return self.model.predict_proba(table)


def fit_support_vectors(task: Task, rng: np.random.Generator) -> FittedPart:
    fitted = fit_each_label(task, rng, make=Margins)
    curves = LabelCurves.fit(task.Y.toarray().astype(float), fitted.held_out, task.weight)
    return FittedPart(WithCurves(fitted.model, curves), curves(fitted.held_out))


def fit_bagging(task: Task, rng: np.random.Generator) -> FittedPart:
    seed = int(rng.integers(2**31))
    model = MLSOLBagging(BinaryRelevance(), n_estimators=20, oob_score=True, random_state=seed)
    model.fit(task.table, task.Y)
    known = model.oob_decision_function_
    return FittedPart(Bagged(model), np.where(np.isnan(known), np.nanmean(known, axis=0), known))


def make_regression() -> LogisticRegression:
    return LogisticRegression(solver="liblinear")


OWN = {
    "logistic regression": partial(fit_each_label, make=make_regression),
    "support vectors": fit_support_vectors,
    "MLSOLBagging": fit_bagging,
}
# The order is that of the random streams.
ORDER = ("random forest", "extra trees", "logistic regression", "kernel ridge", "boosting")
ALL_PARTS = {name: {**PARTS, **OWN}[name] for name in (*ORDER, "support vectors", "MLSOLBagging")}


def open_dataset(name: str) -> tuple[Data, np.ndarray]:
    """Return clean data, and the labels as an array."""
    if name in MADE:
        X, Y = MADE[name]()
        if name == "made mixed":  # the last columns are categories
            X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
            last = X.columns[-8:]
            X[last] = X[last].astype(int).astype("category")
    else:
        data = load_dataset(name)
        X, Y = data.X, data.Y
    Y = np.asarray(Y.toarray() if sp.issparse(Y) else Y).astype(np.int64)
    return validate_data(X, Y, caller="default_blend", missing="keep"), Y


def split_rows(Y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two thirds of the rows to learn from, and one third to judge."""
    folds = IterativeStratifiedKFold(3, shuffle=True, random_state=split)
    return next(iter(folds.split(np.zeros((len(Y), 1)), Y)))


def has_part(name: str, table: Table, n_labels: int) -> bool:
    if name in ("MLSOLBagging", "support vectors"):
        return n_labels <= 64
    return name in OWN or name in choose_parts(sp.issparse(table), n_labels)


def fit_part(keep: Path, name: str, split: int, part: str) -> str:
    """Fit a part, and keep its scores of rows left out and of test rows."""
    path = keep / f"{name.replace(' ', '-')}.{split}.{part.replace(' ', '-')}.npz"
    if path.exists():
        return f"{path.name}: there already"
    start = time.process_time()
    data, Y = open_dataset(name)
    train, test = split_rows(Y, split)
    learned = np.flatnonzero(Y[train].any(axis=0) & ~Y[train].all(axis=0))
    rows = data.take(train)
    encoding, table = Encoding.fit(rows.X, rows.categorical)
    if not has_part(part, table, len(learned)):
        return f"{path.name}: not for these data"
    task = Task(table, sp.csr_array(Y[train][:, learned]), None, None, TREES, 1)
    order = list(ALL_PARTS).index(part)
    model, held_out = ALL_PARTS[part](task, np.random.default_rng([split, order]))
    unseen = model.scores(encoding.transform(data.X[test]))
    spent = time.process_time() - start
    few_bits = partial(np.bitwise_and, 0xFFFFFC00)  # of 23: files are half as large
    scores = {
        key: few_bits(value.astype(np.float32).view(np.uint32)).view(np.float32)
        for key, value in (("held_out", held_out), ("unseen", unseen))
    }
    part_file = path.with_suffix(".tmp.npz")
    np.savez_compressed(
        part_file,
        **scores,
        train=Y[train][:, learned].astype(np.int8),
        test=Y[test][:, learned].astype(np.int8),
        seconds=spent,
        sparse=sp.issparse(table),
    )
    part_file.rename(path)
    return f"{path.name}: {spent:.1f} CPU seconds"


def splits_of(name: str) -> range:
    return range(1 if name in ONE_SPLIT else 3)


def fit(keep: Path, names: list[str], parts: list[str], jobs: int) -> None:
    """Fit what the folder does not have yet, the slowest first."""
    keep.mkdir(parents=True, exist_ok=True)
    # Of one dataset the slow parts first, so that no core waits for one at the end.
    work = [(name, s, part) for part in reversed(parts) for name in names for s in splits_of(name)]
    work.sort(key=lambda task: task[0] != "corel5k")
    tasks = (delayed(quiet)(fit_part, keep, *task) for task in work)
    start = time.perf_counter()
    for line in Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks):
        print(f"{time.perf_counter() - start:6.0f} s  {line}", flush=True)


def quiet(call: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments)


def measure(
    train: np.ndarray, held_out: np.ndarray, test: np.ndarray, unseen: np.ndarray
) -> dict[str, float]:
    """Return the figures of scores that are cut by the default rule."""
    cut = find_thresholds(train, held_out).thresholds
    return figures_of(train, test, unseen, unseen >= cut)


def figures_of(
    train: np.ndarray, test: np.ndarray, scores: np.ndarray, predicted: np.ndarray
) -> dict[str, float]:
    """Return figures over labels with positives in both parts, and F by two other conventions."""
    hits = (predicted & (test > 0)).sum(axis=0)
    wrong = (predicted != (test > 0)).sum(axis=0)
    f1 = 2 * hits / np.maximum(2 * hits + wrong, 1)
    nothing = hits + wrong == 0
    judged = (test.any(axis=0)) & (train.any(axis=0)) & ~train.all(axis=0)
    share = np.clip(train.mean(axis=0), 1e-9, 1 - 1e-9)
    entropy = -(share * np.log(share) + (1 - share) * np.log1p(-share))
    p = np.clip(scores, 1e-6, 1 - 1e-6)
    loss = -np.where(test > 0, np.log(p), np.log1p(-p)).mean(axis=0) / entropy
    return {
        "macro": f1[judged].mean(),
        "micro": 2 * hits[judged].sum() / (2 * hits[judged].sum() + wrong[judged].sum()),
        "aucpr": macro_auc_pr(test[:, judged], scores[:, judged]),
        "log_loss": loss[judged].mean(),
        "macro, empty 0": f1.mean(),
        "macro, empty 1": np.where(nothing, 1.0, f1).mean(),
    }


def candidates(keep: Path, name: str, split: int) -> list[dict[str, Any]]:
    """Return the figures of all candidates on one split."""
    prefix = f"{name.replace(' ', '-')}.{split}."
    loaded = {
        part: np.load(keep / f"{prefix}{part.replace(' ', '-')}.npz")
        for part in ALL_PARTS
        if (keep / f"{prefix}{part.replace(' ', '-')}.npz").exists()
    }
    if not loaded:
        return []
    scores = {
        part: (file["held_out"].astype(float), file["unseen"].astype(float), float(file["seconds"]))
        for part, file in loaded.items()
    }
    first = next(iter(loaded.values()))
    train, test = first["train"], first["test"]
    lines = []
    for key, parts in SETS.items():
        present = [part for part in parts if part in scores]
        held, unseen, seconds = zip(*(scores[part] for part in present))
        Y = train.astype(float)
        for how in WEIGHTS if len(present) > 1 else WEIGHTS[:1]:
            weights = choose_weights(how, Y, held)
            line = measure(train, blend(held, weights), test, blend(unseen, weights))
            lines.append(
                {"data": name, "split": split, "sparse": bool(first["sparse"]), "set": key,
                 "weights": how, **line, "seconds": sum(seconds),
                 "left out": len(parts) - len(held)}
            )  # fmt: skip
    return lines


def choose_weights(how: str, Y: np.ndarray, held: Any) -> np.ndarray:
    if how == "mean":
        return mean_weights(len(held), Y.shape[1])
    pooled = pooled_weights(Y, held, None)
    return pooled if how == "pooled" else label_weights(Y, held, None, prior=pooled)


def choose(keep: Path, names: list[str], out: Path | None, jobs: int) -> None:
    """Print the figures of all candidates: means over units, and F of each dataset."""
    tasks = [delayed(quiet)(candidates, keep, name, s) for name in names for s in splits_of(name)]
    lines = pd.DataFrame(list(chain.from_iterable(Parallel(jobs)(tasks))))
    if out is not None:
        lines.round(5).to_csv(out, index=False)
    lines["unit"] = lines["data"].where(~lines["data"].str.startswith("made"), "made")
    print_table(lines, "all tables")
    for sparse, part in lines.groupby("sparse"):
        print_table(part, "sparse tables" if sparse else "dense tables")


def print_table(lines: pd.DataFrame, title: str) -> None:
    keys = ["set", "weights"]
    by_data = lines.groupby([*keys, "unit", "data"], sort=False)[[*FIGURES, "seconds"]].mean()
    by_unit = by_data.groupby([*keys, "unit"], sort=False).mean()
    means = by_unit.groupby(keys, sort=False).mean()
    macro = by_unit["macro"].unstack("unit").loc[means.index]
    print(f"\n{title}")
    print(means.join(macro).round(4).to_string())


def report_one(name: str, split: int) -> dict[str, Any]:
    """Return the figures of the classifier as it is on one split."""
    data, Y = open_dataset(name)
    train, test = split_rows(Y, split)
    rows, judged = data.take(train).features.container.native, data.take(test)
    start, clock = time.process_time(), time.perf_counter()
    # So that the whole run does not wait for one dataset; scores do not depend on it.
    jobs = 4 if name in LONGEST[:3] else 1
    model = RareLabelClassifier(random_state=split, n_jobs=jobs).fit(rows, Y[train])
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    scores = model.predict_proba(judged.features.container.native)
    found = figures_of(Y[train], Y[test], scores, scores >= model.thresholds_)
    return {"data": name, "split": split, **found, "seconds": seconds, "clock": clock}


def report(out: Path, names: list[str], jobs: int) -> None:
    """Run the classifier as it is, the longest first, and write lines as they come."""
    done = set()
    if out.exists():
        done = set(pd.read_csv(out)[["data", "split"]].itertuples(index=False, name=None))
    work = [(n, s) for n in names for s in splits_of(n) if (n, s) not in done]
    tasks = (delayed(quiet)(report_one, *task) for task in work)
    for line in Parallel(jobs, return_as="generator_unordered", batch_size=1)(tasks):
        pd.DataFrame([line]).round(5).to_csv(out, mode="a", header=not out.exists(), index=False)
        print(*line.values(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("fit", "choose", "report"))
    parser.add_argument("--keep", type=Path, help="folder of scores, which is continued")
    parser.add_argument("--out", type=Path, help="CSV file of figures")
    parser.add_argument("--data", nargs="+")
    parser.add_argument("--parts", nargs="+", choices=ALL_PARTS, default=list(ALL_PARTS))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.what == "report":
        names = options.data or [*LONGEST, *REPORT, *OUTSIDE, *CHOICE]
        report(options.out, list(dict.fromkeys(names)), options.jobs)
        return
    names = options.data or [*CHOICE, *MADE]
    if options.what == "fit":
        fit(options.keep, names, options.parts, options.jobs)
    else:
        choose(options.keep, names, options.out, options.jobs)


if __name__ == "__main__":
    main()
