"""Many trees over one table: every block of problems is one compiled call."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from labelance.learners.tree._deal import deal_cells
from labelance.learners.tree._forest import Forest
from labelance.learners.tree._general import grow_general
from labelance.learners.tree._harvest import Harvest, finish
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._rules import Rules
from labelance.learners.tree._table import TreeTable

_NO_CELLS = np.empty(0, np.int64)


def grow_forest(
    table: TreeTable,
    problems: Problems,
    rules: Rules,
    *,
    weight: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Forest:
    """Grow and prune one tree per problem."""
    edges = _blocks(problems, effective_n_jobs(n_jobs))
    complete = table.complete
    harvests = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_grow_block)(table, problems.take(a, b), weight, complete, rules)
        for a, b in pairwise(edges)
    )
    return Forest.of(table, problems, harvests)


def _grow_block(
    table: TreeTable,
    problems: Problems,
    weight: NDArray[np.float64] | None,
    complete: bool,
    rules: Rules,
) -> Harvest:
    cells, begin = (_NO_CELLS, _NO_CELLS) if problems.whole else deal_cells(table, problems)
    weight = np.ones(table.n_rows) if weight is None else weight
    sprouts = grow_general(table, problems, cells, begin, weight, rules)
    return finish(table, problems, sprouts, complete, rules)


def _blocks(problems: Problems, n_jobs: int) -> list[int]:
    """Cut the problems into blocks of like size, a few per thread to even out surprises."""
    n_blocks = 1 if n_jobs == 1 else min(len(problems), 4 * n_jobs)
    return [len(problems) * i // n_blocks for i in range(n_blocks + 1)]
