"""How much work is left: models to fit, times what a model costs on each dataset."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from labelance.learners import CV_FOLDS
from labelance.study._cells import Cell
from labelance.study._study import Study

Pair = tuple[str, str]  # a dataset and a learner

# Models on two of three folds, beside the one on all rows.
_CV_MODELS = 1 + CV_FOLDS * (1 - 1 / CV_FOLDS)
# How long the number of workers is believed before what they have done.
_TRUST_SECONDS = 30.0


def models_to_fit(study: Study, cells: Iterable[Cell]) -> dict[Pair, float]:
    """Return how many models cells need, for every dataset and learner.

    Methods of one family share their members: a single model costs nothing beside its
    ensemble.
    """
    needed: dict[Any, float] = {}
    for cell in cells:
        method = study.method(cell.method)
        shared = method.family if method.shares_members else method.name
        key = (cell.dataset, cell.learner, cell.repeat, cell.fold, shared)
        needed[key] = max(needed.get(key, 0.0), _n_models(study, cell))
    total: dict[Pair, float] = defaultdict(float)
    for (dataset, learner, *_), number in needed.items():
        total[dataset, learner] += number
    return dict(total)


def measured_costs(study: Study, rows: Iterable[Mapping[str, Any]]) -> dict[Pair, float]:
    """Return the seconds that a model took, for every dataset and learner with finished cells.

    It is the median over cells: the first ones may have waited for code to be compiled.
    """
    found: dict[Pair, list[float]] = defaultdict(list)
    for row in rows:
        if row["status"] == "done" and row["cpu_seconds"] is not None:
            cell = Cell(*(row[name] for name in Cell._fields))
            seconds = row["cpu_seconds"] + (row["predict_seconds"] or 0.0)
            found[cell[:2]].append(seconds / _n_models(study, cell))
    return {pair: float(np.median(costs)) for pair, costs in found.items()}


def all_costs(
    known: Mapping[Pair, float], pairs: Iterable[Pair], *, sizes: Mapping[str, float] | None = None
) -> dict[Pair, float]:
    """Guess what a model costs where nothing is known yet.

    The cost of a learner on a dataset is taken for a product of three: of the dataset's size,
    of how hard it is for its size, and of how slow the learner is. The last two come from
    what is known, in logarithms and by least squares; they are 1 for what is not.

    Parameters
    ----------
    known : mapping of (dataset, learner) to seconds
        What was measured.
    pairs : iterable of (dataset, learner)
        For which an answer is wanted.
    sizes : mapping of dataset to number, optional
        Anything that costs grow with; used if all datasets are in it.
    """
    pairs = list(pairs)
    known = {pair: cost for pair, cost in known.items() if cost > 0}
    if not known:
        return {}
    datasets = sorted({dataset for dataset, _ in [*pairs, *known]})
    learners = sorted({learner for _, learner in [*pairs, *known]})
    sizes = sizes if sizes is not None and all(name in sizes for name in datasets) else {}

    def features(pair: Pair) -> list[bool]:
        return [pair[0] == name for name in datasets] + [pair[1] == name for name in learners]

    def base(pair: Pair) -> float:
        return float(np.log(sizes.get(pair[0], 1.0)))

    logs = np.array([np.log(cost) - base(pair) for pair, cost in known.items()])
    design = np.array([features(pair) for pair in known], dtype=float)
    effects = np.linalg.lstsq(design, logs - logs.mean(), rcond=None)[0]
    return {
        pair: known.get(pair)
        or float(np.exp(base(pair) + logs.mean() + np.dot(features(pair), effects)))
        for pair in pairs
    }


def total_work(models: Mapping[Pair, float], costs: Mapping[Pair, float]) -> float:
    """Return the seconds that models take one after the other."""
    return sum(number * costs[pair] for pair, number in models.items())


def time_left(work_left: float, *, work_done: float, elapsed: float, workers: int) -> float:
    """Return the seconds until the work is done, at the speed it had so far.

    At the beginning the speed is the number of workers; what was measured takes over within
    a minute.
    """
    speed = (work_done + workers * _TRUST_SECONDS) / (elapsed + _TRUST_SECONDS)
    return work_left / speed


def _n_models(study: Study, cell: Cell) -> float:
    method = study.method(cell.method)
    crossed = method.threshold is not None and method.threshold_data == "cv"
    return method.n_estimators * (_CV_MODELS if crossed else 1.0)


class TimeLeft:
    """Say, while a study runs, how long it will still take.

    Parameters
    ----------
    study : Study
        What is run.
    workers : int
        How many cells are computed at a time.
    sizes : mapping of dataset to number, optional
        As in :func:`all_costs`.
    """

    def __init__(
        self, study: Study, *, workers: int, sizes: Mapping[str, float] | None = None
    ) -> None:
        self.study, self.workers, self.sizes = study, workers, sizes
        self._begun = time.perf_counter()
        self._models: dict[Pair, float] | None = None

    def seconds(self, rows: list[dict[str, Any]]) -> float | None:
        """Return the seconds left, or None as long as no cell is finished.

        Parameters
        ----------
        rows : list of dict
            The finished rows, with their ``cpu_seconds`` and ``predict_seconds``.
        """
        models = models_to_fit(self.study, unfinished(self.study, rows))
        if self._models is None:
            self._models = models
        pairs = self._models.keys() | models.keys()
        costs = all_costs(measured_costs(self.study, rows), pairs, sizes=self.sizes)
        if pairs and not costs:
            return None
        left = total_work(models, costs)
        return time_left(
            left,
            work_done=total_work(self._models, costs) - left,
            elapsed=time.perf_counter() - self._begun,
            workers=self.workers,
        )


def unfinished(study: Study, rows: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells of a study that are not among finished rows."""
    finished = {Cell(*(row[name] for name in Cell._fields)) for row in rows}
    return [cell for cell in study.cells() if cell not in finished]
