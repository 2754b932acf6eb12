"""Worker processes: they evaluate cells, and may die or hang without harm to others."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from joblib import cpu_count

from labelance.exceptions import StudyError
from labelance.study._data import DatasetCache, StudyData
from labelance.study._evaluate import Row, evaluate_cells, failure, groups_of
from labelance.study._study import CellGroup, Study

# The path comes before any import of ours, since it may be what finds us.
_PROGRAM = (
    "import os, pickle, sys; orders = os.fdopen(os.dup(0), 'rb');"
    "sys.path[:] = pickle.load(orders);"
    "from labelance.study._worker import serve; serve(orders)"
)
# Libraries that start threads of their own; several workers share the cores.
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip


class WorkerDied(Exception):
    """A worker process ended in the midst of its work; its last words say where it was."""

    def __init__(self, stderr_tail: str, code: int) -> None:
        super().__init__(stderr_tail, code)
        self.stderr_tail, self.code = stderr_tail.strip(), code

    @property
    def timed_out(self) -> bool:
        """Say whether it ended itself, since a cell took too long."""
        return self.stderr_tail.startswith("Timeout (")

    def __str__(self) -> str:
        if self.timed_out:
            reason = "TimeoutError: there was no result within cell_timeout"
        elif self.code < 0:
            name = signal.Signals(-self.code).name
            reason = f"WorkerDied: the process was killed by {name}"
            reason += ", which is how a system ends one that is out of memory" * (name == "SIGKILL")
        else:
            reason = f"WorkerDied: the process ended itself with exit code {self.code}"
        return f"{self.stderr_tail}\n{reason}".strip()


class Worker:
    """A Python process that computes cells; it is started when it is first needed.

    Parameters
    ----------
    n_threads : int, optional
        Threads for numerical libraries in it; what they choose unless given.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads, self.closed = n_threads, False
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.closed = True
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def evaluate(
        self, study: Study, cells: CellGroup, data: StudyData | DatasetCache, timeout: float | None
    ) -> Iterator[list[Row]]:
        """Yield the rows of cells as they are finished; raise WorkerDied if that ends early."""
        process = self._running()
        try:
            pickle.dump((study, cells, data, timeout), process.stdin)
            process.stdin.flush()
        except OSError:
            raise self._reap(process, "") from None
        finished = False
        try:
            while (rows := self._receive(process)) is not None:
                yield rows
            finished = True
        finally:
            # What no one waited for must not be read as the rows of the next task.
            if not finished and self._process is process:
                self._reap(process, "")

    def _running(self) -> Any:
        """Return the process, started again if it is not there any more."""
        process = self._process
        if process is not None and not _has_ended(process):
            return process
        if process is not None:
            _end(process)
        self._process = process = _start(self.n_threads)
        if self.closed:  # by another thread, in the meantime
            raise self._reap(process, "")
        try:
            self._receive(process)
        except WorkerDied as died:
            if self.closed:
                raise
            raise StudyError(
                f"A worker process started with {sys.executable} failed",
                f"It exited at once with code {died.code}",
                "Read its output above, or use executor='serial'",
            ) from died
        return process

    def _receive(self, process: Any) -> Any:
        """Return the next message; what is none are the last words."""
        try:
            line = process.stdout.readline()
            if line.strip().isdigit():
                # From our own child, over a pipe that what learners print does not reach.
                return pickle.loads(process.stdout.read(int(line)))  # nosec B301
            words = line + process.stdout.read()
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            words = b""
        raise self._reap(process, words.decode(errors="replace"))

    def _reap(self, process: Any, words: str) -> WorkerDied:
        self._process = None
        return WorkerDied(words, _end(process))


