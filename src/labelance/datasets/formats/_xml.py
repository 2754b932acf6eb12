"""The label file of Mulan: an XML list of label names. No document type, no entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from labelance.datasets.formats._bytes import MAX_BYTES, TextFile
from labelance.exceptions import InputError

NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_label_names(path: Path, *, max_bytes: int = MAX_BYTES) -> tuple[str, ...]:
    """Read the names of all labels of a Mulan label file, nested ones included."""
    file, names = TextFile(path, max_bytes=max_bytes), list[str]()
    parser = _make_parser(file, names)
    try:
        for block in file.blocks():
            parser.Parse(block, False)
        parser.Parse(b"", True)
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

    def refuse(*_: object) -> NoReturn:
        raise file.error(
            parser.CurrentLineNumber,
            "A label file is plain XML",
            "it has a document type or declares entities",
            "Remove the DOCTYPE; nothing was expanded",
        )

    def collect(tag: str, attributes: dict[str, str]) -> None:
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
