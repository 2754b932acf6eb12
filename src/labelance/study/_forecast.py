"""What a run would do and how long it would take, before it begins."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from labelance.study._probe import probe_study, sizes_of
from labelance.study._progress import (
    Pair,
    all_costs,
    measured_costs,
    models_to_fit,
    total_work,
    unfinished,
)
from labelance.study._store import Store
from labelance.study._study import Study

Origin = Literal["measured", "probed", "guessed"]


@dataclass(frozen=True)
class Forecast:
    """What a run would do.

    Parameters
    ----------
    total, done, failed : int
        The cells of the study, and those that the store has.
    cpu_seconds : float or None
        What the rest takes of processors, about; None if nothing could be measured.
    origins : dict of (dataset, learner) to str
        Whether the cost was measured (by cells in the store), probed, or guessed from others.
    failures : dict of (dataset, learner) to str
        What the probe could not load or fit.
    """

    total: int
    done: int
    failed: int
    cpu_seconds: float | None
    origins: dict[Pair, Origin] = field(default_factory=dict)
    failures: dict[Pair, str] = field(default_factory=dict)

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
    costs_of = ("cpu_seconds", "predict_seconds")
    there = store is not None and Path(store).exists()
    rows = (
        Store(store, read_only=True).rows(study, columns=costs_of)
        if there and store is not None
        else []
    )
    models = models_to_fit(study, unfinished(study, rows))
    measured = measured_costs(study, rows)
    probe = probe_study(
        study, pairs=[pair for pair in models if pair not in measured], seconds=probe_seconds
    )
    known = {**probe.costs, **measured}
    costs = all_costs(known, models, sizes=sizes_of(study))
    origins: dict[Pair, Origin] = {
        pair: "measured" if pair in measured else "probed" if pair in probe.costs else "guessed"
        for pair in models
    }
    failed = sum(row["status"] == "failed" for row in rows)
    return Forecast(
        total=len(study.cells()),
        done=len(rows) - failed,
        failed=failed,
        cpu_seconds=total_work(models, costs) if costs or not models else None,
        origins=origins,
        failures=probe.failures,
    )
