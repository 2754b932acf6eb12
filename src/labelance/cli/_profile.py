"""``labelance profile`` and ``labelance compare``: data files as a page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelance.cli._console import long_work, report_kept_files, say
from labelance.cli._data import (
    MOST_ROWS,
    ForceOption,
    MemoryOption,
    NeighborsOption,
    ScaleOption,
    Source,
    SubsampleOption,
    check_page,
    measure,
    option,
    reads_data,
)
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset
    from labelance.imbalance import ImbalanceProfile

PageOption = Annotated[
    Path,
    option("Where to write the page, an HTML file.", "-o", "--output"),
]
TitleOption = Annotated[str | None, option("The heading; the name of DATA by default.")]


@reads_data
def profile(
    source: Source,
    output: PageOption,
    n_neighbors: NeighborsOption = 5,
    scale: ScaleOption = None,
    subsample: SubsampleOption = MOST_ROWS,
    title: TitleOption = None,
    memory: MemoryOption = None,
    force: ForceOption = False,
) -> None:
    """Write a page about multi-label data: how imbalanced it is, label by label.

    One file that opens offline: a summary, all labels to search and sort, labels that occur
    together, what neighbors know, rows that look mislabelled, folds and a map. What to do about
    the imbalance: labelance advise DATA.
    """
    check_page(output, force)
    with report_kept_files(output), source.open(memory) as dataset:
        found = _measure(dataset, n_neighbors=n_neighbors, scale=scale, subsample=subsample)
        found.to_html(output, title=title or source.data)
    say(f"{output}: {found.n_samples} rows, {found.n_labels} labels, MeanIR {found.mean_ir:.3f}")


@reads_data
def compare(
    source: Source,
    after: Annotated[
        str,
        typer.Argument(
            metavar="AFTER", help="The same data after a sampler, read alike.", show_default=False
        ),
    ],
    output: PageOption,
    n_neighbors: NeighborsOption = 5,
    scale: ScaleOption = None,
    subsample: SubsampleOption = MOST_ROWS,
    title: TitleOption = None,
    force: ForceOption = False,
) -> None:
    """Write a page that shows data before and after a sampler, side by side."""
    check_page(output, force)
    options: dict[str, Any] = {"n_neighbors": n_neighbors, "scale": scale, "subsample": subsample}
    with report_kept_files(output):
        first = _measure(source.load(), **options)
        second = _measure(_load_after(source, after), **options)
        first.to_html(output, title=title or f"{source.data} and {after}", after=second)
    say(
        f"{output}: {first.n_samples} -> {second.n_samples} rows, "
        f"MeanIR {first.mean_ir:.3f} -> {second.mean_ir:.3f}"
    )


# What says how labels are read from a file that was not written by a sampler.
_HOW_TO_READ = ("labels", "present", "missing_labels", "multi_class", "label_separator", "ignore")


def _load_after(source: Source, after: str) -> MultiLabelDataset:
    """Read AFTER like DATA, or as `labelance resample` wrote it, with its labels in columns."""
    alike = replace(source, data=after)
    try:
        return alike.load()
    except InputError as problem:
        try:
            own: dict[str, Any] = dict.fromkeys(_HOW_TO_READ)
            return replace(alike, **own).load()
        except InputError:
            raise problem from None


def _measure(
    dataset: MultiLabelDataset, *, n_neighbors: int, scale: Any, subsample: int
) -> ImbalanceProfile:
    with long_work(f"Looking at {dataset.n_samples} rows"):
        return measure(dataset, n_neighbors=n_neighbors, scale=scale, subsample=subsample)
