"""A process for each fold: it may die or hang without harm to others."""

from __future__ import annotations

import faulthandler
import math
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from multiprocessing import connection
from threading import Thread
from typing import Any

from threadpoolctl import threadpool_limits

from labelance.exceptions import StudyError
from labelance.study._data import StudyData
from labelance.study._evaluate import Row, evaluate_cells, failure, groups_of
from labelance.study._study import Cell, CellGroup, Study

# Libraries that start threads of their own; several processes share the cores.
_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip


_ENDING_SECONDS = 5.0


class FoldProcess:
    """Cells of a fold, evaluated in a process; where that dies or hangs, another takes over.

    Cells at which a process hangs have failed. Those at which it dies are tried once more, each in
    a process of its own: the others may be innocent, or another process took all the memory.

    Parameters
    ----------
    study, cells, data
        What to evaluate.
    timeout : float, optional
        Seconds that a cell may take; cells that share their models share their time.
    n_threads : int, optional
        Threads for numerical libraries; what they choose unless given.
    """

    def __init__(
        self,
        study: Study,
        cells: CellGroup,
        data: StudyData,
        *,
        timeout: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.study, self.cells, self.data = study, cells, data
        self.timeout, self.n_threads = timeout, n_threads
        self.groups = groups_of(study, cells)
        self._tried: set[Cell] = set()
        self._start()

    def _start(self) -> None:
        # Cells that are tried once more are alone in their process.
        now = self.groups[:1] if self._tried.issuperset(self.groups[0]) else self.groups
        self._results, theirs = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=_evaluate, args=(theirs, self.study, now, self.data, self.n_threads)
        )
        self._process.start()
        theirs.close()
        self._left, self._ready, self._late_at = len(now), False, math.inf

    def receive(self) -> list[Row]:
        """Return rows that have come; of cells that cannot, those of their failure."""
        try:
            rows = self._results.recv() if self._results.poll() else None
        except (EOFError, OSError):
            rows = None
        if rows is None:
            rows = self._fail()
        elif self._ready:
            self.groups.pop(0)
            self._left -= 1
        self._ready = True
        if self.groups and not self._left:
            self.close()
            self._start()
        elif self.groups and self.timeout is not None:
            self._late_at = time.monotonic() + self.timeout * len(self.groups[0])
        return rows

    def _fail(self) -> list[Row]:
        """End the process; return rows of the cells it was at, unless they are tried again."""
        hangs = self._process.is_alive() and time.monotonic() >= self._late_at
        if not hangs:
            self._process.join(_ENDING_SECONDS)  # its pipe is closed first
        self.close()
        if not self._ready and (self._process.exitcode or 0) >= 0:
            raise StudyError(
                "A process of the study ended before it began",
                f"Its exit code is {self._process.exitcode}; what it said is above",
                "In a script, call run_study below `if __name__ == '__main__':`; or use "
                "executor='serial'",
            )
        group, self._left = self.groups.pop(0), 0
        if not hangs and not self._tried.issuperset(group):
            self._tried.update(group)
            self.groups[:0] = [[cell] for cell in group]
            return []
        error = "TimeoutError: there was no result within cell_timeout" if hangs else self._reason()
        return [failure(self.study, cell, error) for cell in group]

    def _reason(self) -> str:
        code = self._process.exitcode or 0
        if code >= 0:
            return f"WorkerDied: the process ended itself with exit code {code}"
        name = signal.Signals(-code).name
        memory = ", which is how a system ends one that is out of memory"
        return f"WorkerDied: the process was killed by {name}" + memory * (name == "SIGKILL")

    def close(self) -> None:
        """End the process and all that it started, whatever it is doing."""
        if self._process.is_alive():
            with suppress(OSError, AttributeError):  # it is ending, or has no group (Windows)
                os.killpg(self._process.ident, signal.SIGKILL)
            self._process.kill()
        self._process.join()
        self._results.close()

    @staticmethod
    def wait(some: Iterable[FoldProcess]) -> list[FoldProcess]:
        """Wait until there is something to receive from some, or they are late; return them."""
        some = list(some)
        until = min(one._late_at for one in some)
        seconds = None if until == math.inf else max(0.0, until - time.monotonic())
        # The pipe of a dead process may be held open by those that it started.
        ready = connection.wait(
            chain.from_iterable((one._results, one._process.sentinel) for one in some), seconds
        )
        now = time.monotonic()
        return [
            one
            for one in some
            if one._results in ready or one._process.sentinel in ready or one._late_at <= now
        ]


def _context() -> Any:
    """Return how processes are started: where that can be, from one that has imported all."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


_CONTEXT = _context()


# From here on: inside the process.


def _evaluate(
    results: Any, study: Study, groups: list[list[Cell]], data: StudyData, n_threads: int | None
) -> None:
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is for the runner, which ends this process and what it starts
    os.dup2(2, 1)  # what a learner prints must not be taken for results of a command
    sys.stdout = sys.stderr
    faulthandler.enable()
    Thread(target=_end_with_runner, daemon=True).start()
    if n_threads is not None:  # also of libraries that are not loaded yet
        os.environ.update(dict.fromkeys(_THREADS, str(n_threads)))
    with threadpool_limits(n_threads):
        results.send([])
        for rows in evaluate_cells(study, tuple(chain(*groups)), data, groups):
            results.send(rows)


def _end_with_runner() -> None:
    """End this process when the runner is gone, since others then have its folds."""
    runner = multiprocessing.parent_process()
    assert runner is not None
    connection.wait([runner.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
