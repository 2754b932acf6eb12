"""Labels that take turns: MLROS clones their rows, MLRUS deletes them."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

ctypedef fused integer:
    int32_t
    int64_t


def clone_in_turns(
    const integer[::1] indptr, const integer[::1] indices, const int64_t[::1] labels,
    const int64_t[::1] starts, const int64_t[::1] rows, int64_t[::1] counts,
    const int64_t[::1] at_mean, const double[::1] targets, bint static_max,
    const double[::1] numbers,
):
    """Return the rows to clone, one uniform number each; the counts are brought up to date.

    The bag of a label is ``rows[starts[b]:starts[b + 1]]``. A label is done when its count is
    its target, or ``at_mean[c]`` when the largest count has grown by c.
    """
    clones = np.empty(numbers.shape[0], dtype=np.int64)
    cdef int64_t[::1] chosen = clones, active = np.arange(labels.shape[0])
    cdef int64_t n_clones = 0, n_active = labels.shape[0], n_still, first = 0, largest, t, bag
    cdef int64_t count, row, cell
    for t in range(counts.shape[0]):
        first = max(first, counts[t])
    largest = first
    with nogil:
        while n_active > 0 and n_clones < chosen.shape[0]:
            n_still = 0
            for t in range(n_active):
                bag = active[t]
                count = counts[labels[bag]]
                if n_clones == chosen.shape[0] or count >= targets[bag]:
                    continue
                if count >= at_mean[largest - first]:
                    continue
                active[n_still] = bag
                n_still += 1
                row = rows[
                    starts[bag] + <int64_t>(numbers[n_clones] * (starts[bag + 1] - starts[bag]))
                ]
                chosen[n_clones] = row
                n_clones += 1
                for cell in range(indptr[row], indptr[row + 1]):
                    counts[indices[cell]] += 1
                    if not static_max:
                        largest = max(largest, counts[indices[cell]])
            n_active = n_still
    return clones[:n_clones]


def delete_in_turns(
    const integer[::1] indptr, const integer[::1] indices, const int64_t[::1] labels,
    const int64_t[::1] starts, int64_t[::1] cells, const int64_t[::1] row_of,
    int64_t[::1] place_of, int64_t[::1] counts, const int64_t[::1] at_mean, bint static_max,
    const double[::1] numbers,
):
    """Return the rows to delete; cells, places and counts are brought up to date.

    The first ``counts[label]`` cells of a bag are those of rows that are still there, and
    ``having[c]`` labels have the count c, which tells when the largest count goes down.
    """
    deleted, of_counts = np.empty(numbers.shape[0], dtype=np.int64), np.bincount(counts)
    cdef int64_t[::1] chosen = deleted, having = of_counts.astype(np.int64)
    cdef int64_t[::1] bag_of = np.full(counts.shape[0], -1), active = np.arange(labels.shape[0])
    cdef int64_t done = 0, n_active = labels.shape[0], largest = having.shape[0] - 1
    cdef int64_t n_still, t, bag, size, row, cell, label, last
    with nogil:
        for bag in range(labels.shape[0]):
            bag_of[labels[bag]] = bag
        while n_active > 0 and done < chosen.shape[0]:
            n_still = 0
            for t in range(n_active):
                bag = active[t]
                size = counts[labels[bag]]
                if done == chosen.shape[0] or size == 0 or size <= at_mean[largest]:
                    continue
                active[n_still] = bag
                n_still += 1
                row = row_of[cells[starts[bag] + <int64_t>(numbers[done] * size)]]
                chosen[done] = row
                done += 1
                for cell in range(indptr[row], indptr[row + 1]):
                    label = indices[cell]
                    having[counts[label]] -= 1
                    counts[label] -= 1
                    having[counts[label]] += 1
                    if bag_of[label] >= 0:
                        last = cells[starts[bag_of[label]] + counts[label]]
                        cells[place_of[cell]] = last
                        place_of[last] = place_of[cell]
                while not static_max and having[largest] == 0:
                    largest -= 1
            n_active = n_still
    return deleted[:done]
