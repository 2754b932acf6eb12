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
    options = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Kernel = njit(cache=True, **options)(function)
    except RuntimeError:
        # No folder to write to (a read-only install without a home; NUMBA_CACHE_DIR names
        # one): compile anew in every process rather than not at all.
        compiled = njit(**options)(function)
    return compiled
