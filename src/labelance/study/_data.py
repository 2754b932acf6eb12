"""Datasets of a study: loaded once, cached for workers, split into folds, described."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import joblib
import numpy as np

from labelance._arrays._labels import has_unknown
from labelance._arrays._sparse import as_matrix, narrow_indices
from labelance.datasets import MultiLabelDataset, load_dataset, verify_dataset
from labelance.exceptions import LabelanceError, StudyError
from labelance.imbalance import cardinality, mean_imr
from labelance.model_selection import IterativeStratifiedKFold
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.study._design import DataSource, read_file_of
from labelance.study._heartbeat import Heartbeat
from labelance.study._study import Fold, Study, read_folds

_PREFIX, _OWNER = "labelance-study-", "owner.json"
_DAY = 24 * 3600


@dataclass(frozen=True, eq=False)
class StudyData:
    """What a worker needs of a dataset: rows, labels, which features are nominal, and folds."""

    X: Any
    Y: Any
    nominal: np.ndarray
    folds: np.ndarray | None = None

    def split(self, repeat: int, fold: int, n_folds: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and the test rows; the same for all methods and learners."""
        if self.folds is not None:
            column = self.folds[:, repeat]
            if not np.array_equal(np.unique(column), np.arange(n_folds)):
                raise StudyError(
                    f"Folds must be numbered 0 to {n_folds - 1} in every repetition",
                    f"Repetition {repeat} has {', '.join(map(str, np.unique(column)))}",
                    "Correct the file of folds, or the number of folds",
                )
            held = column == fold
            return np.flatnonzero(~held), np.flatnonzero(held)
        splitter = IterativeStratifiedKFold(n_folds, random_state=repeat)
        return list(splitter.split(self.X, self.Y))[fold]


class FoldData:
    """The rows of a fold, and neighbors of its training rows, searched when first asked for."""

    def __init__(
        self, data: StudyData, fold: Fold, n_folds: int, *, most_neighbors: int = 1
    ) -> None:
        train, test = data.split(fold.repeat, fold.fold, n_folds)
        self.X, self.Y = data.X[train], data.Y[train]
        self.X_test, self.Y_test = data.X[test], data.Y[test]
        self.nominal, self.most_neighbors = data.nominal, most_neighbors
        self._found: dict[Any, Neighborhood] = {}

    def neighborhood(self, k: int, **space: Any) -> Neighborhood:
        """Return k neighbors of every training row, from one search of the most ever needed."""
        key = tuple(sorted(space.items()))
        if key not in self._found or self._found[key].n_neighbors < k:
            self._found[key] = find_neighbors(
                self.X,
                min(max(k, self.most_neighbors), self.X.shape[0] - 1),
                categorical_features=self.nominal,
                n_jobs=1,
                **space,
            )
        return self._found[key].truncate(k)


def load_source(source: DataSource) -> StudyData:
    """Load the data that a source names."""
    data = _read(source)
    folds = None if source.folds is None else _read_folds(source, data.Y.shape[0])
    # Codes where features are nominal; learners of others want short indices, and matrices.
    X = as_matrix(narrow_indices(data.values))
    return StudyData(X, data.Y, data.categorical_features, folds)


def _read(source: DataSource) -> MultiLabelDataset:
    if source.path is not None:
        return read_file_of(source)
    if source.make is not None:
        made = source.make.build()
        return made if isinstance(made, MultiLabelDataset) else MultiLabelDataset(*made)
    return load_dataset(source.name, protocol=source.protocol)  # type: ignore[arg-type]


def _read_folds(source: DataSource, n: int) -> np.ndarray:
    table = read_folds(source)
    if table.shape[0] != n or not np.array_equal(table[:, 0], np.arange(n)):
        raise StudyError(
            f"The folds of {source.name} must list each of its {n} rows once, in order",
            f"{source.folds} has {table.shape[0]} lines, or another order",
            "Use a CSV file with the columns row, rep0, rep1, …",
        )
    return table[:, 1:]


