"""Which kind of container it is, decided once: open one, take rows, stack rows."""

from __future__ import annotations

from contextlib import suppress
from os import PathLike
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import (
    DenseContainer,
    FrameContainer,
    Kind,
    Nominal,
    SparseContainer,
    advise_shape,
    find_columns,
    is_blocks,
    is_dask,
    is_frame,
    is_tensor,
    on_device,
    open_frame,
)
from labelance._arrays._dask import open_dask
from labelance._arrays._sparse import check_structure
from labelance._arrays._torch import (
    append_tensor,
    open_tensor,
    tensor_columns_where,
    to_device,
    to_host,
)
from labelance._arrays._words import holds_texts, text_error
from labelance.exceptions import ContainerError, InputError

# Kinds that come with later versions, and how to convert until then.
_NOT_YET = {
    "cupy": (
        "a CuPy array",
        "torch.from_dlpack({0}) makes a tensor of it without a copy, on the same device",
    ),
    "jax": ("a JAX array", "numpy.asarray({0})"),
    "jaxlib": ("a JAX array", "numpy.asarray({0})"),
    "dask": ("a dask collection", "{0}.compute()"),
    "tensorflow": ("a TensorFlow tensor", "{0}.numpy()"),
    "LazyFrame": ("a lazy frame", "{0}.collect()"),
}


class Container(Protocol):
    """What every kind of container offers to the rest of the library."""

    native: Any
    nominal: np.ndarray
    kind: Kind  # found once, when the container is opened

    @property
    def names(self) -> tuple[Any, ...] | None: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def clean(self) -> Any: ...

    def raw(self) -> Any: ...

    def categories(self) -> dict[int, tuple[str, ...]]: ...

    def restore(self, rows: np.ndarray | None, new: Any) -> Any: ...

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any: ...


def open_container(
    data: Any, role: str, nominal: Nominal | None = None, *, in_blocks: bool = False
) -> Container:
    """Wrap ``data`` in the container of its kind.

    Parameters
    ----------
    data : array, tensor, sparse matrix or data frame
        A table.
    role : str
        How messages call it, "X" or "y".
    nominal : callable, optional
        Returns a mask of columns of the container; those of a data frame that hold words are
        nominal then.
    in_blocks : bool
        Whether it may be a Dask collection, whose rows are in blocks and not in memory.
    """
    if is_tensor(data):
        return open_tensor(data, role)
    if in_blocks and is_dask(data):
        return open_dask(data, role, nominal)
    _check_no_foreign(data, role)
    if sp.issparse(data):
        return _open_sparse(data, role)
    if not isinstance(data, np.ndarray) and is_frame(data):
        return FrameContainer(data, role, nominal)
    return _open_dense(data, role)


def open_rows(
    X: Any, nominal: Nominal | None = None, *, in_blocks: bool = False, any_rows: bool = False
) -> Container:
    """Wrap a table, or one whose cells are no numbers: rows are all it has.

    With ``any_rows`` it may be rows that are no table either, such as texts or a series.
    """
    if in_blocks and not any_rows and is_dask(X):
        return open_dask(X, "X", only_rows=True)
    try:
        return open_container(X, "X", nominal)
    except InputError:
        if sp.issparse(X) or is_tensor(X) or not (_has_rows(X) if any_rows else _is_table(X)):
            raise
        return RowsContainer(X)


def _has_rows(data: Any) -> bool:
    if isinstance(data, (str, bytes, dict, np.matrix)):
        return False
    if getattr(getattr(data, "dtype", None), "kind", "") == "c":
        return False  # scikit-learn refuses complex numbers
    is_rows = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    return is_rows and getattr(data, "ndim", 1) != 0


def _is_table(data: Any) -> bool:
    try:
        return len(np.shape(data)) == 2
    except ValueError:  # rows of different lengths
        return False


