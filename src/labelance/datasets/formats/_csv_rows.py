"""Where the cells of comma-separated rows begin and end, compiled.

Quotes are doubled inside quotes, and a quoted cell may go over several lines.
"""

from __future__ import annotations

import numpy as np

from labelance._utils import kernel
from labelance.datasets.formats._cells import (
    CELLS,
    COLUMN,
    ESCAPED,
    FAILED,
    MISSING,
    MISTAKE,
    PLAIN,
    QUOTED,
    ROWS,
    START,
    STOP,
    Bytes,
    FoundCells,
    Ints,
    Longs,
    make_room,
    most_dense_rows,
)

# Mistakes in a row; UNCLOSED differs from all marks of cells.
TOO_FEW, TOO_MANY, TRAILING, UNCLOSED = range(11, 15)

NEWLINE, BLANK, TAB, QUOTE = 10, 32, 9, 34


def find_cells(block: bytes, first_line: int, width: int, separator: int) -> FoundCells:
    """Find the cells of a block of whole rows."""
    text = np.frombuffer(block, dtype=np.uint8)
    rows = most_dense_rows(block, width)
    room = make_room(rows, (rows + 1) * width, sparse=False)
    _find(text, first_line, width, separator, room.bounds, room.marks, room.lines, room.tally)
    return room.found(block, width)


@kernel
def _find(
    text: Bytes,
    line: int,
    width: int,
    separator: int,
    bounds: Ints,
    marks: Bytes,
    lines: Longs,
    tally: Longs,
) -> None:
    """Go through the rows; ``line`` is the number of the first line."""
    at, row = 0, 0
    while at < len(text):
        if text[at] != NEWLINE:
            lines[row] = line
            start = at
            at = _row(text, at, width, separator, row * width, bounds, marks, tally)
            if at == FAILED:
                break
            row += 1
            for i in range(start, at):
                line += text[i] == NEWLINE
        at += 1
        line += 1
    tally[ROWS], tally[CELLS] = row, row * width


@kernel
def _row(
    text: Bytes,
    at: int,
    width: int,
    separator: int,
    first: int,
    bounds: Ints,
    marks: Bytes,
    tally: Longs,
) -> int:
    """Note the cells of the row at ``at``; give where it ends, or FAILED."""
    column = 0
    while True:
        at = _skip_blank(text, at, separator)
        start, stop, at, mark = _value(text, at, separator)
        at = _skip_blank(text, at, separator)
        mistake = 0
        if column == width:
            mistake = TOO_MANY
        elif mark == UNCLOSED:
            mistake = UNCLOSED
        elif text[at] != separator and text[at] != NEWLINE:
            mistake = TRAILING
        elif text[at] == NEWLINE and column + 1 < width:
            mistake = TOO_FEW
        if mistake:
            tally[MISTAKE], tally[COLUMN], tally[START], tally[STOP] = mistake, column, start, stop
            return FAILED
        bounds[first + column, 0], bounds[first + column, 1] = start, stop
        marks[first + column] = mark
        if text[at] == NEWLINE:
            return at
        column += 1
        at += 1


@kernel
def _value(text: Bytes, at: int, separator: int) -> tuple[int, int, int, int]:
    """Bounds of the value at ``at`` without its quotes, where it ends, its mark or UNCLOSED."""
    start = at
    if text[at] != QUOTE:
        while text[at] != separator and text[at] != NEWLINE:
            at += 1
        stop = at
        while stop > start and (text[stop - 1] == BLANK or text[stop - 1] == TAB):
            stop -= 1
        return start, stop, at, MISSING if _is_missing(text, start, stop) else PLAIN
    mark, at = QUOTED, at + 1
    while at < len(text):
        if text[at] == QUOTE:
            # The last byte of a block is a line end, so there is a byte after every quote.
            if text[at + 1] != QUOTE:
                return start + 1, at, at + 1, mark
            mark, at = ESCAPED, at + 1
        at += 1
    return start + 1, start + 1, start, UNCLOSED


@kernel
def _skip_blank(text: Bytes, at: int, separator: int) -> int:
    while (text[at] == BLANK or text[at] == TAB) and text[at] != separator:
        at += 1
    return at


@kernel
def _is_missing(text: Bytes, start: int, stop: int) -> bool:
    """Tell whether an unquoted cell is empty, ``?``, ``NA``, ``NaN`` or ``null``."""
    length = stop - start
    if length == 0:
        return True
    if length == 1:
        return text[start] == 63
    if length == 2:
        return text[start] == 78 and text[start + 1] == 65
    first, second, third = text[start] | 32, text[start + 1] | 32, text[start + 2] | 32
    if length == 3:
        return first == 110 and second == 97 and third == 110
    if length == 4:
        return first == 110 and second == 117 and third == 108 and text[start + 3] | 32 == 108
    return False
