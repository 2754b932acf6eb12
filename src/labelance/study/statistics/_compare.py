"""Compare methods over datasets: everything that a table of scores supports, in one value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import numpy as np

from labelance._utils._notebook import draw_result
from labelance._validation._arguments import check_choice, check_probability
from labelance.study.statistics._corrections import (
    MOST_METHODS,
    bergmann_hommel,
    holm,
    shaffer,
)
from labelance.study.statistics._ranks import (
    EffectSizes,
    Friedman,
    Zero,
    dataset_ranks,
    find_cliques,
    friedman_of_ranks,
    measure_effects,
    signed_ranks,
    smallest_p,
)
from labelance.study.statistics._tables import Floats, Table, open_scores

Correction = Literal["bergmann_hommel", "shaffer", "holm"]
TITLES = {
    "bergmann_hommel": "Bergmann-Hommel",
    "shaffer": "Shaffer",
    "holm": "Holm",
    None: "no correction",
}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """All that `compare` finds out. Printed, it is a table with remarks.

    Vectors have one value per method and matrices one per pair of methods, as Series and
    frames if the scores are a pandas frame.

    Attributes
    ----------
    methods : tuple of str
        Names of the methods, in the order of the scores' columns.
    n_datasets : int
        Number of data sets.
    correction : str or None
        The correction that decides; see ``adjusted`` for the others.
    alpha : float
        Level of the tests.
    average_ranks : array or Series
        Mean ranks, 1 is best.
    friedman : Friedman
        Whether there is any difference at all.
    rank_sums : array or data frame
        Sums of signed ranks; entry (a, b) speaks for a against b.
    p_values : array or data frame
        Unadjusted two-sided p values of Wilcoxon's signed-rank test.
    adjusted : dict of str to array or data frame
        Adjusted p values of every correction; Bergmann-Hommel's up to 10 methods.
    significant : array or data frame of bool
        Pairs with an adjusted p value of at most alpha.
    wins, losses : array or Series of int
        How many methods each is significantly better, or worse, than.
    effects : EffectSizes
        How large the differences are.
    cliques : tuple of tuples of str
        Groups of neighbors by rank that do not differ significantly.
    smallest_possible_p : float
        The smallest adjusted p value that this many data sets and methods allow.
    can_be_significant : bool
        Whether that is at most alpha. If not, no scores whatever could have made a pair
        significant, and the absence of differences means nothing.
    datasets_needed : int
        The least number of data sets with which a pair could be significant.
    """

    methods: tuple[str, ...]
    n_datasets: int
    correction: Correction | None
    alpha: float
    average_ranks: Any
    friedman: Friedman
    rank_sums: Any
    p_values: Any
    adjusted: Mapping[str, Any]
    significant: Any
    wins: Any
    losses: Any
    effects: EffectSizes
    cliques: tuple[tuple[str, ...], ...]
    smallest_possible_p: float
    can_be_significant: bool
    datasets_needed: int

    def table(self) -> Any:
        """One row per method, best first: method, average_rank, wins, losses."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["method", "average_rank", "wins", "losses"])

    def pairs(self) -> Any:
        """One row per pair: p values, adjusted and not, the winner, effects."""
        import pandas as pd

        names = np.array(self.methods, dtype=object)
        a, b = np.triu_indices(len(names), 1)
        sums = np.asarray(self.rank_sums)
        matrices = {
            "p": self.p_values,
            **self.adjusted,
            "significant": self.significant,
            **vars(self.effects),
        }
        pairs = {
            "method_a": names[a],
            "method_b": names[b],
            "w_plus": sums[a, b],
            "w_minus": sums[b, a],
        }
        above = {name: np.asarray(matrix)[a, b] for name, matrix in matrices.items()}
        return pd.DataFrame({**pairs, **above})

    def _rows(self) -> list[tuple[str, float, int, int]]:
        columns = (self.average_ranks, self.wins, self.losses)
        rows = zip(self.methods, *(np.asarray(column).tolist() for column in columns))
        return sorted(rows, key=lambda row: row[1])

    def remark(self) -> str:
        """Return what to keep in mind with few data sets; empty if there is nothing to say."""
        if self.can_be_significant:
            return ""
        title = TITLES[self.correction]
        after = "" if self.correction is None else f" after the {title} correction"
        return (
            f"With {self.n_datasets} data sets no pair of {len(self.methods)} methods can be "
            f"significant at {self.alpha:g}{after}: the smallest possible p is "
            f"{self.smallest_possible_p:.3g}. At least {self.datasets_needed} data sets are needed."
        )

    def _repr_html_(self) -> str:
        rows = self._rows()
        name, rank, wins, _ = rows[0]
        best = (
            f"{name} has the best mean rank, {rank:.2f}, and is significantly better than {wins} "
            f"of {len(rows) - 1} other methods."
        )
        compared, tested = self._heads()
        groups = "; ".join(", ".join(run) for run in self.cliques)
        return draw_result(
            best if self.can_be_significant else self.remark(),
            dict(zip(("method", "rank", "wins", "losses"), zip(*rows))),
            things="methods",
            facts=[
                f"{compared}. {tested}.",
                groups and f"No significant difference among: {groups}.",
            ],
        )

    def _heads(self) -> tuple[str, str]:
        """Return what was compared, and the tests of whether there is any difference."""
        test = self.friedman
        return (
            f"{len(self.methods)} methods on {self.n_datasets} data sets, "
            f"Wilcoxon signed ranks with {TITLES[self.correction]}, alpha {self.alpha:g}",
            f"Friedman chi2 {test.chi2:.4g} (p {test.p:.3g}), "
            f"Iman-Davenport F {test.F:.4g} (p {test.F_p:.3g})",
        )

    def __repr__(self) -> str:
        width = max(len("method"), *(len(name) for name in self.methods))
        lines = [*self._heads(), f"{'method':<{width}}  rank  wins  losses"]
        lines += [
            f"{name:<{width}}  {rank:4.2f}  {wins:4d}  {losses:6d}"
            for name, rank, wins, losses in self._rows()
        ]
        if self.cliques:
            lines.append(
                "not significantly different: " + "; ".join(", ".join(run) for run in self.cliques)
            )
        return "\n".join(lines + [self.remark()] * (not self.can_be_significant))


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
        Prints as a table; its fields are arrays, or Series and frames for pandas input.

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
    not significantly different: MLSOL, none
    """
    values, named = open_scores(scores, methods=methods, higher_is_better=higher_is_better)
    check_choice("correction", correction, TITLES)
    check_probability("alpha", alpha)
    n, k = values.shape
    ranks = dataset_ranks(values)
    mean_ranks = ranks.mean(axis=0)
    sums, p_values = signed_ranks(values, zero=zero)
    adjusted = _all_corrections(p_values, required=correction)
    decisive = p_values if correction is None else adjusted[correction]
    significant = (decisive <= alpha) & ~np.eye(k, dtype=bool)
    # A method leads by its sum of signed ranks, and if that ties by its mean rank.
    leads = (sums > sums.T) | ((sums == sums.T) & (mean_ranks[:, None] < mean_ranks))
    beats = significant & leads
    possible = smallest_adjusted_p(n, k, correction)
    return Comparison(
        methods=named.names,
        n_datasets=n,
        correction=correction,
        alpha=alpha,
        average_ranks=named.vector(mean_ranks),
        friedman=friedman_of_ranks(ranks, tie_correction=False),
        rank_sums=named.matrix(sums),
        p_values=named.matrix(p_values),
        adjusted={name: named.matrix(matrix) for name, matrix in adjusted.items()},
        significant=named.matrix(significant),
        wins=named.vector(beats.sum(axis=1)),
        losses=named.vector(beats.sum(axis=0)),
        effects=measure_effects(values, named, sums),
        cliques=tuple(
            tuple(named.names[method] for method in run)
            for run in find_cliques(mean_ranks, ~significant)
        ),
        smallest_possible_p=possible,
        can_be_significant=possible <= alpha,
        datasets_needed=next(n for n in count(2) if smallest_adjusted_p(n, k, correction) <= alpha),
    )


def smallest_adjusted_p(n_datasets: int, n_methods: int, correction: Correction | None) -> float:
    """Return the least adjusted p value that any scores can give.

    All three corrections multiply the smallest p value by the number of pairs.
    """
    n_pairs = 1 if correction is None else n_methods * (n_methods - 1) // 2
    return min(1.0, n_pairs * smallest_p(n_datasets))


def _all_corrections(p_values: Floats, *, required: str | None) -> dict[str, Floats]:
    """Adjust p values by every correction; Bergmann-Hommel's where possible or required."""
    adjusted = {}
    if len(p_values) <= MOST_METHODS or required == "bergmann_hommel":
        adjusted["bergmann_hommel"] = bergmann_hommel(p_values)
    return {**adjusted, "shaffer": shaffer(p_values), "holm": holm(p_values)}
