"""Blocks of queries, spread over threads; neither can change a result."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from threading import Lock
from typing import Any

from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn import get_config
from threadpoolctl import ThreadpoolController


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads to use: all that OpenMP, hence scikit-learn, would by default."""
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(limit), _cores()) if limit.isdigit() and int(limit) else _cores()


@cache
def _cores() -> int:
    """Return the number of cores; asking takes longer than searching a small bag."""
    return cpu_count()


def for_each_block(
    work: Callable[[int, int], Any], n: int, *, block: int, threads: int
) -> list[Any]:
    """Call ``work(start, stop)`` for blocks of n queries and return what the calls return."""
    edges = [(start, min(start + block, n)) for start in range(0, n, block)]
    if threads == 1 or len(edges) == 1:
        return [work(*edge) for edge in edges]
    return Parallel(n_jobs=min(threads, len(edges)), require="sharedmem")(
        delayed(work)(*edge) for edge in edges
    )


def block_cells(bytes_per_cell: int, threads: int) -> int:
    """Return how many cells each thread may hold within scikit-learn's ``working_memory``."""
    return max(1, int(get_config()["working_memory"] * 2**20) // (bytes_per_cell * threads))


def even_block(n: int, most: int, threads: int) -> int:
    """Return a block size of at most ``most`` that gives every thread the same number of blocks."""
    rounds = max(1, -(-n // (threads * most)))
    return max(1, -(-n // (threads * rounds)))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _SingleThreadedBlas:
    """BLAS kept to one thread while anybody asks for it.

    The setting belongs to the process: the first one in sets it, the last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


_SINGLE = _SingleThreadedBlas()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Keep BLAS to one thread while our own threads call it."""
    return _SINGLE
