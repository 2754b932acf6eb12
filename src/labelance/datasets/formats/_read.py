"""One door for reading files of multi-label data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._arff import read_arff
from labelance.datasets.formats._arff_header import TextPolicy
from labelance.datasets.formats._bytes import TextFile
from labelance.datasets.formats._csv import read_csv
from labelance.datasets.formats._formats import Format, find_format
from labelance.datasets.formats._labels import Labels, split_labels
from labelance.datasets.formats._libsvm import read_libsvm
from labelance.datasets.formats._memory import find_budget
from labelance.datasets.formats._npz import read_npz
from labelance.datasets.formats._parquet import read_parquet
from labelance.datasets.formats._table import Table
from labelance.exceptions import InputError

# What reads a format, and the options of `read_multilabel` that it takes.
_TABLE = frozenset({"labels", "present"})
_READERS: dict[Format, tuple[Callable[..., Table | MultiLabelDataset], frozenset[str]]] = {
    "arff": (read_arff, _TABLE | {"text"}),
    "csv": (read_csv, _TABLE | {"separator", "categorical"}),
    "tsv": (partial(read_csv, separator="\t"), _TABLE | {"categorical"}),
    "parquet": (read_parquet, _TABLE),
    "libsvm": (
        read_libsvm,
        frozenset({"first_feature", "first_label", "n_features", "n_labels"}),
    ),
    "npz": (read_npz, frozenset()),
}


def read_multilabel(
    path: str | PathLike[str],
    *,
    labels: Labels = None,
    format: Format | None = None,
    present: str | Collection[str] | None = None,
    text: TextPolicy | None = None,
    separator: str | None = None,
    categorical: Sequence[str] | None = None,
    first_feature: Literal[0, 1] | None = None,
    first_label: Literal[0, 1] | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    encoding: str = "utf-8",
    max_memory: int | str | None = None,
) -> MultiLabelDataset:
    r"""Read multi-label data from a file: ARFF, CSV, TSV, Parquet, LibSVM text or NPZ.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzipped. Its ending tells the format.
    labels : int, str, path-like or sequence of str, optional
        Which columns are labels: their names, in any order; a name with ``*`` for any
        characters (``"TAG_*"``); a number, from the front or, if negative, from the end
        (``-14``: the last 14 columns); or an XML label file as Mulan has. If left out, the label
        file of the same name beside ``path`` (``yeast.xml`` for ``yeast.arff.gz``) is used, or
        else what the file says itself, as MEKA's does by ``-C`` in the relation name. LibSVM and
        NPZ files always say it themselves.
    format : {"arff", "csv", "tsv", "parquet", "libsvm", "npz"}, optional
        The format, where the ending does not tell.
    present : str or collection of str, optional
        The values of label columns that mean that a row has the label; 1, true, yes and the
        like unless given.
    text : {"error", "nominal", "drop"}, default="error"
        What to do with string and date attributes of ARFF: refuse them, make every distinct
        text a category, or leave the column out.
    separator : str, default=","
        What stands between the cells of a CSV file.
    categorical : sequence of str, optional
        Columns of a CSV or TSV file that are nominal even if they hold numbers only.
    first_feature, first_label : {0, 1}, optional
        The number of the first feature and label in LibSVM text. Labels count from 0 unless
        told. Features count from 0 if the file begins with a line ``n d q`` or has a feature 0,
        else from 1.
    n_features, n_labels : int, optional
        How many there are in LibSVM text that does not begin with a line ``n d q``; as many as
        are used unless told.
    encoding : str, default="utf-8"
        The encoding of a text file.
    max_memory : int or str, optional
        The most memory that the data, names included, may take, in bytes or as ``"4GB"``: a guard
        against small files made to fill the memory. A gzipped file may not unzip to more, either.
        Unless given, what the environment variable ``LABELANCE_MAX_MEMORY`` says, or else 1 GiB or
        100 times the size of the file, whichever is more.

    Returns
    -------
    MultiLabelDataset
        Features and labels in the order of the file. Rows that are sparse in the file are
        sparse in X.

    Raises
    ------
    DataFileError
        The file is broken; the message names the file, the line and what to do.

    Notes
    -----
    Dense text formats give a dense X. In CSV an unquoted cell that is empty, ``?``, ``NA``,
    ``NaN`` or ``null`` is missing; columns with any other word in them are nominal, their values
    in alphabetical order.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from labelance.datasets import read_multilabel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "songs.csv"
    ...     _ = file.write_text("beat,key,is_sad,is_calm\n120,C,0,1\n90.5,a,1,1\n")
    ...     songs = read_multilabel(file, labels="is_*")
    >>> songs
    MultiLabelDataset('', 2 samples, 2 features (1 nominal), 2 labels)
    >>> songs.categories
    (None, ('C', 'a'))
    """
    kind = find_format(Path(path), format)
    given = {
        "labels": labels,
        "present": present,
        "text": text,
        "separator": separator,
        "categorical": categorical,
        "first_feature": first_feature,
        "first_label": first_label,
        "n_features": n_features,
        "n_labels": n_labels,
    }
    read, takes = _READERS[kind]
    options = {name: value for name, value in given.items() if value is not None}
    _check_options(options, takes, kind)
    budget = find_budget(Path(path), max_memory)
    file = TextFile(Path(path), encoding=encoding, max_memory=budget)
    found = read(file, **{name: options[name] for name in options.keys() - _TABLE})
    return found if isinstance(found, MultiLabelDataset) else split_labels(found, labels, present)


def _check_options(options: dict[str, Any], takes: Collection[str], kind: str) -> None:
    for name in options:
        if name not in takes:
            raise InputError(
                f"The options of a file of format {kind} are {', '.join(sorted(takes)) or 'none'}",
                f"{name} was given",
                "Leave it out, or name the format if the ending misleads",
            )
