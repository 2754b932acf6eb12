"""What a report says: ranks next to the paper's, tests, scores, cost, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import Any

from scipy.stats import spearmanr

from labelance.report._ranking import (
    NAMES,
    TOO_LITTLE,
    Block,
    Correction,
    Results,
    fold_means,
    open_results,
    rank_blocks,
    rank_numbers,
    score_numbers,
    summarize_ranking,
)
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
from labelance.study._design import read_preset


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
        rows += [_rank_row((b.metric_name, b.learner), b.numbers, methods) for b in ranked]
        rows.append(_total_row(ranked, methods))
    title, heads = "Table 2: average ranks, significant wins and losses", ("Measure", "Learner")
    return Table("table2", title, heads, tuple(methods), rows, _table2_note(blocks))


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


def _rank_row(heads: tuple[str, ...], numbers: Any, methods: Sequence[str]) -> Row:
    """Return a row of Table 2 of average ranks, wins and losses by method."""
    numbers = numbers.reindex(methods)
    ranks = numbers["average_rank"].tolist()
    cells = map(rank_cell, ranks, numbers["wins"], numbers["losses"])
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
    heads = (ranked[0].metric_name, "Total")
    seen = [block.numbers for block in ranked if block.comparison is not None]
    if not seen:
        return Row(heads, (NOTHING,) * len(methods), is_total=True)
    totals: Any = sum(numbers.reindex(methods).fillna(0) for numbers in seen)
    wins, losses = (totals[side].astype(int) for side in _SIDES)
    best = where_least(losses - wins * (1 + losses.max()), digits=0)
    cells = tuple(f"{won}/{lost}" for won, lost in zip(wins, losses))
    return Row(heads, cells, best, is_total=True)


def beside_paper(pairs: list[Pair]) -> Table:
    """Return two lines per measure and learner, ours and the paper's, with their correlation."""
    methods = in_order({name for pair in pairs for name in pair.block.ranks.index}, PAPER_METHODS)
    rows = []
    for pair in pairs:
        heads = (pair.block.metric_name, pair.block.learner)
        ours = _rank_row((*heads, "ours"), pair.block.numbers, methods)
        theirs = _rank_row((*heads, "paper"), pair.paper, methods)
        rows.append(replace(ours, cells=(*ours.cells, decimals(pair.rho, 2))))
        rows.append(replace(theirs, cells=(*theirs.cells, "")))
    note = (
        "Ours are ranked among the paper's methods only. Spearman is the correlation of both rows' "
        "average ranks."
    )
    if len(methods) < len(PAPER_METHODS):
        note += f" The paper ranks {len(PAPER_METHODS)} methods."
    title, columns = "Table 2 next to the paper's", (*methods, "Spearman")
    return Table("beside-paper", title, ("Measure", "Learner", "Source"), columns, rows, note)


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
    texts = found.map(lambda rho: decimals(rho, 2))
    title = "Rank correlation with the paper (Spearman)"
    note = "1 means the same order of methods, 0 no agreement, -1 the opposite order."
    return _of_texts("agreement", title, "Learner", texts, note)


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
    heads = ("Measure", "Learner")
    columns = (
        "Datasets", "Friedman χ²", "p", "Iman-Davenport F", "p of F", "A pair can be significant",
    )  # fmt: skip
    note = (
        "With few datasets not even a method that always wins can be significant after the "
        "correction; the last column says whether there are enough."
    )
    return Table("tests", "Do the methods differ at all?", heads, columns, rows, note)


