"""What a critical-difference diagram shows: Nemenyi's distance, and methods not told apart."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import studentized_range

from labelance.exceptions import InputError
from labelance.study.statistics._tables import Floats, Table, open_p_values


def critical_difference(n_methods: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    """Nemenyi's critical difference: average ranks that far apart differ significantly.

    Parameters
    ----------
    n_methods, n_datasets : int
        Size of the table of scores; at least 2 methods.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    float
        q sqrt(k (k + 1) / (6 N)), with q from the studentized range distribution.

    Notes
    -----
    Nemenyi's test knows ranks only and is much weaker than `compare`; it is here because many
    published diagrams show it.

    Examples
    --------
    >>> from labelance.study.statistics import critical_difference
    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    if n_methods < 2 or n_datasets < 1 or not 0 < alpha < 1:
        raise InputError(
            "A critical difference needs at least 2 methods, 1 data set and 0 < alpha < 1",
            f"n_methods={n_methods}, n_datasets={n_datasets}, alpha={alpha} came",
            "Give the size of the table of scores and the level of the test",
        )
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def cliques(
    ranks: ArrayLike, adjusted: Table, *, alpha: float = 0.05
) -> tuple[tuple[Any, ...], ...]:
    """Groups of neighbors by rank in which no pair differs: the bars of a diagram.

    Parameters
    ----------
    ranks : array or Series of shape (n_methods,)
        Average ranks.
    adjusted : array or data frame of shape (n_methods, n_methods)
        Adjusted p values, methods in the order of ``ranks``.
    alpha : float, default=0.05
        A pair with a larger p value is not told apart.

    Returns
    -------
    tuple of tuples
        The largest groups of at least two methods, best first: column numbers, or names if
        ``adjusted`` is a data frame.

    Examples
    --------
    >>> from labelance.study.statistics import cliques
    >>> p = [[1, 0.4, 0.01], [0.4, 1, 0.2], [0.01, 0.2, 1]]
    >>> cliques([1.2, 1.9, 2.9], p)
    ((0, 1), (1, 2))
    """
    values, methods = open_p_values(adjusted)
    ranks = np.asarray(ranks, dtype=np.float64)
    if ranks.shape != (len(values),):
        raise InputError(
            "Every method has one average rank",
            f"there are {len(values)} methods and ranks of shape {ranks.shape}",
            "Give ranks and p values of the same methods in the same order",
        )
    runs = find_cliques(ranks, values > alpha)
    if isinstance(adjusted, (np.ndarray, list, tuple)):
        return runs
    return tuple(tuple(methods.names[method] for method in run) for run in runs)


def find_cliques(ranks: Floats, alike: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Longest runs in the order of ranks with ``alike`` true for every pair."""
    order = np.argsort(ranks, kind="stable").tolist()
    runs: list[tuple[int, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and alike[order[end], order[start:end]].all():
            end += 1
        # A run that ends where an earlier one did lies within that one.
        if end - start > 1 and end > reached:
            runs.append(tuple(order[start:end]))
            reached = end
    return tuple(runs)
