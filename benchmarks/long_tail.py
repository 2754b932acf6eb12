"""Stacked bagging on labels in a handful of rows: choose bags, features and second level anew.

    LABELANCE_DATA=... python benchmarks/long_tail.py --keep tail.csv --jobs 16   # resumes
    python benchmarks/long_tail.py --keep tail.csv --table --write results/long_tail/choice.csv
    LABELANCE_DATA=... python benchmarks/long_tail.py --report NAME --keep after.csv --jobs 16 \\
        --write results/long_tail/unseen.csv

The protocol, fixed before the first run. On long-tailed text the method was seen to fall behind
plain bagging in F and AUCPR: a label in ten rows has a second level of the same weight as one
in a thousand, and members see two thirds of its rows and of its words.

- Data to choose on, none of the paper's 13: emotions, birds, 700 rows of verbframes, 1,000 of
  slashdot, three parts of delicious (700 rows and 25 labels in 4 to 40 of them; twice 1,000
  others and 60 labels in 4 to 100), the five sets of the earlier explorations that
  ``make_multilabel_imbalanced`` makes, and three more by it with a long tail (800 rows, 60 labels
  in 4 to 120 of them: dense, dense and nested, sparse text). Labels in fewer than four rows
  are dropped. Two stratified folds, once, by a seed that no study uses.
- Learners BR and MLkNN on all of these; RAkEL, COCOA, CLR and ECCRU3, which cost more, on the ten
  with at most 30 labels.
- Candidates, all with five members and MLSOL rows (ratio 1) whose parents are in the bag; members
  are fitted once for each pair of bags and features, and all else is derived from their scores:

  bags: "boot", bootstrap; "kept", bootstrap, but a row with a label of fewer than ten training
  rows is left out of one bag only, drawn by lot; "folds", each of five stratified folds is left
  out of one bag, and the rest is there once;
  features: 0.7, 0.85, 1;
  second level: "none"; "plain", ridge logistic regressions (C=0.1) on the standardised
  out-of-bag scores of all labels; "clip", the same on scores clipped at three standard
  deviations (a label that is nearly always 0 has scores of twenty); "own", on clipped scores
  beside a fixed term: the label's own score times one slope for all labels, so that ridge draws
  a rare label to what its members say and not to its prevalence;
  its weight, by m, the rows of the rarer class with a score out of bag: "step6", 1/2 from 6 rows
  on (today's); "step20"; "half5", "half20", "half50", m/(m+c)/2; "full20", "full50", m/(m+c).
  No label with m < 2 has a second level;
  thresholds: "train", on training rows by the grid (today's in the study beyond); "oob", out of
  bag by the default rule of `find_thresholds`, scores from second levels of the other four
  of five folds (today's default of the class).

- Criterion. Admissible is who is not behind bagging on labels with fewer than ten training rows,
  by the mean over datasets, in F and AUCPR, under BR and under MLkNN. Bagging and EMLSOL
  are as in the study beyond: five members, thresholds on training rows by the grid. Of the
  admissible the one with the best mean rank over AUC-ROC, AUCPR and F wins, a rank being that among
  all candidates for a dataset under a learner, averaged over the datasets of a learner and then
  over the six learners. Of those whose mean
  rank is behind the best by less than 2% of the number of candidates the simplest wins: as many
  of today's values as possible ("boot", 0.7, "plain", "step6", "train"), then the better rank.
- Before it was committed some tasks were timed, and the script was tried on nested under BR
  (where "kept 1 own full50 train" came first); nothing was changed after that.
- Then it is frozen and reported, once: on langlog and stackex_chess under BR and MLkNN (before,
  after, bagging, EMLSOL, and the winner with 20 members for information), and on the 13
  datasets in the study beyond.

Found: "boot 0.85 own half5 train". It is what StackedBagging does since; TODAY is before that.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.special import expit, logit

from labelance.datasets import load_dataset, make_multilabel_imbalanced
from labelance.decisions import find_thresholds
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.ensemble import EMLS
from labelance.ensemble._logistic import fit_logistic_regressions
from labelance.metrics import label_areas, macro_f1
from labelance.model_selection import IterativeStratifiedKFold
from labelance.sampling import MLSOL
from stacked_bagging import SEED, Bags, Rows, learner, read

BAGS, SHARES, LEVELS = ("boot", "kept", "folds"), (0.7, 0.85, 1.0), ("plain", "clip", "own")
WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "step6": lambda m: 0.5 * (m >= 6),
    "step20": lambda m: 0.5 * (m >= 20),
    "half5": lambda m: 0.5 * m / (m + 5),
    "half20": lambda m: 0.5 * m / (m + 20),
    "half50": lambda m: 0.5 * m / (m + 50),
    "full20": lambda m: m / (m + 20),
    "full50": lambda m: m / (m + 50),
}
TODAY = "boot 0.7 plain step6 train"
MEMBERS, RARE, FOLDS, C, CLIP = 5, 10, 5, 0.1, 3.0
CHEAP, DEAR = ("BR", "MLkNN"), ("RAkEL", "COCOA", "CLR", "ECCRU3")
TAIL = np.round(np.geomspace(120, 4, 60))
MADE: dict[str, dict[str, Any]] = {
    "tail": {"n_features": 30},
    "tail-nested": {"n_features": 30, "label_correlation": 0.8},
    "tail-text": {"n_features": 400, "sparse": True, "density": 0.05},
}
FEW_LABELS = (
    *("emotions", "birds", "verbframes", "delicious", "slashdot"),
    *("plain", "nested", "mixed", "text", "rare"),
)
DATA = (*FEW_LABELS, "delicious-a", "delicious-b", *MADE)
UNSEEN = ("langlog", "stackex_chess")
MEASURES = ("auc", "aucpr", "f")


class Task(NamedTuple):
    """Members to fit once: of a learner, on a fold of a dataset, by bags and features."""

    data: str
    learner: str
    fold: int
    ensemble: str


def rows_of(name: str) -> Rows:
    """Return a dataset without labels in fewer than four rows."""
    if name in MADE:
        imbalance = (800 - TAIL) / TAIL
        X, Y = make_multilabel_imbalanced(
            800, n_labels=len(TAIL), imbalance=imbalance, random_state=0, **MADE[name]
        )
        return Rows(X, sp.csr_array(Y), np.zeros(X.shape[1], dtype=bool))
    if name not in ("slashdot", "delicious-a", "delicious-b"):
        return read(name)
    data = load_dataset(name.split("-")[0])
    rng = np.random.default_rng([SEED, 1])
    start = 1000 * (name == "delicious-b")
    kept = rng.permutation(data.n_samples)[start : start + 1000]
    found = Rows(data.values, sp.csr_array(data.Y), data.categorical_features).take(kept)
    counts = np.asarray(found.Y.sum(axis=0)).ravel()
    labels = np.flatnonzero(counts >= 4)
    if name != "slashdot":
        labels = np.sort(rng.choice(labels[counts[labels] <= 100], 60, replace=False))
    return found._replace(Y=found.Y[:, labels])


def draw_bags(kind: str, Y: sp.csr_array, n_members: int, rng: np.random.Generator) -> list[Any]:
    """Return the rows of every bag."""
    n = Y.shape[0]
    if kind == "folds":
        splitter = IterativeStratifiedKFold(n_splits=n_members, random_state=SEED)
        return [train for train, _ in splitter.split(np.zeros((n, 1)), Y)]
    bags = [np.sort(rng.integers(n, size=n)) for _ in range(n_members)]
    if kind == "boot":
        return bags
    counts = np.asarray(Y.sum(axis=0)).ravel()
    rare = np.flatnonzero(np.asarray(Y[:, counts < RARE].sum(axis=1)).ravel())
    outside = rng.integers(n_members, size=len(rare))
    found = []
    for member, bag in enumerate(bags):
        stay = bag[~np.isin(bag, rare[outside == member])]
        found.append(np.sort(np.r_[stay, np.setdiff1d(rare[outside != member], stay)]))
    return found


def fit_bags(name: str, train: Rows, test: Rows, kind: str, share: float, members: int) -> Bags:
    """Return the mean scores of members for training, out-of-bag and test rows."""
    n, d = train.X.shape
    rng = np.random.default_rng(SEED)
    bags = draw_bags(kind, train.Y, members, rng)
    mask = train.nominal if train.nominal.any() else None
    plan = MLSOL(sampling_ratio=1.0, scale="range", categorical_features=mask).plan(
        train.X, train.Y
    )
    sums = [np.zeros(train.Y.shape), np.zeros(train.Y.shape), np.zeros(test.Y.shape)]
    votes = np.zeros(n)
    for bag, stream in zip(bags, rng.spawn(members)):
        columns = np.sort(stream.permutation(d)[: max(1, int(share * d))])
        drawn = plan.draw(stream)
        parents = np.stack([drawn.provenance[f"{p}_indices_"] for p in ("seed", "reference")])
        rows = np.concatenate([bag, n + np.flatnonzero(np.isin(parents, bag).all(axis=0))])
        model = learner(name, train.nominal[columns])
        model.fit(drawn.X[rows][:, columns], drawn.y[rows])
        seen, unseen = (model.predict_proba(of.X[:, columns]) for of in (train, test))
        out = np.setdiff1d(np.arange(n), bag)
        sums[0] += seen / members
        sums[1][out] += seen[out]
        sums[2] += unseen / members
        votes[out] += 1
    judged = np.flatnonzero(votes)
    return Bags(sums[0], sums[1][judged] / votes[judged, None], judged, sums[2])


def second_level(kind: str, Y: np.ndarray, scores: np.ndarray, C: float = C) -> Callable:
    """Return what turns scores into the probabilities of a second level that learned from these."""
    center, width = scores.mean(axis=0), scores.std(axis=0)
    width = np.where(width > 1e-9, width, 1.0)
    most = np.inf if kind == "plain" else CLIP

    def level(of: np.ndarray) -> np.ndarray:
        return np.clip((of - center) / width, -most, most)

    Z, slope = level(scores), 0.0
    labels = np.flatnonzero((Y.sum(axis=0) > 0) & (Y.sum(axis=0) < len(Y)))
    if kind == "own":
        share = np.broadcast_to(logit(Y[:, labels].mean(axis=0)), Y[:, labels].shape)
        cells = [part.reshape(-1, 1) for part in (Z[:, labels], Y[:, labels], share)]
        slope = max(0.0, fit_logistic_regressions(*cells[:2], 1e6, offset=cells[2])[0].item())
    given = slope * Z[:, labels]
    coef, intercept = fit_logistic_regressions(Z, Y[:, labels], C, offset=given)

    def combine(of: np.ndarray) -> np.ndarray:
        found, Z = of.copy(), level(of)
        found[:, labels] = expit(slope * Z[:, labels] + Z @ coef.T + intercept)
        return found

    return combine


def stack(kind: str, bags: Bags, Y: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what a second level says of training, out-of-bag and test rows.

    Of rows out of bag by the other four of five folds.
    """
    combine = second_level(kind, Y[bags.judged], bags.out)
    out, known = bags.out.copy(), Y[bags.judged]
    folds = IterativeStratifiedKFold(n_splits=FOLDS, random_state=0)
    for train, test in folds.split(np.zeros((len(known), 1)), known):
        out[test] = second_level(kind, known[train], bags.out[train])(bags.out[test])
    return combine(bags.train), out, combine(bags.test)


