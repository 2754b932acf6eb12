"""A file as a table of columns, before anyone has said which columns are labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.datasets._dataset import Categories, is_sparse
from labelance.datasets.formats._bytes import TextFile


def refuse_repeated_names(
    file: TextFile, names: Sequence[str], lines: Sequence[int] | None = None
) -> None:
    """Raise if two columns have one name; with ``lines``, say where the second is."""
    if len(set(names)) == len(names):
        return
    name = Counter(names).most_common(1)[0][0]
    second = names.index(name, names.index(name) + 1)
    raise file.error(
        None if lines is None else lines[second],
        "Every column has its own name",
        f"{name!r} comes twice",
        "Rename one of them",
    )


@dataclass(frozen=True)
class Table:
    """All columns of a file.

    ``cells`` is an ndarray or csr_array of numbers and codes; ``lines`` has the line of every
    row, so that a bad label can be pointed at, and is None where a file has no lines.
    ``labels`` are the label columns that the file itself names, if it does.
    """

    file: TextFile
    names: tuple[str, ...]
    categories: Categories
    cells: Any
    lines: NDArray[np.int64] | None
    name: str = ""
    labels: tuple[int, ...] | None = None

    def line(self, row: int) -> int | None:
        """Line of the file that row ``row`` came from."""
        return None if self.lines is None else int(self.lines[row])

    def take(self, columns: NDArray[np.intp]) -> Table:
        """Return the table of some columns."""
        position = {int(j): i for i, j in enumerate(columns)}
        labels = self.labels
        return replace(
            self,
            names=tuple(self.names[j] for j in columns),
            categories=tuple(self.categories[j] for j in columns),
            cells=self.cells[:, columns],
            labels=labels and tuple(position[j] for j in labels if j in position),
        )

    def sort_categories(self, columns: Iterable[int]) -> Table:
        """Return the table with the values of some nominal columns in alphabetical order.

        Values that were learned from the rows come in the order of the rows, which says nothing.
        """
        categories, cells = list(self.categories), self.cells
        by_column = cells.tocsc() if is_sparse(cells) else cells
        for j in columns:
            values = categories[j] or ()
            categories[j] = tuple(sorted(values))
            rank = np.argsort(np.argsort(np.array(values, dtype=object)))
            column = (
                by_column.data[by_column.indptr[j] : by_column.indptr[j + 1]]
                if is_sparse(cells)
                else by_column[:, j]
            )
            here = ~np.isnan(column)
            column[here] = rank[column[here].astype(np.intp)]
        cells = by_column.tocsr() if is_sparse(cells) else by_column
        return replace(self, categories=tuple(categories), cells=cells)
