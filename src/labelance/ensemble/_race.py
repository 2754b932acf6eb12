"""Which parts of `RareLabelClassifier` learn from all rows, and what each counts in the mean.

Parts learn from growing samples and are judged on other rows, by the log loss of their best convex
mean and by work that is counted from shapes: never by a clock, so a seed gives one model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize

from labelance._arrays._containers import column_counts
from labelance._progress import loop
from labelance.ensemble._encoding import Floats, Task
from labelance.ensemble._parts import PARTS, Part

Rows = NDArray[np.int64]
LEARNS = "learns from all rows"

_PULL = 300.0  # positives that equal weights count like
_RARE = 10.0  # positives that are added to those of a label, so that few do not decide
_LEAST, _MOST = 1e-4, 1 - 1e-4  # probabilities, so that one cell does not decide
_MOST_CELLS = 4_000_000  # that weights are found on

_FREE = 60.0  # seconds of counted work that parts may take whatever the best one takes
_FREE_RACE = 24.0  # and the race; else as much as the best part
_TIMES = 3.0  # the work of the best part that all may take together
_SHORTEST, _LONGEST = 1000, 16_000  # rows of the first sample, and of the last one
_JUDGES = 4000
_DROPPED = 0.03  # weight below which a part leaves the race
_JOINS = 0.1  # weight from which a part learns from all rows
_TIMES_ROW = 3  # the work of the scores of a row, next to that of the best part
_TREES = 50  # of a forest in the race


class Candidate(NamedTuple):
    """A part, and which of the tables it learns from."""

    part: Part
    block: int
    name: str


class Trial(NamedTuple):
    """What the race saw of a part at a size; with NaN where it was not tried.

    ``work`` is counted for a fit to all rows, with scores of rows left out.
    """

    part: str
    rows: int
    loss: float
    weight: float
    work: float
    decision: str


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The candidates that learn from all rows, and what was seen of all of them."""

    chosen: list[Candidate]
    trials: list[Trial]


def find_candidates(tasks: list[Task], names: list[str]) -> list[Candidate]:
    """Return the parts that each table fits."""
    q = tasks[0].Y.shape[1]
    return [
        Candidate(part, block, part.name if len(tasks) == 1 else f"{part.name} ({name})")
        for block, (task, name) in enumerate(zip(tasks, names))
        for part in PARTS
        if part.fits(task.table, q)
    ]


