"""Columns that may hold more than numbers: texts, vectors, dates, ids; and which they are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time, timedelta
from numbers import Number
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError

from labelance._arrays._containers import is_dask, is_tensor, open_frame
from labelance._arrays._open import take_columns
from labelance._arrays._words import Words, are_row_numbers, find_kind, is_missing

# What cells are, row by row.
Form = Literal["words", "vectors", "numbers", "dates", "missing", "other"]
# What columns are for; the words of many rows tell texts, ids and categories apart.
Kind = Literal["text", "embedding", "table", "index", "id", "date", "empty"]

# Why columns are left out.
REASONS: dict[Kind, str] = {
    "id": "most rows have a string of their own, as ids have",
    "index": "it numbers the rows, as ids and an index do",
    "date": "it holds dates or times",
    "empty": "it has no values",
}
_KINDS: dict[Words, Kind] = {
    "text": "text", "id": "id", "date": "date", "category": "table", "number": "table"
}  # fmt: skip
_CATEGORIES = (nw.Categorical, nw.Enum)
_VECTORS = (nw.List, nw.Array)
_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)


def open_source(X: Any, *, single: bool = False) -> Source | None:
    """Return the columns of a data frame, or one column of texts or vectors; None for others.

    Parameters
    ----------
    X : object
        What a user gave as X.
    single : bool
        Whether a single column is expected, so that one of missing values alone is one, too.
    """
    if sp.issparse(X) or is_tensor(X) or is_dask(X) or isinstance(X, (str, bytes, dict)):
        return None
    if isinstance(X, np.ndarray):
        is_column = X.dtype.kind in "OUT" and (X.ndim == 1 or X.shape[1:] == (1,))
        return _open_cells(X.ravel().tolist(), single) if is_column else None
    if isinstance(X, (list, tuple)):
        rows = all(isinstance(row, (list, tuple)) and len(row) == 1 for row in X)
        cells = [row[0] for row in X] if rows else X
        found = _open_cells(cells, single)
        return None if found is not None and found.names == ["embedding"] else found
    try:
        native = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    except DuplicateError:  # a frame whose columns share names; opening it raises
        return FrameSource(X)
    if isinstance(native, nw.Series):
        return _open_cells(native.to_list(), single)
    return FrameSource(X) if isinstance(native, nw.DataFrame) else None


def _open_cells(cells: Sequence[Any], single: bool) -> SingleSource | None:
    """Return a column of texts or vectors; None for others, such as numbers."""
    form = _find_form(cells)
    missing = form == "missing" and (single or any(cell is None for cell in cells))
    if form == "words" or missing:
        return SingleSource(cells, "text")
    return SingleSource(cells, "embedding") if form == "vectors" else None


class SingleSource:
    """A column of texts or vectors without a name; it is called what it holds."""

    is_single = True

    def __init__(self, cells: Sequence[Any], kind: Kind) -> None:
        self._cells, self._kind = cells, kind
        self.names: list[Any] = [kind]
        self.shape = (len(cells), 1)

    def form(self, name: Any) -> Form:
        """Return what the cells are."""
        return _find_form(self._cells)

    def find_kind(self, name: Any) -> Kind:
        """Return what the column is for: texts given as X are never ids or categories."""
        return self._kind

    def is_empty(self, name: Any) -> bool:
        """Tell whether all cells are missing."""
        return self.form(name) == "missing"

    def cells(self, name: Any) -> Sequence[Any]:
        """Return the values."""
        return self._cells

    def take(self, names: Sequence[Any]) -> Any:
        """Raise: there is no table."""
        raise TypeError("a single column has no other columns")


class FrameSource:
    """The columns of a data frame of any library."""

    is_single = False

    def __init__(self, native: Any) -> None:
        self._native = native
        self._frame = open_frame(native, "X")
        self._forms: dict[Any, Form] = {}

    @property
    def names(self) -> list[Any]:
        """The column names, in order."""
        return list(self._frame.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._frame.shape

    def form(self, name: Any) -> Form:
        """Return what the cells of a column are."""
        if name not in self._forms:
            self._forms[name] = self._find_form(self._series(name))
        return self._forms[name]

    def find_kind(self, name: Any) -> Kind:
        """Return what a column is for; what is declared categorical is of the table."""
        column, form = self._series(name), self.form(name)
        if form == "vectors":
            return "embedding"
        if form == "dates":
            return "date"
        if form == "numbers" and column.dtype.is_numeric() and not column.is_null().any():
            return "index" if are_row_numbers(column.to_numpy()) else "table"
        if form == "missing":
            return "empty"
        if form != "words" or column.dtype in _CATEGORIES:
            return "table"
        strings = {str(cell) for cell in self._distinct(column) if not is_missing(cell)}
        return _KINDS[find_kind(strings - {""}, len(column))]

    def is_empty(self, name: Any) -> bool:
        """Tell whether all cells of a column are missing."""
        return bool(self._series(name).is_null().all())

    def cells(self, name: Any) -> Sequence[Any]:
        """Return the values of a column as Python has them, vectors as arrays or lists."""
        column = self._series(name)
        return list(column.to_numpy()) if column.dtype in _VECTORS else column.to_list()

    def take(self, names: Sequence[Any]) -> Any:
        """Return some of the columns as a data frame of the same library."""
        places = {name: j for j, name in enumerate(self.names)}
        return take_columns(self._native, np.array([places[name] for name in names], dtype=int))

    def _series(self, name: Any) -> Any:
        return self._frame.get_column(name)

    @staticmethod
    def _find_form(column: Any) -> Form:
        dtype = column.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            return "numbers"
        if dtype.is_temporal():
            return "dates"
        if column.is_null().all():
            return "missing"
        if dtype in _VECTORS:
            return "vectors" if dtype.inner.is_numeric() else "other"
        if _holds_objects(column):
            return _find_form(column.to_list())
        return "words" if dtype == nw.String or dtype in _CATEGORIES else "other"

    @staticmethod
    def _distinct(column: Any) -> Sequence[Any]:
        return column.to_list() if _holds_objects(column) else column.unique().to_list()


Source = SingleSource | FrameSource


def _holds_objects(column: Any) -> bool:
    """Tell whether a column may hold values of any type, whatever its first ones are."""
    return column.dtype == nw.Object or getattr(column.to_native(), "dtype", None) == np.dtype("O")


def _find_form(cells: Sequence[Any]) -> Form:
    """Return what the values of a column are, missing ones left out."""
    types = {type(cell) for cell in cells if not is_missing(cell)}
    if not types:
        return "missing"
    if all(issubclass(one, (list, tuple, np.ndarray)) for one in types):
        first = next(cell for cell in cells if not is_missing(cell))
        is_vector = np.ndim(first) == 1 and np.asarray(first).dtype.kind in "biuf"
        return "vectors" if is_vector else "other"
    if all(issubclass(one, _DATES) for one in types):
        return "dates"
    if all(issubclass(one, (Number, np.bool_)) for one in types):
        return "numbers"
    return "words" if all(issubclass(one, (str, Number)) for one in types) else "other"
