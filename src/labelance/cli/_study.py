"""``labelance study``: plan, run, look after and publish a comparison of methods."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import labelance
from labelance._utils._messages import plural
from labelance.cli._console import App, long_work, print_json, print_table, say
from labelance.cli._data import ForceOption, JsonOption, keep_files, option, split_names
from labelance.cli._study_run import PlanArgument, find_classes_here, names_option, run
from labelance.exceptions import InputError

_FEW = 10
StudyOption = Annotated[
    str | None,
    option("Which study, where a store holds several: its name or hash.", "--study"),
]


def status(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A store.", show_default=False)],
    failures: Annotated[
        bool, typer.Option("--failures", help="Print the whole tracebacks of all failures.")
    ] = False,
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


def _write_report(
    results: Path, output: Path, *, title: str | None, study: str | None, compare: str
) -> Path:
    """Write the report of a store or an exported folder; return where it is."""
    import pandas

    found = labelance.study.import_results(results, study=study)
    methods, learners = (
        [one.name for one in parts] for parts in (found.study.methods, found.study.learners)
    )
    with long_work("Comparing"):
        figures, frame = found.describe_datasets(), found.frame(missing=True)
        if compare == "learners":  # each method's table then ranks the learners
            frame = frame.rename(columns={"learner": "method", "method": "learner"})
            methods, learners = learners, methods
        return labelance.report.write_report(
            frame,
            output,
            datasets=pandas.DataFrame(figures) if figures else None,
            title=title or f"Study: {found.study.name}",
            about=_about(found.about),
            methods=methods,
            learners=learners,
        )


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


app = App(no_args_is_help=True)


@app.callback()
def study() -> None:
    """Compare samplers and learners on many datasets: run, resume, verify, report."""


app.command(epilog="Example: labelance study run quick --store quick.store")(run)
app.command(epilog="Example: labelance study status quick.store --failures")(status)

ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="STORE_OR_DIR",
        help="A store, or a folder that `study export` wrote.",
        show_default=False,
    ),
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


@app.command(epilog="Example: labelance study export quick.store -o results/quick")
def export(
    results: ResultsArgument,
    output: Annotated[
        Path,
        option(
            "A folder (results.csv, study.toml, about.json), or a file that ends in .csv, "
            ".parquet or .json.",
            "-o",
            "--output",
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
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE_OR_DIR...", help="Stores or exported folders.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        option("The store they go to; what it has is kept.", "-o", "--output"),
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
    datasets: Annotated[str | None, names_option("datasets")] = None,
    learners: Annotated[str | None, names_option("learners")] = None,
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
        option(
            "A file that ends in .html, .md, .tex or .csv; with no ending, a folder.",
            "-o",
            "--output",
        ),
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
    if str(output) == "-":
        raise InputError("A report must be a file or a folder", "Got -o -")
    keep_files(output, force)
    where = _write_report(results, output, title=title, study=study, compare=compare)
    say(f"{where}: written")
