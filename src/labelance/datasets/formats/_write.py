"""One door for writing files of multi-label data."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from labelance._utils import replace_when_done
from labelance.datasets._dataset import MultiLabelDataset, is_sparse
from labelance.datasets.formats._arff_write import write_arff
from labelance.datasets.formats._csv import write_csv
from labelance.datasets.formats._formats import Format, find_format
from labelance.datasets.formats._labels import label_file_beside
from labelance.datasets.formats._libsvm import write_libsvm
from labelance.datasets.formats._npz import write_npz
from labelance.datasets.formats._parquet import write_parquet
from labelance.datasets.formats._xml import label_file_bytes, read_label_names
from labelance.exceptions import DataFileError, InputError

_WRITERS: dict[Format, Callable[[MultiLabelDataset, BinaryIO], None]] = {
    "arff": write_arff,
    "csv": write_csv,
    "tsv": partial(write_csv, separator="\t"),
    "parquet": write_parquet,
    "libsvm": write_libsvm,
    "npz": write_npz,
}

# Formats that need a file beside them to say which columns are labels.
_WITH_LABEL_FILE = ("arff", "csv", "tsv")


def write_multilabel(
    data: MultiLabelDataset | tuple[Any, Any],
    path: str | PathLike[str],
    *,
    format: Format | None = None,
    overwrite: bool = False,
    label_file: bool = True,
) -> Path:
    """Write multi-label data to a file that `read_multilabel`, and others, can read.

    Parameters
    ----------
    data : MultiLabelDataset or tuple
        A dataset, or X and Y as arrays, sparse matrices or data frames.
    path : str or path-like
        Where to write. The ending tells the format; with ``.gz`` after it the file is gzipped.
    format : {"arff", "csv", "tsv", "parquet", "libsvm", "npz"}, optional
        The format, where the ending does not tell.
    overwrite : bool, default=False
        Write over files that exist.
    label_file : bool, default=True
        Beside ARFF, CSV and TSV also write an XML file with the names of the labels, as Mulan
        needs it and as `read_multilabel` finds it.

    Returns
    -------
    Path
        The file that was written.

    Notes
    -----
    Files are written under a temporary name and renamed when they are whole. Numbers are
    written with as many digits as it takes to read the same ones back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
    >>> data = MultiLabelDataset([[0.1, 2.0], [1.5, 3.0]], [[1, 0], [1, 1]], name="tiny")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_multilabel(data, Path(folder) / "tiny.arff.gz")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ...     read_multilabel(file).same_as(data)
    ['tiny.arff.gz', 'tiny.xml']
    True
    """
    path = Path(path)
    kind = find_format(path, format)
    dataset = data if isinstance(data, MultiLabelDataset) else MultiLabelDataset.from_data(*data)
    _check(dataset, kind)
    beside = label_file_beside(path) if label_file and kind in _WITH_LABEL_FILE else None
    if beside is not None and _names_same_labels(beside, dataset.label_names):
        beside = None
    if not overwrite:
        _refuse_existing([path] if beside is None else [path, beside])
    try:
        with replace_when_done(path) as temporary:
            _write(_WRITERS[kind], dataset, temporary, gzipped=path.suffix.lower() == ".gz")
            if beside is not None:
                with replace_when_done(beside) as other:
                    other.write_bytes(label_file_bytes(dataset.label_names))
    except UnicodeEncodeError as problem:
        raise InputError(
            "Names and values are text that UTF-8 can hold",
            f"{problem.object!r} is not",
            "Rename it",
        ) from problem
    return path


def _write(
    write: Callable[[MultiLabelDataset, BinaryIO], None],
    data: MultiLabelDataset,
    path: Path,
    *,
    gzipped: bool,
) -> None:
    with path.open("wb") as out:
        if not gzipped:
            return write(data, out)
        # Neither name nor time goes in, so that the same data gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6) as zipped:
            return write(data, zipped)  # type: ignore[arg-type]


def _check(data: MultiLabelDataset, kind: Format) -> None:
    """Refuse what no reader could tell apart: two columns of one name, codes of no value."""
    name, times = Counter((*data.feature_names, *data.label_names)).most_common(1)[0]
    if times > 1 and kind not in ("npz", "libsvm"):
        raise InputError(
            "Every column of a file has its own name",
            f"{name!r} is the name of {times} of them",
            "Rename the features or the labels, or write NPZ",
        )
    X: Any = data.X
    columns = X.indices if is_sparse(X) else np.arange(data.n_features)
    values = X.data if is_sparse(X) else X
    counts = np.array([np.inf if c is None else len(c) for c in data.categories])[columns]
    code = (0 <= values) & (values < counts) & (np.trunc(values) == values)
    wrong = np.isfinite(counts) & ~code & ~np.isnan(values)
    if wrong.any():
        raise InputError(
            "A nominal feature holds codes 0, 1, … of its categories",
            "X has other values in one",
            "Correct X or categories",
        )


def _names_same_labels(path: Path, names: tuple[str, ...]) -> bool:
    """Tell whether a label file is there already and names these labels."""
    if not path.is_file():
        return False
    try:
        return set(read_label_names(path)) == set(names)
    except DataFileError:
        return False


def _refuse_existing(paths: list[Path]) -> None:
    for path in paths:
        if path.exists():
            raise InputError(
                "Files that exist are kept", f"{path} exists", "Give another name or overwrite=True"
            )
