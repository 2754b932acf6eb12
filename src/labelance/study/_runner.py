"""Run a study: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import os
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Literal

from joblib import cpu_count, effective_n_jobs

from labelance._utils import optional_import
from labelance.exceptions import StudyError
from labelance.study._config import plan_of
from labelance.study._data import Shelf, StudyData, describe, load, open_shelf
from labelance.study._design import Cell, Task, tasks_of
from labelance.study._evaluate import Row, do_task, failure
from labelance.study._measures import environment
from labelance.study._store import Store
from labelance.study._study import Study
from labelance.study._worker import Worker, do_guarded


@dataclass(frozen=True)
class Job:
    """A study, the store it goes to, who runs it, and where its data lie."""

    study: Study
    store: Store
    runner: str
    shelf: Shelf

    def claimed(self, *, by_learner: bool = False) -> Iterator[Task]:
        """Yield work that nobody else has, claimed when it is asked for and not before."""
        for task in tasks_of(self._pending(), by_learner=by_learner):
            if not self.store.claim(task, self.runner):
                continue
            finished = self.store.status(self.study)
            left = tuple(cell for cell in task.cells if cell not in finished)
            if not left:
                self.store.release(self.runner, task)
            elif self._has_data(task, left):
                yield replace(task, cells=left)

    def claimed_again(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield, one by one, the cells of tasks that nobody has finished since."""
        finished = self.store.status(self.study)
        for task in tasks:
            for cell in task.cells:
                if cell not in finished and self.store.claim(task, self.runner):
                    yield replace(task, cells=(cell,))

    def keep(self, task: Task, finished: Iterable[list[Row]]) -> int:
        """Write rows of a task as they come, while the fold is ours; return how many."""
        count = 0
        for rows in finished:
            self.store.add(signed(rows, self.runner))
            count += len(rows)
            if not self.store.holds(task, self.runner):
                return count  # we were taken for dead, and the fold is somebody else's
        if count == len(task.cells):
            self.store.release(self.runner, task)
        return count

    def fail(self, cells: Iterable[Cell], error: str | None = None) -> int:
        """Write that cells have failed, of this error or the one being handled."""
        rows = [failure(self.study, cell, error) for cell in cells]
        self.store.add(signed(rows, self.runner))
        return len(rows)

    def _has_data(self, task: Task, cells: tuple[Cell, ...]) -> bool:
        """Lay the data of a task ready; if they cannot be had, its cells have failed."""
        source = self.study.dataset(task.dataset)
        if self.shelf.has(source):
            return True
        try:
            data = load(source)
        except BaseException:
            self.fail(cells)
            return False
        self.shelf.put(source, data)
        self.store.describe(source, describe(source.name, data))
        return True

    def _pending(self) -> list[Cell]:
        finished = self.store.status(self.study)
        return [cell for cell in self.study.cells() if cell not in finished]


def signed(rows: list[Row], runner: str) -> list[dict[str, Any]]:
    """Add to rows who computed them, where, and with what."""
    return [{**row, **environment(), "runner": runner} for row in rows]


# How long a scheduler may take to answer, and a cluster may be without any worker.
_ANSWER_SECONDS, _NO_WORKER_SECONDS = 10.0, 120.0


class Executor(ABC):
    """Does the tasks of a job; ``run`` says how many cells it finished."""

    def __init__(
        self,
        *,
        n_jobs: int | None = None,
        address: str | None = None,
        cell_timeout: float | None = None,
    ) -> None:
        self.n_jobs, self.address, self.cell_timeout = n_jobs, address, cell_timeout

    @abstractmethod
    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""


class Serial(Executor):
    """One fold after the other, in this process; with a time limit, in one other process."""

    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""
        if self.cell_timeout is not None:
            return Processes(n_jobs=1, cell_timeout=self.cell_timeout).run(job)
        return sum(
            job.keep(task, do_task(job.study, task, job.shelf.get(task.dataset)))
            for task in job.claimed()
        )


class Processes(Executor):
    """A worker process for each core; what they finish is written here."""

    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""
        n_jobs = effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        with ThreadPoolExecutor(n_jobs) as threads, _Workers(n_jobs) as workers:

            def do(task: Task, *, last: bool = False) -> int:
                with workers.one() as worker:
                    rows = do_guarded(
                        worker, job.study, task, job.shelf, timeout=self.cell_timeout, last=last
                    )
                    return job.keep(task, rows)

            count, tasks, busy = 0, [], set[Future[int]]()
            # A fold is claimed when a process is free for it, so that other runners find work.
            for task in job.claimed():
                tasks.append(task)
                busy.add(threads.submit(do, task))
                if len(busy) == n_jobs:
                    done, busy = wait(busy, return_when=FIRST_COMPLETED)
                    count += sum(future.result() for future in done)
            count += sum(future.result() for future in busy)
            # Cells at which a process died are tried once more, alone on this machine: they may
            # have been innocent, and what dies again is guilty.
            return count + sum(do(task, last=True) for task in job.claimed_again(tasks))


