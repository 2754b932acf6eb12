"""The types of minority cells: safe, borderline, rare, outlier (the paper, section 3.2)."""

from enum import IntEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from labelance.imbalance._cells import list_same_class

__all__ = ["LabelType", "RareRule", "type_cells"]

RareRule = Literal["paper", "mulan"]


class LabelType(IntEnum):
    """The type of a minority cell, by the share C of its neighbors of the opposite class.

    A majority cell has no type; where the types are a sparse array it is not stored, and
    reads as 0.

    Examples
    --------
    >>> from labelance.imbalance import LabelType
    >>> LabelType.RARE, LabelType(1).abbreviation
    (<LabelType.RARE: 3>, 'SF')
    """

    SAFE = 1
    BORDERLINE = 2
    RARE = 3
    OUTLIER = 4

    @property
    def abbreviation(self) -> str:
        """The paper's two letters: SF, BD, RR or OT."""
        return ("SF", "BD", "RR", "OT")[self - 1]


def type_cells(
    M: csr_array, opposite: NDArray[np.int32], neighbors: NDArray[np.integer], rule: RareRule
) -> NDArray[np.int8]:
    """Type every cell of M by its count of opposite neighbors, then re-examine the rare ones.

    A rare cell with a safe or borderline minority neighbor is borderline itself, and may
    in its turn make others so. What the paper repeats until nothing changes is to be
    reached from the safe and borderline cells, going from neighbors back to the rare
    cells that have them.
    """
    k = neighbors.shape[1]
    types = types_by_count(k)[opposite]
    rare = np.flatnonzero(types == LabelType.RARE)
    cell, partner = _minority_neighbors(M, rare, k - opposite[rare], neighbors)
    if rule == "mulan":
        # The authors' program looks for safe neighbors only, so that no chain can form.
        types[cell[types[partner] == LabelType.SAFE]] = LabelType.BORDERLINE
    else:
        types[_reached(types, rare, cell, partner)] = LabelType.BORDERLINE
    return types


def types_by_count(k: int) -> NDArray[np.int8]:
    """Return the type of a cell with 0, 1, … k opposite neighbors, compared as integers."""
    opposite = np.arange(k + 1)
    return np.select(
        [10 * opposite < 3 * k, 10 * opposite < 7 * k, opposite < k],
        [LabelType.SAFE, LabelType.BORDERLINE, LabelType.RARE],
        LabelType.OUTLIER,
    ).astype(np.int8)


def _minority_neighbors(
    M: csr_array, cells: NDArray[np.intp], same: NDArray[np.int32], neighbors: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair each of ``cells`` with each of its ``same`` minority neighbors of its label."""
    first_place = np.full(M.nnz + 1, -1, dtype=np.int64)
    first_place[cells] = np.cumsum(same) - same
    first_place[-1] = same.sum()
    partner = list_same_class(M.indptr, M.indices, neighbors, M.shape[1], first_place)
    return np.repeat(cells, same), partner


def _reached(
    types: NDArray[np.int8],
    rare: NDArray[np.intp],
    cell: NDArray[np.int64],
    partner: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Return the rare cells that a chain of minority neighbors leads to a safe or borderline one.

    The graph has a node for every rare cell and one, number 0, for all safe and borderline
    cells together. Outliers have no node: they make nobody borderline.
    """
    node = np.zeros(len(types), dtype=np.int32)
    node[rare] = np.arange(1, len(rare) + 1)
    counts = types[partner] != LabelType.OUTLIER
    edges = node[partner[counts]], node[cell[counts]]
    graph = coo_array((np.ones(len(edges[0])), edges), shape=(len(rare) + 1, len(rare) + 1))
    order = breadth_first_order(graph.tocsr(), 0, directed=True, return_predecessors=False)
    return rare[order[1:] - 1]
