"""Multi-label data in and out: file formats, a catalogue of public datasets, generators.

A name is imported when it is first used, so that looking in here costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labelance.datasets._dataset import MultiLabelDataset as MultiLabelDataset
    from labelance.datasets._figure1 import make_figure1 as make_figure1

# Public names, and the module each lives in.
_NAMES = {
    "MultiLabelDataset": "labelance.datasets._dataset",
    "make_figure1": "labelance.datasets._figure1",
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