class DatasetCache:
    """Datasets in a folder, from which any number of processes map the same memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, source: DataSource) -> bool:
        """Say whether a dataset is in the folder."""
        return self._path(source.name).exists()

    def put(self, source: DataSource, data: StudyData) -> None:
        """Write a dataset to the folder."""
        try:
            joblib.dump(data, self._path(source.name))
        except OSError as error:
            raise StudyError(
                f"Writing the data of {source.name} to {self.folder.parent} failed",
                f"{error.strerror or error}",
                "Free disk space there, or set TMPDIR to another folder; the same command resumes",
            ) from error

    def beat(self) -> None:
        """Say that the runner to whom the folder belongs is alive."""
        with suppress(OSError):
            (self.folder / _OWNER).write_text(json.dumps(asdict(Heartbeat.now())))

    def get(self, name: str) -> StudyData:
        """Map a dataset into memory."""
        return _map(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name.encode().hex()}.joblib"


@lru_cache(maxsize=2)
def _map(path: Path) -> StudyData:
    return joblib.load(path, mmap_mode="r")


@contextmanager
def open_dataset_cache() -> Iterator[DatasetCache]:
    """Yield a cache in a temporary folder, and take away those of runners that were killed."""
    _sweep(Path(gettempdir()))
    with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as folder:
        cache = DatasetCache(Path(folder))
        cache.beat()
        yield cache
        _map.cache_clear()


def _sweep(folder: Path) -> None:
    for cache in folder.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            ours = not hasattr(os, "getuid") or cache.stat().st_uid == os.getuid()
            if ours and not cache.is_symlink() and not _is_in_use(cache):
                shutil.rmtree(cache, ignore_errors=True)


def _is_in_use(cache: Path) -> bool:
    try:
        return Heartbeat(**json.loads((cache / _OWNER).read_text())).alive
    except (OSError, ValueError, TypeError):
        # Another process is making it, or was killed while making it.
        return abs(time.time() - cache.stat().st_mtime) < _DAY


def describe_datasets(study: Study) -> list[dict[str, Any]]:
    """Return n, d, q, label cardinality and MeanImR of the datasets that are on this machine.

    Nothing is downloaded; a dataset that cannot be read is left out.

    Examples
    --------
    >>> from labelance.study import describe_datasets, load_study
    >>> describe_datasets(load_study("quick").only(datasets=["small"]))
    [{'dataset': 'small', 'n': 160, 'd': ..., 'q': ..., 'LC': ..., 'MeanImR': ...}]
    """
    found = []
    for source in study.datasets:
        try:
            # Folds say nothing about the data, and may be any file.
            data = _read(source) if _is_here(source) else None
        except (LabelanceError, OSError):
            continue
        if data is not None:
            found.append(describe(source.name, data))
    return found


def describe(name: str, data: StudyData | MultiLabelDataset) -> dict[str, Any]:
    """Return the figures of a dataset; LC, of whole rows, is None where labels are unknown."""
    (n, d), q = data.X.shape, data.Y.shape[1]
    shape = {"dataset": name, "n": n, "d": d, "q": q}
    LC = None if has_unknown(data.Y) else cardinality(data.Y)
    return {**shape, "LC": LC, "MeanImR": mean_imr(data.Y)}


def known_figures(study: Study, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the figures in results, and those of datasets of the catalogue.

    What the results name, be it a function or a file, is neither called nor opened for it.
    """
    kept = {figures["dataset"]: figures for figures in about.get("datasets", ())}
    ours = [source for source in study.datasets if source.path is None and source.make is None]
    left = [source for source in ours if source.name not in kept]
    if left:
        found = describe_datasets(replace(study, datasets=tuple(left)))
        kept |= {figures["dataset"]: figures for figures in found}
    return [kept[source.name] for source in study.datasets if source.name in kept]


def _is_here(source: DataSource) -> bool:
    if source.path is not None:
        return os.path.isfile(source.path)  # Path.is_file raises for a name that is too long
    return source.make is not None or verify_dataset(source.name).files is not None
