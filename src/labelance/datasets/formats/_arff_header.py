"""The head of an ARFF file: the relation, and a name and a type for every column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelance.datasets.formats._bytes import TextFile
from labelance.exceptions import DataFileError

# How the cells of a column are read.
NUMBER, NOMINAL, TEXT, DROP = 0, 1, 2, 3

TextPolicy = Literal["error", "nominal", "drop"]
ColumnType = tuple[int, tuple[str, ...] | None]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"\s*@attribute\s+({_QUOTED}|[^\s{{%'\",][^\s{{]*)\s*(.*)", re.I | re.S)
_RELATION = re.compile(rf"\s*@relation\s+({_QUOTED}|.*)", re.I | re.S)
_VALUE = re.compile(rf"\s*({_QUOTED}|[^\s,{{}}'\"][^\s,}}]*)\s*(,?)")
_NUMERIC = re.compile(r"(?:numeric|real|integer)\s*(?:\[.*\]\s*)?(?:%.*)?$", re.I)
_TEXTUAL = re.compile(rf"(?:string|date(?:\s+(?:{_QUOTED}|\S+))?)\s*(?:%.*)?$", re.I)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3]?[0-7]{1,2}|.)", re.S)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


@dataclass(frozen=True)
class ArffHeader:
    """What the head of an ARFF file declares, one entry for every column."""

    relation: str
    names: tuple[str, ...]
    kinds: NDArray[np.uint8]
    categories: tuple[tuple[str, ...] | None, ...]


def read_header(
    file: TextFile, blocks: Iterator[tuple[int, bytes]], text: TextPolicy
) -> tuple[ArffHeader, int, bytes]:
    """Read up to ``@data``; also return the number of the next line and what came with it."""
    head = bytearray()
    for _, block in blocks:
        # Searched from a little before the new block would be wrong: blocks are whole lines.
        end = _data_line(block)
        head += block[:end]
        if end is not None:
            header = _parse_header(file, head.decode(file.encoding), text)
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


def _parse_header(file: TextFile, head: str, text: TextPolicy) -> ArffHeader:
    relation, names, types = "", [], []
    # Most columns share a few types, and parsing each only once is most of the speed.
    known: dict[str, ColumnType] = {}
    for number, line in enumerate(head.split("\n"), 1):
        parts = line.split(None, 2)
        if not parts or parts[0][0] == "%":
            continue
        keyword = parts[0].lower()
        if keyword == "@attribute":
            name, spec = _split_attribute(file, number, line, parts)
            if spec not in known:
                known[spec] = _parse_type(file, number, name, spec, text)
            names.append(name)
            types.append(known[spec])
        elif keyword == "@relation" and (match := _RELATION.match(line)):
            relation = unquote(match[1].strip())
        elif keyword not in ("@data", "@relation"):
            raise file.error(
                number,
                "The head of an ARFF file has @relation, @attribute and comments",
                f"there is {_short(line.strip())!r}",
                "Check that this is an ARFF file, or give its format",
            )
    _check_names(file, head, names)
    kinds = np.array([kind for kind, _ in types], dtype=np.uint8)
    return ArffHeader(relation, tuple(names), kinds, tuple(values for _, values in types))


def _split_attribute(file: TextFile, number: int, line: str, parts: list[str]) -> tuple[str, str]:
    """Name and type of a line ``@attribute name type``."""
    if len(parts) == 3 and parts[1][0] not in "'\"%{," and "{" not in parts[1]:
        return parts[1], parts[2]
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


def _check_names(file: TextFile, head: str, names: list[str]) -> None:
    last = head.count("\n") + 1
    if not names:
        raise file.error(
            last, "An ARFF file declares attributes", "there is none", "Add @attribute lines"
        )
    if len(set(names)) < len(names):
        seen: set[str] = set()
        name = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise repeated_name(file, last, name)


def repeated_name(file: TextFile, line: int | None, name: str) -> DataFileError:
    """Make the error for two columns of one name."""
    return file.error(
        line, "Every column has its own name", f"{name!r} comes twice", "Rename one of them"
    )


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
