"""Rows of LibSVM text, ``3,17 0:1.5 8:2``, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel
from labelance.datasets.formats._cells import FAILED, Bytes, Longs
from labelance.datasets.formats._numbers import BAD, UNDECIDED, parse_number

# Entries of a tally: what was read, then the mistake and the part of the line it is in.
ROWS, LABELS, CELLS, LATER, MISTAKE, START, STOP = range(7)

BAD_LABEL, BAD_CELL, BAD_VALUE = 1, 2, 3

NEWLINE, BLANK, TAB, COMMA, COLON, HASH = 10, 32, 9, 44, 58, 35

# More would not fit into an index.
_MOST_DIGITS = 10


@kernel
def read_rows(
    text: Bytes,
    line: int,
    lines: Longs,
    labels: Longs,
    label_ends: Longs,
    columns: Longs,
    ends: Longs,
    values: NDArray[np.float64],
    later: Longs,
    tally: Longs,
) -> None:
    """Read a block of whole lines into two CSRs; ``later`` has (cell, start, stop) of numbers.

    A line of blanks is no row; a row with neither labels nor features has a cell of zero.
    """
    at = 0
    while at < len(text):
        first = _skip_blank(text, at)
        if text[first] != NEWLINE and text[first] != HASH:
            lines[tally[ROWS]] = line
            at = _read_labels(text, at, labels, tally)
            if at != FAILED:
                at = _read_cells(text, at, columns, values, later, tally)
            if at == FAILED:
                return
            tally[ROWS] += 1
            label_ends[tally[ROWS]] = tally[LABELS]
            ends[tally[ROWS]] = tally[CELLS]
        while text[at] != NEWLINE:
            at += 1
        at += 1
        line += 1


@kernel
def _read_labels(text: Bytes, at: int, labels: Longs, tally: Longs) -> int:
    """Read the labels at the beginning of a line, if there are any; give where they end."""
    start, count = at, tally[LABELS]
    while _in_word(text[at]):
        label, stop = _whole_number(text, at)
        if text[stop] == COLON and at == start:
            return start  # a row without labels begins with a feature
        if stop == at or (text[stop] != COMMA and _in_word(text[stop])):
            return _fail(text, BAD_LABEL, start, tally)
        labels[count] = label
        count += 1
        at = stop + 1 if text[stop] == COMMA else stop
        if text[stop] == COMMA and not _in_word(text[at]):
            return _fail(text, BAD_LABEL, start, tally)
    tally[LABELS] = count
    return at


@kernel
def _read_cells(
    text: Bytes,
    at: int,
    columns: Longs,
    values: NDArray[np.float64],
    later: Longs,
    tally: Longs,
) -> int:
    """Read ``0:1.5 8:2`` to the end of the line or a comment; give where it ends."""
    cell, left = tally[CELLS], tally[LATER]
    at = _skip_blank(text, at)
    while text[at] != NEWLINE and text[at] != HASH:
        column, colon = _whole_number(text, at)
        if colon == at or text[colon] != COLON:
            return _fail(text, BAD_CELL, at, tally)
        stop = colon + 1
        while _in_word(text[stop]):
            stop += 1
        state, value = parse_number(text, colon + 1, stop)
        if state == BAD:
            return _fail(text, BAD_VALUE, at, tally)
        if state == UNDECIDED:
            later[left, 0], later[left, 1], later[left, 2] = cell, colon + 1, stop
            left += 1
        columns[cell], values[cell] = column, value
        cell += 1
        at = _skip_blank(text, stop)
    tally[CELLS], tally[LATER] = cell, left
    return at


@kernel
def _whole_number(text: Bytes, at: int) -> tuple[int, int]:
    """Read digits at ``at``; give their number and where they end."""
    number, start = 0, at
    while 48 <= text[at] <= 57 and at - start < _MOST_DIGITS:
        number = number * 10 + int(np.int64(text[at])) - 48
        at += 1
    return number, at


@kernel
def _in_word(byte: int) -> bool:
    return byte != BLANK and byte != TAB and byte != NEWLINE and byte != HASH


@kernel
def _skip_blank(text: Bytes, at: int) -> int:
    while text[at] == BLANK or text[at] == TAB:
        at += 1
    return at


@kernel
def _fail(text: Bytes, mistake: int, start: int, tally: Longs) -> int:
    """Note the mistake and the word it is in."""
    stop = start
    while _in_word(text[stop]):
        stop += 1
    tally[MISTAKE], tally[START], tally[STOP] = mistake, start, stop
    return FAILED
