"""The result of a comparison, and how it reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelance._utils import optional_import
from labelance.study.statistics._effects import EffectSizes
from labelance.study.statistics._ranks import Friedman

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
    frames if the scores came in a pandas frame.

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
        Groups of neighbors by rank that are not told apart.
    smallest_possible_p : float
        The smallest adjusted p value that so many data sets and methods allow.
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
        """One row per method, best first: method, average_rank, wins, losses (needs pandas)."""
        pandas = optional_import("pandas", extra="data", purpose="A table of a comparison")
        columns = ("method", "average_rank", "wins", "losses")
        return pandas.DataFrame(self._rows(), columns=list(columns))

    def pairs(self) -> Any:
        """One row per pair: p values, adjusted and not, the winner, effects (needs pandas)."""
        pandas = optional_import("pandas", extra="data", purpose="A table of a comparison")
        a, b = np.triu_indices(len(self.methods), 1)

        def above(matrix: Any) -> Any:
            return np.asarray(matrix)[a, b]

        names = np.array(self.methods, dtype=object)
        sums = np.asarray(self.rank_sums)
        effects = vars(self.effects)
        return pandas.DataFrame(
            {
                "method_a": names[a],
                "method_b": names[b],
                "w_plus": sums[a, b],
                "w_minus": sums[b, a],
                "p": above(self.p_values),
                **{name: above(matrix) for name, matrix in self.adjusted.items()},
                "significant": above(self.significant),
                **{name: above(matrix) for name, matrix in effects.items()},
            }
        )

    def _rows(self) -> list[tuple[str, float, int, int]]:
        columns = (self.average_ranks, self.wins, self.losses)
        rows = zip(self.methods, *(np.asarray(column).tolist() for column in columns))
        return sorted(rows, key=lambda row: row[1])

    def remark(self) -> str:
        """What to keep in mind with so few data sets; empty if there is nothing to say."""
        if self.can_be_significant:
            return ""
        title = TITLES[self.correction]
        after = "" if self.correction is None else f" after the {title} correction"
        return (
            f"With {self.n_datasets} data sets no pair of {len(self.methods)} methods can be "
            f"significant at {self.alpha:g}{after}: the smallest possible p is "
            f"{self.smallest_possible_p:.3g}. At least {self.datasets_needed} data sets are needed."
        )

    def __repr__(self) -> str:
        width = max(len("method"), *(len(name) for name in self.methods))
        test = self.friedman
        lines = [
            f"{len(self.methods)} methods on {self.n_datasets} data sets, "
            f"Wilcoxon signed ranks with {TITLES[self.correction]}, alpha {self.alpha:g}",
            f"Friedman chi2 {test.chi2:.4g} (p {test.p:.3g}), "
            f"Iman-Davenport F {test.F:.4g} (p {test.F_p:.3g})",
            f"{'method':<{width}}  rank  wins  losses",
        ]
        lines += [
            f"{name:<{width}}  {rank:4.2f}  {wins:4d}  {losses:6d}"
            for name, rank, wins, losses in self._rows()
        ]
        if self.cliques:
            lines.append("not told apart: " + "; ".join(", ".join(run) for run in self.cliques))
        return "\n".join(lines + [self.remark()] * (not self.can_be_significant))
