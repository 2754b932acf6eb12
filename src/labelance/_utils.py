"""Small tools for every package: random numbers, compilation, optional imports, files, memory.

numba and scikit-learn are imported where they are used, because the command line and the
readers of small files need neither.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, wraps
from pathlib import Path
from threading import Timer
from time import perf_counter
from types import FrameType, ModuleType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from labelance._progress import say, somebody_watches
from labelance._scratch import current_scratch
from labelance.exceptions import (
    FileWriteError,
    LabelanceError,
    MissingDependencyError,
    TooManyRowsError,
)

RandomStateLike = None | int | np.random.RandomState | np.random.Generator
Estimator = TypeVar("Estimator")
Kernel = TypeVar("Kernel", bound=Callable[..., object])

# A kernel is compiled once more for every constant that it is called with, unless the constant
# has a type.
ZERO, ONE = np.int64(0), np.int64(1)

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # of our kernels
_PATIENCE = 2.0  # seconds of compilation until a person at a terminal is told

# Whose lines are no user's: our own, and those of who calls us for one.
_BETWEEN = frozenset({"labelance", "sklearn", "imblearn", "joblib"})

# Asking for the mask means setting it, for all threads: once, before there are any.
_UMASK = os.umask(0o022)
os.umask(_UMASK)

# What the disk or its rights say, not the one who writes.
_CANNOT_WRITE = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.EISDIR,
})  # fmt: skip


def label_dtype(n_labels: int) -> np.dtype[Any]:
    """Return the smallest integer type for labels that also holds the number of every label.

    scikit-learn 1.9 casts the numbers of labels to the type of y (`label_binarize`, inside
    OneVsRestClassifier and MLPClassifier): in int8, labels from the 129th on change places, and
    nobody notices. Labels that go to others therefore have this type; inside they are int8.

    Examples
    --------
    >>> from labelance._utils import label_dtype
    >>> label_dtype(128), label_dtype(129)
    (dtype('int8'), dtype('int16'))
    """
    return np.min_scalar_type(-max(n_labels, 1))


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Turn ``random_state`` into a :class:`numpy.random.Generator`.

    An int always gives the same stream. A Generator is used as it is. A legacy RandomState
    (and None, which means numpy's global one, as in scikit-learn) moves on with every call,
    so that two calls differ.

    Examples
    --------
    >>> from labelance._utils import as_generator
    >>> as_generator(0).integers(100) == as_generator(0).integers(100)
    np.True_
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)):
        return np.random.default_rng(int(random_state))
    from sklearn.utils import check_random_state

    legacy = check_random_state(random_state)
    return np.random.default_rng(legacy.randint(0, 2**32, size=4, dtype=np.uint32))


def draw_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Draw n seeds that every library takes as ``random_state``."""
    return rng.integers(2**31 - 1, size=n).tolist()


def set_random_states(
    estimator: Estimator, seed: int | np.random.Generator, *, only_unset: bool = False
) -> Estimator:
    """Seed an inner estimator: set its ``random_state`` and those of the estimators inside it.

    This is the one rule by which ensembles, learners and studies seed the estimators that they
    were given. All of them get the same int, since not every library takes a Generator.

    Parameters
    ----------
    estimator : object
        What is seeded; one without ``get_params``, or without any ``random_state``, stays as
        it is.
    seed : int or Generator
        The seed, or where to draw it from; nothing is drawn if nothing is to be set.
    only_unset : bool, default=False
        Leave those alone that are not None, because a user has set them.

    Returns
    -------
    estimator : object
        The same object.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from labelance._utils import set_random_states
    >>> bagging = BaggingClassifier(DecisionTreeClassifier(random_state=1))
    >>> set_random_states(bagging, 7, only_unset=True)
    BaggingClassifier(estimator=DecisionTreeClassifier(random_state=1),
                      random_state=7)
    >>> set_random_states(bagging, 7).estimator
    DecisionTreeClassifier(random_state=7)
    """
    params: dict[str, Any] = estimator.get_params() if hasattr(estimator, "get_params") else {}
    names = [
        name
        for name, value in params.items()
        if name.split("__")[-1] == "random_state" and not (only_unset and value is not None)
    ]
    if names:
        value = draw_seeds(seed, 1)[0] if isinstance(seed, np.random.Generator) else int(seed)
        estimator.set_params(**dict.fromkeys(names, value))  # type: ignore[attr-defined]
    return estimator


def kernel(function: Kernel) -> Kernel:
    """Compile ``function`` with numba on first use: cached on disk, GIL released, one thread.

    Threads come from joblib over blocks of rows, so that ``n_jobs`` means the same everywhere
    and a result never depends on it. Where ``NUMBA_DISABLE_JIT`` is set it stays Python.
    """
    from numba import config

    return _let_overflow(function) if config.DISABLE_JIT else _compile(function)


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a function that only other kernels call.

    It has no way in from Python and no machine code of its own, and is not kept on disk: all that
    is part of the kernels that call it, and would take half of the time that it takes to compile.
    """
    from numba import config, njit

    if config.DISABLE_JIT:
        return function
    _watch_compilation()
    return cast("Kernel", njit(pipeline_class=_compilers().inner, **_OPTIONS)(function))


class _Compilers(NamedTuple):
    """numba's compiler as we use it: for kernels, and for functions that only kernels call."""

    kernel: Any
    inner: Any


