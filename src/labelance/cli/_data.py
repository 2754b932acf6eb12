"""How the commands name their data: a file and its label columns, or a catalogued dataset."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import numpy as np
import typer

import labelance  # packages are imported on first use, which keeps --help quick
from labelance._utils._messages import did_you_mean, is_number
from labelance.cli._console import errors, say, use_names
from labelance.exceptions import InputError, LabelanceWarning, TooManyRowsError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset
    from labelance.imbalance import ImbalanceProfile

# What readers warn of that is no concern of a command that copies rows, or leaves ids out itself.
ABOUT_TEXTS = "Most rows have a (string|text) of their own"
ABOUT_IDS = rf"{ABOUT_TEXTS}|.* counts the rows"
STREAM = "-"  # standard input or output in place of a file
DASK_PAGE = "user guide, page Dask"
_PER_CELL = 16  # bytes: a number as it is read, and in the array that it goes to
_MOST_PER_BYTE = 100  # of a file; about its data nothing more is asked where so much would fit
_HEAD = 1 << 20
_MOST_NAMES = 20

Protocol = Literal["paper"] | None
Format = Literal["arff", "csv", "tsv", "parquet", "libsvm", "npz", "rda"]
MissingLabels = Literal["error", "negative", "drop", "keep"]


def option(help: str, *flags: str, **more: Any) -> Any:
    """Return an option whose help says its default, if there is one to tell."""
    return typer.Option(*flags, help=help, show_default=False, **more)


def argument(metavar: str | None, help: str) -> Any:
    """Return an argument, called ``metavar`` in the help."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def output_option(help: str) -> Any:
    """Return the option that says where a result goes."""
    return option(help, "-o", "--output")


ToOption = Annotated[
    Format | None,
    option("The format to write, where the name does not tell; that of DATA for - unless given."),
]
MOST_ROWS = 50_000
ForceOption = Annotated[bool, option("Overwrite files that exist already.", "--force")]
JsonOption = Annotated[bool, option("Print the result as JSON.", "--json")]
SeedOption = Annotated[int, typer.Option(help="Seed of the random numbers.")]


@dataclass(frozen=True)
class Source:
    """The data that a command reads, as its arguments name them."""

    data: Annotated[
        str,
        argument("DATA", "A file (ARFF, CSV, TSV, Parquet, LibSVM, NPZ; also .gz, .bz2, .xz, "
                 ".zst), - for standard input, or the name of a dataset of the catalogue "
                 "(labelance datasets list)."),
    ]  # fmt: skip
    labels: Annotated[
        str | None,
        option("Label columns: names separated by commas, a beginning such as 'tag_*', a number "
               "(6: the first six columns, -6: the last six) or an XML label file. Not needed "
               "where the file says so itself."),
    ] = None  # fmt: skip
    format: Annotated[Format | None, option("Input format (default: by file extension).")] = None
    encoding: Annotated[str | None, option("The encoding of a text file; UTF-8 by default.")] = None
    categorical: Annotated[
        str | None, option("Nominal columns of a CSV or TSV file that hold numbers, by commas.")
    ] = None
    present: Annotated[
        str | None,
        option("Values of label columns that mean present, by commas; 1, true, yes … by default."),
    ] = None
    unknown: Annotated[
        str | None,
        option("Values of label columns that mean unknown, by commas, such as -1; they are kept "
               "unknown unless --missing-labels says otherwise."),
    ] = None  # fmt: skip
    missing_labels: Annotated[
        MissingLabels | None,
        option("What to do with missing cells of label columns: take them for absent (negative), "
               "leave their rows out (drop) or keep them unknown (keep); an error by default."),
    ] = None  # fmt: skip
    multi_class: Annotated[
        Literal["error", "reduce"] | None,
        option("Make a label of every value of label columns of several (reduce), or refuse them."),
    ] = None
    label_separator: Annotated[
        str | None,
        option("What stands between labels where one column lists them, such as ';' for rock;pop."),
    ] = None
    ignore: Annotated[str | None, option("Columns to leave out, such as ids, by commas.")] = None
    protocol: Annotated[Protocol, option("Prepare a catalogued dataset as in the paper.")] = None
    max_size: Annotated[
        str | None,
        option("The most that a file may take when unpacked and read, such as 4GB; 1 GiB or 100 "
               "times its size by default."),
    ] = None  # fmt: skip

    def load(self) -> MultiLabelDataset:
        """Read a file or standard input, or load a dataset of the catalogue by name."""
        if self.data == STREAM or os.path.isfile(self.data):  # no error for a name that is too long
            return self._read()
        name = self._name_in_catalogue()
        if self._options():
            flag = next(iter(self._options())).replace("_", "-")
            found = f"{self.data} is a dataset of the catalogue"
            raise InputError(f"--{flag} describes how a file is read", found)
        return labelance.datasets.load_dataset(name, protocol=self.protocol)

    def load_mixed(self) -> tuple[MultiLabelDataset, dict[str, Any]]:
        """Read the data, and columns of vectors, for what takes texts and leaves ids out itself."""
        vectors = self._vectors()
        ignored = [*(split_names(self.ignore) or ()), *vectors]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ABOUT_IDS, LabelanceWarning)
            dataset = replace(self, ignore=",".join(ignored) or None).load()
        for cells in vectors.values():
            if len(cells) != dataset.n_samples:
                found = f"{self.data} has {len(cells)} rows, and {dataset.n_samples} remain"
                cure = "Use --missing-labels keep or negative"
                raise InputError("Rows with vectors cannot be left out", found, cure)
        return dataset, vectors

    def _vectors(self) -> dict[str, Any]:
        """Return the columns of vectors in a Parquet file."""
        from labelance.datasets.formats._parquet import read_vectors

        if not os.path.isfile(self.data) or self.find_format() != "parquet":
            return {}
        _check_fits_memory(self.data, "parquet")
        return read_vectors(Path(self.data), ignore=split_names(self.ignore) or ())

    def add_to_code(self, code: str) -> str:
        """Return Python that loads the same data before it makes a model and fits it to X and y."""
        if self.data == STREAM:
            return code  # which cannot be read again
        if os.path.isfile(self.data):
            function, name, options = "read_multilabel", self.data, self._options()
        else:
            function, name = "load_dataset", self._name_in_catalogue()
            options = {"protocol": self.protocol} if self.protocol else {}
        words = ", ".join([repr(name), *(f"{key}={value!r}" for key, value in options.items())])
        code = f"from labelance.datasets import {function}\n{code}"
        model = "\nmodel = "
        return code.replace(model, f"\nX, y = {function}({words}).to_X_y(){model}", 1)

    def _name_in_catalogue(self) -> str:
        catalogue = {info.name.lower(): info.name for info in labelance.datasets.list_datasets()}
        if self.data.lower() not in catalogue:
            raise self._unknown(catalogue)
        return catalogue[self.data.lower()]

    def find_format(self) -> Format:
        """Return the format of a file, and that of the catalogue's own files for a dataset."""
        from labelance.datasets.formats._read_write import find_format

        if self.data == STREAM and self.format is None:
            raise InputError("Standard input needs --format, such as --format csv", "Got none")
        if self.data != STREAM and not os.path.isfile(self.data):
            return "arff"
        return find_format(Path(self.data), self.format)

    def _read(self) -> MultiLabelDataset:
        if self.protocol:
            raise InputError(
                "--protocol works with datasets of the catalogue only", f"{self.data} is a file"
            )
        kind = self.find_format()
        piped = self.data == STREAM
        with _standard_input(kind) if piped else nullcontext(Path(self.data)) as path:
            _check_fits_memory(path, kind)
            return labelance.datasets.read_multilabel(path, **self._options())

    def _options(self) -> dict[str, Any]:
        """Return what is said about the file, as ``read_multilabel`` takes it."""
        options = asdict(self) | {"data": None, "protocol": None}
        options["labels"] = _parse_labels(self.labels)
        for name in ("categorical", "present", "unknown", "ignore"):
            options[name] = split_names(options[name])
        return {name: value for name, value in options.items() if value is not None}

    def _unknown(self, catalogue: dict[str, str]) -> InputError:
        if os.path.isdir(self.data):
            inside = sorted(filter(_is_data_file, os.listdir(self.data)))
            path = os.path.join(self.data, inside[0] if inside else "FILE")
            found, cure = f"{self.data} is a folder", f"Name a file in it, for example {path}"
            if any(name.endswith(".parquet") for name in inside):
                cure += f"; Dask reads all its Parquet files, see {DASK_PAGE}"
        elif os.path.exists(self.data):
            found = f"{self.data} is a pipe or a device"
            cure = "Read it from standard input: labelance describe - --format csv < PIPE"
        else:
            found = f"There is no file {self.data!r}, and no dataset of this name"
            near = did_you_mean(self.data, catalogue.values())
            cure = f"{near}Check the path, or list the datasets: labelance datasets list"
        return InputError("DATA must be a file or a dataset of the catalogue", found, cure)


