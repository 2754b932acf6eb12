"""Validate tables of scores and of p values, and name their rows and columns."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.dependencies import get_pandas, is_pandas_dataframe
from numpy.typing import ArrayLike, NDArray

from labelance.exceptions import InputError

Floats = NDArray[np.float64]
# An array, or a data frame of any library that narwhals knows.
Table = Any


class Methods(NamedTuple):
    """The names of the compared methods, and the table that was given.

    ``vector`` takes one value per method, and returns a Series for pandas, else an array;
    ``matrix`` takes one per pair of methods, and returns the kind of table that was given.
    """

    names: tuple[str, ...]
    given: Table

    def vector(self, values: NDArray) -> Any:
        if not is_pandas_dataframe(self.given):
            return values
        return get_pandas().Series(values, index=list(self.names))

    def matrix(self, values: NDArray) -> Any:
        names = list(self.names)
        if is_pandas_dataframe(self.given):
            return get_pandas().DataFrame(values, index=names, columns=names)
        frame = nw.from_native(self.given, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return values
        columns = dict(zip(names, values.T))
        return nw.from_dict(columns, backend=frame.implementation).to_native()


def open_scores(
    scores: Table, *, methods: Sequence[str] | None = None, higher_is_better: bool = True
) -> tuple[Floats, Methods]:
    """Check a table of scores of data sets (rows) and methods; make higher scores better."""
    values, columns, rows = _read(scores, "scores")
    n_datasets, n_methods = values.shape
    if n_datasets < 2 or n_methods < 2:
        raise InputError(
            "A comparison needs scores of at least 2 data sets (rows) and 2 methods (columns)",
            f"The table has {n_datasets} row(s) and {n_methods} column(s)",
        )
    names = _names(columns if methods is None else methods, n_methods)
    bad = np.argwhere(~np.isfinite(values))
    if bad.size:
        row, column = bad[0]
        raise InputError(
            "A comparison needs the score of every method on every data set",
            f"Row {rows[row]!r} has {values[row, column]} for method {names[column]!r}",
        )
    return values if higher_is_better else -values, Methods(names, scores)


def open_p_values(p_matrix: Table) -> tuple[Floats, Methods]:
    """Check a symmetric matrix of p values; its diagonal may hold anything."""
    values, columns, rows = _read(p_matrix, "p values")
    size = len(values)
    if size < 2 or values.shape != (size, size):
        problem = "p values of all pairs of k methods must be a k x k matrix with k >= 2"
        raise InputError(problem, f"Got a matrix of shape {values.shape}")
    if columns is not None and is_pandas_dataframe(p_matrix) and rows != columns:
        problem = "Rows and columns of the p values must name the same methods in the same order"
        raise InputError(problem, f"The rows are {rows}, and the columns {columns}")
    apart = ~np.eye(size, dtype=bool)
    valid = (values >= 0) & (values <= 1) & (np.abs(values - values.T) <= 1e-12)
    if not valid[apart].all():
        a, b = np.argwhere(apart & ~valid)[0]
        found = f"Those of ({a}, {b}) and ({b}, {a}) are {values[a, b]} and {values[b, a]}"
        raise InputError("p values must be in [0, 1], and equal for (a, b) and (b, a)", found)
    return values, Methods(_names(columns, size), p_matrix)


def pair_values(matrix: NDArray) -> NDArray:
    """Return the values above the diagonal: pairs (0, 1), (0, 2), ..."""
    return matrix[np.triu_indices(len(matrix), 1)]


def square(above: ArrayLike, n_methods: int, *, below: ArrayLike, diagonal: float) -> NDArray:
    """Lay out values of pairs (a, b), and those of (b, a), as a matrix; undo `pair_values`."""
    above = np.asarray(above)
    matrix = np.full((n_methods, n_methods), diagonal, dtype=above.dtype)
    a, b = np.triu_indices(n_methods, 1)
    matrix[a, b] = above
    matrix[b, a] = below
    return matrix


def _read(table: Table, what: str) -> tuple[Floats, Sequence[Any] | None, Sequence[Any]]:
    """Values, names of the columns (None for an array) and names of the rows."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    columns = list(frame.columns) if isinstance(frame, nw.DataFrame) else None
    try:
        values = np.array(table if columns is None else frame.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        found = f"Converting it failed ({error})"
        raise InputError(f"A table of {what} must hold numbers only", found) from error
    if values.ndim != 2:
        found = f"Got an array with {values.ndim} dimension(s)"
        raise InputError(f"A table of {what} must have rows and columns", found)
    rows = list(table.index) if is_pandas_dataframe(table) else range(len(values))
    return values, columns, rows


def _names(columns: Sequence[Any] | None, n_methods: int) -> tuple[str, ...]:
    if columns is None:
        return tuple(f"method_{column}" for column in range(n_methods))
    names = tuple(str(column) for column in columns)
    if len(names) != n_methods or len(set(names)) != n_methods:
        problem = f"Each of the {n_methods} columns must have its own method name"
        raise InputError(problem, f"The names are {list(names)}")
    return names
