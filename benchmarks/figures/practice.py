"""Should I resample? Studies practice and practice-sparse, by the figures of labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from figures.tables import markdown

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
