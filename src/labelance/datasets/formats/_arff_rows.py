"""The rows of an ARFF file, dense and sparse, compiled.

Both kernels read a block of whole lines into a `Rows` and stop at the first mistake. A cell
that needs more than a look at its bytes (an escaped value, a text, a number of very many
digits) is left as NaN and noted for Python to fill in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.datasets.formats._arff_header import DROP, NOMINAL, NUMBER
from labelance.datasets.formats._numbers import BAD, KNOWN, UNDECIDED, parse_number
from labelance.datasets.formats._vocabulary import UNKNOWN, Vocabulary, find_code

# Mistakes in a row.
TOO_FEW, TOO_MANY, EMPTY, UNCLOSED, NOT_A_NUMBER, UNKNOWN_VALUE, WEIGHT = range(1, 8)
WRONG_KIND, BAD_INDEX, NO_VALUE, UNORDERED, TRAILING, OPEN_ROW = range(8, 14)

# Entries of Rows.tally: what was read, and the mistake (0 for none) with its place.
ROWS, CELLS, LATER, MISTAKE, COLUMN, START, STOP = range(7)

FAILED = -1


class Rows(NamedTuple):
    """Where a kernel writes: cells, a line for every row, cells left for later, and a tally.

    Dense cells fill ``values`` of shape (rows, columns); sparse ones fill its only row, with
    ``columns`` and ``ends`` as in a CSR. ``later`` has (position in values, column, start, stop).
    """

    values: NDArray[np.float64]
    columns: NDArray[np.int32]
    ends: NDArray[np.int64]
    lines: NDArray[np.int64]
    later: NDArray[np.int64]
    tally: NDArray[np.int64]


def make_rows(rows: int, width: int, cells: int | None) -> Rows:
    """Allocate room for ``rows`` dense rows, or, with ``cells``, for as many sparse cells."""
    dense = cells is None
    room = rows * width if cells is None else cells
    return Rows(
        values=np.empty((rows, width) if dense else (1, room)),
        columns=np.empty(0 if dense else room, dtype=np.int32),
        ends=np.zeros(0 if dense else rows + 1, dtype=np.int64),
        lines=np.empty(rows, dtype=np.int64),
        later=np.empty((room, 4), dtype=np.int64),
        tally=np.zeros(7, dtype=np.int64),
    )


@kernel
def read_dense_rows(
    text: NDArray[np.uint8], line: int, kinds: NDArray[np.uint8], known: Vocabulary, out: Rows
) -> None:
    """Read rows ``1.5, red, ?``; ``line`` is the number of the first line."""
    at = 0
    while at < len(text):
        at = _skip_blank(text, at)
        if not _ends_row(text[at]):
            out.lines[out.tally[ROWS]] = line
            at = _dense_row(text, at, kinds, known, out)
            if at == FAILED:
                return
            out.tally[ROWS] += 1
        at = _skip_line(text, at)
        line += 1


@kernel
def read_sparse_rows(
    text: NDArray[np.uint8], line: int, kinds: NDArray[np.uint8], known: Vocabulary, out: Rows
) -> None:
    """Read rows ``{3 1.5, 7 red}``; ``line`` is the number of the first line."""
    at = 0
    while at < len(text):
        at = _skip_blank(text, at)
        if not _ends_row(text[at]):
            out.lines[out.tally[ROWS]] = line
            at = _sparse_row(text, at, kinds, known, out)
            if at == FAILED:
                return
            out.tally[ROWS] += 1
            out.ends[out.tally[ROWS]] = out.tally[CELLS]
        at = _skip_line(text, at)
        line += 1


@kernel
def _dense_row(
    text: NDArray[np.uint8], at: int, kinds: NDArray[np.uint8], known: Vocabulary, out: Rows
) -> int:
    """Read the row at ``at``; give where it ends, or FAILED."""
    row, column, width = out.tally[ROWS], 0, len(kinds)
    while not _ends_row(text[at]):
        if text[at] == 44:
            return _fail(out, EMPTY, column, at, at + 1)
        if text[at] == 123 or text[at] == 125:
            return _fail(out, WEIGHT if column == width else WRONG_KIND, column, at, at + 1)
        if column == width:
            return _fail(out, TOO_MANY, column, at, at + 1)
        value, at = _cell(text, at, kinds[column], column, known, out, row * width + column)
        if at == FAILED:
            return FAILED
        out.values[row, column] = value
        column += 1
        at = _skip_comma(text, at)
    return at if column == width else _fail(out, TOO_FEW, column, at, at)


@kernel
def _sparse_row(
    text: NDArray[np.uint8], at: int, kinds: NDArray[np.uint8], known: Vocabulary, out: Rows
) -> int:
    """Read the row at ``at``; give where it ends, or FAILED."""
    if text[at] != 123:
        return _fail(out, WRONG_KIND, 0, at, at + 1)
    at = _skip_blank(text, at + 1)
    before = -1
    while text[at] != 125:
        column, at = _index(text, at, before, kinds, out)
        if at == FAILED:
            return FAILED
        value, at = _cell(text, at, kinds[column], column, known, out, out.tally[CELLS])
        if at == FAILED:
            return FAILED
        # The zero of a number and the first value of a nominal column are not stored.
        if value != 0 and kinds[column] != DROP:
            out.values[0, out.tally[CELLS]] = value
            out.columns[out.tally[CELLS]] = column
            out.tally[CELLS] += 1
        before, end = column, at
        at = _skip_comma(text, at)
        if text[at] != 125 and text[at] != 10 and text[_skip_blank(text, end)] != 44:
            return _fail(out, TRAILING, column, at, at + 1)
    at = _skip_blank(text, at + 1)
    if text[at] == 44 or text[at] == 123:
        return _fail(out, WEIGHT, 0, at, at + 1)
    return at if _ends_row(text[at]) else _fail(out, TRAILING, 0, at, at + 1)


@kernel
def _index(
    text: NDArray[np.uint8], at: int, before: int, kinds: NDArray[np.uint8], out: Rows
) -> tuple[int, int]:
    """Read the column number of a sparse cell; give it and where its value begins, or FAILED."""
    start, column = at, 0
    if text[at] == 10:
        return column, _fail(out, OPEN_ROW, 0, at, at)
    while 48 <= text[at] <= 57 and at - start < 10:
        column = column * 10 + int(np.int64(text[at])) - 48
        at += 1
    if start == at or column >= len(kinds) or (text[at] != 32 and text[at] != 9):
        return column, _fail(out, BAD_INDEX, 0, start, _token_end(text, start))
    if column <= before:
        return column, _fail(out, UNORDERED, column, start, at)
    at = _skip_blank(text, at)
    if text[at] == 44 or text[at] == 125 or text[at] == 10:
        return column, _fail(out, NO_VALUE, column, start, at)
    return column, at


@kernel
def _cell(
    text: NDArray[np.uint8],
    at: int,
    kind: int,
    column: int,
    known: Vocabulary,
    out: Rows,
    position: int,
) -> tuple[float, int]:
    """Read the value at ``at``: its number or code, and where it ends, or FAILED."""
    start, stop, quoted, escaped = at, at, text[at] == 39 or text[at] == 34, False
    if quoted:
        start += 1
        stop, escaped = _quote_end(text, at)
        if text[stop] == 10:
            return math.nan, _fail(out, UNCLOSED, column, start, stop)
        at = stop + 1
    else:
        at = stop = _token_end(text, at)
    if kind == DROP or (not quoted and stop == start + 1 and text[start] == 63):  # ?
        return math.nan, at
    state, value = UNDECIDED, math.nan
    if kind == NUMBER and not escaped:
        state, value = parse_number(text, start, stop)
    elif kind == NOMINAL and not escaped:
        code = find_code(known, column, text, start, stop)
        state, value = (BAD if code == UNKNOWN else KNOWN), np.float64(code)
    if state == BAD:
        why = NOT_A_NUMBER if kind == NUMBER else UNKNOWN_VALUE
        return value, _fail(out, why, column, start, stop)
    if state == UNDECIDED:
        out.later[out.tally[LATER]] = (position, column, start, stop)
        out.tally[LATER] += 1
    return value, at


@kernel
def _quote_end(text: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """Position of the closing quote, or of the line end before it; is anything escaped?"""
    quote, escaped = text[at], False
    at += 1
    while text[at] != quote and text[at] != 10:
        if text[at] == 92 and text[at + 1] != 10:
            escaped = True
            at += 1
        at += 1
    return at, escaped


@kernel
def _token_end(text: NDArray[np.uint8], at: int) -> int:
    while text[at] > 32 and text[at] != 44 and text[at] != 125:
        at += 1
    return at


@kernel
def _skip_blank(text: NDArray[np.uint8], at: int) -> int:
    while text[at] == 32 or text[at] == 9:
        at += 1
    return at


@kernel
def _skip_comma(text: NDArray[np.uint8], at: int) -> int:
    """Skip blanks with at most one comma among them."""
    at = _skip_blank(text, at)
    return _skip_blank(text, at + 1) if text[at] == 44 else at


@kernel
def _skip_line(text: NDArray[np.uint8], at: int) -> int:
    while text[at] != 10:
        at += 1
    return at + 1


@kernel
def _ends_row(byte: int) -> bool:
    return byte == 10 or byte == 37  # a comment may follow a row


@kernel
def _fail(out: Rows, mistake: int, column: int, start: int, stop: int) -> int:
    """Note the mistake and its place."""
    out.tally[MISTAKE] = mistake
    out.tally[COLUMN] = column
    out.tally[START] = start
    out.tally[STOP] = stop
    return FAILED
