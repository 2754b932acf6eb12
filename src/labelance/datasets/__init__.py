"""Multi-label data in and out: file formats, a catalogue of public datasets, generators.

A name is imported when it is first used, so that looking in here costs nothing.
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
    from labelance.datasets._protocol import apply_protocol as apply_protocol
    from labelance.datasets._protocol import drop_rare_labels as drop_rare_labels
    from labelance.datasets._protocol import keep_frequent_features as keep_frequent_features
    from labelance.datasets._registry import DatasetInfo as DatasetInfo
    from labelance.datasets.formats._read_write import read_multilabel as read_multilabel
    from labelance.datasets.formats._read_write import write_multilabel as write_multilabel
    from labelance.datasets.synthetic._figures import Figure2 as Figure2
    from labelance.datasets.synthetic._figures import make_figure1 as make_figure1
    from labelance.datasets.synthetic._figures import make_figure2 as make_figure2
    from labelance.datasets.synthetic._generator import (
        make_multilabel_imbalanced as make_multilabel_imbalanced,
    )

# Public names, and the module each lives in.
_NAMES = {
    "DatasetCheck": "labelance.datasets._catalogue",
    "DatasetFiles": "labelance.datasets._catalogue",
    "DatasetInfo": "labelance.datasets._registry",
    "DatasetTable": "labelance.datasets._catalogue",
    "MultiLabelDataset": "labelance.datasets._dataset",
    "apply_protocol": "labelance.datasets._protocol",
    "dataset_info": "labelance.datasets._catalogue",
    "drop_rare_labels": "labelance.datasets._protocol",
    "fetch_dataset": "labelance.datasets._catalogue",
    "get_data_home": "labelance.datasets._catalogue",
    "keep_frequent_features": "labelance.datasets._protocol",
    "list_datasets": "labelance.datasets._catalogue",
    "load_dataset": "labelance.datasets._catalogue",
    "verify_dataset": "labelance.datasets._catalogue",
    "read_multilabel": "labelance.datasets.formats._read_write",
    "write_multilabel": "labelance.datasets.formats._read_write",
    "Figure2": "labelance.datasets.synthetic._figures",
    "make_figure1": "labelance.datasets.synthetic._figures",
    "make_figure2": "labelance.datasets.synthetic._figures",
    "make_multilabel_imbalanced": "labelance.datasets.synthetic._generator",
}

__all__ = [*_NAMES]


# Hidden from type checkers, for which it would make every misspelt name look right.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _NAMES:
            value = globals()[name] = getattr(import_module(_NAMES[name]), name)
            return value
        raise AttributeError(f"module 'labelance.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
