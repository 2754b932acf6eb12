"""Run a study: do what the store does not have, and write each result as soon as it is there."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, Thread
from typing import Literal

from labelance.exceptions import StudyError
from labelance.study._executors import EXECUTORS
from labelance.study._folds import Shelf, open_shelf
from labelance.study._job import Job
from labelance.study._plan_file import plan_of
from labelance.study._store import Store
from labelance.study._study import Study

Executor = Literal["serial", "processes", "dask"]
Watch = Callable[["Tally"], None]
_BEAT_SECONDS = 20


@dataclass(frozen=True)
class Tally:
    """How far a study is: cells done, failed, and asked for."""

    done: int
    failed: int
    total: int

    @property
    def left(self) -> int:
        """Return how many cells nobody has finished."""
        return self.total - self.done - self.failed


@dataclass(frozen=True)
class Outcome(Tally):
    """How far a study is when a runner stops, and which runner that was."""

    runner: str = ""


def run_study(
    study: Study,
    store: str | os.PathLike[str],
    *,
    executor: Executor = "processes",
    n_jobs: int | None = None,
    address: str | None = None,
    cell_timeout: float | None = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Do the cells of a study that a store does not have.

    Stop it at any time, in any way: what is finished is in the store, and the next run goes
    on from there. Several runners may share a store; each takes folds that no other has.

    Parameters
    ----------
    study : Study
        What to do.
    store : path
        An SQLite file; made if absent.
    executor : {"serial", "processes", "dask"}, default="processes"
        One process; several (joblib); or a Dask cluster.
    n_jobs : int, optional
        Processes, or workers of a local Dask cluster; all cores unless given.
    address : str, optional
        A Dask scheduler, for executor="dask"; a local cluster is started unless given.
    cell_timeout : float, optional
        Seconds after which a cell has failed and the next one begins; cells that share their
        models share their time. The work is then done in a process of its own in any case,
        also with executor="serial". It includes compilation, where kernels are not in the
        cache yet.
    retry_failed : bool, default=False
        Try again what failed before.
    watch : callable, optional
        Called about once a second with a :class:`Tally`.

    Returns
    -------
    Outcome
        What is done, failed and left to other runners.

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import load_study, run_study
    >>> study = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_study(study, f"{folder}/results.db", executor="serial")
    >>> outcome.done, outcome.failed
    (14, 0)
    """
    if executor not in EXECUTORS:
        raise StudyError(
            f"A study is run by one of {', '.join(EXECUTORS)}",
            f"executor is {executor!r}",
            "Choose one of these",
        )
    if n_jobs == 0:
        raise StudyError(
            "A study is run by at least one process", "n_jobs is 0", "Leave it out for all cores"
        )
    if cell_timeout is not None and not cell_timeout > 0:
        raise StudyError(
            "A cell has some time to be computed in",
            f"cell_timeout is {cell_timeout}",
            "Give more than 0 seconds, or leave it out for no limit",
        )
    study = replace(study, weighing=None)  # whoever runs code may ask it
    study.check()
    book, runner = Store(store), uuid.uuid4().hex[:12]
    spread = EXECUTORS[executor](n_jobs=n_jobs, address=address, cell_timeout=cell_timeout)
    try:
        book.remember(study, plan_of(study))
        if retry_failed:
            book.forget_failures(study)
        with open_shelf() as shelf, _heart(book, runner, shelf, study, watch):
            # Folds that another runner held, and gave back undone, are taken in a later round.
            while spread.run(Job(study, book, runner, shelf)):
                pass
        return Outcome(**vars(tally(study, book)), runner=runner)
    finally:
        # What cannot be given back now is taken from us when we are gone.
        with suppress(StudyError):
            book.release(runner)


def tally(study: Study, store: Store) -> Tally:
    """Count the cells of a study in a store."""
    status = store.status(study)
    failed = sum(one == "failed" for one in status.values())
    return Tally(len(status) - failed, failed, len(study.cells()))


@contextmanager
def _heart(
    store: Store, runner: str, shelf: Shelf, study: Study, watch: Watch | None
) -> Iterator[None]:
    """Say regularly that the runner is alive, and tell the watcher how far the study is."""
    stop = Event()

    def live() -> None:
        beats = 0
        while not stop.wait(1.0):
            beats += 1
            # A store that is busy for long must not end the beating.
            with suppress(StudyError):
                if beats % _BEAT_SECONDS == 0:
                    shelf.beat()
                    store.beat(runner)
                if watch is not None:
                    watch(tally(study, store))

    thread = Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        if watch is not None:
            watch(tally(study, store))
