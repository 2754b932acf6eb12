"""Kernels: functions that numba compiles on first use.

numba is imported where it is used, because the command line and the readers of small files do
not need it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import Any, TypeVar, cast

import numpy as np

from labelance._progress import is_interactive, print_notice
from labelance._utils._compat import NO_C_ENTRY, NO_PYTHON_ENTRY, add_to_source_stamp

Kernel = TypeVar("Kernel", bound=Callable[..., object])

# A kernel is compiled once more for every constant that it is called with, unless the constant
# has a type.
ZERO, ONE = np.int64(0), np.int64(1)
_OPTIONS = {"nogil": True, "error_model": "numpy", **NO_C_ENTRY}  # of our kernels
_PATIENCE = 2.0  # seconds of compilation until a person at a terminal gets a line


def kernel(function: Kernel) -> Kernel:
    """Compile ``function`` with numba on first use: cached on disk, GIL released, one thread.

    Threads come from joblib over blocks of rows, so that ``n_jobs`` means the same everywhere
    and a result never depends on it. Where ``NUMBA_DISABLE_JIT`` is set it stays Python.
    """
    from numba import config

    return _let_overflow(function) if config.DISABLE_JIT else _compile(function)


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a function that only other kernels call.

    It cannot be called from Python and is not kept on disk, which would take time to compile:
    numba links it into the kernels that call it.
    """
    from numba import config, njit

    if config.DISABLE_JIT:
        return function
    _watch_compilation()
    return cast("Kernel", njit(**_OPTIONS, **NO_PYTHON_ENTRY)(function))


def inlined_kernel(function: Kernel) -> Kernel:
    """Give a function to the kernels that call it, which compile it as a part of themselves.

    That saves a tenth of a second per function and caller, where one caller or two call it.
    """
    from numba import njit

    compiled: Kernel = njit(inline="always", nogil=True, error_model="numpy")(function)
    return compiled


def read_only(values: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to, for a kernel that only reads.

    What joblib and Dask share between processes cannot be written to, either. A kernel would be
    compiled once more for that, and for every mixture of both.
    """
    view = values.view()
    view.flags.writeable = False
    return view


def _compile(function: Kernel) -> Kernel:
    from numba import njit

    _watch_compilation()
    try:
        compiled: Kernel = njit(cache=True, **_OPTIONS)(function)
        _keep_while_the_folder_stays(compiled)
    except RuntimeError:
        # No folder to write to (a read-only install without a home; NUMBA_CACHE_DIR names
        # one): compile again in every process rather than not at all.
        compiled = njit(**_OPTIONS)(function)
    return compiled


def _keep_while_the_folder_stays(compiled: Any) -> None:
    """Let a kernel on disk serve only while no module changes where it and what it calls are.

    numba looks at the kernel's own file only. The functions that it calls are compiled into it,
    so after a change in theirs it would run the old ones, or crash where arguments changed.
    """
    known = vars(sys.modules[compiled.py_func.__module__]).values()
    called = [name.py_func for name in known if hasattr(name, "py_func")]
    files = {function.__code__.co_filename for function in [compiled.py_func, *called]}
    add_to_source_stamp(compiled, map(_stamp, sorted({Path(file).parent for file in files})))


@cache
def _stamp(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return when each module of a folder was changed, and its size."""
    found = ((module.name, module.stat()) for module in sorted(folder.glob("*.py")))
    return tuple((name, file.st_mtime_ns, file.st_size) for name, file in found)


def _let_overflow(function: Kernel) -> Kernel:
    """Silence numpy's warnings inside ``function``: compiled numbers overflow without a word."""

    @wraps(function)
    def interpreted(*arguments: object) -> object:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return cast("Kernel", interpreted)


def compilation_seconds() -> float:
    """Return how many seconds of the clock this process has compiled kernels of ours.

    Kernels that were found on disk cost nothing here.
    """
    return _watch_compilation().spent


@cache
def _watch_compilation() -> Any:
    """Look after the compilation of our kernels, from now on."""
    from labelance._utils._compat import CompilationListener, register_listener

    class Watch(CompilationListener):
        """Count the seconds in which kernels of ours are compiled; print a line if it takes long.

        numba compiles one kernel at a time, whatever the threads, and tells of those that it needs
        inside another.
        """

        def __init__(self) -> None:
            self.depth = 0
            self.spent = 0.0
            self.began: float | None = None

        def on_start(self, event: Any) -> None:
            self.depth += 1
            module = event.data["dispatcher"].py_func.__module__
            if self.depth == 1 and module.partition(".")[0] == "labelance":
                self.began = perf_counter()
                self.notice = Timer(_PATIENCE - self.spent, _say_that_it_compiles)
                if self.spent < _PATIENCE and is_interactive():
                    self.notice.daemon = True
                    self.notice.start()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.began is not None:
                self.spent, self.began = self.spent + perf_counter() - self.began, None
                self.notice.cancel()

    watch = Watch()
    register_listener("numba:compile", watch)
    return watch


def _say_that_it_compiles() -> None:
    print_notice(
        "labelance compiles what is used for the first time, and keeps it for later "
        "(`labelance warmup` compiles everything beforehand)."
    )


def kernel_folder() -> str | None:
    """Return the folder that keeps compiled kernels; None if there is nowhere to keep them."""
    from numba import config

    probe: Any = _compile(compilation_seconds)
    found: str | None = probe.stats.cache_path
    # numba takes another folder where it cannot write to the one that was named.
    named = config.CACHE_DIR if found and found.startswith(config.CACHE_DIR) else ""
    return named or found
