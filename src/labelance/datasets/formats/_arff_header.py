"""The head of an ARFF file: the relation, and a name and a type for every column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._memory import BYTES_PER_NAME
from labelance.datasets.formats._table import refuse_repeated_names
from labelance.datasets.formats._values import DROP, NOMINAL, NUMBER, TEXT

TextPolicy = Literal["error", "nominal", "drop"]
ColumnType = tuple[int, tuple[str, ...] | None]

# Blanks are those of ASCII, as in the rows; any other may be part of a name.
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(
    rf"\s*@attribute\s+({_QUOTED}|[^\s{{%'\",][^\s{{]*)\s*(.*)", re.A | re.I | re.S
)
_FIRST_ATTRIBUTE = re.compile(r"^[ \t]*@attribute", re.A | re.I | re.M)
_RELATION = re.compile(rf"\s*@relation\s+({_QUOTED}|.*)", re.A | re.I | re.S)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^\s,{{}}'\"][^\s,}}]*)\s*(,?)", re.A)
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[.*\]\s*)?(?:%.*)?$", re.A | re.I)
_TEXTUAL = re.compile(rf"(?:string|date(?:\s+(?:{_QUOTED}|\S+))?)\s*(?:%.*)?$", re.A | re.I)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.S)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


class _SplitHead(NamedTuple):
    """A head in pieces: the relation, and name, type as written and line of every attribute."""

    relation: str
    names: list[str]
    specs: list[str]
    lines: Sequence[int]


@dataclass(frozen=True)
class ArffHeader:
    """What the head of an ARFF file declares, one entry for every column."""

    relation: str
    names: tuple[str, ...]
    kinds: NDArray[np.uint8]
    categories: tuple[tuple[str, ...] | None, ...]
    memory: int


def read_header(
    file: TextFile, blocks: Iterator[tuple[int, bytes]], text: TextPolicy
) -> tuple[ArffHeader, int, bytes]:
    """Read up to ``@data``; also return the number of the next line and what came with it."""
    head, memory = bytearray(), 0
    for line, block in blocks:
        end = _data_line(block)
        # Every name ends a line or stands before a comma, as values do.
        names = block.count(b"\n", 0, end) + block.count(b",", 0, end)
        memory += len(block[:end]) + names * BYTES_PER_NAME
        file.require(memory, what="the head", line=line)
        head += block[:end]
        if end is not None:
            header = _parse_header(file, head.decode(file.encoding), text, memory)
            return header, head.count(b"\n") + 1, block[end:]
    raise file.error(
        head.count(b"\n") + 1,
        "The head of an ARFF file ends with @data",
        "the file ends without it",
        "Check that this is a whole ARFF file",
    )


def unquote(token: str) -> str:
    """Return what a name or value stands for; only quoted ones have escapes."""
    if token[:1] not in ("'", '"'):
        return token
    return unescape(token[1:-1])


def unescape(text: str) -> str:
    r"""Resolve ``\n``, ``\'``, ``\u00e9``, ``\351`` and the like."""
    return _ESCAPE.sub(_resolve, text) if "\\" in text else text


def _resolve(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _CONTROL.get(code, code)


def _data_line(block: bytes) -> int | None:
    """Position after the line ``@data``, or None."""
    lower, at = block.lower(), -1
    while (at := lower.find(b"@data", at + 1)) >= 0:
        before = lower[lower.rfind(b"\n", 0, at) + 1 : at]
        end = lower.find(b"\n", at) + 1
        after = lower[at + 5 : end].strip()
        if not before.strip() and (not after or after.startswith(b"%")):
            return end
    return None


def _parse_header(file: TextFile, head: str, text: TextPolicy, memory: int) -> ArffHeader:
    relation, names, specs, lines = _split_head(file, head)
    if not names:
        raise file.error(
            None, "An ARFF file declares attributes", "this one has none", "Add @attribute lines"
        )
    refuse_repeated_names(file, names, lines)
    # Files have tens of thousands of columns of a few types; each type is parsed once.
    first = dict(zip(reversed(specs), range(len(specs) - 1, -1, -1)))
    known = {
        spec: _parse_type(file, lines[column], names[column], spec, text)
        for spec, column in first.items()
    }
    kinds = np.array([known[spec][0] for spec in specs], dtype=np.uint8)
    categories = tuple([known[spec][1] for spec in specs])
    return ArffHeader(relation, tuple(names), kinds, categories, memory)


def _split_head(file: TextFile, head: str) -> _SplitHead:
    """Split a head in the fast way where it is plain, else line by line."""
    start = match.start() if (match := _FIRST_ATTRIBUTE.search(head)) else len(head)
    plain = _split_plain(head[start:])
    if plain is None:
        return _split_lines(file, head)
    first = head.count("\n", 0, start) + 1
    relation = _split_lines(file, head[:start]).relation
    return _SplitHead(relation, *plain, range(first, first + len(plain[0])))


def _split_plain(text: str) -> tuple[list[str], list[str]] | None:
    """Names and types, if there are three bare words on every line but the last, or None.

    Wide files are like this, and splitting all their words at once is most of the speed.
    """
    text = text[: text.rfind("@")].rstrip()
    words = text.split()
    keywords, names, specs = words[0::3], words[1::3], words[2::3]
    plain = (
        len(keywords) == keywords.count("@attribute") == len(specs) == text.count("\n") + 1
        and not any(byte in text for byte in "'\"%")
        and "{" not in "".join(names)
    )
    return (names, specs) if plain else None


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
            number,
            "The head of an ARFF file has @relation, @attribute and comments",
            f"there is {_short(line.strip())!r}",
            "Check that this is an ARFF file, or give its format",
        )
    return unquote(match[1].strip())


def _split_attribute(file: TextFile, number: int, line: str) -> tuple[str, str]:
    """Name and type of a line ``@attribute name type``, the name quoted or not."""
    match = _ATTRIBUTE.match(line)
    if match is None or not match[2].strip():
        raise file.error(
            number,
            "An attribute has a name and a type",
            f"there is {_short(line.strip())!r}",
            "Write @attribute name numeric, or @attribute name {value, value}",
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
            number,
            "Every attribute is numeric or nominal",
            f"{name!r} is of type {spec.split()[0]}",
            "Give text='drop' to leave such columns out, or text='nominal' to make every "
            "distinct text a category",
        )
    raise file.error(
        number,
        "The type of an attribute is numeric, real, integer, string, date or {value, value}",
        f"{name!r} is of type {_short(spec.strip())!r}",
        "Correct the type",
    )


def _parse_values(file: TextFile, number: int, name: str, spec: str) -> tuple[str, ...]:
    """Values of a nominal type ``{a, 'b c', d}``."""
    values: list[str] = []
    at = 1
    while match := _VALUE.match(spec, at):
        values.append(unquote(match[1]))
        at = match.end()
    rest = spec[at:].strip()
    if rest[:1] != "}" or rest[1:].strip()[:1] not in ("", "%"):
        raise file.error(
            number,
            f"The values of {name!r} stand between braces, parted by commas",
            f"there is {_short(rest)!r} after {len(values)} values",
            "Close the brace, and quote values with odd characters",
        )
    if len(set(values)) < len(values):
        raise file.error(
            number, f"{name!r} has distinct values", "one comes twice", "Remove one of them"
        )
    return tuple(values)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
