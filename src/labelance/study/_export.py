"""Results to keep beside code: a CSV file, the plan, and where the figures come from."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from labelance._utils import optional_import, replace_when_done
from labelance.exceptions import StudyError
from labelance.study._agreement import METRICS, cell_of
from labelance.study._describe import describe_datasets
from labelance.study._opened import StudyResults, import_results
from labelance.study._plan_file import load_study, plan_of
from labelance.study._study import Study
from labelance.study._toml import to_toml

_NAMES = ("dataset", "learner", "method")
_WHOLE = ("repeat", "fold", "n_undefined", "n_train", "n_resampled")
# Metrics keep every digit, so that `verify` can ask for equality; times are never that exact.
_FORMATS = {
    **dict.fromkeys(METRICS, "{!r}"),
    **dict.fromkeys(("sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds"), "{:.4g}"),
    "peak_mb": "{:.1f}",
    "member_disagreement": "{:.6g}",
}
EXPORTED = (
    *_NAMES, "repeat", "fold", *METRICS, "n_undefined", "n_train", "n_resampled",
    "sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds", "peak_mb",
    "member_disagreement",
)  # fmt: skip


def export_results(
    source: str | os.PathLike[str] | StudyResults,
    path: str | os.PathLike[str],
    *,
    study: str | None = None,
) -> StudyResults:
    """Write the finished cells of a study as a tidy file, or as a folder to commit.

    Parameters
    ----------
    source : path or StudyResults
        A store, an exported folder, or results read before.
    path : path
        A file that ends in ``.csv``, ``.parquet`` or ``.json``; or a folder, which gets
        ``results.csv``, the plan ``study.toml`` and ``about.json`` with the configuration,
        commits, versions and machines.
    study : str, optional
        Which study, where the store holds several.

    Returns
    -------
    StudyResults
        What was written.

    See Also
    --------
    import_results : Read such a folder.
    """
    results = source if isinstance(source, StudyResults) else import_results(source, study=study)
    target = Path(path)
    if not results.done:
        raise StudyError("Finished cells are exported", "none is finished", "Run the study first")
    if target.suffix == "" or target.is_dir():
        _write_folder(results, target)
    elif target.suffix == ".csv":
        _write_csv(results.done, target)
    elif target.suffix == ".json":
        _write_json(results, target)
    elif target.suffix == ".parquet":
        _write_parquet(results, target)
    else:
        raise StudyError(
            "Results go to a folder or to a file that ends in .csv, .parquet or .json",
            f"{target} came",
            "Choose one of these endings",
        )
    return results


def about_rows(study: Study, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return where rows come from: what differs between them is listed, most frequent first."""
    done = [row for row in rows if row["status"] == "done"]
    versions = [json.loads(row["versions"]) for row in done if row["versions"]]
    packages = sorted({package for found in versions for package in found})
    finished = sorted(row["finished"] for row in done if row["finished"])
    return {
        "study": study.name,
        "config": study.hash,
        "cells": len(study.cells()),
        "done": len(done),
        "failed": len(rows) - len(done),
        "labelance": _values(row["version"] for row in done),
        "commits": _values(row["commit_id"] for row in done),
        "versions": {
            package: _values(found.get(package) for found in versions) for package in packages
        },
        "machines": _values(row["machine"] for row in done),
        "first_finished": finished[0] if finished else None,
        "last_finished": finished[-1] if finished else None,
    }


def read_folder(folder: Path) -> StudyResults:
    """Read a folder that :func:`export_results` wrote."""
    for name in ("results.csv", "study.toml", "about.json"):
        if not (folder / name).is_file():
            raise StudyError(
                "A folder of results has results.csv, study.toml and about.json",
                f"{folder} has no {name}",
                "Write it with: labelance study export STORE -o FOLDER",
            )
    study = load_study(folder / "study.toml")
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    rows = rows_of_folder(study, folder)
    # Under other rules the same plan has another hash, and its rows have no place in a store.
    same_rules = about["config"] == study.hash
    one = {name: _only(about[key]) for name, key in _ORIGIN.items()}
    for row in rows:
        row.update(one, config=study.config(cell_of(row)) if same_rules else None)
    return StudyResults(study, rows, about)


_ORIGIN = {"version": "labelance", "commit_id": "commits", "machine": "machines"}


def rows_of_folder(study: Study, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of ``results.csv`` that belong to a study, in the order of its plan."""
    with (folder / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = [_read_row(row) for row in csv.DictReader(file)]
    place = {cell: number for number, cell in enumerate(study.cells())}
    wanted = [row for row in rows if cell_of(row) in place]
    return sorted(wanted, key=lambda row: place[cell_of(row)])


def _read_row(row: dict[str, str]) -> dict[str, Any]:
    read: dict[str, Any] = {name: row[name] for name in _NAMES}
    read |= {name: int(row[name]) for name in _WHOLE}
    read |= {name: float(row[name]) if row[name] else None for name in _FORMATS}
    return {**read, "status": "done"}


def _write_folder(results: StudyResults, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(results.done, folder / "results.csv")
    _write_text(folder / "study.toml", to_toml(results.study, folder=folder))
    # Table 1 goes along, so that a report needs no data.
    about = {**results.about, "datasets": describe_datasets(results.study)}
    _write_text(folder / "about.json", json.dumps(about, indent=2) + "\n")


def _write_csv(rows: Iterable[dict[str, Any]], path: Path) -> None:
    with replace_when_done(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(EXPORTED)
        writer.writerows([_text(row, name) for name in EXPORTED] for row in rows)


def _write_json(results: StudyResults, path: Path) -> None:
    content = {
        "study": plan_of(results.study),
        "about": results.about,
        "results": [{name: row[name] for name in EXPORTED} for row in results.done],
    }
    _write_text(path, json.dumps(content, indent=1) + "\n")


def _write_parquet(results: StudyResults, path: Path) -> None:
    optional_import("pyarrow", extra="data", purpose="Writing Parquet")
    frame = results.frame()
    with replace_when_done(path) as part:
        frame.loc[frame["status"] == "done", [*EXPORTED, "config"]].to_parquet(part, index=False)


def _write_text(path: Path, text: str) -> None:
    with replace_when_done(path) as part:
        part.write_text(text, encoding="utf-8")


def _text(row: dict[str, Any], name: str) -> str:
    return "" if row[name] is None else _FORMATS.get(name, "{}").format(row[name])


def _values(found: Iterable[str | None]) -> list[str]:
    return [value for value, _ in Counter(filter(None, found)).most_common()]


def _only(values: list[str]) -> str | None:
    return values[0] if len(values) == 1 else None