def dataset_table(datasets: Any) -> Table:
    """Return the paper's Table 1 from the caller's frame: a column of names, then numbers."""
    frame = datasets.reset_index() if datasets.index.name == "dataset" else datasets
    if "dataset" in frame:
        frame = frame[["dataset", *(column for column in frame if column != "dataset")]]
    rows = [
        Row((one_line(name),), tuple(map(_figure, line)))
        for name, *line in frame.itertuples(index=False, name=None)
    ]
    columns = tuple(map(one_line, frame.columns[1:]))
    note = (
        "n, d, q: instances, features and labels; LC: label cardinality; MeanImR: mean over labels "
        "of majority divided by minority instances."
    )
    return Table("datasets", "Table 1: datasets", ("Dataset",), columns, rows, note)


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
    name = f"scores-{slug(block.metric_name)}-{slug(block.learner)}"
    title = f"{block.metric_name} of {block.learner} on each dataset"
    note = "Mean ± standard deviation over folds."
    note += " * Not complete, and so not ranked." * bool(block.left_out)
    return Table(name, title, ("Dataset",), tuple(methods), rows, note)


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
    texts = means.map(lambda value: decimals(value, 4))
    title = "How much the members of an ensemble disagree"
    note = "Mean over all finished cells. Members that always agree gain nothing from voting."
    return _of_texts("disagreement", title, "Learner", texts, note)


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
    heads, columns = ("Dataset", "Learner", "Method"), ("Done", "Failed", "Missing", "First error")
    note = (
        f"Complete would be {results.n_folds} each. A dataset is ranked under a learner only where "
        "all methods are complete."
    )
    return Table("incomplete", "Missing and failed cells", heads, columns, rows, note)


def _last_line(error: str) -> str:
    """Return what a traceback ends with; the rest is in the store."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[-1])[:200] if lines else ""


# --- the whole report ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """The content of a report.

    Attributes
    ----------
    title : str
        The heading.
    about : dict
        What the caller wants to be said: preset, machine, version.
    verdict : list of str
        Who wins, by how much, and whether it is significant: a sentence each.
    notes : list of str
        What a reader must know before the tables: what is missing, what cannot be significant.
    overview, cost : list of Table
        Tables of the whole study.
    details : list of (Block, Table)
        One comparison and its scores for every measure and learner.
    ranks, scores : pandas.DataFrame
        The numbers of the tables.
    results : Results
        The cells.
    """

    title: str
    about: dict[str, str]
    verdict: list[str]
    notes: list[str]
    overview: list[Table]
    details: list[tuple[Block, Table]]
    cost: list[Table]
    ranks: Any
    scores: Any
    results: Results

    @property
    def tables(self) -> list[Table]:
        """All tables in reading order."""
        return [*self.overview, *(table for _, table in self.details), *self.cost]


def gather(
    results: Any,
    *,
    datasets: Any = None,
    title: str = "Study",
    about: Mapping[str, Any] | None = None,
    correction: Correction | None = "bergmann_hommel",
    alpha: float = 0.05,
    **chosen: Any,
) -> Report:
    """Compute all tables and notes of tidy results."""
    cells = open_results(results, **chosen)
    means = fold_means(cells)
    options: dict[str, Any] = {"correction": correction, "alpha": alpha}
    blocks = rank_blocks(cells, means, **options)
    # Ranks on other data are not the paper's, whatever the methods are called.
    same_data = set(cells.datasets) <= set(read_preset("paper")["datasets"])
    pairs = _pairs(cells, means, blocks, options) if same_data else []
    overview = [
        *([dataset_table(datasets)] if datasets is not None else []),
        table2(blocks, cells.methods),
        *([beside_paper(pairs), agreement(pairs)] if pairs else []),
        first_places(blocks, pairs, cells.methods),
        tests(blocks),
    ]
    extra = [disagreement_table(cells), incomplete_table(cells)]
    said = {"configuration": cells.config} if cells.config else {}
    return Report(
        title=one_line(title),
        about={one_line(key): one_line(value) for key, value in {**said, **(about or {})}.items()},
        verdict=summarize_ranking(blocks),
        notes=_notes(cells, blocks),
        overview=overview,
        details=[
            (block, score_table(block, means, cells.methods_of(block.learner))) for block in blocks
        ],
        cost=[*cost_tables(cells), *(table for table in extra if table is not None)],
        ranks=rank_numbers(blocks),
        scores=score_numbers(means),
        results=cells,
    )


def study_tables(
    results: Any,
    *,
    datasets: Any = None,
    config: str | None = None,
    methods: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
    correction: Correction | None = "bergmann_hommel",
    alpha: float = 0.05,
) -> dict[str, Any]:
    """Compute the tables of a study from its tidy results.

    Parameters
    ----------
    results : pandas.DataFrame
        One row per cell: dataset, learner, method, repeat, fold and the measures macro_f1,
        macro_auc_roc, macro_auc_pr; also status, config, cpu_seconds where known.
    datasets : pandas.DataFrame, optional
        What Table 1 shows: a column ``dataset``, and figures such as n, d, q, LC, MeanImR.
    config : str, optional
        The configuration to show, or its first letters, where the results hold several.
    methods, learners : sequence of str, optional
        The order in which they are shown, such as the plan's; others follow. By default the
        paper's come first, in its order.
    correction : {"bergmann_hommel", "shaffer", "holm"} or None
        For the many comparisons; above ten methods Shaffer's takes the place of
        Bergmann-Hommel's.
    alpha : float
        The level of significance.

    Returns
    -------
    tables : dict of str to pandas.DataFrame
        As they are printed: ``datasets`` (if given), ``table2``, ``beside-paper``, ``agreement``,
        ``first-places``, ``tests``, ``scores-MEASURE-LEARNER``, ``cost-by-learner``,
        ``cost-by-dataset``, ``disagreement``, ``incomplete``; and as numbers: ``ranks`` and
        ``scores``.

    Examples
    --------
    >>> import pandas as pd
    >>> from labelance.report import study_tables
    >>> cells = pd.DataFrame(
    ...     [(d, "BR", m, 0, f, 0.5 + 0.1 * (m == "MLSOL") + 0.01 * f)
    ...      for d in "abc" for m in ("Default", "MLSOL") for f in (0, 1)],
    ...     columns=["dataset", "learner", "method", "repeat", "fold", "macro_f1"])
    >>> print(study_tables(cells)["table2"].to_string(index=False))
      Measure Learner    Default      MLSOL
    F-measure      BR 2.00 (0/0) 1.00 (0/0)
    F-measure   Total        0/0        0/0
    """
    report = gather(
        results, datasets=datasets, config=config, methods=methods, learners=learners,
        correction=correction, alpha=alpha,
    )  # fmt: skip
    frames = {table.name: table.to_frame() for table in report.tables}
    return {**frames, "ranks": report.ranks, "scores": report.scores}


def _pairs(cells: Results, means: Any, blocks: list[Block], options: dict[str, Any]) -> list[Pair]:
    """Rank again among the paper's methods where there are others, so that like meets like."""
    if len(set(cells.methods) & set(PAPER_METHODS)) < 2:
        return []
    if set(cells.methods) <= set(PAPER_METHODS):
        return pair_with_paper(blocks)
    return pair_with_paper(rank_blocks(cells, means, methods=PAPER_METHODS, **options))


