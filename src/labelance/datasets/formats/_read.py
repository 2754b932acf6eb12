"""One door for reading files of multi-label data."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Literal

from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._arff import read_arff
from labelance.datasets.formats._arff_header import TextPolicy
from labelance.datasets.formats._bytes import MAX_BYTES, TextFile
from labelance.datasets.formats._labels import Labels, split_labels

Format = Literal["arff"]


def read_multilabel(
    path: str | PathLike[str],
    *,
    labels: Labels = None,
    format: Format | None = None,
    present: str | Collection[str] | None = None,
    text: TextPolicy = "error",
    encoding: str = "utf-8",
    max_bytes: int = MAX_BYTES,
) -> MultiLabelDataset:
    """Read a file of multi-label data."""
    file = TextFile(Path(path), encoding=encoding, max_bytes=max_bytes)
    return split_labels(read_arff(file, text=text), labels, present)
