"""The rows of an ARFF file, dense or sparse: plain ones by pandas, all others value by value."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.datasets._dataset import Categories
from labelance.datasets.formats._cells import (
    BLANKS,
    MISSING,
    are_integers,
    codes_of_integers,
    parse_number,
    read_frame,
)
from labelance.datasets.formats._text_file import TextFile
from labelance.exceptions import DataFileError

# How the values of a column are read: as numbers, as declared values, as any text (which is
# learned), or not at all.
NUMBER, NOMINAL, TEXT, DROP = range(4)

# Blanks are those of ASCII.
_BLANK = r"[ \t]*+"
_VALUE = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^\s,{}'"%][^\s,}]*+)"""
_PAIR = rf"([0-9]{{1,9}})[ \t]++({_VALUE})"
_DENSE = re.compile(rf"((?:{_VALUE}{_BLANK},?+{_BLANK})*+)(%.*)?", re.A)
_SPARSE = re.compile(rf"\{{{_BLANK}(?:{_PAIR}{_BLANK}(?:,{_BLANK}|(?=\}})))*+", re.A)
_END_OF_SPARSE = re.compile(rf"\}}{_BLANK}(?:%.*)?", re.A)
_VALUES, _PAIRS = re.compile(_VALUE, re.A), re.compile(_PAIR, re.A)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.S)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


def unquote(token: str) -> str:
    r"""Return what a name or value stands for: in quotes ``\n``, ``\u00e9``, ``\351`` and more."""
    if token[:1] not in ("'", '"'):
        return token
    return _ESCAPE.sub(_resolve, token[1:-1]) if "\\" in token else token[1:-1]


