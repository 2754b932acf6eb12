"""Where large arrays are: in memory, as far as it goes, or in files.

Storage follows the data, as a GPU does: an array that lies in a file of a :class:`Storage` is an
ndarray like any other, :func:`storage_of` tells which storage it is in, and code that makes
something large of it passes that storage on. Of all other arrays the storage is None: memory.

The system itself gives pages of files back only when the whole machine runs short. So a thread, and
code that works through blocks of rows, let mapped pages go when the process comes near the limit;
their contents stay in the file. Rows that lie anywhere are better read from the file than mapped,
since each would make the system map megabytes around it: :func:`find_stored_rows` says where they
are.

Two functions of the C library stay, since NumPy has none for this and without them peaks are over
1.1 times as high (``benchmarks/scale.py``): without ``malloc_trim`` MLSOL on 100,000 rows in
clusters takes 4.55 times X instead of 3.26, and on a file of 600,000 rows under 450 MB 0.55 GB
instead of 0.46; there, without ``mallopt``, 0.49 and 0.50 GB in two runs.
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
from functools import cache
from math import prod
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numba import config, types
from numpy.typing import DTypeLike

from labelance._utils._kernel import kernel
from labelance.exceptions import FileWriteError, TooManyRowsError

_BLOCKS = 64  # blocks of rows that the limit holds; an array of more than one block is mapped
_NEAR = 0.6  # of the limit, from which on mapped pages are let go
_PERIOD = 0.01  # seconds between two looks at how much the process holds
_MANY_ROWS = 30_000  # work on fewer frees less than is worth the time
_MMAP_THRESHOLD, _LARGE = -3, 1 << 20  # an option of the C library, and bytes of an array
_MOST_READ = 1 << 30  # bytes at once; Linux takes less than twice as many
_MAPPED_AROUND = 1 << 21  # bytes that Linux may map around one that is read
_LINUX = sys.platform == "linux"  # elsewhere memory of a process is not known, nor released


# The function of the C library, which compiled code calls without Python.
_pread = types.ExternalFunction(
    "pread", types.intp(types.intc, types.voidptr, types.uintp, types.int64)
)


class StoredRows(NamedTuple):
    """Where an open file has the rows of an array."""

    file: int
    first: int  # byte of the first row
    stride: int  # bytes from a row to the next


class _MappedFile(NamedTuple):
    """The storage that a map belongs to; the file and which of its bytes is mapped where."""

    storage: Storage
    file: int | None  # None where nothing can be read next to the map
    start: int
    address: int


_files: weakref.WeakKeyDictionary[mmap.mmap, _MappedFile] = weakref.WeakKeyDictionary()


class Storage:
    """A folder for arrays that are larger than a share of a memory limit.

    Parameters
    ----------
    folder : path-like
        Where files are made; they have no name and vanish with their arrays.
    memory : int
        How many bytes the process should hold at most.
    keeps : bool
        Whether results that took long are kept in files with names, for a process that continues
        where this one may end.
    """

    def __init__(self, folder: str | os.PathLike[str], memory: int, *, keeps: bool = False) -> None:
        self.folder, self.memory, self.keeps = Path(folder), memory, keeps
        self.is_open = True  # else what is made of its arrays is in memory
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
        if not size:
            return np.zeros(shape, dtype)  # an empty file cannot be mapped
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
            return np.zeros(shape, dtype)  # an empty file cannot be mapped
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

    def adopt(self, array: np.ndarray) -> bool:
        """Let an array be one of this storage that was mapped from a file elsewhere."""
        mapped = find_map(array)
        if mapped is not None and storage_of(array) is not self:
            self._add(mapped)
        return mapped is not None

    def _add(self, mapped: mmap.mmap, file: int | None = None, start: int = 0) -> None:
        address = 0 if file is None else np.frombuffer(mapped, np.uint8).ctypes.data
        _files[mapped] = _MappedFile(self, file, start, address)
        with self._lock:
            self._maps.add(mapped)

    def _look_after_file(self, mapped: mmap.mmap, file: BinaryIO, start: int = 0) -> None:
        """Let mapped pages go near the limit, and let rows be read without mapping more."""
        number = None
        if _LINUX:  # what is mapped and what is read are the same there at any moment
            number = os.dup(file.fileno())
            weakref.finalize(mapped, os.close, number)
        self._add(mapped, number, start)

    def release(self) -> None:
        """Let all mapped pages go; who uses one reads it again."""
        with self._lock:
            maps = list(self._maps)
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    def relieve(self) -> None:
        """Let go what can be if the process comes near the limit, and holds a block more again."""
        if not _LINUX:
            return
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
                f"There is not enough disk space in {self.folder} for data larger than memory",
                f"Allocating {size:,} more bytes failed ({problem.strerror or problem})",
                "Free disk space, or choose an output on another disk",
            ) from problem


@contextmanager
def open_storage(
    folder: str | os.PathLike[str], memory: int, *, keeps: bool = False
) -> Iterator[Storage]:
    """Open a storage, and keep what the process holds below its limit while it is open.

    Examples
    --------
    >>> import tempfile
    >>> from labelance._arrays._storage import new_zeros, open_storage
    >>> with tempfile.TemporaryDirectory() as folder, open_storage(folder, 1 << 20) as here:
    ...     large, small = new_zeros((1000, 500), float, here), new_zeros((10, 5), float, here)
    ...     large.base is None, small.base is None
    (False, True)
    """
    here, stop = Storage(folder, memory, keeps=keeps), Event()
    watcher = Thread(target=here.look_after, args=(stop,), daemon=True)
    if _LINUX:
        _return_freed_arrays()
        watcher.start()
    try:
        yield here
    finally:
        here.is_open = False
        stop.set()
        if _LINUX:
            watcher.join()


def storage_of(X: Any) -> Storage | None:
    """Return the open storage that an array is in; None for all that is in memory."""
    mapped = find_map(X)
    found = None if mapped is None else _files.get(mapped)
    return found.storage if found is not None and found.storage.is_open else None


def new_zeros(shape: tuple[int, ...], dtype: DTypeLike, storage: Storage | None) -> np.ndarray:
    """Return an array of zeros: in memory, unless there is a storage and it is too large."""
    if storage is None or prod(shape) * np.dtype(dtype).itemsize <= storage.block_bytes:
        return np.zeros(shape, dtype)
    return storage.zeros(shape, dtype)


def find_map(X: Any) -> mmap.mmap | None:
    """Return the map of a file that an array is in; None if it is in memory."""
    base: Any = X
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def find_stored_rows(X: np.ndarray) -> StoredRows | None:
    """Return where the rows of an array are in a file; None if they cannot be read there."""
    base = find_map(X)
    mapped = None if base is None else _files.get(base)
    if mapped is None or mapped.file is None or not X[:1].flags.c_contiguous:
        return None
    return StoredRows(mapped.file, mapped.start + X.ctypes.data - mapped.address, X.strides[0])


def gather_rows(X: np.ndarray, rows: Any) -> np.ndarray:
    """Return ``X[rows]`` of row numbers from 0 on, which may be large.

    Rows of a file are read from it: each of them, mapped where it lies, would make the system map
    up to two megabytes around it.
    """
    storage = storage_of(X)
    if storage is None:
        return X[rows]
    rows, size = np.asarray(rows, dtype=np.int64), X.itemsize * prod(X.shape[1:])
    out = new_zeros((len(rows), *X.shape[1:]), X.dtype, storage)
    stored = None if config.DISABLE_JIT else find_stored_rows(X)
    if stored is None:
        size = max(size, _MAPPED_AROUND)
    for block in split_rows(len(rows), size, storage):
        if stored is None:
            out[block] = X[rows[block]]
        else:
            _read(stored, rows[block], out[block])
    return out


def _read(stored: StoredRows, rows: np.ndarray, out: np.ndarray) -> None:
    """Read rows from where they are stored, as bytes."""
    table = out.reshape(-1).view(np.uint8).reshape(len(rows), -1)
    if not _read_rows(*stored, np.ascontiguousarray(rows), table):
        raise OSError("rows of a file that is mapped cannot be read")


@kernel
def _read_rows(file: int, first: int, stride: int, rows: np.ndarray, out: np.ndarray) -> bool:
    """Read rows of a file, those that follow each other at once; tell whether all were there."""
    n, size = out.shape
    most = max(1, _MOST_READ // size) if stride == size else 1
    start = 0
    while start < n:
        stop = start + 1
        while stop < min(n, start + most) and rows[stop] == rows[stop - 1] + 1:
            stop += 1
        wanted = (stop - start) * size
        if _pread(file, out[start].ctypes, wanted, first + rows[start] * stride) != wanted:
            return False
        start = stop
    return True


def copy_rows(X: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """Return a C-contiguous copy of X in another type, in the same storage."""
    storage = storage_of(X)
    out = np.empty(X.shape, dtype) if storage is None else storage.zeros(X.shape, dtype)
    for part in row_blocks(out):
        out[part] = X[part]
    return out


def row_blocks(X: np.ndarray) -> Iterator[slice]:
    """Yield slices of rows: blocks of the storage that X is in, or of some megabytes."""
    yield from split_rows(X.shape[0], X.dtype.itemsize * prod(X.shape[1:]), storage_of(X))


def split_rows(n: int, bytes_per_row: int, storage: Storage | None) -> Iterator[slice]:
    """Yield slices of n rows that take so much each, in blocks like those of `row_blocks`."""
    size = (1 << 24) if storage is None else storage.block_bytes
    step = max(1, size // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
        if storage is not None:
            storage.relieve()


def check_fits_memory(
    n_rows: float,
    bytes_per_row: float,
    *,
    caller: str,
    cure: str,
    noun: str = "rows",
    storage: Storage | None = None,
) -> None:
    """Raise if this many rows would take more memory than there is, or space on disk.

    Parameters
    ----------
    n_rows : int or float
        How many rows would be made.
    bytes_per_row : float
        The least that one of them takes.
    caller, cure : str
        Who would make them, and what to do about it.
    noun : str
        What is made, if not rows.
    storage : Storage, optional
        Where they are kept, if not in memory.

    Examples
    --------
    >>> from labelance._arrays._storage import check_fits_memory
    >>> check_fits_memory(1000, 80, caller="MLSOL", cure="Lower sampling_ratio")
    """
    size, place = n_rows * bytes_per_row, "into memory" if storage is None else "on disk"
    free = available_memory() if storage is None else storage.free
    if size > free:
        raise TooManyRowsError(
            f"{caller} would make more {noun} than fit {place}",
            f"{n_rows:,.4g} {noun} need at least {_in_units(size)}, and {_in_units(free)} are free",
            cure,
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


def return_freed_memory(n_rows: int) -> None:
    """Give memory that work on many rows has freed back to the system.

    The C library keeps arrays of up to 32 MB for those to come, of every thread apart; after a
    search in threads they would count next to all that follows.
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
