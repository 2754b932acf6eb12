"""Results as a tidy table."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelance._utils import optional_import
from labelance.study._store import COLUMNS, Store
from labelance.study._study import Study

if TYPE_CHECKING:
    import pandas as pd

# The labels' own figures stay in the store; "config" in a table is that of the whole study.
_NOT_SHOWN = ("labels", "config", "runner")


def read_results(study: Study, store: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the cells of a study, one row each, in the order of its plan."""
    from labelance.study._opened import is_folder

    if is_folder(store):
        return frame_of(_of_folder(study, Path(store)), config=study.hash)
    return frame_of(Store(store, read_only=True).rows(study), config=study.hash)


def _of_folder(study: Study, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a folder that were computed as the study would compute them."""
    from labelance.study._agreement import cell_of
    from labelance.study._export import read_folder

    place = {(cell, study.config(cell)): number for number, cell in enumerate(study.cells())}
    found = {(cell_of(row), row["config"]): row for row in read_folder(folder).rows}
    return [found[key] for key in sorted(place.keys() & found.keys(), key=place.__getitem__)]


def frame_of(rows: Iterable[dict[str, Any]], *, config: str) -> pd.DataFrame:
    """Return rows of one configuration as a DataFrame."""
    pandas = optional_import("pandas", extra="data", purpose="A table of results")
    names = [name for name in COLUMNS if name not in _NOT_SHOWN]
    frame = pandas.DataFrame([[row.get(name) for name in names] for row in rows], columns=names)
    frame["config"] = config
    return frame.rename(columns={"commit_id": "commit"})
