"""Rank counts of the relevant cells: the one sum of the areas and all ranking measures.

A relevant cell is a one of y_true. Within its *group* -- its column for measures per label, its
row for measures per example -- it matters only how many cells score at least as high and how
many strictly higher, among all cells and among the relevant ones. AUC-ROC, average precision,
ranking loss, coverage, precision@k and nDCG@k are short sums over these four counts, so ties
are treated alike everywhere and no order among tied cells is ever chosen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn import get_config

from labelance._arrays._containers import is_blocks
from labelance._utils._threads import check_n_jobs
from labelance.metrics._kernels import count_around

Counts = NDArray[np.int64]
Values = NDArray[np.float64]

# Scores sorted at a time: 8 MiB of float64, enough to keep a thread busy, small against the scores.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class RankCounts:
    """Counts around every relevant cell, group after group.

    Attributes
    ----------
    at_least, above : ndarray of int
        Cells of the group that score at least as high as the cell (itself included), and
        strictly higher.
    relevant_at_least, relevant_above : ndarray of int
        The same among the relevant cells of the group.
    indptr : ndarray of int
        Group g owns the cells ``indptr[g]:indptr[g + 1]``.
    indices : ndarray of int
        The row (or label) of each cell within its column (or row).
    size : int or ndarray of int
        Cells in a group, relevant or not; one number for each group where some are unknown.
    """

    at_least: NDArray[np.int32]
    above: NDArray[np.int32]
    relevant_at_least: NDArray[np.int32]
    relevant_above: NDArray[np.int32]
    indptr: Counts
    indices: Counts
    size: int | Counts

    @property
    def relevant(self) -> Counts:
        """Relevant cells in each group."""
        return np.diff(self.indptr)

    @property
    def irrelevant(self) -> Counts:
        """Irrelevant cells in each group."""
        return self.size - self.relevant

    def chance_in_top(self, k: int) -> Values:
        """Chance of each relevant cell to be among the first k, ties broken by lot."""
        return np.clip((k - self.above) / (self.at_least - self.above), 0.0, 1.0)

    def reduce(self, ufunc: np.ufunc, of_cells: NDArray[np.generic], *, empty: float) -> Values:
        """Reduce a value per relevant cell to one per group; ``empty`` where there is no cell."""
        out = np.full(self.indptr.size - 1, empty, dtype=np.float64)
        occupied = self.relevant > 0
        if occupied.any():
            starts = self.indptr[:-1][occupied]
            out[occupied] = ufunc.reduceat(of_cells, starts, dtype=np.float64)
        return out

    def mean(self, of_cells: NDArray[np.generic], *, empty: float) -> Values:
        """Average a value per relevant cell over each group; ``empty`` where there is no cell."""
        return self.reduce(np.add, of_cells, empty=empty) / np.maximum(self.relevant, 1)


def count_ranks(
    Y: csr_array,
    scores: Any,
    *,
    within: Literal["label", "row"],
    n_jobs: int | None = None,
) -> RankCounts:
    """Count around every relevant cell, within its label or within its row."""
    check_n_jobs(n_jobs)
    groups = Y.tocsc() if within == "label" else Y
    indptr, indices = groups.indptr.astype(np.int64), groups.indices.astype(np.int64)
    counts = []
    for table, start in _tables(scores, within):
        counts += Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_count_block)(
                table[first:last], indptr[start + first : start + last + 1], indices
            )
            for first, last in _blocks(table.shape)
        )
    at_least, above, relevant_at_least, relevant_above = np.concatenate(counts, axis=1)
    size = scores.shape[0 if within == "label" else 1]
    return RankCounts(at_least, above, relevant_at_least, relevant_above, indptr, indices, size)


def _tables(scores: Any, within: str) -> Iterator[tuple[NDArray[np.floating], int]]:
    """Yield scores in memory, a line for each group, and the number of the first group.

    Scores in blocks come to the client a part at a time: some columns of all rows for groups that
    are labels, some rows otherwise.
    """
    if not is_blocks(scores):
        yield scores.T if within == "label" else scores, 0
    elif within == "row":
        for start, stop in pairwise(scores.edges):
            yield scores.gather(np.arange(start, stop)), start
    else:
        n, q = scores.shape
        held = max(1, int(get_config()["working_memory"] * 2**20) // (n * scores.dtype.itemsize))
        for start in range(0, q, held):
            parts = scores.compute(_take_columns, repeat(slice(start, start + held)))
            yield np.concatenate(parts).T, start


def row_blocks(scores: Any) -> Iterator[tuple[NDArray[np.floating], int]]:
    """Yield some rows of scores at a time, and the number of the first."""
    for table, start in _tables(scores, "row"):
        for first, last in _blocks(table.shape):
            yield table[first:last], start + first


def _take_columns(block: NDArray[np.floating], columns: slice) -> NDArray[np.floating]:
    return block[:, columns]


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Cut the groups into runs of about ``BLOCK`` scores."""
    step = max(1, BLOCK // shape[1])
    for start in range(0, shape[0], step):
        yield start, min(start + step, shape[0])


def _count_block(table: NDArray[np.floating], indptr: Counts, indices: Counts) -> NDArray[np.int32]:
    """Count in a few groups, the rows of ``table``."""
    mine, relevant = indices[indptr[0] : indptr[-1]], np.diff(indptr)
    ordered = np.array(table, order="C")
    values = ordered[np.repeat(np.arange(len(table)), relevant), mine]
    # NumPy's sort is vectorized along contiguous rows. Of all scores we need the values only,
    # which sort several times faster than positions; the relevant ones, padded to a rectangle
    # with infinities that end up last, are sorted by position to stay the cells they are.
    ordered.sort(axis=1)
    width = relevant.max()
    padded = np.full((len(table), width), np.inf, dtype=table.dtype)
    padded[np.arange(width) < relevant[:, None]] = values
    return count_around(ordered, values, np.argsort(padded, axis=1), indptr - indptr[0])
