"""Which sets of equalities between k methods can be true together."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


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
    """The numbers of equalities that can be true together, ascending: Shaffer's S(k).

    Examples
    --------
    >>> from labelance.study.statistics._partitions import true_counts
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
