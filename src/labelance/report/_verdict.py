"""A study in three sentences: who wins, by how much, and whether it is significant."""

from __future__ import annotations

from collections.abc import Sequence

from labelance.report._ranking import Block
from labelance.report._table import listed
from labelance.study.statistics._compare import TITLES

BASELINE = "Default"


def summarize_ranking(blocks: Sequence[Block]) -> list[str]:
    """Return the sentences, or one that says why there is nothing to judge.

    Methods are ordered by their average rank over all measures and learners that are ranked;
    those that some learner was not tried with stay out of it.
    """
    ranked = [block for block in blocks if block.comparison is not None]
    if not ranked:
        return ["Nothing can be ranked yet: it takes two complete datasets and two methods."]
    common = set.intersection(*(set(block.scores.columns) for block in ranked))
    methods = [method for method in ranked[0].scores.columns if method in common]
    if len(methods) < 2:
        return ["The learners have no two methods in common, so that no method leads over all."]
    ranks = {
        method: round(sum(float(block.ranks[method]) for block in ranked) / len(ranked), 2)
        for method in methods
    }
    # Of equals, the one that comes first in the plan.
    winner, second = sorted(methods, key=lambda method: ranks[method])[:2]
    rivals = [BASELINE] if BASELINE in methods and BASELINE not in (winner, second) else []
    rivals.append(second)
    return [
        _who(ranked, ranks, winner, second),
        _by_how_much(ranked, winner, rivals),
        _significance(ranked, winner, rivals),
    ]


def _who(ranked: list[Block], ranks: dict[str, float], winner: str, second: str) -> str:
    measures = list(dict.fromkeys(block.metric_name for block in ranked))
    learners = list(dict.fromkeys(block.learner for block in ranked))
    where = f"over {_count(len(measures), 'measure')} and {_count(len(learners), 'learner')}"
    first = [method for method, rank in ranks.items() if rank == ranks[winner]]
    if len(first) > 1:
        return f"{listed(first)} share the best average rank, {ranks[winner]:.2f}, {where}."
    return (
        f"{winner} has the best average rank of {len(ranks)} methods, {ranks[winner]:.2f}, "
        f"{where}; {second} follows with {ranks[second]:.2f}."
    )


def _by_how_much(ranked: list[Block], winner: str, rivals: list[str]) -> str:
    """Say the mean difference of scores, measure by measure, over datasets and learners."""
    parts = []
    for rival in rivals:
        gains: dict[str, list[float]] = {}
        for block in ranked:
            gain = (block.scores[winner] - block.scores[rival]).mean()
            gains.setdefault(block.metric_name, []).append(float(gain))
        means = [f"{sum(each) / len(each):+.3f} in {name}" for name, each in gains.items()]
        parts.append(f"{listed(means)} over {rival}")
    return f"On average {winner} gains {'; '.join(parts)}."


def _significance(ranked: list[Block], winner: str, rivals: list[str]) -> str:
    weak = [block.comparison for block in ranked if block.comparison]
    one = weak[0]
    how = f"Wilcoxon signed ranks, {TITLES[one.correction]}, {100 * one.alpha:g}%"
    if not any(comparison.can_be_significant for comparison in weak):
        needed = max(comparison.datasets_needed for comparison in weak)
        return (
            f"None of this can be significant with so few datasets ({how}): at least {needed} "
            "are needed."
        )
    wins = [sum(_beats(block, winner, rival) for block in ranked) for rival in rivals]
    all_of = _count(len(ranked), "comparison")
    if not any(wins):
        return (
            f"In none of {all_of} is the lead of {winner} over {listed(rivals)} significant "
            f"({how}): it may be chance."
        )
    told = [f"over {rival} in {count}" for rival, count in zip(rivals, wins)]
    return f"The lead of {winner} is significant {listed(told)} of {all_of} ({how})."


def _beats(block: Block, winner: str, rival: str) -> bool:
    found = block.comparison
    assert found is not None
    leads = found.rank_sums.loc[winner, rival] > found.rank_sums.loc[rival, winner]
    return bool(found.significant.loc[winner, rival] and leads)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
