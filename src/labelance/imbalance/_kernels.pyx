"""The loop of ``_local``: cells of one label among neighbors."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused integer:
    int32_t
    int64_t

ctypedef fused row_number:
    int32_t
    int64_t


def visit_same_class(
    const integer[::1] indptr, const integer[::1] indices, const row_number[:, :] neighbors,
    int64_t[::1] cell_of, int64_t[::1] place, int64_t[::1] listed,
):
    """List the cells of its label that every cell finds among its row's neighbors.

    Those of cell p go to the list from ``place[p]`` on, which moves on by one for each; a
    negative place leaves the cell out. What has no room in the list is only counted.
    """
    cdef int64_t row, start, cell, t, neighbor, other
    cdef bint wanted
    # Where the current row has its cell of a label. What earlier rows left there lies
    # before `start`, so there is nothing to wipe between two rows.
    with nogil:
        for row in range(indptr.shape[0] - 1):
            start, wanted = indptr[row], False
            for cell in range(start, indptr[row + 1]):
                if place[cell] >= 0:
                    cell_of[indices[cell]] = cell
                    wanted = True
            if not wanted:
                continue
            for t in range(neighbors.shape[1]):
                neighbor = neighbors[row, t]
                for other in range(indptr[neighbor], indptr[neighbor + 1]):
                    cell = cell_of[indices[other]]
                    if cell >= start:
                        if place[cell] < listed.shape[0]:
                            listed[place[cell]] = other
                        place[cell] += 1
