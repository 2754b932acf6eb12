"""Run a study: in this process, in a process for each fold, or on a Dask cluster.

Which runner does which fold is settled by claims, which are files of the store.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from joblib import cpu_count, effective_n_jobs

from labelance import __version__
from labelance._utils._messages import optional_import
from labelance._utils._threads import check_n_jobs
from labelance._validation._arguments import check_choice
from labelance._versions import installed_versions
from labelance.exceptions import LabelanceError, StudyError, arg
from labelance.study._data import StudyData, describe, load_source
from labelance.study._evaluate import Row, evaluate_cells, failure
from labelance.study._store import Store
from labelance.study._study import Cell, CellGroup, Study, group_by_fold
from labelance.study._worker import FoldProcess

Executor = Literal["serial", "processes", "dask"]
Watch = Callable[["StudyProgress"], None]
_BEAT_SECONDS = 20.0
_WATCH_SECONDS = 1.0
# How long a Dask cluster may be without any worker at the beginning.
_NO_WORKER_SECONDS = 120.0


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is.

    Parameters
    ----------
    done, failed, total : int
        The cells of the study: finished, failed, and asked for.
    runner : str
        Who says so: the key of the runner in the rows of the store.
    seconds_left : float or None
        How long the rest takes if cells go on as those of this run did; None where it has finished
        none, and at the end.
    """

    done: int
    failed: int
    total: int
    runner: str = ""
    seconds_left: float | None = None

    @property
    def left(self) -> int:
        """Return how many cells no one has finished."""
        return self.total - self.done - self.failed


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
) -> StudyProgress:
    """Do the cells of a study that a store does not have.

    Stop it at any time, in any way: what is finished is in the store, and the next run goes
    on from there. Several runners may share a store; each takes folds that no other has.

    Parameters
    ----------
    study : Study
        What to do.
    store : path
        A folder; made if absent.
    executor : {"serial", "processes", "dask"}, default="processes"
        This process; a process for each fold, several at a time (a script then needs
        ``if __name__ == "__main__":``); or a Dask cluster.
    n_jobs : int, optional
        Processes, or workers of a local Dask cluster; all cores unless given.
    address : str, optional
        A Dask scheduler, for executor="dask". Unless given, the Dask client that is active in
        this process is used, or else a local cluster is started; so it is if n_jobs is given.
    cell_timeout : float, optional
        Seconds after which a cell has failed and the next one begins; cells that share their
        models share their time. The work is then done in a process of its own in any case,
        also with executor="serial"; Dask has no such limit. It includes compilation, where kernels
        are not in the cache yet.
    retry_failed : bool, default=False
        Try again what failed before.
    watch : callable, optional
        Called about once a second with a :class:`StudyProgress`, until it raises, and at the end.

    Returns
    -------
    StudyProgress
        What is done, failed and left to other runners.

    Examples
    --------
    >>> import tempfile
    >>> from labelance.study import load_study, run_study
    >>> study = load_study("quick").only(datasets=["small"], learners=["MLkNN"], repeats=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outcome = run_study(study, f"{folder}/quick.store", executor="serial")
    >>> outcome.done, outcome.failed
    (14, 0)
    """
    _check_options(executor, n_jobs, cell_timeout)
    study = replace(study.installed(), weighing=None)  # a run executes code anyway
    study.check()
    run = _Run(study, Store(store))
    try:
        run.store.remember(study)
        if retry_failed:
            status = run.store.status(study)
            run.again.update(cell for cell, said in status.items() if said == "failed")
        options = {"n_jobs": n_jobs, "address": address, "cell_timeout": cell_timeout}
        with _repeating(run.store.beat, _BEAT_SECONDS), run.watched_by(watch):
            # Folds that another runner held, and gave back undone, come in a later round.
            while _EXECUTORS[executor](run, **options):
                pass
        return run.progress()
    finally:
        # What cannot be given back now is taken from us when we are gone.
        with suppress(LabelanceError):
            run.store.release()


def _check_options(executor: str, n_jobs: int | None, cell_timeout: float | None) -> None:
    check_choice("executor", executor, _EXECUTORS)
    check_n_jobs(n_jobs)
    if cell_timeout is not None and not cell_timeout > 0:
        raise StudyError(f"{arg('cell_timeout')} must be > 0", f"Got {cell_timeout}")
    if cell_timeout is not None and executor == "dask":
        raise StudyError(
            f"{arg('cell_timeout')} needs processes of our own",
            f"Got {arg('executor', 'dask')}, whose tasks have no time limit",
        )


