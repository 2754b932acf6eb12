"""The cells of a block of bytes: where they begin and end, before anyone reads them.

Every text format has a kernel that finds cells; one kernel, in `_values`, reads them all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelance.datasets.formats._memory import BYTES_PER_NUMBER

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

# How a cell is written. Only an escaped one differs from its bytes.
PLAIN, QUOTED, ESCAPED, MISSING = 0, 1, 2, 3

# Entries of a tally: rows and cells that are whole, then the mistake (0 for none), where it is.
ROWS, CELLS, MISTAKE, COLUMN, START, STOP = range(6)

FAILED = -1


@dataclass(frozen=True)
class FoundCells:
    """The cells of a block, row by row, and the mistake after them, 0 if there is none.

    Cell i is ``block[bounds[i, 0]:bounds[i, 1]]``. For sparse rows ``columns`` and ``ends`` are
    the indices and indptr of a CSR; for dense ones they are empty. ``lines`` has the line of
    every row, and of the mistake after them.
    """

    block: bytes
    rows: int
    width: int
    bounds: Ints
    marks: Bytes
    columns: Ints
    ends: Longs
    lines: Longs
    mistake: int
    column: int
    start: int
    stop: int

    def place(self, cell: int) -> tuple[int, int]:
        """Row and column of a cell."""
        if self.ends.size:
            return int(np.searchsorted(self.ends, cell, "right")) - 1, int(self.columns[cell])
        return divmod(cell, self.width)

    @property
    def memory(self) -> int:
        """Bytes that the cells take as numbers, with the columns and ends of sparse ones."""
        cells = BYTES_PER_NUMBER * len(self.bounds) + self.columns.nbytes
        return cells + self.ends.nbytes + BYTES_PER_NUMBER * self.rows

    def token(self, cell: int) -> bytes:
        """Bytes of a cell."""
        return self.block[slice(*self.bounds[cell])]


@dataclass(frozen=True)
class Room:
    """Arrays for a kernel to note cells in."""

    bounds: Ints
    marks: Bytes
    columns: Ints
    ends: Longs
    lines: Longs
    tally: Longs

    def found(self, block: bytes, width: int) -> FoundCells:
        """Return the part that the kernel filled."""
        rows, cells, *mistake = self.tally.tolist()
        return FoundCells(
            block,
            rows,
            width,
            self.bounds[:cells],
            self.marks[:cells],
            self.columns[:cells],
            self.ends[: rows + 1],
            self.lines,
            *mistake,
        )


def make_room(rows: int, cells: int, *, sparse: bool) -> Room:
    """Allocate for at most so many rows and cells; pages that stay unused cost nothing."""
    return Room(
        bounds=np.empty((cells, 2), dtype=np.int32),
        marks=np.empty(cells, dtype=np.uint8),
        columns=np.empty(cells if sparse else 0, dtype=np.int32),
        ends=np.zeros(rows + 1 if sparse else 0, dtype=np.int64),
        # A mistake in the row after the last whole one has a line, too.
        lines=np.empty(rows + 1, dtype=np.int64),
        tally=np.zeros(6, dtype=np.int64),
    )


def most_dense_rows(block: bytes, width: int) -> int:
    """Bound the rows of a block: each has a byte or nothing, and a separator, for every cell."""
    return min(block.count(b"\n"), len(block) // max(width, 1))
