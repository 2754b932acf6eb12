"""Ranks: Friedman's test, Nemenyi's distance and cliques; of pairs, Wilcoxon's test and effects.

By hand, because `scipy.stats.friedmanchisquare` always corrects for ties and has no F, and because
`scipy.stats.wilcoxon` (1.17) is exact with ties for up to 13 data sets only, and then tries all
sign patterns: 13 data sets and 4 methods take 7 s, and counting sums 1 ms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2 as chi2_distribution
from scipy.stats import f as f_distribution
from scipy.stats import norm, rankdata, studentized_range

from labelance._validation._arguments import check_choice
from labelance.exceptions import InputError
from labelance.study.statistics._tables import (
    Floats,
    Methods,
    Table,
    open_p_values,
    open_scores,
    square,
)

Zero = Literal["split", "drop"]
# Up to here all sign patterns are counted; beyond, the normal distribution is close enough.
EXACT_UP_TO = 25
# Differences of decimals that are equal on paper differ in the last bits: 0.75 - 0.72 is not
# 0.63 - 0.60. They are compared to this many digits after the leading one of the largest score.
DIGITS = 12


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
    values, named = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return named.vector(dataset_ranks(values).mean(axis=0))


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
    values, _ = open_scores(scores, higher_is_better=higher_is_better)
    return friedman_of_ranks(dataset_ranks(values), tie_correction=tie_correction)


def dataset_ranks(values: Floats) -> Floats:
    """Ranks within each data set, 1 for the highest score."""
    return np.asarray(rankdata(-values, axis=1))


def friedman_of_ranks(ranks: Floats, *, tie_correction: bool) -> Friedman:
    """Friedman and Iman-Davenport, with integers as far as they go.

    With doubled ranks every sum is whole, so perfect agreement of all data sets, where F is
    infinite, is recognized exactly.
    """
    n, k = ranks.shape
    sums = [int(total) for total in np.rint(2 * ranks).astype(np.int64).sum(axis=0)]
    spread = 3 * (k - 1) * (sum(total**2 for total in sums) - n**2 * k * (k + 1) ** 2)
    scale = n * k * (k**2 - 1)
    if tie_correction:  # the sum of t³ - t over groups of t equal scores within a data set
        # A method in a group of t sees t equal ranks, so the sum of t² over methods is that of t³.
        same = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=2)
        scale -= int((same**2 - 1).sum())
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
        found = f"Got {len(values)} methods and ranks of shape {ranks.shape}"
        raise InputError("Every method needs one average rank", found)
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


class SignedRanks(NamedTuple):
    """Signed ranks of all pairs: ``sums[a, b]`` is W+ of a - b, and ``sums[b, a]`` its W-."""

    sums: Floats
    p_values: Floats


def wilcoxon_matrix(
    scores: Table,
    *,
    zero: Zero = "split",
    higher_is_better: bool = True,
    methods: Sequence[str] | None = None,
) -> Any:
    """Wilcoxon's signed-rank test of every pair of methods: the matrix of two-sided p values.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method.
    zero : {"split", "drop"}, default="split"
        Data sets on which both methods score the same: their ranks go half to each side
        (Demšar 2006), or they are left out.
    higher_is_better : bool, default=True
        Changes nothing in two-sided p values; here so that all functions take the same options.
    methods : sequence of str, optional
        Names of the columns; by default those of the frame.

    Returns
    -------
    array or data frame of shape (n_methods, n_methods)
        Symmetric, with ones on the diagonal.

    Notes
    -----
    Up to 25 ranked data sets p is exact, also with ties: the distribution of W+ over all sign
    patterns of the ranks at hand. Beyond, it is the normal approximation without continuity
    correction. The R package scmamp returns one-sided p values from the normal distribution,
    which call more pairs significant.

    Examples
    --------
    >>> from labelance.study.statistics import wilcoxon_matrix
    >>> wilcoxon_matrix([[0.9, 0.8], [0.7, 0.5], [0.6, 0.3], [0.8, 0.4]])
    array([[1.   , 0.125],
           [0.125, 1.   ]])
    """
    values, named = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return named.matrix(signed_ranks(values, zero=zero).p_values)


def signed_rank_sums(
    scores: Table,
    *,
    zero: Zero = "split",
    higher_is_better: bool = True,
    methods: Sequence[str] | None = None,
) -> Any:
    """Return sums of signed ranks of every pair: entry (a, b) is W+ of a - b, entry (b, a) is W-.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method.
    zero : {"split", "drop"}, default="split"
        What becomes of data sets on which both score the same, as in `wilcoxon_matrix`.
    higher_is_better : bool, default=True
        False for errors and losses; W+ counts for the better method either way.
    methods : sequence of str, optional
        Names of the columns; by default those of the frame.

    Returns
    -------
    array or data frame of shape (n_methods, n_methods)
        The larger of two mirrored entries belongs to the better method.

    Examples
    --------
    >>> from labelance.study.statistics import signed_rank_sums
    >>> signed_rank_sums([[0.9, 0.8], [0.7, 0.5], [0.3, 0.6], [0.8, 0.4]])
    array([[0., 7.],
           [3., 0.]])
    """
    values, named = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return named.matrix(signed_ranks(values, zero=zero).sums)


def signed_ranks(values: Floats, *, zero: Zero) -> SignedRanks:
    """Rank the differences of all pairs, and test them."""
    check_choice("zero", zero, ("split", "drop"))
    k = values.shape[1]
    differences = pair_differences(values)
    differ = differences != 0
    dropped = 0 if zero == "split" else (~differ).sum(axis=1, keepdims=True)
    # Doubled, mean ranks are integers; those of zeros come first, and count for neither method.
    ranks = np.rint(2 * rankdata(np.abs(differences), axis=1)).astype(np.int64)
    ranks = np.where(differ, ranks - 2 * dropped, 0)
    plus = np.where(differences > 0, ranks, 0).sum(axis=1)
    minus = ranks.sum(axis=1) - plus
    n_ranked = np.ravel(values.shape[0] - dropped) + np.zeros_like(plus)
    shared = (n_ranked * (n_ranked + 1) - plus - minus) / 2
    p = [
        _two_sided(line[line > 0], least, n)
        for line, least, n in zip(ranks, np.minimum(plus, minus), n_ranked)
    ]
    return SignedRanks(
        sums=square((plus + shared) / 2, k, below=(minus + shared) / 2, diagonal=0),
        p_values=square(p, k, below=p, diagonal=1),
    )


def pair_differences(values: Floats) -> Floats:
    """Differences a - b of all pairs, one row per pair, equal where they are equal on paper."""
    a, b = np.triu_indices(values.shape[1], 1)
    differences = (values[:, a] - values[:, b]).T
    largest = np.abs(values).max()
    if largest == 0:
        return np.asarray(differences)
    # A power of ten, so that decimals fall on the grid and never between two of its points.
    unit = 10.0 ** max(np.floor(np.log10(largest)) - DIGITS, -300)
    return np.asarray(np.rint(differences / unit) * unit)


def _two_sided(ranks: NDArray, smaller: int, n_ranked: int) -> float:
    """P of a doubled rank sum as small as ``smaller`` on either side; zeros are not in ranks."""
    if ranks.size == 0:
        return 1.0
    if n_ranked <= EXACT_UP_TO:
        # Only the ranks' values matter, and without ties they are the same for all pairs.
        at_most = _patterns_up_to(tuple(np.sort(ranks).tolist()))
        return min(1.0, 2.0 * float(at_most[smaller]) / 2.0**ranks.size)
    deviation = smaller - ranks.sum() / 2
    return float(2 * norm.cdf(deviation / np.sqrt((ranks.astype(float) ** 2).sum() / 4)))


@lru_cache(maxsize=256)
def _patterns_up_to(ranks: tuple[int, ...]) -> NDArray[np.int64]:
    """How many of the 2^n sign patterns have a sum of positive ranks of at most 0, 1, 2, ..."""
    patterns = np.zeros(sum(ranks) + 1, dtype=np.int64)
    patterns[0] = 1
    for rank in ranks:  # each rank is positive in half of the patterns
        patterns[rank:] += patterns[:-rank].copy()
    return patterns.cumsum()


def smallest_p(n_datasets: int) -> float:
    """Return the p value of a method that is better on every data set."""
    ranks = 2 * np.arange(1, n_datasets + 1)
    return _two_sided(ranks, 0, n_datasets)


@dataclass(frozen=True, eq=False)
class EffectSizes:
    """Result of `effect_sizes`: four matrices, entry (a, b) for method a against method b.

    Attributes
    ----------
    rank_biserial : array or data frame of shape (n_methods, n_methods)
        (W+ - W-) / (W+ + W-) of the signed ranks: 1 if a wins all, 0 if none leads.
    superiority : array or data frame of shape (n_methods, n_methods)
        Share of the data sets on which a is better, ties counted half: Vargha and Delaney's A
        within data sets. Cliff's delta within data sets is 2 A - 1.
    mean_difference : array or data frame of shape (n_methods, n_methods)
        Mean of a - b over the data sets.
    hodges_lehmann : array or data frame of shape (n_methods, n_methods)
        Median of the means of all two differences (and of each alone): the shift that goes
        with the signed-rank test, hardly moved by a few odd data sets.
    """

    rank_biserial: Any
    superiority: Any
    mean_difference: Any
    hodges_lehmann: Any


def effect_sizes(
    scores: Table,
    *,
    zero: Zero = "split",
    higher_is_better: bool = True,
    methods: Sequence[str] | None = None,
) -> EffectSizes:
    """Measure how much better every method is than every other.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method.
    zero : {"split", "drop"}, default="split"
        What becomes of data sets on which both score the same, as in `wilcoxon_matrix`.
    higher_is_better : bool, default=True
        False for errors and losses. Positive always means that the row's method is better.
    methods : sequence of str, optional
        Names of the columns; by default those of the frame.

    Returns
    -------
    EffectSizes
        Four matrices in the kind of table that was given.

    References
    ----------
    .. [1] D. S. Kerby. The simple difference formula: an approach to teaching nonparametric
       correlation. Comprehensive Psychology 3 (2014).
    .. [2] A. Vargha and H. D. Delaney. A critique and improvement of the CL common language
       effect size statistics of McGraw and Wong. Journal of Educational and Behavioral
       Statistics 25 (2000), 101-132.

    Examples
    --------
    >>> from labelance.study.statistics import effect_sizes
    >>> effects = effect_sizes([[0.9, 0.8], [0.7, 0.5], [0.3, 0.6], [0.8, 0.4]])
    >>> float(effects.rank_biserial[0, 1]), float(effects.superiority[0, 1])
    (0.4, 0.75)
    """
    values, named = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return measure_effects(values, named, signed_ranks(values, zero=zero).sums)


def measure_effects(values: Floats, methods: Methods, sums: Floats) -> EffectSizes:
    """Effect sizes of scores whose sums of signed ranks are known."""
    differences = pair_differences(values)
    better = ((differences > 0) + 0.5 * (differences == 0)).mean(axis=1)
    i, j = np.triu_indices(len(values))
    shift = np.median((differences[:, i] + differences[:, j]) / 2, axis=1)
    total = sums + sums.T
    # No rank at all (every difference zero and dropped) is no effect.
    biserial = np.divide(sums - sums.T, total, out=np.zeros_like(sums), where=total > 0)

    def of_pairs(above: Floats, below: Floats, diagonal: float) -> Any:
        return methods.matrix(square(above, len(sums), below=below, diagonal=diagonal))

    mean = differences.mean(axis=1)
    return EffectSizes(
        rank_biserial=methods.matrix(biserial),
        superiority=of_pairs(better, 1 - better, 0.5),
        mean_difference=of_pairs(mean, -mean, 0),
        hodges_lehmann=of_pairs(shift, -shift, 0),
    )
