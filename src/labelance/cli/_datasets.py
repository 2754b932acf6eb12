"""``labelance datasets``: the catalogue of public datasets."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

import labelance
from labelance._progress import loop, show_progress
from labelance._utils._messages import did_you_mean
from labelance.cli._console import App, console, print_json, print_table, say
from labelance.cli._data import JsonOption, argument, option
from labelance.exceptions import InputError

app = App(help="List, download and verify public multi-label datasets.", no_args_is_help=True)

NamesArgument = Annotated[
    list[str] | None, argument("[NAME]...", "Datasets; all if none is named.")
]


def _find_entry(name: str) -> Any:
    """Return an entry of the catalogue; the hint for an unknown one is a command."""
    try:
        return labelance.datasets.dataset_info(name)
    except InputError as error:
        cure = f"{did_you_mean(name, _all_names())}Correct the name, or: labelance profile FILE"
        raise InputError(error.problem, error.found, cure) from None


def _all_names() -> list[str]:
    return [info.name for info in labelance.datasets.list_datasets()]


@app.command("list", epilog="Example: labelance datasets list --json")
def list_(json: JsonOption = False) -> None:
    """List the datasets of the catalogue."""
    infos = labelance.datasets.list_datasets()
    if json:
        print_json([asdict(info) for info in infos])
        return
    say(
        f"{infos}\n\nRows, features and labels (n, d, q), labels of a row (LC), and MeanImR over "
        "labels of at least two rows, as published."
    )


@app.command(epilog="Example: labelance datasets info yeast")
def info(
    name: Annotated[str, argument(None, "A dataset.")],
    json: JsonOption = False,
) -> None:
    """Show what is known of one dataset: size, source, citation, licence."""
    known = asdict(_find_entry(name))
    if json:
        print_json(known)
        return
    for key, value in known.items():
        if key != "sources":
            console.print(f"[bold]{key}[/]: {value}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: labelance datasets fetch yeast scene")
def fetch(
    names: NamesArgument = None,
    force: Annotated[bool, option("Download again.", "--force")] = False,
    json: JsonOption = False,
) -> None:
    """Download datasets into the cache folder and check them."""
    wanted = names or _all_names()
    for name in wanted:
        _find_entry(name)  # an unknown name is an error before any download
    rows = []
    with show_progress(not json), loop("Downloading", len(wanted), "datasets") as bar:
        for name in wanted:
            files = labelance.datasets.fetch_dataset(name, force=force)
            rows.append({"name": name, "arff": str(files.arff), "xml": str(files.xml)})
            bar.advance()
    if json:
        print_json(rows)
        return
    for row in rows:
        say(f"{row['name']}: {row['arff']}")


@app.command(epilog="Example: labelance datasets verify yeast")
def verify(names: NamesArgument = None, json: JsonOption = False) -> None:
    """Compare local files with their published checksums; exit code 1 if any differs."""
    wanted = names or _all_names()
    checks = [labelance.datasets.verify_dataset(name) for name in wanted]
    if json:
        print_json([
            {"name": c.name, "found": c.files is not None, "problems": list(c.problems)}
            for c in checks
        ])  # fmt: skip
    else:
        rows = [
            (c.name, "not here" if c.files is None else "; ".join(c.problems) or "as published")
            for c in checks
        ]
        print_table("Local files", ("name", "state"), rows, left=2)
    if any(check.files is not None and check.problems for check in checks):
        raise typer.Exit(1)
