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
from labelance.datasets.formats._arff_rows import FoundCells, find_cells
from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._cells import DROP, ESCAPED, NOMINAL, NUMBER, TEXT, read_cells
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
    table = Table(
        file=file,
        names=header.names,
        categories=body.categories(),
        cells=body.cells(),
        lines=np.concatenate([np.empty(0, dtype=np.int64), *body.lines]),
        name=_MEKA.split(header.relation)[0].rstrip(" :"),
        labels=_meka_labels(file, header.relation, len(header.names)),
    )
    dropped = header.kinds == DROP
    return table.take(np.flatnonzero(~dropped)) if dropped.any() else table


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
            for learned in self.learned.values() if self.sparse else ():
                learned[""] = 0
        width = self.header.kinds.size
        found = find_cells(block, first_line, width, sparse=self.sparse)
        values = self._values(found, block)
        if found.mistake:
            line = int(found.lines[found.rows])
            raise self._error(found.mistake, line, found.column, block[found.start : found.stop])
        self.lines.append(found.lines[: found.rows])
        if self.sparse:
            stored = values, found.columns, found.ends
            self.parts.append(csr_array(stored, shape=(found.rows, width)))
        else:
            self.parts.append(values.reshape(found.rows, width))

    def cells(self) -> Any:
        """All rows read so far, a CSR if they were sparse."""
        if self.sparse:
            return vstack(self.parts, format="csr")
        return np.concatenate([np.empty((0, self.header.kinds.size)), *self.parts])

    def categories(self) -> tuple[tuple[str, ...] | None, ...]:
        """Values of the nominal columns, declared or learned."""
        if not self.learned:
            return self.header.categories
        declared = enumerate(self.header.categories)
        return tuple(tuple(self.learned[j]) if j in self.learned else c for j, c in declared)

    def _values(self, found: FoundCells, block: bytes) -> NDArray[np.float64]:
        """Numbers and codes of the cells that were found."""
        text = np.frombuffer(block, dtype=np.uint8)
        values, later, bad = read_cells(
            text, found.bounds, found.marks, found.columns, self.header.kinds, self.known
        )
        for cell in later.tolist():
            token = block[slice(*found.bounds[cell])].decode(self.file.encoding)
            value = unescape(token) if found.marks[cell] == ESCAPED else token
            try:
                values[cell] = self._resolve(found.place(cell)[1], value)
            except ValueError:
                bad = cell
                break
        if bad >= 0:
            row, column = found.place(bad)
            mistake = NOT_A_NUMBER if self.header.kinds[column] == NUMBER else UNKNOWN_VALUE
            token_bytes = block[slice(*found.bounds[bad])]
            raise self._error(mistake, int(found.lines[row]), column, token_bytes)
        return values

    def _resolve(self, column: int, value: str) -> float:
        """Number or code of a cell that needs more than a look at its bytes."""
        kind = self.header.kinds[column]
        if kind == NUMBER:
            return float(value)
        if kind == NOMINAL:
            return (self.header.categories[column] or ()).index(value)
        values = self.learned[column]
        return values.setdefault(value, len(values))

    def _error(self, mistake: int, line: int, column: int, token: bytes) -> DataFileError:
        width = self.header.kinds.size
        facts = {
            "width": width,
            "column": column,
            "name": self.header.names[min(column, width - 1)],
            "token": token.decode(self.file.encoding, "replace"),
        }
        asked, came, fix = (part.format(**facts) for part in MISTAKES[mistake])
        return self.file.error(line, asked, came, fix)


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
