"""LibSVM text, also of extreme classification: ``3,17 0:1.5 8:2``, sparse, without names.

Read by hand, since scikit-learn's reader takes four times as long for the same bits (1.02 s
against 0.24 s for a million cells), keeps labels as tuples, does not know the line ``n d q`` and
cannot say which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils._kernel import kernel
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._text_file import BYTES_PER_NAME, TextFile, number_texts, row_blocks
from labelance.datasets.formats._tokenizer import BAD, FAILED, UNDECIDED, Bytes, Longs, parse_number
from labelance.exceptions import DataFileError, InputError

# Entries of a status: what was read, then the mistake and the part of the line it is in.
ROWS, LABELS, CELLS, LATER, MISTAKE, START, STOP = range(7)

BAD_LABEL, BAD_CELL, BAD_VALUE = 1, 2, 3

NEWLINE, BLANK, TAB, COMMA, COLON, HASH = 10, 32, 9, 44, 58, 35

# More would not fit into an index.
_MOST_DIGITS = 10


class _Buffers(NamedTuple):
    """Arrays that the kernel fills: two CSRs, the line of every row, numbers left for later.

    ``later`` has the cell, start and stop of every number that Python must read.
    """

    labels: Longs
    label_ends: Longs
    columns: Longs
    ends: Longs
    values: NDArray[np.float64]
    lines: Longs
    later: Longs
    status: Longs


@kernel
def _read_rows(text: Bytes, line: int, buffers: _Buffers) -> None:
    """Read a block of lines; ``line`` is the number of the first.

    A line of blanks is no row; a row with neither labels nor features has a cell of zero.
    """
    labels, label_ends, columns, ends, values, lines, later, status = buffers
    at = 0
    while at < len(text):
        first = _skip_blank(text, at)
        if text[first] != NEWLINE and text[first] != HASH:
            lines[status[ROWS]] = line
            at = _read_labels(text, at, labels, status)
            if at != FAILED:
                at = _read_cells(text, at, columns, values, later, status)
            if at == FAILED:
                return
            status[ROWS] += 1
            label_ends[status[ROWS]] = status[LABELS]
            ends[status[ROWS]] = status[CELLS]
        while text[at] != NEWLINE:
            at += 1
        at += 1
        line += 1


@kernel
def _read_labels(text: Bytes, at: int, labels: Longs, status: Longs) -> int:
    """Read the labels at the beginning of a line, if there are any; return where they end."""
    start, count = at, status[LABELS]
    while _in_word(text[at]):
        label, stop = _integer(text, at)
        if text[stop] == COLON and at == start:
            return start  # a row without labels begins with a feature
        if stop == at or (text[stop] != COMMA and _in_word(text[stop])):
            return _fail(text, BAD_LABEL, start, status)
        labels[count] = label
        count += 1
        at = stop + 1 if text[stop] == COMMA else stop
        if text[stop] == COMMA and not _in_word(text[at]):
            return _fail(text, BAD_LABEL, start, status)
    status[LABELS] = count
    return at


@kernel
def _read_cells(
    text: Bytes,
    at: int,
    columns: Longs,
    values: NDArray[np.float64],
    later: Longs,
    status: Longs,
) -> int:
    """Read ``0:1.5 8:2`` to the end of the line or a comment; return where it ends."""
    cell, left = status[CELLS], status[LATER]
    at = _skip_blank(text, at)
    while text[at] != NEWLINE and text[at] != HASH:
        column, colon = _integer(text, at)
        if colon == at or text[colon] != COLON:
            return _fail(text, BAD_CELL, at, status)
        stop = colon + 1
        while _in_word(text[stop]):
            stop += 1
        state, value = parse_number(text, colon + 1, stop)
        if state == BAD:
            return _fail(text, BAD_VALUE, at, status)
        if state == UNDECIDED:
            later[left, 0], later[left, 1], later[left, 2] = cell, colon + 1, stop
            left += 1
        columns[cell], values[cell] = column, value
        cell += 1
        at = _skip_blank(text, stop)
    status[CELLS], status[LATER] = cell, left
    return at


@kernel
def _integer(text: Bytes, at: int) -> tuple[int, int]:
    """Read digits at ``at``; return their number and where they end."""
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
def _fail(text: Bytes, mistake: int, start: int, status: Longs) -> int:
    """Record the mistake and the word it is in; return FAILED."""
    stop = start
    while _in_word(text[stop]):
        stop += 1
    status[MISTAKE], status[START], status[STOP] = mistake, start, stop
    return FAILED


_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*\n")

_MISTAKES = {
    BAD_LABEL: "A row must start with its label numbers, separated by commas",
    BAD_CELL: "Features must be written as number:value",
    BAD_VALUE: "The value of a feature must be a number",
}


class _Rows(NamedTuple):
    """Labels and features of some rows: entries one after another, how many a row has, lines."""

    labels: NDArray[np.int64]
    label_counts: NDArray[np.int64]
    columns: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: NDArray[np.float64]
    lines: NDArray[np.int64]


def read_libsvm(
    file: TextFile,
    *,
    first_feature: Literal[0, 1] | None = None,
    first_label: Literal[0, 1] = 0,
    n_features: int | None = None,
    n_labels: int | None = None,
) -> MultiLabelDataset:
    """Read rows of label numbers and ``feature:value``, with or without a line ``n d q`` first."""
    n, parts, memory = None, [_no_rows()], 0
    for first_line, block in file.lines():
        if first_line == 1 and (header := _HEADER.match(block)):
            n, d, q = map(int, header.groups())
            n_features = d if n_features is None else n_features
            n_labels = q if n_labels is None else n_labels
            # Files with this line count from zero.
            first_feature = 0 if first_feature is None else first_feature
            block, first_line = block[header.end() :], 2
        if block:
            parts.append(_read_block(file, first_line, block))
            memory += sum(part.nbytes for part in parts[-1])
            file.require(memory, line=first_line)
    rows = _Rows(*map(np.concatenate, zip(*parts)))
    if n is not None and n != rows.lines.size:
        raise file.error(
            1,
            f"The first line declares {n} rows",
            f"The file has {rows.lines.size}",
            "Check that the file is complete, or correct the line",
        )
    if first_feature is None:
        # LibSVM counts from one; a zero shows that this file does not.
        first_feature = 0 if 0 in rows.columns else 1
    return MultiLabelDataset(
        values=_matrix(file, rows, "feature", first_feature, n_features),
        Y=_matrix(file, rows, "label", first_label, n_labels),
    )


def _no_rows() -> _Rows:
    integers, numbers = np.empty(0, dtype=np.int64), np.empty(0)
    return _Rows(integers, integers, integers, integers, numbers, integers)


def _read_block(file: TextFile, first_line: int, block: bytes) -> _Rows:
    n, most_labels, most_cells = block.count(b"\n"), block.count(b","), block.count(b":")
    found = _Buffers(
        labels=np.empty(most_labels + n, np.int64),
        label_ends=np.zeros(n + 1, np.int64),
        columns=np.empty(most_cells, np.int64),
        ends=np.zeros(n + 1, np.int64),
        values=np.empty(most_cells),
        lines=np.empty(n, np.int64),
        later=np.empty((most_cells, 3), np.int64),
        status=np.zeros(7, np.int64),
    )
    _read_rows(np.frombuffer(block, dtype=np.uint8), first_line, found)
    count, n_labels, n_cells, left, mistake, start, stop = found.status.tolist()
    if mistake:
        raise file.error(
            int(found.lines[count]),
            _MISTAKES[mistake],
            f"Found {block[start:stop].decode(file.encoding, 'replace')!r}",
            "Correct the line, or check that this is LibSVM text",
        )
    for cell, first, last in found.later[:left].tolist():
        found.values[cell] = float(block[first:last])
    return _Rows(
        found.labels[:n_labels],
        np.diff(found.label_ends[: count + 1]),
        found.columns[:n_cells],
        np.diff(found.ends[: count + 1]),
        found.values[:n_cells],
        found.lines[:count],
    )


def _matrix(
    file: TextFile, rows: _Rows, what: Literal["feature", "label"], first: int, width: int | None
) -> csr_array:
    """Build X or Y; every number is checked against the first one and the width."""
    is_label = what == "label"
    columns = (rows.labels if is_label else rows.columns) - first
    data = np.ones(columns.size, dtype=np.int8) if is_label else rows.values
    ends = np.zeros(rows.lines.size + 1, dtype=np.int64)
    np.cumsum(rows.label_counts if is_label else rows.counts, out=ends[1:])
    width = int(columns.max(initial=-1)) + 1 if width is None else width
    # Every column gets a name, so that a few bytes of text must not ask for billions of them.
    file.require(width * BYTES_PER_NAME, what=f"the names of {width} {what}s")
    wrong = (columns < 0) | (columns >= width)
    if wrong.any():
        raise _out_of_range(file, rows.lines, ends, int(np.argmax(wrong)), what, first, width)
    matrix = csr_array((data, columns, ends), shape=(rows.lines.size, width))
    matrix.sort_indices()
    twice = np.flatnonzero(np.diff(matrix.indices) == 0)
    twice = twice[~np.isin(twice + 1, ends)]
    if twice.size:
        line = int(rows.lines[np.searchsorted(ends, twice[0], "right") - 1])
        number = matrix.indices[twice[0]] + first
        raise file.error(
            line,
            f"A row can have a {what} only once",
            f"{what.capitalize()} {number} is repeated",
            "Remove one of them",
        )
    return matrix


def _out_of_range(
    file: TextFile,
    lines: NDArray[np.int64],
    ends: NDArray[np.int64],
    entry: int,
    what: str,
    first: int,
    width: int,
) -> DataFileError:
    return file.error(
        int(lines[np.searchsorted(ends, entry, "right") - 1]),
        f"{what.capitalize()} numbers must be from {first} to {width + first - 1}",
        "There is one outside this range",
        f"Pass first_{what} and n_{what}s as in this file",
    )


def write_libsvm(data: MultiLabelDataset, out: BinaryIO) -> None:
    """Write the line ``n d q`` and the rows, counted from zero; names have no place here."""
    if any(values not in (None, ("0", "1")) for values in data.categories) or not data.n_features:
        raise InputError(
            "LibSVM text needs at least one feature, and numeric features only",
            "X has no features, or categorical ones with values other than 0 and 1",
            "Encode them as numbers, or write ARFF or NPZ",
        )
    out.write(f"{data.n_samples} {data.n_features} {data.n_labels}\n".encode())
    names = np.array([f"{j}:" for j in range(data.n_features)], dtype=object)
    for rows in row_blocks(data):
        lines = _lines(csr_array(data.values[rows]), data.Y[rows], names)
        out.write("\n".join([*lines, ""]).encode())


def _lines(X: csr_array, Y: csr_array, names: NDArray[np.object_]) -> Iterator[str]:
    numbers = np.array(number_texts(X.data, missing="nan", infinity="inf"), dtype=object)
    cells, labels = (names[X.indices] + numbers).tolist(), list(map(str, Y.indices.tolist()))
    for (a, b), (c, d) in zip(pairwise(Y.indptr.tolist()), pairwise(X.indptr.tolist())):
        # A row with nothing in it would not be seen.
        features = " ".join(cells[c:d]) if d > c or b > a else "0:0"
        yield f"{','.join(labels[a:b])} {features}"
