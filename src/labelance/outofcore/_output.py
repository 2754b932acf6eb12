"""Results written as they are made: in blocks, which a run that continues does not make again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from labelance._progress import loop, track
from labelance._utils._checksums import GrowingFile, is_intact, keep_file
from labelance._utils._messages import optional_import
from labelance.datasets import MultiLabelDataset
from labelance.datasets.formats._parquet import restore_dates, to_arrow
from labelance.exceptions import InputError

Block = Callable[[int, int], tuple[Any, Any]]  # X and y of the rows from start to stop


def check_output(output: Path, kinds: tuple[str, ...], *, source: Any, overwrite: bool) -> None:
    """Refuse a name of another kind, and a file that exists, before any work is done."""
    if isinstance(source, (str, os.PathLike)) and output.parent.resolve() == Path(source).resolve():
        raise InputError(
            "The output must be outside the folder that is read",
            f"{output} is inside",
            "Choose a file in another folder",
        )
    if output.suffix.lower() not in kinds:
        raise InputError(
            f"The output must be a file that ends in {' or '.join(kinds)}",
            f"Got {output.name!r}",
            "Rename it, or convert the result afterwards",
        )
    if output.exists() and not overwrite:
        raise InputError(
            f"{output} already exists",
            "Existing files are kept",
            "Pass overwrite=True, or choose another name",
        )


def write_parquet_blocks(
    block: Block,
    n_rows: int,
    step: int,
    like: MultiLabelDataset,
    output: Path,
    folder: Path,
    *,
    dates: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write rows block by block, then join the blocks as the row groups of one file.

    Parameters
    ----------
    block : callable
        Returns X and y of the rows from start to stop.
    n_rows, step : int
        How many rows there are, and how many of them are a block.
    like : MultiLabelDataset
        Names and categories.
    output, folder : Path
        The file, and a folder next to it where its blocks are kept until it is whole.
    dates : mapping of str to pyarrow.DataType
        Columns of numbers that are dates.
    """
    arrow = optional_import("pyarrow", extra="data", purpose="Writing Parquet")
    parquet = optional_import("pyarrow.parquet", extra="data", purpose="Writing Parquet")
    folder.mkdir(exist_ok=True)
    starts = range(0, n_rows, step)
    parts = [folder / f"rows-{number:06d}.arrow" for number in range(len(starts))]
    with loop("Writing rows", n_rows, "rows") as progress:
        for start, part in zip(starts, parts):
            stop = min(start + step, n_rows)
            if not is_intact(part):
                X, y = block(start, stop)
                table = restore_dates(to_arrow(replace(like, values=X, Y=y)), dates)
                with (
                    keep_file(part) as temporary,
                    arrow.ipc.new_file(str(temporary), table.schema) as writer,
                ):
                    writer.write_table(table)
            progress.advance(stop - start)
    empty = replace(like, values=like.values[:0], Y=like.Y[:0])
    schema = restore_dates(to_arrow(empty), dates).schema
    nominal = [name for name, words in zip(like.feature_names, like.categories) if words]
    joined = folder / "joined.parquet"
    with parquet.ParquetWriter(joined, schema, use_dictionary=nominal) as writer:
        for part in track(parts, "Joining blocks", "blocks"):
            with arrow.OSFile(str(part)) as file:
                writer.write_table(arrow.ipc.open_file(file).read_all())
    os.replace(joined, output)


def write_npy_blocks(
    block: Block, n_rows: int, step: int, like: np.ndarray, output: Path, folder: Path
) -> None:
    """Write the features of rows block by block to a NumPy file.

    Parameters are those of `write_parquet_blocks`; ``like`` has the type and the number of columns.
    """
    header = _npy_header((n_rows, like.shape[1]), like.dtype)
    size = like.shape[1] * like.dtype.itemsize
    with (
        GrowingFile(folder / "rows.npy") as file,
        loop("Writing rows", n_rows, "rows") as progress,
    ):
        if not file.blocks:
            file.write(np.frombuffer(header, np.uint8))
            file.end_block()
        done = (file.size - len(header)) // size
        progress.advance(done)
        for start in range(done, n_rows, step):
            X, _ = block(start, min(start + step, n_rows))
            file.write(np.asarray(X, dtype=like.dtype))
            file.end_block()
            progress.advance(len(X))
        file.rename(output)


def _npy_header(shape: tuple[int, int], dtype: np.dtype) -> bytes:
    """Return the first bytes of a NumPy file."""
    header = BytesIO()
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    return header.getvalue()
