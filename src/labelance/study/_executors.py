"""Where the work of a study is done: here, in processes, or on a Dask cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from typing import Any

from joblib import Parallel, delayed

from labelance._utils import optional_import
from labelance.study._cells import Task
from labelance.study._folds import StudyData
from labelance.study._job import Bench, Job, signed
from labelance.study._study import Study
from labelance.study._work import Row, do_task, failure


class Executor(ABC):
    """Does the tasks of a job; ``run`` says how many cells it finished."""

    def __init__(self, *, n_jobs: int | None = None, address: str | None = None) -> None:
        self.n_jobs, self.address = n_jobs, address

    @abstractmethod
    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""


class Serial(Executor):
    """One fold after the other, in this process."""

    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""
        bench = Bench.of(job)
        return sum(bench.do(task) for task in job.claimed())


class Processes(Executor):
    """A process for each core; they write to the store themselves."""

    def run(self, job: Job) -> int:
        """Do all the work that can be claimed."""
        bench, at_work = Bench.of(job), {}

        def claimed() -> Iterator[Any]:
            for task in job.claimed():
                at_work[task.place] = task
                yield delayed(_do_place)(bench, task)

        # A fold is claimed when a process is free for it, so that other runners find work too.
        pool = Parallel(
            n_jobs=-1 if self.n_jobs is None else self.n_jobs,
            return_as="generator_unordered",
            pre_dispatch="n_jobs",
            batch_size=1,
        )
        count = 0
        try:
            for place, done in pool(claimed()):
                del at_work[place]
                count += done
        except BrokenProcessPool:
            # Out of memory, mostly. The cells at work are failures; a new pool does the rest.
            return count + job.bury(at_work.values())
        return count


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
            waiting, count = distributed.as_completed(), 0
            at_once = 2 * sum(client.ncores().values())
            data: dict[str, Any] = {}
            asked: dict[Any, Task] = {}
            for task in chain([first], tasks):
                if task.dataset not in data:
                    data = {task.dataset: client.scatter(job.shelf.get(task.dataset))}
                future = client.submit(
                    _do_all, job.study, task, data[task.dataset], job.runner, pure=False
                )
                asked[future.key] = task
                waiting.add(future)
                if waiting.count() >= at_once:
                    count += _write(job, asked, next(waiting))
            return count + sum(_write(job, asked, future) for future in waiting)

    def _client(self, distributed: Any) -> Any:
        if self.address is not None:
            return distributed.Client(self.address)
        return distributed.Client(
            n_workers=self.n_jobs, threads_per_worker=1, dashboard_address=None
        )


def _do_place(bench: Bench, task: Task) -> tuple[tuple[str, int, int], int]:
    return task.place, bench.do(task)


def _do_all(study: Study, task: Task, data: StudyData, runner: str) -> list[Row]:
    """Do a task and sign its rows where they are computed: that machine, those versions."""
    return [row for rows in do_task(study, task, data) for row in signed(rows, runner)]


def _write(job: Job, asked: dict[Any, Task], future: Any) -> int:
    task = asked.pop(future.key)
    try:
        rows = future.result()
    except Exception:
        if future.status != "error":
            raise  # the cluster is gone, which is no fault of these cells
        rows = signed([failure(job.study, cell) for cell in task.cells], job.runner)
    job.store.add(rows)
    return len(rows)


EXECUTORS: dict[str, type[Executor]] = {"serial": Serial, "processes": Processes, "dask": Dask}