def _resolve(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _CONTROL.get(code, code)


class Columns(NamedTuple):
    """What the head of a file declares: a name, a kind, and the values of a nominal column."""

    names: tuple[str, ...]
    kinds: NDArray[np.uint8]
    categories: Categories


class ArffRows(NamedTuple):
    """The text below ``@data``, and the number of its first line."""

    file: TextFile
    columns: Columns
    text: bytes
    first_line: int

    @property
    def is_sparse(self) -> bool:
        """Whether the first row is a sparse one."""
        first = re.search(rb"^[ \t]*([^%\s])", self.text, re.M)
        return first is not None and first[1] == b"{"

    def line_of(self, row: int) -> int:
        """Return the line of a row."""
        return next(islice(self.split(), row, None))[0]

    def read(self) -> tuple[Any, Categories]:
        """Return the cells, a CSR if rows are sparse, and the values of the nominal columns."""
        if not any(mark in self.text for mark in (b"'", b'"', b"%")):
            try:
                return self._read_plain_sparse() if self.is_sparse else self._read_plain()
            except ValueError:
                pass  # blanks in other places, or a mistake
        return self._read_values()

    def _read_plain(self) -> tuple[NDArray[np.float64], Categories]:
        """Read dense rows without quotes and comments; raise ValueError for all that is odd."""
        numeric, groups = _numeric(self.columns), _groups(self.columns)
        dtype = {j: np.float64 if flag else object for j, flag in enumerate(numeric)}
        frame = read_frame(self.text, ",", len(numeric), dtype=dtype)
        cells, learned = np.empty(frame.shape), list(self.columns.categories)
        for j in np.unique(groups, return_index=True)[1]:
            here = groups == groups[j]
            cells[:, here], learned[j] = self._codes(frame.loc[:, here].to_numpy(), j)
        return cells, tuple(learned)

    def _read_plain_sparse(self) -> tuple[csr_array, Categories]:
        """Read sparse rows without quotes and comments; raise ValueError for all that is odd."""
        text, width = self.text, len(self.columns.names)
        if not text.count(b"\n") == text.count(b"{") == text.count(b"}\n") == text.count(b"}"):
            raise ValueError
        # A line for every value, and one of column -1 before every row.
        text = text.replace(b"{", b"-1 0\n").translate(bytes.maketrans(b",", b"\n"), b"}")
        all_numbers = _numeric(self.columns).all()
        dtype = {0: np.float64, 1: np.float64 if all_numbers else object}
        frame = read_frame(text, " ", 2, dtype=dtype)
        columns, stored = frame[0].to_numpy(), frame[1].to_numpy()
        starts = columns == -1
        ends = np.append(np.flatnonzero(starts) - np.arange(starts.sum()), (~starts).sum())
        inside = (np.diff(columns, prepend=-1) > 0) & (columns < width)
        if not (starts | inside & (columns == np.floor(columns))).all():
            raise ValueError
        columns, stored = columns[~starts].astype(np.int32), stored[~starts]
        groups, values = _groups(self.columns), np.empty(len(columns))
        learned = list(self.columns.categories)
        for j in np.unique(groups, return_index=True)[1]:
            here = (groups == groups[j])[columns]
            values[here], learned[j] = self._codes(stored[here], j)
        return csr_array((values, columns, ends), shape=(len(ends) - 1, width)), tuple(learned)

    def _codes(self, cells: NDArray[Any], j: int) -> tuple[NDArray[np.float64], Any]:
        """Return numbers or codes of cells like column ``j``, and its values; missing is NaN.

        Raises ValueError for a cell that is none of the values.
        """
        import pandas as pd

        kind, values = self.columns.kinds[j], self.columns.categories[j]
        if cells.dtype != object:
            return cells if kind == NUMBER else codes_of_integers(cells, values or ()), values
        which, found = pd.factorize(cells.ravel())
        texts = [text.strip(BLANKS) for text in found]
        if not all(map(_VALUES.fullmatch, texts)):
            raise ValueError
        if kind == TEXT:  # a text that a sparse row leaves out is the empty one
            values = tuple(sorted({*texts, *([""] if self.is_sparse else [])} - {MISSING}))
        if kind == NUMBER:
            known = {text: parse_number(text) for text in texts}
        else:
            known = {value: float(code) for code, value in enumerate(values or ())}
            if kind != DROP and not known.keys() >= {*texts} - {MISSING}:
                raise ValueError
        codes = np.array([*(known.get(text, math.nan) for text in texts), math.nan])
        return codes[which].reshape(cells.shape), values

    def _read_values(self) -> tuple[Any, Categories]:
        """Read rows of any form, one value after the other, and say which line is wrong."""
        names, kinds, categories = self.columns
        readers = [_Reader(*each, sparse=self.is_sparse) for each in zip(kinds, categories)]
        values, places, ends = array("d"), array("i"), array("q", [0])
        for line, columns, tokens in self.split():
            try:
                values.extend([readers[j][token] for j, token in zip(columns, tokens)])
            except ValueError:
                raise self._wrong_value(line, readers, columns, tokens) from None
            places.extend(columns)
            ends.append(len(places))
        stored, owners = np.array(values), np.array(places)
        learned = list(categories)
        for j in np.flatnonzero(kinds == TEXT):
            ordered = sorted(readers[j].codes)
            rank = {text: code for code, text in enumerate(ordered)}
            ranks = np.array([*(rank[text] for text in readers[j].codes), np.nan])
            learned[j], here = tuple(ordered), owners == j
            stored[here] = ranks[np.nan_to_num(stored[here], nan=-1).astype(np.intp)]
        shape = (len(ends) - 1, len(names))
        if self.is_sparse:
            return csr_array((stored, owners, np.array(ends)), shape=shape), tuple(learned)
        return stored.reshape(shape), tuple(learned)

    def split(self) -> Iterator[tuple[int, Sequence[int], list[str]]]:
        """Yield the line, the columns and the values of every row, and raise where it is wrong."""
        width, sparse = len(self.columns.names), self.is_sparse
        for number, line in enumerate(self.text.decode().split("\n"), self.first_line):
            line = line.strip(BLANKS)
            if not line or line[0] == "%":
                continue
            if not sparse:
                match = _DENSE.match(line)
                assert match is not None  # of nothing, at least
                tokens = _VALUES.findall(match[1])
                if match.end() < len(line) or len(tokens) != width:
                    wrong = _wrong_row(self.columns.names, tokens, line[match.end() :])
                    raise self.file.error(*wrong, line=number)
                yield number, range(width), tokens
                continue
            match = _SPARSE.match(line)
            pairs = _PAIRS.findall(match[0]) if match else []
            columns = [int(column) for column, _ in pairs]
            if not match or not _END_OF_SPARSE.fullmatch(line, match.end()):
                raise self.file.error(*_wrong_sparse_row(line, match), line=number)
            for before, column in pairwise([-1, *columns]):
                if not before < column < width:
                    raise self.file.error(*_wrong_column(before, column, width), line=number)
            yield number, columns, [token for _, token in pairs]

    def _wrong_value(
        self, line: int, readers: Sequence[_Reader], columns: Sequence[int], tokens: Sequence[str]
    ) -> DataFileError:
        """Make the error for the first value of a row that its column cannot have."""
        for j, token in zip(columns, tokens):
            try:
                readers[j][token]
            except ValueError:
                break
        name, found = repr(self.columns.names[j]), f"Got {unquote(token)!r}"
        if self.columns.kinds[j] == NUMBER:
            problem = f"{name} must be numeric"
            cure = "Write a number or ?, or declare the attribute nominal"
        else:
            problem = f"The value of {name} must be declared in its attribute line"
            cure = "Declare this value, or correct it"
        return self.file.error(problem, found, cure, line=line)


class _Reader(dict[str, float]):
    """The numbers that tokens of a column stand for; a new one is read, and kept if it is text."""

    def __init__(self, kind: int, values: tuple[str, ...] | None, *, sparse: bool) -> None:
        super().__init__({MISSING: math.nan})
        # A text that a sparse row leaves out is the empty one.
        declared = values or (("",) if kind == TEXT and sparse else ())
        self.kind, self.codes = kind, {value: float(code) for code, value in enumerate(declared)}

    def __missing__(self, token: str) -> float:
        value = unquote(token)
        if self.kind == NUMBER:
            return parse_number(value)
        if self.kind == DROP:
            return math.nan
        if self.kind == TEXT:
            self.codes.setdefault(value, float(len(self.codes)))
        elif value not in self.codes:
            raise ValueError
        self[token] = self.codes[value]
        return self[token]


def _numeric(columns: Columns) -> NDArray[np.bool_]:
    """Say which columns are read as numbers: also those whose declared values are integers."""
    integers = {values for values in set(columns.categories) if values and are_integers(values)}
    return np.array([
        kind == NUMBER or values in integers
        for kind, values in zip(columns.kinds.tolist(), columns.categories)
    ])  # fmt: skip


def _groups(columns: Columns) -> NDArray[np.intp]:
    """Return a group for every column: those of one type are read at once, texts one by one."""
    group: dict[object, int] = {}
    return np.array([
        group.setdefault((kind, j if kind == TEXT else values), len(group))
        for j, (kind, values) in enumerate(zip(columns.kinds.tolist(), columns.categories))
    ])  # fmt: skip


_WEIGHT = "Weights of rows are not supported", "This row has one", "Remove the weights"
_OTHER_KIND = (
    "Rows must be all dense or all sparse", "This one is not like the first",
    "Write all rows in the same way",
)  # fmt: skip


def _wrong_row(names: Sequence[str], tokens: Sequence[str], rest: str) -> tuple[str, str, str]:
    """Say what is wrong with the form of a dense row, from ``rest`` on or in all of it."""
    name = repr(names[min(len(tokens), len(names) - 1)])
    if rest[:1] in ("{", "}"):
        return _WEIGHT if len(tokens) == len(names) else _OTHER_KIND
    if rest[:1] == "," and len(tokens) <= len(names):
        return "There must be a value before every comma", f"{name} is empty", "Write ? for it"
    if rest[:1] in ("'", '"'):
        return "A quoted value must end on its line", f"That of {name} does not", "Close the quote"
    problem = f"A row must have {len(names)} values, one per attribute"
    if len(tokens) < len(names):
        return problem, f"This one has {len(tokens)}", "Add the missing values, ? if unknown"
    return problem, "This one has more", "Remove some, or quote values with commas or spaces"


def _wrong_sparse_row(line: str, match: re.Match[str] | None) -> tuple[str, str, str]:
    """Say what is wrong with the form of a sparse row."""
    if match is None:
        return _OTHER_KIND
    rest = line[match.end() :]
    if not rest:
        found = "This one does not"
        return "A sparse row must end with a brace", found, "Check that the file is complete"
    if re.match(r"\}[ \t]*[,{]", rest):
        return _WEIGHT
    if rest[0] == "}" or _PAIRS.match(rest):
        problem = "Cells are parted by commas and a row ends with its line"
        return problem, f"Found {rest[:40]!r}", "Quote values with spaces"
    problem = "A cell of a sparse row must be a column number and a value"
    number = re.match(r"([0-9]{1,9})(?![^\s,}])", rest)
    if number is None:
        return problem, f"Found {re.split('[ ,}]', rest)[0][:40]!r}", "Correct the cell"
    found = f"Column {number[1]} has no value, or one whose quote is not closed"
    return problem, found, "Write the value, ? where it is unknown"


def _wrong_column(before: int, column: int, width: int) -> tuple[str, str, str]:
    """Say what is wrong with the number of a column."""
    if column >= width:
        problem = f"A cell of a sparse row must be a column number below {width} and a value"
        return problem, f"Found {str(column)!r}", "Correct the cell"
    found = f"column {column} comes too late or twice"
    return "The columns of a sparse row increase", found, "Sort the cells of the row"
