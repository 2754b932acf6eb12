"""All tables of a report: ranks next to the paper's, tests, scores, cost, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any

from scipy.stats import spearmanr

from labelance.report._ranking import NAMES, TOO_LITTLE, Block, Results
from labelance.report._table import (
    METRICS,
    NOTHING,
    PAPER_LEARNERS,
    PAPER_METHODS,
    Row,
    Table,
    decimals,
    in_order,
    listed,
    one_line,
    p_text,
    seconds_text,
    slug,
    where_least,
)


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
    import pandas as pd

    with files("labelance.report").joinpath("paper_table2.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


@dataclass(frozen=True)
class Pair:
    """A row of our Table 2 and the same row of the paper's; ``rho`` is nan below three methods."""

    block: Block
    paper: Any
    rho: float


def pair_with_paper(blocks: list[Block]) -> list[Pair]:
    """Put the paper's rows next to those of ours that are ranked and that it has."""
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
        return TOO_LITTLE
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
    >>> from labelance.report._tables import rank_cell
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
    by_rank = sorted({(-wins, losses) for wins, losses in totals})
    places = [by_rank.index((-wins, losses)) for wins, losses in totals]
    return Row(
        (ranked[0].metric_name, "Total"),
        tuple(f"{wins}/{losses}" for wins, losses in totals),
        where_least(places, digits=0),
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
        "Table 2 next to the paper's",
        ("Measure", "Learner", "Source"),
        (*methods, "Spearman"),
        rows,
        note="Ours are ranked among the paper's methods only. Spearman is the correlation of both "
        "rows' average ranks."
        + (f" The paper ranks {len(PAPER_METHODS)} methods." if fewer else ""),
    )


def _of_texts(
    name: str, title: str, head: str, frame: Any, note: str, *, total: bool = False
) -> Table:
    """Return a table of a frame of texts; its last row may be a total."""
    rows = [
        Row((line[0],), line[1:], is_total=total and place == len(frame) - 1)
        for place, line in enumerate(frame.itertuples(name=None))
    ]
    return Table(name, title, (head,), tuple(frame.columns), rows, note)


def agreement(pairs: list[Pair]) -> Table:
    """Return the rank correlations alone: learner x measure."""
    import pandas as pd

    cells = {(pair.block.learner, pair.block.metric_name): pair.rho for pair in pairs}
    found = pd.Series(cells).unstack(sort=False)
    found = found[[name for name in METRICS.values() if name in found]]
    return _of_texts(
        "agreement",
        "Rank correlation with the paper (Spearman)",
        "Learner",
        found.map(lambda rho: decimals(rho, 2)),
        "1 means the same order of methods, 0 no agreement, -1 the opposite order.",
    )


def first_places(blocks: list[Block], pairs: list[Pair], methods: Sequence[str]) -> Table:
    """Count the rows of Table 2 in which each method has the best average rank; ties count."""
    import pandas as pd

    firsts = [_first(block.ranks) for block in blocks if block.comparison is not None]
    theirs = [_first(pair.paper["average_rank"]) for pair in pairs]
    columns = {f"of {len(firsts)} rows": [str(sum(m in one for one in firsts)) for m in methods]}
    if theirs:
        columns[f"the paper, of {len(theirs)}"] = [
            str(sum(m in one for one in theirs)) if m in PAPER_METHODS else NOTHING for m in methods
        ]
    note = "How often a method has the best average rank among measures and learners."
    frame = pd.DataFrame(columns, index=list(methods))
    return _of_texts("first-places", "First places", "Method", frame, note)


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


def dataset_table(datasets: Any) -> Table:
    """Return the paper's Table 1 from the caller's frame: a column of names, then numbers."""
    frame = datasets.reset_index() if datasets.index.name == "dataset" else datasets
    if "dataset" in frame:
        frame = frame[["dataset", *(column for column in frame if column != "dataset")]]
    rows = [
        Row((one_line(name),), tuple(map(_figure, line)))
        for name, *line in frame.itertuples(index=False, name=None)
    ]
    return Table(
        "datasets",
        "Table 1: datasets",
        ("Dataset",),
        tuple(map(one_line, frame.columns[1:])),
        rows,
        note="n, d, q: instances, features and labels; LC: label cardinality; MeanImR: mean over "
        "labels of majority divided by minority instances.",
    )


def _figure(value: Any) -> str:
    """Write integers whole and others with four figures, as the paper's Table 1 does."""
    if isinstance(value, str):
        return one_line(value)
    if value is None or value != value:
        return NOTHING
    return str(int(value)) if value == int(value) else f"{value:.4g}"