class _Run:
    """A study, the store it goes to, and the dataset that was needed last."""

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store
        self.again: set[Cell] = set()  # what failed before and is to be tried again
        self._loaded: dict[str, StudyData] = {}

    def claim(self, *, by_learner: bool = False) -> Iterator[tuple[CellGroup, StudyData]]:
        """Yield cells of a fold that no one else has, claimed when asked for and not before."""
        for cells in group_by_fold(self.left(self.study.cells()), by_learner=by_learner):
            fold = cells[0].place
            if not self.store.claim(fold):
                continue
            left = self.left(cells)  # another runner may have done some since
            if left and (data := self._data_for(left)) is not None:
                self.again.difference_update(left)
                yield left, data
            else:
                self.store.release(fold)

    def left(self, cells: Iterable[Cell]) -> CellGroup:
        """Return the cells that no one has finished."""
        status = self.store.status(self.study)
        return tuple(cell for cell in cells if cell not in status or cell in self.again)

    def _data_for(self, cells: CellGroup) -> StudyData | None:
        """Load the dataset of a fold; if it cannot be had, its cells have failed."""
        source = self.study.dataset(cells[0].dataset)
        if source.name not in self._loaded:
            self._loaded.clear()
            try:
                data = load_source(source)
            except BaseException:
                self.again.difference_update(cells)
                self.keep([failure(self.study, cell) for cell in cells])
                return None
            self.store.describe(source, describe(source.name, data))
            self._loaded[source.name] = data
        return self._loaded[source.name]

    def keep(self, rows: list[Row]) -> int:
        """Write rows, and return how many; those of a cluster say where they are from."""
        if rows:
            self.store.add({**environment(), "runner": self.store.runner, **row} for row in rows)
        return len(rows)

    def progress(self) -> StudyProgress:
        """Count the cells of the study in the store."""
        status = list(self.store.status(self.study).values())
        total, failed = len(self.study.cells()), status.count("failed")
        return StudyProgress(len(status) - failed, failed, total, self.store.runner)

    @contextmanager
    def watched_by(self, watch: Watch | None) -> Iterator[None]:
        """Tell the watcher about once a second how far the study is, until it raises."""
        if watch is None:
            yield
            return
        before, begun = self.progress().left, time.monotonic()

        def tell() -> None:
            now = self.progress()
            rate = (before - now.left) / (time.monotonic() - begun)
            watch(replace(now, seconds_left=now.left / rate if rate > 0 else None))

        try:
            with _repeating(tell, _WATCH_SECONDS):
                yield
        finally:
            watch(self.progress())


