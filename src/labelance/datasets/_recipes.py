"""From published files to one ARFF file and one label file, byte for byte as registered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy.sparse import csc_array, csr_array

from labelance.datasets._rda import RObject, read_rda
from labelance.datasets._registry import DatasetInfo

# Columns that the R package adds to the data for its own use.
_NOT_DATA = frozenset({".labelcount", ".SCUMBLE"})


def make_files(info: DatasetInfo, contents: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the ARFF file and the label file of a dataset, from its published files."""
    if info.recipe == "verbatim":
        arff, xml = contents
    elif info.recipe == "join":
        train, test, xml = contents
        arff = join_arff(train, test)
    else:
        (rda,) = contents
        arff, xml = convert_mldr(info, rda)
    return arff, xml


def join_arff(train: bytes, test: bytes) -> bytes:
    """Return the first file, followed by the rows of the second."""
    _, _, rows = re.split(rb"(?im)^[ \t]*(@data)\b[^\n]*\n", test, maxsplit=1)
    lines = [line for line in rows.splitlines() if line.strip()]
    return b"\n".join([train.rstrip(b"\r\n"), *lines, b""])


def convert_mldr(info: DatasetInfo, rda: bytes) -> tuple[bytes, bytes]:
    """Write the data frame and the labels of an mldr object as sparse ARFF and as a label file."""
    (source,) = info.sources
    (dataset,) = read_rda(rda, source.path).values()
    frame, labels = dataset["dataset"], dataset["labels"]
    is_label = np.zeros(len(frame.value), dtype=np.bool_)
    is_label[labels["index"].value.values.astype(np.intp) - 1] = True
    names = frame.attributes["names"].value
    kept = [j for j, name in enumerate(names) if name not in _NOT_DATA]
    origin = (
        f"% Converted from {info.repository} {source.path} @ {info.commit} "
        f"(git blob {source.git_blob})"
    )
    attributes = [f"@attribute {names[j]} {'{0,1}' if is_label[j] else 'numeric'}" for j in kept]
    rows = _sparse_rows(_matrix([frame.value[j] for j in kept]))
    arff = [origin, f"@relation {info.name}", "", *attributes, "", "@data", *rows, ""]
    return "\n".join(arff).encode(), label_file([names[j] for j in np.flatnonzero(is_label)])


def label_file(names: Sequence[str]) -> bytes:
    """Write label names in the XML form of Mulan."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<labels xmlns="http://mulan.sourceforge.net/labels">',
        *(f"<label name={quoteattr(name)}></label>" for name in names),
        "</labels>",
        "",
    ]
    return "\n".join(lines).encode()


def _matrix(columns: Sequence[RObject]) -> csr_array:
    numbers = [column.value for column in columns]
    ends = np.cumsum([0, *(len(part.places) for part in numbers)])
    values = np.concatenate([part.values.astype(float) for part in numbers])
    places = np.concatenate([part.places for part in numbers])
    return csc_array((values, places, ends), shape=(numbers[0].length, len(numbers))).tocsr()


def _sparse_rows(X: csr_array) -> list[str]:
    """Write every row as ``{column value,column value}``, whole numbers without a point."""
    distinct, which = np.unique(X.data, return_inverse=True)
    words = [str(int(value)) if value.is_integer() else repr(value) for value in distinct.tolist()]
    cells = [f"{column} {words[w]}" for column, w in zip(X.indices.tolist(), which.tolist())]
    ends = X.indptr.tolist()
    return ["{" + ",".join(cells[a:b]) + "}" for a, b in pairwise(ends)]
