"""Run a study: in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import os
import platform
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from joblib import effective_n_jobs

from labelance import __version__
from labelance._utils._messages import optional_import
from labelance.exceptions import StudyError
from labelance.study._data import DatasetCache, StudyData, describe, load_source, open_dataset_cache
from labelance.study._evaluate import Row, evaluate_cells, failure
from labelance.study._forecast import TimeLeft
from labelance.study._store import Store, cell_of
from labelance.study._study import Cell, CellGroup, Study, group_by_fold, plan_of
from labelance.study._worker import Worker, WorkerPool, evaluate_in_worker

Executor = Literal["serial", "processes", "dask"]
Watch = Callable[["StudyProgress"], None]
_HEARTBEAT_SECONDS = 20
# Costs are asked of the store so often only, since that reads all its rows.
_ESTIMATE_SECONDS = 5
# How long a Dask cluster may be without any worker.
_NO_WORKER_SECONDS = 120.0
_CLOSING_SECONDS = 10.0  # for a cluster to close what is left of a run


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
        About how long the rest takes; None where no cell is finished, and at the end.
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
        An SQLite file; made if absent.
    executor : {"serial", "processes", "dask"}, default="processes"
        One process; several (joblib); or a Dask cluster.
    n_jobs : int, optional
        Processes, or workers of a local Dask cluster; all cores unless given.
    address : str, optional
        A Dask scheduler, for executor="dask". Unless given, the Dask client that is active in
        this process is used, or else a local cluster is started; so it is if n_jobs is given.
    cell_timeout : float, optional
        Seconds after which a cell has failed and the next one begins; cells that share their
        models share their time. The work is then done in a process of its own in any case,
        also with executor="serial". It includes compilation, where kernels are not in the
        cache yet.
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
    ...     outcome = run_study(study, f"{folder}/results.db", executor="serial")
    >>> outcome.done, outcome.failed
    (14, 0)
    """
    if executor not in _EXECUTORS:
        raise StudyError(
            f"executor must be one of {', '.join(_EXECUTORS)}",
            f"Got {executor!r}",
            "Choose one of these",
        )
    if n_jobs == 0:
        raise StudyError("n_jobs must not be 0", "Got 0", "Omit it to use all cores")
    if cell_timeout is not None and not cell_timeout > 0:
        raise StudyError(
            "cell_timeout must be > 0",
            f"Got {cell_timeout}",
            "Pass more than 0 seconds, or omit it for no limit",
        )
    study = replace(study.installed(), weighing=None)  # a run executes code anyway
    study.check()
    options = {"n_jobs": n_jobs, "address": address, "cell_timeout": cell_timeout}
    shared, runner = Store(store), uuid.uuid4().hex[:12]
    try:
        shared.remember(study, plan_of(study))
        if retry_failed:
            shared.forget_failures(study)
        with open_dataset_cache() as cache:
            run = _Run(study, shared, runner, cache)
            workers = 1 if executor == "serial" else _n_workers(n_jobs)
            with run.heartbeats(), run.watched_by(watch, workers):
                # Folds that another runner held, and gave back undone, come in a later round.
                while _EXECUTORS[executor](run, **options):
                    pass
        return run.progress()
    finally:
        # What cannot be given back now is taken from us when we are gone.
        with suppress(StudyError):
            shared.release(runner)