@cache
def _compilers() -> _Compilers:
    """Return numba's compiler without steps that bring our kernels nothing.

    numba links a function, and all that it calls in turn, into each of its callers, and optimizes
    it there once more. So it would make machine code of the innermost function at every level,
    and only that of the outermost kernel ever runs.
    """
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
    from numba.core.typed_passes import NopythonRewrites
    from numba.core.untyped_passes import InlineClosureLikes

    class QuickFlags(Flags):
        """Options of a compilation, which numba reads at every step and every call in a kernel."""

        DEFAULTS = Flags().values()

        def values(self) -> dict[str, Any]:
            return {**self.DEFAULTS, **self._values}

    class NoEnvironment:
        """Stands where numba notes the Python objects of machine code."""

        @staticmethod
        def set_env(name: str, environment: object) -> None:
            """Note nothing: there is no machine code."""

    class InnerLibrary(JITCodeLibrary):
        """The code of a function, for its callers to link."""

        codegen = NoEnvironment

        def _optimize_functions(self, module: object) -> None:
            """Leave that to the optimization of the whole library, which does the same."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

    class KernelCompiler(CompilerBase):
        """numba's compiler for nopython mode."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.state.flags = QuickFlags(self.state.flags)

        def define_pipelines(self) -> list[Any]:
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    class InnerCompiler(KernelCompiler):
        """The same into an inner library, without rewriting closures and whole-array expressions.

        It has no way in from Python. That is said only now, so that numba's own functions, which
        are compiled once per set of options, serve kernels and inner kernels alike.
        """

        def define_pipelines(self) -> list[Any]:
            codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
            self.state.library = InnerLibrary(codegen, name)
            self.state.flags.no_cpython_wrapper = True
            [pipeline] = super().define_pipelines()
            left_out = NopythonRewrites, InlineClosureLikes
            pipeline.passes = [step for step in pipeline.passes if step[0] not in left_out]
            pipeline.finalize()
            return [pipeline]

    return _Compilers(KernelCompiler, InnerCompiler)


def _compile(function: Kernel) -> Kernel:
    from numba import njit

    _watch_compilation()
    options = {"pipeline_class": _compilers().kernel, **_OPTIONS}
    try:
        compiled: Kernel = njit(cache=True, **options)(function)
    except RuntimeError:
        # No folder to write to (a read-only install without a home; NUMBA_CACHE_DIR names
        # one): compile anew in every process rather than not at all.
        compiled = njit(**options)(function)
    return compiled


def compilation_seconds() -> float:
    """Return how many seconds of the clock this process has compiled kernels of ours.

    Kernels that were found on disk cost nothing here.
    """
    return _watch_compilation().spent


@cache
def _watch_compilation() -> Any:
    """Look after the compilation of our kernels, from now on."""
    from numba.core import event

    class Watch(event.Listener):
        """No garbage collection while a kernel of ours is compiled, and a line if it takes long.

        Nearly all objects of a compilation live until its end; going through them again and
        again takes a fifth of its time. numba compiles one kernel at a time, whatever the threads,
        and tells of those that it needs inside another.
        """

        def __init__(self) -> None:
            self.depth = 0
            self.spent = 0.0
            self.began: float | None = None

        def on_start(self, event: Any) -> None:
            self.depth += 1
            module = event.data["dispatcher"].py_func.__module__
            if self.depth == 1 and module.partition(".")[0] == "labelance":
                self.began, self.collects = perf_counter(), gc.isenabled()
                gc.disable()
                self.notice = Timer(_PATIENCE - self.spent, _say_that_it_compiles)
                if self.spent < _PATIENCE and somebody_watches():
                    self.notice.daemon = True
                    self.notice.start()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0 and self.began is not None:
                self.spent, self.began = self.spent + perf_counter() - self.began, None
                self.notice.cancel()
                if self.collects:
                    gc.enable()

    watch = Watch()
    event.register("numba:compile", watch)
    return watch


def _say_that_it_compiles() -> None:
    say(
        "labelance compiles what is used for the first time, and keeps it for later "
        "(`labelance warmup` compiles everything beforehand)."
    )


def _let_overflow(function: Kernel) -> Kernel:
    """Silence numpy's warnings inside ``function``: compiled numbers overflow without a word."""

    @wraps(function)
    def interpreted(*arguments: object) -> object:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return cast("Kernel", interpreted)


def inlined_kernel(function: Kernel) -> Kernel:
    """Give a function to the kernels that call it, which compile it as a part of themselves.

    That saves a tenth of a second per function and caller, where one caller or two call it.
    """
    from numba import njit

    compiled: Kernel = njit(inline="always", nogil=True, error_model="numpy")(function)
    return compiled


