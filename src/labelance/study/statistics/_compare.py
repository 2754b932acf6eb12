"""The paper's comparison of methods over data sets, in one call."""

from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from labelance.exceptions import InputError
from labelance.study.statistics._comparison import TITLES, Comparison, Correction
from labelance.study.statistics._corrections import (
    MOST_METHODS,
    bergmann_hommel,
    holm,
    shaffer,
)
from labelance.study.statistics._critical_difference import find_cliques
from labelance.study.statistics._effects import measure_effects
from labelance.study.statistics._ranks import dataset_ranks, friedman_of_ranks
from labelance.study.statistics._tables import Floats, Table, open_scores
from labelance.study.statistics._wilcoxon import Zero, signed_ranks, smallest_p


def compare(
    scores: Table,
    *,
    correction: Correction | None = "bergmann_hommel",
    alpha: float = 0.05,
    zero: Zero = "split",
    higher_is_better: bool = True,
    methods: Sequence[str] | None = None,
) -> Comparison:
    """Compare all methods with each other over many data sets, as the paper's Table 2 does.

    Average ranks and Friedman's test; Wilcoxon's signed-rank test of every pair, corrected for
    their number; significant wins and losses; effect sizes.

    Parameters
    ----------
    scores : array or data frame of shape (n_datasets, n_methods)
        One row per data set, one column per method: one score each, such as the mean over all
        repeats and folds.
    correction : {"bergmann_hommel", "shaffer", "holm"} or None
        What decides on significance; the adjusted p values of all three are in the result.
        Bergmann-Hommel, the most powerful, takes up to 10 methods. With None the unadjusted
        p values decide, which is sound for one pair named beforehand only.
    alpha : float, default=0.05
        Level of the tests: the chance that any pair of equal methods is called different.
    zero : {"split", "drop"}, default="split"
        What becomes of data sets on which two methods score the same, as in
        `wilcoxon_matrix`.
    higher_is_better : bool, default=True
        False for errors and losses.
    methods : sequence of str, optional
        Names of the columns; by default those of the frame.

    Returns
    -------
    Comparison
        Prints as a table; its fields are arrays, or Series and frames if pandas came in.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance.study.statistics import compare
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal([0.70, 0.71, 0.78], 0.02, size=(10, 3))
    >>> compare(scores, methods=["none", "MLSOL", "EMLSOL"])
    3 methods on 10 data sets, Wilcoxon signed ranks with Bergmann-Hommel, alpha 0.05
    Friedman chi2 15.8 (p 0.000371), Iman-Davenport F 33.86 (p 7.94e-07)
    method  rank  wins  losses
    EMLSOL  1.00     2       0
    MLSOL   2.30     0       1
    none    2.70     0       1
    not told apart: MLSOL, none
    """
    table = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    _check_options(correction, alpha)
    named, k = table.methods, len(table.methods.names)
    ranks = dataset_ranks(table.values)
    mean_ranks = ranks.mean(axis=0)
    signed = signed_ranks(table.values, zero=zero)
    adjusted = _all_corrections(signed.p_values, required=correction)
    decisive = signed.p_values if correction is None else adjusted[correction]
    significant = (decisive <= alpha) & ~np.eye(k, dtype=bool)
    beats = significant & _better(signed.sums, mean_ranks)
    possible = smallest_adjusted_p(table.values.shape[0], k, correction)
    return Comparison(
        methods=named.names,
        n_datasets=table.values.shape[0],
        correction=correction,
        alpha=alpha,
        average_ranks=named.vector(mean_ranks),
        friedman=friedman_of_ranks(ranks, tie_correction=False),
        rank_sums=named.matrix(signed.sums),
        p_values=named.matrix(signed.p_values),
        adjusted={name: named.matrix(matrix) for name, matrix in adjusted.items()},
        significant=named.matrix(significant),
        wins=named.vector(beats.sum(axis=1)),
        losses=named.vector(beats.sum(axis=0)),
        effects=measure_effects(table, signed.sums),
        cliques=tuple(
            tuple(named.names[method] for method in run)
            for run in find_cliques(mean_ranks, ~significant)
        ),
        smallest_possible_p=possible,
        can_be_significant=possible <= alpha,
        datasets_needed=next(n for n in count(2) if smallest_adjusted_p(n, k, correction) <= alpha),
    )


def smallest_adjusted_p(n_datasets: int, n_methods: int, correction: Correction | None) -> float:
    """The least adjusted p value that any scores can give.

    All three corrections multiply the smallest p value by the number of pairs.
    """
    n_pairs = 1 if correction is None else n_methods * (n_methods - 1) // 2
    return min(1.0, n_pairs * smallest_p(n_datasets))


def _check_options(correction: str | None, alpha: float) -> None:
    if correction not in TITLES:
        raise InputError(
            f"correction is one of {[*TITLES]}",
            f"{correction!r} came",
            'Use "bergmann_hommel" for up to 10 methods and "shaffer" for more',
        )
    if not 0 < alpha < 1:
        raise InputError(
            "alpha is the level of a test, between 0 and 1",
            f"{alpha} came",
            "Use 0.05 unless you know better",
        )


def _all_corrections(p_values: Floats, *, required: str | None) -> dict[str, Floats]:
    """Adjusted p values of every correction; Bergmann-Hommel's where possible or required."""
    adjusted = {}
    if len(p_values) <= MOST_METHODS or required == "bergmann_hommel":
        adjusted["bergmann_hommel"] = bergmann_hommel(p_values)
    return {**adjusted, "shaffer": shaffer(p_values), "holm": holm(p_values)}


def _better(sums: Floats, mean_ranks: Floats) -> NDArray[np.bool_]:
    """Whether the row's method leads: by signed-rank sum, and if that ties by mean rank."""
    by_rank = mean_ranks[:, None] < mean_ranks[None, :]
    return np.asarray((sums > sums.T) | ((sums == sums.T) & by_rank))
