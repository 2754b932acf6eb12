"""Data whose features are an array in a file and whose labels are in memory."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context

from labelance._arrays._storage import Storage, open_storage
from labelance._progress import loop, show_progress
from labelance._utils._checksums import GrowingFile, is_intact, keep_file
from labelance.datasets import MultiLabelDataset
from labelance.datasets.formats._read_write import DatasetBlocks
from labelance.datasets.formats._text_file import format_amount, parse_amount
from labelance.exceptions import FileWriteError, InputError, TooManyRowsError
from labelance.neighbors._partition import bytes_beside_files

_LABEL_BYTES = 64  # of memory for every row: its labels, and numbers of rows
_ROWS = 32  # that fit into the limit at least, so that there are blocks at all
_WORKING_SHARE = 8  # of the limit, for tables of distances


@contextmanager
def open_dataset(
    path: str | os.PathLike[str],
    *,
    memory: int | str = "2GB",
    folder: str | os.PathLike[str] | None = None,
    verbose: int = 0,
    **options: Any,
) -> Iterator[MultiLabelDataset]:
    """Open a Parquet file as a dataset whose features are an array in a file.

    Inside the block everything that takes arrays can be called with ``values`` and ``Y``, and large
    arrays on the way are kept in files, too.

    Parameters
    ----------
    path : str or path-like
        A Parquet file, or a folder of files with the same columns.
    memory : int or str, default="2GB"
        How much memory arrays may take, in bytes or as an amount such as "2GB" or "512MiB".
    folder : str or path-like, optional
        Where to keep the features while the dataset is open, about 8 bytes a cell; the folder of
        the file unless given.
    verbose : int, default=0
        1 shows on a terminal how far the reading is.
    **options
        ``labels``, ``present``, ``missing_labels``, ``multi_class``, ``label_separator`` and
        ``ignore``, as for `labelance.datasets.read_multilabel`.

    Yields
    ------
    MultiLabelDataset
        The same as `read_multilabel` returns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelance import profile
    >>> from labelance.datasets import write_multilabel
    >>> from labelance.outofcore import open_dataset
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     X, y = rng.random((500, 4)), rng.random((500, 3)) < 0.2
    ...     file = write_multilabel((X, y), Path(name) / "songs.parquet")
    ...     with open_dataset(file, memory="64MB") as data:
    ...         data, profile(data.values, data.Y, subsample=100).n_searched
    (MultiLabelDataset('', 500 samples, 4 features, 3 labels), 100)
    """
    path, limit = Path(path), parse_amount(memory, "memory")
    parent = path.parent if folder is None else Path(folder)
    with (
        tempfile.TemporaryDirectory(
            dir=parent, prefix=f".{path.stem}-", ignore_cleanup_errors=True
        ) as place,
        working_on_disk(Path(place), limit) as here,
    ):
        with show_progress(verbose):
            blocks = open_blocks(path, here, options)
            data = read_to_disk(blocks, blocks.read_header(), here)
        blocks.warn_of_identifiers(data)
        yield data


@contextmanager
def working_on_disk(folder: Path, memory: int, *, keeps: bool = False) -> Iterator[Storage]:
    """Keep large arrays in files of the folder, and tables of distances small."""
    working_memory = max(1, memory // _WORKING_SHARE >> 20)
    with (
        config_context(working_memory=working_memory),
        _returning_memory_of_arrow(),
        open_storage(folder, memory, keeps=keeps) as here,
    ):
        yield here


@contextmanager
def _returning_memory_of_arrow() -> Iterator[None]:
    """Let Arrow take memory from the C library; a pool of its own would keep what it has read."""
    if importlib.util.find_spec("pyarrow") is None:  # arrays need none
        yield
        return
    import pyarrow as arrow

    before = arrow.default_memory_pool()
    arrow.set_memory_pool(arrow.system_memory_pool())
    try:
        yield
    finally:
        return_memory_of_arrow()
        arrow.set_memory_pool(before)


def return_memory_of_arrow() -> None:
    """Give back what Arrow keeps of rows that were read or written."""
    import pyarrow as arrow

    for pool in (arrow.default_memory_pool(), arrow.system_memory_pool()):
        pool.release_unused()


def open_blocks(
    path: Path,
    here: Storage,
    options: dict[str, Any],
    *,
    searches: bool = False,
    keep_dates: bool = False,
) -> DatasetBlocks:
    """Open a Parquet file to be read in blocks, if these and its labels fit into memory."""
    # A block is in memory as the file has it, as numbers, and as features and labels.
    blocks = DatasetBlocks(
        path, block_bytes=here.block_bytes // 2, keep_dates=keep_dates, **options
    )
    n_rows = sum(blocks.group_sizes)
    check_limit(n_rows, blocks.bytes_per_row, here.memory, searches=searches)
    return blocks


def check_limit(n_rows: int, bytes_per_row: int, memory: int, *, searches: bool = False) -> None:
    """Raise unless what is kept of every row, and some blocks of rows, fit into memory.

    Parameters
    ----------
    n_rows, bytes_per_row : int
        How many rows, and how large each is in a file.
    memory : int
        The limit.
    searches : bool
        Whether neighbors are searched among all rows, which keeps more of each.
    """
    found = bytes_beside_files(n_rows) if searches else 0
    needed = n_rows * _LABEL_BYTES + found + _ROWS * bytes_per_row
    if needed > memory:
        also = ", what a neighbor search keeps of each" if found else ""
        raise TooManyRowsError(
            f"memory=… must hold the labels of all rows{also}, and some blocks of rows",
            f"{n_rows:,} rows of {format_amount(bytes_per_row)} need at least "
            f"{format_amount(needed)}, and memory is {format_amount(memory)}",
            f"Raise memory, for example to {format_amount(2 * needed).replace(' ', '')}",
        )


def read_to_disk(
    blocks: DatasetBlocks, header: MultiLabelDataset, here: Storage
) -> MultiLabelDataset:
    """Copy features to a file of nothing but numbers; return the dataset on top of it.

    The labels of a row group are written when its features are, so an interrupted run resumes
    with the first row group that has not both, as they were written.
    """
    sizes = blocks.group_sizes
    cells, d = here.folder / "features.bin", header.n_features
    _check_disk_space(cells, sum(sizes) * d * header.values.itemsize)
    labels = [here.folder / f"labels-{group:05d}.npz" for group in range(len(sizes))]
    with GrowingFile(cells) as file, loop("Reading rows", sum(sizes), "rows") as progress:
        done = 0
        while done < len(file.blocks) and is_intact(labels[done]):
            done += 1
        file.keep(done)
        progress.advance(sum(sizes[:done]))
        for group in range(done, len(sizes)):
            parts = []
            for block in blocks.read_group(group):
                file.write(block.values)
                parts.append(block.Y)
                progress.advance(block.n_samples)
            file.end_block()
            with keep_file(labels[group]) as temporary:
                sp.save_npz(temporary, sp.vstack(parts, format="csr"), compressed=False)
    return_memory_of_arrow()
    Y = sp.vstack([header.Y, *map(sp.load_npz, labels)], format="csr")
    return replace(header, values=here.open(cells, (sum(sizes), d), np.float64), Y=Y)


def _check_disk_space(cells: Path, size: int) -> None:
    """Raise where the disk has no room for the rest of the features, before they are read."""
    missing = size - (cells.stat().st_size if cells.exists() else 0)
    free = shutil.disk_usage(cells.parent).free
    if missing > free:
        raise FileWriteError(
            f"There is not enough disk space in {cells.parent} for the features",
            f"They need {format_amount(missing)} more, and {format_amount(free)} are free",
            "Free disk space, or choose an output on another disk",
        )


def copy_to_disk(source: Any, here: Storage) -> np.ndarray:
    """Copy a table with rows to slice, such as zarr's arrays, to a file of nothing but numbers."""
    (n, d), dtype = source.shape, np.dtype(source.dtype)
    if dtype.hasobject:
        raise InputError(
            "The features of an array must be numbers", f"Got dtype {dtype}", "Convert them first"
        )
    cells = here.folder / "features.bin"
    size = max(1, d * dtype.itemsize)
    step = max(1, here.block_bytes // (2 * size))
    _check_disk_space(cells, n * size)
    with GrowingFile(cells) as file, loop("Reading rows", n, "rows") as progress:
        done = file.size // size
        progress.advance(done)
        for start in range(done, n, step):
            block = np.asarray(source[start : min(start + step, n)], dtype=dtype)
            file.write(block)
            file.end_block()
            progress.advance(len(block))
    return here.open(cells, (n, d), dtype)