def race(tasks: list[Task], candidates: list[Candidate], rng: np.random.Generator) -> RaceResult:
    """Return which candidates are worth a fit to all rows.

    Where all of them are cheap, or the rows are few, there is no race: weights decide alone.
    """
    n = tasks[0].Y.shape[0]
    work = {one: count_work(one, tasks, n) for one in candidates}
    if sum(work.values()) <= _FREE or n < 2 * _SHORTEST:
        return RaceResult(_cheapest(candidates, work, _FREE), [])
    # Fewer trees are enough to judge by.
    tasks = [task._replace(n_trees=min(task.n_trees, _TREES)) for task in tasks]
    order = rare_rows_first(tasks[0].Y, rng)
    n_judges = min(_JUDGES, n // 4)
    judges = order[1::2][:n_judges]  # every second one of the rows with rare labels
    learned = np.concatenate([order[0::2][:n_judges], order[2 * n_judges :]])
    here, size, spent = _startable(candidates, tasks, work), _SHORTEST, 0.0
    trials = [
        Trial(one.name, 0, np.nan, np.nan, work[one], "too costly to try")
        for one in candidates
        if one not in here
    ]
    while True:
        spent += _heat_work(here, tasks, size)
        weights, losses = _run_heat(here, tasks, learned[:size], judges, rng)
        most = max(_FREE_RACE, work[here[int(np.argmin(losses))]])
        kept = _survivors(here, weights, losses, work)
        last = (
            size * 2 > min(_LONGEST, len(learned), n // 3)
            or spent + _heat_work(kept, tasks, size * 2) > most
        )
        if last:
            kept = _choose(here, weights, losses, work)
        kept_as = LEARNS if last else "stays"
        trials += [
            Trial(one.name, size, loss, weight, work[one], kept_as if one in kept else "dropped")
            for one, weight, loss in zip(here, weights, losses)
        ]
        if last:
            return RaceResult(kept, trials)
        here, size = kept, size * 2


def rare_rows_first(Y: sp.csr_array, rng: np.random.Generator) -> Rows:
    """Return all rows in random order, but first a few of each label, the rarest label first.

    At random alone, a sample would have no row of a rare label to learn from or to judge by.
    """
    few = 20
    columns = Y.tocsc()
    order = rng.permutation(Y.shape[0])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    first: dict[int, None] = {}
    for label in np.argsort(column_counts(Y), kind="stable").tolist():
        rows = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        for row in rows[np.argsort(rank[rows], kind="stable")][:few].tolist():
            first.setdefault(row)
    ahead = np.fromiter(first, dtype=np.int64, count=len(first))
    rest = np.ones(len(order), dtype=bool)
    rest[ahead] = False
    return np.concatenate([ahead, order[rest[order]]])


def count_work(candidate: Candidate, tasks: list[Task], n: int) -> float:
    """Return the work of a fit to n rows, with scores of rows left out."""
    return candidate.part.work(n, tasks[candidate.block])


def _heat_work(here: list[Candidate], tasks: list[Task], size: int) -> float:
    """Return the work of one fit of each candidate to as many rows."""
    return sum(count_work(one, tasks, size) / one.part.n_fits for one in here)


def _cheapest(
    candidates: list[Candidate], cost: dict[Candidate, float], most: float
) -> list[Candidate]:
    """Return candidates that cost no more together: the cheapest ones, and at least one."""
    order = sorted(candidates, key=cost.__getitem__)
    total = np.cumsum([cost[one] for one in order])
    n_kept = max(int((total <= most).sum()), 1)
    return [one for one in candidates if one in order[:n_kept]]


def _startable(
    candidates: list[Candidate], tasks: list[Task], work: dict[Candidate, float]
) -> list[Candidate]:
    """Return candidates whose first heats are cheap, or cheap next to all rows of the cheapest."""
    first = {one: _heat_work([one], tasks, _SHORTEST) for one in candidates}
    return _cheapest(candidates, first, max(_FREE_RACE, min(work.values())))


def _run_heat(
    here: list[Candidate], tasks: list[Task], rows: Rows, judges: Rows, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the weight of each candidate in the best convex mean on the judges, and its loss."""
    judged, scores = tasks[0].take(judges), []
    with loop(f"Trying parts on {len(rows):,} rows", len(here), "parts") as progress:
        for one, stream in zip(here, rng.spawn(len(here))):
            task = tasks[one.block]
            scores.append(one.part.try_on(task.take(rows), task.take(judges), stream))
            progress.advance()
    return blend_weights(scores, judged), np.array([log_loss(one, judged) for one in scores])


def _survivors(
    here: list[Candidate], weights: Floats, losses: Floats, work: dict[Candidate, float]
) -> list[Candidate]:
    """Return those that the next heat is for.

    A part without weight stays if it costs less than the best: it may learn from more rows.
    """
    best = here[int(np.argmin(losses))]
    return [
        one
        for one, weight in zip(here, weights)
        if one is best or weight >= _DROPPED or work[one] <= work[best]
    ]


def _choose(
    here: list[Candidate], weights: Floats, losses: Floats, work: dict[Candidate, float]
) -> list[Candidate]:
    """Return those that learn from all rows: by weight for their cost, within the law of cost.

    What would predict too slowly next to the best one does not learn in vain.
    """
    costs, best = [work[one] for one in here], int(np.argmin(losses))
    fast = _within_rows(here, weights, best)
    weights = np.where((weights >= _JOINS) & np.isin(np.arange(len(here)), fast), weights, 0)
    kept = _within(costs, weights, best, max(_FREE, _TIMES * costs[best]))
    return [here[i] for i in kept]


def weigh_parts(result: RaceResult, held_out: list[Floats], task: Task) -> Floats:
    """Return what each part that learned from all rows counts in the mean.

    After a race that is nothing where scores of all of them would take much longer than those of
    the best one alone: they would be a little better.
    """
    weights = blend_weights(held_out, task)
    if result.trials:
        best = int(np.argmin([log_loss(scores, task) for scores in held_out]))
        kept = _within_rows(result.chosen, weights, best)
        weights = np.zeros(len(held_out))
        weights[kept] = blend_weights([held_out[i] for i in kept], task)
    return weights


def _within_rows(parts: list[Candidate], weights: Floats, best: int) -> list[int]:
    """Return the best part, and those that predict a row with it in three times its work."""
    costs = [one.part.row_work for one in parts]
    return _within(costs, weights, best, _TIMES_ROW * costs[best])


def _within(costs: list[float], weights: Floats, best: int, most: float) -> list[int]:
    """Return the best part, and those that fit together with it into a cost.

    Those of most weight for their cost go first: a dear one would take the room of several.
    """
    kept, total = [best], costs[best]
    for i in np.argsort(-weights / costs, kind="stable").tolist():
        if i != best and weights[i] > 0 and total + costs[i] <= most:
            kept.append(i)
            total += costs[i]
    return sorted(kept)


# --- weights --------------------------------------------------------------------------------------


def mean_of_scores(weights: Floats, scores: Iterable[Floats]) -> Floats:
    """Return the weighted mean of the scores of parts."""
    return np.asarray(sum(weight * one for weight, one in zip(weights, scores)))


def _cells(task: Task, n_scores: int) -> tuple[NDArray[Any], Floats, NDArray[np.bool_]]:
    """Return numbers of cells that weights are found on, what each counts, and its label.

    Each label counts the same per positive, and those of few positives less. Of very many cells
    all positives count, and every k-th of the others for k.
    """
    Y = task.Y.toarray().astype(bool).ravel()
    q = task.Y.shape[1]
    positives = column_counts(task.Y)
    counted = np.tile(1 / (positives + _RARE), len(Y) // q)
    if task.weight is not None:
        counted *= np.repeat(task.weight / task.weight.mean(), q)
    known = task.known
    if known is not None:
        counted *= known.ravel()
    counted /= max(float((positives / (positives + _RARE)).sum()), 1e-12)
    step = max(1, -(-Y.size * n_scores // _MOST_CELLS))
    if step == 1:
        cells = np.flatnonzero(counted)
    else:
        absent = np.flatnonzero(~Y)[::step]
        counted[absent] *= step
        cells = np.sort(np.concatenate([np.flatnonzero(Y), absent]))
        cells = cells[counted[cells] > 0]
    return cells, counted[cells], Y[cells]


def log_loss(scores: Floats, task: Task) -> float:
    """Return the log loss per positive, the mean over labels."""
    cells, counted, present = _cells(task, 1)
    p = np.clip(scores.ravel()[cells], _LEAST, _MOST)
    return float(-(counted @ np.log(np.where(present, p, 1 - p))))


def blend_weights(scores: list[Floats], task: Task) -> Floats:
    """Return the convex weights of the mean of least log loss on rows that no score learned from.

    They are drawn to equal ones as if 300 positives said so.
    """
    k = len(scores)
    equal = np.full(k, 1 / k)
    if k == 1:
        return equal
    cells, counted, present = _cells(task, k)
    p = np.clip([one.ravel()[cells] for one in scores], _LEAST, _MOST)
    likely = np.where(present, p, 1 - p)
    pull = k * _PULL / max(task.Y.nnz, 1)

    def loss(w: Floats) -> tuple[float, Floats]:
        mean = w @ likely
        off = w - equal
        value = -(counted @ np.log(mean)) + pull * (off @ off)
        return value, -(likely @ (counted / mean)) + 2 * pull * off

    found = minimize(
        loss,
        equal,
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(k)},
    )
    w = np.clip(found.x, 0, None)
    w[w < min(_DROPPED, w.max() / 2)] = 0.0  # of very many parts each counts little
    return np.asarray(w / w.sum())
