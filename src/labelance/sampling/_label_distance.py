"""How much the labelsets of two rows differ, between 0 (equal) and 1 (nothing in common).

Both distances count the labels that only one of the two rows has. The adjusted Hamming
distance divides by the sizes of the two labelsets together, the Jaccard distance by the
size of their union. Two rows without labels are at distance 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from labelance._utils import kernel

LabelDistance = Literal["hamming", "jaccard"]


def label_distances(
    Y: sp.csr_array, rows: np.ndarray, others: np.ndarray, kind: LabelDistance
) -> np.ndarray:
    """Return the distance between the labelsets of ``rows[t]`` and ``others[t, p]``.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Clean labels.
    rows : ndarray of int of shape (m,)
        Row numbers.
    others : ndarray of int of shape (m, k)
        Row numbers of whom each of them is compared with.
    kind : {"hamming", "jaccard"}
        What the number of different labels is divided by.
    """
    shared = _count_shared(
        Y.indptr, Y.indices, rows.astype(np.int64), np.array(others, dtype=np.int64)
    )
    sizes = np.diff(Y.indptr)
    both = sizes[rows][:, np.newaxis] + sizes[others]
    largest = both if kind == "hamming" else both - shared
    return np.divide(both - 2 * shared, largest, out=np.zeros(both.shape), where=largest > 0)


@kernel
def _count_shared(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Count the labels that two rows have in common, by merging their sorted lists."""
    shared = np.zeros(others.shape, dtype=np.int64)
    for t in range(others.shape[0]):
        for p in range(others.shape[1]):
            a, a_end = indptr[rows[t]], indptr[rows[t] + 1]
            b, b_end = indptr[others[t, p]], indptr[others[t, p] + 1]
            while a < a_end and b < b_end:
                if indices[a] == indices[b]:
                    shared[t, p] += 1
                a, b = a + (indices[a] <= indices[b]), b + (indices[b] <= indices[a])
    return shared
