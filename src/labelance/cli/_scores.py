"""Tables of scores and labels that ``labelance decide`` reads, and decisions that it writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import labelance
from labelance._utils._files import replace_when_done
from labelance._utils._messages import did_you_mean, show_names, unknown_name
from labelance.cli._console import errors, say
from labelance.cli._data import check_is_file
from labelance.exceptions import DataFileError, InputError

_KINDS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".npz": "npz", ".npy": "npy",
}  # fmt: skip
_UNNAMED = ""  # the column of an index without a name
_ID_NAME = re.compile(r"id|index|unnamed: 0|.+[_ .-]id", re.IGNORECASE)
_ID_TEXT = re.compile(r"[!-~]{1,128}")  # free text has blanks, or other alphabets
_MOST_EXACT = 2**53  # larger integers have no double of their own
_BLOCK = 10_000


@dataclass(frozen=True)
class LabelColumns:
    """Cells of rows x labels from a file, with the names of labels and the ids of rows."""

    path: Path
    cells: Any  # an ndarray or a csr_array
    names: tuple[str, ...] | None = None
    ids: list[str] | None = None
    id_name: str = "id"
    is_dataset: bool = False  # labels that were kept with their features
    encoding: str = "utf-8"  # of the file, and of those that are read with it

    @property
    def header(self) -> tuple[str, ...]:
        """Return the names of the labels, or their numbers."""
        return self.names or tuple(map(str, range(self.cells.shape[1])))

    def take(self, labels: Sequence[int]) -> LabelColumns:
        """Return some of the labels, in order."""
        names = tuple(self.header[j] for j in labels)
        return replace(self, cells=self.cells[:, list(labels)], names=names)


def find_labels(scores: LabelColumns, wanted: str) -> list[int]:
    """Return the places of labels that are named, separated by commas, or fit a pattern."""
    from labelance.datasets.formats._labels import matches_pattern

    patterns = [wanted] if wanted in scores.header else [word.strip() for word in wanted.split(",")]
    for pattern in patterns:
        if not any(matches_pattern(name, pattern) for name in scores.header):
            raise unknown_name("label", pattern, scores.header, f"--labels of {scores.path}")
    fits = [any(matches_pattern(name, pattern) for pattern in patterns) for name in scores.header]
    return np.flatnonzero(fits).tolist()


def read_scores(path: Path, id_name: str | None, encoding: str = "utf-8") -> LabelColumns:
    """Read finite scores of rows x labels, from a file of any model."""
    kind = _find_kind(path)
    if kind in ("npz", "npy"):
        if id_name is not None:
            cure = "An NPZ file may hold ids as 'id'"
            raise InputError("--id names a column of a table", f"{path} is an array", cure)
        found = _read_arrays(path, kind)
        if found.is_dataset:
            cure = f"Score its rows; its labels are --truth {path}"
            raise InputError("SCORES must be scores of a model", f"{path} is a dataset", cure)
    else:
        table = read_table(path, kind, encoding)
        column = _find_id(table, id_name)
        ids = None if column is None else read_ids(table, kind, column)
        labels = [j for j, name in enumerate(table.names) if j != column and name != _UNNAMED]
        for j in labels:
            _check_numbers(path, table.names[j], table.categories[j])
        names = tuple(table.names[j] for j in labels)
        _check_header(path, names)
        id_column = "id" if column is None else table.names[column] or "id"
        found = LabelColumns(path, table.cells[:, labels], names, ids, id_column)
    _check_finite(found)
    return replace(found, encoding=encoding)


def read_truth(path: Path, scores: LabelColumns, missing: str, by_position: bool) -> LabelColumns:
    """Read the labels of scored rows: columns by name, rows by id where both files have ids.

    Raises where only the truth has ids, or ids of another name, unless rows go ``by_position``.
    """
    from labelance._arrays._containers import stored_values
    from labelance.datasets.formats._parquet import read_vectors

    kind = _find_kind(path)
    if kind in ("npz", "npy"):
        found = _read_arrays(path, kind)
        if found.names and scores.names:
            found = found.take(_match_names(path, found.names, scores))
        found = replace(found, names=scores.names)
    else:
        vectors = list(read_vectors(path)) if kind == "parquet" else []
        table = read_table(path, kind, scores.encoding, ignore=vectors)
        own = None if scores.ids is None or by_position else _find_same_id(table, scores)
        ids = None if own is None else read_ids(table, kind, own)
        others = [j for j in range(len(table.names)) if j != own]
        if scores.names:
            matched = _match_names(path, [table.names[j] for j in others], scores)
            places = [others[place] for place in matched]
        elif len(others) == scores.cells.shape[1]:
            places = others
        else:
            places = [j for j in others if not _looks_like_id(table, j, scores)]
        could_join = own is None and not by_position
        for j in sorted({*others}.difference(places)) if could_join else ():
            if _looks_like_id(table, j, scores) and not _is_default_index(table, kind, j):
                raise _other_ids(path, table.names[j], scores)
        found = LabelColumns(path, _zeros_and_ones(table, places), scores.names, ids)
    if not by_position and scores.ids is None and found.ids is not None:
        raise _other_ids(path, found.id_name, scores)
    if not by_position and found.ids is None and _are_shuffled_numbers(scores.ids):
        raise _other_ids(path, None, scores)
    if found.ids is not None and scores.ids is not None and not by_position:
        found = replace(found, cells=found.cells[_join(found, scores)])
    if found.cells.shape != scores.cells.shape:
        raise InputError(
            "The scores and --truth must have the same rows and labels",
            f"{scores.path} has {_shape(scores)} and {path} has {_shape(found)}",
        )
    n_missing = np.count_nonzero(np.isnan(stored_values(found.cells)))
    if missing == "error" and n_missing:
        cure = "Ignore them with --missing-labels ignore"
        raise InputError(f"Every cell of {path} must be 0 or 1", f"{n_missing} are missing", cure)
    return found


def read_other_scores(path: Path, scores: LabelColumns, id_name: str | None) -> LabelColumns:
    """Read scores of other rows, of the same labels in the same order."""
    other = read_scores(path, id_name, scores.encoding)
    if other.cells.shape[1] != scores.cells.shape[1]:
        found = f"{scores.path} has {_shape(scores)} and {path} has {_shape(other)}"
        raise InputError("--apply needs scores of the same labels", found)
    if other.names and scores.names:
        _match_names(path, other.names, scores)
    return other


def check_suffix(path: Path) -> None:
    """Raise for a file of decisions of another kind than those that are written."""
    if _KINDS.get(path.suffix.lower(), "npy") == "npy":
        raise InputError("Decisions can be written as CSV, TSV, Parquet or NPZ", f"Got -o {path}")


def write_decisions(path: Path, y: Any, rows: LabelColumns, names: Sequence[str]) -> None:
    """Write decisions of rows x labels under a temporary name, and rename the file."""
    kind = _KINDS[path.suffix.lower()]
    if kind != "npz" and rows.ids is not None and rows.id_name in names:
        found = f"A label and the ids are called {rows.id_name!r}"
        cure = "Rename the label, or write NPZ"
        raise InputError("Ids and labels must have different names in a table", found, cure)
    with replace_when_done(path) as temporary:
        if kind == "npz":
            _write_npz(temporary, y, rows, names)
        elif kind == "parquet":
            _make_frame(y, rows, names).to_parquet(temporary, index=False)
        else:
            options = {"sep": "\t" if kind == "tsv" else ",", "lineterminator": "\r\n"}
            with temporary.open("w", encoding="utf-8", newline="") as file:
                for start in range(0, y.shape[0], _BLOCK):  # of a sparse table, dense at a time
                    block = slice(start, start + _BLOCK)
                    part = replace(rows, ids=rows.ids and rows.ids[block])
                    frame = _make_frame(y[block], part, names)
                    frame.to_csv(file, index=False, header=not start, **options)


def _make_frame(y: Any, rows: LabelColumns, names: Sequence[str]) -> Any:
    import pandas

    y = y if isinstance(y, np.ndarray) else y.toarray()
    frame = pandas.DataFrame(_narrow(y), columns=list(names))
    if rows.ids is not None:
        frame.insert(0, rows.id_name, rows.ids)
    return frame


def _narrow(cells: Any) -> Any:
    """Return decisions in a byte each, and scores as they are."""
    return cells if cells.dtype.kind == "f" else cells.astype(np.int8)


def _write_npz(path: Path, y: Any, rows: LabelColumns, names: Sequence[str]) -> None:
    arrays: dict[str, Any] = {"labels": np.array(names, dtype=str)}
    if rows.ids is not None:
        arrays["id"] = np.array(rows.ids, dtype=str)
    if isinstance(y, np.ndarray):
        arrays["y"] = _narrow(y)
    else:  # what scipy.sparse.load_npz reads, which leaves the names alone
        arrays |= {"format": np.array(b"csr"), "shape": np.array(y.shape), "indices": y.indices}
        arrays |= {"data": _narrow(y.data), "indptr": y.indptr}
    np.savez_compressed(path, **arrays)


def _find_kind(path: Path) -> str:
    from labelance.datasets.formats._text_file import is_compressed, strip_suffix

    check_is_file(path)
    kind = _KINDS.get(strip_suffix(path).suffix.lower())
    if kind is None or (is_compressed(path) and kind not in ("csv", "tsv")):
        problem = "Scores and labels must be CSV, TSV, Parquet, NPZ or NPY files"
        cure = "Save scores with numpy.save('scores.npy', scores), labels with labelance convert"
        raise InputError(problem, f"Got {path.name!r}", cure)
    return kind


def read_table(
    path: Path, kind: Any, encoding: str, *, words: Sequence[str] = (), ignore: Sequence[str] = ()
) -> Any:
    """Read all columns; those in ``words`` stay as they are written.

    The unnamed index of a frame in Parquet is the last column, which CSV has as its first.
    """
    from labelance.datasets.formats._parquet import read_index
    from labelance.datasets.formats._read_write import READERS
    from labelance.datasets.formats._text_file import TextFile, find_budget

    read, takes = READERS[kind]
    options = {"categorical": words, "ignore": ignore}
    file = TextFile(path, encoding=encoding, max_size=find_budget(path))
    table: Any = read(file, **{name: options[name] for name in options.keys() & takes})
    ids = read_index(path) if kind == "parquet" else None
    if ids is None:
        return table
    values, codes = np.unique(ids, return_inverse=True)
    return replace(
        table,
        names=(*table.names, _UNNAMED),
        categories=(*table.categories, tuple(values.tolist())),
        cells=np.column_stack([table.cells, codes]),
    )


def _find_id(table: Any, wanted: str | None) -> int | None:
    """Return the column that names the rows: the one asked for, or one of words."""
    from labelance.datasets.formats._labels import find_columns

    if wanted is not None:
        return find_columns(table.file, table.names, wanted, "--id")[0]
    columns = [
        j
        for j, (name, values) in enumerate(zip(table.names, table.categories))
        if name.lower() in (_UNNAMED, "id") or (values and not any(map(_is_number, values)))
    ]
    if len(columns) > 1:  # a column with a name says more than an index
        columns = [j for j in columns if table.names[j] != _UNNAMED]
    if len(columns) > 1:
        names = show_names([repr(table.names[j]) for j in columns])
        problem = "Only one column may hold strings, the ids of the rows; all others must be scores"
        cure = "Remove the other columns from the file, or choose one with --id"
        raise InputError(problem, f"{table.file.path} has strings in {names}", cure)
    return columns[0] if columns else None


def _find_same_id(table: Any, scores: LabelColumns) -> int | None:
    """Return the column of a table that has the name of the scores' ids; an index is an id."""
    same = [j for j, name in enumerate(table.names) if (name or "id") == scores.id_name]
    return max(same, key=lambda j: table.names[j] == scores.id_name, default=None)


