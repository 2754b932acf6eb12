"""Which rule chooses thresholds best? The two runs of results/decisions/decision_rules.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from scipy.stats import wilcoxon

from figures.tables import table_of

RULES = (
    *("as it is", "own best", "pooled 5", "prevalence", "counts 5", "counts 20", "counts 50"),
    *("counts 20, midpoint", "smoothed F", "micromacro"),
)
OLD, NEW = "pooled 5", "counts 20"
COLUMNS = {
    "macro": "macro F",
    "micro": "micro F",
    "fewer than 10": "< 10",
    "10 to 99": "10 to 99",
    "100 and more": "≥ 100",
}
LEARNERS = ("forest", "logistic", "neighbors", "SVM", "network")
# In no trial before the protocol.
FRESH = ("flags", "emotions", "delicious", "rcv1subset2", "yahoo-Arts1", "yahoo-Business1")


def decision_figures(folder: Path) -> dict[str, str]:
    """Return tables of the first run, of its confirmation, and numbers of both."""
    first, again = (pd.read_csv(folder / f"{name}.csv") for name in ("rules", "confirm"))
    found = {
        "rules": by_rule(first),
        "confirm": by_rule(again),
        "learners": by_learner(first),
        "datasets": by_dataset(first, again),
        "n-datasets": str(first["data"].nunique()),
        "n-models": str(len(first) // len(RULES)),
    }
    tuned = datasets(first)["macro"].unstack("rule").mean()
    gains = 100 * (tuned[list(RULES[1:])] - tuned[RULES[0]])
    svm = learners(again)["macro"].unstack("rule").loc["SVM"]
    cal500 = datasets(first).loc["cal500"]["macro"]
    mean = gains_of(first).mean()
    return found | {
        "tuned": f"{gains.min():.0f} to {gains.max():.0f}",
        "svm-again": f"{short(svm[OLD])} to {short(svm[NEW])}",
        "cal500": f"{short(cal500[OLD], 3)} to {short(cal500[NEW], 3)}",
        "macro-exact": short(mean["macro"], 5),
        "macro": short(mean["macro"], 3),
        "micro": short(mean["micro"]),
        "rare": short(mean["fewer than 10"], 3),
        "rare-n": str(gains_of(first)["fewer than 10"].notna().sum()),
        **limits(gains_of(first)),
        **{f"{name}-again": text for name, text in limits(gains_of(again)).items()},
    }


def gains_of(lines: pd.DataFrame) -> pd.DataFrame:
    """Return what the new default gains over the old one, by datasets."""
    both = datasets(lines).unstack("rule")
    return pd.DataFrame({name: both[name, NEW] - both[name, OLD] for name in COLUMNS})


def limits(gains: pd.DataFrame) -> dict[str, str]:
    """Return numbers of a run that say how far it goes."""
    fresh, rare = gains.loc[list(FRESH)].mean(), gains["fewer than 10"].dropna()
    return {
        "macro-median": short(gains["macro"].median(), 3),
        "micro-median": short(gains["micro"].median(), 3),
        "micro-better": str((gains["micro"] > 0).sum()),
        "micro-p": short(wilcoxon(gains["micro"]).pvalue, 2),
        "rare-better": str((rare > 0).sum()),
        "rare-p": short(wilcoxon(rare).pvalue, 3),
        "fresh-macro": short(fresh["macro"]),
        "fresh-micro": short(-fresh["micro"], 3),
    }


def datasets(lines: pd.DataFrame) -> pd.DataFrame:
    """Return means over partitions and learners, the unit of the protocol."""
    return lines.groupby(["data", "rule"])[list(COLUMNS)].mean()


def learners(lines: pd.DataFrame) -> pd.DataFrame:
    """Return means over datasets."""
    by_data = lines.groupby(["learner", "rule", "data"])[["macro", "micro"]].mean()
    return by_data.groupby(["learner", "rule"]).mean()


def by_rule(lines: pd.DataFrame) -> str:
    """Return means over datasets, and tests of macro F against the old default."""
    of_data = datasets(lines)
    means = of_data.groupby("rule").mean()
    macro = of_data["macro"].unstack("rule")
    best = means[["macro", "micro"]].idxmax()
    rows = []
    for rule in RULES:
        cells = [
            f"**{short(value)}**" if best.get(name) == rule else short(value)
            for name, value in means.loc[rule].items()
        ]
        test = ["", ""]
        if rule != OLD:
            p = wilcoxon(macro[rule], macro[OLD]).pvalue
            test = [str((macro[rule] > macro[OLD]).sum()), short(p) if p >= 0.00005 else "< .0001"]
        rows.append([f"**{rule}**" if rule == NEW else rule, *cells, *test])
    return table_of(["Rule", *COLUMNS.values(), "better", "p"], rows)


def by_learner(lines: pd.DataFrame) -> str:
    means, rules = learners(lines), (RULES[0], OLD, NEW)
    rows = [
        [
            learner,
            *(short(means.loc[learner, rule][m]) for m in ("macro", "micro") for rule in rules),
        ]
        for learner in LEARNERS
    ]
    names = [
        f"{m}, {rules[0]}" if rule == rules[0] else rule
        for m in ("macro", "micro")
        for rule in rules
    ]
    return table_of(["Learner", *names], rows)


def by_dataset(first: pd.DataFrame, again: pd.DataFrame) -> str:
    """Return macro F of both runs, and how micro F changes."""
    one, two = (datasets(lines).unstack("rule") for lines in (first, again))
    rows = []
    for name in one.index:
        macro = [one.loc[name, ("macro", rule)] for rule in (*RULES[:2], OLD, NEW)]
        macro += [two.loc[name, ("macro", rule)] for rule in (OLD, NEW)]
        micro = [
            run.loc[name, ("micro", NEW)] - run.loc[name, ("micro", OLD)] for run in (one, two)
        ]
        changes = [short(value, 3, "+") for value in micro]
        rows.append([name, *(short(value, 3) for value in macro), *changes])
    heads = [*RULES[:2], OLD, NEW, f"confirmed: {OLD}", NEW, "micro F", "confirmed"]
    return table_of(["", *heads], rows)


def short(value: float, digits: int = 4, sign: str = "") -> str:
    """Return a number below 1 without the zero before its point."""
    return f"{value:{sign}.{digits}f}".replace("0.", ".", 1)
