"""Data frames of any library that narwhals knows: pandas, polars, pyarrow, modin."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from labelance._arrays._dense import cast_like, to_working_floats
from labelance.exceptions import InputError

# How whole numbers travel before the column's own dtype is restored.
_WHOLE = {nw.Boolean: "bool", nw.UInt64: "uint64"}


def is_frame(data: Any) -> bool:
    """Tell whether ``data`` is an eager data frame."""
    return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)


def has_categories(data: Any) -> bool:
    """Tell whether ``data`` is a data frame with categorical columns."""
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    return isinstance(frame, nw.DataFrame) and any(map(_is_nominal, frame.schema.values()))


class FrameContainer:
    """A data frame; categorical columns become codes, and come back as categories."""

    def __init__(self, native: Any, role: str) -> None:
        self.native = native
        self.frame = nw.from_native(native, eager_only=True)
        self.names: tuple[Any, ...] = tuple(self.frame.columns)
        self._library = nw.get_native_namespace(self.frame)
        dtypes = list(self.frame.schema.values())
        self.nominal = np.array([_is_nominal(dtype) for dtype in dtypes], dtype=bool)
        _refuse_words(role, self.names, dtypes, self.nominal)

    @property
    def shape(self) -> tuple[int, int]:
        return self.frame.shape

    def values(self) -> np.ndarray:
        """Return one float per cell: numbers as they are, category codes, NaN for nulls."""
        n, d = self.shape
        if self._is_plain():
            return to_working_floats(self.frame.to_numpy())
        columns = [self._column(j) for j in range(d)]
        dtype = np.result_type(np.float32, *columns) if d else np.dtype(np.float64)
        out = np.empty((n, d), dtype=dtype)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def _is_plain(self) -> bool:
        """Tell whether all columns have one numeric dtype and no nulls, so one array holds them."""
        kinds = set(self.frame.schema.values())
        if len(kinds) != 1 or not next(iter(kinds)).is_float():
            return False
        return not hasattr(self.native, "iloc") or all(
            isinstance(dtype, np.dtype) for dtype in set(self.native.dtypes)
        )

    def cells(self) -> np.ndarray:
        """Return the same; a frame's columns differ in dtype."""
        return self.values()

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return the declared words of every nominal column, in the order of their codes."""
        return {int(j): self._words(self._series(int(j))) for j in np.flatnonzero(self.nominal)}

    def _words(self, column: Any) -> tuple[str, ...]:
        return tuple(map(str, column.cat.get_categories().to_list()))

    def _column(self, j: int) -> np.ndarray:
        column = self._series(j)
        if self.nominal[j]:
            return self._codes(column)
        if column.dtype.is_float() and not column.is_null().any():
            return to_working_floats(column.to_numpy())
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)

    def _series(self, j: int) -> Any:
        return self.frame.get_column(self.names[j])

    def _codes(self, column: Any) -> np.ndarray:
        """Return the position of every value in the column's declared categories."""
        native = column.to_native()
        if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas and its likes
            codes = native.cat.codes.to_numpy().astype(np.float64)
            return np.where(codes < 0, np.nan, codes)
        cells = np.asarray(column.cast(nw.String).to_numpy(), dtype=object)
        known = ~column.is_null().to_numpy()
        codes = np.full(len(cells), np.nan)
        position = {word: code for code, word in enumerate(self._words(column))}
        distinct, inverse = np.unique(cells[known].astype(str), return_inverse=True)
        codes[known] = np.array([position[word] for word in distinct], dtype=float)[inverse]
        return codes

    def rebuild(self, rows: np.ndarray | None, new: np.ndarray | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows.

        Kept rows keep their index labels; once rows are added or repeated the index is
        numbered anew, as imbalanced-learn's over-samplers do.
        """
        kept = self.frame if rows is None else self._take(rows)
        if new is None:
            renumber = rows is not None and len(np.unique(rows)) < len(rows)
            return self._close(kept, renumber=renumber)
        columns = [self._new_column(j, new[:, j]) for j in range(self.shape[1])]
        added = columns[0].to_frame().with_columns(*columns[1:])
        return self._close(nw.concat([kept, added], how="vertical"), renumber=True)

    def _take(self, rows: np.ndarray) -> Any:
        if hasattr(self.native, "iloc"):
            return nw.from_native(self.native.iloc[rows], eager_only=True)
        return self.frame[rows.tolist()]

    def _new_column(self, j: int, values: np.ndarray) -> Any:
        column = self._series(j)
        if self.nominal[j]:
            return self._repeat_values(column, self._codes(column), values)
        return self._numbers_like(column, values)

    def _repeat_values(self, column: Any, codes: np.ndarray, wanted: np.ndarray) -> Any:
        """Take, for every wanted code, a row that has it: the exact dtype of any library."""
        codes, wanted = np.nan_to_num(codes, nan=-1.0), np.nan_to_num(wanted, nan=-1.0)
        distinct, first = np.unique(codes, return_index=True)
        rows = first[np.searchsorted(distinct, wanted)]
        return column[rows.tolist()]

    def _numbers_like(self, column: Any, values: np.ndarray) -> Any:
        if column.dtype.is_float():
            numbers, missing = values, np.zeros(len(values), dtype=bool)
        else:
            missing = np.isnan(values)
            numbers = cast_like(np.nan_to_num(values), np.dtype(_WHOLE.get(column.dtype, "int64")))
        series = nw.new_series(
            column.name, numbers, dtype=None, backend=nw.get_native_namespace(column)
        )
        if missing.any():
            known = nw.new_series("known", ~missing, backend=nw.get_native_namespace(column))
            masked = nw.when(known).then(nw.col(column.name)).alias(column.name)
            series = series.to_frame().select(masked)[column.name]
            if hasattr(self.native, "iloc"):
                return series  # pandas has floats here; the column's own dtype comes at the end
        return series.cast(column.dtype)

    def rebuild_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels as a frame with this frame's names, dtypes and index policy."""
        cells = Y.toarray()  # dense because Y came as a frame
        kinds = list(self.frame.schema.values())
        out = nw.from_numpy(cells, schema=[*map(str, self.names)], backend=self._library)
        if set(kinds) != {nw.Int8}:
            casts = [nw.col(str(name)).cast(kind) for name, kind in zip(self.names, kinds)]
            out = out.select(*casts)
        repeated = rows is not None and len(np.unique(rows)) < len(rows)
        return self._close(out, renumber=bool(added) or repeated, rows=rows)

    def _close(self, frame: Any, *, renumber: bool, rows: np.ndarray | None = None) -> Any:
        native = frame.to_native()
        if not hasattr(native, "iloc"):
            return native
        native.columns = self.native.columns
        if list(native.dtypes) != list(self.native.dtypes):
            native = native.astype(dict(zip(self.native.columns, self.native.dtypes)))
        if renumber:
            return native.reset_index(drop=True)
        if len(native.index) == len(self.native.index) and rows is None:
            native.index = self.native.index
        elif rows is not None:
            native.index = self.native.index[rows]
        return native


def _is_nominal(dtype: Any) -> bool:
    return dtype in (nw.Categorical, nw.Enum)


def _refuse_words(
    role: str, names: tuple[Any, ...], dtypes: list[Any], nominal: np.ndarray
) -> None:
    """Raise for columns that are neither numbers nor categories."""
    odd = [
        f"{name!r} ({dtype})"
        for name, dtype, is_nominal in zip(names, dtypes, nominal)
        if not (is_nominal or dtype.is_numeric() or dtype == nw.Boolean)
    ]
    if odd:
        shown = ", ".join(odd[:5]) + (f" and {len(odd) - 5} more" if len(odd) > 5 else "")
        raise InputError(
            f"Every column of {role} holds numbers, booleans or categories",
            f"these do not: {shown}",
            "Make words categorical (pandas: .astype('category'), polars: .cast(pl.Categorical)), "
            "turn dates into numbers, and make pandas sparse columns a matrix with "
            ".sparse.to_coo().tocsr()",
        )
