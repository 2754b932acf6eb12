"""Neighbors of minority cells that are minority cells of the same label.

A *cell* is a stored position of M: cell p lies in the row that ``indptr`` tells and has
the label ``indices[p]``. Both kernels look at the k neighbors of every row once and read
their label lists, so the cost is O(k nnz(M)) and nothing is as large as n x q.
"""

import numpy as np
from numpy.typing import NDArray

from labelance._utils import kernel

Integers = NDArray[np.integer]


@kernel
def count_same_class(
    indptr: Integers, indices: Integers, neighbors: Integers, n_labels: int
) -> NDArray[np.int32]:
    """Count, for every cell, the neighbors of its row that have a cell of the same label."""
    same = np.zeros(len(indices), dtype=np.int32)
    # Where the current row has its cell of a label. What earlier rows left behind lies
    # before `start`, so there is nothing to wipe between two rows.
    cell_of = np.full(n_labels, -1, dtype=np.int64)
    for row in range(len(indptr) - 1):
        start, end = indptr[row], indptr[row + 1]
        if start == end:
            continue
        for cell in range(start, end):
            cell_of[indices[cell]] = cell
        for place in range(neighbors.shape[1]):
            neighbor = neighbors[row, place]
            for other in range(indptr[neighbor], indptr[neighbor + 1]):
                cell = cell_of[indices[other]]
                if cell >= start:
                    same[cell] += 1
    return same


@kernel
def list_same_class(
    indptr: Integers,
    indices: Integers,
    neighbors: Integers,
    n_labels: int,
    first_place: NDArray[np.int64],
) -> NDArray[np.int64]:
    """List what `count_same_class` counted, for the cells with a place in the list.

    The cells that cell p finds among its row's neighbors go to the list from
    ``first_place[p]`` on; a negative place leaves the cell out. The last entry of
    ``first_place`` is the length of the list.
    """
    found = np.empty(first_place[-1], dtype=np.int64)
    free = first_place.copy()
    cell_of = np.full(n_labels, -1, dtype=np.int64)
    for row in range(len(indptr) - 1):
        start, wanted = indptr[row], False
        for cell in range(start, indptr[row + 1]):
            if first_place[cell] >= 0:
                cell_of[indices[cell]] = cell
                wanted = True
        if not wanted:
            continue
        for place in range(neighbors.shape[1]):
            neighbor = neighbors[row, place]
            for other in range(indptr[neighbor], indptr[neighbor + 1]):
                cell = cell_of[indices[other]]
                if cell >= start:
                    found[free[cell]] = other
                    free[cell] += 1
    return found
