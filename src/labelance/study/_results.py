"""Results as a tidy table."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from labelance._optional import optional_import
from labelance.study._store import COLUMNS, Store
from labelance.study._study import Study

if TYPE_CHECKING:
    import pandas as pd

# The labels' own figures stay in the store; "config" in a table is that of the whole study.
_NOT_SHOWN = ("labels", "config", "runner")


def read_results(study: Study, store: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the cells of a study, one row each, in the order of its plan."""
    pandas = optional_import("pandas", extra="data", purpose="A table of results")
    rows = Store(store, must_exist=True).rows(study)
    names = [name for name in COLUMNS if name not in _NOT_SHOWN]
    frame = pandas.DataFrame([[row[name] for name in names] for row in rows], columns=names)
    frame["config"] = study.hash
    return frame.rename(columns={"commit_id": "commit"})


def versions_of(row: dict[str, str]) -> dict[str, str]:
    """Return the versions of the packages that computed a row."""
    return json.loads(row["versions"])
