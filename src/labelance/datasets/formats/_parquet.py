"""Parquet: a column for every feature and label; what it cannot say goes into its metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._arrays._cells import iterate_columns
from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance.datasets._dataset import MultiLabelDataset
from labelance.datasets.formats._labels import Table, check_no_repeated_names, find_columns
from labelance.datasets.formats._text_file import (
    BYTES_PER_NAME,
    BYTES_PER_NUMBER,
    TextFile,
    json_memory,
)
from labelance.exceptions import DataFileError, InputError, LabelanceError, arg

METADATA_KEY = b"labelance"
PARQUET_SUFFIXES = (".parquet", ".pq")

# A sparse X becomes full columns; beyond this another format serves better.
MOST_CELLS = 50_000_000
_BUFFER = 1 << 16  # bytes of a column that are read at once, where a file is read in blocks

Column = tuple[NDArray[np.float64], tuple[str, ...] | None]


def read_parquet(file: TextFile, *, ignore: Sequence[str] = ()) -> Table:
    """Read columns of numbers, booleans, words and categories into a table."""
    pa, parquet = _pyarrow()
    with _reading(file):
        with parquet.ParquetFile(file.path) as source:
            _check_size(file, source.metadata)
            schema = _leave_out(file, pa, source.schema_arrow, ignore)
            texts = _check_types(file, pa, schema)
        # Words come as codes: a word of a megabyte in a million rows is in memory once.
        with parquet.ParquetFile(file.path, read_dictionary=texts) as source:
            some = len(schema.names) < len(source.schema_arrow.names)
            table = source.read(schema.names if some else None, use_threads=False)
            # pyarrow also reads 'a.b' where 'a' is asked for.
            table = table.select(schema.names) if some else table
        return _to_table(file, table, _words_about(file, table.schema), set(texts))


def read_index(path: Path) -> list[str] | None:
    """Return the index of a frame whose column has no name, as CSV would have it.

    None stands for no index, and for the ``RangeIndex`` that pandas makes by default.
    """
    _, parquet = _pyarrow()
    file = TextFile(path)
    with _reading(file), parquet.ParquetFile(path) as source:
        about = (source.schema_arrow.pandas_metadata or {}).get("index_columns", ())
        for level in about:
            if isinstance(level, dict):  # a RangeIndex has no column
                rows = range(level["start"], level["stop"], level["step"])
                return None if rows == range(len(rows)) else list(map(str, rows))
        names = list(filter(_INDEX_OF_FRAME.fullmatch, source.schema_arrow.names))
        if not names:
            return None
        frame = source.read(names).to_pandas(ignore_metadata=True)
    texts = (frame[name].astype(str).where(frame[name].notna(), "") for name in names)
    return [", ".join(levels) for levels in zip(*texts)]


@contextmanager
def _reading(file: TextFile) -> Iterator[None]:
    """Say of whatever fails in the block that the file cannot be read."""
    file.open().close()  # which says why it cannot be opened
    try:
        yield
    except LabelanceError:
        raise
    except Exception as problem:
        # Damaged bytes can fail anywhere, in any way: in the file, in a page, in a name.
        why = str(problem).partition("\n")[0] or type(problem).__name__
        found, cure = f"Reading it failed ({why})", "Check the path"
        raise file.error("This is not a complete Parquet file", found, cure) from problem


def _words_about(file: TextFile, schema: Any) -> dict[str, Any]:
    """Return what we wrote about the columns into the metadata, if we did."""
    about = (schema.metadata or {}).get(METADATA_KEY, b"{}")
    file.require(json_memory(about), what="the metadata")
    return dict(json.loads(about))


def _check_size(file: TextFile, metadata: Any) -> None:
    """Refuse a table that takes too much memory, as it is in the file or as numbers."""
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    numbers = rows * metadata.num_columns * BYTES_PER_NUMBER
    names = metadata.num_columns * BYTES_PER_NAME
    file.require(names + max(numbers, sum(group.total_byte_size for group in groups)))


def read_vectors(path: Path, *, ignore: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns of lists of numbers, such as embeddings: arrays of lists."""
    pa, parquet = _pyarrow()
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    numbers = (pa.types.is_floating, pa.types.is_integer)
    with _reading(TextFile(path)), parquet.ParquetFile(path) as source:
        names = [
            field.name
            for field in source.schema_arrow
            if any(is_list(field.type) for is_list in kinds)
            and any(is_number(field.type.value_type) for is_number in numbers)
            and field.name not in ignore
        ]
        if not names:
            return {}
        table = source.read(names, use_threads=False)
        return {name: table[name].to_pandas().to_numpy() for name in names}


