"""ARFF, the format of Weka, Mulan and MEKA: read it into a table, dense or sparse."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelance.datasets.formats import _arff_rows as row
from labelance.datasets.formats._arff_header import (
    DROP,
    NOMINAL,
    NUMBER,
    TEXT,
    ArffHeader,
    TextPolicy,
    read_header,
    unescape,
)
from labelance.datasets.formats._arff_rows import Rows, make_rows, read_dense_rows, read_sparse_rows
from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._table import Table
from labelance.datasets.formats._vocabulary import build_vocabulary
from labelance.exceptions import DataFileError

# MEKA says how many columns are labels, from the front or, if negative, from the end.
_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?\d+)")
_FIRST_ROW = re.compile(rb"^[ \t]*([^%\s])", re.M)


def read_arff(file: TextFile, *, text: TextPolicy = "error") -> Table:
    """Read a dense or sparse ARFF file into a table."""
    blocks = file.lines()
    header, line, rest = read_header(file, blocks, text)
    body = _Body(file, header)
    for first_line, block in chain([(line, rest)], blocks):
        body.read(first_line, block)
    kept = np.flatnonzero(header.kinds != DROP)
    return Table(
        file=file,
        names=tuple(header.names[j] for j in kept),
        categories=tuple(body.categories(int(j)) for j in kept),
        cells=body.cells() if kept.size == header.kinds.size else body.cells()[:, kept],
        lines=np.concatenate([np.empty(0, dtype=np.int64), *body.lines]),
        name=_MEKA.split(header.relation)[0].rstrip(" :"),
        labels=_meka_labels(file, header.relation, kept, len(header.names)),
    )


class _Body:
    """The rows below ``@data``, read block by block."""

    def __init__(self, file: TextFile, header: ArffHeader) -> None:
        self.file, self.header = file, header
        self.known = build_vocabulary(header.categories, file.encoding)
        self.sparse: bool | None = None
        self.parts: list[Any] = []
        self.lines: list[NDArray[np.int64]] = []
        self.learned: dict[int, dict[str, int]] = {
            int(j): {} for j in np.flatnonzero(header.kinds == TEXT)
        }

    def read(self, first_line: int, block: bytes) -> None:
        """Read a block of whole lines."""
        first = _FIRST_ROW.search(block)
        if first is None:
            return
        if self.sparse is None:
            self.sparse = first[1] == b"{"
            # A text that a sparse row leaves out is the empty one.
            for values in self.learned.values() if self.sparse else ():
                values[""] = 0
        rows = self._rows(first_line, block)
        count, cells, _, mistake, column, start, end = rows.tally.tolist()
        self._finish(rows, first_line, block)
        if mistake:
            raise self._error(mistake, int(rows.lines[count]), column, block[start:end])
        self.lines.append(rows.lines[:count])
        if self.sparse:
            stored = rows.values[0, :cells], rows.columns[:cells], rows.ends[: count + 1]
            self.parts.append(csr_array(stored, shape=(count, self.header.kinds.size)))
        else:
            self.parts.append(rows.values[:count])

    def cells(self) -> Any:
        """All rows read so far, a CSR if they were sparse."""
        if self.sparse:
            return vstack(self.parts, format="csr")
        return np.concatenate([np.empty((0, self.header.kinds.size)), *self.parts])

    def categories(self, column: int) -> tuple[str, ...] | None:
        """Values of a nominal column, declared or learned."""
        if column in self.learned:
            return tuple(self.learned[column])
        return self.header.categories[column]

    def _rows(self, first_line: int, block: bytes) -> Rows:
        text, kinds = np.frombuffer(block, dtype=np.uint8), self.header.kinds
        most = block.count(b"\n")
        if self.sparse:
            out = make_rows(most, kinds.size, cells=block.count(b",") + most)
            read_sparse_rows(text, first_line, kinds, self.known, out)
        else:
            # A row has a byte and a separator for every cell; the last row may be cut short.
            most = min(most, len(block) // (2 * kinds.size) + 1)
            out = make_rows(most, kinds.size, cells=None)
            read_dense_rows(text, first_line, kinds, self.known, out)
        return out

    def _finish(self, rows: Rows, first_line: int, block: bytes) -> None:
        """Fill in the few cells that the kernel left to us."""
        flat = rows.values.reshape(-1)
        for position, column, start, end in rows.later[: rows.tally[row.LATER]].tolist():
            token = block[start:end].decode(self.file.encoding)
            value = unescape(token) if block[start - 1 : start] in (b"'", b'"') else token
            kind = self.header.kinds[column]
            try:
                flat[position] = self._resolve(kind, column, value)
            except ValueError:
                line = first_line + block.count(b"\n", 0, start)
                mistake = row.NOT_A_NUMBER if kind == NUMBER else row.UNKNOWN_VALUE
                raise self._error(mistake, line, column, block[start:end]) from None

    def _resolve(self, kind: int, column: int, value: str) -> float:
        if kind == NUMBER:
            return float(value)
        if kind == NOMINAL:
            return (self.header.categories[column] or ()).index(value)
        values = self.learned[column]
        return values.setdefault(value, len(values))

    def _error(self, mistake: int, line: int, column: int, token: bytes) -> DataFileError:
        width = self.header.kinds.size
        name = self.header.names[min(column, width - 1)]
        asked, came, fix = _MISTAKES[mistake]
        shown = token.decode(self.file.encoding, "replace")
        facts = {"width": width, "column": column, "name": name, "token": shown}
        return self.file.error(line, *(part.format(**facts) for part in (asked, came, fix)))


_MISTAKES = {
    row.TOO_FEW: (
        "A row has {width} values, one for every attribute",
        "this one has {column}",
        "Add the values that are missing, ? where they are unknown",
    ),
    row.TOO_MANY: (
        "A row has {width} values, one for every attribute",
        "this one has more",
        "Remove what is too much, and quote values with commas or spaces",
    ),
    row.EMPTY: (
        "There is a value before every comma",
        "the value of {name!r} is empty",
        "Write ? for a missing value",
    ),
    row.UNCLOSED: (
        "A quoted value ends on its line",
        "the value of {name!r} does not",
        "Close the quote",
    ),
    row.OPEN_ROW: (
        "A sparse row ends with a brace",
        "this one does not",
        "Check that the file is whole, and close the row with }}",
    ),
    row.NOT_A_NUMBER: (
        "{name!r} is numeric",
        "its value is {token!r}",
        "Write a number or ?, or declare the attribute nominal",
    ),
    row.UNKNOWN_VALUE: (
        "The value of {name!r} is one that its attribute line declares",
        "it is {token!r}",
        "Declare this value, or correct it",
    ),
    row.WEIGHT: (
        "Rows have no weights",
        "this one is followed by {token!r}, as a weight is",
        "Remove the weights; samples all count the same here",
    ),
    row.WRONG_KIND: (
        "Rows are all dense or all sparse, as the first one is",
        "there is {token!r}",
        "Write all rows in the same way",
    ),
    row.BAD_INDEX: (
        "A cell of a sparse row is the number of a column, from 0 to {width} less one, and a value",
        "there is {token!r}",
        "Correct the cell",
    ),
    row.NO_VALUE: (
        "A cell of a sparse row is the number of a column and a value",
        "column {column} has no value",
        "Write the value, ? where it is unknown",
    ),
    row.UNORDERED: (
        "The columns of a sparse row increase",
        "column {column} comes too late or twice",
        "Sort the cells of the row",
    ),
    row.TRAILING: (
        "Cells are parted by commas and a row ends with its line",
        "there is {token!r}",
        "Correct the row, and quote values with spaces",
    ),
}


def _meka_labels(
    file: TextFile, relation: str, kept: NDArray[np.intp], width: int
) -> tuple[int, ...] | None:
    """Label columns by the option -C of a MEKA relation name."""
    match = _MEKA.search(relation)
    if match is None:
        return None
    count = int(match[1])
    if not 0 < abs(count) <= width:
        raise file.error(
            None,
            f"The option -C in the relation name counts some of the {width} attributes as labels",
            f"it is {count}",
            "Correct it, or give labels=…",
        )
    is_label = kept < count if count > 0 else kept >= width + count
    return tuple(np.flatnonzero(is_label).tolist())
