"""A container for each kind of table in the computer's own memory: arrays, sparse matrices, frames.

`_open` chooses among them.

Clean dense values are C-contiguous floats, clean sparse ones always a canonical CSR array. Frames
may be of any library that narwhals knows: pandas, polars, pyarrow, modin. Tensors and Dask
collections are only distinguished here; what they need is in ``_torch`` and ``_dask``.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError

from labelance._arrays._memory import row_blocks
from labelance._arrays._sparse import narrow_indices
from labelance._arrays._words import find_kind, is_free_text, text_error
from labelance._utils._messages import show_names
from labelance.exceptions import ContainerError, InputError

_GROWTH = 8  # rows of a table may be taken, or made of it, with this many times its cells
# How integers travel before the column's own dtype is restored.
_WHOLE = {nw.Boolean: "bool", nw.UInt64: "uint64"}
# Strings are nominal unless they are ids or free text; objects, only if the user says so.
_WORDS = (nw.String, nw.Object)
Nominal = Callable[[Any], np.ndarray]
# What clean rows are: an array, a CSR array, a tensor on a device, or blocks that Dask computes.
Kind = Literal["dense", "sparse", "device", "blocks"]
HOST_DEVICES = {"cpu"}  # devices of torch whose memory numpy can read


def is_tensor(data: Any) -> bool:
    """Return True for a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(data, torch.Tensor)


def on_device(data: Any) -> bool:
    """Tell whether ``data`` is a tensor outside the computer's own memory."""
    return is_tensor(data) and data.device.type not in HOST_DEVICES


def is_dask(data: Any) -> bool:
    """Tell whether ``data`` is a collection of Dask, which is imported where it was made."""
    return type(data).__module__.partition(".")[0] == "dask"


def check_no_delayed(data: Any, role: str) -> None:
    """Raise for a Delayed, which has attributes of all names and would be taken for any table."""
    if type(data).__module__ == "dask.delayed":
        raise ContainerError(
            f"{role} must be a Dask array or data frame with known columns",
            f"{role} is a Delayed, which can hold anything",
            f"Declare its type: dask.array.from_delayed({role}, shape, dtype), "
            f"dask.dataframe.from_delayed({role})",
        )


def is_blocks(X: Any) -> bool:
    """Tell whether clean rows are in blocks that Dask computes."""
    # Of the class: a frame may have a column of this name.
    return getattr(type(X), "kind", None) == "blocks"


def advise_shape(n_dimensions: int, role: str) -> str:
    """Return how to make a table of an array that has not two dimensions."""
    if n_dimensions > 2:
        return f"Flatten each row: {role}.reshape(len({role}), -1)"
    return (
        f"Reshape your data: {role}.reshape(-1, 1) if it has a single column, "
        f"{role}.reshape(1, -1) if it is a single row"
    )


def to_working_floats(values: np.ndarray) -> np.ndarray:
    """Return C-contiguous float32 (if it was float32 or shorter) or float64 values."""
    short = values.dtype in (np.float32, np.float16)
    dtype = np.dtype(np.float32 if short else np.float64)
    return np.ascontiguousarray(values, dtype)


