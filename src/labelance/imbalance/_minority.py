"""The minority class of every label, and the sparse matrix M of minority cells."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils import kernel
from labelance.imbalance._formulas import label_counts

Integers = NDArray[np.integer]


def minority_values(Y: csr_array) -> NDArray[np.int8]:
    """Return the rarer of the values 0 and 1 of every label; a tie makes it 1."""
    return (2 * label_counts(Y) <= Y.shape[0]).astype(np.int8)


def minority_matrix(Y: csr_array, values: NDArray[np.int8]) -> csr_array:
    """Mark the cells of Y that hold their label's minority value.

    Where the minority value is 1 the column of M is Y's, elsewhere it is 1 - Y. So row i
    of M is the symmetric difference of row i of Y and the set of *flipped* labels, those
    whose minority value is 0. A flipped column has more ones than zeros, so M never has
    more cells than Y.
    """
    flipped = np.flatnonzero(values == 0)
    if not flipped.size:
        return csr_array((np.ones(Y.nnz, np.int8), Y.indices, Y.indptr), shape=Y.shape)
    is_flipped = np.zeros(Y.shape[1], dtype=np.int64)
    is_flipped[flipped] = 1
    shared = np.concatenate(([0], np.cumsum(is_flipped[Y.indices])))[Y.indptr]
    sizes = np.diff(Y.indptr) + flipped.size - 2 * np.diff(shared)
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(Y.indptr.dtype)
    indices = _symmetric_difference(Y.indptr, Y.indices, flipped.astype(Y.indices.dtype), indptr)
    return csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=Y.shape)


@kernel
def _symmetric_difference(
    indptr: Integers, indices: Integers, flipped: Integers, new_indptr: Integers
) -> Integers:
    """Merge each sorted row with the sorted flipped labels, keeping what only one has."""
    merged = np.empty(new_indptr[-1], dtype=indices.dtype)
    out = 0
    for row in range(len(indptr) - 1):
        here, end = indptr[row], indptr[row + 1]
        for label in flipped:
            while here < end and indices[here] < label:
                merged[out] = indices[here]
                here, out = here + 1, out + 1
            if here < end and indices[here] == label:
                here += 1
            else:
                merged[out] = label
                out += 1
        while here < end:
            merged[out] = indices[here]
            here, out = here + 1, out + 1
    return merged