def is_id_name(name: str) -> bool:
    """Tell whether a column is called like one that names rows, or is an index without a name."""
    return name == _UNNAMED or _ID_NAME.fullmatch(name) is not None


def _looks_like_id(table: Any, column: int, scores: LabelColumns) -> bool:
    """Say whether a column names rows: by its name, by its values, or since the scores do so."""
    values, cells = table.categories[column], table.cells[:, column]
    if is_id_name(table.names[column]):
        return True
    if values and scores.ids is not None and set(scores.ids) <= set(values):
        return True
    if values is None and (np.abs(cells) >= _MOST_EXACT).all():
        return True
    if np.isnan(cells).any() or len(np.unique(cells)) < len(cells):
        return False
    if values is not None:
        return all(map(_ID_TEXT.fullmatch, values))
    return bool((cells == np.floor(cells)).all() and cells.max() > 1)


def _is_default_index(table: Any, kind: str, column: int) -> bool:
    """Say whether a column is the index that pandas makes by default, and so a position."""
    if table.names[column] != _UNNAMED:
        return False
    return read_ids(table, kind, column) == [str(row) for row in range(len(table.cells))]


def _are_shuffled_numbers(ids: list[str] | None) -> bool:
    """Say whether ids are row numbers from 0, in another order."""
    numbers = [str(row) for row in range(len(ids or ()))]
    return ids is not None and ids != numbers and set(ids) == set(numbers)


def _other_ids(path: Path, name: str | None, scores: LabelColumns) -> InputError:
    here = "no ids" if name is None else f"ids in {name!r}" if name else "ids in its index"
    there = "no ids" if scores.ids is None else f"ids in {scores.id_name!r}"
    problem = "Rows are joined by ids, which both files must have in columns of one name"
    cure = "Give both one name; or add --by-position if the rows have the same order"
    return InputError(problem, f"{path} has {here} and {scores.path} has {there}", cure)


def read_ids(table: Any, kind: str, column: int) -> list[str]:
    """Return the ids as text; numbers are read again, since long ones have no double."""
    if table.categories[column] is None and kind in ("csv", "tsv"):
        table = read_table(table.file.path, kind, table.file.encoding, words=[table.names[column]])
    cells, values = table.cells[:, column], table.categories[column]
    if values is not None:
        return ["" if np.isnan(code) else values[int(code)] for code in cells]
    if not (np.abs(cells) < _MOST_EXACT).all():
        found = f"{table.file.path} has other values in {table.names[column]!r}"
        raise InputError("Ids must be strings, or integers below 2**53", found)
    return [f"{number:.17g}" for number in cells]


def _check_numbers(path: Path, name: str, values: Sequence[str] | None) -> None:
    if values:
        word = next((value for value in values if not _is_number(value)), values[0])
        found = f"{name!r} has {word!r}"
        cure = f"Correct it, or add --id {name} if the column identifies the rows"
        raise InputError(f"Every score column of {path} must hold numbers", found, cure)


