"""What a person sees while a study runs: how far it is, and how long it will take."""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import labelance
from labelance.cli._console import errors

if TYPE_CHECKING:
    from labelance.study import Study, Tally

# The store is asked for costs so often only, since that reads all its rows.
_ESTIMATE_SECONDS = 5.0


class Watcher:
    """Draws a line on a terminal, and nothing in a pipe."""

    def __init__(self, study: Study, path: Path, *, workers: int, quiet: bool) -> None:
        self.study, self.path = study, path
        self.shown = not quiet and errors.is_terminal
        self.time_left = labelance.study.TimeLeft(study, workers=workers)
        self.asked, self.left = -_ESTIMATE_SECONDS, ""
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}{task.fields[failed]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=errors,
            transient=True,
            disable=not self.shown,
        )

    def __enter__(self) -> Watcher:
        self.bar.start()
        self.line = self.bar.add_task(
            self.study.name, total=len(self.study.cells()), failed="", left=""
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        self.stop()

    def stop(self) -> None:
        """Take the line away."""
        self.bar.stop()

    def __call__(self, tally: Tally) -> None:
        """Show how far a study is."""
        if not self.shown:
            return
        if perf_counter() - self.asked >= _ESTIMATE_SECONDS:
            self.left, self.asked = self._estimate(), perf_counter()
        failed = f", {tally.failed} failed" if tally.failed else ""
        self.bar.update(
            self.line, completed=tally.done + tally.failed, failed=failed, left=self.left
        )

    def _estimate(self) -> str:
        store = labelance.study.Store(self.path, read_only=True)
        rows = store.rows(self.study, columns=("cpu_seconds", "predict_seconds"))
        seconds = self.time_left.seconds(rows)
        return f"about {span(seconds)} left" if seconds else ""


def n_workers(executor: str, jobs: int | None) -> int:
    """Return how many cells are computed at a time."""
    if executor == "serial":
        return 1
    cores = os.cpu_count() or 1
    return cores if jobs is None else jobs if jobs > 0 else max(1, cores + 1 + jobs)


def span(seconds: float) -> str:
    """Return a span of time in the two largest units.

    Examples
    --------
    >>> span(4.24), span(75), span(3 * 3600 + 62), span(200_000)
    ('4.2 s', '1 min 15 s', '3 h 1 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    place = next(number for number, (_, size) in enumerate(units) if seconds >= size)
    (large, size), (small, step) = units[place], units[place + 1]
    return f"{int(seconds // size)} {large} {int(seconds % size // step)} {small}"
