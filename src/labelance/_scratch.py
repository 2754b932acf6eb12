"""Large arrays in files, for data larger than memory.

Inside :func:`scratch` an array that takes more than a share of a limit is mapped from a file that
has no name: it is an ndarray like any other, so that nobody who computes with it needs to know, and
the system reads and writes its pages as they are used. Outside of it everything is in memory.

The system itself gives pages back only when the whole machine runs short. So whoever works through
blocks of rows calls :func:`release_pages` after each, which lets mapped pages go when the process
comes near the limit; their contents stay in the file. Compiled code that runs for long is looked
after by a thread. Rows that lie anywhere are better read from the file than mapped, since each
would make the system map megabytes around it: :func:`find_stored_rows` says where they are.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from math import prod
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from labelance.exceptions import FileWriteError

_BLOCKS = 64  # blocks of rows that the limit holds; an array of more than one block is mapped
_NEAR = 0.6  # of the limit, from which on mapped pages are let go
_PERIOD = 0.01  # seconds between two looks at how much the process holds
_MANY_ROWS = 30_000  # work on fewer frees less than is worth the time
_MMAP_THRESHOLD, _LARGE = -3, 1 << 20  # an option of the C library, and bytes of an array
_LINUX = sys.platform == "linux"  # elsewhere nobody tells what a process holds, or lets it go


class StoredRows(NamedTuple):
    """Where an open file has the rows of an array."""

    file: int
    first: int  # byte of the first row
    stride: int  # bytes from a row to the next


class _MappedFile(NamedTuple):
    """An open file, and which of its bytes is mapped where."""

    file: int
    start: int
    address: int


_files: weakref.WeakKeyDictionary[mmap.mmap, _MappedFile] = weakref.WeakKeyDictionary()


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
        self.folder, self.memory, self.keeps = Path(folder), memory, keeps
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._lock = Lock()  # threads add maps while others go through them
        self._left = 0  # bytes that the process held after it had let all go that it could

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
            self._add(mapped)
        else:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                self._reserve(file.fileno(), size)
                mapped = mmap.mmap(file.fileno(), size)
                self._look_after_file(mapped, file)
        return np.ndarray(shape, dtype, buffer=mapped)

    def open(self, path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
        """Return the array that a file of nothing but its cells holds; writing changes the file."""
        if not prod(shape):
            return np.zeros(shape, dtype)  # nobody can map nothing
        with path.open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), prod(shape) * np.dtype(dtype).itemsize)
            self._look_after_file(mapped, file)
        return np.ndarray(shape, dtype, buffer=mapped)

    def load(self, path: Path, mode: Literal["r", "c"]) -> np.ndarray:
        """Return the array of a NumPy file; ``mode`` is that of :func:`numpy.memmap`."""
        array = np.load(path, mmap_mode=mode)
        if array.size:
            with path.open("rb") as file:
                start = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
                self._look_after_file(array._mmap, file, start)
        return array

    def watch(self, array: np.memmap) -> None:
        """Let pages of an array go that somebody else has mapped."""
        self._add(array._mmap)  # type: ignore[attr-defined]

    def _add(self, mapped: mmap.mmap) -> None:
        with self._lock:
            self._maps.add(mapped)

    def _look_after_file(self, mapped: mmap.mmap, file: BinaryIO, start: int = 0) -> None:
        """Let mapped pages go near the limit, and let rows be read without mapping more."""
        self._add(mapped)
        if _LINUX:  # what is mapped and what is read are the same there at any moment
            number, address = os.dup(file.fileno()), np.frombuffer(mapped, np.uint8).ctypes.data
            weakref.finalize(mapped, os.close, number)
            _files[mapped] = _MappedFile(number, start, address)

    def release(self) -> None:
        """Let all mapped pages go; who uses one reads it again."""
        with self._lock:
            maps = list(self._maps)
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    def relieve(self) -> None:
        """Let go what can be if the process comes near the limit, and holds a block more again."""
        held = _resident()
        self._left = min(self._left, held)
        if held > _NEAR * self.memory and held - self._left > self.block_bytes:
            self.release()
            _trim()
            self._left = _resident()

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


def find_map(X: np.ndarray) -> mmap.mmap | None:
    """Return the map of a file that an array is in; None if it is in memory."""
    base: Any = X
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def find_stored_rows(X: np.ndarray) -> StoredRows | None:
    """Return where the rows of an array are in a file; None if nobody can read them there."""
    base = find_map(X)
    mapped = None if base is None else _files.get(base)
    if mapped is None or not X[:1].flags.c_contiguous:
        return None
    return StoredRows(mapped.file, mapped.start + X.ctypes.data - mapped.address, X.strides[0])


def copy_rows(X: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return a C-contiguous copy of X in another type, which may be large."""
    out = new_zeros(X.shape, dtype)
    for part in row_blocks(out):
        out[part] = X[part]
    return out


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Yield slices of rows: blocks of the scratch in use, or of some megabytes without one."""
    yield from split_rows(X.shape[0], X.dtype.itemsize * prod(X.shape[1:]))


def split_rows(n: int, bytes_per_row: int) -> Iterator[slice]:
    """Yield slices of n rows that take so much each, in blocks like those of `row_blocks`."""
    here = _current.get()
    size = (1 << 24) if here is None else here.block_bytes
    step = max(1, size // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
        release_pages()


def release_pages() -> None:
    """Let mapped pages go if the process comes near the limit of a scratch in use."""
    for here in tuple(_active):
        here.relieve()


def return_freed_memory(n_rows: int) -> None:
    """Give memory that work on many rows has freed back to the system.

    The C library keeps arrays of up to 32 MB for those to come, of every thread apart; after a
    search in threads they would count beside all that follows.
    """
    if n_rows >= _MANY_ROWS:
        _trim()


def _trim() -> None:
    """Give what was freed, and is kept for arrays to come, back to the system."""
    trim = _c_function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _return_freed_arrays() -> None:
    """Let the C library keep no large array from now on, for work below a limit."""
    mallopt = _c_function("mallopt")
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)


@cache
def _c_function(name: str) -> Callable[..., int] | None:
    """Return a function of the C library; None where it has none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if _LINUX else None


def _resident() -> int:
    """Return how many bytes the process holds, pages of files among them."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE
