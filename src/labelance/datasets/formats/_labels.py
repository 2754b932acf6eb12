"""Label columns: the table of a file, which of its columns are labels, and Mulan's label files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import MultiLabelBinarizer

from labelance._arrays._cells import find_stored, rows_with_missing, stored_columns
from labelance._arrays._columns import cells_by_column
from labelance._arrays._containers import stored_values, to_dense
from labelance._arrays._labels import (
    ABSENT,
    PRESENT,
    find_list_separator,
    mark_unknown,
    part_unknown,
    split_list,
)
from labelance._utils._messages import did_you_mean, show_names, warn_user
from labelance.datasets._dataset import BETWEEN, Categories, MultiLabelDataset
from labelance.datasets.formats._text_file import (
    BYTES_PER_NUMBER,
    TextFile,
    find_budget,
    strip_suffix,
)
from labelance.exceptions import DataFileError, InputError, LabelanceWarning, arg

_NUMBER = re.compile(r"\s*[-+]?[0-9.,]+\s*")
_PART = re.compile(r"[-_.](?:train|test)$", re.IGNORECASE)  # yeast-train.arff and yeast-test.arff
_LIST_OF_PYTHON = re.compile(r"\s*[\[({].*[\])}]\s*", re.DOTALL)


def check_no_repeated_names(
    file: TextFile, names: Sequence[str], lines: Sequence[int] | None = None
) -> None:
    """Raise if two columns have one name; with ``lines``, say where the second is."""
    if len(set(names)) == len(names):
        return
    name = Counter(names).most_common(1)[0][0]
    second = names.index(name, names.index(name) + 1)
    looks_like_row = any(map(_NUMBER.fullmatch, names))
    cure = "Add a header: this line looks like a row" if looks_like_row else "Rename one of them"
    line = None if lines is None else lines[second]
    raise file.error("Column names must be unique", f"{name!r} is repeated", cure, line=line)


def list_names(given: Any) -> list[str]:
    """Return the names that an option gives: one, several, or none where it gives no names."""
    if isinstance(given, str):
        return [given]
    return list(given) if isinstance(given, Iterable) else []


def find_columns(
    file: TextFile,
    names: Sequence[str],
    wanted: Any,
    source: str,
    *,
    what: str = "name",
    cure: str = "Correct the name",
) -> list[int]:
    """Return the positions of columns that ``source`` names; raise for a name that is none."""
    place = {name: j for j, name in enumerate(names)}
    wanted = list_names(wanted)
    unknown = [name for name in wanted if name not in place]
    if unknown:
        first = repr(unknown[0])
        some = f"{len(unknown)} are not; the first is {first}"
        found = f"There is no column {first}" if len(unknown) == 1 else some
        cure = f"{did_you_mean(unknown[0], names)}{cure}. Columns: {show_names(names)}"
        raise file.error(f"Every {what} in {source} must be a column", found, cure)
    return [place[name] for name in wanted]


@dataclass(frozen=True)
class Table:
    """All columns of a file.

    ``cells`` is an ndarray or csr_array of numbers and codes; ``line_of`` tells the line of a
    row, so that a bad label can be pointed at, and is None where a file has no lines.
    ``labels`` are the label columns that the file itself names, if it does. ``guesses`` says
    that the file declares no types, so that ``categorical`` does.
    """

    file: TextFile
    names: tuple[str, ...]
    categories: Categories
    cells: Any
    line_of: Callable[[int], int | None] | None = None
    name: str = ""
    labels: tuple[int, ...] | None = None
    guesses: bool = False

    def line(self, row: int) -> int | None:
        """Return the line of the file of row ``row``."""
        return None if self.line_of is None else self.line_of(row)

    def take(self, columns: NDArray[np.intp]) -> Table:
        """Return the table of some columns."""
        position = {int(j): i for i, j in enumerate(columns)}
        labels = self.labels
        return replace(
            self,
            names=tuple(self.names[j] for j in columns),
            categories=tuple(self.categories[j] for j in columns),
            cells=self.cells[:, columns],
            labels=labels and tuple(position[j] for j in labels if j in position),
        )


# What could expand or open other files. UTF-16 hides it, and is not what label files are in.
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)|^(?:\xff\xfe|\xfe\xff)")
NAMESPACE = "http://mulan.sourceforge.net/labels"


def read_label_names(path: Path, *, max_size: int | None = None) -> tuple[str, ...]:
    """Read the names of all labels of a Mulan label file, nested ones included."""
    file = TextFile(path, max_size=find_budget(path, max_size))
    text = file.read_bytes()
    declaration = _DECLARATION.search(text)
    if declaration is not None:
        found = "It has a document type or declares entities"
        cure = "Remove the DOCTYPE; nothing was expanded"
        line = text.count(b"\n", 0, declaration.start()) + 1
        raise file.error("A label file must be plain XML", found, cure, line=line)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as problem:
        line = getattr(problem, "position", (1,))[0]  # an encoding that is not known has none
        found = f"The parser reports: {problem}"
        cure = f"Correct it, save it as UTF-8, or name the labels with {arg('labels', ...)}"
        error = file.error("The label file must be well-formed XML", found, cure, line=line)
        raise error from problem
    labels = [one for one in root.iter() if re.split("[:}]", one.tag)[-1] == "label"]
    names = [label.get("name", "") for label in labels]
    if not names:
        cure = f"Pass a Mulan label file, or name the labels with {arg('labels', ...)}"
        raise file.error("The label file must name the labels", "It has no <label> element", cure)
    if not all(label.get("name") is not None for label in labels):
        raise file.error("Every label must have a name", "One has none", 'Write <label name="…"/>')
    repeated, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise file.error("Every label must be named once", f"{repeated!r} is repeated")
    return tuple(names)


def label_file_bytes(label_names: Sequence[str]) -> bytes:
    """Return a label file with these names, as Mulan writes it."""
    for name in label_names:
        if any((ord(c) < 32 and c not in "\t\n\r") or c in "\ufffe\uffff" for c in name):
            problem = "A label name must not have control characters"
            raise InputError(problem, f"Got the label {name!r}", "Use label_file=False")
    rows = [f"<label name={quoteattr(name)}></label>" for name in label_names]
    head = ['<?xml version="1.0" encoding="utf-8"?>', f'<labels xmlns="{NAMESPACE}">']
    return "\n".join([*head, *rows, "</labels>", ""]).encode()


Labels = int | str | PathLike[str] | Sequence[str] | None
MissingLabels = Literal["error", "negative", "drop", "keep"]
MultiClass = Literal["error", "reduce"]

_OTHER_FILE = "Check that the file of labels and the file of data belong together"
_HOW_TO = (
    f"Pass {arg('labels', ['happy', 'sad'])} for names, {arg('labels', 'TAG_*')} for a shared "
    f"prefix, {arg('labels', -14)} for the last 14 columns, {arg('labels', 14)} for the first, or "
    f"{arg('labels', 'file.xml')} for a label file"
)


def split_labels(
    table: Table,
    labels: Labels,
    present: str | Collection[str] | None,
    missing_labels: MissingLabels = "error",
    multi_class: MultiClass = "error",
    label_separator: str | None = None,
    unknown: str | Collection[str] | None = None,
) -> MultiLabelDataset:
    """Make the dataset: the label columns become Y, the others X, both in the order of the file."""
    columns = np.array(sorted(find_label_columns(table, labels)), dtype=np.intp)
    if unknown is not None:
        table = _empty_unknown(table, columns, unknown)
    if missing_labels == "drop":
        table = _drop_unknown(table, columns)
    cells = table.cells[:, columns]
    if label_separator is not None:
        keep = missing_labels == "keep"
        Y, label_names = _read_lists(table, columns, label_separator, keep=keep)
    else:
        if present is None:
            _check_no_lists(table, columns, multi_class)
        values = _label_values(table, columns, present, multi_class)
        _check_cells(table, columns, cells, check_no_missing=missing_labels == "error")
        if len(values) > len(columns):  # a label for every value of a column
            cells = cells[:, [value.place for value in values]]
        Y, label_names = _indicator(table.file, cells, values), [value.name for value in values]
        if missing_labels == "keep":
            Y = mark_unknown(Y, part_unknown(cells)[1])
    features = table.take(np.setdiff1d(np.arange(len(table.names)), columns))
    return MultiLabelDataset(
        values=features.cells,
        Y=Y,
        feature_names=features.names,
        label_names=tuple(label_names),
        categories=features.categories,
        name=table.name,
    )


def _read_lists(
    table: Table, columns: NDArray[np.intp], separator: str, *, keep: bool
) -> tuple[csr_array, list[str]]:
    """Return labels of columns of texts such as ``rock;pop``.

    A missing text has none of them; with ``keep``, it leaves those unknown that its column lists.
    """
    texts = [_list_texts(table, column, separator) for column in columns]
    # The last text is the missing one.
    lists = [[*(split_list(text, separator) for text in column), []] for column in texts]
    binarizer = MultiLabelBinarizer(sparse_output=True).fit(chain(*lists))
    names = list(binarizer.classes_)
    if not names:
        found = f"There is no label in {show_names(table.names[j] for j in columns)}"
        problem = f"With {arg('label_separator')}, label columns must hold lists of labels as text"
        raise table.file.error(problem, found)
    Y = csr_array((table.cells.shape[0], len(names)), dtype=np.int32)
    unknown = Y.copy()
    for column, rows in zip(columns, lists):
        known = csr_array(binarizer.transform(rows))
        codes = to_dense(table.cells[:, [column]])[:, 0]
        at = np.where(np.isnan(codes), len(rows) - 1, codes).astype(np.intp)
        # Parquet has a long text once, however many rows have it.
        needed = 2 * BYTES_PER_NUMBER * int(np.diff(known.indptr)[at].sum())
        table.file.require(needed, what=f"the labels in {table.names[column]!r}")
        Y = Y + known[at]
        if keep:
            missing = csr_array((at == len(rows) - 1).astype(np.int32)[:, np.newaxis])
            listed = csr_array((known.sum(axis=0) > 0).astype(np.int32)[np.newaxis])
            table.file.require(
                2 * BYTES_PER_NUMBER * missing.nnz * listed.nnz, what="the unknown labels"
            )
            unknown = unknown + missing @ listed
    Y = csr_array(Y > 0, dtype=np.int8)  # two columns may name one label
    unknown = csr_array(unknown > 0, dtype=np.int8)
    return mark_unknown(Y, csr_array(unknown - unknown.multiply(Y))), names


def _list_texts(table: Table, column: np.intp, separator: str) -> tuple[str, ...]:
    """Return the distinct texts of a label column; raise for one of zeros and ones."""
    name, texts = table.names[column], table.categories[column]
    if texts is None or (texts and _present_code(texts, None) is not None):
        problem = f"{arg('label_separator')} is for labels in texts such as 'rock{separator}pop'"
        found = f"{name!r} has numbers, or strings such as no and yes"
        cure = f"Leave it out of the labels, or omit {arg('label_separator')}"
        raise table.file.error(problem, found, cure)
    other = find_list_separator(texts)
    if other is not None and not any(separator in text for text in texts):
        example = next(text for text in texts if other in text)
        problem = f"{arg('label_separator', separator)} must occur between labels"
        found = f"{name!r} does not have it, and has texts such as {example!r}"
        raise table.file.error(problem, found, f"Pass {arg('label_separator', other)}")
    return texts


def _check_no_lists(table: Table, columns: NDArray[np.intp], multi_class: MultiClass) -> None:
    """Raise for texts of several labels; warn where every such text is to be a label."""
    for column in columns:
        name, texts = table.names[column], table.categories[column] or ()
        separator = find_list_separator(texts)
        if separator is None:
            continue
        labels = sorted({label for text in texts for label in split_list(text, separator)})
        example = next(text for text in texts if separator in text)
        found = f"{name!r} has several labels per cell, such as {example!r}"
        cure = f"Pass {arg('label_separator', separator)} for the labels {show_names(labels, 6)}"
        if _LIST_OF_PYTHON.fullmatch(example):
            cure = (
                f"Write {name!r} without brackets and quotes first, such as frame[{name!r}]"
                """.str.replace(r"[][']", "", regex=True), and pass """
                f"{arg('label_separator', ',')} for that"
            )
        if multi_class == "error":
            raise table.file.error("A label column must hold 0 and 1", found, cure)
        what = f"{arg('multi_class', 'reduce')} makes each of {len(texts)} texts a label"
        warn_user(f"{found}, and {what}. {cure}.", LabelanceWarning)


class LabelValue(NamedTuple):
    """A label: its name, its column among those of labels, and the code that means present."""

    name: str
    place: int
    code: int


def _label_values(
    table: Table,
    columns: NDArray[np.intp],
    present: str | Collection[str] | None,
    multi_class: MultiClass,
) -> list[LabelValue]:
    """Return the labels: one for a column, or for every value of a column with other than two."""
    found = []
    for place, column in enumerate(columns):
        name, values = table.names[column], table.categories[column]
        code = _present_code(values, present)
        if code is not None:
            found.append(LabelValue(name, place, code))
        elif multi_class == "error" or values is None:
            raise _unclear(table, column, values or (), present)
        else:
            labels = [f"{name}{BETWEEN}{value}" for value in values]
            found += [LabelValue(label, place, code) for code, label in enumerate(labels)]
    wrong = [table.names[column] for column in columns if BETWEEN in table.names[column]]
    if len(found) > len(columns) and wrong:
        problem = f"The name of a label column must not contain {BETWEEN}"
        cure = f"Rename it, since labels of its values are called column{BETWEEN}value"
        raise table.file.error(problem, f"Got {wrong[0]!r}", cure)
    return found


def find_label_columns(table: Table, labels: Labels) -> Sequence[int]:
    """Return the positions of the label columns, in the order of the file."""
    if labels is None:
        own = find_label_file(table.file.path)
        if not own.is_file() and table.labels is None:
            found = f"The file does not name them, and there is no {own.name} next to it"
            raise table.file.error("The label columns are unknown", found, _HOW_TO)
        if not own.is_file():
            return table.labels or ()
        labels = own
    if isinstance(labels, (int, np.integer)):
        return _find_by_count(table, int(labels))
    if isinstance(labels, PathLike) or (isinstance(labels, str) and labels.endswith(".xml")):
        # Under the same limit as the data.
        names = read_label_names(Path(labels), max_size=table.file.max_size)
        source, cure = f"the label file {labels}", _OTHER_FILE
    elif isinstance(labels, str):
        return _find_by_pattern(table, labels)
    else:
        names, source, cure = tuple(labels), arg("labels", ...), "Correct the name"
    return sorted({*find_columns(table.file, table.names, names, source, what="label", cure=cure)})


def label_file_beside(path: Path) -> Path:
    """Return the path of the label file of a data file, such as yeast.xml for yeast.arff.gz."""
    return strip_suffix(path).with_suffix(".xml")


def find_label_file(path: Path) -> Path:
    """Return the label file next to a data file; the two parts of a split may share one."""
    own = label_file_beside(path)
    shared = own.with_name(_PART.sub("", own.stem) + ".xml")
    # Not Path.is_file, which raises for a name that is longer than names may be.
    return shared if os.path.isfile(shared) and not os.path.isfile(own) else own


def _find_by_count(table: Table, number: int) -> Sequence[int]:
    width = len(table.names)
    if not 0 < abs(number) <= width:
        raise InputError(
            f"{arg('labels', ...)} as a number must be from 1 to {width}, or from -{width} to -1",
            f"Got {arg('labels', number)}",
            _HOW_TO,
        )
    return range(number) if number > 0 else range(width + number, width)


def _find_by_pattern(table: Table, pattern: str) -> Sequence[int]:
    found = [j for j, name in enumerate(table.names) if matches_pattern(name, pattern)]
    if not found:
        problem = f"No column matches {pattern!r}"
        cure = f"{did_you_mean(pattern, table.names)}{_HOW_TO}"
        raise table.file.error(problem, f"Columns: {show_names(table.names)}", cure)
    return found


def matches_pattern(name: str, pattern: str) -> bool:
    """Return whether a name is the pattern with anything in place of every ``*``."""
    return fnmatchcase(name, re.sub(r"([?[])", r"[\1]", pattern))


def _empty_unknown(
    table: Table, columns: NDArray[np.intp], unknown: str | Collection[str]
) -> Table:
    """Return the table with missing cells for values of label columns that mean unknown."""
    words = {unknown} if isinstance(unknown, str) else set(unknown)
    numbers = [float(word) for word in words if _NUMBER.fullmatch(word)]
    categories, stored = list(table.categories), stored_values(table.cells)
    for j, places in cells_by_column(table.cells, columns):
        values, column = categories[j], stored[places]
        kept = [code for code, value in enumerate(values or ()) if value not in words]
        first_is_unknown = 0 in numbers if values is None else values and kept[:1] != [0]
        if first_is_unknown and len(column) < table.cells.shape[0]:
            problem = "The value that sparse rows leave out must not mean unknown"
            found = f"Label {table.names[j]!r} leaves out {values[0] if values else 0}"
            raise table.file.error(problem, found, "Write dense rows")
        if values is None:
            column[np.isin(column, numbers)] = np.nan
        else:
            codes = np.full(len(values) + 1, np.nan)  # the last one is that of missing cells
            codes[kept] = np.arange(len(kept))
            column = codes[np.where(np.isnan(column), len(values), column).astype(np.intp)]
            categories[j] = tuple(values[code] for code in kept)
        stored[places] = column
    return replace(table, categories=tuple(categories))


def _drop_unknown(table: Table, columns: NDArray[np.intp]) -> Table:
    """Return the table without the rows in which a label is missing."""
    keep = np.flatnonzero(~rows_with_missing(table.cells[:, columns]))
    if not len(keep):
        found = "Every row has a missing label"
        cure = f"Use {arg('missing_labels', 'negative')}"
        raise table.file.error(f"{arg('missing_labels', 'drop')} would drop all rows", found, cure)
    line_of = table.line_of and (lambda row: table.line(int(keep[row])))
    return replace(table, cells=table.cells[keep], line_of=line_of)


def _indicator(file: TextFile, cells: Any, values: list[LabelValue]) -> csr_array:
    """Return Y: one where a label column holds the value that means present."""
    codes = np.array([value.code for value in values])
    if not issparse(cells):
        return csr_array(cells == codes, dtype=np.int8)
    # In a sparse row a value that is left out is the first one, which may mean present.
    implied = np.flatnonzero(codes == 0)
    here = (cells.data == codes[cells.indices]) & ~np.isin(cells.indices, implied)
    Y = csr_array((here, cells.indices, cells.indptr), cells.shape, dtype=np.int8)
    if not implied.size:
        return Y
    needed = cells.shape[0] * implied.size * BYTES_PER_NUMBER
    file.require(needed, what="the labels that sparse rows leave out")
    rows, places = np.nonzero(to_dense(cells[:, implied]) == 0)
    ones = np.ones(len(rows), dtype=np.int8)
    return csr_array(Y + csr_array((ones, (rows, implied[places])), cells.shape))


def _check_cells(
    table: Table, columns: NDArray[np.intp], cells: Any, *, check_no_missing: bool
) -> None:
    """Refuse a missing label, unless it means absent, and a number other than 0 and 1."""
    values = stored_values(cells)
    numeric = np.array([table.categories[j] is None for j in columns], dtype=bool)
    wrong = np.isnan(values)
    if numeric.any():
        # For nominal columns every code is a declared value.
        binary = (values == 0) | (values == 1)
        wrong |= ~binary & numeric[stored_columns(cells)]
    if not check_no_missing:
        wrong &= ~np.isnan(values)
    if not wrong.any():
        return
    row, j = find_stored(cells, wrong)
    value, name = values[wrong][0], table.names[columns[j]]
    raise table.file.error(
        f"Label {name!r} must be 0 or 1",
        "A value is missing" if np.isnan(value) else f"Got {value:g}",
        "Correct the value, leave this column out of the labels, or "
        + _cure_numbers(table, name, value),
        line=table.line(row),
    )


def _cure_numbers(table: Table, name: str, value: float) -> str:
    """Return how a label of numbers other than 0 and 1 is read."""
    if np.isnan(value):
        keep, negative, drop = (arg("missing_labels", how) for how in ("keep", "negative", "drop"))
        return f"pass {keep}, {negative} or {drop}"
    if value == -1 and not table.guesses:
        return f"pass {arg('unknown', '-1')} if that means unknown"
    if not table.guesses or not float(value).is_integer():
        return "make it 0 and 1 first"
    category = arg("categorical", [name])
    if value == -1:
        return f"give {category}, which takes -1 for absent, or pass {arg('unknown', '-1')}"
    return (
        f"give {category} and then {arg('present', f'{value:g}')} if that means that a row has the "
        f"label, or {arg('multi_class', 'reduce')} for a label of every value"
    )


def _present_code(
    values: tuple[str, ...] | None, present: str | Collection[str] | None
) -> int | None:
    """Return the code of the value that means the row has the label; None if that is not clear."""
    if values is None:
        return 1
    if present is not None:
        wanted = {present} if isinstance(present, str) else set(present)
        found = [code for code, value in enumerate(values) if value in wanted]
        known = True
    else:
        words = [value.strip().lower() for value in values]
        found = [code for code, word in enumerate(words) if word in PRESENT]
        known = all(word in PRESENT or word in ABSENT for word in words)
    if len(found) > 1 or not known:
        return None
    # A label that is declared without a value for present is in no row.
    return found[0] if found else -1


def _unclear(
    table: Table, column: int, values: tuple[str, ...], present: str | Collection[str] | None
) -> DataFileError:
    shown = ", ".join(values[:5]) + (", …" if len(values) > 5 else "")
    reduce = f"make one label per value, with {arg('multi_class', 'reduce')}"
    if present is not None:
        problem = f"{arg('present', ...)} must name one value of label {table.names[column]!r}"
        cure = f"Name one value, or omit it and {reduce}"
        return table.file.error(problem, f"It names several of its values {{{shown}}}", cure)
    return table.file.error(
        f"Label {table.names[column]!r} must have two values, such as 0 and 1, or NO and YES",
        f"Got {{{shown}}}",
        f"Choose the value that means the label is present, with {arg('present', ...)}, {reduce}, "
        "or leave this column out of the labels",
    )
