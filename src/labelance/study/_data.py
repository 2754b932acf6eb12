"""Datasets of a study: loaded once, cached for workers, split into folds, described."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelance._arrays._labels import has_unknown
from labelance._arrays._sparse import as_matrix, narrow_indices
from labelance.datasets import MultiLabelDataset, load_dataset, verify_dataset
from labelance.exceptions import LabelanceError, StudyError
from labelance.imbalance import cardinality, mean_imr
from labelance.model_selection import IterativeStratifiedKFold
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.study._design import DataSource, read_file_of
from labelance.study._study import Fold, Study, read_folds


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
                problem = f"Folds must be numbered 0 to {n_folds - 1} in every repetition"
                raise StudyError(problem, f"Repetition {repeat} has {np.unique(column).tolist()}")
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
    folds = None if source.folds is None else read_folds(source)
    if folds is not None and len(folds) != data.Y.shape[0]:
        problem = f"The folds of {source.name} must list each of its {data.Y.shape[0]} rows once"
        raise StudyError(problem, f"{source.folds} has {len(folds)} lines")
    # Codes where features are nominal; learners of others want short indices, and matrices.
    X = as_matrix(narrow_indices(data.values))
    return StudyData(X, data.Y, data.categorical_features, folds if folds is None else folds[:, 1:])


def _read(source: DataSource) -> MultiLabelDataset:
    if source.path is not None:
        return read_file_of(source)
    if source.make is not None:
        made = source.make.build()
        return made if isinstance(made, MultiLabelDataset) else MultiLabelDataset(*made)
    return load_dataset(source.name, protocol=source.protocol)  # type: ignore[arg-type]


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
