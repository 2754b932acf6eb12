"""An inverted index of sparse rows: for every feature, the rows that have it.

A feature that many rows have is kept as a strip, one number per row, because adding a strip is
what processors are fastest at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._utils import kernel
from labelance.neighbors._exact import SparseRows

_STRIP_FROM = 8  # a feature is a strip if one row in so many has it


class Postings(NamedTuple):
    """The inverted index of one segment of rows."""

    values: np.ndarray
    rows: np.ndarray
    starts: np.ndarray  # where a feature's rows begin; one more at the end
    strips: np.ndarray
    strip_of: np.ndarray  # the number of a feature's strip, or -1
    many: np.ndarray  # nominal features with other codes than 0 and 1
    shares: np.ndarray  # what different, and what equal, categories add to a score


def make_postings(points: sp.csr_array, many: np.ndarray, factor: float, cells: int) -> Postings:
    """Index some rows.

    Parameters
    ----------
    points : CSR array
        The rows, scaled.
    many : boolean array
        The features whose values are categories.
    factor : float
        What the points were multiplied by.
    cells : int
        How many numbers all strips together may hold.
    """
    by_feature = points.tocsc()
    n, counts = points.shape[0], np.diff(by_feature.indptr)
    wanted = np.flatnonzero((counts * _STRIP_FROM > n) & ~many)
    wanted = wanted[np.argsort(-counts[wanted], kind="stable")][: cells // max(1, n)]
    strip_of = np.full(len(counts), -1)
    strip_of[wanted] = np.arange(len(wanted))
    strips = np.zeros((len(wanted), n), dtype=points.dtype)
    of_cell = np.repeat(strip_of, counts)
    in_strip = of_cell >= 0
    strips[of_cell[in_strip], by_feature.indices[in_strip]] = by_feature.data[in_strip]
    shares = np.array([-1.0, -2.0], dtype=points.dtype) * points.dtype.type(factor**2)
    index = by_feature.data, by_feature.indices, by_feature.indptr
    return Postings(*index, strips, strip_of, many, shares)


@kernel
def score(query: SparseRows, i: int, index: Postings, scores: np.ndarray) -> None:
    """Fill ``scores`` with -2 x·z for row i of the queries and every row z of the segment."""
    values, rows, starts, strips, strip_of, many, shares = index
    scores[:] = 0
    for p in range(query.indptr[i], query.indptr[i + 1]):
        f, value = query.indices[p], query.data[p]
        twice = -(value + value)
        if many[f]:
            for r in range(starts[f], starts[f + 1]):
                scores[rows[r]] += shares[np.int64(values[r] == value)]
        elif strip_of[f] >= 0:
            strip = strips[strip_of[f]]
            for j in range(scores.size):
                scores[j] += twice * strip[j]
        else:
            for r in range(starts[f], starts[f + 1]):
                scores[rows[r]] += twice * values[r]