def figures(Y: np.ndarray, scores: np.ndarray, cut: np.ndarray, rare: np.ndarray) -> dict[str, Any]:
    """Return the measures of test rows, of all labels and of the rare ones."""
    areas = label_areas(sp.csr_array(Y), scores)
    f = macro_f1(Y, scores >= cut, average=None, zero_division=1)
    aucpr = np.nan_to_num(areas.auc_pr)
    tail = rare & (Y.sum(axis=0) > 0)
    found = {"auc": np.nanmean(areas.auc_roc), "aucpr": aucpr.mean(), "f": f.mean()}
    if tail.any():
        found |= {"tail auc": np.nanmean(areas.auc_roc[tail])}
        found |= {"tail aucpr": aucpr[tail].mean(), "tail f": f[tail].mean()}
    return found | {"n tail": tail.sum()}


def candidates(bags: Bags, Y: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield a name, scores of test rows and thresholds, for every second level and rule."""
    known = Y[bags.judged]
    m = np.minimum(known.sum(axis=0), len(known) - known.sum(axis=0))
    first = (bags.train, bags.out, bags.test)
    variants = {"none": first}
    for kind in LEVELS:
        second = stack(kind, bags, Y)
        for weight, rule in WEIGHTS.items():
            w = np.where(m >= 2, rule(m), 0.0)
            variants[f"{kind} {weight}"] = tuple(s + w * (p - s) for s, p in zip(first, second))
    for name, (seen, out, unseen) in variants.items():
        yield (
            f"{name} train",
            unseen,
            search_thresholds(ScoredRows.of(sp.csr_array(Y), seen), search="grid").own,
        )
        yield f"{name} oob", unseen, find_thresholds(known, out).thresholds


def work(task: Task) -> list[dict[str, Any]]:
    """Fit the members of a task, and return a line for every candidate that they make."""
    warnings.simplefilter("ignore")
    rows = rows_of(task.data)
    splits = IterativeStratifiedKFold(n_splits=2, random_state=SEED).split(rows.X, rows.Y)
    train, test = map(rows.take, list(splits)[task.fold])
    Y, Y_test = train.Y.toarray(), test.Y.toarray()
    rare = Y.sum(axis=0) < RARE
    if task.ensemble in ("EMLSOL", "Bagging"):
        mask = train.nominal if train.nominal.any() else None
        sampler = MLSOL(scale="range", categorical_features=mask)
        model = EMLS(
            learner(task.learner, train.nominal),
            sampler if task.ensemble == "EMLSOL" else None,
            bootstrap=task.ensemble == "Bagging",
            threshold_search="grid",
            tune_on="train",
            random_state=SEED,
        ).fit(train.X, train.Y)
        found = [("", model.predict_proba(test.X), model.thresholds_)]
    else:
        kind, share, *members = task.ensemble.split()
        n_members = int(members[0]) if members else MEMBERS
        bags = fit_bags(task.learner, train, test, kind, float(share), n_members)
        found = list(candidates(bags, Y))
    return [
        {**task._asdict(), "rest": rest, **figures(Y_test, scores, cut, rare)}
        for rest, scores, cut in found
    ]


def run(tasks: list[Task], keep: Path, jobs: int) -> None:
    """Do what is not yet in the file, and append what is done at once."""
    done = set()
    if keep.exists():
        done = set(pd.read_csv(keep, dtype={"fold": int})[list(Task._fields)].itertuples(index=0))
    left = [task for task in tasks if tuple(task) not in {tuple(one) for one in done}]
    print(f"{len(left)} of {len(tasks)} tasks are left", flush=True)
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for number, lines in enumerate(parallel(delayed(work)(task) for task in left)):
        table = pd.DataFrame(lines, columns=COLUMNS)
        table.to_csv(keep, mode="a", header=not keep.exists(), index=False, float_format="%.6f")
        if number % 50 == 0:
            print(number, *table.iloc[0, :4], flush=True)


COLUMNS = [
    *(*Task._fields, "rest", *MEASURES),
    *("tail auc", "tail aucpr", "tail f", "n tail"),
]


def tasks_of_choice() -> list[Task]:
    """Return all members to fit."""
    ensembles = [f"{kind} {share:g}" for kind, share in product(BAGS, SHARES)]
    pairs = [*product(FEW_LABELS, DEAR), *product(DATA, CHEAP)]
    return [
        Task(*pair, fold, one)
        for pair in pairs
        for fold in range(2)
        for one in (*ensembles, "EMLSOL", "Bagging")
    ]


def tasks_of_report(winner: str) -> list[Task]:
    """Return the members of the winner, of today's method and of the rivals, on unseen data."""
    wanted = {" ".join(name.split()[:2]) for name in (winner, TODAY)}
    wanted |= {f"{' '.join(winner.split()[:2])} 20", "EMLSOL", "Bagging"}
    return [
        Task(*pair, fold, one)
        for pair in product(UNSEEN, CHEAP)
        for fold in range(2)
        for one in sorted(wanted)
    ]


def means(keep: Path) -> pd.DataFrame:
    """Return the mean over folds: a line for a dataset and a learner, columns by measure."""
    table = pd.read_csv(keep, keep_default_na=True)
    table["candidate"] = (table["ensemble"] + " " + table["rest"].fillna("")).str.strip()
    numbers = [*MEASURES, "tail auc", "tail aucpr", "tail f"]
    return table.groupby(["data", "learner", "candidate"])[numbers].mean().unstack("candidate")


def simplicity(name: str) -> int:
    """Return how many of today's values a candidate has."""
    parts = dict(enumerate(name.replace("none", "none none").split()))
    return sum(parts[place] == value for place, value in enumerate(TODAY.split()))


def table_of_choice(keep: Path) -> pd.DataFrame:
    """Return mean ranks, gaps to bagging in the tail, and who is admissible; the best first."""
    found = means(keep)
    rivals = ["EMLSOL", "Bagging"]
    names = [name for name in found["f"].columns if name not in rivals]
    ranks = {m: found[m][names].rank(axis=1, ascending=False) for m in MEASURES}
    summary = pd.DataFrame({m: rank.groupby("learner").mean().mean() for m, rank in ranks.items()})
    summary.insert(0, "rank", summary.mean(axis=1))
    admissible = pd.Series(True, names)
    for measure in ("tail f", "tail aucpr"):
        gaps = found[measure][names].sub(found[measure]["Bagging"], axis=0)
        gaps = gaps.groupby("learner").mean().dropna()  # without rare labels there is no tail
        for name in gaps.index.intersection(CHEAP):
            summary[f"{measure} {name}"] = gaps.loc[name]
            admissible &= gaps.loc[name] >= 0
    for rival, measure in product(rivals, MEASURES):
        gaps = found[measure][names].sub(found[measure][rival], axis=0)
        summary[f"{measure} - {rival}"] = gaps.groupby("learner").mean().mean()
    summary.insert(1, "admissible", admissible)
    return summary.sort_values("rank")


def winner_of(summary: pd.DataFrame) -> str:
    """Return the winner by the criterion."""
    open_ = summary[summary["admissible"]]
    near = open_[open_["rank"] < open_["rank"].min() + 0.02 * len(summary)]
    return str(max(near.index, key=lambda name: (simplicity(name), -near.loc[name, "rank"])))


def show(keep: Path) -> None:
    """Print the table of choice, and gaps of the winner by learner."""
    summary = table_of_choice(keep)
    winner = winner_of(summary)
    places = [*summary.index[:15], TODAY, winner]
    print(summary.loc[list(dict.fromkeys(places))].round(4).to_string(), "\n")
    print("admissible:", int(summary["admissible"].sum()), "of", len(summary), "winner:", winner)
    found = means(keep)
    for rival in (TODAY, "EMLSOL", "Bagging"):
        gaps = {m: found[m][winner] - found[m][rival] for m in [*MEASURES, "tail f", "tail aucpr"]}
        print(f"\n{winner} minus {rival}")
        print(pd.DataFrame(gaps).groupby("learner").mean().round(4).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="of what is kept; nothing is run")
    parser.add_argument("--report", metavar="NAME", help="the winner, on the unseen data")
    parser.add_argument("--write", type=Path, help="a file for the table")
    parser.add_argument("--data", nargs="*", help="only these, for a trial")
    parser.add_argument("--learners", nargs="*", help="only these, for a trial")
    options = parser.parse_args()
    if not options.table:
        tasks = tasks_of_report(options.report) if options.report else tasks_of_choice()
        tasks = [t for t in tasks if not options.data or t.data in options.data]
        tasks = [t for t in tasks if not options.learners or t.learner in options.learners]
        run(tasks, options.keep, options.jobs)
    if not options.report:
        show(options.keep)
        if options.write:
            table_of_choice(options.keep).to_csv(options.write, float_format="%.5f")
        return
    wanted = [options.report, TODAY, "EMLSOL", "Bagging"]
    wanted.append(" ".join([*options.report.split()[:2], "20", *options.report.split()[2:]]))
    table = means(options.keep).stack("candidate").unstack("data").loc[(slice(None), wanted), :]
    print(table)
    if options.write:
        table.stack("data").to_csv(options.write, float_format="%.5f")


if __name__ == "__main__":
    # Processes import `work` from the module; that of __main__ they would get by value, and
    # ufuncs such as logit cannot be sent so.
    import long_tail

    long_tail.main()
