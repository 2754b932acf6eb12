"""Cells as text: shortest numbers that read back to the same bits, and words for nominal codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance.datasets._dataset import MultiLabelDataset, is_sparse

Words = NDArray[np.object_]

# Rows are written in blocks of about this many cells.
BLOCK_CELLS = 1 << 20


def number_texts(values: NDArray[np.float64], *, missing: str, infinity: str) -> list[str]:
    """Write numbers with as few digits as give the same double back, in one go."""
    if not values.size:
        return []
    text = repr(values.tolist())[1:-1] + ","
    text = text.replace(".0,", ",").replace("nan", missing).replace("inf", infinity)
    return text[:-1].split(", ")


def row_blocks(data: MultiLabelDataset) -> Iterator[slice]:
    """Yield slices of rows that have about BLOCK_CELLS cells, zeros counted."""
    size = max(BLOCK_CELLS // max(data.n_features + data.n_labels, 1), 1)
    for start in range(0, data.n_samples, size):
        yield slice(start, start + size)


class CellWriter:
    """The cells of a dataset, features then labels, as text."""

    def __init__(
        self, data: MultiLabelDataset, quote: Callable[[str], str], *, missing: str, infinity: str
    ) -> None:
        self.data, self.missing, self.infinity = data, missing, infinity
        lists = [values or () for values in data.categories] + [()] * data.n_labels
        self.nominal = np.concatenate([data.categorical_features, np.zeros(data.n_labels, bool)])
        self.first = np.cumsum([0, *map(len, lists)])
        self.words: Words = np.array([quote(v) for values in lists for v in values] + [""], object)

    def dense_rows(self) -> Iterator[list[list[str]]]:
        """Yield blocks of rows, each row the texts of all its cells."""
        width = self.data.n_features + self.data.n_labels
        for rows in row_blocks(self.data):
            X: Any = self.data.X[rows]
            X = X.toarray() if is_sparse(X) else X
            table = np.hstack([X, self.data.Y[rows].toarray()])
            columns = np.tile(np.arange(width), len(table))
            yield self._texts(table.reshape(-1), columns).reshape(table.shape).tolist()

    def sparse_rows(self) -> Iterator[tuple[csr_array, Words]]:
        """Yield blocks of rows as a CSR and the texts of what it stores."""
        for rows in row_blocks(self.data):
            block = hstack([self.data.X[rows], self.data.Y[rows]], format="csr")
            yield block, self._texts(block.data, block.indices)

    def _texts(self, values: NDArray[np.float64], columns: NDArray[Any]) -> Words:
        numbers = number_texts(values, missing=self.missing, infinity=self.infinity)
        texts: Words = np.array(numbers, dtype=object)
        named = self.nominal[columns] & ~np.isnan(values)
        texts[named] = self.words[self.first[columns[named]] + values[named].astype(np.intp)]
        return texts
