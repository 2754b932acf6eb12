"""Tables of ranks: the paper's Table 2, ours beside it, first places, and the tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from labelance.report._names import METRICS, PAPER_METHODS, in_order
from labelance.report._paper import Pair
from labelance.report._ranking import Block
from labelance.report._table import NOTHING, Row, Table, decimals, listed, p_text, where_least

_SIDES = ("wins", "losses")
_CORRECTIONS = {
    "bergmann_hommel": "with Bergmann-Hommel correction",
    "shaffer": "with Shaffer correction",
    "holm": "with Holm correction",
    None: "without correction",
}


def table2(blocks: list[Block], methods: Sequence[str]) -> Table:
    """Return average ranks with wins and losses, a total row for every measure."""
    rows = []
    for metric in dict.fromkeys(block.metric for block in blocks):
        ranked = [block for block in blocks if block.metric == metric]
        rows += [_rank_row(block, methods) for block in ranked]
        rows.append(_total_row(ranked, methods))
    return Table(
        "table2",
        "Table 2: average ranks, significant wins and losses",
        ("Measure", "Learner"),
        tuple(methods),
        rows,
        note=_table2_note(blocks),
    )


def _table2_note(blocks: list[Block]) -> str:
    ranked = [block.comparison for block in blocks if block.comparison is not None]
    if not ranked:
        return "No dataset is complete, so nothing is ranked."
    wins, losses = (sum(int(getattr(one, side).sum()) for one in ranked) for side in _SIDES)
    how = dict.fromkeys(_CORRECTIONS[one.correction] for one in ranked)
    return (
        "Rank 1 is best. In brackets: how many methods this one beats, and how many beat it, "
        f"by the Wilcoxon signed-rank test {listed(list(how))} at "
        f"{100 * ranked[0].alpha:g}%. Check: {wins} wins, {losses} losses. {uneven_note(blocks)}"
    ).strip()


def uneven_note(blocks: list[Block]) -> str:
    """Say which rows break the law that wins equal losses; "" when none does."""
    broken = [
        f"{block.learner} in {block.metric_name}"
        for block in blocks
        if block.comparison and block.comparison.wins.sum() != block.comparison.losses.sum()
    ]
    return f"Wins and losses differ for {listed(broken)}: do not trust these." if broken else ""


def _rank_row(block: Block, methods: Sequence[str]) -> Row:
    heads = (block.metric_name, block.learner)
    if block.comparison is None:
        return Row(heads, (NOTHING,) * len(methods))
    ranks = [block.comparison.average_ranks.get(method, math.nan) for method in methods]
    cells = [
        rank_cell(rank, block.comparison.wins.get(method), block.comparison.losses.get(method))
        for rank, method in zip(ranks, methods)
    ]
    return Row(heads, tuple(cells), where_least(ranks, digits=2))


def rank_cell(rank: float, wins: Any, losses: Any) -> str:
    """Write a cell of Table 2.

    Examples
    --------
    >>> from labelance.report._rank_tables import rank_cell
    >>> rank_cell(1.3846, 6, 0)
    '1.38 (6/0)'
    """
    return NOTHING if math.isnan(rank) else f"{rank:.2f} ({int(wins)}/{int(losses)})"


def _total_row(ranked: list[Block], methods: Sequence[str]) -> Row:
    """Add wins and losses over learners; the best has most wins, then fewest losses."""
    seen = [block.comparison for block in ranked if block.comparison is not None]
    totals = [
        tuple(sum(int(getattr(one, side).get(method, 0)) for one in seen) for side in _SIDES)
        for method in methods
    ]
    if not seen:
        return Row((ranked[0].metric_name, "Total"), (NOTHING,) * len(methods), is_total=True)
    best = max((wins, -losses) for wins, losses in totals)
    return Row(
        (ranked[0].metric_name, "Total"),
        tuple(f"{wins}/{losses}" for wins, losses in totals),
        frozenset(place for place, (wins, losses) in enumerate(totals) if (wins, -losses) == best),
        is_total=True,
    )


def beside_paper(pairs: list[Pair]) -> Table:
    """Return two lines per measure and learner, ours and the paper's, with their correlation."""
    methods = in_order(
        {name for pair in pairs for name in pair.block.ranks.index},
        PAPER_METHODS,
    )
    rows = []
    for pair in pairs:
        ours = _rank_row(pair.block, methods)
        ranks = [pair.paper["average_rank"].get(method, math.nan) for method in methods]
        theirs = tuple(
            rank_cell(rank, pair.paper["wins"].get(method), pair.paper["losses"].get(method))
            for rank, method in zip(ranks, methods)
        )
        rows += [
            Row((*ours.heads, "ours"), (*ours.cells, decimals(pair.rho, 2)), ours.best),
            Row((*ours.heads, "paper"), (*theirs, ""), where_least(ranks, digits=2)),
        ]
    fewer = len(methods) < len(PAPER_METHODS)
    return Table(
        "beside-paper",
        "Table 2 beside the paper's",
        ("Measure", "Learner", "Source"),
        (*methods, "Spearman"),
        rows,
        note="Ours are ranked among the paper's methods only. Spearman is the correlation of both "
        "rows' average ranks."
        + (f" The paper ranks {len(PAPER_METHODS)} methods." if fewer else ""),
    )


