"""``labelance study status``: what a store has, what failed, who is at work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

import labelance
from labelance.cli._console import print_json, print_table, say
from labelance.cli._data import JsonOption

_FEW = 10


def status(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="A store.", show_default=False)],
    failures: Annotated[
        bool, typer.Option("--failures", help="Print the whole tracebacks of all failures.")
    ] = False,
    study: Annotated[
        str | None,
        typer.Option(
            "--study", help="Which study, where a store holds several.", show_default=False
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what is done, failed and missing, and which folds runners are at."""
    found = labelance.study.import_results(store, study=study)
    state: dict[str, Any] = {
        "study": found.study.name,
        "config": found.about["config"],
        "done": found.about["done"],
        "failed": found.about["failed"],
        "total": found.about["cells"],
        "parts": _parts(found),
        "running": [] if store.is_dir() else labelance.study.Store(store, read_only=True).claims(),
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
    return [
        {
            "cell": "/".join(str(row[name]) for name in labelance.study.Cell._fields),
            "error": _last_line(row["error"]),
            "traceback": row["error"] or "",
        }
        for row in found.rows
        if row["status"] == "failed"
    ]


def _last_line(traceback: str | None) -> str:
    lines = (traceback or "").strip().splitlines()
    return lines[-1] if lines else "no traceback is kept"


def _print_parts(state: dict[str, Any]) -> None:
    learners = list(dict.fromkeys(part["learner"] for part in state["parts"]))
    counts = {(part["dataset"], part["learner"]): part for part in state["parts"]}
    rows = []
    for dataset in dict.fromkeys(part["dataset"] for part in state["parts"]):
        rows.append([dataset, *(_count(counts.get((dataset, name))) for name in learners)])
    title = f"{state['study']} ({state['config']}): {state['done']} of {state['total']} cells done"
    if state["failed"]:
        title += f", {state['failed']} failed"
    say(title)
    print_table("Done", ["dataset", *learners], rows)


def _count(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    text = f"{part['done']}/{part['done'] + part['failed'] + part['missing']}"
    return text + (f", {part['failed']} failed" if part["failed"] else "")


def _print_running(claims: list[dict[str, Any]]) -> None:
    alive = Counter((claim["runner"], claim["host"]) for claim in claims if claim["alive"])
    for (runner, host), folds in alive.items():
        say(f"Runner {runner} on {host} is at {folds} fold{'s' * (folds > 1)}.")
    dead = sum(not claim["alive"] for claim in claims)
    if dead:
        say(f"{dead} fold(s) of runners that died; the next run takes them.")


def _print_failures(failures: list[dict[str, str]], store: Path, *, whole: bool) -> None:
    for failure in failures if whole else failures[:_FEW]:
        if whole:
            say(f"{failure['cell']}\n{failure['traceback']}")
        else:
            say(f"{failure['cell']}: {failure['error']}")
    if len(failures) > _FEW and not whole:
        say(f"and {len(failures) - _FEW} more")
    if failures and not whole:
        say(f"Whole tracebacks: labelance study status {store} --failures")