def _check_header(path: Path, names: tuple[str, ...]) -> None:
    """Raise where the first row was taken for names; pandas numbers columns from 0."""
    if not names:
        raise InputError(
            f"{path} has no score columns", "A file needs one column of scores per label"
        )
    if all(map(_is_number, names)) and names != tuple(map(str, range(len(names)))):
        found = f"{path} starts with the numbers {show_names(names, 3)}"
        cure = "Add a header line"
        raise InputError("The first line must hold the names of the labels", found, cure)


def _check_finite(scores: LabelColumns) -> None:
    from labelance._arrays._cells import find_stored
    from labelance._arrays._containers import stored_values

    strange = ~np.isfinite(stored_values(scores.cells))
    if not strange.any():
        return
    row, label = find_stored(scores.cells, strange)
    raise InputError(
        f"Every cell of {scores.path} must hold a finite score",
        f"{np.count_nonzero(strange)} are missing or infinite; the first is in row {row + 1}, "
        f"label {scores.header[label]!r}",
    )


def _read_arrays(path: Path, kind: str) -> LabelColumns:
    """Read a table that numpy or scipy saved, with ``labels`` and ``id`` where an NPZ has them."""
    try:
        # A file of its own, since numpy leaves that of a broken archive open.
        with path.open("rb") as file:
            saved = np.load(file, allow_pickle=False)
            found = LabelColumns(path, saved) if kind == "npy" else _read_archive(path, saved)
    except InputError:
        raise
    except Exception as problem:  # damaged bytes can fail anywhere
        raise DataFileError(
            f"{path}: numpy and scipy cannot read this file",
            str(problem).partition("\n")[0].rstrip(".") or type(problem).__name__,
            "Save it again with numpy.save, numpy.savez or scipy.sparse.save_npz",
        ) from problem
    return _check_table(found)


