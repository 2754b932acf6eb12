"""ARFF, the format of Weka, Mulan and MEKA: read and write it, dense or sparse.

Read by hand: `scipy.io.arff` knows neither sparse rows nor texts, and which line is wrong. pandas
reads plain rows; all others are read value by value.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils._messages import shorten
from labelance.datasets._dataset import Categories, MultiLabelDataset
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import (
    BLANKS,
    MISSING,
    CellWriter,
    TextFile,
    are_integers,
    codes_of_integers,
    parse_number,
    read_frame,
)
from labelance.exceptions import DataFileError, arg

TextPolicy = Literal["error", "nominal", "drop"]
ColumnType = tuple[int, tuple[str, ...] | None]

# Blanks are those of ASCII, as in the rows; any other may be part of a name.
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(
    rf"\s*@attribute\s+({_QUOTED}|[^\s{{%'\",][^\s{{]*)\s*(.*)", re.A | re.I | re.S
)
_RELATION = re.compile(rf"\s*@relation\s+({_QUOTED}|.*)", re.A | re.I | re.S)
_DECLARED = re.compile(rf"\s*({_QUOTED}|[^\s,{{}}'\"][^\s,}}]*)\s*(,?)", re.A)
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[.*\]\s*)?(?:%.*)?$", re.A | re.I)
_TEXTUAL = re.compile(rf"(?:string|date(?:\s+(?:{_QUOTED}|\S+))?)\s*(?:%.*)?$", re.A | re.I)
_DATA = re.compile(rb"^[ \t]*@data[ \t\f\v]*(?:%.*)?\n", re.I | re.M)
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


# --- header ---------------------------------------------------------------------------------------


_IGNORED = ""  # in place of the type of a column that is left out; no type is empty


def _parse_header(
    file: TextFile, head: str, text: TextPolicy, ignore: Sequence[str]
) -> tuple[str, Columns]:
    """Return the relation and what the head declares of the columns."""
    relation, names, specs, lines = _split_lines(file, head)
    if not names:
        raise file.error(
            "An ARFF file must declare attributes", "This one declares none", "Add @attribute lines"
        )
    check_no_repeated_names(file, names, lines)
    for column in find_columns(file, names, ignore, arg("ignore", ...)):
        specs[column] = _IGNORED
    # Files have tens of thousands of columns of a few types; each type is parsed once.
    first = dict(zip(reversed(specs), range(len(specs) - 1, -1, -1)))
    known = {
        spec: _parse_type(file, lines[column], names[column], spec, text)
        for spec, column in first.items()
        if spec != _IGNORED
    } | {_IGNORED: (DROP, None)}
    kinds = np.array([known[spec][0] for spec in specs], dtype=np.uint8)
    categories = tuple([known[spec][1] for spec in specs])
    return relation, Columns(tuple(names), kinds, categories)


def _split_lines(file: TextFile, head: str) -> tuple[str, list[str], list[str], list[int]]:
    """Return the relation, and name, type as written and line of every attribute."""
    relation, names, specs, lines = "", [], [], []
    for number, line in enumerate(head.split("\n"), 1):
        words = line.split(None, 1)
        keyword = words[0].lower() if words else "%"
        if keyword == "@attribute":
            name, spec = _split_attribute(file, number, line)
            names.append(name)
            specs.append(spec)
            lines.append(number)
        elif keyword[0] != "%" and keyword != "@data":
            relation = _parse_relation(file, number, line)
    return relation, names, specs, lines


def _parse_relation(file: TextFile, number: int, line: str) -> str:
    match = _RELATION.match(line)
    if match is None:
        problem = "The header of an ARFF file must have @relation, @attribute and comments only"
        cure = "Check that this is an ARFF file, or pass its format"
        raise file.error(problem, f"Found {shorten(line.strip(), 40)!r}", cure, line=number)
    return unquote(match[1].strip())


def _split_attribute(file: TextFile, number: int, line: str) -> tuple[str, str]:
    """Return name and type of a line ``@attribute name type``, the name quoted or not."""
    match = _ATTRIBUTE.match(line)
    if match is None or not match[2].strip():
        found = f"Found {shorten(line.strip(), 40)!r}"
        cure = "Write @attribute name numeric, or @attribute name {value, value}"
        raise file.error("An attribute must have a name and a type", found, cure, line=number)
    return unquote(match[1]), match[2]


def _parse_type(file: TextFile, number: int, name: str, spec: str, text: TextPolicy) -> ColumnType:
    if spec[0] == "{":
        return NOMINAL, _parse_values(file, number, name, spec)
    if _NUMERIC.match(spec):
        return NUMBER, None
    if _TEXTUAL.match(spec) and text != "error":
        return DROP if text == "drop" else TEXT, None
    problem = "A type must be numeric, real, integer, {value, value}, or string or date with text="
    found = f"{name!r} is of type {shorten(spec, 40)!r}"
    cure = "Pass text='drop' to drop such columns, or text='nominal' to make a text a category"
    raise file.error(problem, found, cure if _TEXTUAL.match(spec) else "", line=number)


def _parse_values(file: TextFile, number: int, name: str, spec: str) -> tuple[str, ...]:
    """Return the values of a nominal type ``{a, 'b c', d}``."""
    values: list[str] = []
    at = 1
    while match := _DECLARED.match(spec, at):
        values.append(unquote(match[1]))
        at = match.end()
    rest = spec[at:].strip()
    if rest[:1] != "}" or rest[1:].strip()[:1] not in ("", "%"):
        problem = f"The values of {name!r} must be in braces, separated by commas"
        found = f"Found {shorten(rest, 40)!r} after {len(values)} values"
        cure = "Close the brace, and quote values with special characters"
        raise file.error(problem, found, cure, line=number)
    if len(set(values)) < len(values):
        problem = f"The values of {name!r} must be distinct"
        raise file.error(problem, "A value is repeated", line=number)
    return tuple(values)


# --- rows -----------------------------------------------------------------------------------------


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
                    wrong = _wrong_row(width, tokens, line[match.end() :])
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
                    problem = f"The columns of a sparse row must increase, and be below {width}"
                    raise self.file.error(problem, f"Column {column} does not", line=number)
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


_WEIGHT = "End the row here; weights of rows are not supported"
_MIXED = "Write all rows dense, or all sparse"


def _wrong_row(width: int, tokens: Sequence[str], rest: str) -> tuple[str, str, str]:
    """Say what is wrong with the form of a dense row, from ``rest`` on or in all of it."""
    problem = f"A row must have {width} values, one per attribute"
    found = f"This one has {len(tokens)}" + f", and then {shorten(rest, 40)!r}" * bool(rest)
    cure = "Write ? for a missing value, and quote values with commas or spaces"
    brace = _WEIGHT if len(tokens) == width else _MIXED
    cures = {"{": brace, "}": brace, "'": "Close the quote", '"': "Close the quote"}
    return problem, found, cures.get(rest[:1], cure)


def _wrong_sparse_row(line: str, match: re.Match[str] | None) -> tuple[str, str, str]:
    """Say what is wrong with the form of a sparse row."""
    rest = line[match.end() :] if match else line
    problem = "A sparse row must be columns with their values in braces, such as {0 1.5, 7 red}"
    found = f"Found {shorten(rest, 40)!r}" if rest else "This one has no end"
    cure = "Quote values with spaces, close quotes, and check that the file is complete"
    return problem, found, (_WEIGHT if rest[:1] == "}" else cure) if match else _MIXED


# --- a file ---------------------------------------------------------------------------------------


# MEKA says how many columns are labels, from the front or, if negative, from the end.
_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,9})")


def read_arff(file: TextFile, *, text: TextPolicy = "error", ignore: Sequence[str] = ()) -> Table:
    """Read a dense or sparse ARFF file into a table."""
    content = file.read()
    data = _DATA.search(content)
    if data is None:
        problem = "The header of an ARFF file must end with @data"
        cure = "Check that the ARFF file is complete"
        raise file.error(problem, "The file ends without it", cure, line=content.count(b"\n") + 1)
    end = data.end()
    relation, columns = _parse_header(file, content[:end].decode(), text, ignore)
    rows = ArffRows(file, columns, content[end:], content.count(b"\n", 0, end) + 1)
    cells, categories = rows.read()
    table = Table(
        file=file,
        names=columns.names,
        categories=categories,
        cells=cells,
        line_of=rows.line_of,
        name=_MEKA.split(relation)[0].rstrip(" :"),
        labels=_meka_labels(file, relation, len(columns.names)),
    )
    dropped = columns.kinds == DROP
    return table.take(np.flatnonzero(~dropped)) if dropped.any() else table


def _meka_labels(file: TextFile, relation: str, width: int) -> tuple[int, ...] | None:
    """Return the label columns by the option -C of a MEKA relation name."""
    match = _MEKA.search(relation)
    if match is None:
        return None
    count = int(match[1])
    if not 0 < abs(count) <= width:
        problem = f"-C in the relation name must count some of the {width} attributes as labels"
        raise file.error(problem, f"Got {count}", f"Correct it, or pass {arg('labels', ...)}")
    return tuple(range(count) if count > 0 else range(width + count, width))


_PLAIN = re.compile(r"[A-Za-z0-9_.:/+-]+")
_MEKA_OPTIONS = re.compile(r"-C\s+-?\d+")
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    | {chr(code): f"\\{code:03o}" for code in (*range(9), 11, 12, *range(14, 32), 127)}
)


def write_arff(data: MultiLabelDataset, out: BinaryIO) -> None:
    """Write a dataset; a sparse X makes sparse rows."""
    out.write(_head(data).encode())
    writer = CellWriter(data, quote, missing="?", infinity="Infinity")
    for lines in _sparse_lines(writer) if data.is_sparse else _dense_lines(writer):
        out.write("\n".join([*lines, ""]).encode())


def quote(word: str) -> str:
    """Write a name or value so that it reads back as it is."""
    return word if _PLAIN.fullmatch(word) else f"'{word.translate(_ESCAPES)}'"


def _head(data: MultiLabelDataset) -> str:
    # MEKA reads the number of labels here, negative because they come last.
    relation = f"{_MEKA_OPTIONS.sub('', data.name)}: -C -{data.n_labels}"
    lines = [f"% {_one_line(text)}" for text in (data.description, data.citation) if text]
    lines += [f"@relation {quote(relation)}", ""]
    known: dict[tuple[str, ...] | None, str] = {None: "numeric"}
    for name, values in zip(data.feature_names, data.categories):
        if values not in known:
            known[values] = "{" + ",".join(map(quote, values or ())) + "}"
        lines.append(f"@attribute {quote(name)} {known[values]}")
    lines += [f"@attribute {quote(name)} {{0,1}}" for name in data.label_names]
    return "\n".join([*lines, "", "@data", ""])


def _one_line(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))


def _dense_lines(writer: CellWriter) -> Iterator[list[str]]:
    for rows in writer.dense_rows():
        yield [",".join(row) for row in rows]


def _sparse_lines(writer: CellWriter) -> Iterator[list[str]]:
    width = writer.data.n_features + writer.data.n_labels
    column_texts = np.array([f"{j} " for j in range(width)], dtype=object)
    for block, texts in writer.sparse_rows():
        cells = (column_texts[block.indices] + texts).tolist()
        ends = block.indptr.tolist()
        yield ["{" + ",".join(cells[a:b]) + "}" for a, b in pairwise(ends)]