def _check_types(file: TextFile, pa: Any, schema: Any) -> list[str]:
    """Refuse lists and the like before they are read; return the columns of words."""
    for field in schema:
        if pa.types.is_nested(field.type):
            raise _wrong_type(file, field.name, field.type)
    is_string, is_large_string = pa.types.is_string, pa.types.is_large_string
    return [one.name for one in schema if is_string(one.type) or is_large_string(one.type)]


# The index of a frame as pandas and Dask write it; they do not show it as a column either.
_INDEX_OF_FRAME = re.compile(r"__index_level_[0-9]+__|__null_dask_index__")


def _leave_out(file: TextFile, pa: Any, schema: Any, ignore: Sequence[str]) -> Any:
    """Return the schema without some columns, and without the index of a frame."""
    ignore = [*ignore, *filter(_INDEX_OF_FRAME.fullmatch, schema.names)]
    if not ignore:
        return schema
    check_no_repeated_names(file, schema.names)
    ignored = set(find_columns(file, schema.names, ignore, arg("ignore", ...)))
    kept = [field for j, field in enumerate(schema) if j not in ignored]
    return pa.schema(kept, metadata=schema.metadata)


def find_dates(path: Path, ignore: Sequence[str] = ()) -> list[str]:
    """Return the columns of dates or times of a Parquet file, but for some columns."""
    pa, parquet = _pyarrow()
    file = TextFile(path)
    with _reading(file), parquet.ParquetFile(path) as source:
        schema = _leave_out(file, pa, source.schema_arrow, ignore)
    return [field.name for field in schema if pa.types.is_temporal(field.type)]


def copy_dates(source: Path, names: Sequence[str], rows: NDArray[np.intp], path: Path) -> None:
    """Add columns of another Parquet file, where they stand there, to one of copies of its rows."""
    _, parquet = _pyarrow()
    table = parquet.read_table(path)
    with parquet.ParquetFile(source) as file:
        order = file.schema_arrow.names
        dates = file.read(names).take(rows)
    labels = json.loads(table.schema.metadata[METADATA_KEY])["labels"]
    known = {*names, *table.column_names} - set(labels)
    features = [name for name in order if name in known]
    for name in names:
        table = table.add_column(features.index(name), name, dates[name])
    with replace_when_done(path) as temporary:
        parquet.write_table(table, temporary)


def write_parquet(data: MultiLabelDataset, out: BinaryIO) -> None:
    """Write a dataset; names of labels and values of nominal columns go into the metadata."""
    _, parquet = _pyarrow()
    parquet.write_table(to_arrow(data), out)


def to_arrow(data: MultiLabelDataset) -> Any:
    """Return the table that is written, with its metadata."""
    pa, _ = _pyarrow()
    if data.is_sparse and data.n_samples * data.n_features > MOST_CELLS:
        raise InputError(
            f"A sparse X written to Parquet can have at most {MOST_CELLS} cells, including zeros",
            f"X has {data.n_samples} x {data.n_features}",
            "Write ARFF, LibSVM or NPZ, which keep X sparse",
        )
    words = {
        "labels": data.label_names,
        "categories": {
            name: values for name, values in zip(data.feature_names, data.categories) if values
        },
        "sparse": data.is_sparse,
        "name": data.name,
    }
    features, labels = map(iterate_columns, (data.values, data.Y))
    columns = [_to_arrow(pa, *each) for each in zip(features, data.categories)]
    columns += [_to_arrow(pa, column, None, is_label=True) for column in labels]
    names = [*data.feature_names, *data.label_names]
    table = pa.Table.from_arrays(columns, names=names)
    metadata = {METADATA_KEY: json.dumps(words)}
    return table.replace_schema_metadata(metadata)


