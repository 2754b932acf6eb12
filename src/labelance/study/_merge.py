"""Several stores, from several machines, as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelance.exceptions import StudyError
from labelance.study._agreement import refuse_conflict
from labelance.study._export import read_folder
from labelance.study._opened import is_folder
from labelance.study._plan_file import plan_of, study_of
from labelance.study._store import Store, plan_row


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
    stores = [_opened(Path(source)) for source in sources]
    seen = Store(into, read_only=True).rows() if Path(into).exists() else []
    for rows, _ in stores:
        refuse_conflict(seen, rows)
        seen = seen + rows
    target = Store(into)
    new = sum(target.take(rows, plans) for rows, plans in stores)
    return Merged(new, len(target.rows(columns=())))


def _opened(path: Path) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    if not is_folder(path):
        store = Store(path, read_only=True)
        for plan in store.plans():
            study_of(plan, trust=())  # a damaged plan must not make the other store unreadable
        return store.rows(), store.plan_rows()
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
