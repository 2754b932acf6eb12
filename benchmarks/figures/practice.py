"""Should I resample? Studies practice and practice-sparse, by the figures of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from figures.tables import markdown
from figures.tables import table_of as rows_of

METHODS = ("Default", "Thresholds", "Weights", "MLROS", "MLSMOTE", "MLSOL", "MLSOLBagging")
WORDS = {"Default": "nothing", "Thresholds": "thresholds", "Weights": "class weights"}
LEARNERS = {
    "RandomForest": "random forest",
    "ExtraTrees": "extra trees",
    "Boosting": "gradient boosting",
    "Logistic": "logistic regression",
    "LinearSVM": "linear SVM",
}
FIGURES = {
    "f1": "F",
    "auc_roc": "AUC-ROC",
    "auc_pr": "AUCPR",
    "brier": "Brier",
    "calibration_error": "calibration error",
}
BANDS = {"fewer than 20 rows": (0, 20), "20 to 99": (20, 100), "100 and more": (100, np.inf)}
KEYS = ["dataset", "learner", "method"]


def practice_figures(folder: Path) -> dict[str, str]:
    """Return the tables of every learner that is there with all methods."""
    labels = pd.read_csv(folder / "labels.csv")
    means = complete(labels)
    here = [name for name in LEARNERS if name in means.index.get_level_values("learner")]
    datasets = list(dict.fromkeys(means.index.get_level_values("dataset")))
    found = {
        "datasets": f"{len(datasets)} dataset{'s' * (len(datasets) > 1)}: {', '.join(datasets)}"
    }
    found |= {f"table-{name}": table_of(means, name) for name in here}
    return found | {f"bands-{name}": by_band(labels, name) for name in here}


def complete(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the datasets and learners with all methods, by the means over labels."""
    means = labels.groupby([*KEYS], sort=False)[list(FIGURES)].mean()
    sizes = means.groupby(["dataset", "learner"])["f1"].transform("size")
    return means[sizes == len(METHODS)]


def table_of(means: pd.DataFrame, learner: str) -> str:
    """Return the means over datasets for a learner, in percent."""
    of = means.xs(learner, level="learner")
    table = 100 * of.groupby("method").mean().reindex(METHODS)
    return markdown(table.rename(index=WORDS, columns=FIGURES), "", "{:.1f}")


def by_band(labels: pd.DataFrame, learner: str) -> str:
    """Return F and AUCPR of labels by rarity, means over all labels of all datasets."""
    of = labels[labels["learner"] == learner]
    parts: dict[str, Any] = {}
    for measure in ("f1", "auc_pr"):
        for name, (low, high) in BANDS.items():
            band = of[(of["n_positive"] >= low) & (of["n_positive"] < high)]
            parts[f"{FIGURES[measure]}, {name}"] = band.groupby("method")[measure].mean()
    table = 100 * pd.DataFrame(parts).reindex(METHODS)
    return markdown(table.rename(index=WORDS), "", "{:.1f}")


def practice_gains(folder: Path) -> dict[str, str]:
    """Return the numbers of the page's conclusions: points gained over doing nothing."""
    labels = pd.read_csv(folder / "labels.csv")
    wide = 100 * complete(labels).unstack("method")
    rare = 100 * labels[labels["n_positive"] < 20].groupby(["learner", "method"])["f1"].mean()
    gains = {
        name: wide[name][list(METHODS[1:])].sub(wide[name, "Default"], axis=0) for name in FIGURES
    }
    mean = {name: of.groupby("learner").mean() for name, of in gains.items()}
    forests, draws = ["RandomForest", "ExtraTrees"], ["MLROS", "MLSMOTE", "MLSOL"]
    strong = [*forests, "Boosting", "Logistic"]
    boosted = {name: of.xs("Boosting", level="learner") for name, of in gains.items()}
    one_draw = boosted["auc_pr"]["MLSOL"]
    better = boosted["f1"]["MLSOLBagging"] > boosted["f1"]["Thresholds"]
    errors = wide["calibration_error"].groupby("learner").mean()
    weights = gains["f1"]["Weights"].unstack("learner")[forests]
    found = {
        f"thresholds-{learner}": f"{value:.0f}"
        for learner, value in mean["f1"]["Thresholds"].items()
    }
    return found | {
        **{
            f"rare-{learner}": f"{rare[learner]['Thresholds'] - rare[learner]['Default']:.0f}"
            for learner in ("RandomForest", "Logistic")
        },
        "draw-most": f"{mean['f1'].loc[strong, draws].max(axis=None):.0f}",
        "draw-ranking-forests": span(-mean["auc_pr"].loc[forests, draws]),
        "draw-ranking-Logistic": f"{mean['auc_pr'].loc['Logistic', draws].abs().max():.1f}",
        "bagging-auc": span(mean["auc_roc"].loc[strong, "MLSOLBagging"]),
        "bagging-ranking-Logistic": f"{mean['auc_pr'].loc['Logistic', 'MLSOLBagging']:.1f}",
        "boosting-draw": f"{one_draw.mean():.1f}",
        "boosting-draw-genbase": f"{one_draw['genbase']:.0f}",
        "boosting-draw-others": f"{one_draw.drop('genbase').max():.1f}",
        "boosting-bagging-f": f"{boosted['f1']['MLSOLBagging'].mean():.0f}",
        "boosting-bagging-better": f"{better.sum()} of {len(better)}",
        "boosting-bagging": f"{mean['auc_pr'].loc['Boosting', 'MLSOLBagging']:.1f}",
        "boosting-errors": "{Default:.0f} to {MLSOLBagging:.0f}".format(**errors.loc["Boosting"]),
        "weights-Logistic": f"{mean['f1'].loc['Logistic', 'Weights']:.0f}",
        "weights-errors": "{Default:.0f} to {Weights:.0f}".format(**errors.loc["Logistic"]),
        "weights-best": f"{weights.max(axis=None):.0f}",
        "weights-worst": f"{-weights['RandomForest'].min():.0f}",
        "weights-RandomForest": f"{-weights['RandomForest'].mean():.0f}",
        "weights-ExtraTrees": f"{-weights['ExtraTrees'].mean():.0f}",
    }


