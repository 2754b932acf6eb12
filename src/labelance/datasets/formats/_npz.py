"""NPZ, our own: the arrays as they are, and names as JSON; nothing in it is ever unpickled."""

from __future__ import annotations

import json
import zipfile
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays import check_compressed
from labelance.datasets._dataset import MultiLabelDataset, is_sparse
from labelance.datasets.formats._bytes import TextFile
from labelance.exceptions import DataFileError

VERSION = 1
_WORDS = ("feature_names", "label_names", "categories", "name", "description", "citation")


def read_npz(file: TextFile) -> MultiLabelDataset:
    """Read a dataset that `write_npz` wrote."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            total = sum(member.file_size for member in archive.infolist())
        if total > file.max_bytes:
            raise file.error(None, *file.size_limit())
        with np.load(file.path, allow_pickle=False) as arrays:
            return _from_arrays(arrays)
    except DataFileError:
        raise
    except FileNotFoundError as problem:
        raise file.error(None, "The file is opened", "there is none", "Check the path") from problem
    except Exception as problem:
        # Damaged bytes can fail anywhere: in the archive, in an array, in what they make up.
        raise _not_ours(file, problem) from problem


def write_npz(data: MultiLabelDataset, out: BinaryIO) -> None:
    """Write everything that a dataset holds."""
    words: dict[str, Any] = {"version": VERSION}
    words |= {field: getattr(data, field) for field in _WORDS}
    # As bytes, since an array of strings would lose zeros at their ends.
    about = np.frombuffer(json.dumps(words).encode(), dtype=np.uint8)
    arrays = {"about": about} | _csr_arrays("Y", data.Y)
    arrays |= _csr_arrays("X", data.X) if is_sparse(data.X) else {"X": data.X}
    np.savez_compressed(out, **arrays)


def _csr_arrays(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a CSR; the ones of Y need no data."""
    arrays = {
        f"{name}_indices": matrix.indices,
        f"{name}_indptr": matrix.indptr,
        f"{name}_shape": np.array(matrix.shape),
    }
    return arrays if name == "Y" else arrays | {f"{name}_data": matrix.data}


def _from_arrays(arrays: Any) -> MultiLabelDataset:
    words = json.loads(bytes(arrays["about"]))
    if words.pop("version") != VERSION:
        raise ValueError("it was written by a later version")
    X = arrays["X"] if "X" in arrays else _csr(arrays, "X")
    return MultiLabelDataset(X=X, Y=_csr(arrays, "Y"), **words)


def _csr(arrays: Any, name: str) -> csr_array:
    """Build a CSR of arrays that fit together; a file may say anything."""
    indices, indptr = arrays[f"{name}_indices"], arrays[f"{name}_indptr"]
    n_rows, n_columns = arrays[f"{name}_shape"].tolist()
    data = np.ones(len(indices), np.int8) if name == "Y" else arrays[f"{name}_data"]
    check_compressed(indptr, indices, len(data), (n_rows, n_columns), name)
    return csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def _not_ours(file: TextFile, problem: Exception) -> DataFileError:
    return file.error(
        None,
        "The file is a whole NPZ file that labelance wrote",
        f"it cannot be read as one ({problem})",
        "Write it again with write_multilabel, or make a MultiLabelDataset from your own arrays",
    )
