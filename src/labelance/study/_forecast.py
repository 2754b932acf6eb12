"""How long a study takes: from cells that are finished, or from small fits."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelance._classifier import relevance
from labelance._utils._kernel import compilation_seconds, kernel_folder
from labelance.datasets import dataset_info
from labelance.decisions._held_out import CV_FOLDS
from labelance.exceptions import InputError, LabelanceError
from labelance.model_selection import multilabel_train_test_split
from labelance.study._data import StudyData, load_source
from labelance.study._design import build_learner
from labelance.study._evaluate import evaluate_cells, labels_for
from labelance.study._store import Store
from labelance.study._study import Cell, Study

Pair = tuple[str, str]  # a dataset and a learner
Probed = tuple[dict[Pair, float], dict[Pair, str]]  # costs and failures

# Models on two of three folds, beside the one on all rows.
_CV_MODELS = 1 + CV_FOLDS * (1 - 1 / CV_FOLDS)
# How long the number of workers is believed before what they have done.
_TRUST_SECONDS = 30.0
# What the rows of a store say about costs.
_COSTS = ("cpu_seconds", "predict_seconds")


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
    if method.ensemble is not None:
        members = getattr(method.ensemble.build(estimator=None), "n_estimators", 1)
        return float(members)
    crossed = method.objective is not None and method.tune_on == "cv"
    return method.n_estimators * (_CV_MODELS if crossed else 1.0)


class TimeLeft:
    """How long a study that runs will still take, by the cells that it has finished.

    Parameters
    ----------
    study : Study
        What is run.
    workers : int
        How many folds are evaluated at a time.
    """

    def __init__(self, study: Study, *, workers: int) -> None:
        self.study, self.workers = study, workers
        self._begun = time.perf_counter()
        self._models: dict[Pair, float] | None = None

    def seconds(self, store: Store) -> float | None:
        """Return the seconds left, or None as long as no cell is finished."""
        rows = store.rows(self.study, columns=_COSTS)
        models = models_to_fit(self.study, unfinished(self.study, rows))
        if self._models is None:
            self._models = models
        pairs = self._models.keys() | models.keys()
        costs = all_costs(measured_costs(self.study, rows), pairs, sizes=sizes_of(self.study))
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


_FIRST_ROWS, _MOST_ROWS = 60, 480
_REHEARSED_ROWS = 240  # as many as the searches for neighbors need to be those of larger data
# The power of the rows with which the cost of a model grows, beside what each fit costs anyway:
# for trees and neighbors between hundreds and thousands of rows, about.
_USUAL_GROWTH = 1.3
_TELLING_SECONDS = 0.02  # what fits of two sizes must differ by to say more about it
_LEAST_GROWING = 0.1  # share of a fit's time: differences of short times are noise


def _probe(study: Study, pairs: Iterable[Pair], seconds: float) -> Probed:
    """Fit learners to a few hundred rows of datasets, and scale the times up.

    Returns what one model on the training rows of a fold should take, and what could not be
    fitted, or not even loaded (then the learner is ""). Small datasets come first; what is
    not reached in time is left out, and :func:`all_costs` guesses it from the rest.
    """
    ends, wanted, sizes = _clock() + seconds, list(pairs), sizes_of(study)
    costs: dict[Pair, float] = {}
    failures: dict[Pair, str] = {}
    names = sorted(dict.fromkeys(name for name, _ in wanted), key=lambda name: sizes.get(name, 0))
    rehearsed: set[type] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for place, name in enumerate(names):
            share = (ends - _clock()) / (len(names) - place)
            if share <= 0:
                break
            try:
                data = load_source(study.dataset(name))
            except Exception as error:  # a user's generator may raise anything
                own = isinstance(error, LabelanceError)
                failures[name, ""] = str(error) if own else f"{type(error).__name__}: {error}"
                continue
            learners = [learner for dataset, learner in wanted if dataset == name]
            if (kind := type(data.X)) not in rehearsed:
                rehearsed.add(kind)
                _rehearse(study, name, learners, data, share / 2)
            ends_here = _clock() + share
            for left, learner in zip(range(len(learners), 0, -1), learners):
                try:
                    seconds_each = (ends_here - _clock()) / left
                    costs[name, learner] = _fit_growing(study, learner, data, seconds_each)
                except Exception as error:  # a user's learner may raise anything
                    failures[name, learner] = f"{type(error).__name__}: {error}"
    return costs, failures


def _clock() -> float:
    """Return seconds of the clock, without those in which kernels are compiled."""
    return time.perf_counter() - compilation_seconds()


def _rehearse(
    study: Study, name: str, learners: list[str], data: StudyData, seconds: float
) -> None:
    """Evaluate every method on a few rows, so that all that a run needs is compiled and kept."""
    X, Y = _some_rows(data, _REHEARSED_ROWS)
    cells = tuple(
        cell
        for cell in study.cells()
        if (cell.dataset, cell.repeat, cell.fold) == (name, 0, 0) and cell.learner in learners
    )
    ends = _clock() + seconds
    for _ in evaluate_cells(study, cells, StudyData(X, Y, data.nominal)):
        if _clock() > ends:
            break


def sizes_of(study: Study) -> dict[str, float]:
    """Return rows times labels of the datasets of the catalogue: what costs grow with."""
    found = {}
    for source in study.datasets:
        if source.path is None and source.make is None:
            try:
                info = dataset_info(source.name)
            except InputError:
                continue
            found[source.name] = float(info.n_samples * info.n_labels)
    return found


def _fit_growing(study: Study, learner: str, data: StudyData, seconds: float) -> float:
    """Fit twice as many rows each time, as long as the next fit is within the share of time.

    Two sizes are fitted in any case: one does not tell what of its time grows with the rows.
    """
    n_train = data.Y.shape[0] * (study.folds - 1) // study.folds
    n = max(1, min(_FIRST_ROWS, n_train // 2))
    times: dict[int, float] = {}
    _fit_and_score(study, learner, data, *_some_rows(data, n))  # compiles, if needed
    ends = time.perf_counter() + seconds
    while n <= min(n_train, _MOST_ROWS):
        times[n] = _fit_and_score(study, learner, data, *_some_rows(data, n))
        if len(times) > 1 and time.perf_counter() + 3 * times[n] > ends:
            break
        n *= 2
    return scaled_up(times, n_train)


def scaled_up(times: Mapping[int, float], n: int) -> float:
    """Return what a fit of ``n`` rows takes, by the times of fewer rows, each half of the next.

    Of the largest fit, only what it took beyond the one of half as many rows grows: by a power of
    the rows that three sizes tell.

    Examples
    --------
    >>> from labelance.study._forecast import scaled_up
    >>> round(scaled_up({60: 60**1.3, 120: 120**1.3}, 6000) / 6000**1.3, 2)
    1.0
    >>> round(scaled_up({60: 1 + 60**2, 120: 1 + 120**2, 240: 1 + 240**2}, 6000) / 6000**2, 2)
    1.0
    """
    rows, power = max(times), _USUAL_GROWTH
    whole, half, quarter = (times.get(rows // part, 0.0) for part in (1, 2, 4))
    grown = max(whole - half, _LEAST_GROWING * whole)
    if quarter and min(whole - half, half - quarter) >= _TELLING_SECONDS:
        power = min(max(math.log2((whole - half) / (half - quarter)), 1.0), 2.0)
    before = rows / 2 if half else 0.0
    return whole + grown * (n**power - rows**power) / (rows**power - before**power)


def _fit_and_score(study: Study, learner: str, data: StudyData, X: Any, Y: Any) -> float:
    begun = time.process_time()
    built = build_learner(study.learner(learner).component, data.nominal)
    relevance(built.fit(X, labels_for(built, Y)), X)
    return max(time.process_time() - begun, 1e-4)


def _some_rows(data: StudyData, n: int) -> tuple[Any, Any]:
    total = data.Y.shape[0]
    if n >= total:
        return data.X, data.Y
    rows = multilabel_train_test_split(
        list(range(total)), data.Y, sizes=(n, total - n), random_state=0
    )[0]
    return data.X[rows], data.Y[rows]


@dataclass(frozen=True)
class Forecast:
    """What a run would do.

    Parameters
    ----------
    total, done, failed : int
        The cells of the study, and those that the store has.
    cpu_seconds : float or None
        What the rest takes of processors, about; None if nothing could be measured.
    costs : dict of (dataset, learner) to float
        Seconds for one model.
    origins : dict of (dataset, learner) to str
        Whether that cost was measured by cells in the store, probed by small fits, or guessed
        from others.
    failures : dict of (dataset, learner) to str
        What the probe could not load or fit.
    compile_seconds : float
        What the probe spent on compiling kernels, which is not in ``cpu_seconds``.
    keeps_kernels : bool
        Whether a run finds them compiled; else every process of it compiles them again.
    """

    total: int
    done: int
    failed: int
    cpu_seconds: float | None
    costs: dict[Pair, float] = field(default_factory=dict)
    origins: dict[Pair, str] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    compile_seconds: float = 0.0
    keeps_kernels: bool = True

    @property
    def left(self) -> int:
        """Return how many cells a run would do."""
        return self.total - self.done - self.failed


def forecast_study(
    study: Study, store: str | os.PathLike[str] | None = None, *, probe_seconds: float = 20.0
) -> Forecast:
    """Count what a run would do, and estimate what it costs; nothing is written.

    Parameters
    ----------
    study : Study
        The plan.
    store : path, optional
        What it has is not counted, and says what cells cost; it need not exist.
    probe_seconds : float, default=20.0
        How long to try learners on a few rows, where no cell is finished yet.

    Examples
    --------
    >>> from labelance.study import forecast_study, load_study
    >>> small = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> forecast = forecast_study(small, probe_seconds=1)
    >>> forecast.left, forecast.origins
    (14, {('small', 'MLkNN'): 'probed'})
    """
    study.check()
    there = store is not None and Path(store).exists()
    rows = (
        Store(store, read_only=True).rows(study, columns=_COSTS)
        if there and store is not None
        else []
    )
    models = models_to_fit(study, unfinished(study, rows))
    measured = measured_costs(study, rows)
    compiled = compilation_seconds()
    probed, failures = _probe(
        study, [pair for pair in models if pair not in measured], probe_seconds
    )
    known = {**probed, **measured}
    costs = all_costs(known, models, sizes=sizes_of(study))
    origins = {
        pair: "measured" if pair in measured else "probed" if pair in probed else "guessed"
        for pair in models
    }
    failed = sum(row["status"] == "failed" for row in rows)
    return Forecast(
        total=len(study.cells()),
        done=len(rows) - failed,
        failed=failed,
        cpu_seconds=total_work(models, costs) if costs or not models else None,
        costs=costs,
        origins=origins,
        failures=failures,
        compile_seconds=compilation_seconds() - compiled,
        keeps_kernels=kernel_folder() is not None,
    )
