"""The formats, and how a file name tells which one it is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from labelance.exceptions import InputError

Format = Literal["arff", "csv", "tsv", "parquet", "libsvm", "npz"]

FORMATS: tuple[Format, ...] = get_args(Format)

_SUFFIXES: dict[str, Format] = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".txt": "libsvm",
    ".npz": "npz",
}


_BY_NAME: dict[str, Format] = {name: name for name in FORMATS}


def find_format(path: Path, format: str | None) -> Format:
    """Return the format that is named, or the one that the file name ends with."""
    zipped = path.suffix.lower() == ".gz"
    inner = path.with_suffix("") if zipped else path
    found = _SUFFIXES.get(inner.suffix.lower()) if format is None else _BY_NAME.get(format)
    if zipped and found in ("parquet", "npz"):
        raise InputError(
            "Parquet and NPZ are compressed by themselves",
            f"{path.name!r} would be gzipped",
            "Take .gz off the name",
        )
    if found is None:
        raise InputError(
            f"A file is of one of the formats {', '.join(FORMATS)}",
            f"format={format!r}" if format else f"{path.name!r} ends otherwise",
            "Name the format, such as format='csv', or use an ending such as .arff or .csv.gz",
        )
    return found
