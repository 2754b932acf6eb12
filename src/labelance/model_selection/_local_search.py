"""Assign groups of rows to folds: greedily, then by local search until chance cannot do better."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._utils._kernel import kernel
from labelance.model_selection._stratify import (
    Integers,
    LabelIncidence,
    Order,
    assign,
    label_incidence,
)

# How much a fold of the wrong size counts next to wrong odds, given up step by step: at 0.3 sizes
# are right within two per cent where the groups allow it.
SIZE_COSTS = (0.3, 0.1, 0.03, 0.0)
# What an assignment of groups is measured against, and how many odds the search for it may look at.
N_RANDOM = 100
WORK = 500_000_000
# A gain below this is rounding; counting it could go round in circles.
LEAST_GAIN = 1e-12


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
    return _beat_chance(
        incidence, assigned, random_starts, search_objective(incidence, n_folds), n_folds
    )[group_of]


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
    incidence: LabelIncidence,
    fold: Integers,
    random_starts: Integers,
    objective: Objective,
    n_folds: int,
) -> Integers:
    """Search from ``fold`` until chance is out of reach, or else from every random start."""

    def search_from(start: Integers, size_cost: float, work: int) -> tuple[Integers, float, int]:
        return local_search(
            incidence, start, n_folds, objective._replace(size_cost=size_cost), work
        )

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


@kernel
def local_search(
    incidence: LabelIncidence, fold: Integers, n_folds: int, objective: Objective, budget: int
) -> tuple[Integers, float, int]:
    """Return the improved fold of every unit, its loss, and the work that is left.

    Stops when no step helps, or when ``budget`` odds have been looked at. With a budget of
    0 this only measures the assignment.
    """
    fold = fold.copy()
    held = np.zeros((n_folds, len(objective.odds)), dtype=np.int64)
    rows = np.zeros(n_folds, dtype=np.int64)
    for i in range(len(fold)):
        _move(incidence, i, -1, fold[i], held, rows)
    loss = np.array([_loss(held[f], rows[f], objective) for f in range(n_folds)])
    better = True
    while better and budget > 0:
        better, budget = _try_moves(incidence, fold, held, rows, loss, objective, budget)
        if not better:
            better, budget = _try_swaps(incidence, fold, held, rows, loss, objective, budget)
    return fold, loss.sum(), budget


@kernel
def _try_moves(
    incidence: LabelIncidence,
    fold: Integers,
    held: Integers,
    rows: Integers,
    loss: NDArray[np.float64],
    objective: Objective,
    budget: int,
) -> tuple[bool, int]:
    better = False
    for i in range(len(fold)):
        for f in range(len(loss)):
            here = fold[i]
            if f == here or budget <= 0:
                continue
            budget -= 2 * len(objective.odds)
            _move(incidence, i, here, f, held, rows)
            if _accept(here, f, held, rows, loss, objective):
                fold[i], better = f, True
            else:
                _move(incidence, i, f, here, held, rows)
    return better, budget


@kernel
def _try_swaps(
    incidence: LabelIncidence,
    fold: Integers,
    held: Integers,
    rows: Integers,
    loss: NDArray[np.float64],
    objective: Objective,
    budget: int,
) -> tuple[bool, int]:
    better = False
    for i in range(len(fold)):
        for m in range(i + 1, len(fold)):
            a, b = fold[i], fold[m]
            if a == b or budget <= 0:
                continue
            budget -= 2 * len(objective.odds)
            _move(incidence, i, a, b, held, rows)
            _move(incidence, m, b, a, held, rows)
            if _accept(a, b, held, rows, loss, objective):
                fold[i], fold[m], better = b, a, True
            else:
                _move(incidence, i, b, a, held, rows)
                _move(incidence, m, a, b, held, rows)
    return better, budget


@kernel
def _accept(
    a: int, b: int, held: Integers, rows: Integers, loss: NDArray[np.float64], objective: Objective
) -> bool:
    # Keep the step if it makes the two folds it touched more alike to the whole.
    new_a, new_b = _loss(held[a], rows[a], objective), _loss(held[b], rows[b], objective)
    if not new_a + new_b < loss[a] + loss[b] - LEAST_GAIN:
        return False
    loss[a], loss[b] = new_a, new_b
    return True


@kernel
def _move(
    incidence: LabelIncidence, i: int, source: int, target: int, held: Integers, rows: Integers
) -> None:
    # Source -1 is the stock: the unit was in no fold.
    for at in range(incidence.indptr[i], incidence.indptr[i + 1]):
        if source >= 0:
            held[source, incidence.items[at]] -= incidence.times[at]
        held[target, incidence.items[at]] += incidence.times[at]
    if source >= 0:
        rows[source] -= incidence.sizes[i]
    rows[target] += incidence.sizes[i]


@kernel
def _loss(held: Integers, rows: int, objective: Objective) -> float:
    if rows == 0:
        return np.inf
    loss = objective.size_cost * abs(rows - objective.fold_size)
    for j in range(len(held)):
        # A item in every row of the fold has infinite odds: keep them finite, but very large.
        without = max(rows - held[j], 1e-3)
        loss += objective.importance[j] * abs(held[j] / without - objective.odds[j])
    return loss
