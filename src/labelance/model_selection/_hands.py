"""Deal the rows of Y, one by one or in groups, with one generator."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.model_selection._climb import Goal, climb
from labelance.model_selection._deal import deal
from labelance.model_selection._evidence import Evidence, Integers, Order, gather_evidence

Rows = NDArray[np.intp]

# How much a fold of the wrong size counts beside wrong odds; a tenth keeps sizes within a few
# per cent where the groups allow it, and costs next to nothing in the label distribution.
SIZE_COST = 0.1
# What every group deal is measured against, and how many odds the search for it may look at.
N_RIVALS = 100
WORK = 300_000_000
# A deal this much better than the best of them is not beaten by the next hundred either.
CLEARLY = 0.8
# With no more groups than this a hundred deals are a good part of all there are.
FEW_GROUPS = 24


def deal_rows(
    Y: csr_array, weights: Integers, *, order: Order, shuffle: bool, rng: np.random.Generator
) -> Integers:
    """Return the fold of every row, fold f getting ``weights[f] / weights.sum()`` of everything."""
    n = Y.shape[0]
    turn = rng.permutation(n) if shuffle else np.arange(n)
    fold = np.empty(n, dtype=np.int64)
    fold[turn] = deal(gather_evidence(Y[turn], order=order), weights, rng.random(n))
    return fold


def rows_of_folds(fold: Integers, n_folds: int) -> list[Rows]:
    """Return the rows of every fold, in increasing order."""
    return [np.flatnonzero(fold == f) for f in range(n_folds)]


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

    The greedy deal alone looks at one label of a group at a time and is often beaten by chance
    when groups are large, so it is only the start of a climb.
    """
    n_groups = int(group_of.max()) + 1
    if shuffle:
        group_of = rng.permutation(n_groups)[group_of]
    evidence = gather_evidence(Y, order=order, group_of=group_of)
    dealt = deal(evidence, np.ones(n_folds, dtype=np.int64), rng.random(n_groups))
    goal = _goal(evidence, n_folds)
    fold, _, _ = climb(evidence, dealt, n_folds, goal, WORK)
    return _beat_chance(evidence, fold, n_folds, goal, rng)[group_of]


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
    importance *= varies
    size_cost = SIZE_COST * float(importance @ odds) * n_folds / n
    return Goal(odds, importance, n / n_folds, size_cost)


def _beat_chance(
    evidence: Evidence, fold: Integers, n_folds: int, goal: Goal, rng: np.random.Generator
) -> Integers:
    """Return ``fold`` if no random deal has a better label distribution; if one may, climb on.

    With few groups chance is a strong rival. Then we climb from every random deal, and sizes,
    which cannot be had as well, no longer count.
    """
    labels_only = goal._replace(size_cost=0.0)

    def climb_from(start: Integers, budget: int) -> tuple[Integers, float, int]:
        return climb(evidence, start, n_folds, labels_only, budget)

    rivals = rng.integers(n_folds, size=(N_RIVALS, len(fold)))
    losses = [climb_from(rival, 0)[1] for rival in rivals]
    _, least, _ = climb_from(fold, 0)
    if len(fold) > FEW_GROUPS and least <= CLEARLY * min(losses):
        return fold
    work = WORK
    for rival in rivals[np.argsort(losses, kind="stable")]:
        climbed, loss, work = climb_from(rival, work)
        if loss < least:
            fold, least = climbed, loss
    return fold