class WorkerPool:
    """Worker processes that threads borrow."""

    def __init__(self, n_jobs: int) -> None:
        # What is computed with one worker must not depend on how many cores there are either.
        n_threads = None if n_jobs == 1 else max(1, cpu_count() // n_jobs)
        self.workers = [Worker(n_threads) for _ in range(n_jobs)]
        self.free: SimpleQueue[Worker] = SimpleQueue()
        for worker in self.workers:
            self.free.put(worker)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.workers:
            worker.close()

    @contextmanager
    def one(self) -> Iterator[Worker]:
        """Yield a worker that no one else has."""
        worker = self.free.get()
        try:
            yield worker
        finally:
            self.free.put(worker)


def evaluate_in_worker(
    worker: Worker,
    study: Study,
    cells: CellGroup,
    data: StudyData | DatasetCache,
    *,
    timeout: float | None,
    last: bool = False,
) -> Generator[list[Row], None, None]:
    """Yield the rows of cells that a worker evaluates, and go on where it hangs or dies.

    Cells at which it hangs have failed. Those at which it dies are left out, since the reason
    may lie elsewhere (another process took all the memory), unless this is their last try.
    """
    groups = groups_of(study, cells)
    while groups:
        try:
            for rows in worker.evaluate(study, tuple(chain(*groups)), data, timeout):
                yield rows
                groups.pop(0)
            return
        except WorkerDied as died:
            if worker.closed:
                raise
            group = groups.pop(0)
            if last or died.timed_out:
                yield [failure(study, cell, str(died)) for cell in group]


def _start(n_threads: int | None) -> subprocess.Popen[bytes]:
    limits = {} if n_threads is None else dict.fromkeys(_THREADS, str(n_threads))
    # A group of its own: Ctrl-C in a terminal is for the runner, which then ends its workers,
    # and what a learner starts is ended with its worker.
    group: dict[str, Any] = (
        {"process_group": 0}
        if os.name == "posix"
        else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    )
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**limits, **os.environ},
        **group,
    )
    Thread(target=_repeat, args=(process.stderr,), daemon=True).start()
    with suppress(OSError):  # dead already, which the next who asks will see
        pickle.dump(sys.path, process.stdin)  # type: ignore[arg-type]
        process.stdin.flush()  # type: ignore[union-attr]
    return process


def _repeat(said: BinaryIO) -> None:
    """Print what a worker prints on standard error, as ours, whatever stands there just now."""
    with said, suppress(ValueError, OSError):
        for line in said:
            sys.stderr.write(line.decode(errors="replace"))


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Say so without reaping it, where that can be: its group is ours only until then."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):  # reaped by others
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, process.pid, how) is not None
    return process.poll() is not None


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process and all that it started; return its exit code."""
    if process.returncode is None:
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    code = process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what no one reads any more
            pipe.close()  # type: ignore[union-attr]
    return code


# From here on: inside the worker.


def serve(orders: BinaryIO) -> None:
    """Evaluate cells that come in, until the one who sends them is gone."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a learner prints must not be taken for a result
    sys.stdout = sys.stderr  # which is written line by line: a killed worker loses none of it
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    faulthandler.enable(results)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(_let_go, [results.fileno()]))
    queue: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_listen, args=(orders, queue), daemon=True).start()
    _send(results, "ready")
    while True:
        _do(results, *queue.get())


def _let_go(pipes: list[int]) -> None:
    """Take the pipe from a forked process, which would keep it open when we are dead.

    Its number stays taken, and is forgotten: to close it would hit what has it by then.
    """
    while pipes:
        faulthandler.disable()
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), pipes.pop(), inheritable=False)


def _listen(orders: BinaryIO, queue: SimpleQueue[Any]) -> None:
    try:
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                queue.put(pickle.load(orders))  # nosec B301: from our parent, over its pipe
    except BaseException:
        traceback.print_exc()  # an order that cannot be read, be it for want of a module
    finally:
        # The runner is gone, and others have its folds; or it notices our end.
        if os.name == "posix":
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _do(
    results: BinaryIO,
    study: Study,
    cells: CellGroup,
    data: StudyData | DatasetCache,
    timeout: float | None,
) -> None:
    if isinstance(data, DatasetCache):
        data = data.get(cells[0].dataset)
    work = evaluate_cells(study, cells, data)
    for group in groups_of(study, cells):
        with _at_most(None if timeout is None else timeout * len(group), results):
            rows = next(work, None)
        if rows is None:
            break
        _send(results, rows)
    _send(results, None)


@contextmanager
def _at_most(seconds: float | None, results: BinaryIO) -> Iterator[None]:
    """End the process if the block takes longer; no learner can prevent that, not even in C."""
    if seconds is None:
        yield
        return
    faulthandler.dump_traceback_later(seconds, exit=True, file=results)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _send(results: BinaryIO, message: Any) -> None:
    content = pickle.dumps(message)
    results.write(b"%d\n" % len(content) + content)
    results.flush()