@dataclass(frozen=True)
class Search:
    """How the neighbors of a profile are searched."""

    n_neighbors: Annotated[
        int, typer.Option("--n-neighbors", "-k", help="Number of neighbors; 0 to skip.")
    ] = 5
    scale: Annotated[
        Literal["range", "standard"] | None,
        typer.Option(help="Divide features by their range or standard deviation first."),
    ] = None
    subsample: Annotated[
        int, typer.Option(help="Search neighbors among this many random rows; 0 takes all.", min=0)
    ] = MOST_ROWS

    def measure(self, dataset: MultiLabelDataset, vectors: dict[str, Any]) -> ImbalanceProfile:
        """Profile the data of a command: texts are read, and ids left out."""
        from labelance.datasets._dataset import has_words

        nominal: Any = dataset.categorical_features
        X, names = dataset.values, dataset.feature_names
        if vectors or has_words(dataset):
            X, nominal = join_vectors(dataset, vectors), None
        elif not dataset.n_features:
            X, nominal = None, None
        use_names(dataset.feature_names, dataset.label_names)
        return labelance.profile(
            X,
            dataset.Y,
            n_neighbors=self.n_neighbors or None,
            scale=self.scale,
            categorical_features=nominal,
            missing="distance",
            label_names=dataset.label_names,
            feature_names=names,
            subsample=self.subsample or None,
        )


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of dataclasses as options in place of parameters of these types.

    Where such a type may be None, a command without the first of its fields gets None.
    """
    groups: dict[str, tuple[type, list[str]]] = {}
    parameters: list[Parameter] = []
    for name, one in signature(command, eval_str=True).parameters.items():
        types: Any = get_args(one.annotation) or [one.annotation]
        kind: Any = next(filter(is_dataclass, types), None)
        if kind is None:
            parameters.append(one.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(kind, include_extras=True)
        fields = [
            field.replace(annotation=hints[field.name], kind=Parameter.KEYWORD_ONLY)
            for field in signature(kind).parameters.values()
        ]
        if one.annotation is not kind:
            fields[0] = fields[0].replace(default=None)
        groups[name] = kind, [field.name for field in fields]
        parameters += fields

    @wraps(command)
    def run(**arguments: Any) -> None:
        for name, (kind, fields) in groups.items():
            given = {field: arguments.pop(field) for field in fields}
            arguments[name] = None if given[fields[0]] is None else kind(**given)
        command(**arguments)

    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def join_vectors(dataset: MultiLabelDataset, vectors: dict[str, Any]) -> Any:
    """Return all features as a frame, columns of vectors last."""
    frame = dataset.to_frame()[0]
    for name, cells in vectors.items():
        frame[name] = cells
    return frame


@contextmanager
def _standard_input(format: Format) -> Iterator[Path]:
    """Yield a file of what comes by standard input, since most readers read a file twice."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"data.{format}"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield path
        except InputError as error:
            named = (part.replace(str(path), "standard input") for part in error.parts)
            raise type(error)(*named) from error


def _check_fits_memory(path: str | Path, format: Format) -> None:
    """Raise for a file whose data are larger than memory, before they are read."""
    from labelance._arrays._memory import available_memory, in_units

    free = available_memory()
    if os.path.getsize(path) * _MOST_PER_BYTE <= free:
        return
    needed = _memory_of_data(path, format)
    if needed > free:
        raise TooManyRowsError(
            "The file must fit into memory",
            f"{path} takes about {in_units(needed)} when it is read, and {in_units(free)} are free",
            f"Use Dask in Python, which works in blocks ({DASK_PAGE}), or a sample of the rows",
        )


def _memory_of_data(path: str | Path, format: Format) -> float:
    """Estimate the memory that reading a file takes: from what it says of itself, or its head."""
    from labelance.datasets.formats._text_file import find_codec, unpack

    size = os.path.getsize(path)
    try:
        if format == "parquet":
            from pyarrow.parquet import read_metadata

            about = read_metadata(path)
            return float(_PER_CELL * about.num_rows * about.num_columns)
        if format == "npz":
            with zipfile.ZipFile(path) as arrays:
                return 2.0 * sum(one.file_size for one in arrays.infolist())
        with open(path, "rb") as file:
            codec = find_codec(file.read(16))
            file.seek(0)
            head = (unpack(codec, file) if codec else file).read(_HEAD)
            grows = len(head) / max(1, file.tell())
    except Exception:  # reading it will say what is wrong
        return 0.0
    cells = max(map(head.count, (b",", b";", b"\t", b":")))  # of the separators of every format
    return size * grows * max(2.0, _PER_CELL * cells / max(1, len(head)))


