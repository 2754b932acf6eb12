"""Average ranks: Friedman's test whether all could be the same, Nemenyi's distance, and cliques.

By hand, because `scipy.stats.friedmanchisquare` always corrects for ties, and has no F.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import f as f_distribution
from scipy.stats import rankdata, studentized_range

from labelance.exceptions import InputError
from labelance.study.statistics._tables import Floats, Table, open_p_values, open_scores


@dataclass(frozen=True)
class Friedman:
    """Result of `friedman`.

    Attributes
    ----------
    chi2, p : float
        Friedman's statistic, and its p value from the chi-squared distribution.
    F, F_p : float
        Iman and Davenport's statistic, and its p value from the F distribution.
    df : tuple of int
        Degrees of freedom of F; the first is also that of chi2.
    """

    chi2: float
    p: float
    F: float
    F_p: float
    df: tuple[int, int]


def average_ranks(
    scores: Table, *, higher_is_better: bool = True, methods: Sequence[str] | None = None
) -> Any:
    """Rank the methods on each data set, 1 for the best, and average over the data sets.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method.
    higher_is_better : bool, default=True
        False for errors and losses.
    methods : sequence of str, optional
        Names of the columns; by default those of the frame.

    Returns
    -------
    ndarray or Series of shape (n_methods,)
        Mean rank of each method; methods with equal scores share the mean of their ranks.

    Examples
    --------
    >>> from labelance.study.statistics import average_ranks
    >>> average_ranks([[0.9, 0.8, 0.7], [0.5, 0.6, 0.5]])
    array([1.75, 1.5 , 2.75])
    """
    table = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return table.methods.vector(mean_ranks(table.values))


def friedman(
    scores: Table, *, tie_correction: bool = False, higher_is_better: bool = True
) -> Friedman:
    """Test whether all methods have the same average rank.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method.
    tie_correction : bool, default=False
        Divide chi2 by what equal scores take from its variance, as
        `scipy.stats.friedmanchisquare` does; the default is Demšar's (2006) plain form.
    higher_is_better : bool, default=True
        Changes nothing in the test; here so that all functions take the same options.

    Returns
    -------
    Friedman
        ``chi2``, ``p`` and Iman and Davenport's less conservative ``F``, ``F_p``.

    Examples
    --------
    >>> from labelance.study.statistics import friedman
    >>> result = friedman([[3, 2, 1], [3, 2, 1], [3, 1, 2], [2, 3, 1]])
    >>> round(result.chi2, 3), round(result.F, 3)
    (4.5, 3.857)
    """
    values = open_scores(scores, higher_is_better=higher_is_better).values
    return friedman_of_ranks(dataset_ranks(values), tie_correction=tie_correction)


def dataset_ranks(values: Floats) -> Floats:
    """Ranks within each data set, 1 for the highest score."""
    return np.asarray(rankdata(-values, axis=1))


def mean_ranks(values: Floats) -> Floats:
    """Average of `dataset_ranks` over the data sets."""
    return np.asarray(dataset_ranks(values).mean(axis=0))


def friedman_of_ranks(ranks: Floats, *, tie_correction: bool) -> Friedman:
    """Friedman and Iman-Davenport, with integers as far as they go.

    With doubled ranks every sum is whole, so perfect agreement of all data sets, where F is
    infinite, is recognized exactly.
    """
    n, k = ranks.shape
    sums = [int(total) for total in np.rint(2 * ranks).astype(np.int64).sum(axis=0)]
    spread = 3 * (k - 1) * (sum(total**2 for total in sums) - n**2 * k * (k + 1) ** 2)
    scale = n * k * (k**2 - 1) - (_tied(ranks) if tie_correction else 0)
    df = (k - 1, (k - 1) * (n - 1))
    if spread == 0:  # also where every score is tied and scale is 0
        return Friedman(chi2=0.0, p=1.0, F=0.0, F_p=1.0, df=df)
    chi2 = spread / scale
    rest = n * (k - 1) * scale - spread
    F = (n - 1) * spread / rest if rest > 0 else np.inf
    return Friedman(
        chi2=chi2,
        p=float(chi2_distribution.sf(chi2, df[0])),
        F=F,
        F_p=float(f_distribution.sf(F, *df)),
        df=df,
    )


def _tied(ranks: NDArray) -> int:
    """Sum of t³ - t over all groups of t equal scores within a data set."""
    # A method in a group of t sees t equal ranks, so the sum of t² over methods is that of t³.
    same = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2)
    return int((same**2 - 1).sum())


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
            f"Got n_methods={n_methods}, n_datasets={n_datasets}, alpha={alpha}",
        )
    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def cliques(
    ranks: ArrayLike, adjusted: Table, *, alpha: float = 0.05
) -> tuple[tuple[Any, ...], ...]:
    """Return groups of neighbors by rank in which no pair differs: the bars of a diagram.

    Parameters
    ----------
    ranks : array or Series of shape (n_methods,)
        Average ranks.
    adjusted : array or data frame of shape (n_methods, n_methods)
        Adjusted p values, methods in the order of ``ranks``.
    alpha : float, default=0.05
        A pair with a larger p value does not differ significantly.

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
            "Every method needs one average rank",
            f"Got {len(values)} methods and ranks of shape {ranks.shape}",
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
