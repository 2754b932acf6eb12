"""How long a study takes: by cells that are finished, or by small fits where there are none."""

from __future__ import annotations

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
from labelance._utils._kernel import compilation_seconds
from labelance._utils._notebook import draw_result
from labelance.datasets import dataset_info
from labelance.decisions._held_out import CV_FOLDS
from labelance.exceptions import InputError, LabelanceError
from labelance.model_selection import multilabel_train_test_split
from labelance.study._data import StudyData, load_source
from labelance.study._design import build_learner
from labelance.study._evaluate import labels_for
from labelance.study._store import Store
from labelance.study._study import Cell, Study

Pair = tuple[str, str]  # a dataset and a learner
Probed = tuple[dict[Pair, float], dict[Pair, str]]  # costs and failures

# Models on two of three folds, next to the one on all rows.
_CV_MODELS = 1 + CV_FOLDS * (1 - 1 / CV_FOLDS)
# How long the number of workers is believed before what they have done.
_TRUST_SECONDS = 30.0
# What the rows of a store say about costs.
_COSTS = ("cpu_seconds", "predict_seconds")


def models_to_fit(study: Study, cells: Iterable[Cell]) -> dict[Pair, float]:
    """Return how many models cells need, for every dataset and learner.

    Methods of one family share their members: a single model costs nothing in addition to its
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

    It is the geometric mean of what the learner, or else any learner, costs elsewhere, in
    proportion to the sizes of the datasets.

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
    if not known:
        return {}
    names = {dataset for dataset, _ in [*pairs, *known]}
    size = sizes if sizes and names <= sizes.keys() else dict.fromkeys(names, 1.0)
    rates: dict[str, list[float]] = defaultdict(list)
    for (dataset, learner), cost in known.items():
        rates[learner].append(np.log(max(cost, 1e-9) / size[dataset]))
    all_rates = [rate for some in rates.values() for rate in some]
    return {
        (dataset, learner): known.get((dataset, learner))
        or size[dataset] * float(np.exp(np.mean(rates.get(learner, all_rates))))
        for dataset, learner in pairs
    }


def total_work(models: Mapping[Pair, float], costs: Mapping[Pair, float]) -> float:
    """Return the seconds that models take one after the other."""
    return sum(number * costs[pair] for pair, number in models.items())


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
        done, elapsed = total_work(self._models, costs) - left, time.perf_counter() - self._begun
        # What was measured takes the place of the number of workers within a minute.
        return left * (elapsed + _TRUST_SECONDS) / (done + self.workers * _TRUST_SECONDS)


def unfinished(study: Study, rows: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return the cells of a study that are not among finished rows."""
    finished = {Cell(*(row[name] for name in Cell._fields)) for row in rows}
    return [cell for cell in study.cells() if cell not in finished]


_MOST_ROWS = 240  # of a small fit; half as many are fitted, too
# The power of the rows with which the cost of a model grows, next to what each fit costs anyway:
# for trees and neighbors between hundreds and thousands of rows, about.
_GROWTH = 1.3
_LEAST_GROWING = 0.1  # share of a fit's time: differences of short times are noise


def _probe(study: Study, pairs: Iterable[Pair], seconds: float) -> Probed:
    """Fit learners to a few rows of datasets, and scale the times up.

    Returns what one model on the training rows of a fold should take, and what could not be
    fitted, or not even loaded (then the learner is ""). Small datasets come first; what is
    not reached in time is left out, and :func:`all_costs` guesses it from the rest.
    """
    learners: dict[str, list[str]] = defaultdict(list)
    for name, learner in pairs:
        learners[name].append(learner)
    sizes, ends = sizes_of(study), _clock() + seconds
    costs: dict[Pair, float] = {}
    failures: dict[Pair, str] = {}
    for name in sorted(learners, key=lambda name: sizes.get(name, 0)):
        if _clock() >= ends:
            break
        try:
            data = load_source(study.dataset(name))
        except Exception as error:  # a user's generator may raise anything
            own = isinstance(error, LabelanceError)
            failures[name, ""] = str(error) if own else f"{type(error).__name__}: {error}"
            continue
        for learner in learners[name]:
            try:
                costs[name, learner] = _small_fits(study, learner, data)
            except Exception as error:  # a user's learner may raise anything
                failures[name, learner] = f"{type(error).__name__}: {error}"
    return costs, failures


def _clock() -> float:
    """Return seconds of the clock, without those in which kernels are compiled."""
    return time.perf_counter() - compilation_seconds()


def sizes_of(study: Study) -> dict[str, float]:
    """Return a power of rows times labels of datasets of the catalogue: what costs grow with.

    The power is that of the paper's study, with which the smaller half of its datasets foretells
    the cost of all within a sixth.
    """
    found = {}
    for source in study.datasets:
        if source.path is None and source.make is None:
            try:
                info = dataset_info(source.name)
            except InputError:
                continue
            found[source.name] = float(info.n_samples * info.n_labels) ** 0.7
    return found


def _small_fits(study: Study, learner: str, data: StudyData) -> float:
    """Return what a fit of the training rows of a fold takes, by fits of few rows and of half."""
    n_train = data.Y.shape[0] * (study.folds - 1) // study.folds
    rows = max(2, min(_MOST_ROWS, n_train))
    _fit_and_score(study, learner, data, rows // 2)  # compiles, if needed
    half, whole = (_fit_and_score(study, learner, data, n) for n in (rows // 2, rows))
    return scaled_up(half, whole, rows, n_train)


def scaled_up(half: float, whole: float, rows: int, n: int) -> float:
    """Return what a fit of ``n`` rows takes, by the times of ``rows`` and of half as many.

    Only what the larger fit took beyond the other grows.

    Examples
    --------
    >>> from labelance.study._forecast import scaled_up
    >>> round(scaled_up(1 + 60**1.3, 1 + 120**1.3, 120, 6000) / 6000**1.3, 2)
    1.0
    """
    grown = max(whole - half, _LEAST_GROWING * whole)
    return whole + grown * ((n / rows) ** _GROWTH - 1) / (1 - 0.5**_GROWTH)


def _fit_and_score(study: Study, learner: str, data: StudyData, n: int) -> float:
    X, Y = _some_rows(data, n)
    begun = time.process_time()
    built = build_learner(study.learner(learner).component, data.nominal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
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
    """

    total: int
    done: int
    failed: int
    cpu_seconds: float | None
    costs: dict[Pair, float] = field(default_factory=dict)
    origins: dict[Pair, str] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Return how many cells a run would do."""
        return self.total - self.done - self.failed

    def _repr_html_(self) -> str:
        seconds = "" if self.cpu_seconds is None else f", about {self.cpu_seconds:,.0f} CPU s"
        pairs = list(self.costs)
        return draw_result(
            f"{self.left} of {self.total} cells to do{seconds}",
            {
                "dataset": [dataset for dataset, _ in pairs],
                "learner": [learner for _, learner in pairs],
                "CPU s": [self.costs[pair] for pair in pairs],
                "origin": [self.origins.get(pair, "") for pair in pairs],
            },
            order=sorted(range(len(pairs)), key=lambda place: -self.costs[pairs[place]]),
            things="pairs",
            facts=[
                f"{learner} on {name} failed: {why}"
                for (name, learner), why in self.failures.items()
            ],
        )


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
    )
