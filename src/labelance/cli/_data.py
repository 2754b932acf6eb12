"""How the commands name their data: a file and its label columns, or a catalogued dataset."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import labelance  # packages are imported on first use, which keeps --help quick
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
Protocol = Literal["paper"] | None
ProtocolOption = Annotated[
    Protocol,
    typer.Option(
        "--protocol", help="Prepare a dataset of the catalogue as in the paper.", show_default=False
    ),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        help="The most memory that the data of a file may take, such as 4GB; 1 GiB or 100 times "
        "the size of the file by default.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist already.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def load(
    data: str, labels: str | None, protocol: Protocol = None, max_memory: str | None = None
) -> MultiLabelDataset:
    """Read a file, or load a dataset of the catalogue by name."""
    if os.path.isfile(data):  # no error for a name that is too long for a file
        if protocol:
            raise InputError(
                "--protocol prepares datasets of the catalogue",
                f"{data} is a file",
                "Leave it out, or use labelance.datasets.apply_protocol in Python",
            )
        return labelance.datasets.read_multilabel(
            data, labels=_parse_labels(labels), max_memory=max_memory
        )
    catalogue = {info.name.lower(): info.name for info in labelance.datasets.list_datasets()}
    if data.lower() in catalogue:
        return labelance.datasets.load_dataset(catalogue[data.lower()], protocol=protocol)
    close = get_close_matches(data.lower(), catalogue, n=1)
    raise InputError(
        "DATA is a file or a dataset of the catalogue",
        f"there is no file {data!r} here and no dataset of that name",
        (f"Did you mean {catalogue[close[0]]}? " if close else "")
        + "Check the path, or see the names with: labelance datasets list",
    )


def _parse_labels(text: str | None) -> Any:
    """Turn the option into what ``read_multilabel`` takes: a number, names, a pattern, a file."""
    if text is None:
        return None
    if re.fullmatch(r"-?[0-9]{1,9}", text):
        return int(text)
    if text.endswith((".xml", "*")):
        return text
    return [name.strip() for name in text.split(",")]


def check_free(path: Path, force: bool) -> None:
    """Refuse a place that cannot be written to, or a file that exists, before any work is done."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(
            "Results go to a file in a folder that can be written to",
            f"{path} is a folder" if path.is_dir() else f"{folder} is none",
            "Make the folder first, or name another file",
        )
    if path.exists() and not force:
        raise InputError(
            "Files that exist are kept",
            f"{path} exists already",
            "Choose another name, or add --force to overwrite it",
        )
