"""scipy's sparse matrices and arrays, of any format; inside, always a canonical CSR array."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._dense import cast_like


class SparseTable:
    """A sparse matrix or array; the same class and format come back."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.names: tuple[Any, ...] | None = None
        self.nominal = np.zeros(native.shape[1], dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return self.native.shape

    def values(self) -> sp.csr_array:
        """Return sorted CSR floats without duplicates or explicit zeros."""
        short = self.native.dtype in (np.float32, np.float16)
        return _canonical(sp.csr_array(self.native, dtype=np.float32 if short else np.float64))

    def cells(self) -> sp.csr_array:
        """Return the same without a change of dtype; labels need no floats."""
        return _canonical(sp.csr_array(self.native))

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return nothing: numbers have no words."""
        return {}

    def rebuild(self, rows: np.ndarray | None, new: sp.csr_array | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        kept = sp.csr_array(self.native)
        if rows is not None:
            kept = kept[rows]
        elif new is None:
            kept = kept.copy()
        if new is not None:
            new = sp.csr_array(
                (cast_like(new.data, self.native.dtype), new.indices, new.indptr), shape=new.shape
            )
            kept = sp.vstack([kept, new], format="csr")
        return self._close(kept)

    def rebuild_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this table's kind."""
        return self._close(Y.astype(self.native.dtype))

    def _close(self, out: sp.csr_array) -> Any:
        if isinstance(self.native, sp.spmatrix):
            out = sp.csr_matrix(out)
        return out.asformat(self.native.format)


def _canonical(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix sorted, without duplicates and explicit zeros; the input stays as it is."""
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
