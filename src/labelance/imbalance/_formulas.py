"""The formulas of the measures, on clean labels: one pass over the ones of Y each.

Input is validated already. ``Y`` is a CSR array of ones with sorted indices; ``counts`` are the
ones per label (``column_counts``), so that a caller with many measures to take counts only once.
A measure that a label does not have is nan, and nan is left out of every mean.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def irlbl(counts: Counts) -> Floats:
    """Divide the most frequent label's count by each label's own."""
    return _divide(np.float64(counts.max(initial=0)), counts)


def imr(counts: Counts, n_rows: int) -> Floats:
    """Divide, within each label, the majority class by the minority class."""
    return _divide(np.maximum(counts, n_rows - counts), np.minimum(counts, n_rows - counts))


def mean_where_defined(values: Floats) -> float:
    """Average the values that are not nan; nan if there is none.

    The sum is rounded once, so the order of the labels cannot move a label that is exactly at
    the mean above it.
    """
    defined = values[~np.isnan(values)].tolist()
    return math.fsum(defined) / len(defined) if defined else math.nan


def variation(values: Floats) -> float:
    """Sample standard deviation over mean, of the values that are not nan."""
    defined = values[~np.isnan(values)]
    if defined.size < 2 or defined.mean() == 0:
        return float("nan")
    return float(defined.std(ddof=1) / defined.mean())


def scumble_instances(Y: csr_array, counts: Counts) -> Floats:
    """One minus geometric over arithmetic mean of IRLbl, over the labels of each row.

    The quotient does not depend on the scale of IRLbl, so it is taken relative to the
    rarest label of the row: labels of equal count then give exactly 1, and SCUMBLE
    exactly 0, without rounding. Sums of logarithms, for a product would overflow. They are
    taken from the rarest label on, so that rows of equal counts have equal values, whatever
    columns these are in.
    """
    sizes = np.diff(Y.indptr)
    some = sizes > 0
    starts, sizes = Y.indptr[:-1][some], sizes[some]
    result = np.zeros(Y.shape[0])
    if starts.size:
        frequency = _sorted_in_rows(counts, Y).astype(np.float64)
        relative = np.repeat(frequency[starts], sizes) / frequency
        geometric = np.exp(np.add.reduceat(np.log(relative), starts) / sizes)
        arithmetic = np.add.reduceat(relative, starts) / sizes
        result[some] = np.maximum(1.0 - geometric / arithmetic, 0.0)
    return result


def scumble_labels(Y: csr_array, counts: Counts, instances: Floats) -> Floats:
    """Average SCUMBLE over the rows of each label."""
    of_cells = np.repeat(instances, np.diff(Y.indptr))
    return _divide(np.bincount(Y.indices, weights=of_cells, minlength=Y.shape[1]), counts)


def _sorted_in_rows(counts: Counts, Y: csr_array) -> Counts:
    """Return the count of each one of Y, row by row, in every row the smallest first."""
    by_count = np.argsort(counts, kind="stable")
    rank = np.empty_like(by_count)
    rank[by_count] = np.arange(len(counts))
    ranked = csr_array((Y.data, rank[Y.indices], Y.indptr), shape=Y.shape)
    ranked.has_sorted_indices = False
    ranked.sort_indices()
    return counts[by_count][ranked.indices]


def tcs(n_features: int, n_labels: int, n_labelsets: int) -> float:
    """Logarithm of features times labels times labelsets."""
    return float(np.log(n_features) + np.log(n_labels) + np.log(n_labelsets))


def _divide(above: np.float64 | Counts | Floats, below: Counts) -> Floats:
    """Divide, with nan where there is nothing to divide by."""
    result = np.full(below.shape, np.nan)
    np.divide(above, below, out=result, where=below > 0)
    return result