class _Workers:
    """Worker processes that threads borrow."""

    def __init__(self, n_jobs: int) -> None:
        # What is computed with one worker must not depend on how many cores there are either.
        n_threads = None if n_jobs == 1 else max(1, cpu_count() // n_jobs)
        self.workers = [Worker(n_threads) for _ in range(n_jobs)]
        self.free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self.workers:
            self.free.put(worker)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            worker.close()

    @contextmanager
    def one(self) -> Iterator[Worker]:
        """Yield a worker that nobody else has."""
        worker = self.free.get()
        try:
            yield worker
        finally:
            self.free.put(worker)


class Dask(Executor):
    """Any Dask cluster: data are scattered, rows come back and are written here."""

    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""
        distributed = optional_import("distributed", extra="dask", purpose="The Dask executor")
        tasks = job.claimed(by_learner=True)
        first = next(tasks, None)
        if first is None:
            return 0  # a cluster is not started for nothing
        with self._client(distributed) as client:
            cluster = _Cluster(distributed, client, job, self.cell_timeout)
            lost = cluster.do(chain([first], tasks))
            # A worker that dies takes innocent tasks with it, and data. All come back once
            # more; what is lost twice is tried cell by cell, with nothing else on the cluster.
            lost = cluster.do(lost)
            for task in job.claimed_again(lost):
                cluster.do([task], last=True)
            return cluster.count

    def _client(self, distributed: Any) -> Any:
        if self.address is None:
            import dask

            # Whom to blame for a dead worker is our question, not the scheduler's.
            with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
                return distributed.Client(
                    n_workers=self.n_jobs, threads_per_worker=1, dashboard_address=None
                )
        try:
            return distributed.Client(self.address, timeout=_ANSWER_SECONDS)
        except (OSError, ValueError, TypeError) as error:
            raise StudyError(
                "The Dask executor works with the scheduler that address names",
                f"{self.address} does not answer ({_first_line(error)})",
                "Start `dask scheduler` there, or leave address out for a cluster of this machine",
            ) from error


class _Cluster:
    """Tasks of a job on a Dask cluster: sent, awaited, written, or lost with their worker."""

    def __init__(self, distributed: Any, client: Any, job: Job, timeout: float | None) -> None:
        self.distributed, self.client, self.job, self.timeout = distributed, client, job, timeout
        self.count = 0
        self._data: dict[str, Any] = {}

    def do(self, tasks: Iterable[Task], *, last: bool = False) -> list[Task]:
        """Do tasks; return what was lost of them, unless that is their failure."""
        waiting, asked, lost = self.distributed.as_completed(), {}, []
        at_once = max(1, 2 * sum(self.client.ncores().values()))
        for task in tasks:
            future = self.client.submit(
                _do_all, self.job.study, task, self._data_of(task.dataset), self.job.runner,
                self.timeout, last, pure=False,
            )  # fmt: skip
            asked[future.key] = task
            waiting.add(future)
            if waiting.count() >= at_once:
                done = self._next(waiting)
                lost += self._take(asked.pop(done.key), done, last)
        while waiting.count():
            done = self._next(waiting)
            lost += self._take(asked.pop(done.key), done, last)
        return lost

    def _data_of(self, dataset: str) -> Any:
        """Return a dataset on the cluster, sent again if it was lost with a worker."""
        if dataset not in self._data or self._data[dataset].status in ("cancelled", "lost"):
            self._await_a_worker()
            sent = self.client.scatter(
                self.job.shelf.get(dataset), hash=False, timeout=_NO_WORKER_SECONDS
            )
            self._data = {dataset: sent}
        return self._data[dataset]

    def _next(self, waiting: Any) -> Any:
        """Wait for a task, as long as there is somebody to do it."""
        looked = time.monotonic()
        while not waiting.has_ready():
            time.sleep(0.02)
            if time.monotonic() - looked > 5:
                self._await_a_worker()
                looked = time.monotonic()
        return next(waiting)

    def _await_a_worker(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_NO_WORKER_SECONDS)
        except TimeoutError as error:
            raise StudyError(
                "Workers of a Dask cluster do the cells",
                f"there has been none for {_NO_WORKER_SECONDS:.0f} seconds",
                "Start workers; the same command goes on from there",
            ) from error

    def _take(self, task: Task, future: Any, last: bool) -> list[Task]:
        """Write what a task gave; return what is missing of it, to be tried again."""
        try:
            rows = future.result()
        except Exception as error:
            if not self._is_loss(future, error):
                self.count += self.job.fail(task.cells)
                return []
            if last:
                self.count += self.job.fail(task.cells, f"WorkerDied: {_first_line(error)}")
                return []
            return [task]
        self.job.store.add(rows)
        self.count += len(rows)
        return _rest(task, rows)

    def _is_loss(self, future: Any, error: Exception) -> bool:
        if self.client.status != "running":
            raise StudyError(
                "The Dask executor works with a scheduler all the time",
                "the scheduler is gone",
                "Start it again; the same command goes on from there",
            ) from error
        return future.status != "error" or isinstance(error, self.distributed.KilledWorker)


def _do_all(
    study: Study, task: Task, data: StudyData, runner: str, timeout: float | None, last: bool
) -> list[Row]:
    """Do a task and sign its rows where they are computed: that machine, those versions."""
    if timeout is None:
        return signed(list(chain(*do_task(study, task, data))), runner)
    # A hanging thread cannot be ended, and other tasks may be in this process.
    with Worker() as worker:
        found = do_guarded(worker, study, task, data, timeout=timeout, last=last)
        return signed(list(chain(*found)), runner)


def _rest(task: Task, rows: list[Row]) -> list[Task]:
    here = {Cell(*(row[name] for name in Cell._fields)) for row in rows}
    left = tuple(cell for cell in task.cells if cell not in here)
    return [replace(task, cells=left)] if left else []


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


EXECUTORS: dict[str, type[Executor]] = {"serial": Serial, "processes": Processes, "dask": Dask}


ExecutorName = Literal["serial", "processes", "dask"]
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
    executor: ExecutorName = "processes",
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
