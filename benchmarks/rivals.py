"""Methods since 2012 over MLSOL, and learners over binary relevance, in processor time.

A first call on a part of the rows compiles what is compiled. Needs the real datasets: set
LABELANCE_DATA, or let them be downloaded.

    python benchmarks/rivals.py
    python benchmarks/rivals.py --only bibtex --repeats 1 --samplers
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial
from typing import Any

from imblearn.over_sampling import SMOTE

from _measure import interleaved_seconds
from labelance.datasets import MultiLabelDataset, load_dataset
from labelance.exceptions import LabelanceWarning
from labelance.learners import IRUS, MCE, BinaryRelevance, PerLabel
from labelance.sampling import LSDMLO, MLBOTE, MLSOL, UCLSO

DATASETS = ("yeast",)


def make_samplers(nominal: Any) -> dict[str, Any]:
    """Return the samplers, the one that the others are held against first."""
    kinds = {"MLSOL": MLSOL, "UCLSO": UCLSO, "MLBOTE": MLBOTE, "LSDMLO": LSDMLO}
    some = {
        name: kind(categorical_features=nominal, random_state=0) for name, kind in kinds.items()
    }
    some["UCLSO"].set_params(max_synthetic=None)
    return some


def make_learners(nominal: Any) -> dict[str, Any]:
    """Return the learners, the one that the others are held against first."""
    seeded = {"categorical_features": nominal, "random_state": 0}
    return {
        "BinaryRelevance": BinaryRelevance(categorical_features=nominal),
        "PerLabel": PerLabel(**seeded),
        "PerLabel of SMOTE": PerLabel(SMOTE(k_neighbors=1), **seeded),
        "PerLabel of UCLSO": PerLabel(UCLSO(max_synthetic=None), **seeded),
        "IRUS": IRUS(**seeded),
        "MCE": MCE(**seeded),
    }


def measure(title: str, calls: dict[str, Any], data: MultiLabelDataset, repeats: int) -> None:
    """Print the seconds of every call on all rows, and how many times the first one's."""
    part = data.take(range(0, data.Y.shape[0], 8))
    for call in calls.values():
        call(part.values, part.Y)
    timed = {name: partial(call, data.values, data.Y) for name, call in calls.items()}
    seconds = interleaved_seconds(timed, repeats, time.process_time)
    first = next(iter(seconds.values()))
    for name, needed in seconds.items():
        print(f"{title:<8} {name:<18} {needed:8.2f} s {needed / first:8.1f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=DATASETS, metavar="DATASET")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--samplers", action="store_true", help="leave the learners out")
    options = parser.parse_args()
    warnings.simplefilter("ignore", LabelanceWarning)
    for name in options.only:
        data = load_dataset(name)
        nominal = data.categorical_features if data.categorical_features.any() else None
        samplers, learners = make_samplers(nominal), make_learners(nominal)
        measure(name, {n: s.fit_resample for n, s in samplers.items()}, data, options.repeats)
        if not options.samplers:
            measure(name, {n: s.fit for n, s in learners.items()}, data, options.repeats)


if __name__ == "__main__":
    main()
