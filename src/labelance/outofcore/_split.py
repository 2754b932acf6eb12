"""Split a file into parts, with less memory than it takes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from labelance._progress import show_progress
from labelance.datasets import MultiLabelDataset
from labelance.datasets.formats._text_file import parse_amount
from labelance.exceptions import InputError
from labelance.model_selection import multilabel_train_test_split
from labelance.outofcore._dataset import open_blocks, read_to_disk, working_on_disk
from labelance.outofcore._job import describe_file, job_folder, open_job
from labelance.outofcore._output import check_output, write_parquet_blocks


def split_file(
    source: str | os.PathLike[str],
    outputs: Sequence[str | os.PathLike[str]],
    *,
    sizes: Sequence[float] = (0.75, 0.25),
    order: Literal[1, 2] = 1,
    random_state: int = 0,
    memory: int | str = "2GB",
    overwrite: bool = False,
    verbose: int = 0,
    **options: Any,
) -> list[int]:
    """Split a Parquet file larger than memory by iterative stratification.

    The parts are those of `labelance.model_selection.multilabel_train_test_split`. A process that
    was killed continues when the call is repeated, as `resample_file` does.

    Parameters
    ----------
    source : str or path-like
        A Parquet file, or a folder of files with the same columns.
    outputs : sequence of str or path-like
        A Parquet file for every part.
    sizes : sequence of float or int, default=(0.75, 0.25)
        Shares of the parts, or numbers of rows.
    order : {1, 2}, default=1
        2 keeps pairs of labels in proportion, too.
    random_state : int, default=0
        Random seed for ties.
    memory, overwrite, verbose, **options
        As for `resample_file`.

    Returns
    -------
    list of int
        The rows of every part.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelance.datasets import write_multilabel
    >>> from labelance.outofcore import split_file
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     X, y = rng.random((200, 4)), rng.random((200, 3)) < 0.2
    ...     file = write_multilabel((X, y), Path(name) / "songs.parquet")
    ...     split_file(file, [Path(name) / "train.parquet", Path(name) / "test.parquet"])
    [150, 50]
    """
    files, limit = [Path(output) for output in outputs], parse_amount(memory, "memory")
    if len(files) != len(sizes) or len(set(files)) < len(files):
        raise InputError(
            "Every part of a split needs its own file",
            f"Got {len(sizes)} parts and {len(set(files))} different files",
            "Name as many files as sizes has numbers",
        )
    asked = {
        "data": describe_file(Path(source)),
        "options": {name: repr(value) for name, value in sorted(options.items())},
        "parts": [str(file.resolve()) for file in files],
        "sizes": list(sizes),
        "order": order,
        "random_state": random_state,
    }
    with (
        show_progress(verbose),
        open_job(files[0], asked, overwrite=overwrite) as job,
        working_on_disk(job.folder, limit) as here,
    ):

        def is_done(file: Path) -> bool:
            return job.is_done(str(file)) and file.exists()

        for file in files:
            if job.is_new and file != files[0]:
                shutil.rmtree(job_folder(file), ignore_errors=True)  # blocks of another run
            if not is_done(file):
                check_output(file, (".parquet", ".pq"), source=source, overwrite=overwrite)
        blocks = open_blocks(Path(source), here, options)
        data = read_to_disk(blocks, blocks.read_header(), here)
        parts = multilabel_train_test_split(
            np.arange(data.n_samples), data.Y, sizes=sizes, order=order, random_state=random_state
        )[: len(sizes)]
        size = data.values.itemsize * data.n_features + data.n_labels
        step = job.decide("rows of a block", lambda: max(1, here.block_bytes // size))
        for file, rows in zip(files, parts):
            if not is_done(file):
                block = partial(_take, data, rows)
                write_parquet_blocks(block, len(rows), step, data, file, job_folder(file))
                job.finish(str(file))
            if file != files[0]:
                shutil.rmtree(job_folder(file), ignore_errors=True)
    return [len(rows) for rows in parts]


def _take(
    data: MultiLabelDataset, rows: np.ndarray, start: int, stop: int
) -> tuple[Any, sp.csr_array]:
    """Return features and labels of some of the rows of a part."""
    some = rows[start:stop]
    return data.values[some], data.Y[some]
