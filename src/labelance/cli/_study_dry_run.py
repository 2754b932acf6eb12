"""``labelance study run --dry-run``: what a run would do, and how long it would take."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labelance
from labelance.cli._console import errors, print_json, say
from labelance.cli._study_watch import span

if TYPE_CHECKING:
    from labelance.study import Study

_PARTS = ("datasets", "learners", "methods")


def tell_plan(study: Study, path: Path, *, workers: int, as_json: bool) -> None:
    """Print the sizes of a plan, what the store has of it, and about how long the rest takes."""
    with errors.status("Trying learners on a few rows …"):
        forecast = labelance.study.forecast_study(study, path)
    if as_json:
        print_json(_document(study, path, workers, forecast))
        return
    product = " x ".join(f"{len(getattr(study, part))} {part}" for part in _PARTS)
    say(
        f"{study.name}: {product} x {study.repeats} repeats x {study.folds} folds = "
        f"{forecast.total} cells"
    )
    say(f"{path} has {forecast.done} of them done and {forecast.failed} failed"
        if path.exists() else f"{path} does not exist yet")  # fmt: skip
    for (dataset, learner), error in forecast.failures.items():
        say(f"warning: {' with '.join(filter(None, (dataset, learner)))}: {error}")
    if forecast.cpu_seconds is None:
        say(f"{forecast.left} cells to do; nothing says how long that takes")
        return
    origins = Counter(forecast.origins.values())
    by = ", ".join(f"{number} {origin}" for origin, number in origins.items())
    say(
        f"{forecast.left} cells to do: about {span(forecast.cpu_seconds / workers)} with "
        f"{workers} process{'es' * (workers > 1)}"
        + (f" (cost of a model by dataset and learner: {by})" if by else "")
    )


def _document(study: Study, path: Path, workers: int, forecast: Any) -> dict[str, Any]:
    return {
        "study": study.name,
        "config": study.hash,
        "store": str(path),
        **{part: [item.name for item in getattr(study, part)] for part in _PARTS},
        "repeats": study.repeats,
        "folds": study.folds,
        **{name: getattr(forecast, name) for name in ("total", "done", "failed", "left")},
        "cpu_seconds": forecast.cpu_seconds,
        "workers": workers,
        "costs": [
            {"dataset": dataset, "learner": learner, "origin": origin}
            for (dataset, learner), origin in forecast.origins.items()
        ],
        "failures": [
            {"dataset": dataset, "learner": learner, "error": error}
            for (dataset, learner), error in forecast.failures.items()
        ],
    }
