"""How many threads work, and BLAS kept to one while they do."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from numbers import Integral
from threading import Lock
from typing import Any

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

from labelance.exceptions import InputError, arg


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless a number of jobs is None or an integer other than 0."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(
            f"{arg('n_jobs')} must be None or an integer other than 0",
            f"Got {n_jobs!r}",
            f"Try {arg('n_jobs', 2)}, or {arg('n_jobs', -1)} for all cores",
        )


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads to use: all that OpenMP, hence scikit-learn, would by default."""
    if n_jobs is not None:
        check_n_jobs(n_jobs)
        return effective_n_jobs(n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(int(limit), _cores()) if limit.isdigit() and int(limit) else _cores()


@cache
def _cores() -> int:
    """Return the number of cores; asking takes longer than searching a small bag."""
    return cpu_count()


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Return those that are loaded, once: looking for them takes longer than a small tree."""
    return ThreadpoolController().select(user_api=user_api)


def single_threaded_openmp() -> AbstractContextManager[Any]:
    """Keep the OpenMP that this thread starts to one thread; other threads do not see it."""
    return _libraries("openmp").limit(limits=1)


class _SingleThreadedBlas:
    """BLAS kept to one thread while a caller asks for it.

    The setting belongs to the process: the first one in sets it, the last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _libraries("blas").limit(limits=1)
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
