"""The datasets of a study in figures: the paper's Table 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from labelance.datasets import verify_dataset
from labelance.exceptions import LabelanceError
from labelance.imbalance import cardinality, mean_imr
from labelance.study._design import DataSource
from labelance.study._folds import StudyData, load
from labelance.study._study import Study


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
            data = load(source) if _is_here(source) else None
        except (LabelanceError, OSError):
            continue
        if data is not None:
            found.append(describe(source.name, data))
    return found


def describe(name: str, data: StudyData) -> dict[str, Any]:
    """Return the figures of a dataset."""
    (n, d), q = data.X.shape, data.Y.shape[1]
    shape = {"dataset": name, "n": n, "d": d, "q": q}
    return {**shape, "LC": cardinality(data.Y), "MeanImR": mean_imr(data.Y)}


def known_figures(study: Study, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the figures that came with results, and those of datasets of the catalogue.

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
        return Path(source.path).is_file()
    return source.make is not None or verify_dataset(source.name).files is not None
