# distutils: language = c++
"""Decisions within a budget for each row, and for the largest expected F of each row."""

from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport int64_t, uint8_t
from libcpp.algorithm cimport nth_element
from libcpp.vector cimport vector

import numpy as np

cdef enum:  # utilities, in the order of ``Utility``; others gain what is probable
    F1
    RECALL
    PRECISION
    BALANCED
    COVERAGE


def take_top(const double[::1] gains, const int64_t[::1] starts, int64_t k, bint exactly):
    """Return the k stored cells of every row with the largest gains."""
    found = np.zeros(gains.shape[0], np.uint8)
    cdef uint8_t[::1] chosen = found
    cdef int64_t row
    cdef vector[double] gain, room
    with nogil:
        for row in range(starts.shape[0] - 1):
            gain.clear()
            for c in range(starts[row], starts[row + 1]):
                gain.push_back(gains[c])
            mark_top(gain, room, chosen[starts[row] :], k, exactly)
    return found.view(np.bool_)


cdef int mark_top(
    const vector[double]& gain, vector[double]& room, uint8_t[:] chosen, int64_t k, bint exactly
) except -1 nogil:
    """Mark the k largest gains of a row, of equal ones the first; only positive if at most k."""
    cdef int64_t c, count = gain.size(), left = k
    cdef double least = -INFINITY
    if k < count:
        room.assign(gain.begin(), gain.end())
        nth_element(room.begin(), room.begin() + (count - k), room.end())
        least = room[count - k]
    for c in range(count):
        chosen[c] = gain[c] > least and (exactly or gain[c] > 0)
        left -= gain[c] > least
    for c in range(count):
        if left > 0 and gain[c] == least and (exactly or gain[c] > 0):
            chosen[c] = True
            left -= 1
    return 0


def improve_rows(
    const double[::1] p, const int64_t[::1] labels, const int64_t[::1] starts,
    const int64_t[::1] order, uint8_t[::1] chosen, double[::1] tp, double[::1] pred,
    const double[::1] expected, double[::1] logs, int64_t[::1] sure, int64_t utility, int64_t k,
    bint exactly, double weight, double weight_hit,
):
    """Decide every row again, given the decisions of all others; one pass."""
    cdef int64_t n = order.shape[0], at, row, c, j
    cdef double x, g
    cdef vector[double] gain, room
    with nogil:
        for at in range(n):
            row = order[at]
            gain.clear()
            for c in range(starts[row], starts[row + 1]):
                j, x = labels[c], p[c]
                if chosen[c]:
                    tp[j] -= x
                    pred[j] -= 1
                    if x >= 1:
                        sure[j] -= 1
                    else:
                        logs[j] -= log1p(-x)
                if utility == F1:
                    g = 2 * (tp[j] + x) / (expected[j] + pred[j] + 1) - (
                        2 * tp[j] / (expected[j] + pred[j]) if expected[j] + pred[j] > 0 else 0.0
                    )
                elif utility == RECALL:
                    g = x / expected[j] if expected[j] > 0 else 0.0
                elif utility == PRECISION:
                    g = (tp[j] + x) / (pred[j] + 1) - (tp[j] / pred[j] if pred[j] > 0 else 0.0)
                elif utility == BALANCED:
                    g = x / expected[j] if expected[j] > 0 else 0.0
                    g = (g - ((1 - x) / (n - expected[j]) if n - expected[j] > 0 else 0.0)) / 2
                elif utility == COVERAGE:
                    g = x * exp(logs[j]) if sure[j] == 0 else 0.0
                else:
                    g = x
                gain.push_back(weight * g + weight_hit * x)
            mark_top(gain, room, chosen[starts[row] :], k, exactly)
            for c in range(starts[row], starts[row + 1]):
                if chosen[c]:
                    j, x = labels[c], p[c]
                    tp[j] += x
                    pred[j] += 1
                    if x >= 1:
                        sure[j] += 1
                    else:
                        logs[j] += log1p(-x)


def count_best(const double[::1] p, const int64_t[::1] starts, double beta2):
    """Return how many labels of every row to take, from the most probable down."""
    best = np.zeros(starts.shape[0] - 1, np.int64)
    cdef int64_t[::1] most_labels = best
    cdef int64_t row, q, j, s, k
    cdef double x, value, most
    cdef const double* own
    cdef vector[double] count, others, found
    with nogil:
        for row in range(starts.shape[0] - 1):
            q = starts[row + 1] - starts[row]
            if q == 0:
                continue
            own = &p[starts[row]]
            count.assign(q + 1, 0.0)  # how probable every number of labels is
            count[0] = 1.0
            for j in range(q):
                for s in range(j + 1, 0, -1):
                    count[s] = count[s] * (1 - own[j]) + count[s - 1] * own[j]
                count[0] *= 1 - own[j]
            most = count[0]  # of predicting nothing
            others.assign(q, 0.0)
            found.assign(q, 0.0)  # expected number of labels found and s labels in all, at s - 1
            for k in range(1, q + 1):
                x = own[k - 1]
                # Divide the label out, from the side on which errors shrink.
                if x < 0.5:
                    others[0] = count[0] / (1 - x)
                    for s in range(1, q):
                        others[s] = max((count[s] - x * others[s - 1]) / (1 - x), 0.0)
                else:
                    others[q - 1] = count[q] / x
                    for s in range(q - 1, 0, -1):
                        others[s - 1] = max((count[s] - (1 - x) * others[s]) / x, 0.0)
                value = 0.0
                for s in range(1, q + 1):
                    found[s - 1] += x * others[s - 1]
                    value += found[s - 1] * (1 + beta2) / (beta2 * s + k)
                if value > most + 1e-12:
                    most = value
                    most_labels[row] = k
    return best
