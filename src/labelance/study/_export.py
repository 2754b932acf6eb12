"""Results to keep beside code, or to bring together: files, folders, merged stores."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelance._utils._files import replace_when_done
from labelance._utils._messages import optional_import
from labelance.exceptions import StudyError
from labelance.study._config import study_of, to_toml
from labelance.study._results import (
    EXPORTED,
    FORMATS,
    StudyResults,
    check_readable,
    import_results,
    is_folder,
    read_folder,
)
from labelance.study._store import Store, check_no_conflict, plan_row
from labelance.study._study import plan_of


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
    return "" if row[name] is None else FORMATS.get(name, "{}").format(row[name])


@dataclass(frozen=True)
class Merged:
    """How many cells came into a store, and how many it has now."""

    new: int
    total: int


def merge_results(
    sources: Sequence[str | os.PathLike[str]], into: str | os.PathLike[str]
) -> Merged:
    """Bring the cells of stores and exported folders together in one store.

    What the store has is kept, and a cell that failed gives way to the same cell done. Two
    sources that disagree on a cell are an error, found before anything is written.

    Parameters
    ----------
    sources : sequence of paths
        Stores, or folders that :func:`export_results` wrote: a study goes on from there.
    into : path
        The store; made if absent.

    Returns
    -------
    Merged
        ``new`` and ``total`` cells.
    """
    stores = [_rows_and_plans(Path(source)) for source in sources]
    seen = Store(into, read_only=True).rows() if Path(into).exists() else []
    for rows, _ in stores:
        check_no_conflict(seen, rows)
        seen = seen + rows
    target = Store(into)
    new = sum(target.take(rows, plans) for rows, plans in stores)
    return Merged(new, len(target.rows(columns=())))


def _rows_and_plans(path: Path) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    if not is_folder(path):
        store = Store(path, read_only=True)
        for plan in store.plans():
            study_of(plan, trust=())  # a damaged plan must not make the other store unreadable
        rows = store.rows()
        check_readable(rows)
        return rows, store.plan_rows()
    results = read_folder(path)
    if results.about["config"] != results.study.hash:
        raise StudyError(
            "Exported results go on under the rules they were computed by",
            f"{path} has the configuration {results.about['config']}, and this version makes it "
            f"{results.study.hash}",
            "Use the version that wrote them, or run the study anew",
        )
    study, begun = results.study, results.about["first_finished"]
    return results.rows, [plan_row(study, plan_of(study), begun)]
