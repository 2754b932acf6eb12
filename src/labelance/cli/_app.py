"""The table of contents of the command line."""

from __future__ import annotations

import warnings
from typing import Annotated, Any

import typer

from labelance import __version__
from labelance._progress import above_bars
from labelance.cli import _datasets, _study
from labelance.cli._console import App, errors, fail, flags, in_flags
from labelance.cli._data import DASK_PAGE, MOST_ROWS
from labelance.cli._decide import decide
from labelance.cli._demo import demo
from labelance.cli._files import compare, convert, describe, play, profile, split
from labelance.cli._models import advise, fit, predict
from labelance.cli._resample import methods, resample
from labelance.exceptions import LabelanceError, LongSearchWarning

_EXIT_CODES = (
    "Exit codes: 0 done, 1 the data or the request cannot be worked with, 2 wrong usage, "
    "3 labels refused (decide), 130 interrupted, 143 terminated."
)

app = App(
    name="labelance",
    help="Imbalanced multi-label learning: describe data, resample it, compare methods.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
_EXAMPLES = {
    demo: "labelance demo --picture demo.png",
    describe: "labelance describe songs.csv --labels happy,sad,calm",
    profile: "labelance profile songs.csv --labels -3 -o songs.html",
    advise: "labelance advise songs.csv --labels happy,sad,calm --budget 60",
    fit: "labelance fit posts.csv --labels joy,anger,fear -o model.skops",
    predict: "labelance predict model.skops new.csv -o labels.csv --scores",
    decide: "labelance decide valid.csv --truth labels.csv --apply test.csv -o decided.csv, or: "
    "labelance decide valid.npy --truth y.npy --recall 0.9 --confidence 0.9 --thresholds "
    "found.json, or: labelance decide proba.parquet --per-row 5 -o decided.parquet",
    resample: "labelance resample yeast.arff --method mlsol --set sampling_ratio=0.5 -o more.arff",
    compare: "labelance compare songs.csv more.csv --labels -3 -o both.html",
    methods: "labelance methods mlsol",
    split: "labelance split yeast.arff --sizes 0.6,0.2,0.2 -o train.npz,valid.npz,test.npz",
    convert: "labelance convert yeast.arff.gz yeast.npz",
    play: "labelance play songs.csv --labels happy,sad,calm",
}  # in the order of the help
for _command, _example in _EXAMPLES.items():
    app.command(epilog=f"Example: {_example}")(_command)
app.add_typer(_datasets.app, name="datasets")
app.add_typer(_study.app, name="study")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"labelance {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Imbalanced multi-label learning: describe data, resample it, compare methods."""


def _show_warning(message: Warning | str, *details: Any, **more: Any) -> None:
    """Print a warning as one line for people, without the place in our code."""
    text = in_flags(message) if isinstance(message, Warning) else str(message)
    if isinstance(message, LongSearchWarning) and "subsample" in flags:
        what = text.partition(". ")[0]  # no command of these takes an algorithm
        text = f"{what}. --subsample {MOST_ROWS} searches among that many rows."
    with above_bars():
        errors.print(
            f"warning: {text}", style="yellow", highlight=False, soft_wrap=True, markup=False
        )


def run() -> None:
    """Run a command; an error becomes one line on standard error and exit code 1."""
    warnings.showwarning = _show_warning
    try:
        app()
    except MemoryError as error:
        said = str(error) or "Memory ran out"
        fail(f"{said}. Use Dask in Python ({DASK_PAGE}), or a sample of the rows.")
    except (LabelanceError, OSError) as error:
        fail(in_flags(error))
    except ValueError as error:
        if type(error).__name__ != "InvalidParameterError":  # scikit-learn's, of --set name=value
            raise
        fail(in_flags(error))
