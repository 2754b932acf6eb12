"""The door of the report: results are checked here, and nowhere behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labelance._utils import optional_import
from labelance.exceptions import InputError
from labelance.report._names import METRICS, PAPER_LEARNERS, PAPER_METHODS, in_order, plain

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
        tried = {
            method
            for cells in (self.done, self.failed)
            for method in cells.loc[cells["learner"] == learner, "method"]
        }
        return [method for method in self.methods if method in tried]


def open_results(results: Any, *, config: str | None = None) -> Results:
    """Check tidy results and choose one configuration of them."""
    cells = _one_config(_with_columns(results), config)
    for column in NAMES:
        cells[column] = cells[column].map(plain)
    _refuse_repeated(cells)
    # Cells finish in any order; in one order, equal folds give equal means to the last bit.
    cells = cells.sort_values(CELL, kind="stable")
    done, failed = (cells[cells["status"] == status] for status in ("done", "failed"))
    metrics = [metric for metric in METRICS if metric in cells and done[metric].notna().any()]
    if not metrics:
        raise InputError(
            "A report shows the measures of finished cells",
            f"none of {len(cells)} rows is done and has a number in {', '.join(METRICS)}",
            "Run the study first, or look at its failures with 'labelance study status'",
        )
    return Results(
        done=done,
        failed=failed,
        metrics=metrics,
        datasets=sorted(set(cells["dataset"])),
        learners=in_order(cells["learner"], PAPER_LEARNERS),
        methods=in_order(cells["method"], PAPER_METHODS),
        n_folds=len(cells[["repeat", "fold"]].drop_duplicates()),
        config=str(cells["config"].iloc[0]),
    )


def _with_columns(results: Any) -> Any:
    """Copy the frame, and fill in columns that older or shortened files leave out."""
    pd = optional_import("pandas", extra="report", purpose="A report")
    if not isinstance(results, pd.DataFrame):
        raise InputError(
            "A report is made from tidy results, a pandas.DataFrame with one row per cell",
            f"a {type(results).__name__} came",
            "Take them from Study.results(), or read them with pandas.read_csv",
        )
    missing = [column for column in CELL if column not in results]
    if missing:
        raise InputError(
            f"Tidy results have the columns {', '.join(CELL)}",
            f"{', '.join(missing)} cannot be found",
            "Rename your columns, or take the frame from Study.results()",
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
    found = sorted(set(cells["config"].astype(str)))
    if config is not None:
        chosen = [name for name in found if name.startswith(config)]
        if len(chosen) == 1:
            return cells[cells["config"].astype(str) == chosen[0]].copy()
        raise InputError(
            f"config={config!r} chooses one configuration",
            f"{len(chosen)} of those in the results begin so: {', '.join(found) or 'none'}",
            "Give more letters of the one you mean",
        )
    if len(found) > 1:
        raise InputError(
            "A table shows results of one configuration",
            f"these come from {len(found)}: {', '.join(name or '(none)' for name in found)}",
            "Choose one with config=, or make a report for each",
        )
    return cells


def _refuse_repeated(cells: Any) -> None:
    repeated = cells.duplicated(CELL)
    if repeated.any():
        first = ", ".join(str(cells.loc[repeated, column].iloc[0]) for column in CELL)
        raise InputError(
            "Tidy results have one row per cell",
            f"{repeated.sum()} of {len(cells)} rows repeat a cell; the first is ({first})",
            "Keep one row of each; 'labelance study merge' does so for stores",
        )
