"""Read and write files of multi-label data in any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import numpy as np

from labelance._arrays._cells import stored_columns
from labelance._arrays._containers import stored_values
from labelance._arrays._words import counts_rows
from labelance._utils._files import replace_when_done
from labelance._utils._messages import show_names, warn_user
from labelance._validation._arguments import check_choice
from labelance.datasets._dataset import MultiLabelDataset, find_texts, leave_out
from labelance.datasets.formats._arff import TextPolicy, read_arff, write_arff
from labelance.datasets.formats._csv import check_no_decimal_commas, read_csv, write_csv
from labelance.datasets.formats._labels import (
    Labels,
    MissingLabels,
    MultiClass,
    Table,
    find_columns,
    label_file_beside,
    label_file_bytes,
    list_names,
    read_label_names,
    split_labels,
)
from labelance.datasets.formats._libsvm import read_libsvm, write_libsvm
from labelance.datasets.formats._npz import read_npz, write_npz
from labelance.datasets.formats._parquet import read_parquet, write_parquet
from labelance.datasets.formats._rda import read_mldr
from labelance.datasets.formats._text_file import (
    TextFile,
    compress,
    find_budget,
    find_codec,
    is_compressed,
    strip_suffix,
)
from labelance.exceptions import DataFileError, InputError, LabelanceWarning, arg

Format = Literal["arff", "csv", "tsv", "parquet", "libsvm", "npz", "rda"]

FORMATS: tuple[Format, ...] = get_args(Format)

_SUFFIXES: dict[str, Format] = {
    ".arff": "arff", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".libsvm": "libsvm", ".svmlight": "libsvm", ".svm": "libsvm",
    ".txt": "libsvm", ".npz": "npz", ".rda": "rda", ".rdata": "rda",
}  # fmt: skip
# What pandas reads, as CSV: the function, and what the file is.
_READ_BY_PANDAS = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), ("read_excel", "a spreadsheet")),
    ".json": ("read_json", "JSON"),
    ".feather": ("read_feather", "Feather"),
    ".dta": ("read_stata", "a file of Stata"),
    ".sav": ("read_spss", "a file of SPSS"),
    ".sas7bdat": ("read_sas", "a file of SAS"),
    **dict.fromkeys((".pkl", ".pickle"), ("read_pickle", "a pickle")),
}
_BY_NAME: dict[str, Format] = {name: name for name in FORMATS}


def find_format(path: Path, format: str | None, name: str = "format") -> Format:
    """Return the format that is named, or the one that the file name ends with.

    ``name`` is what errors call the parameter.
    """
    inner = strip_suffix(path).suffix.lower()
    found = _SUFFIXES.get(inner) if format is None else _BY_NAME.get(format)
    if is_compressed(path) and found in ("parquet", "npz", "rda"):
        problem = "Parquet, NPZ and R files are already compressed"
        cure = f"Remove {path.suffix} from the name"
        raise InputError(problem, f"{path.name!r} would be compressed twice", cure)
    if found is not None:
        return found
    problem = f"The file format must be one of {', '.join(FORMATS)}"
    if format is None and inner in _READ_BY_PANDAS:
        function, what = _READ_BY_PANDAS[inner]
        csv = path.stem + ".csv"
        convert = f": pandas.{function}({str(path)!r}).to_csv({csv!r}, index=False)"
        cure = f"Use CSV{convert if path.exists() else f', such as {csv}'}"
        raise InputError(problem, f"{path.name!r} is {what}", cure)
    cure = f"Pass for example {arg(name, 'csv')}, or use an extension such as .arff or .csv.gz"
    raise InputError(problem, f"Got {arg(name, format) if format else repr(path.name)}", cure)


_ROWS_THAT_TELL = 1000  # whether a column counts rows
_ABOUT_FILE = ("path", "format", "encoding", "max_size")  # options of `read_multilabel`
# What reads a format, and the other options of `read_multilabel` that it takes.
_TABLE = frozenset({
    "labels", "present", "unknown", "missing_labels", "multi_class", "label_separator",
})  # fmt: skip
READERS: dict[Format, tuple[Callable[..., Table | MultiLabelDataset], frozenset[str]]] = {
    "arff": (read_arff, _TABLE | {"text", "ignore"}),
    "csv": (read_csv, _TABLE | {"separator", "categorical", "ignore"}),
    "tsv": (partial(read_csv, separator="\t"), _TABLE | {"categorical", "ignore"}),
    "parquet": (read_parquet, _TABLE | {"ignore"}),
    "libsvm": (
        read_libsvm,
        frozenset({"first_feature", "first_label", "n_features", "n_labels", "ignore"}),
    ),
    "npz": (read_npz, frozenset({"ignore"})),
    "rda": (read_mldr, _TABLE | {"ignore"}),
}


def read_multilabel(
    path: str | PathLike[str],
    *,
    labels: Labels = None,
    format: Format | None = None,
    present: str | Collection[str] | None = None,
    unknown: str | Collection[str] | None = None,
    missing_labels: MissingLabels | None = None,
    multi_class: MultiClass | None = None,
    label_separator: str | None = None,
    ignore: Sequence[str] | None = None,
    text: TextPolicy | None = None,
    separator: str | None = None,
    categorical: Sequence[str] | None = None,
    first_feature: Literal[0, 1] | None = None,
    first_label: Literal[0, 1] | None = None,
    n_features: int | None = None,
    n_labels: int | None = None,
    encoding: str = "utf-8",
    max_size: int | str | None = None,
) -> MultiLabelDataset:
    r"""Read multi-label data from a file: ARFF, CSV, TSV, Parquet, LibSVM text, NPZ or R's .rda.

    Parameters
    ----------
    path : str or path-like
        The file, plain or compressed (``.gz``, ``.bz2``, ``.xz``, and ``.zst`` with pyarrow). Its
        ending tells the format.
    labels : int, str, path-like or sequence of str, optional
        Which columns are labels: their names, in any order; a name with ``*`` for any
        characters (``"TAG_*"``); a number, from the front or, if negative, from the end
        (``-14``: the last 14 columns); or an XML label file as Mulan has. If left out, the label
        file of the same name next to ``path`` (``yeast.xml`` for ``yeast.arff.gz``) is used, or
        else what the file says itself, as MEKA's does by ``-C`` in the relation name. LibSVM and
        NPZ files always say it themselves, and so do mldr objects.
    format : {"arff", "csv", "tsv", "parquet", "libsvm", "npz", "rda"}, optional
        The format, where the ending does not tell; "rda" is a file of R with one mldr object.
    present : str or collection of str, optional
        The values of label columns that mean that a row has the label; 1, true, yes and the
        like unless given.
    unknown : str or collection of str, optional
        The values of label columns that mean unknown, such as ``"-1"``: their cells are missing,
        and kept unknown unless ``missing_labels`` says otherwise.
    missing_labels : {"error", "negative", "drop", "keep"}, default="error"
        What to do with missing cells of label columns, as partially labelled data have them: refuse
        them, take the label for absent, leave out the rows in which any label is missing, or
        keep them unknown: then ``Y`` stores NaN there.
    multi_class : {"error", "reduce"}, default="error"
        What to do with label columns of several values, which do not say when a row has the label:
        refuse them, or make a label ``column=value`` of every value. With
        ``MultiClassReduction.from_label_names`` scores become values again.
    label_separator : str, optional
        What stands between labels where label columns hold texts of several labels, such as
        ``";"`` for ``rock;pop``. Every name in the texts becomes a label; a row whose text is
        missing has none, or unknown ones with ``missing_labels="keep"``.
    ignore : sequence of str, optional
        Columns to leave out, such as ids and dates, as if the file did not have them.
    text : {"error", "nominal", "drop"}, default="error"
        What to do with string and date attributes of ARFF: refuse them, make every distinct
        text a category, or leave the column out.
    separator : str, optional
        What stands between the cells of a CSV file; a comma, semicolon, tab or ``|``, whichever
        cuts its first rows into most cells, unless given.
    categorical : sequence of str, optional
        Columns of a CSV or TSV file that are nominal even if they hold numbers only.
    first_feature, first_label : {0, 1}, optional
        The number of the first feature and label in LibSVM text. Labels count from 0 by
        default. Features count from 0 if the file begins with a line ``n d q`` or has a feature 0,
        else from 1.
    n_features, n_labels : int, optional
        How many there are in LibSVM text that does not begin with a line ``n d q``; by default
        as many as are used.
    encoding : str, default="utf-8"
        The encoding of a text file.
    max_size : int or str, optional
        The largest size of what a file holds, unpacked, in bytes or as ``"4GB"``: a guard
        against small files made to fill the memory. Parquet and NPZ are compressed, too. Unless
        given, what the environment variable ``LABELANCE_MAX_SIZE`` says, or else
        1 GiB or 100 times the size of the file, whichever is more.

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
    in alphabetical order. Columns without a name that hold nothing, as spreadsheets write them,
    are left out; others without a name but the first are called ``column 3`` and so on.

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
    MultiLabelDataset('', 2 samples, 2 features (1 categorical), 2 labels)
    >>> songs.categories
    (None, ('C', 'a'))
    """
    given = {name: value for name, value in locals().items() if name not in _ABOUT_FILE}
    kind = find_format(Path(path), format)
    read, takes = READERS[kind]
    options = {name: value for name, value in given.items() if value is not None}
    _check_options(options, takes, kind)
    _check_policies(options)
    budget = find_budget(Path(path), max_size)
    file = TextFile(Path(path), encoding=encoding, max_size=budget)
    _warn_of_plain_file(file.path)
    about_rows = options.keys() - _TABLE
    if kind in ("libsvm", "npz"):
        about_rows -= {"ignore"}  # they name their features themselves
    found = read(file, **{name: options[name] for name in about_rows})
    if isinstance(found, MultiLabelDataset):
        if not ignore:
            return found
        ignored = find_columns(file, found.feature_names, ignore, arg("ignore", ...))
        return leave_out(found, [found.feature_names[j] for j in ignored])
    missing = missing_labels or ("error" if unknown is None else "keep")
    data = split_labels(
        found, labels, present, missing, multi_class or "error", label_separator, unknown
    )
    if "categorical" in takes:  # other formats declare categories
        check_no_decimal_commas(file, data, categorical or (), "\t" if kind == "tsv" else separator)
        _warn_of_identifiers(data, categorical or ())
    elif kind == "parquet" and found.labels is None:  # files of our own declare categories
        _warn_of_identifiers(data)
    return data


def _warn_of_identifiers(
    data: MultiLabelDataset, categorical: Collection[str] | None = None
) -> None:
    """Warn of columns that count rows or have another string in most, such as names of things.

    ``categorical`` are those meant to be so; None where a format has no such option.
    """
    # The first rows and the last one tell.
    n, dense = data.n_samples, data.n_samples > 0 and not data.is_sparse
    first: Any = np.asarray(data.values[:_ROWS_THAT_TELL]).T if dense else ()
    last: Any = data.values[-1] if dense else ()
    named = categorical or ()
    meant = f", or name it in {arg('categorical', ...)} if it is meant"
    option = "" if categorical is None else meant
    words = {name: kind for name, kind in find_texts(data).items() if name not in named}
    texts = [name for name, kind in words.items() if kind == "text"]
    ids = [name for name in words if name not in texts]
    counted = [
        name
        for name, values, column, end in zip(data.feature_names, data.categories, first, last)
        if values is None and counts_rows(column, end, n) and name not in named
    ]
    nothing = ", and nothing can be learned of that"
    for names, what, more in (
        (counted, f"{{}} counts the rows, as ids and an index do{nothing}", ""),
        (ids, f"Most rows have a string of their own in {{}}, as ids do{nothing}", option),
        (
            texts,
            "Most rows have a text of their own in {}, which profile, advise and "
            "RareLabelClassifier read (page Text of the user guide); other methods do not",
            option,
        ),
    ):
        if names:
            found = what.format(show_names(map(repr, names), 5))
            cure = f"Leave it out with {arg('ignore', names[:5])}{more}"
            warn_user(f"{found}. {cure}.", LabelanceWarning)


def _warn_of_plain_file(path: Path) -> None:
    """Warn where a file is not compressed although its name says so: browsers unpack downloads."""
    if not is_compressed(path) or not path.is_file():
        return
    with path.open("rb") as file:
        packed = find_codec(file.read(16)) is not None
    if not packed:
        what = f"{path} is not compressed, although its name says so; it is read as it is"
        cure = f"Rename it to {strip_suffix(path).name}, or download it again"
        warn_user(f"{what}. {cure}.", LabelanceWarning)


def _check_options(options: dict[str, Any], takes: Collection[str], kind: str) -> None:
    for name in options:
        if name not in takes:
            problem = f"The format {kind} has the options {', '.join(sorted(takes)) or '(none)'}"
            cure = f"Remove it, or pass {arg('format', ...)} if the file extension is wrong"
            raise InputError(problem, f"Got {arg(name, options[name])}", cure)


def _check_policies(options: dict[str, Any]) -> None:
    """Raise for a policy that there is not, before the file is read."""
    check_choice("missing_labels", options.get("missing_labels", "error"), get_args(MissingLabels))
    check_choice("multi_class", options.get("multi_class", "error"), get_args(MultiClass))
    unknown = list_names(options.get("unknown", ""))
    if not unknown or not all(isinstance(value, str) for value in unknown):
        problem = f"{arg('unknown')} must be text, or several texts"
        raise InputError(problem, f"Got {options['unknown']!r}")
    named = list_names(options.get("labels"))
    both = [name for name in list_names(options.get("ignore")) if name in named]
    if both:
        found = f"{arg('labels')} and {arg('ignore')} both name {both[0]!r}"
        cure = "Remove it from one of them"
        raise InputError("A column can be a label or ignored, not both", found, cure)
    separator = options.get("label_separator")
    if separator is None:
        return
    if not isinstance(separator, str) or not separator:
        problem = f"{arg('label_separator')} must be the text between labels, such as ';'"
        raise InputError(problem, f"Got {separator!r}")
    other = next((name for name in ("present", "multi_class") if name in options), None)
    if other is not None:
        problem = f"{arg('label_separator')} and {arg(other)} exclude each other"
        raise InputError(problem, f"Got {arg(other, options[other])}, too", "Remove one of the two")


_WRITERS: dict[Format, Callable[[MultiLabelDataset, BinaryIO], None]] = {
    "arff": write_arff,
    "csv": write_csv,
    "tsv": partial(write_csv, separator="\t"),
    "parquet": write_parquet,
    "libsvm": write_libsvm,
    "npz": write_npz,
}

# Formats that need a file next to them to say which columns are labels.
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
        A dataset, or the pair ``(X, y)`` of arrays, sparse matrices or data frames.
    path : str or path-like
        Where to write. The ending tells the format; with ``.gz``,
        ``.bz2``, ``.xz`` or ``.zst`` after it the file is compressed.
    format : {"arff", "csv", "tsv", "parquet", "libsvm", "npz"}, optional
        The format, where the ending does not tell.
    overwrite : bool, default=False
        Write over files that exist.
    label_file : bool, default=True
        Next to ARFF, CSV and TSV also write an XML file with the names of the labels, as Mulan
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
    if kind not in _WRITERS:
        cure = "Write ARFF, which mldr reads"
        raise InputError("R files can be read, not written", f"Got {path.name!r}", cure)
    dataset = data if isinstance(data, MultiLabelDataset) else MultiLabelDataset.from_data(*data)
    _check(dataset, kind)
    beside = label_file_beside(path) if label_file and kind in _WITH_LABEL_FILE else None
    if beside is not None and _names_same_labels(beside, dataset.label_names):
        beside = None
    for there in filter(Path.exists, [path] if beside is None else [path, beside]):
        if not overwrite:
            cure = f"Pass {arg('overwrite', True)}, or choose another name"
            raise InputError(f"{there} already exists", "Existing files are kept", cure)
    try:
        with replace_when_done(path) as temporary:
            _write(_WRITERS[kind], dataset, temporary)
            if beside is not None:
                with replace_when_done(beside) as other:
                    other.write_bytes(label_file_bytes(dataset.label_names))
    except UnicodeEncodeError as problem:
        raise InputError(
            "Names and values must be text that UTF-8 can encode", f"Got {problem.object!r}"
        ) from problem
    return path


def _write(
    write: Callable[[MultiLabelDataset, BinaryIO], None], data: MultiLabelDataset, path: Path
) -> None:
    with path.open("wb") as out:
        if not is_compressed(path):
            return write(data, out)
        with compress(path, out) as packed:
            return write(data, packed)


def _check(data: MultiLabelDataset, kind: Format) -> None:
    """Refuse what no reader could tell apart: two columns of one name, codes of no value."""
    if kind == "libsvm" and np.isnan(data.Y.data.astype(float)).any():
        found = f"{np.count_nonzero(np.isnan(data.Y.data))} cells of y are unknown"
        cure = "Write ARFF, CSV, Parquet or NPZ"
        raise InputError("LibSVM has no place for unknown labels", found, cure)
    name, times = Counter((*data.feature_names, *data.label_names)).most_common(1)[0]
    if times > 1 and kind not in ("npz", "libsvm"):
        raise InputError(
            "Column names of a file must be unique", f"{times} columns are called {name!r}"
        )
    X: Any = data.values
    columns, values = stored_columns(X), stored_values(X)
    counts = np.array([np.inf if c is None else len(c) for c in data.categories])[columns]
    code = (0 <= values) & (values < counts) & (np.trunc(values) == values)
    wrong = np.isfinite(counts) & ~code & ~np.isnan(values)
    if wrong.any():
        problem = "A categorical feature must hold the codes 0, 1, … of its categories"
        raise InputError(problem, "X has other values in one")


def _names_same_labels(path: Path, names: tuple[str, ...]) -> bool:
    """Return whether a label file is there already and names these labels."""
    if not path.is_file():
        return False
    try:
        return set(read_label_names(path)) == set(names)
    except DataFileError:
        return False
