"""Assign groups of rows to folds: greedily, then by local search until chance cannot do better."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.model_selection._kernels import local_search
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
