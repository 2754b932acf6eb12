"""The loop of ``_rank_counts``."""

from cython cimport floating
from libc.stdint cimport int32_t, int64_t

import numpy as np


def count_around(
    const floating[:, ::1] ordered, const floating[::1] values,
    const Py_ssize_t[:, ::1] order, const int64_t[::1] indptr,
):
    """Walk up each sorted group and its sorted relevant values together."""
    counts = np.empty((4, values.shape[0]), dtype=np.int32)  # half the memory to write and read
    cdef int32_t[:, ::1] found = counts
    cdef Py_ssize_t size = ordered.shape[1]
    cdef Py_ssize_t g, first, relevant, below, lower, upper, up_to, tied, cell
    cdef floating value
    with nogil:
        for g in range(ordered.shape[0]):
            first = indptr[g]
            relevant = indptr[g + 1] - first
            below = lower = 0
            while lower < relevant:
                value = values[first + order[g, lower]]
                upper = lower + 1
                while upper < relevant and values[first + order[g, upper]] == value:
                    upper += 1
                while ordered[g, below] < value:
                    below += 1
                up_to = below
                while up_to < size and ordered[g, up_to] == value:
                    up_to += 1
                for tied in range(lower, upper):
                    cell = first + order[g, tied]
                    found[0, cell] = <int32_t>(size - below)
                    found[1, cell] = <int32_t>(size - up_to)
                    found[2, cell] = <int32_t>(relevant - lower)
                    found[3, cell] = <int32_t>(relevant - upper)
                below = up_to
                lower = upper
    return counts
