"""How long would it take? One small fit for each dataset and learner, scaled up."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from labelance.datasets import dataset_info
from labelance.exceptions import InputError, LabelanceError
from labelance.learners import relevance
from labelance.model_selection import multilabel_train_test_split
from labelance.study._folds import StudyData, load
from labelance.study._members import fit_member
from labelance.study._prepare import build_learner
from labelance.study._progress import Pair
from labelance.study._study import Study

_FIRST_ROWS, _MOST_ROWS = 60, 480
# Below this a fit is mostly overhead, and its growth with the rows says nothing.
_TELLING_SECONDS = 0.02
_USUAL_GROWTH = 1.2


@dataclass(frozen=True)
class Probe:
    """What small fits say of large ones.

    Parameters
    ----------
    costs : dict of (dataset, learner) to seconds
        What one model on the training rows of a fold should take.
    failures : dict of (dataset, learner) to str
        What could not be fitted, or not even loaded (then the learner is "").
    seconds : float
        What the probe itself took.
    """

    costs: dict[Pair, float] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)
    seconds: float = 0.0


def probe_study(
    study: Study, *, pairs: Iterable[Pair] | None = None, seconds: float = 20.0
) -> Probe:
    """Fit each learner to a few hundred rows of each dataset, and scale the times up.

    It writes nothing anywhere. Small datasets come first; what is not reached in time is left
    out, and :func:`all_costs` guesses it from the rest.

    Parameters
    ----------
    study : Study
        The plan.
    pairs : iterable of (dataset, learner), optional
        What to try; all pairs unless given.
    seconds : float, default=20.0
        When to stop, about.
    """
    started = time.perf_counter()
    wanted = list(dict.fromkeys(cell[:2] for cell in study.cells()) if pairs is None else pairs)
    sizes, probe = sizes_of(study), Probe()
    names = sorted(dict.fromkeys(name for name, _ in wanted), key=lambda name: sizes.get(name, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for place, name in enumerate(names):
            left = seconds - (time.perf_counter() - started)
            if left <= 0:
                break
            learners = [learner for dataset, learner in wanted if dataset == name]
            _probe_dataset(study, name, learners, left / (len(names) - place), probe)
    return Probe(probe.costs, probe.failures, time.perf_counter() - started)


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


def _probe_dataset(
    study: Study, name: str, learners: list[str], seconds: float, probe: Probe
) -> None:
    ends = time.perf_counter() + seconds
    try:
        data = load(study.dataset(name))
    except (LabelanceError, OSError) as error:
        probe.failures[name, ""] = str(error)
        return
    n_train = data.Y.shape[0] * (study.folds - 1) // study.folds
    for place, learner in enumerate(learners):
        share = (ends - time.perf_counter()) / (len(learners) - place)
        try:
            probe.costs[name, learner] = _fit_growing(study, learner, data, n_train, share)
        except Exception as error:  # anybody's learner may raise anything
            probe.failures[name, learner] = f"{type(error).__name__}: {error}"


def _fit_growing(
    study: Study, learner: str, data: StudyData, n_train: int, seconds: float
) -> float:
    """Fit twice as many rows each time, as long as the next fit is within the share of time."""
    n, times = min(_FIRST_ROWS, n_train), []
    X, Y = _some_rows(data, n)
    _fit_and_score(study, learner, data, X, Y)  # compiles, if needed
    ends = time.perf_counter() + seconds
    while True:
        times.append(_fit_and_score(study, learner, data, X, Y))
        larger = min(2 * n, n_train, _MOST_ROWS)
        if larger == n or time.perf_counter() + 3 * times[-1] > ends:
            return times[-1] * (n_train / n) ** _growth(times)
        n = larger
        X, Y = _some_rows(data, n)


def _fit_and_score(study: Study, learner: str, data: StudyData, X: Any, Y: Any) -> float:
    begun = time.process_time()
    relevance(fit_member(build_learner(study.learner(learner), data.nominal), X, Y), X)
    return max(time.process_time() - begun, 1e-4)


def _growth(times: list[float]) -> float:
    """Return the power of the rows with which the time grows, between 1 and 2."""
    if len(times) < 2 or times[-2] < _TELLING_SECONDS:
        return _USUAL_GROWTH
    return min(max(math.log2(times[-1] / times[-2]), 1.0), 2.0)


def _some_rows(data: StudyData, n: int) -> tuple[Any, Any]:
    total = data.Y.shape[0]
    if n >= total:
        return data.X, data.Y
    rows = multilabel_train_test_split(
        list(range(total)), data.Y, sizes=(n, total - n), random_state=0
    )[0]
    return data.X[rows], data.Y[rows]