def _is_data_file(name: str) -> bool:
    from labelance.datasets.formats._read_write import find_format

    try:
        return bool(find_format(Path(name), None))
    except InputError:
        return False


def split_names(names: str | None) -> list[str] | None:
    """Return the names in a text that separates them by commas."""
    return None if names is None else [name.strip() for name in names.split(",")]


def _parse_labels(text: str | None) -> Any:
    """Turn the option into what ``read_multilabel`` takes: a number, names, a pattern, a file."""
    if text is None:
        return None
    if re.fullmatch(r"-?[0-9]{1,9}", text):
        return int(text)
    if text.endswith((".xml", "*")):
        return text
    return split_names(text)


def check_is_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"File {str(path)!r} does not exist", f"The folder here is {Path.cwd()}")


def check_free(path: Path, force: bool) -> None:
    """Refuse a place that cannot be written to, or a file that exists, before any work is done."""
    if str(path) == STREAM:
        return
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        found = f"{path} is a folder" if path.is_dir() else f"{folder} is not a folder"
        raise InputError("The output must be a file in a writable folder", found)
    keep_files(path, force)


def check_page(path: Path, force: bool) -> None:
    """Refuse a name of a page that no browser opens, and what `check_free` refuses."""
    if path.suffix.lower() not in (".html", ".htm"):
        page = "page.html" if str(path) == STREAM else path.with_suffix(".html")
        cure = f"Use -o {page}; a browser opens it and can print it to PDF"
        raise InputError("The page must be an HTML file", f"Got -o {path}", cure)
    check_free(path, force)


def keep_files(path: Path, force: bool) -> None:
    """Refuse to write over a file, or into a folder that holds something."""
    taken = any(path.iterdir()) if path.is_dir() else path.exists()
    if taken and not force:
        raise InputError(
            f"{path} already exists", "Existing files are kept", "Use --force to overwrite it"
        )


def choose_format(source: Source, out: Path, to: Format | None) -> Format:
    """Return the format to write; for standard output the one that was read, unless given."""
    from labelance.datasets.formats._read_write import find_format

    if to is None and str(out) == STREAM:
        return source.find_format()
    return find_format(out, to, "to")


def tell_losses(*parts: tuple[MultiLabelDataset, Format]) -> None:
    """Say what formats do not keep of the data that are to be written in them, each thing once."""
    losses = (loss for dataset, format in parts for loss in _losses(dataset, format))
    for loss in dict.fromkeys(losses):
        say(f"note: {loss}", to=errors)


def write(dataset: MultiLabelDataset, out: Path, *, format: Format, force: bool) -> str:
    """Write data to a file, or to standard output; return the names of what was written."""
    from labelance.datasets.formats._labels import label_file_beside

    if str(out) != STREAM:
        labelance.datasets.write_multilabel(dataset, out, format=format, overwrite=force)
        beside = label_file_beside(out)
        named = format in ("arff", "csv", "tsv") and beside.exists()
        return f"{out} (labels in {beside.name})" if named else str(out)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        labelance.datasets.write_multilabel(dataset, path, format=format, label_file=False)
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()
    return "standard output"


def _losses(dataset: MultiLabelDataset, kind: Format) -> Iterator[str]:
    """Yield what a format does not keep of these data."""
    nominal = np.flatnonzero(dataset.categorical_features)
    if kind == "libsvm":
        yield "LibSVM text keeps no names" + ", and no categories" * bool(len(nominal))
    if kind not in ("csv", "tsv") or not len(nominal):
        return
    numbers = [j for j in nominal if all(map(is_number, dataset.categories[j] or ()))]
    if numbers:
        names = ",".join(dataset.feature_names[j] for j in numbers[:_MOST_NAMES])
        names += f",… ({len(numbers)} in all)" * (len(numbers) > _MOST_NAMES)
        yield (
            f"{kind.upper()} declares no categories, and these nominal features hold numbers: read "
            f"the file with --categorical {names}"
        )
    if any(_is_other_order(dataset, j) for j in nominal):
        yield (
            f"{kind.upper()} declares no categories: those that no row has, and their order, are "
            "lost"
        )


def _is_other_order(dataset: MultiLabelDataset, j: Any) -> bool:
    """Say whether the categories of a feature are other ones when they are read from its rows."""
    values = dataset.categories[j] or ()
    column: Any = dataset.values[:, [j]]
    column = column if isinstance(column, np.ndarray) else column.toarray()
    seen = np.unique(column[~np.isnan(column)]).astype(int)
    return sorted(values[code] for code in seen) != list(values)