@dataclass(frozen=True)
class _Run:
    """A study, the store it goes to, who runs it, and where its data lie."""

    study: Study
    store: Store
    runner: str
    cache: DatasetCache

    def claim(self, *, by_learner: bool = False) -> Iterator[CellGroup]:
        """Yield cells of a fold that no one else has, claimed when asked for and not before."""
        finished = self.store.status(self.study)
        pending = [cell for cell in self.study.cells() if cell not in finished]
        for cells in group_by_fold(pending, by_learner=by_learner):
            if not self.store.claim(cells[0].place, self.runner):
                continue
            finished = self.store.status(self.study)
            left = tuple(cell for cell in cells if cell not in finished)
            if not left:
                self.store.release(self.runner, cells[0].place)
            elif self._has_data(left):
                yield left

    def claim_again(self, cells: Iterable[Cell]) -> Iterator[CellGroup]:
        """Yield, one by one, the cells that no one has finished since."""
        finished = self.store.status(self.study)
        for cell in cells:
            if cell not in finished and self.store.claim(cell.place, self.runner):
                yield (cell,)

    def keep(self, cells: CellGroup, finished: Iterable[list[Row]]) -> int:
        """Write rows of a fold as they come, while the fold is ours; return how many."""
        count = 0
        for rows in finished:
            self.store.add(_signed(rows, self.runner))
            count += len(rows)
            if not self.store.holds(cells[0].place, self.runner):
                return count  # we were taken for dead, and another runner has the fold
        if count == len(cells):
            self.store.release(self.runner, cells[0].place)
        return count

    def fail(self, cells: Iterable[Cell], error: str | None = None) -> int:
        """Write that cells have failed, of this error or the one being handled."""
        rows = [failure(self.study, cell, error) for cell in cells]
        self.store.add(_signed(rows, self.runner))
        return len(rows)

    def _has_data(self, cells: CellGroup) -> bool:
        """Cache the dataset of a fold; if it cannot be had, its cells have failed."""
        source = self.study.dataset(cells[0].dataset)
        if self.cache.has(source):
            return True
        try:
            data = load_source(source)
        except BaseException:
            self.fail(cells)
            return False
        self.cache.put(source, data)
        self.store.describe(source, describe(source.name, data))
        return True

    def progress(self, seconds_left: float | None = None) -> StudyProgress:
        """Count the cells of the study in the store."""
        status = self.store.status(self.study)
        failed = sum(one == "failed" for one in status.values())
        total = len(self.study.cells())
        return StudyProgress(len(status) - failed, failed, total, self.runner, seconds_left)

    def heartbeats(self) -> AbstractContextManager[None]:
        """Say regularly that the runner is alive, while the block runs."""

        def beat() -> None:
            with suppress(Exception):  # a store that is busy for long must not end the heartbeats
                self.cache.beat()
                self.store.beat(self.runner)

        return _repeating(beat, _HEARTBEAT_SECONDS)

    @contextmanager
    def watched_by(self, watch: Watch | None, workers: int) -> Iterator[None]:
        """Tell the watcher about once a second how far the study is, until it raises."""
        if watch is None:
            yield
            return
        watcher = _Watcher(self, watch, TimeLeft(self.study, workers=workers))
        try:
            with _repeating(watcher.tell, 1.0):
                yield
        finally:
            watch(self.progress())


class _Watcher:
    """Report the progress of a study, and now and then the time that is left."""

    def __init__(self, run: _Run, watch: Watch, time_left: TimeLeft) -> None:
        self.run, self.watch, self.time_left = run, watch, time_left
        self.told, self.gone = 0, False
        self.left: float | None = None

    def tell(self) -> None:
        """Tell it once more, unless the watcher has failed."""
        if self.gone:
            return
        self.told += 1
        try:
            if self.told % _ESTIMATE_SECONDS == 0:
                self.left = self.time_left.seconds(self.run.store)
            self.watch(self.run.progress(self.left))
        except StudyError:
            pass  # the store was busy, and may be free the next time
        except Exception:
            self.gone = True


