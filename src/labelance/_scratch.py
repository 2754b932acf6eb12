"""Large arrays in files, for data larger than memory.

Inside :func:`scratch` an array that takes more than a share of a limit is mapped from a file that
has no name: it is an ndarray like any other, so that nobody who computes with it needs to know, and
the system reads and writes its pages as they are used. Outside of it everything is in memory.

The system itself gives pages back only when the whole machine runs short. So whoever works through
blocks of rows calls :func:`relieve_memory` after each, which lets mapped pages go when the process
comes near the limit; their contents stay in the file. Compiled code that runs for long is looked
after by a thread.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import count
from math import prod
from pathlib import Path
from threading import Event, Thread
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import DTypeLike

from labelance.exceptions import FileWriteError

_BLOCKS = 32  # blocks of rows that the limit holds; an array of more than one block is mapped
_NEAR = 0.6  # of the limit, from which on mapped pages are let go
_PERIOD = 0.01  # seconds between two looks at how much the process holds
_MAPPED_AT_ONCE = 1 << 21  # bytes that Linux may map around one that is read
_NUMBERS_AT_ONCE = 1 << 16  # of rows in memory, so that what is computed of them stays small
_MANY_ROWS = 30_000  # work on fewer frees less than is worth the time
_MMAP_THRESHOLD, _LARGE = -3, 1 << 20  # an option of the C library, and bytes of an array
_LINUX = sys.platform == "linux"  # elsewhere nobody tells what a process holds, or lets it go


class Scratch:
    """A folder for arrays that are larger than a share of a memory limit.

    Parameters
    ----------
    folder : path-like
        Where files are made; they have no name and vanish with their arrays.
    memory : int
        How many bytes the process should hold at most.
    keeps : bool
        Whether results that took long are kept in files with names, for a process that goes on
        where this one may end.
    """

    def __init__(self, folder: str | os.PathLike[str], memory: int, *, keeps: bool = False) -> None:
        self.folder, self.memory = Path(folder), memory
        self._maps: WeakSet[Any] = WeakSet()
        self._kept = count() if keeps else None
        self._others = _resident()[1] if _LINUX else 0  # pages of libraries, which stay mapped

    @property
    def block_bytes(self) -> int:
        """The most that an array in memory takes."""
        return self.memory // _BLOCKS

    @property
    def free(self) -> int:
        """How many bytes the disk has left."""
        return shutil.disk_usage(self.folder).free

    def zeros(self, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return an array of zeros that is mapped from a new file."""
        size = prod(shape) * np.dtype(dtype).itemsize
        if os.name == "nt":
            mapped = mmap.mmap(-1, size)  # Windows has a file of its own for such pages
        else:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                self._reserve(file.fileno(), size)
                mapped = mmap.mmap(file.fileno(), size)
        self._maps.add(mapped)
        return np.ndarray(shape, dtype, buffer=mapped)

    def open(self, path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return the array that a file of nothing but its cells holds; writing changes the file."""
        if not prod(shape):
            return np.zeros(shape, dtype)  # nobody can map nothing
        with path.open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), prod(shape) * np.dtype(dtype).itemsize)
        self._maps.add(mapped)
        return np.ndarray(shape, dtype, buffer=mapped)

    def watch(self, array: np.memmap) -> None:
        """Let pages of an array go that somebody else has mapped."""
        self._maps.add(array._mmap)  # type: ignore[attr-defined]

    def next_result(self, kind: str) -> Path | None:
        """Return the file of the next result of a kind, the same in every run; None keeps none."""
        return None if self._kept is None else self.folder / f"{kind}-{next(self._kept):05d}.json"

    def release(self) -> None:
        """Let all mapped pages go; who uses one reads it again."""
        for mapped in list(self._maps):
            mapped.madvise(mmap.MADV_DONTNEED)

    def relieve(self) -> None:
        """Let all mapped pages go if the process comes near the limit."""
        held, mapped = _resident()
        if held > _NEAR * self.memory and mapped - self._others > self.block_bytes:
            self.release()

    def look_after(self, stop: Event) -> None:
        """Do so again and again, until it is over."""
        while not stop.wait(_PERIOD):
            self.relieve()

    def _reserve(self, file: int, size: int) -> None:
        """Take the space on the disk now: a disk that is full later would end the process."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
            else:
                os.truncate(file, size)
        except OSError as problem:
            raise FileWriteError(
                f"Data larger than memory are kept in {self.folder} while they are worked on",
                f"{size:,} bytes more cannot be had there ({problem.strerror or problem})",
                "Free some space on the disk, or name an output on another one",
            ) from problem


_current: ContextVar[Scratch | None] = ContextVar("scratch", default=None)
_active: list[Scratch] = []  # threads that work for somebody do not know what is current there


@contextmanager
def scratch(
    folder: str | os.PathLike[str], memory: int, *, keeps: bool = False
) -> Iterator[Scratch]:
    """Keep large arrays of the block in files, and what the process holds below a limit.

    Examples
    --------
    >>> import tempfile
    >>> from labelance._scratch import new_zeros, scratch
    >>> with tempfile.TemporaryDirectory() as folder, scratch(folder, 1 << 20):
    ...     large, small = new_zeros((1000, 500), float), new_zeros((10, 5), float)
    ...     large.base is None, small.base is None
    (False, True)
    """
    here, stop = Scratch(folder, memory, keeps=keeps), Event()
    watcher = Thread(target=here.look_after, args=(stop,), daemon=True)
    if _LINUX:
        _return_freed_arrays()
        watcher.start()
        _active.append(here)
    token = _current.set(here)
    try:
        yield here
    finally:
        _current.reset(token)
        stop.set()
        if _LINUX:
            _active.remove(here)
            watcher.join()


def current_scratch() -> Scratch | None:
    """Return the innermost scratch folder that is in use; None where all is in memory."""
    return _current.get()


def keep_scratch(work: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that knows the scratch in use here, whatever thread calls it."""
    here = _current.get()
    if here is None:
        return work

    def inside(*arguments: Any) -> Any:
        token = _current.set(here)
        try:
            return work(*arguments)
        finally:
            _current.reset(token)

    return inside


def new_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array of zeros: in memory, unless it is too large for the scratch in use."""
    here = _current.get()
    if here is None or prod(shape) * np.dtype(dtype).itemsize <= here.block_bytes:
        return np.zeros(shape, dtype)
    return here.zeros(shape, dtype)


def gather_rows(X: np.ndarray, rows: Any) -> np.ndarray:
    """Return ``X[rows]`` of row numbers, which may be large."""
    here = _current.get()
    if here is None:
        return X[rows]
    rows, size = np.asarray(rows, dtype=np.intp), X.itemsize * prod(X.shape[1:])
    out = new_zeros((len(rows), *X.shape[1:]), X.dtype)
    for block in row_blocks(out):
        some, place = rows[block], out[block]
        if np.ptp(some) * size <= 2 * here.block_bytes:  # all of them are near each other
            place[:] = X[some]
            continue
        for part in scattered_blocks(len(some), size):
            place[part] = X[some[part]]
    return out


def copy_rows(X: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return a C-contiguous copy of X in another type, which may be large."""
    out = new_zeros(X.shape, dtype)
    for part in row_blocks(out):
        out[part] = X[part]
    return out


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Yield slices of rows: blocks of the scratch in use, or of some megabytes without one."""
    here = _current.get()
    size = (1 << 24) if here is None else here.block_bytes
    step = max(1, size // max(1, X.dtype.itemsize * prod(X.shape[1:])))
    for start in range(0, X.shape[0], step):
        yield slice(start, start + step)
        relieve_memory()


def scattered_blocks(n: int, bytes_per_row: int = 0) -> Iterator[slice]:
    """Yield slices of n row numbers that lie anywhere: of many of them, where all is in memory.

    In a file each of them makes some pages be mapped.
    """
    here = _current.get()
    size = max(_MAPPED_AT_ONCE, bytes_per_row)
    step = _NUMBERS_AT_ONCE if here is None else max(1, here.block_bytes // size)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
        relieve_memory()


def relieve_memory() -> None:
    """Let mapped pages go if the process comes near the limit of a scratch in use."""
    for here in tuple(_active):
        here.relieve()


def return_freed_memory(n_rows: int) -> None:
    """Give memory that work on many rows has freed back to the system.

    The C library keeps arrays of up to 32 MB for those to come, of every thread apart; after a
    search in threads they would count beside all that follows.
    """
    trim = _c_function("malloc_trim") if n_rows >= _MANY_ROWS else None
    if trim is not None:
        trim(0)


@cache
def _return_freed_arrays() -> None:
    """Let the C library keep no large array from now on, for work below a limit."""
    mallopt = _c_function("mallopt")
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)


def _c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None where it has none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if _LINUX else None


def _resident() -> tuple[int, int]:
    """Return how many bytes the process holds, and how many of them are pages of files."""
    with open("/proc/self/statm", encoding="ascii") as file:
        _, held, mapped, *_ = map(int, file.read().split())
    return held * mmap.PAGESIZE, mapped * mmap.PAGESIZE
