"""Iterative stratification: the rarest label is assigned first, to the fold that wants it most.

Groups of rows are assigned likewise, and then moved by local search until chance cannot do better.

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

from labelance.model_selection._kernels import assign_phase, local_search, write_pairs

Order = Literal[1, 2]
Integers = NDArray[np.integer]
Rows = NDArray[np.intp]

# How much a fold of the wrong size counts next to wrong odds, given up step by step: at 0.3 sizes
# are right within two per cent where the groups allow it.
SIZE_COSTS = (0.3, 0.1, 0.03, 0.0)
# What an assignment of groups is measured against, and how many odds the search for it may look at.
N_RANDOM = 100
WORK = 500_000_000


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
        held, phases = hstack([pairs, held], format="csr"), [0, n_pairs, n_pairs + q]
        held.sort_indices()
    sizes = np.ones(n, dtype=np.int64)
    if group_of is not None:
        sizes = np.bincount(group_of)
        place = (group_of, np.arange(n))
        held = csr_array((np.ones(n, dtype=np.int64), place), (len(sizes), n)) @ held
        held.sort_indices()
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
    tables = (ones, by_label, together)
    lists = [_wide(each) for table in tables for each in (table.indptr, table.indices)]
    columns, n_pairs = write_pairs(*lists, indptr)
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, indptr), shape=(n, n_pairs))


def _wide(values: Any) -> Integers:
    # The one width that the loops know.
    return np.asarray(values, dtype=np.int64)


def _ones(Y: csr_array) -> csr_array:
    # int8 ones would overflow as soon as they are summed.
    return csr_array((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)


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
    ties = 0
    for start, stop in pairwise(incidence.phases):
        # Sorted by count, then by number: already a heap.
        heap = start + np.argsort(left[start:stop], kind="stable")
        place = np.full(n_items, -1)
        place[heap] = np.arange(len(heap))
        wants, rarity = Wants(want, want_rows), RarityHeap(left, heap, place)
        ties = assign_phase(incidence, weights.sum(), wants, rarity, fold, draws, ties)
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


class Objective(NamedTuple):
    """What alike means.

    Attributes
    ----------
    odds : ndarray of shape (items,)
        Copies of a item over rows without it, in the whole data: what every fold should have.
    importance : ndarray of shape (items,)
        How much the distance from these odds counts.
    fold_size : float
        Number of rows that a fold should have.
    size_cost : float
        How much every row too many or too few counts.
    """

    odds: NDArray[np.float64]
    importance: NDArray[np.float64]
    fold_size: float
    size_cost: float


def assign_groups(
    Y: csr_array,
    group_of: Integers,
    n_folds: int,
    *,
    order: Order,
    shuffle: bool,
    rng: np.random.Generator,
) -> Integers:
    """Return the fold of every row; the rows of a group go together.

    The greedy assignment looks at one label of a group at a time, and chance often beats it
    when groups are large. So it is only the start of a local search, which continues, caring less
    and less for sizes, until chance is out of the race.
    """
    n_groups = int(group_of.max()) + 1
    if shuffle:
        group_of = rng.permutation(n_groups)[group_of]
    incidence = label_incidence(Y, order=order, group_of=group_of)
    assigned = assign(incidence, np.ones(n_folds, dtype=np.int64), rng.random(n_groups))
    random_starts = rng.integers(n_folds, size=(N_RANDOM, n_groups))
    return _beat_chance(incidence, assigned, random_starts, n_folds)[group_of]


def search_objective(incidence: LabelIncidence, n_folds: int) -> Objective:
    """Return the odds of the whole data, which every fold should have."""
    n = int(incidence.sizes.sum())
    count = np.bincount(
        incidence.items, weights=incidence.times, minlength=len(incidence.item_indptr) - 1
    )
    # What all rows have is the same in every fold.
    varies = count < n
    odds = np.where(varies, count / np.where(varies, n - count, 1), 0.0)
    # The mean over labels, and next to it, in second order, the mean over pairs.
    importance = np.repeat(1 / np.maximum(np.diff(incidence.phases), 1), np.diff(incidence.phases))
    return Objective(odds, importance * varies, n / n_folds, 0.0)


def _beat_chance(
    incidence: LabelIncidence, fold: Integers, random_starts: Integers, n_folds: int
) -> Integers:
    """Search from ``fold`` until chance is out of reach, or else from every random start."""
    objective = search_objective(incidence, n_folds)

    def search_from(start: Integers, size_cost: float, work: int) -> tuple[Integers, float, int]:
        aim = objective._replace(size_cost=size_cost)
        return local_search(incidence, start, n_folds, aim, work)

    losses = np.array([search_from(start, 0.0, 0)[1] for start in random_starts])
    bar, least, work = _out_of_reach(losses), np.inf, WORK
    # Odds that are wrong by their own size cost as much as a fold twice as large as it should be.
    unit = float(objective.importance @ objective.odds) / objective.fold_size
    for share in SIZE_COSTS:
        fold, _, work = search_from(fold, share * unit, work)
        _, least, _ = search_from(fold, 0.0, 0)
        if least <= bar:
            return fold
    for start in random_starts[np.argsort(losses, kind="stable")]:
        improved, loss, work = search_from(start, 0.0, work)
        if loss < least:
            fold, least = improved, loss
    return fold


def _out_of_reach(losses: NDArray[np.float64]) -> float:
    """Return a loss that random assignments, these being a sample, hardly ever come down to."""
    logs = np.log(np.maximum(losses, np.finfo(float).tiny))
    # The lower side only: what is infinite, or nearly so, says nothing about good assignments.
    low, middle = np.quantile(logs, [0.16, 0.5], method="lower")
    return float(np.exp(middle - 5 * (middle - low))) if np.isfinite(middle) else 0.0