@contextmanager
def _repeating(work: Callable[[], None], seconds: float) -> Iterator[None]:
    """Do some work at an interval of seconds, in a thread next to the block."""
    stop = Event()

    def live() -> None:
        while not stop.wait(seconds):
            work()

    thread = Thread(target=live, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _signed(rows: list[Row], runner: str) -> list[dict[str, Any]]:
    """Add to rows who computed them, where, and with what."""
    return [{**row, **environment(), "runner": runner} for row in rows]


_PACKAGES = ("numpy", "scipy", "scikit-learn", "imbalanced-learn", "numba", "joblib")


@cache
def environment() -> dict[str, Any]:
    """Return the columns that say where and with what, the same for all cells of a process."""
    cores = f"{os.cpu_count()} cores"
    return {
        "version": __version__,
        "commit_id": _commit(),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}, {cores}, {_processor()}",
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


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


def _n_workers(n_jobs: int | None) -> int:
    return effective_n_jobs(-1 if n_jobs is None else n_jobs)


# Executors: each does all the work that can be claimed, and returns how many cells it finished.


def _run_here(run: _Run, *, cell_timeout: float | None, **others: Any) -> int:
    """Do one fold after the other in this process; with a time limit, in one other process."""
    if cell_timeout is not None:
        return _run_in_processes(run, n_jobs=1, cell_timeout=cell_timeout)
    return sum(
        run.keep(cells, evaluate_cells(run.study, cells, run.cache.get(cells[0].dataset)))
        for cells in run.claim()
    )


def _run_in_processes(
    run: _Run, *, n_jobs: int | None, cell_timeout: float | None, **others: Any
) -> int:
    """Do a fold in each of several worker processes; what they finish is written here."""
    n_workers = _n_workers(n_jobs)
    with ThreadPoolExecutor(n_workers) as threads, WorkerPool(n_workers) as workers:

        def do(cells: CellGroup, *, last: bool = False) -> int:
            with workers.one() as worker:
                rows = evaluate_in_worker(
                    worker, run.study, cells, run.cache, timeout=cell_timeout, last=last
                )
                return run.keep(cells, rows)

        count, claimed, busy = 0, list[Cell](), set[Future[int]]()
        # A fold is claimed when a process is free for it, so that other runners find work.
        for cells in run.claim():
            claimed += cells
            busy.add(threads.submit(do, cells))
            if len(busy) == n_workers:
                done, busy = wait(busy, return_when=FIRST_COMPLETED)
                count += sum(future.result() for future in done)
        count += sum(future.result() for future in busy)
        # Cells at which a process died are tried once more, alone on this machine: they may
        # have been innocent, and a second crash fails the cell.
        return count + sum(do(cell, last=True) for cell in run.claim_again(claimed))


def _run_on_dask(
    run: _Run, *, n_jobs: int | None, address: str | None, cell_timeout: float | None
) -> int:
    """Do the work on any Dask cluster: data are scattered, rows come back and are written here."""
    distributed = optional_import("distributed", extra="dask", purpose="The Dask executor")
    folds = run.claim(by_learner=True)
    first = next(folds, None)
    if first is None:
        return 0  # a cluster is not started for nothing
    with (
        _connect(distributed, n_jobs, address) as client,
        _Cluster(distributed, client, run, cell_timeout) as cluster,
    ):
        # A Dask worker that dies takes innocent cells with it, and data. All are sent once more;
        # what has no row then is tried cell by cell, with nothing else on the cluster.
        cluster.do(cluster.do(chain([first], folds)))
        for cell in run.claim_again(cluster.unfinished()):
            cluster.do([cell], last=True)
        return len(cluster.finished)


def _connect(distributed: Any, n_jobs: int | None, address: str | None) -> Any:
    if address is None and n_jobs is None:
        try:
            return nullcontext(distributed.default_client())  # its owner will close it
        except ValueError:  # there is none
            pass
    if address is None:
        import dask

        # Whom to blame for a dead worker is our question, not the scheduler's.
        with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
            return distributed.Client(
                n_workers=n_jobs, threads_per_worker=1, dashboard_address=None
            )
    try:
        return distributed.Client(address)
    except (OSError, ValueError, TypeError) as error:
        raise StudyError(
            f"The Dask scheduler at {address} does not answer",
            f"Connecting failed ({_first_line(error)})",
            "Start `dask scheduler` there, or omit address for a local cluster",
        ) from error


class _Cluster:
    """Cells of a run on a Dask cluster: sent, awaited, written, or lost with their worker.

    Rows do not wait in the memory of a worker, which may die: a task sends them to a queue of the
    scheduler as it finishes them.
    """

    def __init__(self, distributed: Any, client: Any, run: _Run, timeout: float | None) -> None:
        self.distributed, self.client, self.run, self.timeout = distributed, client, run, timeout
        self.queue = distributed.Queue(f"labelance-{run.runner}", client=client)
        self.sent: dict[Cell, None] = {}  # a set in the order of the plan
        self.finished: set[Cell] = set()
        self._data: dict[str, Any] = {}

    def __enter__(self) -> _Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        # No call of a Dask client has a time limit; a cluster that hangs would hold the run.
        closing = threading.Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_CLOSING_SECONDS)

    def _close(self) -> None:
        with suppress(Exception):  # a cluster that does not answer has nothing to be closed
            self.queue.close()
            self.client.run(_close_spare_workers)

    def do(self, folds: Iterable[CellGroup], *, last: bool = False) -> list[CellGroup]:
        """Do cells of folds; return those whose Dask worker died, unless that is their failure."""
        waiting, asked, lost = self.distributed.as_completed(), {}, []
        at_once = max(1, 2 * sum(self.client.ncores().values()))
        for cells in folds:
            future = self.client.submit(
                _evaluate_there, self.run.study, cells, self._data_of(cells[0].dataset),
                self.run.runner, self.timeout, last, self.queue.name, pure=False,
            )  # fmt: skip
            asked[future.key] = cells
            self.sent.update(dict.fromkeys(cells))
            waiting.add(future)
            if waiting.count() >= at_once:
                done = self._next(waiting)
                lost += self._take(asked.pop(done.key), done, last)
        while waiting.count():
            done = self._next(waiting)
            lost += self._take(asked.pop(done.key), done, last)
        return lost

    def unfinished(self) -> CellGroup:
        """Return the cells that were sent and have no row."""
        return tuple(cell for cell in self.sent if cell not in self.finished)

    def _data_of(self, dataset: str) -> Any:
        """Return a dataset on the cluster, sent again if it was lost with a worker."""
        if dataset not in self._data or self._data[dataset].status in ("cancelled", "lost"):
            self._await_a_worker()
            data = self.run.cache.get(dataset)
            with _no_worker_is_our_error():  # the one that was there may be gone again
                sent = self.client.scatter(data, hash=False, timeout=_NO_WORKER_SECONDS)
            self._data = {dataset: sent}
        return self._data[dataset]

    def _next(self, waiting: Any) -> Any:
        """Wait for a finished task, as long as there is a worker to do it; write rows meanwhile."""
        looked = time.monotonic()
        while not waiting.has_ready():
            time.sleep(0.02)
            if time.monotonic() - looked > 1:
                self._await_a_worker()
                looked = time.monotonic()
        return next(waiting)

    def _await_a_worker(self) -> None:
        self._write_finished()
        with _no_worker_is_our_error():
            self.client.wait_for_workers(1, timeout=_NO_WORKER_SECONDS)

    def _write_finished(self) -> None:
        """Write the rows that tasks have sent since the last time."""
        try:
            sent = self.queue.get(batch=True)
        except OSError as error:
            raise _no_scheduler() from error
        for rows in sent:
            self.run.store.add(rows)
            self.finished.update(map(cell_of, rows))

    def _take(self, cells: CellGroup, future: Any, last: bool) -> list[CellGroup]:
        """Write the rows of cells; return those that were lost, to be sent again."""
        try:
            future.result()
        except Exception as error:
            lost = self._is_loss(future, error)
            self._write_finished()
            left = tuple(cell for cell in cells if cell not in self.finished)
            if lost and left and not last:
                return [left]
            self.run.fail(left, f"WorkerDied: {_first_line(error)}" if lost else None)
            self.finished.update(left)
        else:
            self._write_finished()
        return []

    def _is_loss(self, future: Any, error: Exception) -> bool:
        if self.client.status != "running":
            raise _no_scheduler() from error
        return future.status != "error" or isinstance(error, self.distributed.KilledWorker)


