"""What a profile holds, for those who draw it as text and as a page."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._validation._categorical import CategoricalFeatures
from labelance.imbalance._local import HasIndices, LabelType, LocalDistribution
from labelance.neighbors._metric import Metric, Scale


@dataclass(frozen=True, eq=False)
class ProfiledData:
    """What a profile was made of.

    Attributes
    ----------
    X : array, sparse matrix, data frame or None
        The features as given.
    Y : csr_array
        Clean labels.
    unknown : csr_array or None
        Ones at cells that are not known; None if all are.
    categorical_features
        The nominal columns, as the caller named them.
    feature_names : tuple or None
        Names of the columns of X, where it has none itself.
    scale, metric
        How neighbors were searched.
    rows : ndarray or None
        The rows that neighbors were searched among; None means all.
    neighborhood : object with ``indices``, or None
        The neighbors of these rows.
    local : LocalDistribution or None
        The types of their minority cells.
    """

    X: Any
    Y: csr_array
    unknown: csr_array | None
    categorical_features: CategoricalFeatures
    feature_names: tuple[Any, ...] | None
    scale: Scale
    metric: Metric
    rows: NDArray[np.intp] | None
    neighborhood: HasIndices | None
    local: LocalDistribution | None


@dataclass(frozen=True, eq=False, repr=False)
class ProfileValues:
    """The measures of a dataset; :class:`ImbalanceProfile` says what each of them is."""

    n_samples: int
    n_features: int | None
    n_labels: int
    cardinality: float
    density: float
    n_labelsets: float
    share_single_labelsets: float
    mean_ir: float
    cvir: float
    mean_imr: float
    scumble: float
    scumble_cv: float
    tcs: float | None
    n_neighbors: int | None
    n_searched: int | None
    label_names: tuple[Any, ...]
    label_counts: NDArray[np.int64]
    n_unknown: NDArray[np.int64]
    irlbl: NDArray[np.float64]
    imr: NDArray[np.float64]
    scumble_labels: NDArray[np.float64]
    minority_value: NDArray[np.int8]
    type_counts: NDArray[np.int64] | None
    # What the page looks at once more, kept as given; the numbers above are all a user needs.
    _data: ProfiledData | None = field(repr=False)
    read_as: str | None = None

    @property
    def constant_labels(self) -> tuple[Any, ...]:
        """The names of the labels that no row is known to have, or all known rows have."""
        known = self.n_samples - self.n_unknown
        constant = (self.label_counts == 0) | (self.label_counts == known)
        return tuple(self.label_names[j] for j in np.flatnonzero(constant & (known > 0)))

    @property
    def unknown_labels(self) -> tuple[Any, ...]:
        """The names of the labels of which no row is known."""
        return tuple(self.label_names[j] for j in np.flatnonzero(self.n_unknown == self.n_samples))

    @property
    def type_shares(self) -> dict[str, float] | None:
        """The share of safe, borderline, rare and outlier among all minority cells."""
        if self.type_counts is None:
            return None
        counts, total = self.type_counts.sum(axis=0), self.type_counts.sum()
        return {
            kind.name.lower(): float(count / total) if total else math.nan
            for kind, count in zip(LabelType, counts)
        }

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The table of labels, as a column of values under each name."""
        table: dict[str, NDArray[Any]] = {
            "count": self.label_counts,
            **({"unknown": self.n_unknown} if self.n_unknown.any() else {}),
            "IRLbl": self.irlbl,
            "ImR": self.imr,
            "SCUMBLE": self.scumble_labels,
            "minority": self.minority_value,
        }
        if self.type_counts is not None:
            table |= {kind.abbreviation: self.type_counts[:, kind - 1] for kind in LabelType}
        return table