class RowsContainer:
    """A data frame, array or list of rows of any kind, such as texts and dates.

    What has no columns, such as a list of texts or a series, counts as one column.
    """

    kind: Kind = "dense"

    def __init__(self, native: Any) -> None:
        self.native = native
        is_named = not isinstance(native, np.ndarray) and is_frame(native)
        self.names: tuple[Any, ...] | None = (
            tuple(open_frame(native, "X").columns) if is_named else None
        )
        # Lists of words may have equal lengths by chance: only arrays and frames have columns.
        self.has_columns = len(getattr(native, "shape", ())) == 2
        self.shape: tuple[int, int] = native.shape if self.has_columns else (len(native), 1)
        self.nominal = np.zeros(self.shape[1], dtype=bool)

    def clean(self) -> np.ndarray:
        """Return zeros that take no memory: there is a shape, and nothing to compute with."""
        return np.broadcast_to(0.0, self.shape)

    def raw(self) -> np.ndarray:
        """Return the same."""
        return self.clean()

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return nothing: no column is coded."""
        return {}

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original (all if None); there can be no new ones."""
        if new is not None:
            raise TypeError("rows that are only copied have no new ones")
        out = take_rows(self.native, np.arange(self.shape[0]) if rows is None else rows)
        repeated = rows is not None and len(np.unique(rows)) < len(rows)
        return out.reset_index(drop=True) if repeated and hasattr(out, "iloc") else out

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Raise: labels are never only rows."""
        raise TypeError("labels are zeros and ones")


def kind_of(X: Any) -> Kind:
    """Return what clean rows are, where no container or data says it."""
    if sp.issparse(X):
        return "sparse"
    if on_device(X):
        return "device"
    return "blocks" if is_blocks(X) else "dense"


def has_sparse_rows(X: Any) -> bool:
    """Tell whether clean rows are sparse, also those in blocks."""
    return X.is_sparse if is_blocks(X) else sp.issparse(X)


def columns_where(values: Any, test: str) -> np.ndarray:
    """Return the columns of clean values with a cell that ``isnan`` or ``isinf``.

    Parameters
    ----------
    values : ndarray, csr_array, tensor on a GPU or DaskRows
        A clean table.
    test : {"isnan", "isinf"}
        What is looked for.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._open import columns_where
    >>> columns_where(np.array([[1.0, np.nan], [2.0, 3.0]]), "isnan")
    array([1])
    """
    if on_device(values):
        return tensor_columns_where(values, test)
    if is_blocks(values):
        return values.columns_where(test)
    return find_columns(values, [test])[0]


def place_of(data: Any) -> str | None:
    """Return where rows are: the device of a tensor, "Dask", or None for any other container.

    Examples
    --------
    >>> from labelance._arrays._open import place_of
    >>> place_of([[1.0], [2.0]]) is None
    True
    """
    if is_tensor(data):
        return str(data.device)
    return "Dask" if is_dask(data) else None


def to_memory(data: Any, *, keep_blocks: bool = False) -> Any:
    """Return a tensor or a Dask collection in the computer's own memory; others as they are."""
    if on_device(data):
        return to_host(data)
    return data.compute() if is_dask(data) and not keep_blocks else data


def take_rows(container: Any, rows: np.ndarray) -> Any:
    """Return the given rows of an array, tensor, sparse matrix, data frame or list, in order.

    Rows of a Dask collection are another one.

    Examples
    --------
    >>> from labelance._arrays._open import take_rows
    >>> take_rows([10, 20, 30], [2, 0])
    [30, 10]
    """
    if sp.issparse(container):
        return container.tocsr()[rows].asformat(container.format)
    if isinstance(container, np.ndarray):
        return container[rows]
    if is_tensor(container):
        return container[to_device(np.asarray(rows), container)]
    if is_blocks(container):
        return container[rows]
    if is_dask(container):
        return open_dask(container, "the table", only_rows=True).take(np.asarray(rows))
    native = nw.from_native(container, eager_only=True, allow_series=True, pass_through=True)
    if not isinstance(native, (nw.DataFrame, nw.Series)):
        return [container[row] for row in rows]
    rows = np.asarray(rows)
    if hasattr(container, "iloc"):  # pandas and its likes keep the index labels of the rows
        return container.iloc[rows]
    return native[rows.tolist()].to_native()


