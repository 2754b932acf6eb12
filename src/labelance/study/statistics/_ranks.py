"""Average ranks, and Friedman's test whether they could all be the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import f as f_distribution
from scipy.stats import rankdata

from labelance.study.statistics._tables import Floats, Table, open_scores


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
    """Friedman and Iman-Davenport, with whole numbers as far as they go.

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
