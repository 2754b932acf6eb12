"""ARFF, the format of Weka, Mulan and MEKA: read it into a table, dense or sparse."""

from __future__ import annotations

import re
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from labelance.datasets.formats._arff_header import ArffHeader, TextPolicy, read_header, unescape
from labelance.datasets.formats._arff_mistakes import MISTAKES, NOT_A_NUMBER, UNKNOWN_VALUE
from labelance.datasets.formats._arff_rows import find_cells
from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._cells import FoundCells
from labelance.datasets.formats._table import Table
from labelance.datasets.formats._values import DROP, NUMBER, CellReader
from labelance.exceptions import DataFileError

# MEKA says how many columns are labels, from the front or, if negative, from the end.
_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,9})")
_FIRST_ROW = re.compile(rb"^[ \t]*([^%\s])", re.M)


def read_arff(file: TextFile, *, text: TextPolicy = "error") -> Table:
    """Read a dense or sparse ARFF file into a table."""
    blocks = file.lines()
    header, line, rest = read_header(file, blocks, text)
    body = _Body(file, header)
    for first_line, block in chain([(line, rest)], blocks):
        body.read(first_line, block)
    table = Table(
        file=file,
        names=header.names,
        categories=body.reader.categories(),
        cells=body.cells(),
        lines=np.concatenate([np.empty(0, dtype=np.int64), *body.lines]),
        name=_MEKA.split(header.relation)[0].rstrip(" :"),
        labels=_meka_labels(file, header.relation, len(header.names)),
    )
    dropped = header.kinds == DROP
    table = table.take(np.flatnonzero(~dropped)) if dropped.any() else table
    return table.sort_categories(body.reader.learned) if body.reader.learned else table


class _Body:
    """The rows below ``@data``, read block by block."""

    def __init__(self, file: TextFile, header: ArffHeader) -> None:
        self.file, self.header = file, header
        self.reader = CellReader(
            header.kinds, header.categories, encoding=file.encoding, unescape=unescape
        )
        self.sparse: bool | None = None
        self.parts: list[Any] = []
        self.lines: list[NDArray[np.int64]] = []
        self.memory = header.memory

    def read(self, first_line: int, block: bytes) -> None:
        """Read a block of whole lines."""
        first = _FIRST_ROW.search(block)
        if first is None:
            return
        if self.sparse is None:
            self.sparse = first[1] == b"{"
            # A text that a sparse row leaves out is the empty one.
            for values in self.reader.learned.values() if self.sparse else ():
                values[""] = 0
        width = self.header.kinds.size
        found = find_cells(block, first_line, width, sparse=self.sparse)
        self.memory += found.memory
        self.file.require(self.memory + self.reader.memory, line=first_line)
        numbers, bad = self.reader.read(found)
        if bad >= 0 or found.mistake:
            raise self._error(found, bad)
        self.lines.append(found.lines[: found.rows])
        if self.sparse:
            stored = numbers, found.columns, found.ends
            self.parts.append(csr_array(stored, shape=(found.rows, width)))
        else:
            self.parts.append(numbers.reshape(found.rows, width))

    def cells(self) -> Any:
        """All rows, a CSR if they were sparse."""
        if self.sparse:
            return vstack(self.parts, format="csr")
        return np.concatenate([np.empty((0, self.header.kinds.size)), *self.parts])

    def _error(self, found: FoundCells, bad: int) -> DataFileError:
        """Say what is wrong with a cell, or with the form of the row after the last cell."""
        mistake, row, column = found.mistake, found.rows, found.column
        token = found.block[found.start : found.stop]
        if bad >= 0:
            row, column = found.place(bad)
            mistake = NOT_A_NUMBER if self.header.kinds[column] == NUMBER else UNKNOWN_VALUE
            token = found.token(bad)
        width = self.header.kinds.size
        facts = {
            "width": width,
            "column": column,
            "name": self.header.names[min(max(column, 0), width - 1)],
            "token": token.decode(self.file.encoding, "replace"),
        }
        asked, came, fix = (part.format(**facts) for part in MISTAKES[mistake])
        return self.file.error(int(found.lines[row]), asked, came, fix)


def _meka_labels(file: TextFile, relation: str, width: int) -> tuple[int, ...] | None:
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
    return tuple(range(count) if count > 0 else range(width + count, width))
