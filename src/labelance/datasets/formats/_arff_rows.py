"""ARFF rows, dense and sparse: where their cells begin and end, compiled, and what can be wrong.

Both kernels go through a block of whole lines, note the bounds of every cell, and stop at the
first mistake. What the cells mean is the matter of `_tokenizer`.
"""

from __future__ import annotations

import numpy as np

from labelance._utils._kernel import kernel
from labelance.datasets.formats._tokenizer import (
    CELLS,
    ESCAPED,
    FAILED,
    MISSING,
    PLAIN,
    QUOTED,
    ROWS,
    Bytes,
    CellBuffers,
    FoundCells,
    Ints,
    Longs,
    allocate_buffers,
    fail,
    most_dense_rows,
    parse_digits,
)

# Mistakes in a row. UNCLOSED is also a mark, and differs from the other marks.
TOO_FEW, TOO_MANY, EMPTY, WEIGHT, WRONG_KIND = range(11, 16)
BAD_INDEX, NO_VALUE, UNORDERED, TRAILING, OPEN_ROW, UNCLOSED = range(16, 22)

NEWLINE, BLANK, TAB, COMMA, PERCENT, BACKSLASH, QUESTION_MARK = 10, 32, 9, 44, 37, 92, 63
QUOTE, DOUBLE_QUOTE, OPEN_BRACE, CLOSE_BRACE = 39, 34, 123, 125

# One look-up for every byte of a bare word, instead of three comparisons.
_IN_WORD = np.ones(256, dtype=np.bool_)
_IN_WORD[: BLANK + 1] = False
_IN_WORD[[COMMA, CLOSE_BRACE]] = False


def find_cells(block: bytes, first_line: int, width: int, *, sparse: bool) -> FoundCells:
    """Find the cells of a block of whole lines."""
    text = np.frombuffer(block, dtype=np.uint8)
    if sparse:
        rows = block.count(b"\n")
        buffers = allocate_buffers(rows, int(np.count_nonzero(text == COMMA)) + rows, sparse=True)
        _find_sparse(text, first_line, width, buffers)
    else:
        rows = most_dense_rows(block, width)
        buffers = allocate_buffers(rows, (rows + 1) * width, sparse=False)
        _find_dense(text, first_line, width, buffers)
    return buffers.found(block, width)


@kernel
def _find_dense(text: Bytes, line: int, width: int, buffers: CellBuffers) -> None:
    """Find the cells of rows ``1.5, red, ?``; ``line`` is the number of the first line."""
    bounds, marks, _, _, lines, status = buffers
    at, row = 0, 0
    while at < len(text):
        at = _skip_blank(text, at)
        if text[at] != NEWLINE and text[at] != PERCENT:
            lines[row] = line
            cells = slice(row * width, (row + 1) * width)
            at = _dense_row(text, at, bounds[cells], marks[cells], status)
            if at == FAILED:
                break
            row += 1
        at = _skip_line(text, at)
        line += 1
    status[ROWS], status[CELLS] = row, row * width


@kernel
def _find_sparse(text: Bytes, line: int, width: int, buffers: CellBuffers) -> None:
    """Find the cells of rows ``{3 1.5, 7 red}``; ``columns`` and ``ends`` make a CSR."""
    bounds, marks, columns, ends, lines, status = buffers
    at, row = 0, 0
    while at < len(text):
        at = _skip_blank(text, at)
        if text[at] != NEWLINE and text[at] != PERCENT:
            lines[row] = line
            at = _sparse_row(text, at, width, bounds, marks, columns, status)
            if at == FAILED:
                break
            row += 1
            ends[row] = status[CELLS]
        at = _skip_line(text, at)
        line += 1
    status[ROWS], status[CELLS] = row, ends[row]


@kernel
def _dense_row(text: Bytes, at: int, bounds: Ints, marks: Bytes, status: Longs) -> int:
    """Find the cells of the row at ``at``; return where it ends, or FAILED."""
    width, column = len(marks), 0
    while text[at] != NEWLINE and text[at] != PERCENT:
        mistake = 0
        if text[at] == COMMA:
            mistake = EMPTY
        elif text[at] == OPEN_BRACE or text[at] == CLOSE_BRACE:
            mistake = WEIGHT if column == width else WRONG_KIND
        elif column == width:
            mistake = TOO_MANY
        if mistake:
            return fail(status, mistake, column, at, at + 1)
        start, stop, at, mark = _value(text, at)
        if mark == UNCLOSED:
            return fail(status, UNCLOSED, column, start, stop)
        bounds[column, 0], bounds[column, 1], marks[column] = start, stop, mark
        column += 1
        at = _skip_blank(text, at)
        if text[at] == COMMA:
            at = _skip_blank(text, at + 1)
    return at if column == width else fail(status, TOO_FEW, column, at, at)


