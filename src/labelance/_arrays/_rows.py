"""Row verbs that work on every container."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp


def take_rows(container: Any, rows: np.ndarray) -> Any:
    """Return the given rows of an array, sparse matrix, data frame or list, in that order.

    Examples
    --------
    >>> from labelance._arrays import take_rows
    >>> take_rows([10, 20, 30], [2, 0])
    [30, 10]
    """
    if sp.issparse(container):
        return container.tocsr()[rows].asformat(container.format)
    if isinstance(container, np.ndarray):
        return container[rows]
    native = nw.from_native(container, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return _take_native(container, native, np.asarray(rows))
    return [container[row] for row in rows]


def _take_native(container: Any, wrapped: Any, rows: np.ndarray) -> Any:
    if hasattr(container, "iloc"):  # pandas and its likes keep the index labels of the rows
        return container.iloc[rows]
    return wrapped[rows.tolist()].to_native()


def stack_rows(top: Any, bottom: Any) -> Any:
    """Put clean rows ``bottom`` under clean rows ``top`` (both arrays, or both CSR)."""
    if sp.issparse(top):
        return sp.vstack([top, bottom], format="csr")
    return np.concatenate([top, bottom])


def squeeze_runs(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Close the gaps between runs [start, end) of a buffer that was filled row by row.

    Returns the filled positions, and the CSR row pointer over them.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays import squeeze_runs
    >>> squeeze_runs(np.array([0, 5]), np.array([2, 6]))
    (array([0, 1, 5]), array([0, 2, 3]))
    """
    lengths = ends - starts
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    filled = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
    return filled, indptr
