"""Iterative stratification: the rarest label is assigned first, to the fold that wants it most.

The wants are kept as whole numbers. With shares ``weights / weights.sum()``, fold f wants
``weights[f] * count`` of everything, and every copy it gets takes ``weights.sum()`` off. So two
folds tie exactly when they tie in the paper's reals, whatever the number of folds.

References
----------
Sechidis, Tsoumakas, Vlahavas (2011), On the stratification of multi-label data, ECML PKDD.
Szymański, Kajdanowicz (2017), A network perspective on stratification of multi-label data,
PMLR 74.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance._utils import kernel

Order = Literal[1, 2]
Integers = NDArray[np.integer]
Rows = NDArray[np.intp]


def assign_rows(
    Y: csr_array, weights: Integers, *, order: Order, shuffle: bool, rng: np.random.Generator
) -> Integers:
    """Return the fold of every row, fold f getting ``weights[f] / weights.sum()`` of everything."""
    n = Y.shape[0]
    order_of_rows = rng.permutation(n) if shuffle else np.arange(n)
    fold = np.empty(n, dtype=np.int64)
    fold[order_of_rows] = assign(
        label_incidence(Y[order_of_rows], order=order), weights, rng.random(n)
    )
    return fold


def rows_of_folds(fold: Integers, n_folds: int) -> list[Rows]:
    """Return the rows of every fold, in increasing order."""
    return [np.flatnonzero(fold == f) for f in range(n_folds)]


class LabelIncidence(NamedTuple):
    """Which labels or pairs of labels every unit holds, by unit and by item.

    A unit is what goes to one fold as a whole: a row, or all rows of a group. An item is a
    label, or a pair of labels.

    Attributes
    ----------
    indptr, items, times : ndarray
        By unit: ``items[indptr[i]:indptr[i + 1]]`` are the items that unit i holds, and
        ``times`` says how often (once each if the unit is a row).
    item_indptr, units : ndarray
        By item: the units that hold it, those that hold it most often first.
    sizes : ndarray
        Number of rows in every unit.
    phases : ndarray
        The items ``phases[p]`` to ``phases[p + 1]`` are assigned before those of phase p + 1.
    """

    indptr: Integers
    items: Integers
    times: Integers
    item_indptr: Integers
    units: Integers
    sizes: Integers
    phases: Integers


def label_incidence(
    Y: csr_array, *, order: Order = 1, group_of: Integers | None = None
) -> LabelIncidence:
    """Collect the labels (order 1), or the pairs and then the labels (order 2), of every unit.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Ones at the labels that a row has.
    order : {1, 2}, default=1
        1 balances labels (Sechidis et al. 2011), 2 balances pairs of labels first
        (Szymański & Kajdanowicz 2017).
    group_of : ndarray of shape (n,), optional
        Number of every row's group, from 0 without gaps. By default every row is alone.
    """
    n, q = Y.shape
    held, phases = _ones(Y), [0, q]
    if order == 2:
        pairs = label_pairs(Y)
        n_pairs = pairs.shape[1]
        held, phases = _beside(pairs, held), [0, n_pairs, n_pairs + q]
    sizes = np.ones(n, dtype=np.int64)
    if group_of is not None:
        sizes = np.bincount(group_of)
        held = _sum_groups(held, group_of, len(sizes))
    by_unit = (held.indptr, held.indices, held.data)
    return LabelIncidence(*map(_wide, (*by_unit, *_units_by_item(held), sizes, phases)))


def label_pairs(Y: csr_array) -> csr_array:
    """Return the (n, pairs) indicator of the pairs j < l that rows have, in the order of (j, l).

    Only pairs that occur get a column.
    """
    n, _ = Y.shape
    ones = _ones(Y)
    together = (ones.T @ ones).tocsr()
    together.sort_indices()
    by_label = ones.tocsc()
    by_label.sort_indices()
    per_row = np.diff(ones.indptr).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(per_row * (per_row - 1) // 2)])
    columns, n_pairs = _write_pairs(
        ones.indptr, ones.indices, by_label.indptr, by_label.indices,
        together.indptr, together.indices, indptr,
    )  # fmt: skip
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, indptr), shape=(n, n_pairs))


@kernel
def _write_pairs(
    indptr: Integers,
    labels: Integers,
    label_indptr: Integers,
    rows: Integers,
    together_indptr: Integers,
    together: Integers,
    pair_indptr: Integers,
) -> tuple[Integers, int]:
    # Going through the first label j in order writes the pairs of every row in order, and the
    # numbers of j's pairs fit in one array over labels: no search, no sort.
    q = len(label_indptr) - 1
    columns = np.empty(pair_indptr[-1], dtype=np.int64)
    free = pair_indptr[:-1].copy()
    number = np.empty(q, dtype=np.int64)
    n_pairs = 0
    for j in range(q):
        for at in range(together_indptr[j], together_indptr[j + 1]):
            if together[at] > j:
                number[together[at]] = n_pairs
                n_pairs += 1
        for i in rows[label_indptr[j] : label_indptr[j + 1]]:
            for other in labels[indptr[i] : indptr[i + 1]]:
                if other > j:
                    columns[free[i]] = number[other]
                    free[i] += 1
    return columns, n_pairs


def _wide(values: Any) -> Integers:
    # One width, so that the assignment is compiled once.
    return np.asarray(values, dtype=np.int64)


def _ones(Y: csr_array) -> csr_array:
    # int8 ones would overflow as soon as they are summed.
    return csr_array((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)


def _beside(left: csr_array, right: csr_array) -> csr_array:
    beside = hstack([left, right], format="csr")
    beside.sort_indices()
    return beside


def _sum_groups(held: csr_array, group_of: Integers, n_groups: int) -> csr_array:
    n = len(group_of)
    member = csr_array((np.ones(n, dtype=np.int64), (group_of, np.arange(n))), (n_groups, n))
    summed = (member @ held).tocsr()
    summed.sort_indices()
    return summed


def _units_by_item(held: csr_array) -> tuple[Integers, Integers]:
    by_item = held.tocsc()
    by_item.sort_indices()
    if held.nnz == 0 or held.data.max() == 1:
        return by_item.indptr, by_item.indices
    item = np.repeat(np.arange(held.shape[1]), np.diff(by_item.indptr))
    largest_first = np.lexsort((by_item.indices, -by_item.data, item))
    return by_item.indptr, by_item.indices[largest_first]


@kernel
def assign(incidence: LabelIncidence, weights: Integers, draws: NDArray[np.float64]) -> Integers:
    """Return the fold of every unit.

    Parameters
    ----------
    incidence : LabelIncidence
        The labels of every unit.
    weights : ndarray of int64, shape (n_folds,)
        Shares of the folds, as whole numbers.
    draws : ndarray of float64, shape (n_units,)
        Numbers in [0, 1); every full tie between folds uses up the next one.
    """
    n_units, n_items = len(incidence.sizes), len(incidence.item_indptr) - 1
    left = np.zeros(n_items, dtype=np.int64)
    for at in range(len(incidence.items)):
        left[incidence.items[at]] += incidence.times[at]
    want = left.reshape(-1, 1) * weights
    want_rows = incidence.sizes.sum() * weights
    fold = np.full(n_units, -1, dtype=np.int64)
    ties = 0
    for phase in range(len(incidence.phases) - 1):
        start, stop = incidence.phases[phase], incidence.phases[phase + 1]
        # Sorted by count, then by number: already a heap.
        heap = start + np.argsort(left[start:stop], kind="mergesort")
        place = np.full(n_items, -1, dtype=np.int64)
        place[heap] = np.arange(len(heap))
        size = len(heap)
        while size > 0:
            rarest = heap[0]
            for at in range(incidence.item_indptr[rarest], incidence.item_indptr[rarest + 1]):
                i = incidence.units[at]
                if fold[i] < 0:
                    fold[i], ties = _neediest(want[rarest], want_rows, draws, ties)
                    _give(incidence, i, fold[i], weights.sum(), want, want_rows)
                    _take_off(incidence, i, left, heap, place)
            size = _drop_first(left, heap, place, size)
    for i in range(n_units):
        if fold[i] < 0:
            fold[i], ties = _neediest(want_rows, want_rows, draws, ties)
            want_rows[fold[i]] -= incidence.sizes[i] * weights.sum()
    return fold


@kernel
def _neediest(
    want: Integers, want_rows: Integers, draws: NDArray[np.float64], ties: int
) -> tuple[int, int]:
    # The largest want of the label, then of rows, then by lot.
    best, tied = 0, 1
    for f in range(1, len(want)):
        if want[f] > want[best] or (want[f] == want[best] and want_rows[f] > want_rows[best]):
            best, tied = f, 1
        elif want[f] == want[best] and want_rows[f] == want_rows[best]:
            tied += 1
    if tied == 1:
        return best, ties
    skip = int(draws[ties] * tied)
    chosen = best
    while skip > 0:
        chosen += 1
        if want[chosen] == want[best] and want_rows[chosen] == want_rows[best]:
            skip -= 1
    return chosen, ties + 1


@kernel
def _give(
    incidence: LabelIncidence, i: int, f: int, scale: int, want: Integers, want_rows: Integers
) -> None:
    for at in range(incidence.indptr[i], incidence.indptr[i + 1]):
        want[incidence.items[at], f] -= scale * incidence.times[at]
    want_rows[f] -= scale * incidence.sizes[i]


@kernel
def _take_off(
    incidence: LabelIncidence, i: int, left: Integers, heap: Integers, place: Integers
) -> None:
    # Counts only fall, so a item can only rise in the heap; a label is not in it (place -1)
    # while pairs are assigned.
    for at in range(incidence.indptr[i], incidence.indptr[i + 1]):
        item = incidence.items[at]
        left[item] -= incidence.times[at]
        here = place[item]
        while here > 0 and _rarer(left, item, heap[(here - 1) // 2]):
            heap[here] = heap[(here - 1) // 2]
            place[heap[here]] = here
            here = (here - 1) // 2
        if place[item] >= 0:
            heap[here] = item
            place[item] = here


@kernel
def _drop_first(left: Integers, heap: Integers, place: Integers, size: int) -> int:
    size -= 1
    place[heap[0]] = -1
    if size == 0:
        return size
    last, here = heap[size], 0
    while 2 * here + 1 < size:
        child = 2 * here + 1
        if child + 1 < size and _rarer(left, heap[child + 1], heap[child]):
            child += 1
        if not _rarer(left, heap[child], last):
            break
        heap[here] = heap[child]
        place[heap[here]] = here
        here = child
    heap[here] = last
    place[last] = here
    return size


@kernel
def _rarer(left: Integers, one: int, other: int) -> bool:
    # Fewer copies left to assign; ties go to the lower number.
    return bool(left[one] < left[other] or (left[one] == left[other] and one < other))