@kernel
def _sparse_row(
    text: Bytes, at: int, width: int, bounds: Ints, marks: Bytes, columns: Ints, status: Longs
) -> int:
    """Find the cells of the row at ``at``; return where it ends, or FAILED."""
    if text[at] != OPEN_BRACE:
        return fail(status, WRONG_KIND, 0, at, at + 1)
    at = _skip_blank(text, at + 1)
    cell, before = status[CELLS], -1
    while text[at] != CLOSE_BRACE:
        column, stop = _index(text, at)
        value = _skip_blank(text, stop)
        in_order = before < column < width and 0 < stop - at < 10
        if not (in_order and value > stop and _IN_WORD[text[value]]):
            mistake = _index_mistake(text, at, stop, column, before, width)
            return fail(status, mistake, column, at, max(stop, _word_end(text, at)))
        start, stop, at, mark = _value(text, value)
        if mark == UNCLOSED:
            return fail(status, UNCLOSED, column, start, stop)
        bounds[cell, 0], bounds[cell, 1] = start, stop
        marks[cell], columns[cell] = mark, column
        cell, before = cell + 1, column
        at = _skip_blank(text, at)
        if text[at] == COMMA:
            at = _skip_blank(text, at + 1)
        elif text[at] != CLOSE_BRACE and text[at] != NEWLINE:
            return fail(status, TRAILING, column, at, at + 1)
    status[CELLS] = cell
    at = _skip_blank(text, at + 1)
    if text[at] == COMMA or text[at] == OPEN_BRACE:
        return fail(status, WEIGHT, 0, at, at + 1)
    ends = text[at] == NEWLINE or text[at] == PERCENT
    return at if ends else fail(status, TRAILING, 0, at, at + 1)


@kernel
def _index(text: Bytes, at: int) -> tuple[int, int]:
    """Read the column number of a sparse cell; return it and where it ends."""
    column, at = parse_digits(text, at, np.uint64(0))
    return int(np.int64(column)), at


@kernel
def _index_mistake(text: Bytes, at: int, stop: int, column: int, before: int, width: int) -> int:
    """Return what is wrong with the column number ``text[at:stop]`` or with what follows it."""
    if text[at] == NEWLINE:
        return OPEN_ROW
    blank = text[stop] == BLANK or text[stop] == TAB
    if not 0 < stop - at < 10 or column >= width or not blank:
        return BAD_INDEX
    return UNORDERED if column <= before else NO_VALUE


@kernel
def _value(text: Bytes, at: int) -> tuple[int, int, int, int]:
    """Return bounds of the value at ``at`` without quotes, where it ends, its mark or UNCLOSED."""
    quote = text[at]
    if quote != QUOTE and quote != DOUBLE_QUOTE:
        stop = _word_end(text, at)
        missing = quote == QUESTION_MARK and stop == at + 1
        return at, stop, stop, MISSING if missing else PLAIN
    at += 1
    start, mark = at, QUOTED
    while text[at] != quote and text[at] != NEWLINE:
        if text[at] == BACKSLASH and text[at + 1] != NEWLINE:
            mark = ESCAPED
            at += 1
        at += 1
    return start, at, at + 1, mark if text[at] == quote else UNCLOSED


@kernel
def _word_end(text: Bytes, at: int) -> int:
    while _IN_WORD[text[at]]:
        at += 1
    return at


@kernel
def _skip_blank(text: Bytes, at: int) -> int:
    while text[at] == BLANK or text[at] == TAB:
        at += 1
    return at


@kernel
def _skip_line(text: Bytes, at: int) -> int:
    while text[at] != NEWLINE:
        at += 1
    return at + 1


# Mistakes in the values of a row, next to those in its form.
NOT_A_NUMBER, UNKNOWN_VALUE = 101, 102

MISTAKES: dict[int, tuple[str, str, str]] = {
    TOO_FEW: (
        "A row must have {width} values, one per attribute",
        "This one has {column}",
        "Add the missing values, ? if they are unknown",
    ),
    TOO_MANY: (
        "A row must have {width} values, one per attribute",
        "This one has more",
        "Remove the extra values, and quote values with commas or spaces",
    ),
    EMPTY: (
        "There must be a value before every comma",
        "The value of {name!r} is empty",
        "Write ? for a missing value",
    ),
    UNCLOSED: (
        "A quoted value must end on its line",
        "The value of {name!r} does not",
        "Close the quote",
    ),
    OPEN_ROW: (
        "A sparse row must end with a brace",
        "This one does not",
        "Check that the file is complete, and close the row with }}",
    ),
    NOT_A_NUMBER: (
        "{name!r} must be numeric",
        "Got {token!r}",
        "Write a number or ?, or declare the attribute nominal",
    ),
    UNKNOWN_VALUE: (
        "The value of {name!r} must be declared in its attribute line",
        "Got {token!r}",
        "Declare this value, or correct it",
    ),
    WEIGHT: (
        "Weights of rows are not supported",
        "This row is followed by {token!r}, like a weight",
        "Remove the weights",
    ),
    WRONG_KIND: (
        "Rows must be all dense or all sparse, like the first one",
        "Found {token!r}",
        "Write all rows in the same way",
    ),
    BAD_INDEX: (
        "A cell of a sparse row must be a column number below {width} and a value",
        "Found {token!r}",
        "Correct the cell",
    ),
    NO_VALUE: (
        "A cell of a sparse row is the number of a column and a value",
        "column {column} has no value",
        "Write the value, ? where it is unknown",
    ),
    UNORDERED: (
        "The columns of a sparse row increase",
        "column {column} comes too late or twice",
        "Sort the cells of the row",
    ),
    TRAILING: (
        "Cells are parted by commas and a row ends with its line",
        "Found {token!r}",
        "Correct the row, and quote values with spaces",
    ),
}