def text_figures(folder: Path) -> dict[str, str]:
    """Return how thresholds and class weights do on texts, by how many of them train."""
    cells = pd.read_csv(folder / "cells.csv")
    names = {"words": "single words", "pairs": "words and pairs"}
    methods = ["nothing", "thresholds", "class weights"]
    keys = ["words", "rows"]
    wide = 100 * cells.pivot_table(
        index=[*keys, "seed"], columns="method", values=["macro_f1", "calibration_error"]
    )
    means = wide.groupby(keys).mean()
    lines = [
        [names[words], f"{rows:,}"]
        + [f"{line['macro_f1', name]:.1f}" for name in methods]
        + [f"{line['calibration_error', name]:.1f}" for name in methods[1:]]
        for words in names
        for rows, line in means.loc[words].iterrows()
    ]
    gap = wide["macro_f1"]["thresholds"] - wide["macro_f1"]["class weights"]
    most = cells["rows"].max()
    few = gap["words"].drop(index=[20_000, most], level="rows")
    errors = means["calibration_error"].groupby("words").mean().loc["words"]
    head = ["TF-IDF of", "rows", *methods, "error, thresholds", "error, class weights"]
    return {
        "table": rows_of(head, lines),
        "few": span(few),
        "all": f"{gap['words'][most].mean():.0f}",
        "pairs": span(gap["pairs"]),
        "errors": f"{errors['thresholds']:.0f} to {errors['class weights']:.0f}",
        "rows": f"{most:,}",
    }


TODAY = {
    "goemotions_tfidf": "posts, TF-IDF",
    "goemotions_minilm": "posts, embeddings",
    "stackex_cooking": "questions, word counts",
    "imdb": "plots, word counts",
    "tox21": "molecules, fingerprints",
    "mirflickr": "images, features",
    "made": "made table",
}
TODAY_PAGES = ("goemotions_tfidf", "goemotions_minilm", "mirflickr", "tox21")  # of the guide


def today_figures(folder: Path) -> dict[str, str]:
    """Return what to do under a linear learner and a network, on data of today."""
    cells = pd.read_csv(folder / "cells.csv")
    wide = 100 * cells.pivot_table(
        index=["data", "learner"], columns="method", values=["f", "map"], sort=False
    )
    wide = wide.reindex(TODAY, level="data")
    draws = [name for name in wide["map"] if name.startswith("ML")]
    more = wide["f"][[f"thresholds, {name}" for name in draws]].sub(wide["f"]["thresholds"], axis=0)
    ranking = wide["map"][draws].sub(wide["map"]["nothing"], axis=0)
    gain = wide["f"]["thresholds"] - wide["f"]["nothing"]
    found = {f"more-{data}": span(more.loc[data]) for data in TODAY_PAGES}
    found["gain-goemotions_tfidf"] = f"{gain['goemotions_tfidf', 'linear']:.0f}"
    for learner in ("linear", "network"):
        of = wide.xs(learner, level="learner").rename(index=TODAY).dropna(axis=1, how="all")
        found[f"f-{learner}"] = markdown(of["f"], "", "{:.1f}")
        found[f"map-{learner}"] = markdown(of["map"][["nothing", *draws]], "", "{:.1f}")
        for name, values in (("thresholds", gain), ("more", more), ("ranking", ranking)):
            found[f"{name}-{learner}"] = span(values.xs(learner, level="learner"))
    return found


def span(values: pd.DataFrame | pd.Series) -> str:
    """Return the least and the largest of some numbers."""
    return f"{values.min(axis=None):.1f} to {values.max(axis=None):.1f}"
