"""CSV and TSV: a header of names, then a row a line; columns of numbers or of words.

Quotes are doubled inside quotes, and a quoted cell may go over several lines.

Read by hand with the tokenizer that ARFF needs anyway. pyarrow and polars give the same bits in
less time (1.2 million cells in 0.14 s and 0.09 s against 0.3 s), but neither is a core dependency;
polars fills short rows and takes a quoted ``"NA"`` for missing, and pyarrow does not say which
line is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from labelance._utils._kernel import kernel
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import BYTES_PER_NAME, CellWriter, TextFile
from labelance.datasets.formats._tokenizer import (
    CELLS,
    DROP,
    ESCAPED,
    FAILED,
    GUESS,
    MISSING,
    NUMBER,
    PLAIN,
    QUOTED,
    ROWS,
    TEXT,
    Bytes,
    CellBuffers,
    CellReader,
    FoundCells,
    Ints,
    Longs,
    allocate_buffers,
    fail,
    most_dense_rows,
)
from labelance.exceptions import DataFileError, InputError, arg

# Mistakes in a row; UNCLOSED differs from all marks of cells.
TOO_FEW, TOO_MANY, TRAILING, UNCLOSED = range(11, 15)

NEWLINE, BLANK, TAB, QUOTE = 10, 32, 9, 34


def find_cells(block: bytes, first_line: int, width: int, separator: int) -> FoundCells:
    """Find the cells of a block of whole rows."""
    text = np.frombuffer(block, dtype=np.uint8)
    rows = most_dense_rows(block, width)
    buffers = allocate_buffers(rows, (rows + 1) * width, sparse=False)
    _find(text, first_line, width, separator, buffers)
    return buffers.found(block, width)


@kernel
def _find(text: Bytes, line: int, width: int, separator: int, buffers: CellBuffers) -> None:
    """Find the cells of all rows; ``line`` is the number of the first line."""
    bounds, marks, _, _, lines, status = buffers
    at, row = 0, 0
    while at < len(text):
        if text[at] != NEWLINE:
            lines[row] = line
            start = at
            cells = slice(row * width, (row + 1) * width)
            at = _find_in_row(text, at, separator, bounds[cells], marks[cells], status)
            if at == FAILED:
                break
            row += 1
            for i in range(start, at):
                line += text[i] == NEWLINE
        at += 1
        line += 1
    status[ROWS], status[CELLS] = row, row * width


@kernel
def _find_in_row(
    text: Bytes, at: int, separator: int, bounds: Ints, marks: Bytes, status: Longs
) -> int:
    """Find the cells of the row at ``at``; return where it ends, or FAILED."""
    width, column = len(marks), 0
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
            return fail(status, mistake, column, start, stop)
        bounds[column, 0], bounds[column, 1], marks[column] = start, stop, mark
        if text[at] == NEWLINE:
            return at
        column += 1
        at += 1


@kernel
def _value(text: Bytes, at: int, separator: int) -> tuple[int, int, int, int]:
    """Return bounds of the value at ``at`` without quotes, where it ends, its mark or UNCLOSED."""
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
    """Return whether an unquoted cell is empty, ``?``, ``NA``, ``NaN`` or ``null``."""
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


# What must be quoted: what would be read as missing, and what would not be read as one cell.
_MISSING_WORD = re.compile(r"|\?|NA|(?i:nan|null)")
_DECIMAL = re.compile(r"[-+]?[0-9.]*(,[0-9]+)?(e[-+]?[0-9]+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?(0|[1-9][0-9]{0,2}(,[0-9]{3})*)(\.[0-9]+)?")
_POINTS = re.compile(r"[-+]?[0-9]{1,3}(\.[0-9]{3})+,")
_ODD = re.compile(r"[\"\n\t,;|]|^\s|\s$")


# Cells of some rows, and the lines that the rows come from.
Block = tuple[NDArray[np.float64], NDArray[np.int64]]


def read_csv(
    file: TextFile,
    *,
    separator: str | None = None,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Table:
    """Read a file of separated values; a column with a word in it is nominal.

    A file with words is read twice, since only its end tells which columns have them.
    """
    separator = _find_separator(file) if separator is None else separator
    if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\n':
        raise InputError(
            "separator must be one character",
            f"Got separator={separator!r}",
            "Use ',', ';' or '\\t'",
        )
    body = _Body(file, separator)
    kinds = np.full(len(body.names), GUESS, dtype=np.uint8)
    kinds[find_columns(file, body.names, categorical, "categorical")] = TEXT
    kinds[find_columns(file, body.names, ignore, "ignore")] = DROP
    reader = body.reader(kinds)
    parts = body.read_numbers(reader)
    if parts is None:
        kinds[kinds == GUESS] = NUMBER
        reader = body.reader(kinds)
        parts = list(body.read(reader))
    table = Table(
        file=file,
        names=body.names,
        categories=reader.categories(),
        cells=np.concatenate([np.empty((0, len(body.names))), *(cells for cells, _ in parts)]),
        lines=np.concatenate([np.empty(0, dtype=np.int64), *(lines for _, lines in parts)]),
        guesses=True,
    )
    if not len(table.cells):
        raise file.error(
            None,
            "The file has a header and no rows",
            "Rows must follow the header",
            "Check that the file is complete",
        )
    table = table.sort_categories(reader.learned)
    return table.take(np.flatnonzero(kinds != DROP)) if ignore else table


def _find_separator(file: TextFile) -> str:
    """Return what separates cells: what cuts the header and the first row into most cells alike."""
    head = next(file.lines(quote=b'"'), (1, b""))[1][: 1 << 20].decode(file.encoding, "ignore")
    widths = {separator: _first_widths(head, separator) for separator in ",;\t|"}
    alike = {separator: w[0] for separator, w in widths.items() if len({*w}) == 1 and w[0] > 1}
    if alike:
        return max(alike, key=alike.__getitem__)
    return next((separator for separator, w in widths.items() if w and w[0] > 1), ",")


def _first_widths(head: str, separator: str) -> list[int]:
    """Return how many cells a separator makes of the header and of the first row."""
    rows = filter(None, csv.reader(io.StringIO(head, newline="\n"), delimiter=separator))
    try:
        return [len(row) for row in islice(rows, 2)]
    except csv.Error:
        return []  # `_read_names` raises for what is wrong with them


def check_no_decimal_commas(
    file: TextFile, data: MultiLabelDataset, categorical: Collection[str], separator: str | None
) -> None:
    """Raise where numbers with a decimal comma would be taken for words."""
    for name, values in zip(data.feature_names, data.categories):
        commas = [value for value in values or () if "," in value]
        if commas and name not in categorical and all(map(_DECIMAL.fullmatch, values or ())):
            separator = separator or _find_separator(file)
            options = f"sep={separator!r}"
            if separator == "," and all(map(_THOUSANDS.fullmatch, values or ())):
                problem, options = "Numbers must not have commas", options + ", thousands=','"
            else:
                problem, options = "Numbers must have a decimal point", options + ", decimal=','"
                if any(
                    _POINTS.match(value) for column in data.categories for value in column or ()
                ):
                    options += ", thousands='.'"
            raise file.error(
                None,
                problem,
                f"Column {name!r} has {commas[0]!r}",
                f"Convert the file, for example pandas.read_csv({str(file.path)!r}, {options})"
                f".to_csv('new.csv', index=False), or add the column to {arg('categorical', ...)}",
            )


class _Body:
    """The header of a file, and the rows below it, which can be read twice."""

    def __init__(self, file: TextFile, separator: str) -> None:
        self.file, self.separator = file, separator
        self.names, self.header_lines = _read_names(file, separator)

    def reader(self, kinds: NDArray[np.uint8]) -> CellReader:
        """Make a reader of cells; no values are declared in this format."""
        nothing = (None,) * len(self.names)
        return CellReader(
            kinds,
            nothing,
            encoding=self.file.encoding,
            unescape=_unescape,
        )

    def read_numbers(self, reader: CellReader) -> list[Block] | None:
        """Return all cells, or None if the reader met a word where numbers were guessed."""
        guessed, parts = np.count_nonzero(reader.kinds == GUESS), []
        for part in self.read(reader):
            if np.count_nonzero(reader.kinds == GUESS) == guessed:
                parts.append(part)
            else:
                parts.clear()  # read on for the other columns
        return parts if np.count_nonzero(reader.kinds == GUESS) == guessed else None

    def read(self, reader: CellReader) -> Iterator[Block]:
        """Yield blocks of cells, with the lines of their rows."""
        memory = BYTES_PER_NAME * len(self.names)
        for found in self._blocks():
            memory += found.memory
            self.file.require(memory + reader.memory)
            # A cell is bad only where a word was met for the first time; see `read_numbers`.
            numbers, _ = reader.read(found)
            yield numbers.reshape(found.rows, found.width), found.lines[: found.rows]

    def _blocks(self) -> Iterator[FoundCells]:
        width, skip = len(self.names), self.header_lines
        for first_line, block in self.file.lines(quote=b'"'):
            if first_line == 1:
                block = block.split(b"\n", skip)[skip]
                first_line += skip
            if not block:
                continue
            found = find_cells(block, first_line, width, ord(self.separator))
            if found.mistake:
                raise self._error(found)
            yield found

    def _error(self, found: FoundCells) -> DataFileError:
        width, column = len(self.names), found.column
        problem, what, cure = {
            TOO_FEW: (
                f"Every row must have {width} cells, like the header",
                f"This one has {column + 1}",
                "Add the missing cells; they may be empty",
            ),
            TOO_MANY: (
                f"Every row must have {width} cells, like the header",
                "This one has more",
                f"Remove the extra cells, and quote cells with a {self.separator!r}",
            ),
            TRAILING: (
                "A quoted cell must end with its quote",
                f"Something follows in {self.names[min(column, width - 1)]!r}",
                "Double the quotes inside quotes",
            ),
            UNCLOSED: (
                "A quoted cell must be closed",
                f"One in {self.names[min(column, width - 1)]!r} starts here and never ends",
                "Close the quote",
            ),
        }[found.mistake]
        return self.file.error(int(found.lines[found.rows]), problem, what, cure)


def _unescape(value: str) -> str:
    return value.replace('""', '"')


def _read_names(file: TextFile, separator: str) -> tuple[tuple[str, ...], int]:
    """Return the names of the columns, and how many lines they take."""
    _, block = next(file.lines(quote=b'"'), (1, b""))
    # A quoted name may have line ends in it; the rows below it are counted later.
    first = block[: 1 << 24].split(b"\n", 1)[0]
    file.require(BYTES_PER_NAME * first.count(separator.encode()), what="the header", line=1)
    # Longer than any name: the module's own limit is for cells.
    text = block[: 1 << 24].decode(file.encoding, "ignore")
    lines = io.StringIO(text, newline="\n")
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        names = next(rows, [])
    except csv.Error as problem:
        raise file.error(
            1, "The first line must hold the column names", str(problem), "Correct the header"
        ) from problem
    if not names:
        raise file.error(
            1,
            "The first line must hold the column names",
            "It is empty",
            "Add a header",
        )
    header = b"\n".join([*block.split(b"\n", rows.line_num)[: rows.line_num], b""])
    found = find_cells(header, 1, len(names), ord(separator))
    if not found.mistake:  # without the blanks around cells, as in all other rows
        names = [found.token(j).decode(file.encoding) for j in range(len(names))]
        names = [_unescape(n) if m == ESCAPED else n for n, m in zip(names, found.marks)]
    check_no_repeated_names(file, names, [1] * len(names))
    return tuple(names), rows.line_num


def write_csv(data: MultiLabelDataset, out: BinaryIO, *, separator: str = ",") -> None:
    """Write a dataset as separated values, labels last, missing cells empty."""
    writer = CellWriter(data, _quote_value, missing="", infinity="inf")
    names = separator.join(map(_quote_name, (*data.feature_names, *data.label_names)))
    out.write(f"{names}\n".encode())
    for rows in writer.dense_rows():
        out.write("\n".join([*map(separator.join, rows), ""]).encode())


def _quote_value(word: str) -> str:
    return f'"{word}"' if _MISSING_WORD.fullmatch(word) else _quote_name(word)


def _quote_name(word: str) -> str:
    if "\r" in word or "\0" in word:
        raise InputError(
            "CSV cannot hold carriage returns and zero bytes",
            f"{word!r} has one",
            "Rename it, or write another format",
        )
    return '"' + word.replace('"', '""') + '"' if _ODD.search(word) or not word else word