def _pyarrow() -> tuple[Any, Any]:
    purpose = "Reading and writing Parquet"
    return (
        optional_import("pyarrow", extra="data", purpose=purpose),
        optional_import("pyarrow.parquet", extra="data", purpose=purpose),
    )


def _to_arrow(
    pa: Any, column: NDArray[Any], values: tuple[str, ...] | None, *, is_label: bool = False
) -> Any:
    """Return numbers as they are; codes and labels with null where they are missing."""
    if values is None and not is_label:
        return pa.array(np.ascontiguousarray(column))
    missing, kind = np.isnan(column), np.int8 if is_label else np.int32
    codes = pa.array(np.where(missing, 0, column).astype(kind), mask=missing)
    if is_label:
        return codes
    return pa.DictionaryArray.from_arrays(codes, pa.array(values, type=pa.string()))


def _to_table(file: TextFile, table: Any, words: dict[str, Any], texts: set[str]) -> Table:
    names = tuple(table.column_names)
    check_no_repeated_names(file, names)
    declared = words.get("categories", {})
    columns = [
        _from_arrow(file, name, column, declared.get(name), is_text=name in texts)
        for name, column in zip(names, table.columns)
    ]
    cells: Any = np.empty((table.num_rows, len(names)))
    for j, (numbers, _) in enumerate(columns):
        cells[:, j] = numbers
    labels = set(words.get("labels", ()))
    return Table(
        file=file,
        names=names,
        categories=tuple(values for _, values in columns),
        cells=csr_array(cells) if words.get("sparse") else cells,
        name=words.get("name", ""),
        labels=tuple(j for j, name in enumerate(names) if name in labels) or None,
    )


def _from_arrow(
    file: TextFile, name: str, column: Any, declared: list[str] | None, *, is_text: bool
) -> Column:
    """Numbers of a column, or codes and values of a nominal one; NaN is missing."""
    pa, _ = _pyarrow()
    kind = column.type
    if is_text:
        column = column if pa.types.is_dictionary(kind) else column.dictionary_encode()
        words = sorted(set(column.drop_null().unique().to_pylist()))
        return _codes(column, declared or words)
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        return _codes(column, declared)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    try:
        numbers = column.cast(pa.float64(), safe=False).to_numpy()
    except pa.ArrowException as problem:
        raise _wrong_type(file, name, kind) from problem
    return numbers, None


_LISTS = (
    ": lists of labels become texts in Python, frame[name].str.join(';'), and "
    f"{arg('label_separator', ';')} reads them"
)
_DATES = " to a number; MLROS and others that only copy rows keep dates from Parquet to Parquet"
_CURES = {"list": _LISTS, "larg": _LISTS, "time": _DATES, "date": _DATES, "dura": _DATES}


def _wrong_type(file: TextFile, name: str, kind: Any) -> DataFileError:
    found = f"{name!r} is of type {kind}"
    cure = f"Drop it with {arg('ignore', [name])}, or convert it{_CURES.get(str(kind)[:4], '')}"
    return file.error("Columns must hold numbers, booleans or strings", found, cure)


def _codes(column: Any, declared: list[str] | None) -> Column:
    """Codes of a dictionary column, in the order of the declared values."""
    array = column.unify_dictionaries().combine_chunks()
    array = array if not hasattr(array, "chunks") else array.chunk(0)
    words = array.dictionary.to_pylist()
    # Another program may have added values since we wrote the metadata.
    values = tuple(dict.fromkeys([*(declared or ()), *words]))
    codes = {word: code for code, word in enumerate(values)}
    position = np.array([codes[word] for word in words] + [np.nan])
    indices = array.indices.to_numpy(zero_copy_only=False)
    return position[np.where(np.isnan(indices), len(words), indices).astype(np.intp)], values
