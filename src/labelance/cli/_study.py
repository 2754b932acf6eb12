"""``labelance study``: plan, run, look after and publish a comparison of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import labelance
from labelance.cli._console import print_json, print_table, progress, say
from labelance.cli._data import JsonOption
from labelance.cli._study_run import find_classes_here, run
from labelance.cli._study_status import status

app = typer.Typer(
    no_args_is_help=True,
)


@app.callback()
def study() -> None:
    """Compare samplers and learners on many datasets: run, resume, verify, report."""


app.command(epilog="Example: labelance study run quick --store quick.db")(run)
app.command(epilog="Example: labelance study status quick.db --failures")(status)

PlanArgument = Annotated[
    str, typer.Argument(metavar="PRESET_OR_FILE", help="A preset or a TOML file.")
]
ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="STORE_OR_DIR", help="A store, or a folder that `study export` wrote.",
        show_default=False,
    ),
]  # fmt: skip
StudyOption = Annotated[
    str | None,
    typer.Option(
        "--study", help="Which study, where a store holds several: its name or hash.",
        show_default=False,
    ),
]  # fmt: skip
OutputOption = Annotated[
    Path, typer.Option("-o", "--output", help="Where to write.", show_default=False)
]


@app.command(epilog="Example: labelance study presets")
def presets(json: JsonOption = False) -> None:
    """List the studies that come with the package."""
    rows = []
    for name in labelance.study.list_presets():
        study = labelance.study.load_study(name)
        sizes = {part: len(getattr(study, part)) for part in ("datasets", "learners", "methods")}
        repeats = {"repeats": study.repeats, "folds": study.folds, "cells": len(study.cells())}
        rows.append({"name": name, **sizes, **repeats})
    if json:
        print_json(rows)
        return
    print_table("Presets", list(rows[0]), [list(map(str, row.values())) for row in rows])


@app.command(epilog="Example: labelance study show paper-small > mine.toml")
def show(plan: PlanArgument) -> None:
    """Print a plan as TOML, to start your own from it."""
    study = labelance.study.load_study(plan)
    print(labelance.study.to_toml(study, folder=Path.cwd()), end="")


@app.command(epilog="Example: labelance study export quick.db -o results/quick")
def export(
    results: ResultsArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", show_default=False,
            help="A folder (results.csv, study.toml, about.json), or a file that ends in .csv, "
            ".parquet or .json.",
        ),
    ],
    study: StudyOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Write the finished cells as a tidy table, to publish or to commit."""
    about = labelance.study.export_results(results, output, study=study).about
    if json:
        print_json({"output": str(output), **about})
        return
    say(f"{output}: {about['done']} of {about['cells']} cells of {about['study']}")


@app.command(epilog="Example: labelance study merge laptop.db server.db -o all.db")
def merge(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE_OR_DIR...", help="Stores or exported folders.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="The store they go to; what it has is kept.", show_default=False
        ),
    ],
    json: JsonOption = False,
) -> None:
    """Bring the results of several machines together in one store."""
    merged = labelance.study.merge_results(sources, output)
    if json:
        print_json({"output": str(output), "new": merged.new, "total": merged.total})
        return
    say(f"{output}: {merged.new} new cells, {merged.total} in all")


@app.command(epilog="Example: labelance study verify results/quick --sample 20")
def verify(
    results: ResultsArgument,
    sample: Annotated[int, typer.Option(help="How many random cells; 0 takes all.")] = 20,
    datasets: Annotated[
        str | None,
        typer.Option(help="From which datasets, separated by commas.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    study: StudyOption = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust", metavar="MODULE", show_default=False,
            help="Run code of this module too, if the results name it; may be given again.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Compute random cells again; exit code 1 unless their figures are the same."""
    if trust:
        find_classes_here()
    opened = labelance.study.import_results(results, study=study, trust=trust or ())
    with progress("Computing again", min(sample or len(opened.done), len(opened.done))) as bar:
        checked = labelance.study.verify_results(
            opened,
            sample=sample or None,
            datasets=datasets.split(",") if datasets else None,
            seed=seed,
            watch=lambda count: bar.update(bar.task_ids[0], completed=count),
        )
    _tell_verification(checked, json)
    if checked.differing:
        raise typer.Exit(1)


def _tell_verification(checked: Any, as_json: bool) -> None:
    differing = [
        {"cell": str(one.cell), "metric": one.metric, "difference": one.difference,
         "error": one.error}
        for one in checked.differing
    ]  # fmt: skip
    if as_json:
        largest = checked.largest_difference
        counts = {"cells": len(checked.cells), "exact": checked.n_exact}
        print_json({**counts, "largest_difference": largest, "differing": differing})
        return
    for one in differing:
        say(f"{one['cell']}: {one['error'] or '{metric} differs by {difference:g}'.format(**one)}")
    say(
        f"{len(checked.cells)} cells computed again: {checked.n_exact} equal to the last bit, "
        f"{len(differing)} different; largest difference {checked.largest_difference:g}"
    )


@app.command(epilog="Example: labelance study report quick.db -o quick.html")
def report(
    results: ResultsArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", show_default=False,
            help="A file that ends in .html, .md, .tex or .csv; with no ending, a folder.",
        ),
    ],
    title: Annotated[str | None, typer.Option(help="Its heading.", show_default=False)] = None,
    study: StudyOption = None,
) -> None:  # fmt: skip
    """Write tables, statistics and figures of the results."""
    from labelance.cli._study_report import write

    say(f"{write(results, output, title=title, study=study)}: written")
