"""The one way this library compiles: cached on disk, GIL released, no hidden threads.

Threads come from joblib over blocks of rows, so that ``n_jobs`` means the same everywhere
and a result never depends on it.
"""

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def kernel(function: Kernel) -> Kernel:
    """Compile ``function`` with numba on first use."""
    compiled: Kernel = njit(cache=True, nogil=True, error_model="numpy")(function)
    return compiled
