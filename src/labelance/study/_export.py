"""Results to keep beside code: a CSV file, the plan, and where the figures come from."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

from labelance._utils import optional_import, replace_when_done
from labelance.exceptions import StudyError
from labelance.study._agreement import METRICS, cell_of
from labelance.study._opened import StudyResults, import_results, weighing_in
from labelance.study._plan_file import plan_of, read_plan
from labelance.study._store import RESTORE, read_json
from labelance.study._study import Study
from labelance.study._toml import to_toml

_NAMES = ("dataset", "learner", "method")
_COUNTS = ("n_undefined", "n_train", "n_resampled")
# Metrics keep every digit, so that `verify` can ask for equality; times are never that exact.
_FORMATS = {
    **dict.fromkeys(METRICS, "{!r}"),
    **dict.fromkeys(("sample_seconds", "fit_seconds", "predict_seconds", "cpu_seconds"), "{:.4g}"),
    "peak_mb": "{:.1f}",
    "member_disagreement": "{:.6g}",
}
EXPORTED = (
    *_NAMES, "repeat", "fold", *METRICS, *_COUNTS,
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
    versions = _read_versions(row["versions"] for row in done)
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


def _read_versions(texts: Iterable[str | None]) -> list[dict[str, str]]:
    read: dict[str, dict[str, str]] = {}
    found = []
    for text in filter(None, texts):
        if text not in read:
            read[text] = require(read_json(text, "The versions of a cell"), _TEXTS, "versions")
        found.append(read[text])
    return found


def read_folder(folder: Path, *, trust: tuple[str, ...] = ()) -> StudyResults:
    """Read a folder that :func:`export_results` wrote; its code and files are left alone."""
    for name in ("results.csv", "study.toml", "about.json"):
        if not (folder / name).is_file():
            raise StudyError(
                "A folder of results has results.csv, study.toml and about.json",
                f"{folder} has no {name}",
                "Write it with: labelance study export STORE -o FOLDER",
            )
    try:
        study = read_plan(folder / "study.toml", trust=trust)
        about = _read_about(folder / "about.json")
        rows = rows_of_folder(study, folder)
    except OSError as error:
        raise StudyError(
            f"The results in {folder} can be read", str(error), "Check who may read them"
        ) from error
    study = replace(study, weighing=weighing_in(study, rows))
    # Under other rules the same plan has another hash, and its rows have no place in a store.
    same_rules = about["config"] == study.hash
    one = {name: _only(about[key]) for name, key in _ORIGIN.items()}
    for row in rows:
        row.update(one, config=study.config(cell_of(row)) if same_rules else None)
    return StudyResults(study, rows, about)


_ORIGIN = {"version": "labelance", "commit_id": "commits", "machine": "machines"}


def rows_of_folder(study: Study, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of ``results.csv`` that belong to a study, in the order of its plan."""
    rows = _read_rows(folder / "results.csv")
    place = {cell: number for number, cell in enumerate(study.cells())}
    wanted = {cell_of(row): row for row in rows if cell_of(row) in place}
    return sorted(wanted.values(), key=lambda row: place[cell_of(row)])


def _read_rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file, strict=True):
                rows.append(_read_row(row))
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise StudyError(
            f"{path} has the columns {', '.join(EXPORTED)}, with names and numbers",
            f"near line {len(rows) + 2} is something else ({error})",
            RESTORE,
        ) from error
    return rows


def _read_row(row: dict[str, str]) -> dict[str, Any]:
    if None in row.values() or None in row:
        raise ValueError("a line has more or fewer values than there are columns")
    read: dict[str, Any] = {name: row[name] for name in _NAMES}
    read |= {name: _count(row[name]) for name in ("repeat", "fold")}
    read |= {name: _count(row[name]) if row[name] else None for name in _COUNTS}
    read |= {name: _number(row[name], name) if row[name] else None for name in _FORMATS}
    return {**read, "status": "done"}


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(f"{text} is no count")
    return number


def _number(text: str, name: str) -> float:
    number = float(text)
    if not (0 <= number <= 1 if name in METRICS else abs(number) < 1e15):
        raise ValueError(f"{text} is no {name}")
    return number


_TEXTS = {str: str}
_ABOUT = {
    "study": str,
    "config": str,
    "cells": int,
    "done": int,
    "failed": int,
    "labelance": [str],
    "commits": [str],
    "versions": {str: [str]},
    "machines": [str],
    "first_finished": (str, NoneType),
    "last_finished": (str, NoneType),
}


def _read_about(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        raise StudyError(f"{path} is JSON", str(error), RESTORE) from error
    about = require(read_json(text, str(path)), dict, str(path))
    for name, kind in _ABOUT.items():
        require(about.get(name), kind, f"{name} of {path}")
    for figures in require(about.get("datasets", []), [dict], f"datasets of {path}"):
        for name, kind in _FIGURES.items():
            require(figures.get(name), kind, f"{name} of a dataset of {path}")
    return about


_FIGURES = {
    "dataset": str, "n": int, "d": int, "q": int,
    "LC": (int, float, NoneType), "MeanImR": (int, float, NoneType),
}  # fmt: skip


def require(value: Any, kind: Any, what: str) -> Any:
    """Return a value from outside if it is of a kind: a type, or a list or mapping of types."""
    if not _is_of(value, kind):
        raise StudyError(
            f"{what} is as `labelance study export` writes it", f"it is {value!r}"[:200], RESTORE
        )
    return value


def _is_of(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is_of(item, kind[0]) for item in value)
    if isinstance(kind, dict):
        ((_, inner),) = kind.items()  # keys of JSON are text anyway
        return isinstance(value, dict) and all(_is_of(item, inner) for item in value.values())
    return isinstance(value, kind) and not isinstance(value, bool) and _can_be_written(value)


def _can_be_written(value: Any) -> bool:
    try:
        return not isinstance(value, str) or bool(value.encode()) or not value
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def _write_folder(results: StudyResults, folder: Path) -> None:
    _write_csv(results.done, folder / "results.csv")
    _write_text(folder / "study.toml", to_toml(results.study, folder=folder))
    # Table 1 goes along, so that a report needs no data.
    about = {**results.about, "datasets": results.describe_datasets()}
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
