"""Thresholds or class weights? Logistic regression on TF-IDF of texts, by how many rows train.

    LABELANCE_DATA=... python results/practice-text/practice_text.py --keep cells.csv

The texts are those of GoEmotions (Demszky et al., ACL 2020), 27 emotions and "neutral", in its own
parts: ``street/goemotions.tsv.gz`` has a line for each text with part, numbers of labels and text.
Where that file is not in the folder, there is nothing to do.

- Some rows of the training part, drawn by a seed, or all of them; the test part judges.
- A regression for each label (C=1) on single words, as `TfidfVectorizer` has them by default, and
  on words and pairs of them (in three texts or more, logarithms of counts).
- "nothing" predicts from 0.5 on; "thresholds" is `LabelThresholds` around the same pipeline, which
  finds them out of fold; "class weights" has ``class_weight="balanced"`` and predicts from 0.5 on.
- Macro F (an empty label counts 0), micro F, AUCPR and calibration error.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from labelance.decisions import LabelThresholds
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_auc_pr, macro_calibration_error, macro_f1, micro_f1

FILE = Path("street", "goemotions.tsv.gz")
N_LABELS = 28
SIZES = (5_000, 10_000, 20_000)  # and all
SEEDS = (0, 1, 2)
WORDS = {"words": {}, "pairs": {"ngram_range": (1, 2), "min_df": 3, "sublinear_tf": True}}


def read_texts(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the part of every text, the texts, and their labels."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    part, numbers, texts = (np.array(column, dtype=object) for column in zip(*lines))
    y = np.zeros((len(texts), N_LABELS), dtype=int)
    for row, labels in enumerate(numbers):
        y[row, [int(label) for label in labels.split(",")]] = 1
    return part, texts, y


def models(words: str, seed: int) -> dict[str, object]:
    """Return what is compared, by name."""

    def regression(weight: str | None) -> object:
        each = LogisticRegression(C=1.0, class_weight=weight, max_iter=1000)
        return make_pipeline(TfidfVectorizer(**WORDS[words]), BinaryRelevance(each))

    return {
        "nothing": regression(None),
        "thresholds": LabelThresholds(regression(None), random_state=seed),
        "class weights": regression("balanced"),
    }


def measure(path: Path) -> pd.DataFrame:
    """Return the figures of every size, seed and method."""
    part, texts, y = read_texts(path)
    train, test = np.flatnonzero(part == "train"), np.flatnonzero(part == "test")
    sizes = [(size, seed) for size in SIZES for seed in SEEDS] + [(len(train), 0)]
    found = []
    for words, (size, seed) in product(WORDS, sizes):
        rows = np.random.default_rng(seed).permutation(train)[:size]
        for name, model in models(words, seed).items():
            began = time.process_time()
            model.fit(texts[rows], y[rows])
            seconds = time.process_time() - began
            decided, proba = model.predict(texts[test]), model.predict_proba(texts[test])
            line = {
                "words": words, "rows": size, "seed": seed, "method": name,
                "macro_f1": macro_f1(y[test], decided), "micro_f1": micro_f1(y[test], decided),
                "auc_pr": macro_auc_pr(y[test], proba),
                "calibration_error": macro_calibration_error(y[test], proba),
                "cpu_seconds": seconds,
            }  # fmt: skip
            print(*(f"{v:.4g}" if isinstance(v, float) else v for v in line.values()), flush=True)
            found.append(line)
    return pd.DataFrame(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="a CSV file for the figures")
    options = parser.parse_args()
    path = Path(os.environ.get("LABELANCE_DATA", ""), FILE)
    if not path.is_file():
        print(f"{FILE} is not in the folder that LABELANCE_DATA names: nothing to do")
        return
    found = measure(path)
    if options.keep:
        options.keep.parent.mkdir(parents=True, exist_ok=True)
        found.to_csv(options.keep, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
