"""Everything a report says, before anyone asks in which format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labelance.report._ranking import (
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
from labelance.report._table import PAPER_METHODS, Table, listed, one_line
from labelance.report._tables import (
    Pair,
    agreement,
    beside_paper,
    cost_tables,
    dataset_table,
    disagreement_table,
    first_places,
    incomplete_table,
    pair_with_paper,
    score_table,
    table2,
    tests,
)
from labelance.study._design import read_preset


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
