"""What X is: a table, or columns of texts, vectors, ids and dates next to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labelance._arrays._mixed import open_source
from labelance._arrays._open import take_columns, take_rows
from labelance._arrays._words import is_missing
from labelance._classifier import hands_on_rows, why_all_known
from labelance._validation._column_groups import ColumnGroups
from labelance._validation._data import Data, validate_data
from labelance.exceptions import LabelanceError

_MOST_READ = 10_000  # rows that tell what columns are


class Rows(NamedTuple):
    """Clean rows, how texts and vectors were read, and code that makes such rows of the user's."""

    data: Data
    groups: ColumnGroups | None = None  # None: X is a table, or the user's estimator reads it
    read_as: str = ""
    code: str = ""


def open_rows(X: Any, y: Any, estimator: Any) -> Rows:
    options: dict[str, Any] = {"caller": "advise", "missing": "keep"}
    options["needs_all"] = None if estimator is None else why_all_known(estimator)
    hands_on = estimator is None or hands_on_rows(estimator)
    data = validate_data(X, y, **options, hands_on=hands_on)
    if not data.features.only_rows:
        return Rows(data)
    some = np.unique(np.linspace(0, data.n_samples - 1, _MOST_READ).astype(int))
    try:
        groups, _ = ColumnGroups.fit(take_rows(X, some), caller="advise")
    except LabelanceError:
        if estimator is None:
            raise
        return Rows(data)
    if estimator is not None:
        return Rows(data, groups if groups.columns else None, groups.summary())
    if groups.columns:
        X, code = _fill_texts(X, groups)
        data = validate_data(X, y, **options, hands_on=True) if code else data
        return Rows(data, groups, groups.summary(), code)
    left_out = list(groups.omitted)  # ids and dates next to a table
    kept = [j for j, name in enumerate(data.features.names or ()) if name not in left_out]
    data = validate_data(take_columns(X, np.array(kept)) if left_out else X, y, **options)
    method = f"drop(columns={left_out})" if hasattr(X, "iloc") else f"drop({left_out})"
    return Rows(data, None, groups.summary(), f"X = X.{method}\n" if left_out else "")


def _fill_texts(X: Any, groups: ColumnGroups) -> tuple[Any, str]:
    """Return X with empty texts where they are missing, as TF-IDF needs them, and the code."""
    source = open_source(X, single=groups.single)
    assert source is not None
    if groups.single:
        cells = source.cells(source.names[0])
        if "text" not in groups.columns or not any(map(is_missing, cells)):
            return X, ""
        filled = ["" if is_missing(text) else text for text in cells]
        return filled, 'X = [text if isinstance(text, str) else "" for text in X]\n'
    texts = [name for name, column in groups.columns.items() if column.kind == "text"]
    holes = [name for name in texts if any(map(is_missing, source.cells(name)))]
    if not holes:
        return X, ""
    if hasattr(X, "iloc"):
        values = dict.fromkeys(holes, "")
        return X.fillna(values), f"X = X.fillna({values})\n"
    return X.fill_null(""), "X = X.fill_null('')\n"
