"""Minority labels, and the bag of rows that each of them has."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from labelance.imbalance._formulas import irlbl, label_counts, mean_where_defined


def minority_labels(Y: sp.csr_array, *, at_least_mean: bool = False) -> np.ndarray:
    """Return the labels with IRLbl > MeanIR (>= with ``at_least_mean``), in column order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._bags import minority_labels
    >>> minority_labels(sp.csr_array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]))
    array([2])
    """
    ratio = irlbl(label_counts(Y))
    mean = mean_where_defined(ratio)
    # A label that no row has is nan, which is neither above nor at the mean.
    return np.flatnonzero(ratio >= mean if at_least_mean else ratio > mean)


def label_bags(Y: sp.csr_array, labels: np.ndarray) -> list[np.ndarray]:
    """Return, for each of the labels, the rows that have it, in row order."""
    by_label = Y.tocsc()
    rows, starts = by_label.indices.astype(np.int64), by_label.indptr
    return [rows[starts[label] : starts[label + 1]] for label in labels]
