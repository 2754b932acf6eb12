"""New sparse rows between pairs of rows."""

from cython cimport floating
from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

ctypedef fused integer:
    int32_t
    int64_t

cdef struct Walk:  # up the stored cells of two rows together
    int64_t p
    int64_t p_end
    int64_t r
    int64_t r_end


cdef inline Walk begin(const int64_t[::1] indptr, int64_t seed, int64_t reference) noexcept nogil:
    cdef Walk walk
    walk.p, walk.p_end = indptr[seed], indptr[seed + 1]
    walk.r, walk.r_end = indptr[reference], indptr[reference + 1]
    return walk


cdef inline int64_t step(
    Walk* walk, const floating[::1] data, const integer[::1] indices, double* a, double* b
) noexcept nogil:
    """Give the next feature of either row, and both values; -1 where there is none."""
    cdef int64_t f
    a[0], b[0] = 0.0, 0.0
    if walk.p < walk.p_end and (walk.r == walk.r_end or indices[walk.p] <= indices[walk.r]):
        f = indices[walk.p]
    elif walk.r < walk.r_end:
        f = indices[walk.r]
    else:
        return -1
    if walk.p < walk.p_end and indices[walk.p] == f:
        a[0] = data[walk.p]
        walk.p += 1
    if walk.r < walk.r_end and indices[walk.r] == f:
        b[0] = data[walk.r]
        walk.r += 1
    return f


cdef inline bint wants_number(double a, double b, bint nominal, bint line) noexcept nogil:
    return not (isnan(a) or isnan(b)) and a != b and (nominal or not line)


cdef inline double between(double a, double b, double u, bint nominal) noexcept nogil:
    """Return the value at position u between a and b (a coin if nominal)."""
    cdef double value
    if isnan(a) or isnan(b):
        if nominal:
            return b if isnan(a) else a
        return NAN
    if a == b:
        return a
    if nominal:
        return a if u < 0.5 else b
    value = a + u * (b - a)
    return min(max(value, min(a, b)), max(a, b))  # rounding may step over an end by the last digit


def count_sparse(
    const floating[::1] data, const integer[::1] indices, const int64_t[::1] indptr,
    const int64_t[::1] seeds, const int64_t[::1] references, const uint8_t[::1] categorical,
    bint line,
):
    """Return where each row's random numbers begin, and the most values that all rows may have."""
    offsets = np.zeros(seeds.shape[0] + 1, dtype=np.int64)
    cdef int64_t[::1] found = offsets
    cdef int64_t union = 0, needed, t, f
    cdef double a, b
    cdef Walk walk
    with nogil:
        for t in range(seeds.shape[0]):
            needed = line
            walk = begin(indptr, seeds[t], references[t])
            f = step(&walk, data, indices, &a, &b)
            while f >= 0:
                union += 1
                needed += wants_number(a, b, categorical[f], line)
                f = step(&walk, data, indices, &a, &b)
            found[t + 1] = found[t] + needed
    return offsets, union


def fill_sparse(
    const floating[::1] data, const integer[::1] indices, const int64_t[::1] indptr,
    const int64_t[::1] seeds, const int64_t[::1] references, const uint8_t[::1] categorical,
    bint line, const double[::1] numbers, int64_t start, int64_t stop, floating[::1] new_data,
    integer[::1] new_indices, int64_t[::1] new_indptr,
):
    """Fill the new rows ``start`` to ``stop``, each from the end of the one before."""
    cdef int64_t position = 0, end = new_indptr[start], t, f
    cdef double a, b, along, u, value
    cdef Walk walk
    with nogil:
        for t in range(start, stop):
            along = 0.0
            if line:
                along = numbers[position]
                position += 1
            walk = begin(indptr, seeds[t], references[t])
            f = step(&walk, data, indices, &a, &b)
            while f >= 0:
                u = along
                if wants_number(a, b, categorical[f], line):
                    u = numbers[position]
                    position += 1
                value = between(a, b, u, categorical[f])
                if value != 0:
                    new_data[end] = <floating>value
                    new_indices[end] = <integer>f
                    end += 1
                f = step(&walk, data, indices, &a, &b)
            new_indptr[t + 1] = end
