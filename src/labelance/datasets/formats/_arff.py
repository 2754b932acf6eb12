"""ARFF, the format of Weka, Mulan and MEKA: read and write it, dense or sparse.

Read by hand: `scipy.io.arff` knows neither sparse rows nor texts, and which line is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from labelance._utils._messages import shorten
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._arff_rows import (
    DROP,
    NOMINAL,
    NUMBER,
    TEXT,
    ArffRows,
    Columns,
    unquote,
)
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import CellWriter, TextFile
from labelance.exceptions import arg

TextPolicy = Literal["error", "nominal", "drop"]
ColumnType = tuple[int, tuple[str, ...] | None]

# Blanks are those of ASCII, as in the rows; any other may be part of a name.
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(
    rf"\s*@attribute\s+({_QUOTED}|[^\s{{%'\",][^\s{{]*)\s*(.*)", re.A | re.I | re.S
)
_RELATION = re.compile(rf"\s*@relation\s+({_QUOTED}|.*)", re.A | re.I | re.S)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^\s,{{}}'\"][^\s,}}]*)\s*(,?)", re.A)
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[.*\]\s*)?(?:%.*)?$", re.A | re.I)
_TEXTUAL = re.compile(rf"(?:string|date(?:\s+(?:{_QUOTED}|\S+))?)\s*(?:%.*)?$", re.A | re.I)
_DATA = re.compile(rb"^[ \t]*@data[ \t\f\v]*(?:%.*)?\n", re.I | re.M)


_IGNORED = ""  # in place of the type of a column that is left out; no type is empty


class _SplitHead(NamedTuple):
    """A head, split: the relation, and name, type as written and line of every attribute."""

    relation: str
    names: list[str]
    specs: list[str]
    lines: Sequence[int]


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


def _split_lines(file: TextFile, head: str) -> _SplitHead:
    """Split a head line by line, and say which line is wrong."""
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
    return _SplitHead(relation, names, specs, lines)


def _parse_relation(file: TextFile, number: int, line: str) -> str:
    match = _RELATION.match(line)
    if match is None:
        raise file.error(
            "The header of an ARFF file must have @relation, @attribute and comments only",
            f"Found {shorten(line.strip(), 40)!r}",
            "Check that this is an ARFF file, or pass its format",
            line=number,
        )
    return unquote(match[1].strip())


def _split_attribute(file: TextFile, number: int, line: str) -> tuple[str, str]:
    """Return name and type of a line ``@attribute name type``, the name quoted or not."""
    match = _ATTRIBUTE.match(line)
    if match is None or not match[2].strip():
        raise file.error(
            "An attribute must have a name and a type",
            f"Found {shorten(line.strip(), 40)!r}",
            "Write @attribute name numeric, or @attribute name {value, value}",
            line=number,
        )
    return unquote(match[1]), match[2]


def _parse_type(file: TextFile, number: int, name: str, spec: str, text: TextPolicy) -> ColumnType:
    if spec[0] == "{":
        return NOMINAL, _parse_values(file, number, name, spec)
    if _NUMERIC.match(spec):
        return NUMBER, None
    if _TEXTUAL.match(spec) and text == "drop":
        return DROP, None
    if _TEXTUAL.match(spec) and text == "nominal":
        return TEXT, None
    if _TEXTUAL.match(spec):
        raise file.error(
            "Every attribute must be numeric or nominal",
            f"{name!r} is of type {spec.split()[0]}",
            "Pass text='drop' to drop such columns, or text='nominal' to make every distinct text "
            "a category",
            line=number,
        )
    raise file.error(
        "The type of an attribute must be numeric, real, integer, string, date or {value, value}",
        f"{name!r} is of type {shorten(spec.strip(), 40)!r}",
        line=number,
    )


def _parse_values(file: TextFile, number: int, name: str, spec: str) -> tuple[str, ...]:
    """Return the values of a nominal type ``{a, 'b c', d}``."""
    values: list[str] = []
    at = 1
    while match := _VALUE.match(spec, at):
        values.append(unquote(match[1]))
        at = match.end()
    rest = spec[at:].strip()
    if rest[:1] != "}" or rest[1:].strip()[:1] not in ("", "%"):
        raise file.error(
            f"The values of {name!r} must be in braces, separated by commas",
            f"Found {shorten(rest, 40)!r} after {len(values)} values",
            "Close the brace, and quote values with special characters",
            line=number,
        )
    if len(set(values)) < len(values):
        raise file.error(
            f"The values of {name!r} must be distinct", "A value is repeated", line=number
        )
    return tuple(values)


# MEKA says how many columns are labels, from the front or, if negative, from the end.
_MEKA = re.compile(r"(?:^|[\s:])-C\s+(-?[0-9]{1,9})")


def read_arff(file: TextFile, *, text: TextPolicy = "error", ignore: Sequence[str] = ()) -> Table:
    """Read a dense or sparse ARFF file into a table."""
    content = file.read()
    data = _DATA.search(content)
    if data is None:
        raise file.error(
            "The header of an ARFF file must end with @data",
            "The file ends without it",
            "Check that the ARFF file is complete",
            line=content.count(b"\n") + 1,
        )
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
        raise file.error(
            f"The option -C in the relation name must count some of the {width} attributes as "
            "labels",
            f"Got {count}",
            f"Correct it, or pass {arg('labels', ...)}",
        )
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
