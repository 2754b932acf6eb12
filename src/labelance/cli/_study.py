"""``labelance study``: plan, run, look after and publish a comparison of methods."""

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
from labelance._utils._messages import plural
from labelance.cli._console import (
    App,
    errors,
    long_work,
    only_results_on_stdout,
    print_json,
    print_table,
    say,
)
from labelance.cli._data import (
    ForceOption,
    JsonOption,
    argument,
    keep_files,
    option,
    output_option,
    split_names,
)
from labelance.exceptions import InputError, StudyError

if TYPE_CHECKING:
    from labelance.study import Study, StudyProgress

_FEW = 10
_PARTS = ("datasets", "learners", "methods")
StudyOption = Annotated[
    str | None,
    option("Which study, where a store holds several: its name or hash.", "--study"),
]
PlanArgument = Annotated[str, argument("PRESET_OR_FILE", "A preset or a TOML file.")]
ResultsArgument = Annotated[
    Path, argument("STORE_OR_DIR", "A store, or a folder that `study export` wrote.")
]
Executor = Literal["serial", "processes", "dask"]
LearnersOption = Annotated[str | None, option("Only these learners, separated by commas.")]

app = App(no_args_is_help=True)


@app.callback()
def study() -> None:
    """Compare samplers and learners on many datasets: run, resume, verify, report."""


# --- run ------------------------------------------------------------------------------------------


def line(study: Study, progress: StudyProgress) -> str:
    """Return how far a study is, for the line on a terminal."""
    finished, seconds = progress.done + progress.failed, progress.seconds_left
    failed = f", {progress.failed} failed" if progress.failed else ""
    left = f", about {span(seconds)} left" if seconds else ""
    return f"{study.name}: {finished} of {progress.total} cells{failed}{left}"


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


