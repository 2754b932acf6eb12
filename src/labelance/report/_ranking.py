"""From cells to ranks: checked results, means over folds, a comparison per measure and learner.

At the end, the same in three sentences: who wins, by how much, and whether it is significant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from labelance._utils._messages import plural
from labelance.exceptions import InputError
from labelance.report._table import (
    METRICS,
    PAPER_LEARNERS,
    PAPER_METHODS,
    in_order,
    listed,
    one_line,
)
from labelance.study.statistics import Comparison, compare
from labelance.study.statistics._compare import TITLES
from labelance.study.statistics._corrections import MOST_METHODS

NAMES = ["dataset", "learner", "method"]
CELL = [*NAMES, "repeat", "fold"]


@dataclass(frozen=True)
class Results:
    """The cells of one configuration, finished and failed.

    Attributes
    ----------
    done, failed : pandas.DataFrame
        One row per cell.
    metrics : list of str
        The measures' columns that hold at least one number.
    datasets, learners, methods : list of str
        In the order in which they are shown.
    n_folds : int
        Tests that each dataset, learner and method should have: all pairs (repeat, fold) seen.
    config : str
        The configuration's hash, "" where the results carry none.
    """

    done: Any
    failed: Any
    metrics: list[str]
    datasets: list[str]
    learners: list[str]
    methods: list[str]
    n_folds: int
    config: str

    def methods_of(self, learner: str) -> list[str]:
        """Return the methods that were tried with this learner, in order."""
        cells = (self.done, self.failed)
        tried = {method for part in cells for method in part["method"][part["learner"] == learner]}
        return [method for method in self.methods if method in tried]


def open_results(
    results: Any,
    *,
    config: str | None = None,
    methods: Sequence[str] | None = None,
    learners: Sequence[str] | None = None,
) -> Results:
    """Check tidy results and choose one configuration of them."""
    cells = _one_config(_with_columns(results), config)
    for column in NAMES:
        cells[column] = cells[column].map(one_line)
    _check_no_repeated(cells)
    # Cells finish in any order; in one order, equal folds give equal means to the last bit.
    cells = cells.sort_values(CELL, kind="stable")
    done, failed = (cells[cells["status"] == status] for status in ("done", "failed"))
    metrics = [metric for metric in METRICS if metric in cells and done[metric].notna().any()]
    if not metrics:
        found = f"None of {len(cells)} rows is done and has one"
        raise InputError("A report needs finished cells with metrics", found, "Run the study first")
    return Results(
        done=done,
        failed=failed,
        metrics=metrics,
        datasets=sorted(set(cells["dataset"])),
        learners=in_order(cells["learner"], _plain_names(learners, PAPER_LEARNERS)),
        methods=in_order(cells["method"], _plain_names(methods, PAPER_METHODS)),
        n_folds=len(cells[["repeat", "fold"]].drop_duplicates()),
        config=str(cells["config"].iloc[0]),
    )


def _plain_names(given: Sequence[str] | None, usual: Sequence[str]) -> Sequence[str]:
    return usual if given is None else [one_line(name) for name in given]


def _with_columns(results: Any) -> Any:
    """Copy the frame, and fill in columns that older or shortened files leave out."""
    import pandas as pd

    if not isinstance(results, pd.DataFrame):
        found = f"Got a {type(results).__name__}"
        raise InputError("results must be a pandas.DataFrame with one row per cell", found)
    missing = [column for column in CELL if column not in results]
    if missing:
        raise InputError(
            f"results must have the columns {', '.join(CELL)}", f"Missing: {', '.join(missing)}"
        )
    cells = results.reset_index(drop=True)
    for column, usual in (("status", "done"), ("config", ""), ("error", "")):
        cells[column] = cells[column].fillna(usual) if column in cells else usual
    for metric in METRICS:
        if metric in cells:
            cells[metric] = pd.to_numeric(cells[metric])
    return cells


def _one_config(cells: Any, config: str | None) -> Any:
    """Keep one configuration; figures from different ones never meet in a table."""
    configs = cells["config"].astype(str)
    known = sorted(set(configs))
    chosen = [name for name in known if name.startswith(config or "")]
    if len(chosen) == 1 or not known:  # that nothing is done is said later
        return cells[configs.isin(chosen)].copy()
    what = "A table can show results of" if config is None else f"config={config!r} must match"
    names = ", ".join(name or "(none)" for name in known)
    found = f"{len(chosen)} of these configurations match: {names}"
    raise InputError(f"{what} one configuration only", found, "Choose one with config=")


def _check_no_repeated(cells: Any) -> None:
    repeated = cells.duplicated(CELL)
    if repeated.any():
        first = ", ".join(str(cells.loc[repeated, column].iloc[0]) for column in CELL)
        found = f"{repeated.sum()} of {len(cells)} rows repeat a cell; the first is ({first})"
        raise InputError("results must have one row per cell", found)


Correction = Literal["bergmann_hommel", "shaffer", "holm"]
BLOCK = ["metric", "learner", "dataset"]


@dataclass(frozen=True)
class Block:
    """What one measure says of all methods under one learner.

    Attributes
    ----------
    metric, learner : str
        The measure's column, and the learner.
    scores : pandas.DataFrame
        Means over folds, dataset x method; complete datasets only.
    comparison : Comparison or None
        Ranks and tests of ``scores``; None with fewer than two datasets or methods.
    left_out : dict
        The datasets that are not complete, and why.
    """

    metric: str
    learner: str
    scores: Any
    comparison: Comparison | None
    left_out: dict[str, str]

    @property
    def metric_name(self) -> str:
        """The measure as the paper calls it."""
        return METRICS[self.metric]

    @property
    def ranks(self) -> Any:
        """Average ranks by method; only where there is a comparison."""
        assert self.comparison is not None
        return self.comparison.average_ranks

    @property
    def numbers(self) -> Any:
        """Average rank, wins and losses by method; empty where there is no comparison."""
        import pandas as pd

        found = self.comparison
        if found is None:
            return pd.DataFrame(columns=["average_rank", "wins", "losses"], dtype=float)
        ranks = found.average_ranks.to_frame("average_rank")
        return ranks.assign(wins=found.wins, losses=found.losses)


def fold_means(results: Results) -> Any:
    """Return mean, sd and number of folds of every dataset, learner, method and measure.

    Whether a macro average is defined depends on the test rows, so a fold may be without a value
    for all methods alike; such folds leave the means of all. ``expected`` counts the rest.
    """
    values = results.done.melt(CELL, results.metrics, var_name="metric", value_name="value")
    defined = values.groupby([*BLOCK, "repeat", "fold"])["value"].transform("count") > 0
    undefined = values[~defined].drop_duplicates([*BLOCK, "repeat", "fold"])
    table = values[defined].groupby([*BLOCK, "method"])["value"].agg(["mean", "std", "count"])
    lost = undefined.groupby(BLOCK).size().rename("lost")
    table = table.reset_index().merge(lost.reset_index(), how="left", on=BLOCK)
    table["expected"] = results.n_folds - table.pop("lost").fillna(0).astype(int)
    return table


def rank_blocks(
    results: Results,
    means: Any,
    *,
    methods: Sequence[str] | None = None,
    correction: Correction | None = "bergmann_hommel",
    alpha: float = 0.05,
) -> list[Block]:
    """Compare the methods for every measure and learner, over complete datasets."""
    blocks = []
    for metric, learner in product(results.metrics, results.learners):
        tried = [one for one in results.methods_of(learner) if methods is None or one in methods]
        here = means[(means["metric"] == metric) & (means["learner"] == learner)]
        here = here[here["method"].isin(tried)]
        left_out = {
            dataset: reason
            for dataset in results.datasets
            if (reason := _incomplete(here[here["dataset"] == dataset], tried, results.n_folds))
        }
        scores = here[~here["dataset"].isin(left_out)]
        scores = scores.pivot(index="dataset", columns="method", values="mean")
        scores = scores.reindex(columns=tried)
        many = len(tried) > MOST_METHODS and correction == "bergmann_hommel"
        how: Any = {"correction": "shaffer" if many else correction, "alpha": alpha}
        enough = len(scores) >= 2 and len(tried) >= 2
        comparison = compare(scores, **how) if enough else None
        blocks.append(Block(metric, learner, scores, comparison, left_out))
    return blocks


def _incomplete(rows: Any, methods: Sequence[str], n_folds: int) -> str:
    """Say which methods lack folds of a dataset; "" if none does."""
    have = dict(zip(rows["method"], rows["count"]))
    expected = int(rows["expected"].iloc[0]) if len(rows) else n_folds
    short = [name for name in methods if have.get(name, 0) < expected]
    if not short:
        return ""
    if not have:
        return "no fold has a value"
    if len(short) > 3:
        return f"{len(short)} of {len(methods)} methods lack folds"
    return ", ".join(f"{name} has {have.get(name, 0)} of {expected} folds" for name in short)


def score_numbers(means: Any) -> Any:
    """Return the scores per measure, learner, dataset and method."""
    table = means.assign(metric=means["metric"].map(METRICS)).rename(
        columns={"std": "sd", "count": "folds", "expected": "expected_folds"}
    )
    return table[
        ["metric", "learner", "dataset", "method", "mean", "sd", "folds", "expected_folds"]
    ]


def rank_numbers(blocks: list[Block]) -> Any:
    """Return ranks, wins and losses per measure, learner and method."""
    import pandas as pd

    rows = [
        (block.metric_name, block.learner, method, rank, found.wins[method], found.losses[method],
         len(block.scores))
        for block in blocks
        if (found := block.comparison) is not None
        for method, rank in found.average_ranks.items()
    ]  # fmt: skip
    names = ["metric", "learner", "method", "average_rank", "wins", "losses", "datasets"]
    return pd.DataFrame(rows, columns=names)


BASELINE = "Default"
TOO_LITTLE = "Nothing can be ranked yet: it takes two complete datasets and two methods."


def summarize_ranking(blocks: Sequence[Block]) -> list[str]:
    """Return the sentences, or one that says why there is nothing to judge.

    Methods are ordered by their average rank over all measures and learners that are ranked;
    those that some learner was not tried with stay out of it.
    """
    ranked = [block for block in blocks if block.comparison is not None]
    if not ranked:
        return [TOO_LITTLE]
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
    where = f"over {plural(len(measures), 'measure')} and {plural(len(learners), 'learner')}"
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
    all_of = plural(len(ranked), "comparison")
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
