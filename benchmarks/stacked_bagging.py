"""Explore stacked bagging by its protocol: rank the candidates on data that no study uses.

    LABELANCE_DATA=... python benchmarks/stacked_bagging.py [--data emotions] [--learners BR MLkNN]
    python benchmarks/stacked_bagging.py --keep trial.csv      # and keep the figures of all folds

docs/studies/stacking.md says what the candidates are and which one wins. A name such as
"r0.3 f0.7 C0.02 mean" is MLSOL's ratio, the share of the features, C of the second level, and
whether it is averaged with the scores themselves.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from labelance.datasets import MultiLabelDataset, load_dataset, make_multilabel_imbalanced
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.ensemble import EMLS
from labelance.learners import COCOA, ECCRU3, BinaryRelevance, CalibratedLabelRanking, MLkNN, RAkEL
from labelance.metrics import label_areas, macro_f1
from labelance.model_selection import RepeatedIterativeStratifiedKFold
from labelance.sampling import MLSOL

RATIOS, SHARES, STRENGTHS = (0.0, 0.3, 1.0), (1.0, 0.7), (0.005, 0.02, 0.1)
MEMBERS, FEWEST, PRIOR, SEED = 5, 6, 10, 20191
MADE: dict[str, dict[str, Any]] = {
    "plain": {"n_features": 20, "n_labels": 10},
    "nested": {"n_features": 20, "n_labels": 20, "label_correlation": 0.8, "imbalance": 15},
    "mixed": {"n_features": 20, "n_labels": 10, "n_categorical": 8, "imbalance": 8},
    "text": {"n_features": 150, "n_labels": 12, "sparse": True},
    # Of the second exploration, that of the thresholds.
    "rare": {"n_features": 20, "n_labels": 30, "label_correlation": 0.6, "imbalance": 40},
}
DATA = ("emotions", "birds", "verbframes", "plain", "nested", "mixed", "text")


class Rows(NamedTuple):
    """Features, labels, and which features are nominal."""

    X: Any
    Y: Any
    nominal: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(self.X[rows], self.Y[rows], self.nominal)


def read(name: str) -> Rows:
    if name in MADE:
        X, Y = make_multilabel_imbalanced(500, random_state=0, **MADE[name])
        nominal = np.arange(X.shape[1]) >= X.shape[1] - MADE[name].get("n_categorical", 0)
        return Rows(X, sp.csr_array(Y), nominal)
    data: MultiLabelDataset = load_dataset(name)
    found = Rows(data.values, sp.csr_array(data.Y), data.categorical_features)
    rng = np.random.default_rng(SEED)
    if name in ("verbframes", "delicious"):
        found = found.take(rng.permutation(found.Y.shape[0])[:700])
    if name == "delicious":  # of hundreds of labels 25, in 4 to 40 of the rows
        counts = np.asarray(found.Y.sum(axis=0)).ravel()
        few = np.flatnonzero((counts >= 4) & (counts <= 40))
        found = found._replace(Y=found.Y[:, np.sort(rng.choice(few, 25, replace=False))])
    counts = np.asarray(found.Y.sum(axis=0)).ravel()
    return found._replace(Y=found.Y[:, (counts >= 4) & (counts < found.Y.shape[0] - 3)])


def learner(name: str, nominal: np.ndarray) -> Any:
    mask = nominal if nominal.any() else None
    if name == "MLkNN":
        return MLkNN(n_neighbors=10, smoothing=1, scale="range", categorical_features=mask)
    if name == "RAkEL":
        return RAkEL(labelset_size=3, random_state=0, categorical_features=mask)
    tuned: dict[str, Any] = {"threshold_search": "grid", "random_state": 1}
    if name == "COCOA":
        return COCOA(n_couples=10, categorical_features=mask, **tuned)
    if name == "ECCRU3":
        return ECCRU3(n_estimators=10, categorical_features=mask, **tuned)
    if name == "CLR":
        return CalibratedLabelRanking(categorical_features=mask)
    return BinaryRelevance(categorical_features=mask)


class Bags(NamedTuple):
    """Mean scores of training rows, of training rows by members without them, and of test rows."""

    train: np.ndarray
    out: np.ndarray
    judged: np.ndarray
    test: np.ndarray


def fit_bags(name: str, train: Rows, test: Rows, ratio: float, share: float) -> Bags:
    n, d = train.X.shape
    rng = np.random.default_rng(SEED)
    mask = train.nominal if train.nominal.any() else None
    sampler = MLSOL(sampling_ratio=ratio, scale="range", categorical_features=mask)
    plan = sampler.plan(train.X, train.Y) if ratio else None
    sums = [np.zeros(train.Y.shape), np.zeros(train.Y.shape), np.zeros(test.Y.shape)]
    votes = np.zeros(n)
    for stream in rng.spawn(MEMBERS):
        bag = np.sort(stream.integers(n, size=n))
        columns = np.sort(stream.permutation(d)[: max(1, round(share * d))])
        X, Y, rows = train.X, train.Y, bag
        if plan:
            drawn = plan.draw(stream)
            parents = np.stack([drawn.provenance[f"{p}_indices_"] for p in ("seed", "reference")])
            X, Y = drawn.X, drawn.y
            rows = np.concatenate([bag, n + np.flatnonzero(np.isin(parents, bag).all(axis=0))])
        model = learner(name, train.nominal[columns])
        model.fit(X[rows][:, columns], Y[rows])
        seen, unseen = (model.predict_proba(of.X[:, columns]) for of in (train, test))
        out = np.setdiff1d(np.arange(n), bag)
        sums[0] += seen / MEMBERS
        sums[1][out] += seen[out]
        sums[2] += unseen / MEMBERS
        votes[out] += 1
    judged = np.flatnonzero(votes)
    return Bags(sums[0], sums[1][judged] / votes[judged, None], judged, sums[2])


def stack(bags: Bags, Y: np.ndarray, C: float) -> tuple[np.ndarray, ...]:
    """Return the scores of the second level for training, out-of-bag and test rows."""
    centre, width = bags.out.mean(axis=0), bags.out.std(axis=0)
    found = [bags.train.copy(), bags.out.copy(), bags.test.copy()]
    level = [(of - centre) / np.where(width > 0, width, 1) for of in found]
    Y = Y[bags.judged]
    for label in range(Y.shape[1]):
        count = Y[:, label].sum()
        if min(count, len(Y) - count) >= FEWEST:
            model = LogisticRegression(C=C).fit(level[1], Y[:, label])
            for scores, of in zip(found, level):
                scores[:, label] = model.predict_proba(of)[:, 1]
    return tuple(found)


def thresholds(Y: np.ndarray, judged: np.ndarray, train: Any, out: Any) -> dict[str, np.ndarray]:
    """Return thresholds for F by every rule of the protocol."""
    Y_out = Y[judged]
    on_train = search_thresholds(ScoredRows.of(sp.csr_array(Y), train), search="grid").own
    on_out = search_thresholds(ScoredRows.of(sp.csr_array(Y_out), out), search="grid").own
    exact = search_thresholds(ScoredRows.of(sp.csr_array(Y_out), out)).own
    n_positive = Y_out.sum(axis=0)
    trust = n_positive / (n_positive + PRIOR)
    ranked = -np.sort(-out, axis=0)
    chosen = (out >= exact).sum(axis=0)
    common = best_share(Y_out, out, n_positive)
    own = np.maximum(chosen, 1) / np.maximum(n_positive, 1)
    ratio = own**trust * common ** (1 - trust)
    places = np.clip(np.round(ratio * n_positive).astype(int), 1, len(out)) - 1
    best = macro_f1(Y_out, out >= exact, average=None, zero_division=0)
    return {
        "train": on_train,
        "oob": on_out,
        "both": (on_train + on_out) / 2,
        "shrunk": trust * on_out + (1 - trust) * on_train,
        "share": np.take_along_axis(ranked, places[None], axis=0)[0],
        "half F": (trust * best + (1 - trust) * best.mean()) / 2,
    }


def best_share(Y: np.ndarray, scores: np.ndarray, n_positive: np.ndarray) -> float:
    """Return how many rows to predict for each true one, the same for all labels."""
    order = np.argsort(-scores, axis=0, kind="stable")
    hits = np.cumsum(np.take_along_axis(Y, order, axis=0), axis=0)
    values = {}
    for share in np.geomspace(0.5, 4, 25):
        places = np.clip(np.round(share * n_positive).astype(int), 1, len(Y))
        found = hits[places - 1, np.arange(len(n_positive))]
        values[share] = np.mean(2 * found / (places + n_positive))
    return max(values, key=lambda share: values[share])


def candidates(name: str, train: Rows, test: Rows) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield a name, the scores of test rows, and predictions by the rule of the thresholds."""
    Y = train.Y.toarray()
    for ratio, share in product(RATIOS, SHARES):
        bags = fit_bags(name, train, test, ratio, share)
        levels = {"": (bags.train, bags.out, bags.test)}
        for C in STRENGTHS:
            alone = stack(bags, Y, C)
            levels[f" C{C:g} alone"] = alone
            levels[f" C{C:g} mean"] = tuple((a + b) / 2 for a, b in zip(alone, levels[""]))
        for kind, (seen, out, unseen) in levels.items():
            cuts = thresholds(Y, bags.judged, seen, out)
            yield f"r{ratio:g} f{share:g}{kind}", unseen, {k: unseen >= t for k, t in cuts.items()}
    mask = train.nominal if train.nominal.any() else None
    sampler = MLSOL(scale="range", categorical_features=mask)
    rule: dict[str, Any] = {"threshold_search": "grid", "tune_on": "train"}
    model = EMLS(learner(name, train.nominal), sampler, **rule, random_state=SEED)
    unseen = model.fit(train.X, train.Y).predict_proba(test.X)
    yield "EMLSOL", unseen, {"train": unseen >= model.thresholds_}


