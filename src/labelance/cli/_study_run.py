"""``labelance study run``: do what the store does not have."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import labelance
from labelance.cli._console import errors, only_results_on_stdout, print_json, say
from labelance.cli._data import JsonOption
from labelance.cli._study_watch import Watcher, n_workers, span
from labelance.exceptions import StudyError

if TYPE_CHECKING:
    from labelance.study import Outcome, Study

Executor = Literal["serial", "processes", "dask"]


def _names(option: str, what: str) -> typer.models.OptionInfo:
    return typer.Option(option, help=f"Only these {what}, separated by commas.", show_default=False)


def run(
    plan: Annotated[str, typer.Argument(metavar="PRESET_OR_FILE", help="A preset or a TOML file.")],
    store: Annotated[
        Path | None,
        typer.Option(help="The SQLite file for results; NAME.db unless given.", show_default=False),
    ] = None,
    executor: Annotated[Executor, typer.Option(help="Where the work is done.")] = "processes",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Processes; all cores unless given.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="A Dask scheduler, such as tcp://host:8786.")
    ] = None,
    cell_timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="A cell that takes longer has failed.", show_default=False
        ),
    ] = None,
    datasets: Annotated[str | None, _names("--datasets", "datasets")] = None,
    learners: Annotated[str | None, _names("--learners", "learners")] = None,
    methods: Annotated[str | None, _names("--methods", "methods")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Repetitions, in place of the plan's.", show_default=False)
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the cells and estimate the time; do nothing.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run a study, or go on with it: what is in the store is not done again.

    Stop it with Ctrl-C or SIGTERM whenever you like. Several runners may share a store.
    """
    if address is not None and executor != "dask":
        raise StudyError(
            "--address names a Dask scheduler", f"--executor is {executor}", "Add --executor dask"
        )
    find_classes_here()
    study = labelance.study.load_study(plan).only(
        datasets=_split(datasets), learners=_split(learners), methods=_split(methods),
        repeats=repeats,
    )  # fmt: skip
    study.check()
    path = store or Path(f"{study.name}.db")
    workers = n_workers(executor, jobs)
    if dry_run:
        from labelance.cli._study_dry_run import tell_plan

        tell_plan(study, path, workers=workers, as_json=json)
        return
    options = {
        "executor": executor, "n_jobs": jobs, "address": address, "cell_timeout": cell_timeout,
        "retry_failed": retry_failed,
    }  # fmt: skip
    _run(study, path, workers, json, options)


def find_classes_here() -> None:
    """Let plans name classes in Python files of the present folder.

    Installed packages come first, or a file beside some results could take the place of one.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _run(study: Study, path: Path, workers: int, as_json: bool, options: dict[str, Any]) -> None:
    started = perf_counter()
    with Watcher(study, path, workers=workers, quiet=as_json) as watcher:
        try:
            with only_results_on_stdout():
                outcome = labelance.study.run_study(study, path, watch=watcher, **options)
        except KeyboardInterrupt:
            watcher.stop()
            kept = list(labelance.study.Store(path, read_only=True).status(study).values()).count(
                "done"
            )
            say(
                f"interrupted: {kept} of {len(study.cells())} cells are kept in {path}; "
                "the same command goes on from there",
                to=errors,
            )
            raise
    _tell(study, outcome, path, perf_counter() - started, as_json)
    if outcome.failed:
        raise typer.Exit(1)


def _tell(study: Study, outcome: Outcome, path: Path, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "study": study.name,
                "config": study.hash,
                "store": str(path),
                **{name: getattr(outcome, name) for name in ("done", "failed", "left", "total")},
                "seconds": seconds,
                "runner": outcome.runner,
            }
        )
        return
    say(f"{study.name}: {outcome.done} of {outcome.total} cells done in {path} ({span(seconds)})")
    if outcome.left:
        say(f"{outcome.left} cells are in the hands of other runners: "
             f"labelance study status {path}")  # fmt: skip
    if outcome.failed:
        say(
            f"{outcome.failed} cells failed; see them with: labelance study status {path}\n"
            "try them again with: --retry-failed",
            to=errors,
        )
    elif not outcome.left:
        say(f"Report: labelance study report {path} -o {path.with_suffix('.html').name}")


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]
