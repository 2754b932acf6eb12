"""The loops of ``_stratify``."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t

import numpy as np

# A gain below this is rounding; counting it could go round in circles.
cdef double LEAST_GAIN = 1e-12


# ``_stratify.LabelIncidence``.
cdef struct Incidence:
    const int64_t *indptr
    const int64_t *items
    const int64_t *times
    const int64_t *sizes


cdef Incidence point_into(object incidence) except *:
    # The arrays live as long as the tuple that the caller holds.
    cdef const int64_t[::1] indptr = incidence.indptr
    cdef const int64_t[::1] items = incidence.items
    cdef const int64_t[::1] times = incidence.times
    cdef const int64_t[::1] sizes = incidence.sizes
    cdef Incidence found
    found.indptr = &indptr[0]
    found.items = &items[0] if items.shape[0] else NULL
    found.times = &times[0] if times.shape[0] else NULL
    found.sizes = &sizes[0] if sizes.shape[0] else NULL
    return found


def write_pairs(
    const int64_t[::1] indptr, const int64_t[::1] labels,
    const int64_t[::1] label_indptr, const int64_t[::1] rows,
    const int64_t[::1] together_indptr, const int64_t[::1] together,
    const int64_t[::1] pair_indptr,
):
    """Return the columns of ``label_pairs``, and how many pairs there are."""
    # Going through the first label j in order writes the pairs of every row in order, and the
    # numbers of j's pairs fit in one array over labels: no search, no sort.
    cdef Py_ssize_t q = label_indptr.shape[0] - 1
    columns = np.empty(pair_indptr[pair_indptr.shape[0] - 1], dtype=np.int64)
    cdef int64_t[::1] found = columns
    cdef int64_t[::1] free = np.array(pair_indptr[:pair_indptr.shape[0] - 1])
    cdef int64_t[::1] number = np.empty(q, dtype=np.int64)
    cdef int64_t n_pairs = 0
    cdef Py_ssize_t j, at, of_row, i, other
    with nogil:
        for j in range(q):
            for at in range(together_indptr[j], together_indptr[j + 1]):
                if together[at] > j:
                    number[together[at]] = n_pairs
                    n_pairs += 1
            for of_row in range(label_indptr[j], label_indptr[j + 1]):
                i = rows[of_row]
                for at in range(indptr[i], indptr[i + 1]):
                    other = labels[at]
                    if other > j:
                        found[free[i]] = number[other]
                        free[i] += 1
    return columns, n_pairs


# ``_stratify.Wants``.
cdef struct Wants:
    int64_t *items
    int64_t *rows
    Py_ssize_t n_folds


# ``_stratify.RarityHeap``.
cdef struct Heap:
    int64_t *left
    int64_t *items
    int64_t *place


def assign_phase(
    object incidence, int64_t scale, object want, object heap,
    int64_t[::1] fold, const double[::1] draws, int64_t ties,
):
    """Give a fold to every unit that holds an item of the heap; return how many ties there were."""
    cdef Incidence held = point_into(incidence)
    cdef const int64_t[::1] item_indptr = incidence.item_indptr
    cdef const int64_t[::1] units = incidence.units
    cdef int64_t[:, ::1] want_items = want.items
    cdef int64_t[::1] want_rows = want.rows
    cdef int64_t[::1] left = heap.left
    cdef int64_t[::1] order = heap.items
    cdef int64_t[::1] place = heap.place
    cdef Wants wants = Wants(&want_items[0, 0], &want_rows[0], want_rows.shape[0])
    cdef Py_ssize_t size = order.shape[0]
    cdef Heap rarity = Heap(&left[0], NULL, &place[0])
    cdef Py_ssize_t rarest, at, within, i, f
    cdef int64_t item
    rarity.items = &order[0] if size else NULL
    with nogil:
        while size > 0:
            rarest = order[0]
            for at in range(item_indptr[rarest], item_indptr[rarest + 1]):
                i = units[at]
                if fold[i] >= 0:
                    continue
                f = neediest(&wants, rarest, &draws[0], &ties)
                fold[i] = f
                want_rows[f] -= scale * held.sizes[i]
                for within in range(held.indptr[i], held.indptr[i + 1]):
                    item = held.items[within]
                    want_items[item, f] -= scale * held.times[within]
                    left[item] -= held.times[within]
                    move_up(&rarity, item)
            size -= 1
            drop_first(&rarity, size)
    return ties


cdef inline Py_ssize_t neediest(
    Wants *want, Py_ssize_t item, const double *draws, int64_t *ties
) noexcept nogil:
    # The largest want of the item, then of rows, then by lot.
    cdef const int64_t *wanted = want.items + item * want.n_folds
    cdef const int64_t *rows = want.rows
    cdef int64_t most = wanted[0], most_rows = rows[0], tied = 1, skip
    cdef Py_ssize_t best = 0, f
    for f in range(1, want.n_folds):
        if wanted[f] > most or (wanted[f] == most and rows[f] > most_rows):
            best = f
            most = wanted[f]
            most_rows = rows[f]
            tied = 1
        elif wanted[f] == most and rows[f] == most_rows:
            tied += 1
    if tied > 1:
        skip = <int64_t>(draws[ties[0]] * tied)
        ties[0] += 1
        while skip > 0:
            best += 1
            if wanted[best] == most and rows[best] == most_rows:
                skip -= 1
    return best


cdef inline void move_up(Heap *heap, int64_t item) noexcept nogil:
    # Counts only fall, so an item can only rise in the heap; a label is not in it (place -1)
    # while pairs are assigned.
    cdef Py_ssize_t here = heap.place[item], above
    if here < 0:
        return
    while here > 0:
        above = (here - 1) // 2
        if not is_rarer(heap.left, item, heap.items[above]):
            break
        heap.items[here] = heap.items[above]
        heap.place[heap.items[here]] = here
        here = above
    heap.items[here] = item
    heap.place[item] = here


cdef inline void drop_first(Heap *heap, Py_ssize_t size) noexcept nogil:
    # ``size`` items are left; the last one fills the hole where the first one was.
    cdef Py_ssize_t here = 0, child
    cdef int64_t last, below
    heap.place[heap.items[0]] = -1
    if size == 0:
        return
    last = heap.items[size]
    while 2 * here + 1 < size:
        child = 2 * here + 1
        if child + 1 < size and is_rarer(heap.left, heap.items[child + 1], heap.items[child]):
            child += 1
        below = heap.items[child]
        if not is_rarer(heap.left, below, last):
            break
        heap.items[here] = below
        heap.place[below] = here
        here = child
    heap.items[here] = last
    heap.place[last] = here


cdef inline bint is_rarer(const int64_t *left, int64_t one, int64_t other) noexcept nogil:
    # Fewer copies left to assign; ties go to the lower number.
    return left[one] < left[other] or (left[one] == left[other] and one < other)


# ``_stratify.Objective``, and what an assignment comes to: per fold its copies of every item, its rows, its loss.
cdef struct Search:
    const double *odds
    const double *importance
    double fold_size
    double size_cost
    Py_ssize_t n_items
    int64_t *held
    int64_t *rows
    double *loss
    int64_t *fold
    Py_ssize_t n_units
    Py_ssize_t n_folds
    int64_t budget


def local_search(
    object incidence, const int64_t[:] fold, Py_ssize_t n_folds, object objective, int64_t budget
):
    """Return the improved fold of every unit, its loss, and the work that is left.

    Stops when no step helps, or when ``budget`` odds have been looked at. With a budget of
    0 this only measures the assignment.
    """
    cdef Incidence units = point_into(incidence)
    cdef const double[::1] odds = objective.odds
    cdef const double[::1] importance = objective.importance
    improved = np.array(fold)
    cdef int64_t[::1] fold_of = improved
    cdef int64_t[:, ::1] held = np.zeros((n_folds, odds.shape[0]), dtype=np.int64)
    cdef int64_t[::1] rows = np.zeros(n_folds, dtype=np.int64)
    cdef double[::1] loss = np.empty(n_folds)
    cdef Search search = Search(
        &odds[0], &importance[0], objective.fold_size, objective.size_cost, odds.shape[0],
        &held[0, 0], &rows[0], &loss[0], &fold_of[0], fold_of.shape[0], n_folds, budget,
    )
    cdef Py_ssize_t i, f
    cdef double total = 0
    cdef bint better = True
    with nogil:
        for i in range(search.n_units):
            move(&units, &search, i, -1, fold_of[i])
        for f in range(n_folds):
            loss[f] = loss_of(&search, f)
        while better and search.budget > 0:
            better = try_moves(&units, &search)
            if not better:
                better = try_swaps(&units, &search)
        for f in range(n_folds):
            total += loss[f]
    return improved, total, search.budget


cdef bint try_moves(Incidence *units, Search *search) noexcept nogil:
    cdef bint better = False
    cdef Py_ssize_t i, f, here
    for i in range(search.n_units):
        for f in range(search.n_folds):
            here = search.fold[i]
            if f == here or search.budget <= 0:
                continue
            search.budget -= 2 * search.n_items
            move(units, search, i, here, f)
            if accept(search, here, f):
                search.fold[i] = f
                better = True
            else:
                move(units, search, i, f, here)
    return better


cdef bint try_swaps(Incidence *units, Search *search) noexcept nogil:
    cdef bint better = False
    cdef Py_ssize_t i, m, a, b
    for i in range(search.n_units):
        for m in range(i + 1, search.n_units):
            a = search.fold[i]
            b = search.fold[m]
            if a == b or search.budget <= 0:
                continue
            search.budget -= 2 * search.n_items
            move(units, search, i, a, b)
            move(units, search, m, b, a)
            if accept(search, a, b):
                search.fold[i] = b
                search.fold[m] = a
                better = True
            else:
                move(units, search, i, b, a)
                move(units, search, m, a, b)
    return better


cdef inline bint accept(Search *search, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    # Keep the step if it makes the two folds it touched more alike to the whole.
    cdef double new_a = loss_of(search, a), new_b = loss_of(search, b)
    if not new_a + new_b < search.loss[a] + search.loss[b] - LEAST_GAIN:
        return False
    search.loss[a] = new_a
    search.loss[b] = new_b
    return True


cdef inline void move(
    Incidence *units, Search *search, Py_ssize_t i, Py_ssize_t source, Py_ssize_t target
) noexcept nogil:
    # Source -1 is the stock: the unit was in no fold.
    cdef Py_ssize_t at
    cdef int64_t *taken = search.held + source * search.n_items
    cdef int64_t *given = search.held + target * search.n_items
    for at in range(units.indptr[i], units.indptr[i + 1]):
        if source >= 0:
            taken[units.items[at]] -= units.times[at]
        given[units.items[at]] += units.times[at]
    if source >= 0:
        search.rows[source] -= units.sizes[i]
    search.rows[target] += units.sizes[i]


cdef inline double loss_of(Search *search, Py_ssize_t f) noexcept nogil:
    cdef const int64_t *held = search.held + f * search.n_items
    cdef int64_t rows = search.rows[f]
    cdef double loss, without
    cdef Py_ssize_t j
    if rows == 0:
        return INFINITY
    loss = search.size_cost * fabs(<double>rows - search.fold_size)
    for j in range(search.n_items):
        # An item in every row of the fold has infinite odds: keep them finite, but very large.
        without = max(<double>(rows - held[j]), 1e-3)
        loss += search.importance[j] * fabs(<double>held[j] / without - search.odds[j])
    return loss
