"""How large the differences are, which no p value tells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelance.study.statistics._tables import Floats, Scores, Table, open_scores, square
from labelance.study.statistics._wilcoxon import Zero, pair_differences, signed_ranks


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
        Four matrices in the kind of table that came.

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