def figures(name: str, of: str, rows: Rows, repeats: int) -> Iterator[dict[str, Any]]:
    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=SEED)
    for train, test in folds.split(rows.X, rows.Y):
        unseen = rows.take(test)
        for kind, scores, predicted in candidates(name, rows.take(train), unseen):
            areas = label_areas(unseen.Y, scores)
            found = {"auc": np.nanmean(areas.auc_roc), "aucpr": np.nan_to_num(areas.auc_pr).mean()}
            f = {f"F {k}": macro_f1(unseen.Y, p, zero_division=1) for k, p in predicted.items()}
            yield {"data": of, "learner": name, "candidate": kind, **found, **f}


def show(table: pd.DataFrame) -> None:
    """Print mean ranks and mean differences to EMLSOL; then the same of F by thresholds."""
    keys = ["data", "learner"]
    means = table.groupby([*keys, "candidate"]).mean().unstack("candidate")
    parts = {m: means[m] for m in ("auc", "aucpr")}
    ranks = {m: pd.DataFrame(rankdata(-p, axis=1), p.index, p.columns) for m, p in parts.items()}
    summary = pd.DataFrame({f"rank {m}": r.mean() for m, r in ranks.items()})
    summary.insert(0, "rank", summary.mean(axis=1))
    for measure, part in parts.items():
        for name, group in part.groupby("learner"):
            summary[f"{name} {measure}"] = group.sub(group["EMLSOL"], axis=0).mean()
    print(summary.sort_values("rank").round(4).to_string(), "\n")
    f = means[[c for c in means.columns.levels[0] if c.startswith("F ")]]
    f = f.sub(f["F train", "EMLSOL"], axis=0).dropna(axis=1)
    for kind in summary.sort_values("rank").index[:4]:
        of = f.xs(kind, axis=1, level="candidate")
        if of.shape[1] > 1:
            rank = pd.Series(rankdata(-of, axis=1).mean(axis=0), of.columns, name="rank")
            averages = of.groupby("learner").mean().T
            print(kind, pd.concat([rank, averages], axis=1).round(4), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--learners", nargs="*", default=["BR", "MLkNN"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--keep")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for of, name in product(options.data, options.learners):
        lines += figures(name, of, read(of), options.repeats)
        print(of, name, flush=True)
    table = pd.DataFrame(lines)
    if options.keep:
        table.to_csv(options.keep, index=False)
    show(table)


if __name__ == "__main__":
    main()
