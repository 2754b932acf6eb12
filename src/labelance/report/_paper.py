"""The paper's Table 2, and how far ours agrees with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from scipy.stats import spearmanr

from labelance._utils import optional_import
from labelance.report._names import PAPER_LEARNERS
from labelance.report._ranking import Block


def paper_table2() -> Any:
    """Return the paper's Table 2 as numbers: six learners, three measures, seven methods.

    Returns
    -------
    table : pandas.DataFrame
        Columns metric, learner, method, average_rank, wins, losses; 126 rows.

    References
    ----------
    B. Liu, G. Tsoumakas. "Synthetic oversampling of multi-label data based on local label
    distribution". ECML PKDD 2019, Table 2.

    Examples
    --------
    >>> from labelance.report import paper_table2
    >>> table = paper_table2()
    >>> len(table), int(table["wins"].sum()), int(table["losses"].sum())
    (126, 236, 236)
    """
    pd = optional_import("pandas", extra="report", purpose="Reading the paper's table")
    with files("labelance.report").joinpath("paper_table2.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


@dataclass(frozen=True)
class Pair:
    """A row of our Table 2 and the same row of the paper's; ``rho`` is nan below three methods."""

    block: Block
    paper: Any
    rho: float


def pair_with_paper(blocks: list[Block]) -> list[Pair]:
    """Put the paper's rows beside those of ours that are ranked and that it has."""
    table = paper_table2()
    pairs = []
    for block in blocks:
        if block.comparison is None or block.learner not in PAPER_LEARNERS:
            continue
        same = (table["metric"] == block.metric_name) & (table["learner"] == block.learner)
        paper = table[same].set_index("method")[["average_rank", "wins", "losses"]]
        pairs.append(Pair(block, paper, _rank_correlation(block, paper)))
    return pairs


def _rank_correlation(block: Block, paper: Any) -> float:
    """Return Spearman's rho of average ranks over the methods that both have."""
    ours = block.ranks
    common = [method for method in paper.index if method in ours.index]
    if len(common) < 3 or ours[common].nunique() < 2:
        return math.nan
    return float(spearmanr(ours[common], paper.loc[common, "average_rank"]).statistic)
