"""Choose how stacked bagging finds thresholds for F, on data that no study uses.

    LABELANCE_DATA=... python benchmarks/stacked_thresholds.py [--data emotions] [--learners CLR]
    python benchmarks/stacked_thresholds.py --keep rules.csv      # and keep the figures of folds

docs/studies/stacking.md says what the rules are and which one wins. The scores are those
of one fitted ensemble, so the areas under curves are the same for all rules.

Its tables on the page are of StackedBagging before benchmarks/long_tail.py chose its defaults anew.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import logit
from scipy.stats import rankdata

from labelance.decisions._calibration import fit_calibrators
from labelance.decisions._search import (
    ScoredRows,
    pooled_threshold,
    search_thresholds,
    shrink_thresholds,
)
from labelance.ensemble import EMLS, StackedBagging
from labelance.metrics import macro_f1
from labelance.model_selection import RepeatedIterativeStratifiedKFold
from labelance.sampling import MLSOL
from stacked_bagging import DATA, PRIOR, SEED, Rows, best_share, learner, read

LEARNERS = ("BR", "MLkNN", "CLR", "RAkEL", "COCOA", "ECCRU3")
# Simplest first.
RULES = ("train", "own", "pooled", "shrunk", "half F", "share", "calibrated half F")


def decisions(model: StackedBagging, train: Rows, test: Rows) -> dict[str, np.ndarray]:
    """Return what every rule predicts for the test rows."""
    judged = np.flatnonzero(~np.isnan(model.oob_decision_function_[:, 0]))
    Y, out = sp.csr_array(train.Y[judged]), model.oob_decision_function_[judged]
    seen, unseen = (model.predict_proba(of.X) for of in (train, test))
    own = search_thresholds(ScoredRows.of(Y, out)).own
    common = pooled_threshold(ScoredRows.of(Y, out), own)
    n_positive = np.asarray(Y.sum(axis=0)).ravel()
    shrunk = np.minimum(shrink_thresholds(own, common, n_positive, 5), 2.0)
    cuts = {
        "train": search_thresholds(ScoredRows.of(sp.csr_array(train.Y), seen), search="grid").own,
        "pooled": np.full(len(own), common),
        "shrunk": shrunk,
        "half F": half_of_best_f1(Y, out),
        "share": by_share(Y.toarray(), out, own, n_positive),
        "calibrated half F": calibrated(Y, out, shrunk),
    }
    votes = [
        np.asarray(sp.csr_array(member.predict(test.X[:, columns])).toarray())
        for member, columns in zip(model.estimators_, model.estimators_features_)
    ]
    return {
        "own": np.mean(votes, axis=0) >= 0.5,
        **{name: unseen >= cut for name, cut in cuts.items()},
    }


def half_of_best_f1(Y: sp.csr_array, out: np.ndarray) -> np.ndarray:
    """Return half of the best F of every label, F shrunk to its mean over labels.

    For probabilities it is the threshold of the best F (Lipton, Elkan and Naryanaswamy 2014).
    """
    best = macro_f1(
        Y, out >= search_thresholds(ScoredRows.of(Y, out)).own, average=None, zero_division=0
    )
    count = np.asarray(Y.sum(axis=0)).ravel()
    trust = count / (count + PRIOR)
    return (trust * best + (1 - trust) * best[count > 0].mean()) / 2


def by_share(Y: Any, out: np.ndarray, own: np.ndarray, n_positive: np.ndarray) -> np.ndarray:
    """Return the score of the row up to which a label is predicted, by a share of its positives."""
    trust = n_positive / (n_positive + PRIOR)
    shares = np.maximum((out >= own).sum(axis=0), 1) / np.maximum(n_positive, 1)
    shares = shares**trust * best_share(Y, out, n_positive) ** (1 - trust)
    places = np.clip(np.round(shares * n_positive).astype(int), 1, len(out)) - 1
    return np.take_along_axis(-np.sort(-out, axis=0), places[None], axis=0)[0]


def calibrated(Y: sp.csr_array, out: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Return the scores whose calibrated probability is half of the best F."""
    cuts, half = otherwise.copy(), half_of_best_f1(Y, out)
    for labels, found in fit_calibrators(Y, out, method="sigmoid", min_class_count=6).maps:
        odds = (logit(half[labels]) - found.intercept) / found.slope
        there = (1.05 * np.exp(odds) - 0.05) / (1 + np.exp(odds))
        cuts[labels] = np.where(found.slope > 0, there, otherwise[labels])
    return cuts


def figures(of: str, name: str, rows: Rows, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield the macro F of every rule on every fold, and of EMLSOL as in the paper."""
    folds = RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=repeats, random_state=SEED)
    for number, (first, second) in enumerate(folds.split(rows.X, rows.Y)):
        train, test = rows.take(first), rows.take(second)
        mask = train.nominal if train.nominal.any() else None
        space: dict[str, Any] = {"scale": "range", "categorical_features": mask}
        base = learner(name, train.nominal)
        sampler = MLSOL(sampling_ratio=1.0, **space)
        model = StackedBagging(base, sampler, objective=None, oob_score=True, random_state=SEED)
        predicted = decisions(model.fit(train.X, train.Y), train, test)
        rule: dict[str, Any] = {"threshold_search": "grid", "tune_on": "train"}
        rival = EMLS(base, MLSOL(**space), **rule, random_state=SEED).fit(train.X, train.Y)
        predicted["EMLSOL"] = np.asarray(sp.csr_array(rival.predict(test.X)).toarray())
        found = {k: macro_f1(test.Y, p, zero_division=1) for k, p in predicted.items()}
        count = {f"n {k}": float(np.mean(p)) for k, p in predicted.items()}
        here = {"data": of, "learner": name, "fold": number, "n true": test.Y.mean()}
        yield {**here, **found, **count}


def show(table: pd.DataFrame) -> None:
    """Print mean ranks of the rules, and mean differences to EMLSOL."""
    means = table.groupby(["data", "learner"], sort=False)[[*RULES, "EMLSOL"]].mean()
    ranks = pd.DataFrame(rankdata(-means[list(RULES)], axis=1), means.index, list(RULES))
    gaps = means[list(RULES)].sub(means["EMLSOL"], axis=0)
    summary = gaps.groupby("learner").mean().T.assign(all=gaps.mean())
    summary.insert(0, "rank", ranks.mean())
    print(summary.round(4).to_string(), "\n")
    print(gaps.groupby("data").mean().round(4).to_string(), "\n")
    print(ranks.groupby("learner").mean().round(2).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=[*DATA, "rare", "delicious"])
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--keep")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines: list[dict[str, Any]] = []
    for of, name in product(options.data, options.learners):
        lines += figures(of, name, read(of), options.repeats)
        print(of, name, flush=True)
        if options.keep:
            pd.DataFrame(lines).to_csv(options.keep, index=False)
    show(pd.DataFrame(lines))


if __name__ == "__main__":
    main()
