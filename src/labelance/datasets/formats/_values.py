"""What cells mean: numbers, and codes of nominal values that are declared or met on the way."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.datasets._dataset import Categories
from labelance.datasets.formats._cells import ESCAPED, MISSING, Bytes, FoundCells, Ints, Longs
from labelance.datasets.formats._memory import BYTES_PER_NAME
from labelance.datasets.formats._numbers import BAD, KNOWN, UNDECIDED, parse_number
from labelance.datasets.formats._vocabulary import UNKNOWN, Vocabulary, build_vocabulary, find_slot

# How the cells of a column are read: as numbers, as declared values, as any text (which is
# learned), not at all, or as numbers until one is not (which makes the column one of text).
NUMBER, NOMINAL, TEXT, DROP, GUESS = 0, 1, 2, 3, 4

# A column with more different texts holds identifiers, for which a dictionary is as good.
MOST_WORDS = 10_000


class CellReader:
    """Reads the cells of a file, block after block, and learns the values of text columns."""

    def __init__(
        self,
        kinds: NDArray[np.uint8],
        categories: Categories,
        *,
        encoding: str,
        unescape: Callable[[str], str],
    ) -> None:
        self.kinds, self.declared = kinds, categories
        self.encoding, self.unescape = encoding, unescape
        self.learned: dict[int, dict[str, int]] = {
            int(j): {} for j in np.flatnonzero(kinds == TEXT)
        }
        self.memory = 0  # what the learned values take
        self._build_vocabulary()

    def read(self, found: FoundCells) -> tuple[NDArray[np.float64], int]:
        """Return a number or code for every cell, NaN if missing, and the first bad cell or -1."""
        numbers, later, bad = self._read_bytes(found)
        for cell in later:
            try:
                numbers[cell] = self._resolve(found, cell)
            except ValueError:
                return numbers, cell
        if later and self.learned:
            self._build_vocabulary()
        return numbers, bad

    def guess(self, found: FoundCells) -> None:
        """Make columns that hold anything but numbers columns of text, in ``kinds``."""
        self._read_bytes(found)

    def categories(self) -> Categories:
        """Values of the nominal columns, declared or learned."""
        if not self.learned:
            return self.declared
        declared = enumerate(self.declared)
        return tuple(tuple(self.learned[j]) if j in self.learned else c for j, c in declared)

    def _read_bytes(self, found: FoundCells) -> tuple[NDArray[np.float64], list[int], int]:
        """Read what a look at the bytes tells; also return the cells left, and a bad one or -1."""
        numbers = np.empty(len(found.bounds))
        later = np.empty(len(found.bounds), dtype=np.int64)
        left, bad = _read_cells(
            np.frombuffer(found.block, dtype=np.uint8),
            found.bounds,
            found.marks,
            found.columns,
            self.kinds,
            self.known,
            numbers,
            later,
        )
        return numbers, later[:left].tolist(), bad

    def _build_vocabulary(self) -> None:
        values = list(self.categories())
        for column, words in self.learned.items():
            if len(words) > MOST_WORDS:
                values[column] = None
        self.known = build_vocabulary(values, self.encoding)

    def _resolve(self, found: FoundCells, cell: int) -> float:
        """Number or code of a cell that needs more than a look at its bytes."""
        value = found.token(cell).decode(self.encoding)
        value = self.unescape(value) if found.marks[cell] == ESCAPED else value
        column = found.place(cell)[1]
        if column in self.learned:
            values = self.learned[column]
            if value not in values:
                values[value] = len(values)
                self.memory += BYTES_PER_NAME + len(value)
            return values[value]
        if self.kinds[column] == NOMINAL:
            return (self.declared[column] or ()).index(value)
        return float(value)


@kernel
def _read_cells(
    text: Bytes,
    bounds: Ints,
    marks: Bytes,
    columns: Ints,
    kinds: NDArray[np.uint8],
    known: Vocabulary,
    numbers: NDArray[np.float64],
    later: Longs,
) -> tuple[int, int]:
    """Read cells up to a bad one; count those for later, and give the bad one or -1.

    Without ``columns`` the cells are those of whole rows.
    """
    # Taken out of the tuple once: a field of a tuple is counted as a reference at every use.
    lists, words, word_bounds, owners, codes, slots = known
    left, column = 0, -1
    for cell in range(len(bounds)):
        following = column + 1 if column + 1 < len(kinds) else 0
        column = columns[cell] if len(columns) else following
        start, stop, mark, kind = bounds[cell, 0], bounds[cell, 1], marks[cell], kinds[column]
        numbers[cell] = math.nan
        numeric = kind in (NUMBER, GUESS)
        if mark == MISSING or kind == DROP or (numeric and start == stop):
            continue
        state, value = UNDECIDED, math.nan
        if numeric and mark != ESCAPED:
            state, value = parse_number(text, start, stop)
        elif mark != ESCAPED:
            slot = find_slot(words, word_bounds, owners, slots, lists[column], text, start, stop)
            if slots[slot] != UNKNOWN:
                state, value = KNOWN, np.float64(codes[slots[slot]])
            elif kind == NOMINAL:
                state = BAD
        if kind == GUESS and (state == BAD or mark == ESCAPED):
            kinds[column] = TEXT
        elif state == BAD:
            return left, cell
        elif state == UNDECIDED:
            later[left] = cell
            left += 1
        numbers[cell] = value
    return left, -1