def score_table(block: Block, means: Any, methods: Sequence[str]) -> Table:
    """Return mean ± sd over folds, dataset x method, for one measure and learner."""
    here = means[(means["metric"] == block.metric) & (means["learner"] == block.learner)]
    found = {(row.dataset, row.method): row for row in here.itertuples(index=False)}
    rows = []
    for dataset in sorted(set(here["dataset"])):
        line = [found.get((dataset, method)) for method in methods]
        lowest = [-row.mean if row else float("nan") for row in line]
        mark = " *" if dataset in block.left_out else ""
        cells = tuple(map(_mean_sd, line))
        rows.append(Row((dataset + mark,), cells, where_least(lowest, digits=3)))
    if block.comparison is not None:
        ranks = block.comparison.average_ranks
        values = [float(ranks[name]) for name in methods]
        cells = tuple(decimals(rank, 2) for rank in values)
        best = where_least(values, digits=2)
        rows.append(Row(("Average rank",), cells, best, is_total=True))
    return Table(
        f"scores-{slug(block.metric_name)}-{slug(block.learner)}",
        f"{block.metric_name} of {block.learner} on each dataset",
        ("Dataset",),
        tuple(methods),
        rows,
        note="Mean ± standard deviation over folds."
        + " * Not complete, and so not ranked." * bool(block.left_out),
    )


def _mean_sd(row: Any) -> str:
    if row is None:
        return NOTHING
    return f"{row.mean:.3f} ± {row.std:.3f}" if row.count > 1 else f"{row.mean:.3f}"


def cost_tables(results: Results) -> list[Table]:
    """Return CPU seconds of all finished cells: learner x method and dataset x method."""
    if "cpu_seconds" not in results.done or results.done["cpu_seconds"].isna().all():
        return []
    cells = results.done
    note = f"CPU seconds of {cells['cpu_seconds'].notna().sum():,} finished cells, added up."
    orders = {"learner": results.learners, "dataset": results.datasets}
    return [_cost(cells, by, names, results.methods, note=note) for by, names in orders.items()]


def _cost(cells: Any, by: str, names: Sequence[str], methods: Sequence[str], *, note: str) -> Table:
    sums = cells.pivot_table("cpu_seconds", by, "method", "sum", margins=True, margins_name="\0")
    sums = sums.reindex(index=[*names, "\0"], columns=[*methods, "\0"])
    texts = sums.map(partial(seconds_text, total=float(sums.iloc[-1, -1])))
    texts = texts.rename(index={"\0": "Total"}, columns={"\0": "Total"})
    title = f"Cost by {by} and method"
    return _of_texts(f"cost-by-{by}", title, by.capitalize(), texts, note, total=True)


def disagreement_table(results: Results) -> Table | None:
    """Return how much the members of the ensembles disagree; None where it was not measured."""
    column = "member_disagreement"
    if column not in results.done or results.done[column].isna().all():
        return None
    means = results.done.pivot_table(column, "learner", "method", "mean")
    means = means.reindex(
        index=[name for name in results.learners if name in means.index],
        columns=[method for method in results.methods if method in means],
    )
    return _of_texts(
        "disagreement",
        "How much the members of an ensemble disagree",
        "Learner",
        means.map(lambda value: decimals(value, 4)),
        "Mean over all finished cells. Members that always agree gain nothing from voting.",
    )


def incomplete_table(results: Results) -> Table | None:
    """Return the datasets, learners and methods that lack cells; None where none does."""
    done = results.done.groupby(NAMES).size()
    failed = results.failed.groupby(NAMES).size()
    errors = results.failed.groupby(NAMES)["error"].first()
    rows = []
    methods = {learner: results.methods_of(learner) for learner in results.learners}
    for dataset in results.datasets:
        for key in ((dataset, learner, m) for learner in methods for m in methods[learner]):
            n_done, n_failed = int(done.get(key, 0)), int(failed.get(key, 0))
            if n_done == results.n_folds:
                continue
            missing = results.n_folds - n_done - n_failed
            cells = (str(n_done), str(n_failed), str(missing), _last_line(errors.get(key, "")))
            rows.append(Row(key, cells))
    if not rows:
        return None
    return Table(
        "incomplete",
        "Missing and failed cells",
        ("Dataset", "Learner", "Method"),
        ("Done", "Failed", "Missing", "First error"),
        rows,
        note=f"Complete would be {results.n_folds} each. "
        "A dataset is ranked under a learner only where all methods are complete.",
    )


def _last_line(error: str) -> str:
    """Return what a traceback ends with; the rest is in the store."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1])[:200] if lines else ""
