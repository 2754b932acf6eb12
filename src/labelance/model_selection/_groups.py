"""Deal the rows of Y to folds in groups that stay together."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.model_selection._climb import Goal, climb
from labelance.model_selection._deal import deal
from labelance.model_selection._evidence import Evidence, Integers, Order, gather_evidence

# How much a fold of the wrong size counts beside wrong odds, given up step by step: at 0.3 sizes
# are right within two per cent where the groups allow it.
SIZE_COSTS = (0.3, 0.1, 0.03, 0.0)
# What a deal of groups is measured against, and how many odds the search for it may look at.
N_RIVALS = 100
WORK = 500_000_000


def deal_groups(
    Y: csr_array,
    group_of: Integers,
    n_folds: int,
    *,
    order: Order,
    shuffle: bool,
    rng: np.random.Generator,
) -> Integers:
    """Return the fold of every row; the rows of a group go together.

    The greedy deal looks at one label of a group at a time, and chance often beats it when groups
    are large. So it is only the start of a climb, which goes on, caring less and less for sizes,
    until chance is out of the race.
    """
    n_groups = int(group_of.max()) + 1
    if shuffle:
        group_of = rng.permutation(n_groups)[group_of]
    evidence = gather_evidence(Y, order=order, group_of=group_of)
    dealt = deal(evidence, np.ones(n_folds, dtype=np.int64), rng.random(n_groups))
    rivals = rng.integers(n_folds, size=(N_RIVALS, n_groups))
    return _beat_chance(evidence, dealt, rivals, _goal(evidence, n_folds), n_folds)[group_of]


def _goal(evidence: Evidence, n_folds: int) -> Goal:
    n = int(evidence.sizes.sum())
    count = np.bincount(
        evidence.pieces, weights=evidence.times, minlength=len(evidence.piece_indptr) - 1
    )
    # What all rows have is the same in every fold.
    varies = count < n
    odds = np.where(varies, count / np.where(varies, n - count, 1), 0.0)
    # The mean over labels, and beside it, in second order, the mean over pairs.
    importance = np.repeat(1 / np.maximum(np.diff(evidence.phases), 1), np.diff(evidence.phases))
    return Goal(odds, importance * varies, n / n_folds, 0.0)


def _beat_chance(
    evidence: Evidence, fold: Integers, rivals: Integers, goal: Goal, n_folds: int
) -> Integers:
    """Climb from ``fold`` until it is out of the rivals' reach, or else from every rival."""

    def climb_from(start: Integers, size_cost: float, work: int) -> tuple[Integers, float, int]:
        return climb(evidence, start, n_folds, goal._replace(size_cost=size_cost), work)

    losses = np.array([climb_from(rival, 0.0, 0)[1] for rival in rivals])
    bar, least, work = _out_of_reach(losses), np.inf, WORK
    # Odds that are wrong by their own size cost as much as a fold twice as large as it should be.
    unit = float(goal.importance @ goal.odds) / goal.fold_size
    for share in SIZE_COSTS:
        fold, _, work = climb_from(fold, share * unit, work)
        _, least, _ = climb_from(fold, 0.0, 0)
        if least <= bar:
            return fold
    for rival in rivals[np.argsort(losses, kind="stable")]:
        climbed, loss, work = climb_from(rival, 0.0, work)
        if loss < least:
            fold, least = climbed, loss
    return fold


def _out_of_reach(losses: NDArray[np.float64]) -> float:
    """Return a loss that random deals, of which these are a sample, hardly ever come down to."""
    logs = np.log(np.maximum(losses, np.finfo(float).tiny))
    # The lower side only: what is infinite, or nearly so, says nothing about good deals.
    low, middle = np.quantile(logs, [0.16, 0.5], method="lower")
    return float(np.exp(middle - 5 * (middle - low))) if np.isfinite(middle) else 0.0