def _notes(cells: Results, blocks: list[Block]) -> list[str]:
    tried = {learner: len(cells.methods_of(learner)) for learner in cells.learners}
    planned = len(cells.datasets) * sum(tried.values()) * cells.n_folds
    done, failed = len(cells.done), len(cells.failed)
    total = len(cells.methods)
    return [
        f"{done:,} of {planned:,} cells are finished{f', {failed:,} failed' if failed else ''}.",
        *(
            f"{learner} was tried with {own} of {total} methods and ranks these only."
            for learner, own in tried.items()
            if own < total
        ),
        *_left_out_notes(cells, blocks),
        *_significance_notes(blocks),
    ]


def _left_out_notes(cells: Results, blocks: list[Block]) -> list[str]:
    """Name what is not ranked; measures with the same gaps share a line."""
    gaps: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for block in blocks:
        if block.left_out:
            key = (block.learner, tuple(block.left_out.items()))
            gaps.setdefault(key, []).append(block.metric_name)
    notes = []
    for (learner, left_out), metrics in gaps.items():
        where = "" if len(metrics) == len(cells.metrics) else f" in {listed(metrics)}"
        which = "; ".join(f"{dataset} ({reason})" for dataset, reason in left_out)
        notes.append(f"Not complete, and so not ranked under {learner}{where}: {which}.")
    return notes


def _significance_notes(blocks: list[Block]) -> list[str]:
    """Say where there are too few datasets for any pair to differ significantly."""
    weak: dict[str, list[str]] = {}
    for block in blocks:
        names = weak.setdefault(_too_few(block), [])
        names += [block.learner] * (block.learner not in names)
    return [f"{remark} ({listed(learners)})" for remark, learners in weak.items() if remark]


def _too_few(block: Block) -> str:
    n, k = block.scores.shape
    if block.comparison is None:
        return f"{n} complete dataset{'s' * (n != 1)} with {k} methods: too little to rank."
    return block.comparison.remark()
