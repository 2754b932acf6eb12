"""Iterative stratification: the rarest label is assigned first, to the fold that wants it most.

The wants are kept as integers. With shares ``weights / weights.sum()``, fold f wants
``weights[f] * count`` of everything, and every copy it gets takes ``weights.sum()`` off. So two
folds tie exactly when they tie in the paper's reals, whatever the number of folds.

References
----------
Sechidis, Tsoumakas, Vlahavas (2011), On the stratification of multi-label data, ECML PKDD.
Szymański, Kajdanowicz (2017), A network perspective on stratification of multi-label data,
PMLR 74.
"""

from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance._utils._kernel import ZERO, inlined_kernel, kernel

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


def assign(incidence: LabelIncidence, weights: Integers, draws: NDArray[np.float64]) -> Integers:
    """Return the fold of every unit.

    Parameters
    ----------
    incidence : LabelIncidence
        The labels of every unit.
    weights : ndarray of int64, shape (n_folds,)
        Shares of the folds, as integers.
    draws : ndarray of float64, shape (n_units,)
        Numbers in [0, 1); every full tie between folds uses up the next one.
    """
    incidence = _with_last_item(incidence)
    n_units, n_items = len(incidence.sizes), len(incidence.item_indptr) - 1
    left = np.zeros(n_items, dtype=np.int64)
    np.add.at(left, incidence.items, incidence.times)
    want, want_rows = np.outer(left, weights), incidence.sizes.sum() * weights
    fold = np.full(n_units, -1)
    ties: Any = ZERO
    for start, stop in pairwise(incidence.phases):
        # Sorted by count, then by number: already a heap.
        heap = start + np.argsort(left[start:stop], kind="stable")
        place = np.full(n_items, -1)
        place[heap] = np.arange(len(heap))
        ties = _assign_phase(
            incidence, weights.sum(), Wants(want, want_rows), RarityHeap(left, heap, place),
            fold, draws, ties,
        )  # fmt: skip
    return fold


def _with_last_item(incidence: LabelIncidence) -> LabelIncidence:
    """Return the incidence with one more item, after all phases, that no fold wants any of.

    All units stand under it, so that those that hold nothing get their fold too: the one that
    wants most rows.
    """
    n_units, end = len(incidence.sizes), incidence.item_indptr[-1]
    last = incidence.phases[-1]
    return incidence._replace(
        item_indptr=np.append(incidence.item_indptr, end + n_units),
        units=np.append(incidence.units, np.arange(n_units)),
        phases=np.append(incidence.phases, last + 1),
    )


class Wants(NamedTuple):
    """How many copies of every item and how many rows every fold still wants, times the scale."""

    items: Integers
    rows: Integers


class RarityHeap(NamedTuple):
    """The items of a phase as a heap, rarest first.

    Attributes
    ----------
    left : ndarray of shape (items,)
        Copies that are not assigned yet.
    items : ndarray
        The heap.
    place : ndarray of shape (items,)
        Where an item stands in the heap; -1 where it does not.
    """

    left: Integers
    items: Integers
    place: Integers


@kernel
def _assign_phase(
    incidence: LabelIncidence,
    scale: int,
    want: Wants,
    heap: RarityHeap,
    fold: Integers,
    draws: NDArray[np.float64],
    ties: int,
) -> int:
    """Give a fold to every unit that holds an item of the heap; return how many ties there were."""
    size = len(heap.items)
    while size > 0:
        rarest = heap.items[0]
        for at in range(incidence.item_indptr[rarest], incidence.item_indptr[rarest + 1]):
            i = incidence.units[at]
            if fold[i] < 0:
                f, ties = _neediest(want, rarest, draws, ties)
                fold[i] = f
                want.rows[f] -= scale * incidence.sizes[i]
                for held in range(incidence.indptr[i], incidence.indptr[i + 1]):
                    item, times = incidence.items[held], incidence.times[held]
                    want.items[item, f] -= scale * times
                    heap.left[item] -= times
                    _move_up(heap, item)
        size -= 1
        _drop_first(heap, size)
    return ties


@inlined_kernel
def _neediest(want: Wants, item: int, draws: NDArray[np.float64], ties: int) -> tuple[int, int]:
    # The largest want of the item, then of rows, then by lot.
    most, most_rows, tied = want.items[item, 0], want.rows[0], 1
    best = 0
    for f in range(1, len(want.rows)):
        wanted, rows = want.items[item, f], want.rows[f]
        if wanted > most or (wanted == most and rows > most_rows):
            best, most, most_rows, tied = f, wanted, rows, 1
        elif wanted == most and rows == most_rows:
            tied += 1
    if tied > 1:
        skip = int(draws[ties] * tied)
        ties += 1
        while skip > 0:
            best += 1
            if want.items[item, best] == most and want.rows[best] == most_rows:
                skip -= 1
    return best, ties


@inlined_kernel
def _move_up(heap: RarityHeap, item: int) -> None:
    # Counts only fall, so an item can only rise in the heap; a label is not in it (place -1)
    # while pairs are assigned.
    here = heap.place[item]
    if here >= 0:
        while here > 0 and _rarer(heap.left, item, heap.items[(here - 1) // 2]):
            above = heap.items[(here - 1) // 2]
            heap.items[here] = above
            heap.place[above] = here
            here = (here - 1) // 2
        heap.items[here] = item
        heap.place[item] = here


@inlined_kernel
def _drop_first(heap: RarityHeap, size: int) -> None:
    # ``size`` items are left; the last one fills the hole where the first one was.
    heap.place[heap.items[0]] = -1
    if size > 0:
        last, here = heap.items[size], 0
        while 2 * here + 1 < size:
            child = 2 * here + 1
            if child + 1 < size and _rarer(heap.left, heap.items[child + 1], heap.items[child]):
                child += 1
            below = heap.items[child]
            if not _rarer(heap.left, below, last):
                break
            heap.items[here] = below
            heap.place[below] = here
            here = child
        heap.items[here] = last
        heap.place[last] = here


@inlined_kernel
def _rarer(left: Integers, one: int, other: int) -> bool:
    # Fewer copies left to assign; ties go to the lower number.
    return bool(left[one] < left[other] or (left[one] == left[other] and one < other))
