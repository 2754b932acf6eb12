"""Many trees over one table: every block of problems is one compiled call."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.special import xlogy

from labelance.learners.tree._binary import grow_binary
from labelance.learners.tree._counts import grow_counts
from labelance.learners.tree._deal import deal_cells
from labelance.learners.tree._forest import Forest
from labelance.learners.tree._general import grow_general
from labelance.learners.tree._harvest import Harvest, finish
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._rules import LN2, Rules
from labelance.learners.tree._sprouts import Sprouts
from labelance.learners.tree._table import TreeTable

_NO_CELLS, _NO_PLACES = np.empty(0, np.uint64), np.empty(0, np.int64)
GENERAL = False
NOBINARY = False
_FEW_CLASSES = 16  # counting every class of every feature pays for that many


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
    sprouts = _grow(table, problems, weight, complete, rules)
    return finish(table, problems, sprouts, complete, rules)


def _grow(
    table: TreeTable,
    problems: Problems,
    weight: NDArray[np.float64] | None,
    complete: bool,
    rules: Rules,
) -> Sprouts:
    """Grow trees in the way that suits the data: all ways give the same trees."""
    by_counting = complete and weight is None and not GENERAL
    if by_counting and table.binary and problems.n_classes.max() <= _FEW_CLASSES and not NOBINARY:
        return grow_binary(table, problems, rules, _log_table(table, problems))
    cells, begin = (_NO_CELLS, _NO_PLACES) if problems.whole else deal_cells(table, problems)
    if by_counting:
        return grow_counts(table, problems, cells, begin, rules, _log_table(table, problems))
    weight = np.ones(table.n_rows) if weight is None else weight
    return grow_general(table, problems, cells, begin, weight, rules)


def _log_table(table: TreeTable, problems: Problems) -> NDArray[np.float64]:
    """Return n log2 n for every number of rows that a problem may have."""
    most = table.n_rows if problems.whole else int(np.diff(problems.start).max(initial=0))
    n = np.arange(most + 1, dtype=np.float64)
    return xlogy(n, n) / LN2


def _blocks(problems: Problems, n_jobs: int) -> list[int]:
    """Cut the problems into blocks of like size, a few per thread to even out surprises."""
    n_blocks = 1 if n_jobs == 1 else min(len(problems), 4 * n_jobs)
    return [len(problems) * i // n_blocks for i in range(n_blocks + 1)]
