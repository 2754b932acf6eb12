"""``labelance convert``: any format to any format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import labelance
from labelance.cli._console import console
from labelance.cli._data import (
    DataArgument,
    ForceOption,
    LabelsOption,
    MaxMemoryOption,
    ProtocolOption,
    check_free,
    load,
)

EXAMPLE = "Example: labelance convert yeast.arff.gz yeast.npz"

OutArgument = Annotated[
    Path,
    typer.Argument(
        metavar="OUT", help="Where to write; its ending says the format.", show_default=False
    ),
]


def convert(
    data: DataArgument,
    out: OutArgument,
    labels: LabelsOption = None,
    protocol: ProtocolOption = None,
    max_memory: MaxMemoryOption = None,
    force: ForceOption = False,
) -> None:
    """Convert a data file to another format.

    ARFF, Parquet and NPZ keep everything; CSV has no declared categories, and LibSVM has no
    names and is sparse.
    """
    check_free(out, force)
    dataset = load(data, labels, protocol, max_memory)
    labelance.datasets.write_multilabel(dataset, out, overwrite=force)
    console.print(
        f"{out}: {dataset.n_samples} rows, {dataset.n_features} features, "
        f"{dataset.n_labels} labels",
        highlight=False,
        soft_wrap=True,
    )
