"""``labelance describe``: the imbalance of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelance.cli._console import console, print_json
from labelance.datasets import read_multilabel
from labelance.imbalance import ImbalanceProfile, profile

EXAMPLE = "Example: labelance describe songs.csv --labels happy,sad,calm"


def describe(
    file: Annotated[
        Path,
        typer.Argument(help="CSV, TSV, NPZ, ARFF, Parquet or LibSVM file.", show_default=False),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            help="Label columns: names separated by commas, 'prefix:tag_', 'last:6', 'first:6', "
            "or an XML file. Not needed where the file says so itself.",
            show_default=False,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Neighbors of the local part; 0 leaves it out.")] = 5,
    scale: Annotated[
        str | None,
        typer.Option(help="Scale features by 'range' or 'standard'.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(help="Labels to show, rarest first; 0 shows all.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show how imbalanced a multi-label data file is, over all and label by label."""
    data = read_multilabel(file, labels=labels)
    result = profile(
        data.X,
        data.Y,
        k=k or None,
        scale=scale,
        categorical_features=data.categorical_features,
        missing="distance",
        label_names=data.label_names,
    )
    if json:
        print_json({"file": str(file), **result.to_dict()})
        return
    _print_profile(str(file), result, top)


def _print_profile(title: str, result: ImbalanceProfile, top: int) -> None:
    console.print(str(result), markup=False, highlight=False)
