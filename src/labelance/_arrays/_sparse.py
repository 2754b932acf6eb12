"""The index arrays of sparse matrices, checked and narrowed.

Compiled routines, scipy's and ours, follow index arrays without looking: an index outside
reads or writes memory that belongs to others. So the index arrays of whatever comes from
outside are checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from labelance.exceptions import InputError


def check_structure(matrix: Any, role: str) -> bool:
    """Say whether a table is sparse; raise unless its index arrays fit its shape then.

    Parameters
    ----------
    matrix : sparse matrix or array
        Of any of scipy's formats; other tables have no index arrays.
    role : str
        What messages call it.
    """
    if not issparse(matrix):
        return False
    if matrix.format in ("csr", "csc"):
        shape = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        check_compressed(matrix.indptr, matrix.indices, len(matrix.data), shape, role)
    elif matrix.format == "bsr":
        _check_blocks(matrix, role)
    elif matrix.format == "dia":
        tables = _is_whole(matrix.offsets) and np.ndim(matrix.data) == 2
        fit = tables and len(matrix.offsets) == len(matrix.data)
        _require(fit, role, "Its diagonals have no offsets")
    else:
        _check_coordinates(_to_coordinates(matrix, role), role)
    return True


def check_compressed(
    indptr: Any, indices: Any, n_stored: int, shape: tuple[int, int], role: str
) -> None:
    """Raise unless these are the index arrays of a CSR of this shape (turned round: of a CSC).

    Parameters
    ----------
    indptr, indices : array
        Where each row begins among the stored cells, and the column of each stored cell.
    n_stored : int
        How many values are stored.
    shape : tuple of int
        Numbers of rows and columns.
    role : str
        What messages call the matrix.
    """
    _require(_is_whole(indptr) and _is_whole(indices), role, "Its indices are not integers")
    _require(
        len(indptr) == shape[0] + 1,
        role,
        f"indptr has {len(indptr)} entries for {shape[0]} rows and one more",
    )
    _require(len(indices) == n_stored, role, f"It has {len(indices)} indices and {n_stored} values")
    _require(
        indptr[0] == 0 and indptr[-1] == n_stored and bool((indptr[1:] >= indptr[:-1]).all()),
        role,
        f"indptr does not rise from 0 to the number of stored values, {n_stored}",
    )
    _check_range(indices, shape[1], role)


def _check_blocks(matrix: Any, role: str) -> None:
    data = matrix.data
    _require(np.ndim(data) == 3 and 0 not in data.shape[1:], role, "Its blocks have no size")
    whole = matrix.shape[0] % data.shape[1] == 0 and matrix.shape[1] % data.shape[2] == 0
    _require(whole, role, f"Blocks of {data.shape[1:]} do not fill its shape, {matrix.shape}")
    blocks = matrix.shape[0] // data.shape[1], matrix.shape[1] // data.shape[2]
    check_compressed(matrix.indptr, matrix.indices, len(data), blocks, role)


def _to_coordinates(matrix: Any, role: str) -> Any:
    """Return rows of lists and dictionaries as coordinates; scipy looks at each of them."""
    if matrix.format == "lil":
        lengths = [list(map(len, part)) for part in (matrix.rows, matrix.data)]
        fit = lengths[0] == lengths[1] and len(lengths[0]) == matrix.shape[0]
        _require(fit, role, "Its rows and their values have different lengths")
    try:
        return matrix.tocoo(copy=False)
    except (TypeError, ValueError, OverflowError) as problem:
        raise _misfit(role, str(problem)) from problem


def _check_coordinates(matrix: Any, role: str) -> None:
    for places, width in zip((matrix.row, matrix.col), matrix.shape):
        _require(_is_whole(places), role, "Its coordinates are not integers")
        same = len(places) == len(matrix.data)
        _require(same, role, "It has more or fewer coordinates than values")
        _check_range(places, width, role)


def _check_range(places: Any, width: int, role: str) -> None:
    inside = not len(places) or (places.min() >= 0 and places.max() < width)
    _require(inside, role, f"An index is outside 0 to {width - 1}")


def _is_whole(places: Any) -> bool:
    return isinstance(places, np.ndarray) and places.ndim == 1 and places.dtype.kind in "iu"


def _require(holds: bool, role: str, found: str) -> None:
    if not holds:
        raise _misfit(role, found)


def _misfit(role: str, found: str) -> InputError:
    return InputError(
        f"The index arrays of the sparse {role} are inconsistent",
        found,
        f"Build {role} again from its cells, and do not edit its index arrays",
    )


def narrow_indices(X: Any, *, growth: int = 1) -> Any:
    """Return a CSR or CSC matrix with 32-bit indices, if they suffice for its growth in cells.

    Any other table comes back as it is.

    Much of scikit-learn takes no others. Taking and stacking rows may leave 64 bits, however few
    cells there are.
    """
    if not issparse(X) or X.format not in ("csr", "csc"):
        return X
    narrow = X.indices.dtype == X.indptr.dtype == np.int32
    if narrow or growth * max(X.nnz, *X.shape) >= 2**31:
        return X
    cells = X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return type(X)(cells, shape=X.shape)


def as_matrix(X: Any) -> Any:
    """Return sparse rows as a SciPy matrix, which learners take that reject arrays."""
    return csr_matrix(X) if issparse(X) else X