def cast_like(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast floats to ``dtype``; whole-number types take the nearest integer.

    A number between two integers stays between them when rounded, so a synthetic value
    keeps lying between its parents.
    """
    if dtype.kind in "iub":
        values = np.rint(values)
    return values.astype(dtype, copy=False)


def rows_below(X: np.ndarray, n_new: int) -> np.ndarray:
    """Return an array for new rows that has room for the rows of X above them.

    `join_rows` then needs no third array. Memory that is never written to takes none.
    """
    return np.empty((len(X) + n_new, *X.shape[1:]), X.dtype)[len(X) :]


def join_rows(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return ``bottom`` under ``top``: in the array that has room for both, if there is one.

    Joining the same rows twice gives one result twice.
    """
    whole = bottom.base
    if (
        not isinstance(whole, np.ndarray)
        or whole.shape != (len(top) + len(bottom), *top.shape[1:])
        or not (top.dtype == bottom.dtype == whole.dtype and top.flags.c_contiguous)
        or whole[len(top) :].__array_interface__ != bottom.__array_interface__
    ):
        return np.concatenate([top, bottom])
    whole[: len(top)] = top
    return whole


def join_sparse_rows(top: sp.csr_array, bottom: SparseRows) -> sp.csr_array:
    """Do so with CSR rows, whose arrays may have room for both."""
    data, indices = join_rows(top.data, bottom.data), join_rows(top.indices, bottom.indices)
    short = len(data) < 2**31
    whole = np.result_type(top.indptr, bottom.indptr, indices) if short else np.dtype(np.int64)
    indptr = np.append(top.indptr, bottom.indptr[1:].astype(whole) + top.indptr[-1])
    cells = data, indices.astype(whole, copy=False), indptr
    return sp.csr_array(cells, shape=(len(indptr) - 1, top.shape[1]))


class PlainContainer:
    """A table of numbers, whose columns have neither names nor categories."""

    names: tuple[Any, ...] | None = None

    def __init__(self, native: Any) -> None:
        self.native = native
        self.nominal = np.zeros(self.shape[1], dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return tuple(self.native.shape)

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return nothing: numbers have no words."""
        return {}


class DenseContainer(PlainContainer):
    """A two-dimensional array; ``as_list`` for nested lists, which come back as lists."""

    kind: Kind = "dense"

    def __init__(self, native: np.ndarray, *, as_list: bool = False) -> None:
        super().__init__(native)
        self.as_list = as_list

    def clean(self) -> np.ndarray:
        """Return the cells as working floats."""
        return to_working_floats(self.native)

    def raw(self) -> np.ndarray:
        """Return the cells as given; labels need no floats."""
        return self.native

    def restore(self, rows: np.ndarray | None, new: np.ndarray | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        if rows is None and new is not None:
            return self._close(join_rows(self.native, cast_like(new, self.native.dtype)))
        kept = self.native.copy() if rows is None else self.native[rows]
        if new is not None:
            kept = np.concatenate([kept, cast_like(new, self.native.dtype)])
        return self._close(kept)

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this container's kind; the row numbers matter to frames only."""
        return self._close(Y.toarray().astype(self.native.dtype))  # dense because Y was given dense

    def _close(self, out: np.ndarray) -> Any:
        return out.tolist() if self.as_list else out


class SparseContainer(PlainContainer):
    """A sparse matrix or array; the same class and format come back."""

    kind: Kind = "sparse"

    def clean(self) -> sp.csr_array:
        """Return sorted CSR floats without duplicates or explicit zeros, of narrow indices."""
        short = self.native.dtype in (np.float32, np.float16)
        rows = sp.csr_array(self.native, dtype=np.float32 if short else np.float64)
        return narrow_indices(_canonical(rows), growth=_GROWTH)

    def raw(self) -> sp.csr_array:
        """Return the same without a change of dtype; labels need no floats."""
        narrow = narrow_indices(_canonical(sp.csr_array(self.native)), growth=_GROWTH)
        return keep_device(narrow, self.native)

    def restore(self, rows: np.ndarray | None, new: sp.csr_array | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        kept = sp.csr_array(self.native)
        if rows is not None:
            kept = kept[rows]
        elif new is None:
            kept = kept.copy()
        if new is not None:
            data = cast_like(new.data, self.native.dtype)
            below = SparseRows(data, new.indices, new.indptr)
            kept = join_sparse_rows(narrow_indices(kept, growth=_GROWTH), below)
        return self._close(kept)

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels in this container's kind."""
        # Rows that were added made a new Y; without them it may be one that others have.
        return self._close(Y.astype(self.native.dtype, copy=not added))

    def _close(self, out: sp.csr_array) -> Any:
        if isinstance(self.native, sp.spmatrix):
            out = sp.csr_matrix(out)
        return out.asformat(self.native.format)


def _canonical(matrix: sp.csr_array) -> sp.csr_array:
    """Return the matrix sorted, without duplicates and explicit zeros; the input stays as it is."""
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def is_frame(data: Any) -> bool:
    """Tell whether ``data`` is an eager data frame."""
    try:
        return isinstance(nw.from_native(data, eager_only=True, pass_through=True), nw.DataFrame)
    except DuplicateError:  # a frame whose columns share names; opening it raises
        return True


def has_categories(data: Any) -> bool:
    """Tell whether ``data`` is a data frame with columns of categories or strings."""
    if not is_frame(data):
        return False
    dtypes = open_frame(data, "X").schema.values()
    return any(_is_nominal(dtype) or dtype == nw.String for dtype in dtypes)


def open_frame(native: Any, role: str) -> Any:
    """Wrap a data frame; refuse columns whose names read alike, such as 1 and "1"."""
    try:
        frame = nw.from_native(native, eager_only=True)
        names = list(frame.columns)
    except DuplicateError:
        names = list(native.columns)
    repeated = [name for name, times in Counter(map(str, names)).items() if times > 1]
    if repeated:
        raise InputError(
            f"The columns of {role} must have different names",
            f"Repeated names: {show_names(repeated, 5)}",
            f"Rename the columns, for example {role}.columns = range({role}.shape[1])",
        )
    if role == "X":
        _check_no_mixed_names(names)
    return frame


def _check_no_mixed_names(names: list[Any]) -> None:
    """Raise as scikit-learn does, which takes names that are all strings, or that are none."""
    other = [name for name in names if not isinstance(name, str)]
    if 0 < len(other) < len(names):
        raise ContainerError(
            "The column names of X must all be strings, or none of them",
            f"{other[0]!r} is of type {type(other[0]).__name__}, and others are strings",
            "Convert all of them to strings: X.columns = X.columns.astype(str)",
        )


class FrameContainer:
    """A data frame; categorical columns become codes, and come back as categories.

    So do columns of X that hold few different strings, coded in alphabetical order; ``nominal``
    says which others with strings or objects are nominal, too.
    """

    kind: Kind = "dense"

    def __init__(self, native: Any, role: str, nominal: Nominal | None = None) -> None:
        self.native = native
        self.frame = open_frame(native, role)
        self.names: tuple[Any, ...] = tuple(self.frame.columns)
        self._library = nw.get_native_namespace(self.frame)
        dtypes = list(self.frame.schema.values())
        self.nominal = np.array([_is_nominal(dtype) for dtype in dtypes], dtype=bool)
        if nominal is not None and not self.nominal.all():
            self.nominal |= nominal(self) & np.array([dtype in _WORDS for dtype in dtypes])
        if role == "X":
            self._take_strings(dtypes)
        _check_no_words(role, self.frame, dtypes, self.nominal)

    def _take_strings(self, dtypes: list[Any]) -> None:
        """Make columns of few different strings nominal; raise for ids and free text."""
        wrong = None
        for j, dtype in enumerate(dtypes):
            if dtype != nw.String or self.nominal[j]:
                continue
            strings = self._series(j).drop_nulls()
            n_strings = strings.n_unique()
            self.nominal[j] = not is_free_text(n_strings, len(self.frame))
            if self.nominal[j]:
                continue
            found = f"{n_strings:,} different strings in {len(self.frame):,} rows"
            kind = find_kind(strings.unique().to_list(), len(self.frame))
            if kind == "text":
                raise text_error(self.names[j], found=f"It has {found}")
            wrong = wrong or InputError(
                "A string column of X must hold categories that rows share",
                f"{self.names[j]!r} has {found}, like an ID",
                "They are numbers: convert them to floats"
                if kind == "number"
                else "Drop it, or encode it as numbers; if it is categorical, make it so (pandas: "
                ".astype('category'), polars: .cast(pl.Categorical))",
            )
        if wrong is not None:  # a text says more than an id
            raise wrong

    @property
    def shape(self) -> tuple[int, int]:
        return self.frame.shape

    def clean(self) -> np.ndarray:
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

    def raw(self) -> np.ndarray:
        """Return the same; a frame's columns differ in dtype."""
        return self.clean()

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return the declared words of every nominal column, in the order of their codes."""
        return {int(j): self._words(self._series(int(j))) for j in np.flatnonzero(self.nominal)}

    def _words(self, column: Any) -> tuple[str, ...]:
        if column.dtype in _WORDS:
            return tuple(sorted(column.drop_nulls().cast(nw.String).unique().to_list()))
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
        if _is_nominal(column.dtype) and hasattr(native, "iloc"):  # pandas and its likes
            codes = native.cat.codes.to_numpy().astype(np.float64)
            return np.where(codes < 0, np.nan, codes)
        cells = np.asarray(column.cast(nw.String).to_numpy(), dtype=object)
        known = ~column.is_null().to_numpy()
        codes = np.full(len(cells), np.nan)
        position = {word: code for code, word in enumerate(self._words(column))}
        distinct, inverse = np.unique(cells[known].astype(str), return_inverse=True)
        codes[known] = np.array([position[word] for word in distinct], dtype=float)[inverse]
        return codes

    def restore(self, rows: np.ndarray | None, new: np.ndarray | None) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows.

        Kept rows keep their index labels; once rows are added or repeated the index is
        numbered again, as imbalanced-learn's over-samplers do.
        """
        kept = self.frame if rows is None else self._take(rows)
        if new is None:
            kept = kept.clone() if rows is None else kept
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

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return 0/1 labels as a frame with this frame's names, dtypes and index policy."""
        cells = Y.toarray()  # dense because Y was given as a frame
        kinds = list(self.frame.schema.values())
        if cells.dtype.kind == "f":  # some are unknown
            columns = [self._new_column(j, cells[:, j]) for j in range(self.shape[1])]
            out = columns[0].to_frame().with_columns(*columns[1:])
        else:
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


def _check_no_words(role: str, frame: Any, dtypes: list[Any], nominal: np.ndarray) -> None:
    """Raise for columns that are neither numbers nor categories."""
    wrong = {
        name: dtype
        for name, dtype, is_nominal in zip(frame.columns, dtypes, nominal)
        if not (is_nominal or dtype.is_numeric() or dtype == nw.Boolean)
    }
    if not wrong:
        return
    # polars and pyarrow have a type for columns without values.
    empty = [
        name
        for name, dtype in wrong.items()
        if dtype == nw.Unknown and frame.get_column(name).is_null().all()
    ]
    if empty:
        found = f"These hold no values: {show_names(map(repr, empty), 5)}"
        cure = "Drop them, or give them a type of numbers"
    else:
        shown = show_names([f"{name!r} ({dtype})" for name, dtype in wrong.items()], 5)
        found = f"These do not: {shown}"
        cure = (
            "Make strings categorical (pandas: .astype('category'), polars: "
            ".cast(pl.Categorical)), convert dates to numbers, and make pandas sparse columns a "
            "matrix with .sparse.to_coo().tocsr()"
        )
        if all(dtype.is_temporal() for dtype in wrong.values()):
            found = f"These hold dates or times: {shown}"
            cure = (
                "Drop them, or convert them to numbers; samplers that only copy rows (MLROS) keep "
                "them"
            )
    raise InputError(
        f"Every column of {role} must hold numbers, booleans or categories", found, cure
    )


class DeviceCells(sp.csr_array):
    """Cells in the computer's memory that are from a device, where they can be worked on too.

    What is made of them, a selection of rows for example, knows nothing of the device.
    """

    source: Any = None
    counts: Any = None  # how many cells each column has


def device_of(cells: Any) -> Any:
    """Return an empty tensor on the device of the cells, or None."""
    return getattr(cells, "source", None)


def keep_device(cells: sp.csr_array, of: Any) -> sp.csr_array:
    """Return the cells as ones from where the cells ``of`` are from."""
    if device_of(of) is None:
        return cells
    kept = DeviceCells(cells, copy=False)
    kept.has_sorted_indices = True
    kept.source, kept.counts = of.source, of.counts
    return kept


class SparseRows(NamedTuple):
    """A CSR matrix as compiled code sees it."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def column_counts(matrix: sp.csr_array) -> np.ndarray:
    """Count the stored cells of every column: of clean labels, the rows that have each label."""
    known = getattr(matrix, "counts", None)
    if known is not None:
        return known.copy()
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


def stored_values(X: Any) -> np.ndarray:
    """Return the numbers that a dense or sparse table stores: all, or those that are not 0."""
    stored: np.ndarray = X.data if sp.issparse(X) else X
    return stored


def to_dense(X: Any) -> Any:
    """Return a sparse table as an array, which must be small; another one as it is."""
    return X.toarray() if sp.issparse(X) else X


def find_columns(values: Any, tests: Sequence[str]) -> list[np.ndarray]:
    """Return the columns with a cell that ``isnan`` or ``isinf``, for each test that is named.

    A finite sum of all cells says that there is none, which is much faster than a look at each.
    """
    stored = stored_values(values)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = (stored[part].sum(dtype=np.float64) for part in row_blocks(stored))
        if all(map(np.isfinite, sums)):
            return [np.empty(0, dtype=np.intp) for _ in tests]
    return [_columns_with(getattr(np, test), values, stored) for test in tests]


def _columns_with(test: Callable[[Any], np.ndarray], values: Any, stored: np.ndarray) -> np.ndarray:
    if sp.issparse(values):
        return np.unique(values.indices[test(stored)])
    found = np.zeros(values.shape[1], dtype=bool)
    for part in row_blocks(stored):
        found |= test(stored[part]).any(axis=0)
    return np.flatnonzero(found)