@contextmanager
def _no_worker_is_our_error() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise StudyError(
            "The Dask cluster has no workers",
            f"There has been none for {_NO_WORKER_SECONDS:.0f} seconds",
            "Start workers; the same command resumes",
        ) from error


def _no_scheduler() -> StudyError:
    return StudyError(
        "The Dask scheduler is gone",
        "The Dask executor needs it until the end",
        "Start it again; the same command resumes",
    )


# From here on: inside a Dask worker.

_spare_workers: list[Worker] = []


def _evaluate_there(
    study: Study, cells: CellGroup, data: StudyData, runner: str, timeout: float | None, last: bool,
    queue: str,
) -> None:  # fmt: skip
    """Evaluate cells, and send each row where it is safe as soon as it is finished.

    They are computed in another process: a learner that dies must not take the Dask worker with
    it, which may hold other cells, and which Dask does not always start again. Rows are signed
    here: that machine, those versions.
    """
    distributed = optional_import("distributed", extra="dask", purpose="The Dask executor")
    with (
        closing(distributed.Queue(queue)) as finished,
        _spare_worker() as worker,
        # Closed before another task has the worker, whatever happens here.
        closing(
            evaluate_in_worker(worker, study, cells, data, timeout=timeout, last=last)
        ) as found,
    ):
        for rows in found:
            finished.put(_signed(rows, runner))


@contextmanager
def _spare_worker() -> Iterator[Worker]:
    """Yield a worker process that no other task has, and keep it for the next: it starts slowly."""
    try:
        worker = _spare_workers.pop()
    except IndexError:
        worker = Worker()
    try:
        yield worker
    finally:
        _spare_workers.append(worker)


def _close_spare_workers() -> None:
    while _spare_workers:
        _spare_workers.pop().close()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


_EXECUTORS: dict[str, Callable[..., int]] = {
    "serial": _run_here,
    "processes": _run_in_processes,
    "dask": _run_on_dask,
}
