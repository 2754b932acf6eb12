"""The label file of Mulan: an XML list of label names. No document type, no entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._memory import find_budget
from labelance.exceptions import DataFileError, InputError

# What the parser and the names may take for a byte of text, and how deep labels may be nested.
MEMORY_PER_BYTE = 16
MOST_LEVELS = 1000

NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_label_names(path: Path, *, max_memory: int | None = None) -> tuple[str, ...]:
    """Read the names of all labels of a Mulan label file, nested ones included."""
    file, names = TextFile(path, max_memory=find_budget(path, max_memory)), list[str]()
    parser, memory = _make_parser(file, names), 0
    try:
        for block in file.blocks():
            memory += MEMORY_PER_BYTE * len(block)
            file.require(memory, what="the label file")
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except DataFileError:
        raise
    except (LookupError, ValueError) as problem:
        raise file.error(
            1,
            "The label file is in an encoding that can be read",
            f"it says another ({problem})",
            'Save it as UTF-8, with encoding="utf-8" in its first line',
        ) from problem
    except expat.ExpatError as problem:
        raise file.error(
            problem.lineno,
            "The label file is well-formed XML",
            f"it is not ({expat.errors.messages[problem.code]})",
            "Correct it, or name the labels with labels=[…]",
        ) from problem
    return _distinct(file, names)


def _make_parser(file: TextFile, names: list[str]) -> expat.XMLParserType:
    """Make a parser that collects names and refuses all that could expand or open files."""
    parser = expat.ParserCreate()
    level = 0

    def refuse(*_: object) -> NoReturn:
        raise file.error(
            parser.CurrentLineNumber,
            "A label file is plain XML",
            "it has a document type or declares entities",
            "Remove the DOCTYPE; nothing was expanded",
        )

    def leave(tag: str) -> None:
        nonlocal level
        level -= 1

    def collect(tag: str, attributes: dict[str, str]) -> None:
        nonlocal level
        level += 1
        if level > MOST_LEVELS:
            raise file.error(
                parser.CurrentLineNumber,
                f"Labels are nested in at most {MOST_LEVELS} levels",
                "there are more",
                "Close the elements, or name the labels with labels=[…]",
            )
        if tag.rpartition(":")[2] != "label":
            return
        if "name" not in attributes:
            raise file.error(
                parser.CurrentLineNumber,
                "Every label has a name",
                "this one has none",
                'Write <label name="…"/>',
            )
        names.append(attributes["name"])

    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.ExternalEntityRefHandler = refuse
    parser.StartElementHandler = collect
    parser.EndElementHandler = leave
    return parser


def label_file_bytes(label_names: Sequence[str]) -> bytes:
    """Write label names as Mulan does."""
    for name in label_names:
        if any((ord(c) < 32 and c not in "\t\n\r") or c in "\ufffe\uffff" for c in name):
            raise InputError(
                "A label file holds names that XML can hold",
                f"the label {name!r} has a control character",
                "Rename the label, or write label_file=False",
            )
    # Line breaks and tabs in a name would be read as spaces unless they are written as numbers.
    escapes = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    rows = [f"<label name={quoteattr(name, escapes)}></label>" for name in label_names]
    head = ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{NAMESPACE}">']
    return "\n".join([*head, *rows, "</labels>", ""]).encode()


def _distinct(file: TextFile, names: list[str]) -> tuple[str, ...]:
    if not names:
        raise file.error(
            None,
            "The label file names the labels",
            "it has no <label> element",
            "Give the label file of Mulan, or name the labels with labels=[…]",
        )
    repeated, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise file.error(
            None, "Every label is named once", f"{repeated!r} comes twice", "Remove one"
        )
    return tuple(names)
