"""Where the work of a study is done: here, in processes, or on a Dask cluster."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from queue import SimpleQueue
from typing import Any

from joblib import cpu_count, effective_n_jobs

from labelance._utils import optional_import
from labelance.exceptions import StudyError
from labelance.study._cells import Cell, Task
from labelance.study._folds import StudyData
from labelance.study._job import Job, signed
from labelance.study._study import Study
from labelance.study._work import Row, do_task
from labelance.study._worker import Worker, do_guarded

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