@app.command(epilog="Example: labelance study run quick --store quick.store")
def run(
    plan: PlanArgument,
    store: Annotated[Path | None, option("The folder of results; or NAME.store.")] = None,
    executor: Annotated[Executor, typer.Option(help="Where the work is done.")] = "processes",
    jobs: Annotated[int | None, option("Processes; or all cores.", "--jobs", "-j")] = None,
    address: Annotated[str | None, option("A Dask scheduler, such as tcp://host:8786.")] = None,
    cell_timeout: Annotated[float | None, option("Time limit per cell.", metavar="SECONDS")] = None,
    datasets: Annotated[
        str | None,
        option("Only these, separated by commas; or your own, with learners, from a TOML file."),
    ] = None,
    learners: LearnersOption = None,
    methods: Annotated[str | None, option("Only these methods, separated by commas.")] = None,
    repeats: Annotated[int | None, option("Repetitions, in place of the plan's.")] = None,
    retry_failed: Annotated[bool, option("Try failed cells again.", "--retry-failed")] = False,
    dry_run: Annotated[bool, option("Count the cells, and do none.", "--dry-run")] = False,
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


# --- look -----------------------------------------------------------------------------------------


@app.command(epilog="Example: labelance study status quick.store --failures")
def status(
    store: Annotated[Path, argument("STORE", "A store.")],
    failures: Annotated[bool, option("Print all tracebacks in full.", "--failures")] = False,
    study: StudyOption = None,
    json: JsonOption = False,
) -> None:
    """Show what is done, failed and missing, and which folds runners are at."""
    found = labelance.study.import_results(store, study=study)
    Store = labelance.study.Store
    state: dict[str, Any] = {
        "study": found.study.name,
        **{name: found.about[name] for name in ("config", "done", "failed")},
        "total": found.about["cells"],
        "parts": _parts(found),
        # An exported folder has no folds that runners hold.
        "running": Store(store, read_only=True).claims() if Store.is_at(store) else [],
        "failures": _failures(found),
    }
    if json:
        print_json(state)
        return
    _print_parts(state)
    _print_running(state["running"])
    _print_failures(state["failures"], store, whole=failures)


def _parts(found: Any) -> list[dict[str, Any]]:
    """Count the cells of every dataset and learner."""
    asked = Counter(cell[:2] for cell in found.study.cells())
    have = Counter((row["dataset"], row["learner"], row["status"]) for row in found.rows)
    parts = []
    for (dataset, learner), total in sorted(asked.items(), key=lambda item: item[0][0]):
        done, failed = (have[dataset, learner, what] for what in ("done", "failed"))
        counts = {"done": done, "failed": failed, "missing": total - done - failed}
        parts.append({"dataset": dataset, "learner": learner, **counts})
    return parts


def _failures(found: Any) -> list[dict[str, str]]:
    failed = [row for row in found.rows if row["status"] == "failed"]
    return [
        {
            "cell": "/".join(str(row[name]) for name in labelance.study.Cell._fields),
            "error": ((row["error"] or "").strip().splitlines() or ["no traceback is kept"])[-1],
            "traceback": row["error"] or "",
        }
        for row in failed
    ]


def _print_parts(state: dict[str, Any]) -> None:
    texts = {(part["dataset"], part["learner"]): _count(part) for part in state["parts"]}
    datasets, learners = (list(dict.fromkeys(names)) for names in zip(*texts))
    title = f"{state['study']} ({state['config']}): {state['done']} of {state['total']} cells done"
    say(title + (f", {state['failed']} failed" if state["failed"] else ""))
    rows = [[one, *(texts.get((one, name), "") for name in learners)] for one in datasets]
    print_table("Done", ["dataset", *learners], rows)


def _count(part: dict[str, Any]) -> str:
    text = f"{part['done']}/{part['done'] + part['failed'] + part['missing']}"
    return text + (f", {part['failed']} failed" if part["failed"] else "")


def _print_running(claims: list[dict[str, Any]]) -> None:
    alive = Counter((claim["runner"], claim["host"]) for claim in claims if claim["alive"])
    for (runner, host), folds in alive.items():
        say(f"Runner {runner} on {host} is at {plural(folds, 'fold')}.")
    if dead := len(claims) - alive.total():
        say(f"{dead} fold(s) left by crashed runs; the next run takes them.")


def _print_failures(failures: list[dict[str, str]], store: Path, *, whole: bool) -> None:
    if whole:
        for failure in failures:
            say(f"{failure['cell']}\n{failure['traceback']}")
        return
    for failure in failures[:_FEW]:
        say(f"{failure['cell']}: {failure['error']}")
    if len(failures) > _FEW:
        say(f"and {len(failures) - _FEW} more")
    if failures:
        say(f"Whole tracebacks: labelance study status {store} --failures")


def _about(about: dict[str, Any]) -> dict[str, str]:
    """Return what a reader wants to know of the origin of results, as text."""
    days = [str(about[name])[:10] for name in ("first_finished", "last_finished") if about[name]]
    said = {
        "study": about["study"],
        "labelance": ", ".join(about["labelance"]),
        "commit": ", ".join(about["commits"]),
        "packages": ", ".join(f"{name} {'/'.join(v)}" for name, v in about["versions"].items()),
        "machine": "; ".join(about["machines"]),
        "computed": " to ".join(dict.fromkeys(days)),
    }
    return {name: text for name, text in said.items() if text}


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


@app.command(epilog="Example: labelance study export quick.store -o results/quick")
def export(
    results: ResultsArgument,
    output: Annotated[
        Path,
        output_option(
            "A folder (results.csv, study.toml, about.json), or a file that ends in .csv, "
            ".parquet or .json."
        ),
    ],
    study: StudyOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write the finished cells as a tidy table, to publish or to commit."""
    keep_files(output, force)
    about = labelance.study.export_results(results, output, study=study).about
    if json:
        print_json({"output": str(output), **about})
        return
    say(f"{output}: {about['done']} of {about['cells']} cells of {about['study']}")


@app.command(epilog="Example: labelance study merge laptop.store server.store -o all.store")
def merge(
    sources: Annotated[list[Path], argument("STORE_OR_DIR...", "Stores or exported folders.")],
    output: Annotated[Path, output_option("The store they go to; what it has is kept.")],
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
    datasets: Annotated[str | None, option("Only these datasets, separated by commas.")] = None,
    learners: LearnersOption = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice.")] = 0,
    study: StudyOption = None,
    trust: Annotated[
        list[str] | None,
        option(
            "Run code of this module too, if the results name it; may be given again.",
            "--trust",
            metavar="MODULE",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Compute random cells again; exit code 1 unless their figures are the same."""
    if trust:
        find_classes_here()
    found = labelance.study.import_results(results, study=study, trust=trust or ())
    n_cells = min(sample or len(found.done), len(found.done))
    with long_work("Computing again") as tell:
        checked = labelance.study.verify_results(
            found,
            sample=sample or None,
            datasets=split_names(datasets),
            learners=split_names(learners),
            seed=seed,
            watch=lambda count: tell(f"Computing again: {count} of {n_cells} cells"),
        )
    _tell_verification(checked, json)
    if checked.differing:
        raise typer.Exit(1)


def _tell_verification(checked: Any, as_json: bool) -> None:
    differing = [
        {"cell": str(one.cell)}
        | {name: getattr(one, name) for name in ("metric", "difference", "error")}
        for one in checked.differing
    ]
    largest = checked.largest_difference
    if as_json:
        print_json({
            "cells": len(checked.cells), "exact": checked.n_exact,
            "within_tolerance": checked.n_within, "largest_difference": largest,
            "differing": differing,
        })  # fmt: skip
        return
    for one in differing:
        say(f"{one['cell']}: {one['error'] or '{metric} differs by {difference:g}'.format(**one)}")
    say(
        f"{len(checked.cells)} cells computed again: {checked.n_exact} equal to the last bit, "
        f"{checked.n_within} within the tolerance, {len(differing)} different; "
        f"largest difference {largest:g}"
    )


@app.command(epilog="Example: labelance study report quick.store -o quick.html")
def report(
    results: ResultsArgument,
    output: Annotated[
        Path,
        output_option("A file that ends in .html, .md, .tex or .csv; with no ending, a folder."),
    ],
    title: Annotated[str | None, option("Its heading.")] = None,
    compare: Annotated[
        Literal["methods", "learners"],
        typer.Option(help="Rank the methods under each learner, or the learners."),
    ] = "methods",
    study: StudyOption = None,
    force: ForceOption = False,
) -> None:
    """Write tables, statistics and figures of the results."""
    import pandas

    if str(output) == "-":
        raise InputError("A report must be a file or a folder", "Got -o -")
    keep_files(output, force)
    found = labelance.study.import_results(results, study=study)
    methods = [one.name for one in found.study.methods]
    learners = [one.name for one in found.study.learners]
    with long_work("Comparing"):
        figures, frame = found.describe_datasets(), found.frame(missing=True)
        if compare == "learners":  # each method's table then ranks the learners
            frame = frame.rename(columns={"learner": "method", "method": "learner"})
            methods, learners = learners, methods
        where = labelance.report.write_report(
            frame,
            output,
            datasets=pandas.DataFrame(figures) if figures else None,
            title=title or f"Study: {found.study.name}",
            about=_about(found.about),
            methods=methods,
            learners=learners,
        )
    say(f"{where}: written")
