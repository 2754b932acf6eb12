"""Adjusted p-values of all pairs: Bergmann-Hommel, Shaffer and Holm, of which scipy has none."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelance.exceptions import InputError
from labelance.study.statistics._tables import Floats, Table, open_p_values, pair_values, square


def partitions(n_methods: int) -> NDArray[np.int8]:
    """All ways to put methods into groups, one row each: the number of every method's group.

    Rows are restricted growth strings: a method joins one of the groups before it, or opens
    the next. The first row is one group of all, the last row leaves all methods alone.
    """
    groups = np.zeros((1, 1), dtype=np.int8)
    for _ in range(1, n_methods):
        choices = groups.max(axis=1).astype(np.intp) + 2
        first = np.cumsum(choices) - choices
        joined = np.arange(choices.sum()) - np.repeat(first, choices)
        groups = np.column_stack([np.repeat(groups, choices, axis=0), joined.astype(np.int8)])
    return groups


@lru_cache
def exhaustive_sets(n_methods: int) -> NDArray[np.bool_]:
    """Membership of pairs (rows, in the order of `pair_values`) in exhaustive sets (columns).

    A set of pairs is exhaustive if exactly these equalities can hold together. Equality
    carries over (a = b and b = c give a = c), so these are the pairs within the groups of a
    partition; all Bell(k) of them count but the one without any pair. This replaces the
    recursive construction with removal of repetitions of García and Herrera (2008).
    """
    groups = partitions(n_methods)[:-1]
    a, b = np.triu_indices(n_methods, 1)
    together = np.ascontiguousarray((groups[:, a] == groups[:, b]).T)
    together.flags.writeable = False  # shared by all callers
    return together


@lru_cache
def true_counts(n_methods: int) -> tuple[int, ...]:
    """Return the numbers of equalities that can be true together, ascending: Shaffer's S(k).

    Examples
    --------
    >>> from labelance.study.statistics._corrections import true_counts
    >>> true_counts(4)
    (0, 1, 2, 3, 6)
    """
    if n_methods <= 1:
        return (0,)
    counts = {
        size * (size - 1) // 2 + rest
        for size in range(1, n_methods + 1)
        for rest in true_counts(n_methods - size)
    }
    return tuple(sorted(counts))


Whole = NDArray[np.integer]
# Ten methods have 115,974 exhaustive sets, eleven 678,569, twelve 4,213,596.
MOST_METHODS = 10


def holm(p_matrix: Table) -> Any:
    """Adjust the p values of all pairs by Holm's step-down procedure.

    The i-th smallest of m p values is multiplied by m - i + 1, the number of hypotheses not yet
    rejected.

    Parameters
    ----------
    p_matrix : array or data frame of shape (n_methods, n_methods)
        Symmetric, unadjusted p values; anything on the diagonal.

    Returns
    -------
    array or data frame of shape (n_methods, n_methods)
        Adjusted p values: a pair is significant at alpha if its value is at most alpha. Ones
        on the diagonal.

    Examples
    --------
    >>> from labelance.study.statistics import holm
    >>> holm([[1, 0.01, 0.02], [0.01, 1, 0.3], [0.02, 0.3, 1]])
    array([[1.  , 0.03, 0.04],
           [0.03, 1.  , 0.3 ],
           [0.04, 0.3 , 1.  ]])
    """
    return _adjust(p_matrix, lambda p, _: _step_down(p, np.arange(p.size, 0, -1)))


def shaffer(p_matrix: Table) -> Any:
    """Adjust the p values of all pairs by Shaffer's static procedure.

    Like Holm's, but with the largest number of hypotheses that can still be true together: if
    a and b differ, c cannot be equal to both.

    Parameters
    ----------
    p_matrix : array or data frame of shape (n_methods, n_methods)
        Symmetric, unadjusted p values; anything on the diagonal.

    Returns
    -------
    array or data frame of shape (n_methods, n_methods)
        Adjusted p values, none larger than Holm's. Ones on the diagonal.

    References
    ----------
    .. [1] J. P. Shaffer. Modified sequentially rejective multiple test procedures. Journal of
       the American Statistical Association 81 (1986), 826-831.

    Examples
    --------
    >>> from labelance.study.statistics import shaffer
    >>> shaffer([[1, 0.01, 0.02], [0.01, 1, 0.3], [0.02, 0.3, 1]])
    array([[1.  , 0.03, 0.03],
           [0.03, 1.  , 0.3 ],
           [0.03, 0.3 , 1.  ]])
    """
    return _adjust(p_matrix, lambda p, k: _step_down(p, _still_true(k)))


def bergmann_hommel(p_matrix: Table, *, monotone: bool = False) -> Any:
    """Adjust the p values of all pairs by Bergmann and Hommel's procedure.

    The most powerful of the three. For every exhaustive set, that is every set of pairs that
    can be equal together, its smallest p value times its size bounds all its members.

    Parameters
    ----------
    p_matrix : array or data frame of shape (n_methods, n_methods)
        Symmetric, unadjusted p values; anything on the diagonal. At most 10 methods, since
        the number of exhaustive sets explodes.
    monotone : bool, default=False
        Make adjusted values follow the order of the unadjusted ones, as the R package scmamp
        does. The procedure itself does not: a pair with a larger p value may be rejected
        before one with a smaller.

    Returns
    -------
    array or data frame of shape (n_methods, n_methods)
        Adjusted p values, none larger than Shaffer's. Ones on the diagonal.

    References
    ----------
    .. [1] G. Bergmann and G. Hommel. Improvements of general multiple test procedures for
       redundant systems of hypotheses. In Multiple Hypotheses Testing (1988), 100-115.
    .. [2] S. García and F. Herrera. An extension on "Statistical comparisons of classifiers
       over multiple data sets" for all pairwise comparisons. Journal of Machine Learning
       Research 9 (2008), 2677-2694.

    Examples
    --------
    >>> from labelance.study.statistics import bergmann_hommel
    >>> bergmann_hommel([[1, 0.01, 0.02], [0.01, 1, 0.3], [0.02, 0.3, 1]])
    array([[1.  , 0.03, 0.03],
           [0.03, 1.  , 0.3 ],
           [0.03, 0.3 , 1.  ]])
    """
    return _adjust(p_matrix, partial(_largest_bounds, monotone=monotone))


def _adjust(p_matrix: Table, rule: Callable[[Floats, int], Floats]) -> Any:
    """Apply a rule for the p values of all pairs to a matrix of them."""
    values, methods = open_p_values(p_matrix)
    k = len(values)
    adjusted = np.minimum(rule(pair_values(values), k), 1.0)
    return methods.matrix(square(adjusted, k, below=adjusted, diagonal=1))


def _step_down(p: Floats, factors: Whole) -> Floats:
    """Multiply ascending p values by falling factors; none may fall below one before it."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(factors * p[order])
    return adjusted


def _still_true(k: int) -> Whole:
    """Shaffer's t_i, i = 1..m: how many pairs can at most be true after i - 1 rejections."""
    left = np.arange(k * (k - 1) // 2, 0, -1)
    counts = np.array(true_counts(k))
    return np.asarray(counts[np.searchsorted(counts, left, side="right") - 1])


def _largest_bounds(p: Floats, k: int, *, monotone: bool) -> Floats:
    """For every pair the largest |I| min p over the exhaustive sets I that hold it.

    ``monotone`` raises them to those of smaller or equal p values.
    """
    if k > MOST_METHODS:
        problem = f"Bergmann-Hommel works with at most {MOST_METHODS} methods"
        raise InputError(problem, f"Got {k}", "Use shaffer, or compare fewer methods")
    sets = exhaustive_sets(k)
    smallest = np.full(sets.shape[1], np.inf)
    for value, inside in zip(p, sets):
        np.minimum(smallest, value, out=smallest, where=inside)
    bounds = sets.sum(axis=0) * smallest
    adjusted = np.array([bounds[inside].max() for inside in sets])
    if monotone:
        order = np.lexsort((-adjusted, p))
        adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted
