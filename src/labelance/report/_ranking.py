"""From cells to ranks: means over folds, and one comparison per measure and learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labelance.report._names import METRICS
from labelance.report._results import CELL, Results
from labelance.study.statistics import Comparison, compare
from labelance.study.statistics._corrections import MOST_METHODS

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
    return [
        _rank(results, means, metric, learner, methods, correction=correction, alpha=alpha)
        for metric in results.metrics
        for learner in results.learners
    ]


def _rank(
    results: Results,
    means: Any,
    metric: str,
    learner: str,
    only: Sequence[str] | None,
    *,
    correction: Correction | None,
    alpha: float,
) -> Block:
    methods = [name for name in results.methods_of(learner) if only is None or name in only]
    here = means[(means["metric"] == metric) & (means["learner"] == learner)]
    here = here[here["method"].isin(methods)]
    left_out = {
        dataset: reason
        for dataset in results.datasets
        if (reason := _incomplete(here[here["dataset"] == dataset], methods, results.n_folds))
    }
    scores = here[~here["dataset"].isin(left_out)]
    scores = scores.pivot(index="dataset", columns="method", values="mean")
    scores = scores.reindex(columns=methods)
    if len(methods) > MOST_METHODS and correction == "bergmann_hommel":
        correction = "shaffer"
    enough = len(scores) >= 2 and len(methods) >= 2
    comparison = compare(scores, correction=correction, alpha=alpha) if enough else None
    return Block(metric, learner, scores, comparison, left_out)


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
