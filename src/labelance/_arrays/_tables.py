"""Verbs for tables of numbers, dense or sparse: join, divide, count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import to_dense


def join_columns(parts: Sequence[Any]) -> Any:
    """Return tables side by side; sparse if one of them is."""
    if any(map(sp.issparse, parts)):
        return sp.hstack([sp.csr_array(part) for part in parts], format="csr")
    return np.hstack(parts)


def count_nonzero(table: Any) -> int:
    """Return the number of cells that are not 0."""
    return int(table.count_nonzero() if sp.issparse(table) else np.count_nonzero(table))


def stored_cells(table: Any) -> int | None:
    """Return the number of stored cells of a sparse table, None for dense."""
    return int(table.nnz) if sp.issparse(table) else None


def largest_sizes(table: Any) -> np.ndarray:
    """Return the largest size in every column, missing values left out; 0 where there is none."""
    sizes = abs(table)
    if not sp.issparse(sizes):
        return np.nan_to_num(sizes).max(axis=0)
    sizes.data = np.nan_to_num(sizes.data)
    return np.asarray(to_dense(sizes.max(axis=0)), dtype=float).ravel()


def divide_columns(table: Any, by: np.ndarray, most: float) -> Any:
    """Return columns divided by numbers; what is larger than ``most`` then is ``most``."""
    with np.errstate(over="ignore"):
        if not sp.issparse(table):
            return np.clip(table / by, -most, most)
        cells = np.clip(table.data / by[table.indices], -most, most)
        return sp.csr_array((cells, table.indices, table.indptr), shape=table.shape)


def inverse_frequencies(table: Any) -> np.ndarray | None:
    """Return logarithms of the inverse frequencies of a sparse table's columns, None for dense."""
    if not sp.issparse(table):
        return None
    n, d = table.shape
    return np.log((1 + n) / (1 + np.bincount(table.indices, minlength=d))) + 1


def to_columns(table: Any) -> Any:
    """Return a sparse table by columns (CSC), and a dense one as it is."""
    return table.tocsc() if sp.issparse(table) else table
