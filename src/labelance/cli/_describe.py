"""``labelance describe``: the imbalance of a data file."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

import labelance
from labelance.cli._console import console, print_json
from labelance.cli._data import (
    DataArgument,
    JsonOption,
    LabelsOption,
    MaxMemoryOption,
    ProtocolOption,
    load,
)

EXAMPLE = "Example: labelance describe songs.csv --labels happy,sad,calm"


def describe(
    data: DataArgument,
    labels: LabelsOption = None,
    protocol: ProtocolOption = None,
    max_memory: MaxMemoryOption = None,
    k: Annotated[int, typer.Option("-k", help="Neighbors of the local part; 0 leaves it out.")] = 5,
    scale: Annotated[
        Literal["range", "standard"] | None,
        typer.Option(help="Divide features by their range or standard deviation first."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show how imbalanced multi-label data are, over all and label by label.

    Global measures (MeanIR, SCUMBLE and so on) come with the share of safe, borderline,
    rare and outlier cells among each label's minority.
    """
    dataset = load(data, labels, protocol, max_memory)
    result = labelance.profile(
        dataset.X,
        dataset.Y,
        k=k or None,
        scale=scale,
        categorical_features=dataset.categorical_features,
        missing="distance",
        label_names=dataset.label_names,
    )
    if json:
        print_json({"data": data, **result.to_dict()})
    else:
        console.print(str(result), markup=False, highlight=False, soft_wrap=True)
