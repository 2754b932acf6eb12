"""``label_weight``: what the cells of a label weigh in the fit of its classifier."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance._arrays._containers import column_counts
from labelance._utils._compat import StrOptions
from labelance._utils._messages import unknown_name
from labelance._validation._arguments import Weights
from labelance._validation._data import Labels, known_cells
from labelance.exceptions import InputError
from labelance.sampling._weights import label_weights

Floats = NDArray[np.float64]
LABEL_WEIGHT: dict[str, list[Any]] = {
    "label_weight": [StrOptions({"balanced"}), callable, "array-like", None]
}


@dataclass(frozen=True, eq=False)
class LabelWeights:
    """Weights (q, 2) of the absence and presence of every label, or (n, q) of all cells."""

    values: Floats
    of_cells: bool

    def take(self, label: int) -> LabelWeights:
        """Return the weights of one label."""
        at = np.s_[:, [label]] if self.of_cells else np.s_[[label]]
        return replace(self, values=self.values[at])

    def times(self, weight: Weights, label: int, rows: Any, present: Any) -> Weights:
        """Return the weights of some rows times those of their cells; None if all are 1."""
        own = self.values[rows, label] if self.of_cells else self.values[label, present]
        if (own == 1).all():
            return weight
        return own if weight is None else weight * own


def find_label_weights(wanted: Any, labels: Labels, *, caller: str) -> LabelWeights | None:
    """Return the weights that ``label_weight`` asks for; None if all are 1."""
    if isinstance(wanted, str):
        wanted = label_weights
    n, q = labels.Y.shape
    given = wanted(labels.table) if callable(wanted) else wanted
    if hasattr(given, "keys") and getattr(given, "ndim", 1) == 1:  # a dict, or a Series of pandas
        given = _by_number(dict(given), q, labels.names or (), caller)
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"label_weight of {caller} must hold numbers", f"It does not ({error})"
        ) from error
    if values.shape not in ((q,), (q, 2), (n, q)):
        raise InputError(
            f"label_weight of {caller} must hold one or two weights per label, or one per cell",
            f"It has shape {values.shape}, and y has {n} rows of weight > 0 and {q} labels",
            "Pass a function of y where rows vary, as in cross-validation" * (values.ndim == 2),
        )
    if values.ndim == 1:
        values = np.column_stack([np.ones(q), values])
    of_cells = values.shape != (q, 2)
    ones = column_counts(labels.Y)
    learned = (ones > 0) & (ones < labels.n_known)  # a ratio of the others may be infinite
    used = values[:, learned] if of_cells else values[learned]
    if of_cells and labels.unknown is not None:
        used = used[known_cells(labels.unknown, learned)]
    if not (np.isfinite(used).all() and (used > 0).all()):
        raise InputError(
            f"label_weight of {caller} must hold finite numbers > 0",
            "Some are 0, negative, missing or infinite",
            "To leave a cell out, mark it as unknown: NaN in y",
        )
    return None if (used == 1).all() else LabelWeights(values, of_cells)


def _by_number(given: Mapping[Any, Any], q: int, names: Iterable[Any], caller: str) -> list[Any]:
    """Return weights of absence and presence in the order of labels, 1 where there are none."""
    number = {j: j for j in range(q)} | {name: j for j, name in enumerate(names)}
    weights: list[Any] = [(1, 1)] * q
    for label, weight in given.items():
        if label not in number:
            raise unknown_name("label", label, names or range(q), f"label_weight of {caller}")
        of_classes = weight if isinstance(weight, Mapping) else {1: weight}
        weights[number[label]] = of_classes.get(0, 1), of_classes.get(1, 1)
    return weights