@contextmanager
def _repeating(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Do some work at an interval of seconds, in a thread next to the block, until it raises."""
    stop = Event()

    def live() -> None:
        with suppress(Exception):
            while not stop.wait(seconds):
                with suppress(LabelanceError):  # such as of a disk that is slow to answer
                    work()

    thread = Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


_PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "joblib")


@cache
def environment() -> dict[str, Any]:
    """Return the columns that say where and with what, the same for all cells of a process."""
    cores = f"{os.cpu_count()} cores"
    versions = dict.fromkeys(_PACKAGES, "unknown") | installed_versions(_PACKAGES)
    return {
        "version": __version__,
        "commit_id": _commit(),
        "versions": json.dumps({"python": platform.python_version(), **versions}),
        "machine": f"{platform.system()} {platform.machine()}, {cores}, {_processor()}",
    }


def _commit() -> str | None:
    """Return the commit of a checkout of ours, with a plus if files differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        # Installed somewhere inside another project, the commit would be that project's.
        if Path(git("rev-parse", "--show-toplevel")) / "src/labelance/study" != here:
            return None
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


# Executors: each does all the work that can be claimed, and returns how many cells it finished.


def _run_here(run: _Run, *, cell_timeout: float | None, **others: Any) -> int:
    """Do one fold after the other in this process; with a time limit, in other processes."""
    if cell_timeout is not None:
        return _run_in_processes(run, n_jobs=1, cell_timeout=cell_timeout)
    count = 0
    for cells, data in run.claim():
        count += sum(map(run.keep, evaluate_cells(run.study, cells, data)))
        run.store.release(cells[0].place)
    return count


def _run_in_processes(
    run: _Run, *, n_jobs: int | None, cell_timeout: float | None, **others: Any
) -> int:
    """Do several folds at a time, each in a process; what they finish is written here."""
    n_workers = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    # What is computed with one worker must not depend on how many cores there are either.
    n_threads = None if n_workers == 1 else max(1, cpu_count() // n_workers)
    claims, busy, count = run.claim(), list[FoldProcess](), 0
    try:
        while True:
            # A fold is claimed when a process is free for it, so that other runners find work.
            while len(busy) < n_workers and (claimed := next(claims, None)):
                limits: dict[str, Any] = {"timeout": cell_timeout, "n_threads": n_threads}
                busy.append(FoldProcess(run.study, *claimed, **limits))
            if not busy:
                return count
            for one in FoldProcess.wait(busy):
                count += run.keep(one.receive())
                if not one.groups:
                    one.close()
                    busy.remove(one)
                    run.store.release(one.cells[0].place)
    finally:
        for one in busy:
            one.close()


def _run_on_dask(run: _Run, *, n_jobs: int | None, address: str | None, **others: Any) -> int:
    """Do the work on any Dask cluster: a task for a fold and learner; rows are written here."""
    distributed = optional_import("distributed", extra="dask", purpose="The Dask executor")
    claims = run.claim(by_learner=True)
    first = next(claims, None)
    if first is None:
        return 0  # a cluster is not started for nothing
    with _connect(distributed, n_jobs, address) as client:
        try:
            client.wait_for_workers(1, timeout=_NO_WORKER_SECONDS)
        except TimeoutError as error:
            found = f"There has been none for {_NO_WORKER_SECONDS:.0f} seconds"
            raise StudyError("The Dask cluster has no workers", found, "Start workers") from error
        cluster = _Cluster(distributed, client, run)
        for claimed in chain([first], claims):
            cluster.submit(*claimed)
            # All workers have something to do, and something more in store.
            while len(cluster.sent) >= max(1, 2 * sum(client.ncores().values())):
                cluster.gather()
        while cluster.sent:
            cluster.gather()
        # What waited on a worker that was killed is suspected with what killed it.
        while cluster.suspects:
            cluster.submit(*cluster.suspects.pop(), send_data=True)
            cluster.gather(alone=True)
        return cluster.count


def _connect(distributed: Any, n_jobs: int | None, address: str | None) -> Any:
    if address is None and n_jobs is None:
        try:
            return nullcontext(distributed.default_client())  # its owner will close it
        except ValueError:  # there is none
            pass
    if address is None:
        return distributed.Client(n_workers=n_jobs, threads_per_worker=1, dashboard_address=None)
    try:
        return distributed.Client(address)
    except (OSError, ValueError, TypeError) as error:
        raise StudyError(
            f"The Dask scheduler at {address} does not answer",
            f"Connecting failed ({_first_line(error)})",
            "Start `dask scheduler` there, or omit address for a local cluster",
        ) from error


class _Cluster:
    """Cells of a run on a Dask cluster, which sends them again if a worker dies."""

    def __init__(self, distributed: Any, client: Any, run: _Run) -> None:
        self.distributed, self.client, self.run = distributed, client, run
        self.sent: dict[Any, tuple[CellGroup, StudyData]] = {}
        self.suspects: list[tuple[CellGroup, StudyData]] = []  # to be tried alone
        self.count = 0
        self._waiting = distributed.as_completed()
        self._there: tuple[Any, Any] = (None, None)

    def submit(self, cells: CellGroup, data: StudyData, *, send_data: bool = False) -> None:
        """Send cells; their dataset goes once, as a task that can be done again elsewhere."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of its size
            if send_data or self._there[0] is not data:
                self._there = data, self.client.submit(_hold, data, pure=False)
            future = self.client.submit(
                _evaluate_there, self.run.study, cells, self._there[1], pure=False
            )
        self.sent[future.key] = cells, data
        self._waiting.add(future)

    def gather(self, *, alone: bool = False) -> None:
        """Write the rows of the next task; cells whose worker died wait until they are alone."""
        future = next(self._waiting)
        cells, data = self.sent.pop(future.key)
        try:
            rows = future.result()
        except self.distributed.KilledWorker as error:
            if not alone or len(cells) > 1:
                self.suspects += [((cell,), data) for cell in cells]
                return
            text = f"WorkerDied: {_first_line(error)}"
            rows = [failure(self.run.study, cell, text) for cell in cells]
        except Exception as error:
            if self.client.status != "running" or future.cancelled():
                cure = "Start it again; the same command resumes"
                raise StudyError("The Dask scheduler is gone", f"{error}", cure) from error
            rows = [failure(self.run.study, cell) for cell in cells]
        self.count += self.run.keep(rows)


def _hold(data: StudyData) -> StudyData:
    return data


def _evaluate_there(study: Study, cells: CellGroup, data: StudyData) -> list[Row]:
    """Evaluate cells in a Dask worker: that machine, those versions."""
    found = evaluate_cells(study, cells, data)
    return [{**environment(), **row} for rows in found for row in rows]


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


_EXECUTORS: dict[str, Callable[..., int]] = {
    "serial": _run_here,
    "processes": _run_in_processes,
    "dask": _run_on_dask,
}
