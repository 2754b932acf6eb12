"""What all displays share: where they are drawn, and how a label is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelance._arrays._containers import column_counts
from labelance._utils._messages import optional_import, unknown_name
from labelance._validation._arguments import check_label_names
from labelance._validation._data import Labels
from labelance.imbalance._measures import rarest_first


class Display:
    """Base of the displays: where they are drawn."""

    ax_: Any
    figure_: Any

    def _open(self, ax: Any, *, size: tuple[float, float]) -> Any:
        """Set ``ax_`` and ``figure_``: the axes given, or those of a new figure."""
        if ax is None:
            pyplot = optional_import(
                "matplotlib.pyplot", extra="plots", purpose=type(self).__name__
            )
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def write_numbers(axis: Any) -> None:
    """Write 1, 10, 100 on a log axis, instead of powers of ten."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    axis.set_minor_formatter(lambda *_: "")


def name_labels(labels: Labels, given: Sequence[Any] | None, caller: str) -> tuple[Any, ...]:
    """Return the names given, those of a frame, or the column numbers."""
    q = labels.Y.shape[1]
    names = given if given is not None else labels.names or range(q)
    return check_label_names(names, q, caller=caller)


def find_label(label: Any, names: Sequence[Any], caller: str) -> int:
    """Return the number of a label by its name, or by the number itself."""
    if label in names:
        return list(names).index(label)
    if isinstance(label, int | np.integer) and 0 <= label < len(names):
        return int(label)
    raise unknown_name("label", label, names, caller)


def rarest_label(labels: Labels) -> int:
    return int(rarest_first(column_counts(labels.Y))[0])