def agreement(pairs: list[Pair]) -> Table:
    """Return the rank correlations alone: learner x measure."""
    metrics = [metric for metric in METRICS if any(p.block.metric == metric for p in pairs)]
    found = {(pair.block.learner, pair.block.metric): pair.rho for pair in pairs}
    learners = list(dict.fromkeys(pair.block.learner for pair in pairs))
    return Table(
        "agreement",
        "Rank correlation with the paper (Spearman)",
        ("Learner",),
        tuple(METRICS[metric] for metric in metrics),
        [
            Row((name,), tuple(decimals(found.get((name, m), math.nan), 2) for m in metrics))
            for name in learners
        ],
        note="1 means the same order of methods, 0 no agreement, -1 the opposite order.",
    )


def first_places(blocks: list[Block], pairs: list[Pair], methods: Sequence[str]) -> Table:
    """Count the rows of Table 2 in which each method has the best average rank; ties count."""
    ranked = [block for block in blocks if block.comparison is not None]
    firsts = [_first(block.ranks) for block in ranked]
    theirs = [_first(pair.paper["average_rank"]) for pair in pairs]
    both = bool(theirs)
    rows = []
    for method in methods:
        count = sum(method in names for names in firsts)
        beside = sum(method in names for names in theirs)
        paper = (str(beside) if method in PAPER_METHODS else NOTHING,) if both else ()
        rows.append(Row((method,), (str(count), *paper)))
    return Table(
        "first-places",
        "First places",
        ("Method",),
        (f"of {len(ranked)} rows", *((f"the paper, of {len(theirs)}",) if both else ())),
        rows,
        note="How often a method has the best average rank among measures and learners.",
    )


def _first(ranks: Any) -> set[str]:
    return set(ranks.index[ranks.round(2) == ranks.round(2).min()])


def tests(blocks: list[Block]) -> Table:
    """Return the tests over all methods, and how many datasets carry them."""
    rows = []
    for block in blocks:
        result = block.comparison
        heads, n = (block.metric_name, block.learner), str(len(block.scores))
        if result is None:
            rows.append(Row(heads, (n, *(NOTHING,) * 5)))
            continue
        overall = result.friedman
        cells = (
            n,
            decimals(overall.chi2, 2),
            p_text(overall.p),
            "∞" if math.isinf(overall.F) else decimals(overall.F, 2),
            p_text(overall.F_p),
            "yes" if result.can_be_significant else "no",
        )
        rows.append(Row(heads, cells))
    return Table(
        "tests",
        "Do the methods differ at all?",
        ("Measure", "Learner"),
        ("Datasets", "Friedman χ²", "p", "Iman-Davenport F", "p of F", "A pair can be significant"),
        rows,
        note="With few datasets not even a method that always wins can be significant after the "
        "correction; the last column says whether there are enough.",
    )
