"""Multi-label data in and out: file formats, a catalogue of public datasets, generators.

A name is imported when it is first used: listing the catalogue does not wait for the readers.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelance.datasets._catalogue import DatasetCheck as DatasetCheck
    from labelance.datasets._catalogue import DatasetFiles as DatasetFiles
    from labelance.datasets._catalogue import DatasetTable as DatasetTable
    from labelance.datasets._catalogue import dataset_info as dataset_info
    from labelance.datasets._catalogue import fetch_dataset as fetch_dataset
    from labelance.datasets._catalogue import get_data_home as get_data_home
    from labelance.datasets._catalogue import list_datasets as list_datasets
    from labelance.datasets._catalogue import load_dataset as load_dataset
    from labelance.datasets._catalogue import verify_dataset as verify_dataset
    from labelance.datasets._dataset import MultiLabelDataset as MultiLabelDataset
    from labelance.datasets._multi_class import MultiClassReduction as MultiClassReduction
    from labelance.datasets._protocol import apply_protocol as apply_protocol
    from labelance.datasets._protocol import drop_rare_labels as drop_rare_labels
    from labelance.datasets._protocol import keep_frequent_features as keep_frequent_features
    from labelance.datasets._registry import DatasetInfo as DatasetInfo
    from labelance.datasets.formats import read_multilabel as read_multilabel
    from labelance.datasets.formats import write_multilabel as write_multilabel
    from labelance.datasets.synthetic import Figure2 as Figure2
    from labelance.datasets.synthetic import make_figure1 as make_figure1
    from labelance.datasets.synthetic import make_figure2 as make_figure2
    from labelance.datasets.synthetic import (
        make_multilabel_imbalanced as make_multilabel_imbalanced,
    )

# The public names, by the module that each lives in.
_PUBLIC = {
    "_catalogue": (
        "DatasetCheck",
        "DatasetFiles",
        "DatasetTable",
        "dataset_info",
        "fetch_dataset",
        "get_data_home",
        "list_datasets",
        "load_dataset",
        "verify_dataset",
    ),
    "_dataset": ("MultiLabelDataset",),
    "_multi_class": ("MultiClassReduction",),
    "_protocol": (
        "apply_protocol",
        "drop_rare_labels",
        "keep_frequent_features",
    ),
    "_registry": ("DatasetInfo",),
    "formats": (
        "read_multilabel",
        "write_multilabel",
    ),
    "synthetic": (
        "Figure2",
        "make_figure1",
        "make_figure2",
        "make_multilabel_imbalanced",
    ),
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [name for names in _PUBLIC.values() for name in names]


# Hidden from type checkers, for which it would make every misspelt name look right.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _MODULES:
            module = import_module(f"labelance.datasets.{_MODULES[name]}")
            value = globals()[name] = getattr(module, name)
            return value
        raise AttributeError(f"module 'labelance.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