def _read_archive(path: Path, archive: Any) -> LabelColumns:
    import scipy.sparse as sp

    arrays = set(archive.files)
    if "about" in arrays:  # what labelance itself writes
        data = labelance.datasets.read_multilabel(path)
        return LabelColumns(path, data.Y, data.label_names, is_dataset=True)
    is_dataset = {"X", "y"} <= arrays
    tables = ["y"] if is_dataset else sorted(arrays - {"labels", "id"})
    if {"format", "shape", "data"} <= arrays:
        cells = sp.csr_array(sp.load_npz(path))
        cells.check_format(full_check=True)
    elif len(tables) == 1:
        cells = archive[tables[0]]
    else:
        problem = "An NPZ file must have one table, and optionally 'labels' and 'id'"
        cure = "Save it with numpy.savez('scores.npz', scores=scores, labels=names)"
        raise InputError(problem, f"{path} has {show_names(archive.files)}", cure)
    names, ids = (
        archive[key].astype(str).tolist() if key in arrays else None for key in ("labels", "id")
    )
    return LabelColumns(path, cells, names and tuple(names), ids, is_dataset=is_dataset)


def _check_table(found: LabelColumns) -> LabelColumns:
    """Raise unless the cells are numbers of rows x labels, with a name each."""
    cells, names, ids = found.cells, found.names, found.ids
    named = cells.ndim == 2 and len(names or ()) in (0, cells.shape[1])
    named = named and (ids is None or len(ids) == cells.shape[0])
    if cells.ndim != 2 or cells.dtype.kind not in "biuf" or 0 in cells.shape or not named:
        raise InputError(
            f"{found.path} must hold a numeric table of rows x labels, with matching names and ids",
            f"It has shape {cells.shape} and type {cells.dtype}, {len(names or ())} names and "
            f"{len(ids or ())} ids",
        )
    if names and len(set(names)) < len(names):
        problem = f"The labels of {found.path} must have unique names"
        raise InputError(problem, f"{Counter(names).most_common(1)[0][0]!r} is repeated")
    return replace(found, cells=cells.astype(float)) if cells.dtype.kind == "b" else found


def _match_names(path: Path, names: Sequence[str], scores: LabelColumns) -> list[int]:
    """Return the places of the labels in a file, whose order must be the same."""
    place = {name: j for j, name in enumerate(names)}
    missing = [name for name in scores.header if name not in place]
    if missing:
        problem = f"{path} must have a column for every label of {scores.path}"
        found = f"Missing: {show_names(map(repr, missing), 5)}"
        cure = f"{did_you_mean(missing[0], names)}Add --id {missing[0]} if it identifies the rows"
        raise InputError(problem, found, f"{cure}. Its columns: {show_names(names)}")
    places = [place[name] for name in scores.header]
    if places != sorted(places):
        raise InputError(
            f"{path} must have the labels in the order of {scores.path}: "
            f"{show_names(scores.header, 5)}",
            f"Its order is {show_names([names[j] for j in sorted(places)], 5)}",
        )
    wanted = set(scores.header)
    others = [name for name in names if name not in wanted]
    if others:
        say(f"note: {path}: not used: {show_names(others, 5)}", to=errors)
    return places


def _zeros_and_ones(table: Any, columns: list[int]) -> Any:
    """Return columns of labels, such as 0 and 1 or no and yes; NaN where one is unknown."""
    from labelance.datasets.formats._labels import split_labels

    try:
        return split_labels(table.take(np.array(columns)), len(columns), None, "keep").Y
    except DataFileError as problem:
        cure = "Correct it, or add --id COLUMN if the column names the rows"
        raise InputError(problem.problem, problem.found, cure) from problem


def _join(truth: LabelColumns, scores: LabelColumns) -> list[int]:
    """Return the row of the truth for each row of the scores, by id."""
    assert truth.ids is not None and scores.ids is not None  # noqa: PT018
    place = {one: row for row, one in enumerate(truth.ids)}
    for table in (truth, scores):
        if len(set(table.ids or ())) < len(table.ids or ()):
            cure = "Correct the ids, or add --by-position"
            raise InputError("Ids must be unique", f"{table.path} has an id twice", cure)
    missing = [one for one in scores.ids if one not in place]
    if missing:
        found = f"{len(missing)} are missing; the first is {missing[0]!r}"
        cure = "Add these rows, or add --by-position"
        raise InputError(f"{truth.path} must have a row for every id of {scores.path}", found, cure)
    return [place[one] for one in scores.ids]


def _shape(table: LabelColumns) -> str:
    rows, labels = table.cells.shape
    return f"{rows} rows and {labels} labels"


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True
