"""Write ARFF that Weka, Mulan and MEKA read: labels last, counted by -C in the relation name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import BinaryIO

import numpy as np

from labelance.datasets._dataset import MultiLabelDataset, is_sparse
from labelance.datasets.formats._text import CellWriter

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
    for lines in _sparse_lines(writer) if is_sparse(data.X) else _dense_lines(writer):
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
