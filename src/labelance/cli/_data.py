"""How the commands name their data: a file and its label columns, or a catalogued dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import labelance  # rooms open on first use, which keeps --help quick
from labelance.exceptions import InputError

if TYPE_CHECKING:
    from labelance.datasets import MultiLabelDataset

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file (ARFF, CSV, TSV, Parquet, LibSVM, NPZ; also .gz) or the name of a dataset "
        "of the catalogue (labelance datasets list).",
        show_default=False,
    ),
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Label columns: names separated by commas, a beginning such as 'tag_*', a number "
        "(6: the first six columns, -6: the last six) or an XML label file. Not needed where "
        "the file says so itself.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist already.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def load(data: str, labels: str | None) -> MultiLabelDataset:
    """Read a file, or load a dataset of the catalogue by name."""
    if Path(data).exists():
        return labelance.datasets.read_multilabel(data, labels=_parse_labels(labels))
    if data in {info.name for info in labelance.datasets.list_datasets()}:
        return labelance.datasets.load_dataset(data)
    raise InputError(
        "DATA is a file or a dataset of the catalogue",
        f"there is no file {data!r} here and no dataset of that name",
        "Check the path, or see the names with: labelance datasets list",
    )


def _parse_labels(text: str | None) -> Any:
    """Turn the option into what ``read_multilabel`` takes: a number, names, a pattern, a file."""
    if text is None:
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    if text.endswith((".xml", "*")):
        return text
    return text.split(",")


def check_free(path: Path, force: bool) -> None:
    """Refuse to write over a file, before any work is done."""
    if path.exists() and not force:
        raise InputError(
            "Files that exist are kept",
            f"{path} exists already",
            "Choose another name, or add --force to overwrite it",
        )
