"""Multi-label data in and out: file formats, a catalogue of public datasets, generators.

A name is imported when it is first used, so that looking in here costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelance.datasets._dataset import MultiLabelDataset as MultiLabelDataset
    from labelance.datasets.formats._read import read_multilabel as read_multilabel
    from labelance.datasets.synthetic._figure1 import make_figure1 as make_figure1
    from labelance.datasets.synthetic._generator import (
        make_multilabel_imbalanced as make_multilabel_imbalanced,
    )

# Public names, and the module each lives in.
_NAMES = {
    "MultiLabelDataset": "labelance.datasets._dataset",
    "read_multilabel": "labelance.datasets.formats._read",
    "make_figure1": "labelance.datasets.synthetic._figure1",
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