def kernel_folder() -> str | None:
    """Return the folder that keeps compiled kernels; None if there is nowhere to keep them."""
    from numba import config

    probe: Any = _compile(draw_seeds)
    return config.CACHE_DIR or probe.stats.cache_path


def optional_import(name: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module, or say which extra of this distribution brings it.

    Parameters
    ----------
    name : str
        The module to import.
    extra : str
        The extra of this distribution that installs it.
    purpose : str
        What needs it, as the beginning of a sentence ("Drawing a profile").

    Examples
    --------
    >>> from labelance._utils import optional_import
    >>> optional_import("json", extra="cli", purpose="Reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package {name.partition('.')[0]}",
            "it is not installed",
            f"Install it with: pip install 'labelance[{extra}]'",
        ) from error


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line of the user that led here, however deep we are.

    Parameters
    ----------
    message : str
        What to say.
    category : type of Warning
        By which it can be silenced.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return the question that begins an advice, or nothing if no name that is known is near.

    Examples
    --------
    >>> from labelance._utils import did_you_mean
    >>> did_you_mean("Repeat", ["name", "folds", "repeats"])
    "Did you mean 'repeats'? "
    >>> did_you_mean("x", ["name", "folds", "repeats"])
    ''
    """
    by_lower = {str(name).lower(): name for name in known}
    near = get_close_matches(str(word).lower(), by_lower, n=2)
    return f"Did you mean {' or '.join(repr(by_lower[n]) for n in near)}? " if near else ""


@contextmanager
def replace_when_done(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it if the block ends well.

    So nothing half-written remains. The temporary name keeps the suffixes, for writers that
    look at them. A disk that is full, or a folder that cannot be written to, is a `FileWriteError`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance._utils import replace_when_done
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replace_when_done(folder / "out.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> [file.name for file in folder.iterdir()]
    ['out.txt']
    """
    target = Path(path)
    temporary = _make_temporary(target)
    try:
        yield temporary
        # mkstemp makes private files; a file that is replaced keeps its mode.
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_UMASK)
        temporary.replace(target)
    except OSError as problem:
        if isinstance(problem, LabelanceError) or problem.errno not in _CANNOT_WRITE:
            raise
        raise _cannot_write(target, problem) from problem
    finally:
        temporary.unlink(missing_ok=True)


def _make_temporary(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name.partition('.')[0]}-",
            suffix="".join(target.suffixes) or ".part",
            dir=target.parent,
        )
    except OSError as problem:
        raise _cannot_write(target, problem) from problem
    os.close(handle)
    return Path(name)


def _cannot_write(target: Path, problem: OSError) -> FileWriteError:
    before = "the file that was there is as it was" if target.exists() else "nothing was left there"
    return FileWriteError(
        f"{target} is written",
        f"{problem.strerror or problem} ({before})",
        "Free some space on the disk, or name a folder that can be written to",
    )


def refuse_more_than_memory(
    n_rows: float, bytes_per_row: float, *, who: str, fix: str, noun: str = "rows"
) -> None:
    """Raise if so many rows would take more memory than there is.

    Parameters
    ----------
    n_rows : int or float
        How many rows would be made.
    bytes_per_row : float
        The least that one of them takes.
    who, fix : str
        Who would make them, and what to do about it.
    noun : str
        What is made, if not rows.

    Examples
    --------
    >>> from labelance._utils import refuse_more_than_memory
    >>> refuse_more_than_memory(1000, 80, who="MLSOL", fix="Lower sampling_ratio")
    """
    here, size = current_scratch(), n_rows * bytes_per_row
    free, place = (available_memory(), "into memory") if here is None else (here.free, "on disk")
    if size > free:
        raise TooManyRowsError(
            f"{who} makes as many {noun} as fit {place}, now {_in_units(free)}",
            f"{n_rows:,.4g} {noun} would take at least {_in_units(size)}",
            fix,
        )


def available_memory() -> int:
    """Return how many bytes can still be had, as far as the system tells.

    Linux tells what is available, to the machine and to a container on it, others how much
    memory there is; where nothing is known, the largest size that Python has limits it.
    """
    return min(_left_on_machine(), left_in_control_group())


def left_in_control_group(groups: str | os.PathLike[str] = "/sys/fs/cgroup") -> int:
    """Return what the control group of the process leaves, by either version of control groups."""
    second = _left(Path(groups), "memory.max", "memory.current", "")
    first = _left(
        Path(groups, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
    )
    return min(first, second)


def _left(group: Path, limit: str, used: str, prefix: str) -> int:
    """Return the limit of a group less what it uses; files kept in memory give way."""
    try:
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        files = sum(int(stat[f"{prefix}{kind}_file"]) for kind in ("active", "inactive"))
        left = int((group / limit).read_text()) - int((group / used).read_text()) + files
    except (OSError, ValueError, KeyError):  # no such group, or "max": no limit
        return sys.maxsize
    return max(left, 0)


def _left_on_machine() -> int:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            fields = dict(line.split(":") for line in lines)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return sys.maxsize


def _in_units(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size >= 2**30 else f"{size / 2**20:,.3g} MiB"
