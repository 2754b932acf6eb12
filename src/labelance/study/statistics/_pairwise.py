"""Every pair of methods: Wilcoxon's signed-rank test, and how large the difference is.

By hand, because `scipy.stats.wilcoxon` (1.17) is exact with ties for up to 13 data sets only, and
then tries all sign patterns: 13 data sets and 4 methods take 7 s, and counting sums 1 ms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from labelance._validation._arguments import check_choice
from labelance.study.statistics._tables import Floats, Scores, Table, open_scores, square

Zero = Literal["split", "drop"]
# Up to here all sign patterns are counted; beyond, the normal distribution is close enough.
EXACT_UP_TO = 25
# Differences of decimals that are equal on paper differ in the last bits: 0.75 - 0.72 is not
# 0.63 - 0.60. They are compared to this many digits after the leading one of the largest score.
DIGITS = 12


@dataclass(frozen=True)
class SignedRanks:
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
    table = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return table.methods.matrix(signed_ranks(table.values, zero=zero).p_values)


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
    table = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return table.methods.matrix(signed_ranks(table.values, zero=zero).sums)


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
    table = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    return measure_effects(table, signed_ranks(table.values, zero=zero).sums)


def measure_effects(table: Scores, sums: Floats) -> EffectSizes:
    """Effect sizes of scores whose sums of signed ranks are known."""
    k = len(table.methods.names)
    differences = pair_differences(table.values)
    shift = np.array([_walsh_median(row) for row in differences])
    mean = differences.mean(axis=1)
    better = ((differences > 0) + 0.5 * (differences == 0)).mean(axis=1)
    matrix = table.methods.matrix
    return EffectSizes(
        rank_biserial=matrix(_rank_biserial(sums)),
        superiority=matrix(square(better, k, below=1 - better, diagonal=0.5)),
        mean_difference=matrix(square(mean, k, below=-mean, diagonal=0)),
        hodges_lehmann=matrix(square(shift, k, below=-shift, diagonal=0)),
    )


def _rank_biserial(sums: Floats) -> Floats:
    total = sums + sums.T
    # No rank at all (every difference zero and dropped) is no effect.
    return np.divide(sums - sums.T, total, out=np.zeros_like(sums), where=total > 0)


def _walsh_median(differences: Floats) -> float:
    i, j = np.triu_indices(differences.size)
    return float(np.median((differences[i] + differences[j]) / 2))
