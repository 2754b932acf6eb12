"""Resample a file into another one, with less memory than either takes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as joblib_hash
from sklearn.base import clone

from labelance._arrays._labels import mark_unknown
from labelance._arrays._storage import Storage, open_storage, split_rows, storage_of
from labelance._progress import show_progress
from labelance._utils._messages import did_you_mean, show_names
from labelance._validation._categorical import mask_of_columns
from labelance._validation._labels import validate_labels
from labelance.datasets import MultiLabelDataset
from labelance.datasets._dataset import find_texts
from labelance.datasets.formats._text_file import parse_amount
from labelance.exceptions import InputError
from labelance.outofcore._dataset import (
    check_limit,
    copy_to_disk,
    open_blocks,
    read_to_disk,
    working_on_disk,
)
from labelance.outofcore._job import Job, describe_file, open_job
from labelance.outofcore._output import check_output, write_npy_blocks, write_parquet_blocks
from labelance.sampling import BaseMultiLabelSampler
from labelance.sampling._base import check_recipe, warning_with_names


@dataclass(frozen=True, eq=False)
class ResampledFile:
    """What `resample_file` has written.

    Attributes
    ----------
    path : Path
        The file.
    y_before, y : csr_array
        The labels before and after, NaN where unknown; those of a Parquet file are in the file as
        well.
    provenance : mapping
        What ``fit_resample`` sets as fitted attributes.
    """

    path: Path
    y_before: sp.csr_array
    y: sp.csr_array
    provenance: Mapping[str, Any]

    @property
    def rows_before(self) -> int:
        """The number of rows before."""
        return int(self.y_before.shape[0])

    @property
    def rows_after(self) -> int:
        """The number of rows in the file."""
        return int(self.y.shape[0])


def resample_file(
    source: Any,
    output: str | os.PathLike[str],
    sampler: BaseMultiLabelSampler,
    *,
    y: Any = None,
    memory: int | str = "2GB",
    overwrite: bool = False,
    verbose: int = 0,
    **options: Any,
) -> ResampledFile:
    """Resample data larger than memory, from file to file.

    The rows are the same, bit for bit, as those of ``sampler.fit_resample`` on the same numbers in
    memory. A process that was killed leaves a folder ``OUTPUT.partial``; the same call continues
    where it was: rows that were read, searches for neighbors that were finished and blocks that
    were written are not done again.

    Parameters
    ----------
    source : str, path-like or array
        A Parquet file with features and labels, or a folder of such files with the same columns,
        which are read in the order of their names. Or, with ``y``, features alone: a NumPy file
        (``.npy``), an array mapped from one, or anything with ``shape``, ``dtype`` and rows to
        slice, such as the arrays of zarr and h5py.
    output : str or path-like
        A Parquet file, or, with ``y``, a NumPy file for the features.
    sampler : sampler
        Any of `labelance.sampling` that has a plan of its own, with an int as ``random_state`` or
        none; it is not changed.
    y : array, sparse matrix or data frame of shape (n_samples, n_labels), optional
        The labels, where source has none.
    memory : int or str, default="2GB"
        How much memory arrays may take, in bytes or as an amount such as "2GB" or "512MiB".
        Labels, neighbors and row numbers have to fit into it.
    overwrite : bool, default=False
        Write over a file that exists, and begin again where a run of other data or options was
        ended before its end.
    verbose : int, default=0
        1 shows on a terminal how far it is.
    **options
        ``labels``, ``present``, ``missing_labels``, ``multi_class``, ``label_separator`` and
        ``ignore`` of a Parquet file, as for `labelance.datasets.read_multilabel`.

    Returns
    -------
    ResampledFile
        The path, the labels before and after, and where the rows come from.

    Notes
    -----
    Next to the output it takes about as much disk as the features do, 8 bytes a cell, once for
    them, once for new rows and once for the result; with neighbors, half of it or as much again
    for each copy that an engine makes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from labelance import MLROS
    >>> from labelance.outofcore import resample_file
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random((1000, 3)) < [0.5, 0.2, 0.05]).astype(int)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     np.save(Path(name) / "X.npy", rng.random((1000, 20)))
    ...     done = resample_file(
    ...         Path(name) / "X.npy", Path(name) / "more.npy", MLROS(random_state=0), y=y,
    ...         memory="256kB",
    ...     )
    ...     np.load(done.path, mmap_mode="r").shape, done.y.sum(axis=0).tolist()
    ((1071, 20), [550, 208, 123])
    """
    output, limit = Path(output), parse_amount(memory, "memory")
    check_recipe(sampler)
    _check_labels(source, y, options)
    kinds = (".parquet", ".pq") if y is None else (".npy",)
    check_output(output, kinds, source=source, overwrite=overwrite)
    asked = {
        "data": _describe_source(source, sampler, limit),
        "labels": None if y is None else _fingerprint(y, sampler),
        "options": {name: repr(value) for name, value in sorted(options.items())},
        "sampler": {
            "name": type(sampler).__name__,
            **{name: repr(value) for name, value in sorted(sampler.get_params().items())},
        },
    }
    with (
        show_progress(verbose),
        open_job(output, asked, overwrite=overwrite) as job,
        working_on_disk(job.folder, limit, keeps=True) as here,
    ):
        sampler = _seed(sampler, job)
        if y is None:
            return _resample_table(Path(source), output, sampler, job, here, options)
        return _resample_array(source, y, output, sampler, job, here)


def _resample_table(
    source: Path,
    output: Path,
    sampler: BaseMultiLabelSampler,
    job: Job,
    here: Storage,
    options: dict[str, Any],
) -> ResampledFile:
    """Resample a Parquet file into another one."""
    blocks = open_blocks(
        source,
        here,
        options,
        searches=sampler.traits.finds_neighbors,
        keep_dates=only_copies_rows(sampler),
    )
    header = blocks.read_header()
    sampler = adapt_sampler(sampler, header)
    dataset = read_to_disk(blocks, header, here)
    check_no_texts(sampler, dataset)
    if not only_copies_rows(sampler):
        blocks.warn_of_identifiers(dataset)
    with warning_with_names(dataset.Y, dataset.label_names):
        plan = sampler.plan(dataset.values, dataset.Y)
    drawn = plan.draw_blockwise(sampler.random_state)
    step = _block_rows(dataset.values, dataset.n_labels, job, here)
    write_parquet_blocks(
        drawn.block, drawn.n_rows, step, dataset, output, job.folder, dates=blocks.dates
    )
    return ResampledFile(output, dataset.Y, drawn.Y, drawn.drawn.provenance)


def only_copies_rows(sampler: BaseMultiLabelSampler) -> bool:
    """Tell whether a sampler looks at no feature, so that these may be anything."""
    return bool(sampler._validation_options().get("only_rows", False))


def check_no_texts(
    sampler: BaseMultiLabelSampler, data: MultiLabelDataset, categorical: Collection[str] = ()
) -> None:
    """Raise for columns of texts and ids, which no sampler can mix.

    Their codes would pair the text of a row with another row's numbers and labels. ``categorical``
    are columns that the caller calls so.
    """
    texts = {name: kind for name, kind in find_texts(data).items() if name not in categorical}
    if only_copies_rows(sampler) or not texts:
        return
    name, kind = max(texts.items(), key=lambda one: one[1] == "text")
    what = "text" if kind == "text" else "an id"
    ignored = list(texts)
    raise InputError(
        f"{type(sampler).__name__} needs numbers or categories, and column {name!r} is {what}",
        "Most rows have a string of their own there",
        "Vectorize text first, use a sampler that only copies rows (MLROS), or leave the column "
        f"out with ignore={ignored[:5]}; the page Text of the user guide has models for text",
    )


def _resample_array(
    source: Any, y: Any, output: Path, sampler: BaseMultiLabelSampler, job: Job, here: Storage
) -> ResampledFile:
    """Resample the rows of an array into a NumPy file."""
    if isinstance(source, (str, os.PathLike)):
        source = _load_features(Path(source), here)
    _check_array(source, sampler, here.memory)
    X, Y = _open_features(source, here), _open_labels(y, sampler)
    drawn = sampler.plan(X, Y).draw_blockwise(sampler.random_state)
    step = _block_rows(X, Y.shape[1], job, here)
    write_npy_blocks(drawn.block, drawn.n_rows, step, X, output, job.folder)
    return ResampledFile(output, Y, drawn.Y, drawn.drawn.provenance)


def _block_rows(X: np.ndarray, n_labels: int, job: Job, here: Storage) -> int:
    """Return how many rows are a block; a run that continues has the blocks that it began with."""
    size = X.shape[1] * X.dtype.itemsize + n_labels
    return int(job.decide("rows of a block", lambda: max(1, here.block_bytes // size)))


def _check_labels(source: Any, y: Any, options: dict[str, Any]) -> None:
    """Raise unless labels are in the table, or come with an array."""
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        raise InputError(
            "Parquet files of one table must be in one folder",
            f"Got a list of {len(source)}",
            "Pass the folder; its files are read in the order of their names",
        )
    is_table = isinstance(source, (str, os.PathLike)) and Path(source).suffix != ".npy"
    if is_table and y is not None:
        raise InputError(
            "y must be None for a Parquet file, which holds its own labels", "Got y", "Omit y"
        )
    if not is_table and (y is None or options):
        raise InputError(
            "An array needs its labels as y, and takes no options for tables",
            "y is None" if y is None else f"Got {', '.join(options)}",
            "Pass y, an (n, q) table of zeros and ones" if y is None else "Remove these options",
        )


def _describe_source(source: Any, sampler: BaseMultiLabelSampler, memory: int) -> dict[str, Any]:
    """Return what changes when the data do."""
    if isinstance(source, (str, os.PathLike)):
        return describe_file(Path(source))
    if not (hasattr(source, "shape") and hasattr(source, "dtype") and len(source.shape) == 2):
        raise InputError(
            "The source must be a file, or an array with rows to slice",
            f"Got a {type(source).__name__}",
            "Pass the path of a Parquet or NumPy file, or a zarr or h5py array",
        )
    _check_array(source, sampler, memory)
    content = _hash_rows(source, memory)
    return {"shape": list(source.shape), "type": str(source.dtype), "content": content}


def _check_array(source: Any, sampler: BaseMultiLabelSampler, memory: int) -> None:
    """Raise unless rows of an array fit into memory; read none."""
    row_bytes = source.shape[1] * np.dtype(source.dtype).itemsize
    searches = sampler.traits.finds_neighbors
    check_limit(source.shape[0], row_bytes, memory, searches=searches)


def _hash_rows(source: Any, memory: int) -> str:
    """Return a checksum of all rows of an array, read in blocks."""
    found, row_bytes = hashlib.blake2b(), source.shape[1] * np.dtype(source.dtype).itemsize
    with open_storage(Path(), memory) as here:  # no file is made: it lets pages go
        _is_mapped(source, here)
        for rows in split_rows(source.shape[0], row_bytes, here):
            found.update(np.asarray(source[rows]).tobytes())
    return found.hexdigest()


def _open_labels(y: Any, sampler: BaseMultiLabelSampler) -> Any:
    """Return clean labels, with NaN where they are unknown and the sampler does without."""
    labels = validate_labels(y, caller="resample_file", needs_all=sampler._why_all_known())
    return mark_unknown(labels.Y, labels.unknown)


def _fingerprint(y: Any, sampler: BaseMultiLabelSampler) -> str:
    """Return a number of the labels that changes when they do."""
    return str(joblib_hash(_open_labels(y, sampler)))


def _load_features(path: Path, here: Storage) -> np.ndarray:
    """Map the features of a NumPy file."""
    try:
        # Private pages can be written to, so that code compiled for other arrays serves.
        return here.load(path, "c")
    except (ValueError, EOFError) as problem:
        raise InputError(
            f"{path} is not a complete NumPy file",
            f"Mapping it failed ({problem})",
            "Check the path, or write it again with np.save",
        ) from problem


def _open_features(source: Any, here: Storage) -> np.ndarray:
    """Return features as an array: mapped from their file, or from a copy of them."""
    return np.asarray(source) if _is_mapped(source, here) else copy_to_disk(source, here)


def _is_mapped(source: Any, here: Storage) -> bool:
    """Tell whether an array is mapped from a file; it becomes one of the storage."""
    if storage_of(source) is here:
        return True
    # Pages of mode "c" that the caller has written to would be lost when they are let go.
    is_file = isinstance(source, np.memmap) and source.mode != "c"
    return is_file and here.adopt(source)


def _seed(sampler: BaseMultiLabelSampler, job: Job) -> BaseMultiLabelSampler:
    """Return a copy of the sampler that draws the same in a run that continues."""
    sampler = clone(sampler)
    for name, value in sorted(sampler.get_params().items()):
        if name.rpartition("__")[2] != "random_state" or isinstance(value, (int, np.integer)):
            continue
        if value is not None:
            raise InputError(
                "A run that can resume needs a random state that can be stored",
                f"{name} of {type(sampler).__name__} is a {type(value).__name__}",
                "Pass an int, or None for a seed that is drawn and stored",
            )
        seed = job.decide(name, lambda: int(np.random.default_rng().integers(2**31)))
        sampler.set_params(**{name: seed})
    return sampler


def adapt_sampler(
    sampler: BaseMultiLabelSampler, dataset: MultiLabelDataset
) -> BaseMultiLabelSampler:
    """Tell a sampler which features are nominal, and the numbers of labels that it names.

    Values and Y of a dataset travel without names and categories.
    """
    if "resampler" in sampler.get_params(deep=False) and sampler.resampler is None:
        sampler.set_params(resampler=sampler._second())
    for name in sampler.get_params():
        if name.rpartition("__")[2] == "categorical_features":
            nominal, said = dataset.categorical_features, sampler.get_params()[name]
            if said is not None:
                nominal = nominal | mask_of_columns(said, len(nominal), dataset.feature_names)
            sampler.set_params(**{name: nominal})
    strategy = sampler.get_params().get("sampling_strategy")
    if isinstance(strategy, (list, dict)):
        number = {name: j for j, name in enumerate(dataset.label_names)}
        _check_known_labels(strategy, number)
        listed = [number.get(name, name) for name in strategy]
        targets = dict(zip(listed, strategy.values())) if isinstance(strategy, dict) else listed
        sampler.set_params(sampling_strategy=targets)
    return sampler


def _check_known_labels(strategy: Any, number: Mapping[str, int]) -> None:
    for name in strategy:
        if isinstance(name, str) and name not in number:
            raise InputError(
                "sampling_strategy must name labels of the data",
                f"There is no label {name!r}",
                f"{did_you_mean(name, number)}Correct the name. Labels: {show_names(number)}",
            )