def take_columns(container: Any, columns: np.ndarray) -> Any:
    """Return the given columns of an array, tensor, sparse matrix, data frame or list, in order.

    Examples
    --------
    >>> from labelance._arrays._open import take_columns
    >>> take_columns([[10, 20, 30], [11, 21, 31]], [2, 0]).tolist()
    [[30, 10], [31, 11]]
    """
    if sp.issparse(container):
        return container.tocsr()[:, columns].asformat(container.format)
    if is_tensor(container):
        return container[:, to_device(np.asarray(columns), container)]
    if hasattr(container, "iloc"):
        return container.iloc[:, columns]
    native = nw.from_native(container, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return native[:, np.asarray(columns).tolist()].to_native()
    return np.take(np.asarray(container), columns, axis=1)


def stack_rows(top: Any, bottom: Any) -> Any:
    """Put clean rows ``bottom`` under clean rows ``top`` (both arrays, CSR or tensors)."""
    if sp.issparse(top):
        return sp.vstack([top, bottom], format="csr")
    if is_tensor(top):
        return append_tensor(top, bottom)
    return np.concatenate([top, bottom])


def _check_no_foreign(data: Any, role: str) -> None:
    library = type(data).__module__.partition(".")[0]
    name = "LazyFrame" if type(data).__name__ == "LazyFrame" else library
    if name in _NOT_YET:
        found, cure = _NOT_YET[name]
        raise ContainerError(
            f"{role} must be a numpy array, a torch tensor, a scipy sparse matrix or a data frame",
            f"{role} is {found}",
            f"Convert it first: {cure.format(role)}",
        )


def _open_sparse(data: Any, role: str) -> SparseContainer:
    if data.ndim != 2:
        raise InputError(
            f"{role} must have two dimensions, rows and columns",
            f"{role} is a sparse array of {data.ndim} dimension(s)",
        )
    if data.dtype.kind not in "biuf":
        raise InputError(
            f"{role} must hold real numbers", f"{role} is a sparse matrix of {data.dtype}"
        )
    check_structure(data, role)
    return SparseContainer(data)


def _open_dense(data: Any, role: str) -> DenseContainer:
    if isinstance(data, np.matrix):
        found = f"{role} is a numpy matrix, which numpy discourages"
        raise ContainerError(f"{role} must be a numpy array", found)
    if np.ma.is_masked(data):  # what lies under the mask is no value
        raise ContainerError(
            f"{role} must be a numpy array without a mask",
            f"{np.ma.getmaskarray(data).sum()} cells are masked",
            f"Make them NaN: {role}.astype(float).filled(numpy.nan)",
        )
    try:
        native = np.asarray(data)
    except ValueError:  # rows of different lengths
        native = np.empty(0, dtype=object)
    if native.dtype.kind == "O" and native.ndim == 2:  # Python numbers; words stay words
        with suppress(TypeError, ValueError):
            native = native.astype(np.float64)
    if role == "X" and native.dtype.kind not in "biuf" and holds_texts(native):
        raise text_error(found=f"It is a {type(data).__name__} of {native.size:,} strings")
    if native.dtype.kind not in "biuf" or native.ndim != 2:
        raise InputError(
            f"{role} must be a table of numbers with two dimensions, rows and columns",
            _describe(data, native, role),
            _advice(data, native, role),
        )
    return DenseContainer(native, as_list=isinstance(data, (list, tuple)))


def _describe(data: Any, native: np.ndarray, role: str) -> str:
    if data is None:
        return f"{role} is None"
    if native.dtype.kind == "c":
        return f"{role} holds complex numbers. Complex data not supported"
    if native.dtype.kind not in "biuf":
        return f"{role} is a {type(data).__name__} of {native.dtype} values"
    return f"{role} is a {type(data).__name__} of {native.ndim} dimension(s)"


def _advice(data: Any, native: np.ndarray, role: str) -> str:
    if isinstance(data, (str, PathLike)):
        return (
            "Read the file first: X, y = labelance.datasets.read_multilabel("
            f"{str(data)!r}, labels=…).to_X_y()"
        )
    if isinstance(data, dict):
        return f"Make a data frame of it: pandas.DataFrame({role})"
    if native.ndim > 2 or (native.dtype.kind in "biuf" and native.ndim == 1):
        return advise_shape(native.ndim, role)
    return "Encode strings and objects as numbers, or use a data frame with categorical columns"
