"""The nearest rows of every query, and the tie rule: of rows that are as near, the lower one wins.

Every engine puts rows in with ``insert`` of ``_kernels.pyx``, in ascending order of their numbers,
and joins what was found in several parts of the rows with :func:`merge`. Only the engines of a
GPU (``_torch``, ``_cuda``) have their own form of the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class TopK(NamedTuple):
    """The k rows with the smallest values of every query, ascending."""

    rows: np.ndarray
    values: np.ndarray


class Candidates(NamedTuple):
    """Rows that may be among the nearest of a query; one line serves all queries."""

    rows: np.ndarray  # (n_queries, capacity) or (1, capacity)
    counts: np.ndarray  # how many there are in each line


def new_top_k(queries: int, k: int, dtype: Any = np.float64) -> TopK:
    """Return the top-k of queries that have seen no row."""
    shape = (queries, k)
    return TopK(np.full(shape, -1, dtype=np.int64), np.full(shape, np.inf, dtype=dtype))


def new_results(queries: int, k: int) -> TopK:
    """Return a place for the top-k of all queries of a search."""
    return TopK(np.zeros((queries, k), np.int64), np.zeros((queries, k)))


def merge(parts: Sequence[TopK], k: int) -> TopK:
    """Return the k nearest of all that were found; the lower row wins a tie."""
    rows = np.concatenate([part.rows for part in parts], axis=1)
    values = np.concatenate([part.values for part in parts], axis=1)
    order = rows.argsort(axis=1, kind="stable")
    by_row = np.take_along_axis(values, order, axis=1)
    order = np.take_along_axis(order, by_row.argsort(axis=1, kind="stable"), axis=1)
    order = order[:, :k]
    return TopK(np.take_along_axis(rows, order, 1), np.take_along_axis(values, order, 1))
