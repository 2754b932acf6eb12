"""Rows that lie anywhere in an array, which may be in a file larger than memory."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numba import config, types

from labelance._storage import StoredRows, find_stored_rows, new_zeros, split_rows, storage_of
from labelance._utils._kernel import kernel

_MOST_READ = 1 << 30  # bytes at once; Linux takes less than twice as many
_MAPPED_AROUND = 1 << 21  # bytes that Linux may map around one that is read

# The function of the C library, which compiled code calls without Python.
_pread = types.ExternalFunction(
    "pread", types.intp(types.intc, types.voidptr, types.uintp, types.int64)
)


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
