"""Drawing rows for IRUS and COCOA, and the climb of a split of SOSHF."""

from libc.math cimport exp, fabs, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


def deal_majority(
    const int64_t[::1] indptr, const int64_t[::1] indices, const int64_t[::1] out_indptr,
    const int64_t[::1] out_indices, int64_t n, const int64_t[::1] wanted, int64_t n_members,
    const double[::1] chance,
):
    """List every member's rows: those of the minority, then ``wanted`` others, dealt at random.

    The majority is shuffled as it is dealt, and dealt again when it is used up. Rows that a member
    has from the deal before lie at the end of the pool, and are left out until it is complete. The
    columns of ``out_indices`` list the rows that are no majority rows.
    """
    cdef int64_t q = wanted.shape[0], total = 0, at = 0, used = 0
    cdef int64_t j, i, k, size, dealt, begin, held, chosen
    for j in range(q):
        total += n_members * (indptr[j + 1] - indptr[j] + wanted[j])
    all_rows, are_rare = np.empty(total, np.int32), np.zeros(total, np.uint8)
    cdef int32_t[::1] rows = all_rows, pool = np.empty(n + 1, np.int32)
    cdef uint8_t[::1] is_rare = are_rare, out = np.zeros(n, np.uint8)
    with nogil:
        for j in range(q):
            for i in range(out_indptr[j], out_indptr[j + 1]):
                out[out_indices[i]] = True
            size = 0
            for i in range(n):
                pool[size] = <int32_t>i
                size += not out[i]
            dealt = 0
            for k in range(n_members):
                for i in range(indptr[j], indptr[j + 1]):
                    rows[at], is_rare[at] = <int32_t>indices[i], True
                    at += 1
                begin, held = dealt, 0
                for i in range(wanted[j]):
                    if dealt == size - held:
                        held = size - begin if held == 0 else held
                        dealt = 0
                    chosen = dealt + <int64_t>(chance[used] * (size - held - dealt))
                    used += 1
                    pool[dealt], pool[chosen] = pool[chosen], pool[dealt]
                    rows[at] = pool[dealt]
                    at += 1
                    dealt += 1
            for i in range(out_indptr[j], out_indptr[j + 1]):
                out[out_indices[i]] = False
    return all_rows, are_rare.view(np.bool_)


def draw_balanced(
    const int64_t[::1] indptr, const int64_t[::1] indices, const int64_t[::1] hole_indptr,
    const int64_t[::1] hole_indices, int64_t n, const int64_t[::1] label,
    const int64_t[::1] other, const int64_t[::1] wanted, const double[::1] chance,
):
    """Draw ``wanted`` rows of every class of every problem, without replacement.

    The classes of a couple are neither label, the ``other`` only, and the label; those of a label
    alone, whose other is negative, absence and presence. Rows with a hole have no class.
    """
    all_rows, all_classes = np.empty(chance.shape[0], np.int32), np.empty(chance.shape[0], np.int32)
    cdef int32_t[::1] rows = all_rows, classes = all_classes
    cdef int32_t[::1] member = np.zeros(n, np.int32), pool = np.empty(n + 1, np.int32)
    cdef int64_t at = 0, p, i, t, size, chosen
    cdef int32_t last, c
    with nogil:
        for p in range(label.shape[0]):
            last = 1 if other[p] < 0 else 2
            member[:] = 0
            if last == 2:
                for i in range(indptr[other[p]], indptr[other[p] + 1]):
                    member[indices[i]] = 1
            for i in range(indptr[label[p]], indptr[label[p] + 1]):
                member[indices[i]] = last
            if last == 2:
                for i in range(hole_indptr[other[p]], hole_indptr[other[p] + 1]):
                    member[hole_indices[i]] = -1
            for i in range(hole_indptr[label[p]], hole_indptr[label[p] + 1]):
                member[hole_indices[i]] = -1
            for c in range(last + 1):
                size = 0
                for i in range(n):
                    pool[size] = <int32_t>i
                    size += member[i] == c
                for t in range(min(wanted[p], size)):
                    chosen = t + <int64_t>(chance[at] * (size - t))
                    pool[t], pool[chosen] = pool[chosen], pool[t]
                    rows[at], classes[at] = pool[t], c
                    at += 1
    return all_rows, all_classes


# SOSHF


def project(const double[:, :] X, const double[::1] a):
    """Return ``X @ a``, added up in the order of features, as the forest does for new rows."""
    along = np.empty(X.shape[0])
    cdef double[::1] found = along
    with nogil:
        write_projection(X, a, found)
    return along


