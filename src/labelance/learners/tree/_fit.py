"""Many trees over one X: columns are sorted once, blocks of problems are compiled calls."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.utils.validation import _check_sample_weight, check_array

from labelance.exceptions import InputError
from labelance.learners.tree._binary import grow_binary
from labelance.learners.tree._columns import count_categories, nominal_columns
from labelance.learners.tree._forest import Forest
from labelance.learners.tree._harvest import Harvest, finish
from labelance.learners.tree._problems import Problems
from labelance.learners.tree._rules import LN2, Rules, make_rules
from labelance.learners.tree._sorted import grow_sorted
from labelance.learners.tree._sprouts import Sprouts
from labelance.learners.tree._table import TreeTable, prepare

_FEW_CLASSES = 16  # up to so many, counting every class of every feature pays
_MOST_BITS = 1 << 29  # of a set of rows for every feature: 64 MB
_WORK_PER_BLOCK = 1 << 22  # rows and features of the problems that are grown in one call


def fit_many(
    X: Any,
    problems: Problems,
    *,
    categorical_features: ArrayLike | None = None,
    n_categories: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Forest:
    """Fit one C4.5 tree per problem over the same X.

    Each tree equals the one that :class:`~labelance.learners.C45Classifier` grows for its
    problem alone, but the columns of X are sorted once, and trees are grown and asked in few
    compiled calls.

    Parameters
    ----------
    X : array, sparse matrix of shape (n, d), or TreeTable
        The rows; NaN is a missing value. What :func:`prepare` made of them serves again.
    problems : Problems
        Rows and classes of every problem, see :func:`label_problems`, :func:`pair_problems`,
        :func:`class_problems` and :func:`subset_problems`.
    categorical_features, n_categories : array-like, optional
        Nominal features and their numbers of categories, as in C45Classifier. A TreeTable
        has them already.
    sample_weight : array-like of shape (n,), optional
        Positive weights of the rows of X, the same for all problems.
    n_jobs : int, optional
        Number of threads; the trees do not depend on it.
    **options
        ``confidence``, ``min_leaf``, ``prune``, ``subtree_raising``, ``collapse`` and
        ``mdl_correction`` of C45Classifier.

    Returns
    -------
    Forest
        All trees, in the order of the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from labelance.learners.tree import fit_many, label_problems
    >>> X = np.arange(12.0)[:, None]
    >>> Y = csr_array(np.column_stack([X[:, 0] > 5, X[:, 0] < 3]))
    >>> forest = fit_many(X, label_problems(Y))
    >>> forest.positive_proba([[2.0], [9.0]])
    array([[0., 1.],
           [1., 0.]])
    """
    if not isinstance(X, TreeTable):
        X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        nominal = nominal_columns(categorical_features, X.shape[1], None)
        X = prepare(X, count_categories(X, nominal, n_categories))
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, np.empty((X.n_rows, 1)), dtype=np.float64)
        if not np.all(weight > 0):
            raise InputError(
                "fit_many weighs rows with positive numbers",
                "some weights are 0 or less",
                "Leave such rows out of the problems",
            )
    return grow_forest(X, problems, make_rules(**options), weight=weight, n_jobs=n_jobs)


def grow_forest(
    table: TreeTable,
    problems: Problems,
    rules: Rules,
    *,
    weight: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
) -> Forest:
    """Grow and prune one tree per problem over a prepared X; see :func:`fit_many`."""
    edges = _edges(table, problems, effective_n_jobs(n_jobs))
    complete = table.complete
    harvests = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_grow_block)(table, problems.take(a, b), weight, complete, rules)
        for a, b in pairwise(edges)
    )
    return Forest.of(table, problems, harvests)


def _edges(table: TreeTable, problems: Problems, n_jobs: int) -> list[int]:
    """Cut the problems into blocks of like work, several per thread to even out surprises."""
    told = np.diff(problems.start)
    rows = np.full(len(problems), table.n_rows) if problems.whole else told
    work = np.cumsum(rows + table.n_features)
    n_blocks = max(-(-int(work[-1]) // _WORK_PER_BLOCK), 1 if n_jobs == 1 else 4 * n_jobs)
    cuts = np.searchsorted(work, work[-1] * np.arange(1, n_blocks) / n_blocks)
    return np.unique([0, *cuts, len(problems)]).tolist()


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
    logs = _log_table(table, problems)
    by_counting = complete and weight is None
    few = problems.n_classes.max() <= _FEW_CLASSES
    if by_counting and few and table.binary and len(logs) * table.n_features <= _MOST_BITS:
        return grow_binary(table, problems, rules, logs)
    weight = np.ones(table.n_rows) if weight is None else weight
    weight = weight[:0] if by_counting else weight
    return grow_sorted(table, problems, weight, rules, logs)


def _log_table(table: TreeTable, problems: Problems) -> NDArray[np.float64]:
    """Return n log2 n for every number of rows that a problem may have."""
    most = table.n_rows if problems.whole else int(np.diff(problems.start).max(initial=0))
    n = np.arange(most + 1, dtype=np.float64)
    return xlogy(n, n) / LN2
