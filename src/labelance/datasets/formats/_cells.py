"""What the cells of a table mean: numbers and codes from bounds in a block of bytes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.datasets.formats._numbers import BAD, KNOWN, UNDECIDED, parse_number
from labelance.datasets.formats._vocabulary import UNKNOWN, Vocabulary, find_slot

# How the cells of a column are read.
NUMBER, NOMINAL, TEXT, DROP = 0, 1, 2, 3

# How a cell is written; only an escaped one differs from its bytes.
PLAIN, QUOTED, ESCAPED = 0, 1, 2

# Entries of a tally of values: cells left for later, and the first bad cell, -1 for none.
LATER, BAD_CELL = 0, 1


def read_cells(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int32],
    marks: NDArray[np.uint8],
    columns: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    known: Vocabulary,
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """Turn cells into numbers and codes; NaN is missing.

    Cell i is ``text[bounds[i, 0]:bounds[i, 1]]`` of column ``columns[i]``; with no columns
    given the cells are those of whole rows. Also returns the cells that need more than a look at
    their bytes (texts, escaped values, numbers of very many digits), whose value is still
    missing, and the first cell that is not what its column holds, or -1.
    """
    values = np.empty(len(bounds))
    later = np.empty(len(bounds), dtype=np.int64)
    tally = np.array([0, -1])
    _read_cells(text, bounds, marks, columns, kinds, known, values, later, tally)
    return values, later[: tally[LATER]], int(tally[BAD_CELL])


@kernel
def _read_cells(
    text: NDArray[np.uint8],
    bounds: NDArray[np.int32],
    marks: NDArray[np.uint8],
    columns: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    known: Vocabulary,
    values: NDArray[np.float64],
    later: NDArray[np.int64],
    tally: NDArray[np.int64],
) -> None:
    # Taken out of the tuple once: a field of a tuple is counted as a reference at every use.
    lists, words, word_bounds, owners, codes, slots = known
    noted, column = 0, -1
    for cell in range(len(bounds)):
        following = column + 1 if column + 1 < len(kinds) else 0
        column = columns[cell] if len(columns) else following
        start, stop, mark, kind = bounds[cell, 0], bounds[cell, 1], marks[cell], kinds[column]
        values[cell] = math.nan
        missing = mark == PLAIN and stop - start == 1 and text[start] == 63  # ?
        if kind == DROP or missing:
            continue
        state, value = UNDECIDED, math.nan
        if kind == NUMBER and mark != ESCAPED:
            state, value = parse_number(text, start, stop)
        elif kind == NOMINAL and mark != ESCAPED:
            slot = find_slot(words, word_bounds, owners, slots, lists[column], text, start, stop)
            entry = slots[slot]
            if entry == UNKNOWN:
                state = BAD
            else:
                state, value = KNOWN, np.float64(codes[entry])
        if state == BAD:
            tally[BAD_CELL] = cell
            break
        if state == UNDECIDED:
            later[noted] = cell
            noted += 1
        values[cell] = value
    tally[LATER] = noted