cdef void write_projection(
    const double[:, :] X, const double[::1] a, double[::1] along
) noexcept nogil:
    cdef Py_ssize_t i, f
    cdef double total
    for i in range(X.shape[0]):
        total = 0.0
        for f in range(a.shape[0]):
            if a[f] != 0:
                total += a[f] * X[i, f]
        along[i] = total


def gradient_ascent(
    const double[:, ::1] Z, const uint8_t[::1] plus, const double[::1] weight, double[::1] a,
    double l1, double steepness, int64_t steps, int64_t halvings, double tolerance,
):
    """Move ``a`` uphill by proximal gradient steps with backtracking; return the objective."""
    cdef double[::1] along = np.empty(Z.shape[0]), soft = np.empty(Z.shape[0])
    cdef double[::1] trial = np.empty(a.shape[0]), slope = np.empty(a.shape[0])
    cdef double b = 0.0, step = 1.0, value, reached, d_plus, d_minus, e_plus, e_minus
    cdef double slope_b, trial_b
    cdef bint moved
    cdef Py_ssize_t i, k, halving
    with nogil:
        write_projection(Z, a, along)
        for i in range(Z.shape[0]):
            b += along[i] * weight[i] / 2  # the midpoint of the projected class means
        value, d_plus, d_minus = soft_hellinger(along, b, plus, weight, steepness, soft)
        value -= l1 * size_of(a)
        for k in range(steps):
            slope_b = write_slopes(Z, plus, weight, steepness, soft, d_plus, d_minus, slope)
            moved = False
            for halving in range(halvings):
                take_step(a, slope, step, l1, trial)
                trial_b = b + step * slope_b
                write_projection(Z, trial, along)
                reached, e_plus, e_minus = soft_hellinger(
                    along, trial_b, plus, weight, steepness, soft
                )
                reached -= l1 * size_of(trial)
                if reached > value + tolerance:
                    moved = True
                    break
                step /= 2
            if not moved:
                break
            a[:] = trial
            b, value = trial_b, reached
            d_plus, d_minus = e_plus, e_minus
            step *= 2
    return value


cpdef (double, double, double) soft_hellinger(
    const double[::1] along, double b, const uint8_t[::1] plus, const double[::1] weight,
    double steepness, double[::1] soft,
) noexcept nogil:
    """Write g = sigmoid(beta (a x - b)); return H and its slopes in the shares r+ and r-."""
    cdef double right_plus = 0.0, right_minus = 0.0, p, m, right, left, H
    cdef Py_ssize_t i
    for i in range(along.shape[0]):
        soft[i] = 1 / (1 + exp(-steepness * (along[i] - b)))
        if plus[i]:
            right_plus += weight[i] * soft[i]
        else:
            right_minus += weight[i] * soft[i]
    p = min(max(right_plus, 1e-12), 1 - 1e-12)
    m = min(max(right_minus, 1e-12), 1 - 1e-12)
    right, left = sqrt(p) - sqrt(m), sqrt(1 - p) - sqrt(1 - m)
    H = sqrt(right * right + left * left)
    if H < 1e-12:
        return 0.0, 0.0, 0.0
    return (
        H,
        (sqrt((1 - m) / (1 - p)) - sqrt(m / p)) / (2 * H),
        (sqrt((1 - p) / (1 - m)) - sqrt(p / m)) / (2 * H),
    )


cdef double write_slopes(
    const double[:, ::1] Z, const uint8_t[::1] plus, const double[::1] weight, double steepness,
    const double[::1] soft, double by_plus, double by_minus, double[::1] slope,
) noexcept nogil:
    """Write the slope of H in a; return that in b."""
    cdef double slope_b = 0.0, pull
    cdef Py_ssize_t i, f
    slope[:] = 0.0
    for i in range(Z.shape[0]):
        pull = (by_plus if plus[i] else by_minus) * weight[i] * steepness * soft[i] * (1 - soft[i])
        for f in range(slope.shape[0]):
            slope[f] += pull * Z[i, f]
        slope_b -= pull
    return slope_b


cdef void take_step(
    const double[::1] a, const double[::1] slope, double step, double l1, double[::1] out
) noexcept nogil:
    """Take a step, pull every coefficient to 0 by its price, and all into the unit ball."""
    cdef double length = 0.0, to
    cdef Py_ssize_t f
    for f in range(a.shape[0]):
        to = a[f] + step * slope[f]
        out[f] = max(to - step * l1, 0.0) + min(to + step * l1, 0.0)
        length += out[f] * out[f]
    if length > 1:
        for f in range(a.shape[0]):
            out[f] /= sqrt(length)


cdef double size_of(const double[::1] a) noexcept nogil:
    """Return ``|a|_1``."""
    cdef double total = 0.0
    cdef Py_ssize_t f
    for f in range(a.shape[0]):
        total += fabs(a[f])
    return total
