"""The one door: data is checked and cleaned here, and nothing behind it checks again.

Inside the library X is a C-contiguous float32 or float64 array, or a sorted CSR array, with
category codes 0, 1, … in nominal columns; Y is a CSR array of int8 ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from labelance._arrays import Table, open_table
from labelance.exceptions import (
    IndexMismatchWarning,
    InputError,
    LabelFormatError,
    MissingValuesError,
)

MissingPolicy = Literal["error", "distance", "keep"]
CategoricalFeatures = Any  # None, "auto", a boolean mask, column numbers or column names


@dataclass(frozen=True, eq=False)
class Features:
    """X behind the door."""

    X: Any
    categorical: np.ndarray
    names: tuple[Any, ...] | None
    table: Table
    decoders: dict[int, np.ndarray]

    def schema(self) -> Schema:
        """Return what is needed to open other rows alike."""
        return Schema(
            self.X.shape[1], self.categorical, self.names, self.table.categories(), self.decoders
        )

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original X (all if None) and the ``new`` clean rows under them."""
        if new is not None and self.decoders:
            new = _decode(new, self.decoders)
        return self.table.rebuild(rows, new)


@dataclass(frozen=True, eq=False)
class Schema:
    """What a learner remembers of X to open new rows alike; it holds no rows."""

    n_features: int
    categorical: np.ndarray
    names: tuple[Any, ...] | None
    categories: dict[int, tuple[str, ...]]
    decoders: dict[int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Labels:
    """Y behind the door."""

    Y: sp.csr_array
    names: tuple[Any, ...] | None
    table: Table

    def restore(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return clean labels of kept ``rows`` and ``added`` rows in the kind that came in."""
        return self.table.rebuild_labels(Y, rows, added)


@dataclass(frozen=True, eq=False)
class Data:
    """X and Y behind the door."""

    features: Features
    labels: Labels

    @property
    def X(self) -> Any:
        return self.features.X

    @property
    def Y(self) -> sp.csr_array:
        return self.labels.Y

    @property
    def categorical(self) -> np.ndarray:
        return self.features.categorical

    @property
    def n_samples(self) -> int:
        return self.labels.Y.shape[0]


def open_data(
    X: Any,
    Y: Any,
    *,
    who: str,
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
) -> Data:
    """Check and clean X and Y together."""
    features = open_features(X, who=who, categorical_features=categorical_features, missing=missing)
    labels = open_labels(Y, who=who)
    n, m = features.X.shape[0], labels.Y.shape[0]
    if n != m:
        raise InputError(
            f"{who} needs one row of labels for every row of X",
            f"X has {n} rows and Y has {m} (inconsistent numbers of samples)",
            "Select the same rows in both",
        )
    _warn_of_shuffled_index(X, Y)
    return Data(features, labels)


def _warn_of_shuffled_index(X: Any, Y: Any) -> None:
    """Warn where two pandas frames have their rows in different orders: position decides."""
    ours: Any = getattr(X, "index", None)
    theirs: Any = getattr(Y, "index", None)
    if hasattr(ours, "equals") and hasattr(theirs, "equals") and not ours.equals(theirs):
        warnings.warn(
            "X and Y have different indices. Rows are paired by their position, not by index; "
            "Y.loc[X.index] puts them in the same order.",
            IndexMismatchWarning,
            stacklevel=3,
        )


def open_features(
    X: Any,
    *,
    who: str,
    categorical_features: CategoricalFeatures = None,
    missing: MissingPolicy = "error",
) -> Features:
    """Check and clean X.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The features.
    who : str
        Whose door it is; begins the error messages.
    categorical_features : None, "auto", mask, column numbers or names
        Nominal columns. A frame's categorical columns are nominal whatever is said here.
    missing : {"error", "distance", "keep"}
        "error" refuses NaN; the others let it through.
    """
    table = open_table(X, "X")
    _refuse_empty(table.shape, who, "X")
    categorical = table.nominal | _categorical_mask(categorical_features, table)
    values = table.values()
    _refuse_infinite(values, table.names, who)
    if missing == "error":
        _refuse_missing(values, table.names, who)
    values, decoders = _encode(values, categorical & ~table.nominal)
    return Features(values, categorical, table.names, table, decoders)


def open_like(X: Any, schema: Schema, *, who: str) -> Any:
    """Return clean rows of X, coded as the rows that the schema comes from.

    A category that those rows did not have is missing (NaN).
    """
    table = open_table(X, "X")
    _refuse_empty(table.shape, who, "X")
    if table.shape[1] != schema.n_features:
        raise InputError(
            f"X has {table.shape[1]} features",
            f"{who} is expecting {schema.n_features} features as input",
            "Pass the same columns as in fit",
        )
    values = table.values()
    _refuse_infinite(values, table.names, who)
    here = table.categories()
    _refuse_lost_categories(schema, here, who)
    if schema.categories or schema.decoders:
        values = values.copy()  # it may be the caller's own array
    for j, known in schema.categories.items():
        if here[j] != known:
            values[:, j] = _translate(values[:, j], here[j], known)
    _encode_alike(values, schema.decoders)
    return values


def _refuse_lost_categories(schema: Schema, here: dict[int, tuple[str, ...]], who: str) -> None:
    lost = [j for j in schema.categories if j not in here]
    if lost:
        raise InputError(
            f"{who} was fitted on a data frame in which columns "
            f"{_column_names(lost, schema.names)} are categorical",
            "X has no categories there",
            "Pass a data frame with the same categorical columns",
        )


def _translate(codes: np.ndarray, here: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
    """Return codes of one list of categories as codes of another; NaN where it lacks the word."""
    place = {word: code for code, word in enumerate(known)}
    table = np.array([place.get(word, np.nan) for word in here] + [np.nan])
    return table[np.where(np.isnan(codes), len(here), codes).astype(int)]


def open_labels(Y: Any, *, who: str) -> Labels:
    """Check and clean Y: an (n, q) indicator of zeros and ones.

    Parameters
    ----------
    Y : array, sparse matrix or data frame of shape (n, q)
        True/False or 1/0 per row and label.
    who : str
        Whose door it is; begins the error messages.
    """
    _refuse_label_sets(Y, who)
    try:
        table = open_table(Y, "Y")
    except InputError as error:
        raise LabelFormatError(error.asked, error.came, error.fix) from None
    _refuse_empty(table.shape, who, "Y")
    if table.nominal.any():
        raise LabelFormatError(
            "Every column of Y holds zeros and ones",
            f"{int(table.nominal.sum())} of its columns are categorical",
            "Turn them into numbers first, for example (Y == 'yes').astype(int)",
        )
    cells = table.cells()
    stored = cells.data if sp.issparse(cells) else cells
    if stored.dtype.kind != "b" and not (stored == stored.astype(bool)).all():
        raise LabelFormatError(
            f"{who} needs labels that are 0 or 1 (absent or present)",
            f"Y also holds {_strange_values(stored)}",
            _label_advice(stored),
        )
    return Labels(_ones(cells), table.names, table)


def _ones(cells: Any) -> sp.csr_array:
    """Return a CSR array of int8 ones, sorted, without explicit zeros."""
    if sp.issparse(cells):
        return cells.astype(np.int8)
    present = cells.astype(bool, copy=False)
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    columns = np.nonzero(present)[1].astype(np.int32)
    data = np.ones(len(columns), dtype=np.int8)
    Y = sp.csr_array((data, columns, indptr.astype(np.int32)), shape=cells.shape)
    Y.has_sorted_indices = True
    return Y


def _label_advice(stored: np.ndarray) -> str:
    """Return what to do about cells that are neither 0 nor 1."""
    if np.isnan(stored.astype(float)).any():
        return "Say what a missing label means: drop these rows, or count it as absent (0)"
    if set(np.unique(stored)) <= {-1, 0, 1}:
        return "Turn -1 into 0: (Y > 0).astype(int)"
    return (
        "If these are features, X and Y may be swapped; if they are class numbers, make one column "
        "per class with sklearn.preprocessing.LabelBinarizer; if scores, compare with a threshold"
    )


def _strange_values(stored: np.ndarray) -> str:
    odd = np.unique(stored[(stored != 0) & (stored != 1)])
    shown = ", ".join(f"{value:g}" for value in odd[:4])
    return shown + (", …" if len(odd) > 4 else "")


def _refuse_empty(shape: tuple[int, int], who: str, role: str) -> None:
    n, d = shape
    if n == 0 or d == 0:
        thing = "sample(s)" if n == 0 else "feature(s)"
        raise InputError(
            f"{who} needs at least one row and one column in {role}",
            f"found array with 0 {thing} (shape={shape}) while a minimum of 1 is required",
            f"Check how {role} was selected",
        )


def _refuse_label_sets(Y: Any, who: str) -> None:
    """Raise for a list of label sets, a one-dimensional Y, or no Y at all, with the cure."""
    asked = f"{who} needs Y as an (n, q) table of zeros and ones"
    if Y is None:
        raise LabelFormatError(
            f"{who} requires y to be passed", "the target y is None", "Pass the labels as well"
        )
    first = next(iter(Y), None) if isinstance(Y, (list, tuple)) else None
    rows_are_sets = isinstance(first, (set, frozenset, str))
    ragged = isinstance(first, (list, tuple)) and len({len(row) for row in Y}) > 1
    words = isinstance(first, (list, tuple)) and any(isinstance(x, str) for row in Y for x in row)
    if rows_are_sets or ragged or words:
        raise LabelFormatError(
            asked,
            "Y is a list of label sets" if not isinstance(first, str) else "Y is a list of words",
            "Make it a table: sklearn.preprocessing.MultiLabelBinarizer().fit_transform(Y), where "
            'every row of Y is a list of labels (split words such as "a,b" first)',
        )
    if (not sp.issparse(Y) and getattr(Y, "ndim", None) == 1) or _is_flat(Y):
        raise LabelFormatError(
            asked,
            f"Y has one dimension{_kind_of(Y)}",
            "Only binary classification is supported, label by label: for a single 0/1 label use "
            "Y.reshape(-1, 1), or Y.to_frame() for a Series; for classes use "
            "sklearn.preprocessing.LabelBinarizer, or imbalanced-learn's samplers",
        )


def _kind_of(Y: Any) -> str:
    """Return scikit-learn's word for a flat target, where it has one."""
    try:
        return f" and is {type_of_target(Y)}"
    except ValueError:  # missing values
        return ""


def _is_flat(Y: Any) -> bool:
    if isinstance(Y, (list, tuple)) and Y:
        return bool(np.isscalar(Y[0]))
    return type(Y).__name__ == "Series"


def _column_names(columns: Iterable[int], names: tuple[Any, ...] | None) -> str:
    columns = list(columns)
    shown = [repr(names[j]) if names else str(j) for j in columns[:5]]
    return ", ".join(shown) + (f" and {len(columns) - 5} more" if len(columns) > 5 else "")


def _columns_where(values: Any, test: Any) -> np.ndarray:
    """Return the columns with a cell for which ``test`` is true; fast when there is none."""
    stored = values.data if sp.issparse(values) else values
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(stored.sum(dtype=np.float64)):
            return np.empty(0, dtype=int)
    if sp.issparse(values):
        return np.unique(values.indices[test(stored)])
    return np.flatnonzero(test(stored).any(axis=0))


def _refuse_infinite(values: Any, names: tuple[Any, ...] | None, who: str) -> None:
    columns = _columns_where(values, np.isinf)
    if len(columns):
        raise InputError(
            f"{who} needs finite numbers in X",
            f"X has infinity (inf) in columns {_column_names(columns, names)}",
            "Replace it by the largest sensible value, or drop these rows",
        )


def _refuse_missing(values: Any, names: tuple[Any, ...] | None, who: str) -> None:
    columns = _columns_where(values, np.isnan)
    if len(columns):
        raise MissingValuesError(
            f"{who} needs known values in X",
            f"X has missing values (NaN) in columns {_column_names(columns, names)}",
            "Fill them (sklearn.impute.SimpleImputer), drop these rows, or pass "
            'missing="distance" where the method has that parameter',
        )


def _categorical_mask(wanted: CategoricalFeatures, table: Table) -> np.ndarray:
    """Return the boolean mask of the columns that ``categorical_features`` names."""
    d = table.shape[1]
    if wanted is None or (isinstance(wanted, str) and wanted == "auto"):
        return np.zeros(d, dtype=bool)
    listed = np.atleast_1d(np.asarray(wanted))
    if listed.size == 0:
        return np.zeros(d, dtype=bool)
    if listed.dtype.kind == "b":
        return _checked_mask(listed, d)
    if listed.dtype.kind in "iu":
        return _mask_of_numbers(listed, d)
    return _mask_of_names(listed, table.names, d)


def _checked_mask(mask: np.ndarray, d: int) -> np.ndarray:
    if mask.shape != (d,):
        raise InputError(
            "categorical_features as a mask has one entry for every column of X",
            f"the mask has shape {mask.shape} and X has {d} columns",
            "Pass column numbers or names instead, or a mask of the right length",
        )
    return mask


def _mask_of_numbers(numbers: np.ndarray, d: int) -> np.ndarray:
    outside = numbers[(numbers < -d) | (numbers >= d)]
    if len(outside):
        raise InputError(
            f"categorical_features numbers columns of X from 0 to {d - 1}",
            f"it has {', '.join(map(str, outside[:5]))}",
            "Correct the numbers, or pass column names",
        )
    mask = np.zeros(d, dtype=bool)
    mask[numbers] = True
    return mask


def _mask_of_names(wanted: np.ndarray, names: tuple[Any, ...] | None, d: int) -> np.ndarray:
    if names is None:
        raise InputError(
            "categorical_features may name columns when X is a data frame",
            "X has no column names",
            "Pass column numbers or a boolean mask",
        )
    unknown = [name for name in wanted if name not in names]
    if unknown:
        raise InputError(
            "categorical_features names columns of X",
            f"X has no column {_column_names(range(len(unknown)), tuple(unknown))}",
            "Correct the names, or leave out what is not in X",
        )
    return np.isin(np.asarray(names, dtype=object), wanted)


def _encode(values: Any, nominal: np.ndarray) -> tuple[Any, dict[int, np.ndarray]]:
    """Replace the numbers in nominal columns by codes 0, 1, …; most are 0/1 already."""
    columns = _columns_to_encode(values, nominal)
    if len(columns) == 0:
        return values, {}
    values = values.copy()
    stored = _stored(values)
    decoders = {}
    for j, cells in _cells_by_column(values, columns):
        distinct = np.unique(stored[cells][~np.isnan(stored[cells])])
        if sp.issparse(values):  # what is not stored is 0 and has code 0
            distinct = np.concatenate([[0.0], distinct[distinct != 0]]).astype(stored.dtype)
        stored[cells] = _codes_in(distinct, stored[cells])
        decoders[j] = distinct
    return values, decoders


def _encode_alike(values: Any, decoders: dict[int, np.ndarray]) -> None:
    """Replace numbers by the codes that they had before; NaN for numbers that are new."""
    stored = _stored(values)
    for j, cells in _cells_by_column(values, np.array(sorted(decoders), dtype=int)):
        stored[cells] = _codes_in(decoders[j], stored[cells])


def _decode(new: Any, decoders: dict[int, np.ndarray]) -> Any:
    """Replace codes in new clean rows by the values they stand for."""
    new = new.copy()
    stored = _stored(new)
    for j, cells in _cells_by_column(new, np.array(sorted(decoders), dtype=int)):
        stored[cells] = _look_up(decoders[j], stored[cells])
    return new


def _columns_to_encode(values: Any, nominal: np.ndarray) -> np.ndarray:
    """Return the nominal columns that hold anything but 0 and 1."""
    if not nominal.any():
        return np.empty(0, dtype=int)
    if sp.issparse(values):
        other = np.unique(values.indices[values.data != 1])
        return other[nominal[other]]
    listed = np.flatnonzero(nominal)
    cells = values if nominal.all() else values[:, listed]
    return listed[~((cells == 0) | (cells == 1)).all(axis=0)]


def _stored(values: Any) -> np.ndarray:
    return values.data if sp.issparse(values) else values


def _cells_by_column(values: Any, columns: np.ndarray) -> Iterator[tuple[int, Any]]:
    """Give each column and where its cells are stored; one sort serves all columns."""
    if not sp.issparse(values):
        yield from ((int(j), (slice(None), int(j))) for j in columns)
        return
    order = np.argsort(values.indices, kind="stable")
    by_column = values.indices[order]
    starts = np.searchsorted(by_column, columns, side="left")
    stops = np.searchsorted(by_column, columns, side="right")
    for j, start, stop in zip(columns, starts, stops):
        yield int(j), order[start:stop]


def _codes_in(distinct: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return the places of numbers in ``distinct``; NaN for those it lacks."""
    if not len(distinct):
        return np.full(len(numbers), np.nan)
    order = np.argsort(distinct)
    places = np.searchsorted(distinct, numbers, sorter=order).clip(max=len(distinct) - 1)
    codes = order[places]
    return np.where(distinct[codes] == numbers, codes, np.nan)


def _look_up(distinct: np.ndarray, codes: np.ndarray) -> np.ndarray:
    known = ~np.isnan(codes)
    out = np.full(len(codes), np.nan, dtype=distinct.dtype)
    out[known] = distinct[codes[known].astype(int)]
    return out
