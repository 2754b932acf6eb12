"""Improve a deal step by step: move one hand, or swap two, as long as the folds grow more alike."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelance._compile import kernel
from labelance.model_selection._evidence import Evidence, Integers

# A gain below this is rounding; counting it could go round in circles.
LEAST_GAIN = 1e-12


class Goal(NamedTuple):
    """What alike means.

    Attributes
    ----------
    odds : ndarray of shape (pieces,)
        Copies of a piece over rows without it, in the whole data: what every fold should have.
    importance : ndarray of shape (pieces,)
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


@kernel
def climb(
    evidence: Evidence, fold: Integers, n_folds: int, goal: Goal, budget: int
) -> tuple[Integers, float, int]:
    """Return the improved fold of every hand, its loss, and the work that is left.

    Stops when no step helps, or when ``budget`` odds have been looked at. With a budget of
    0 this only measures the deal.
    """
    fold = fold.copy()
    held = np.zeros((n_folds, len(goal.odds)), dtype=np.int64)
    rows = np.zeros(n_folds, dtype=np.int64)
    for i in range(len(fold)):
        _move(evidence, i, -1, fold[i], held, rows)
    loss = np.array([_loss(held[f], rows[f], goal) for f in range(n_folds)])
    better = True
    while better and budget > 0:
        better, budget = _try_moves(evidence, fold, held, rows, loss, goal, budget)
        if not better:
            better, budget = _try_swaps(evidence, fold, held, rows, loss, goal, budget)
    return fold, loss.sum(), budget


@kernel
def _try_moves(
    evidence: Evidence,
    fold: Integers,
    held: Integers,
    rows: Integers,
    loss: NDArray[np.float64],
    goal: Goal,
    budget: int,
) -> tuple[bool, int]:
    better = False
    for i in range(len(fold)):
        for f in range(len(loss)):
            here = fold[i]
            if f == here or budget <= 0:
                continue
            budget -= 2 * len(goal.odds)
            _move(evidence, i, here, f, held, rows)
            if _accept(here, f, held, rows, loss, goal):
                fold[i], better = f, True
            else:
                _move(evidence, i, f, here, held, rows)
    return better, budget


@kernel
def _try_swaps(
    evidence: Evidence,
    fold: Integers,
    held: Integers,
    rows: Integers,
    loss: NDArray[np.float64],
    goal: Goal,
    budget: int,
) -> tuple[bool, int]:
    better = False
    for i in range(len(fold)):
        for m in range(i + 1, len(fold)):
            a, b = fold[i], fold[m]
            if a == b or budget <= 0:
                continue
            budget -= 2 * len(goal.odds)
            _move(evidence, i, a, b, held, rows)
            _move(evidence, m, b, a, held, rows)
            if _accept(a, b, held, rows, loss, goal):
                fold[i], fold[m], better = b, a, True
            else:
                _move(evidence, i, b, a, held, rows)
                _move(evidence, m, a, b, held, rows)
    return better, budget


@kernel
def _accept(
    a: int, b: int, held: Integers, rows: Integers, loss: NDArray[np.float64], goal: Goal
) -> bool:
    # Keep the step if it makes the two folds it touched more alike to the whole.
    new_a, new_b = _loss(held[a], rows[a], goal), _loss(held[b], rows[b], goal)
    if not new_a + new_b < loss[a] + loss[b] - LEAST_GAIN:
        return False
    loss[a], loss[b] = new_a, new_b
    return True


@kernel
def _move(
    evidence: Evidence, i: int, source: int, target: int, held: Integers, rows: Integers
) -> None:
    # Source -1 is the stock: the hand was in no fold.
    for at in range(evidence.indptr[i], evidence.indptr[i + 1]):
        if source >= 0:
            held[source, evidence.pieces[at]] -= evidence.times[at]
        held[target, evidence.pieces[at]] += evidence.times[at]
    if source >= 0:
        rows[source] -= evidence.sizes[i]
    rows[target] += evidence.sizes[i]


@kernel
def _loss(held: Integers, rows: int, goal: Goal) -> float:
    if rows == 0:
        return np.inf
    loss = goal.size_cost * abs(rows - goal.fold_size)
    for j in range(len(held)):
        # A piece in every row of the fold has infinite odds: keep them finite, but very large.
        without = max(rows - held[j], 1e-3)
        loss += goal.importance[j] * abs(held[j] / without - goal.odds[j])
    return loss
