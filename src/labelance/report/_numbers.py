"""Scores and ranks as tidy frames of numbers, for those who compute on."""

from __future__ import annotations

from typing import Any

from labelance._utils import optional_import
from labelance.report._names import METRICS
from labelance.report._ranking import Block


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
    pd = optional_import("pandas", extra="report", purpose="A table")
    rows = [
        (
            block.metric_name,
            block.learner,
            method,
            rank,
            int(block.comparison.wins[method]),
            int(block.comparison.losses[method]),
            len(block.scores),
        )
        for block in blocks
        if block.comparison is not None
        for method, rank in block.comparison.average_ranks.items()
    ]
    names = ["metric", "learner", "method", "average_rank", "wins", "losses", "datasets"]
    return pd.DataFrame(rows, columns=names)
