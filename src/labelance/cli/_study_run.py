"""``labelance study run``: do what the store does not have, or say what that would be."""

from __future__ import annotations

import os
import sys
from collections import Counter
from math import prod
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import labelance
from labelance._progress import is_interactive, span
from labelance.cli._console import errors, long_work, only_results_on_stdout, print_json, say
from labelance.cli._data import JsonOption, option, split_names
from labelance.exceptions import StudyError

if TYPE_CHECKING:
    from labelance.study import Study, StudyProgress


def line(study: Study, progress: StudyProgress) -> str:
    """Return how far a study is, for the line on a terminal."""
    finished, seconds = progress.done + progress.failed, progress.seconds_left
    failed = f", {progress.failed} failed" if progress.failed else ""
    left = f", about {span(seconds)} left" if seconds else ""
    return f"{study.name}: {finished} of {progress.total} cells{failed}{left}"


_PARTS = ("datasets", "learners", "methods")


def _tell_size(study: Study) -> None:
    """Print how many cells a plan has."""
    product = " x ".join(f"{len(getattr(study, part))} {part}" for part in _PARTS)
    n_cells, most = len(study.cells()), prod(len(getattr(study, part)) for part in _PARTS)
    some = ", as some methods have some learners only"
    some = some if n_cells < most * study.repeats * study.folds else ""
    say(
        f"{study.name}: {product} x {study.repeats} repeats x {study.folds} folds = "
        f"{n_cells} cells{some}"
    )


def _tell_plan(study: Study, path: Path, *, as_json: bool) -> None:
    """Print what the store has of a plan, and what it does not."""
    Store = labelance.study.Store
    status = Store(path, read_only=True).status(study) if path.exists() else {}
    counts = Counter(status.values())
    left = len(study.cells()) - len(status)
    if as_json:
        print_json({
            "study": study.name, "config": study.hash, "store": str(path),
            **{part: [item.name for item in getattr(study, part)] for part in _PARTS},
            "repeats": study.repeats, "folds": study.folds, "total": len(study.cells()),
            "done": counts["done"], "failed": counts["failed"], "left": left,
        })  # fmt: skip
        return
    say(f"{path} has {counts['done']} of them done and {counts['failed']} failed"
        if path.exists() else f"{path} does not exist yet")  # fmt: skip
    say(f"{left} cells to do")


PlanArgument = Annotated[
    str, typer.Argument(metavar="PRESET_OR_FILE", help="A preset or a TOML file.")
]
Executor = Literal["serial", "processes", "dask"]


def names_option(parts: str) -> Any:
    """Return an option that takes names of parts of a study."""
    return option(f"Only these {parts}, separated by commas.")


def run(
    plan: PlanArgument,
    store: Annotated[
        Path | None,
        option("The folder for results; NAME.store unless given."),
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
        option("Time limit per cell.", metavar="SECONDS"),
    ] = None,
    datasets: Annotated[
        str | None,
        option(
            "Only these datasets, separated by commas; or a TOML file with datasets and learners "
            "of your own, to hold against the plan."
        ),
    ] = None,
    learners: Annotated[str | None, names_option("learners")] = None,
    methods: Annotated[str | None, names_option("methods")] = None,
    repeats: Annotated[int | None, option("Repetitions, in place of the plan's.")] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try again what failed before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the cells, and do none.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Run or resume a study: finished cells in the store are kept.

    Stop it with Ctrl-C or SIGTERM whenever you like. Several runners may share a store.
    """
    if address is not None and executor != "dask":
        raise StudyError("--address needs --executor dask", f"Got --executor {executor}")
    find_classes_here()
    study = _open_plan(plan, datasets).only(
        learners=split_names(learners), methods=split_names(methods), repeats=repeats
    )
    study = study.installed()
    if dry_run and not json:
        _tell_size(study)  # at once: large files take a while
    study.check()
    path = store or Path(f"{study.name}.store")
    if dry_run:
        _tell_plan(study, path, as_json=json)
        return
    options = {
        "executor": executor, "n_jobs": jobs, "address": address, "cell_timeout": cell_timeout,
        "retry_failed": retry_failed,
    }  # fmt: skip
    _run(study, path, json, options)


def _open_plan(plan: str, datasets: str | None) -> Study:
    """Return a plan with datasets by their names, or with those of a TOML file."""
    study = labelance.study.load_study(plan)
    if datasets is not None and datasets.endswith(".toml"):
        return labelance.study.extend_study(study, datasets)
    return study.only(datasets=split_names(datasets))


def find_classes_here() -> None:
    """Let plans name classes in Python files of the present folder.

    Installed packages come first, or a file next to some results could take the place of one.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def _run(study: Study, path: Path, as_json: bool, options: dict[str, Any]) -> None:
    started = perf_counter()
    watched = is_interactive() and not as_json
    try:
        with only_results_on_stdout(), long_work(study.name, quiet=not watched) as tell:
            outcome = labelance.study.run_study(
                study,
                path,
                watch=(lambda progress: tell(line(study, progress))) if watched else None,
                **options,
            )
    except KeyboardInterrupt:
        status = labelance.study.Store(path, read_only=True).status(study)
        say(
            f"interrupted: {list(status.values()).count('done')} of {len(study.cells())} cells are "
            f"kept in {path}; the same command resumes",
            to=errors,
        )
        raise
    _tell(study, outcome, path, perf_counter() - started, as_json)
    if outcome.failed:
        raise typer.Exit(1)


def _tell(study: Study, outcome: StudyProgress, path: Path, seconds: float, as_json: bool) -> None:
    if as_json:
        print_json({
            "study": study.name, "config": study.hash, "store": str(path),
            **{name: getattr(outcome, name) for name in ("done", "failed", "left", "total")},
            "seconds": seconds, "runner": outcome.runner,
        })  # fmt: skip
        return
    say(f"{study.name}: {outcome.done} of {outcome.total} cells done in {path} ({span(seconds)})")
    if outcome.left:
        say(f"{outcome.left} cells are running elsewhere: "
             f"labelance study status {path}")  # fmt: skip
    if outcome.failed:
        say(
            f"{outcome.failed} cells failed; see them with: labelance study status {path}\n"
            "try them again with: --retry-failed",
            to=errors,
        )
    elif not outcome.left:
        say(f"Report: labelance study report {path} -o {path.with_suffix('.html').name}")
