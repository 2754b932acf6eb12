"""numpy arrays and nested lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def to_working_floats(values: np.ndarray) -> np.ndarray:
    """Return C-contiguous float32 (if it was float32 or shorter) or float64 values."""
    short = values.dtype in (np.float32, np.float16)
    return np.ascontiguousarray(values, dtype=np.float32 if short else np.float64)


def cast_like(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast floats to ``dtype``; whole-number types take the nearest whole number.

    A number between two integers stays between them when rounded, so a synthetic value
    keeps lying between its parents.
    """
    if dtype.kind in "iub":
        values = np.rint(values)
    return values.astype(dtype, copy=False)


class DenseContainer:
    """A two-dimensional array; ``as_list`` for nested lists, which come back as lists."""

    def __init__(self, native: np.ndarray, *, as_list: bool = False) -> None:
        self.native = native
        self.as_list = as_list
        self.names: tuple[Any, ...] | None = None
        self.nominal = np.zeros(native.shape[1], dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return self.native.shape

    def values(self) -> np.ndarray:
        """Return the cells as working floats."""
        return to_working_floats(self.native)

    def cells(self) -> np.ndarray:
        """Return the cells as they came; labels need no floats."""
        return self.native

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return nothing: numbers have no words."""
        return {}

    def rebuild(self, rows: np.ndarray | None, new: np.ndarray | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        kept = self.native if rows is None else self.native[rows]
        if new is not None:
            kept = np.concatenate([kept, cast_like(new, self.native.dtype)])
        elif rows is None:
            kept = kept.copy()
        return self._close(kept)

    def rebuild_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this container's kind; the row numbers matter to frames only."""
        return self._close(Y.toarray().astype(self.native.dtype))  # dense because Y came dense

    def _close(self, out: np.ndarray) -> Any:
        return out.tolist() if self.as_list else out
