"""Rows that are appended batch by batch and looked at in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays import stack_rows
from labelance.sampling._circles import Made


class GrowingArray:
    """An array that grows at its end.

    The room is doubled when it runs out, so a row is moved a bounded number of times.
    """

    def __init__(self, like: np.ndarray) -> None:
        self._room = np.empty((0, *like.shape[1:]), dtype=like.dtype)
        self._length = 0

    @property
    def filled(self) -> np.ndarray:
        """A view of what was appended so far."""
        return self._room[: self._length]

    def append(self, values: np.ndarray) -> None:
        """Put values at the end."""
        length = self._length + len(values)
        if length > len(self._room):
            room = np.empty((max(length, 2 * len(self._room)), *values.shape[1:]), self._room.dtype)
            room[: self._length] = self.filled
            self._room = room
        self._room[self._length : length] = values
        self._length = length


class GrowingRows:
    """Rows in the kind of container, dense or CSR, and of the type that ``like`` has."""

    def __init__(self, like: Any) -> None:
        self._sparse, self._width = sp.issparse(like), like.shape[1]
        self._cells = GrowingArray(like.data if self._sparse else like)
        if self._sparse:
            self._columns = GrowingArray(like.indices)
            self._ends = GrowingArray(np.empty(0, dtype=np.int64))
            self._ends.append(np.zeros(1, dtype=np.int64))

    @property
    def filled(self) -> Any:
        """All rows appended so far."""
        if not self._sparse:
            return self._cells.filled
        ends = self._ends.filled
        cells = self._cells.filled, self._columns.filled, ends
        rows = sp.csr_array(cells, shape=(len(ends) - 1, self._width))
        rows.has_sorted_indices = True
        return rows

    def append(self, rows: Any) -> None:
        """Put rows of the same kind at the end."""
        if not self._sparse:
            self._cells.append(rows)
            return
        self._ends.append(rows.indptr[1:] + self._ends.filled[-1])
        self._columns.append(rows.indices)
        self._cells.append(rows.data)


class Family:
    """Original rows and the rows made from them so far; synthetic rows are numbered from n."""

    def __init__(self, X: Any, Y: sp.csr_array) -> None:
        self._X, self._Y = X, Y
        self._X_made, self._Y_made = GrowingRows(X), GrowingRows(Y)
        self._parents = [np.empty((3, 0), dtype=np.int64)]

    def gather(self, label: int, bag: np.ndarray) -> tuple[np.ndarray, Any, sp.csr_array]:
        """Return all rows of a label, given the original ones: numbers, features and labels."""
        X, Y, Y_made = self._X[bag], self._Y[bag], self._Y_made.filled
        cells = np.flatnonzero(Y_made.indices == label)
        young = np.searchsorted(Y_made.indptr, cells, side="right") - 1
        if len(young):
            X, Y = stack_rows(X, self._X_made.filled[young]), stack_rows(Y, Y_made[young])
        return np.concatenate([bag, self._Y.shape[0] + young]), X, Y

    def append(self, rows: np.ndarray, made: Made) -> None:
        """Take in what was made from the given rows; its parents are places among them."""
        self._X_made.append(made.X)
        self._Y_made.append(made.Y)
        parents = rows[made.seeds], rows[made.references], made.labels
        self._parents.append(np.stack(parents))

    def made(self) -> Made:
        """Return all that was made, with the parents' numbers."""
        parents = np.concatenate(self._parents, axis=1)
        return Made(self._X_made.filled, self._Y_made.filled, *parents)
