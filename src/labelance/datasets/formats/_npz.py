"""NPZ, our own: the arrays as they are, and names as JSON; nothing in it is ever unpickled.

A file with the arrays X and y that numpy wrote is read, too.
"""

from __future__ import annotations

import json
import math
import zipfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._sparse import check_compressed
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._text_file import (
    BYTES_PER_NAME,
    BYTES_PER_NUMBER,
    TextFile,
    json_memory,
)
from labelance.exceptions import DataFileError, LabelanceError

VERSION = 1
_WORDS = ("feature_names", "label_names", "categories", "name", "description", "citation")


def read_npz(file: TextFile) -> MultiLabelDataset:
    """Read a dataset that `write_npz` wrote, or ``np.savez(file, X=X, y=y)``."""
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            return _Archive(file, archive).dataset()
    except DataFileError:
        raise
    except Exception as problem:
        # Damaged bytes can fail anywhere: in the archive, in an array, in what they make up.
        raise file.error(
            "This is not a complete NPZ file written by labelance",
            f"Reading it failed ({problem})",
            "Check the path, or write it again",
        ) from problem


def write_npz(data: MultiLabelDataset, out: BinaryIO) -> None:
    """Write everything that a dataset holds."""
    words: dict[str, Any] = {"version": VERSION}
    words |= {field: getattr(data, field) for field in _WORDS}
    # As bytes, since an array of strings would lose zeros at their ends.
    about = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    arrays = {"about": about} | _csr_arrays("Y", data.Y)
    arrays |= _csr_arrays("X", data.values) if data.is_sparse else {"X": data.values}
    np.savez_compressed(out, **arrays)


def _csr_arrays(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a CSR; ones of Y need no data, unless some cells are unknown (NaN)."""
    arrays = {
        f"{name}_indices": matrix.indices,
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.array(matrix.shape),
    }
    only_ones = name == "Y" and matrix.dtype.kind != "f"
    return arrays if only_ones else arrays | {f"{name}_data": matrix.data}


class _Archive:
    """The arrays of a file that is open; each is taken within the memory that is left."""

    def __init__(self, file: TextFile, archive: zipfile.ZipFile) -> None:
        self.file, self.archive, self.memory = file, archive, 0

    def dataset(self) -> MultiLabelDataset:
        """Read everything that `write_npz` wrote, or X and y of another program."""
        if "about.npy" not in self.archive.namelist():
            return self._foreign_dataset()
        about = bytes(self._array("about"))
        self._take(json_memory(about))
        words = json.loads(about)
        if words.pop("version") != VERSION:
            raise ValueError("it was written by a later version")
        X = self._dense("X") if "X.npy" in self.archive.namelist() else self._csr("X")
        return MultiLabelDataset(values=X, Y=self._csr("Y"), **words)

    def _foreign_dataset(self) -> MultiLabelDataset:
        """Read what ``np.savez(file, X=X, y=y)`` wrote."""
        names = [name.removesuffix(".npy") for name in self.archive.namelist()]
        labels = next((name for name in ("y", "Y") if name in names), None)
        if "X" not in names or labels is None:
            raise self.file.error(
                "It must have the arrays X and y, or be written by labelance",
                f"It has {', '.join(names[:5]) or 'no arrays'}",
                "Write it with np.savez(file, X=X, y=y)",
            )
        try:
            return MultiLabelDataset.from_data(self._dense("X"), self._dense(labels))
        except DataFileError:
            raise
        except LabelanceError as problem:
            raise self.file.error(*problem.parts) from problem

    def _dense(self, name: str) -> NDArray[Any]:
        X = self._array(name)
        if X.ndim == 0:
            raise self.file.error(f"{name} must have rows and columns", "It is a single number")
        self._take(BYTES_PER_NAME * X.shape[-1], "the names of the columns")
        return X

    def _csr(self, name: str) -> csr_array:
        """Build a CSR of arrays that fit together; a file may say anything."""
        indices, indptr = self._array(f"{name}_indices"), self._array(f"{name}_indptr")
        n_rows, n_columns = self._array(f"{name}_shape").tolist()
        self._take(BYTES_PER_NAME * abs(n_columns), f"the names of {n_columns} columns")
        only_ones = name == "Y" and "Y_data.npy" not in self.archive.namelist()
        data = np.ones(len(indices), np.int8) if only_ones else self._array(f"{name}_data")
        check_compressed(indptr, indices, len(data), (n_rows, n_columns), name)
        return csr_array((data, indices, indptr), shape=(n_rows, n_columns))

    def _array(self, name: str) -> NDArray[Any]:
        """Read an array, if it is no larger than it says and than it may be."""
        member = self.archive.getinfo(f"{name}.npy")
        with self.archive.open(member) as stream:
            shape, dtype = _read_array_header(stream)
        size = math.prod(shape)
        if size * dtype.itemsize > member.file_size:
            raise ValueError(f"{name} has {member.file_size} bytes, too few for {shape} numbers")
        # Numbers become double in the dataset.
        self._take(max(size * BYTES_PER_NUMBER, member.file_size))
        with self.archive.open(member) as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array

    def _take(self, more: int, what: str = "the arrays") -> None:
        self.memory += more
        self.file.require(self.memory, what=what)


def _read_array_header(stream: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type that an array in the NPY format says it has."""
    npy = np.lib.format
    is_first = npy.read_magic(stream) == (1, 0)
    read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype
