"""What to do about rare labels under a linear learner and a network, on data of today.

    LABELANCE_DATA=... python results/practice-today/practice_today.py --keep cells.csv

The protocol, committed before it was run:

- The sets of ``benchmarks/street.py``, read by its functions: at most 10,000 training rows, drawn
  by a seed, and the whole test part. Three seeds where all rows are fewer than 10,000, else one.
- The linear learner is logistic regression for each label (C = 3 on sparse rows, .1 on standardised
  ones), the network has 256 hidden units and 12 rounds, on dense rows.
- "nothing" predicts from 0.5 on; "thresholds" is `LabelThresholds`, which finds them out of fold;
  "class weights" is ``class_weight="balanced"`` of the regression. "MLROS", "MLSMOTE" and "MLSOL"
  learn from one draw of the sampler with its defaults and predict from 0.5 on; with "thresholds"
  before the name, these are found on rows that were neither learned from nor resampled.
- Macro F (a label without test rows counts 0) and mAP of the test part, CPU seconds of the fit.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from imblearn.pipeline import make_pipeline
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.sampling import MLROS, MLSMOTE, MLSOL

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from street import SMALL, load, measure

DENSE = ("goemotions_minilm", "mirflickr", "made")
DATA = ("stackex_cooking", "goemotions_minilm", "imdb", "goemotions_tfidf", "made", "tox21",
        "mirflickr")  # fmt: skip
ROWS = 10_000
SAMPLERS = {"MLROS": MLROS, "MLSMOTE": MLSMOTE, "MLSOL": MLSOL}


def models(learner: str, seed: int, *, sparse: bool) -> Iterator[tuple[str, Any]]:
    """Yield what is compared, by name."""
    scale = [] if sparse else [StandardScaler()]

    def model(*first: Any, weight: str | None = None) -> Any:
        if learner == "network":
            last = MLPClassifier((256,), alpha=1e-3, batch_size=256, max_iter=12, random_state=seed)
        else:
            each = LogisticRegression(C=3 if sparse else 0.1, max_iter=200, class_weight=weight)
            last = BinaryRelevance(each)
        return make_pipeline(*scale, *first, last)

    yield "nothing", model()
    yield "thresholds", LabelThresholds(model(), random_state=seed)
    if learner == "linear":
        yield "class weights", model(weight="balanced")
    for name, sampler in SAMPLERS.items():
        yield name, model(sampler(random_state=seed))
        yield (
            f"thresholds, {name}",
            LabelThresholds(model(sampler(random_state=seed)), random_state=seed),
        )


def run(data: str, seed: int, learner: str, folder: Path) -> list[dict[str, Any]]:
    """Return the figures of every method on a set."""
    warnings.simplefilter("ignore")
    X, Y, train, test = load(data, seed, folder)
    train = np.random.default_rng(seed).permutation(train)[:ROWS]
    found = []
    for method, model in models(learner, seed, sparse=sp.issparse(X)):
        began = time.process_time()
        model.fit(X[train], Y[train])
        spent = time.process_time() - began
        scores, decided = model.predict_proba(X[test]), model.predict(X[test])
        figures = measure(Y[test], np.asarray(scores), np.asarray(decided))
        line = {
            "data": data, "rows": len(train), "seed": seed, "learner": learner, "method": method,
            "f": figures["f"], "map": figures["map"], "cpu": spent,
        }  # fmt: skip
        print(*(f"{v:.4g}" if isinstance(v, float) else v for v in line.values()), flush=True)
        found.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a CSV file for the figures")
    parser.add_argument("--jobs", type=int, default=1, help="sets at a time")
    options = parser.parse_args()
    folder = Path(os.environ.get("LABELANCE_DATA", ""), "street")
    if not folder.is_dir():
        print("The folder that LABELANCE_DATA names has no folder street: nothing to do")
        return
    cells = [
        (data, seed, learner)
        for data in DATA
        for seed in range(3 if data in SMALL else 1)
        for learner in ("linear", *["network"] * (data in DENSE))
    ]
    found = Parallel(options.jobs)(delayed(run)(*cell, folder) for cell in cells)
    if options.keep:
        lines = pd.DataFrame([line for lines in found for line in lines])
        lines.to_csv(options.keep, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
