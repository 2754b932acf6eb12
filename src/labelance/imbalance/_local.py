"""The local label distribution: C, weights and types of minority cells (the paper, section 3).

Everything lives on the pattern of the sparse matrix M of minority cells, so that cost and memory
are O(k nnz(M)) at any number of labels.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, partial
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from labelance._arrays._containers import column_counts, device_of
from labelance._utils._notebook import draw_result
from labelance._validation._arguments import check_choice
from labelance._validation._data import validate_labels
from labelance.exceptions import InputError
from labelance.imbalance._kernels import visit_same_class
from labelance.imbalance._local_tensor import TypedCells, measure_cells
from labelance.imbalance._measures import rarest_first

Integers = NDArray[np.integer]


# A minority cell with fewer known neighbors (of at least as many) has no type.
FEWEST_KNOWN = 2


def minority_values(Y: csr_array, unknown: csr_array | None = None) -> NDArray[np.int8]:
    """Return the rarer of the values 0 and 1 of every label; a tie makes it 1."""
    n_known = Y.shape[0] - (0 if unknown is None else column_counts(unknown))
    return (2 * column_counts(Y) <= n_known).astype(np.int8)


def minority_matrix(
    Y: csr_array, values: NDArray[np.int8], unknown: csr_array | None = None
) -> csr_array:
    """Mark the cells of Y that hold their label's minority value.

    Where the minority value is 1 the column of M is Y's, elsewhere it is 1 - Y. So row i
    of M is the symmetric difference of row i of Y and the set of *flipped* labels, those
    whose minority value is 0. A flipped column has more ones than zeros, so M never has
    more cells than Y. Unknown cells are in neither.
    """
    M = csr_array((np.ones(Y.nnz, np.int8), Y.indices, Y.indptr), shape=Y.shape)
    flipped = np.flatnonzero(values == 0)
    if not flipped.size:
        return M
    # More than half of these cells are ones of Y: the mask is small compared with Y.
    absent = M[:, flipped].toarray() == 0
    if unknown is not None:
        absent[unknown[:, flipped].nonzero()] = False
    added = csr_array(absent, dtype=np.int8)
    added = csr_array((added.data, flipped[added.indices], added.indptr), shape=Y.shape)
    M = keep_cells(M, values[Y.indices] == 1) + added
    places = M.indices.astype(Y.indices.dtype), M.indptr.astype(Y.indptr.dtype)
    return csr_array((M.data, *places), shape=Y.shape)


def count_same_class(M: csr_array, neighbors: Integers) -> NDArray[np.int32]:
    """Count, for every cell, the neighbors of its row that have a cell of the same label."""
    count = np.zeros(M.nnz, dtype=np.int64)
    _visit(M, neighbors, count, np.empty(0, dtype=np.int64))
    return count.astype(np.int32)


def _visit(
    M: csr_array, neighbors: Integers, place: NDArray[np.int64], listed: NDArray[np.int64]
) -> None:
    indptr, cell_of = M.indptr.astype(M.indices.dtype, copy=False), np.full(M.shape[1], -1)
    visit_same_class(indptr, M.indices, neighbors, cell_of, place, listed)


def list_same_class(
    M: csr_array, neighbors: Integers, cells: NDArray[np.intp], same: NDArray[np.int32]
) -> NDArray[np.int64]:
    """List the cells that `count_same_class` counted for ``cells``, those of one after another."""
    place = np.full(M.nnz, -1)
    place[cells] = np.cumsum(same) - same
    listed = np.empty(same.sum(), dtype=np.int64)
    _visit(M, neighbors, place, listed)
    return listed


Variant = Literal["paper", "mulan"]


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
    M: csr_array, opposite: NDArray[np.int32], neighbors: NDArray[np.integer], variant: Variant
) -> NDArray[np.int8]:
    """Type every cell of M by its count of opposite neighbors, then re-examine the rare ones.

    A rare cell with a safe or borderline minority neighbor is borderline itself, and may
    in its turn make others so. What the paper repeats until nothing changes is to be
    reached from the safe and borderline cells, going from neighbors back to the rare
    cells that have them.
    """
    k = neighbors.shape[1]
    return _reexamine(M, types_by_count(k)[opposite], k - opposite, neighbors, variant)


def _reexamine(
    M: csr_array,
    types: NDArray[np.int8],
    same: NDArray[np.int32],
    neighbors: NDArray[np.integer],
    variant: Variant,
) -> NDArray[np.int8]:
    """Make rare cells borderline by their neighbors of the ``same`` class."""
    rare = np.flatnonzero(types == LabelType.RARE)
    same = same[rare]
    cell, partner = np.repeat(rare, same), list_same_class(M, neighbors, rare, same)
    if variant == "mulan":
        # The authors' program looks for safe neighbors only, so that no chain can form.
        types[cell[types[partner] == LabelType.SAFE]] = LabelType.BORDERLINE
    else:
        types[_reached(types, rare, cell, partner)] = LabelType.BORDERLINE
    return types


def types_by_count(k: int) -> NDArray[np.int8]:
    """Return the type of a cell with 0, 1, … k opposite neighbors, compared as integers."""
    return _types_of(np.arange(k + 1), k)


def _types_of(opposite: Integers, known: int | Integers) -> NDArray[np.int8]:
    """Return types by the numbers of opposite neighbors, and of all that are known."""
    return np.select(
        [10 * opposite < 3 * known, 10 * opposite < 7 * known, opposite < known],
        [LabelType.SAFE, LabelType.BORDERLINE, LabelType.RARE],
        LabelType.OUTLIER,
    ).astype(np.int8)


def _reached(
    types: NDArray[np.int8],
    rare: NDArray[np.intp],
    cell: NDArray[np.int64],
    partner: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Return the rare cells that a chain of minority neighbors leads to a safe or borderline one.

    The graph has a node for every rare cell and one, number 0, for all safe and borderline
    cells together. Outliers have no node: they make no cell borderline.
    """
    node = np.zeros(len(types), dtype=np.int32)
    node[rare] = np.arange(1, len(rare) + 1)
    counts = (types[partner] != LabelType.OUTLIER) & (types[partner] > 0)  # 0: it has no type
    edges = node[partner[counts]], node[cell[counts]]
    graph = coo_array((np.ones(len(edges[0])), edges), shape=(len(rare) + 1, len(rare) + 1))
    order = breadth_first_order(graph.tocsr(), 0, directed=True, return_predecessors=False)
    return rare[order[1:] - 1]


Weighting = Literal["paper", "sum"]


class HasIndices(Protocol):
    """Object with the indices of every row's k neighbors."""

    @property
    def indices(self) -> NDArray[np.integer]: ...


@dataclass(frozen=True, eq=False)
class LocalDistribution:
    """What the k neighbors of every row say about its minority cells.

    A *minority cell* is a row and a label where the row has the rarer of the label's two
    values. All sparse arrays here have the minority cells as their pattern and share it;
    a stored zero is a value, what is not stored is a majority cell.

    Attributes
    ----------
    opposite : csr_array of shape (n_samples, n_labels), int32
        The number of neighbors of the opposite class.
    types : csr_array of shape (n_samples, n_labels), int8
        The codes of `LabelType`.
    weights : ndarray of shape (n_samples,)
        The weight w of every row as a seed; 0 where there is nothing to gain.
    minority_value : ndarray of shape (n_labels,), int8
        The rarer value, 0 or 1, of every label.
    n_neighbors : int
        The number of neighbors.
    known : csr_array of shape (n_samples, n_labels), int32, or None
        The number of neighbors in which the label is known; None if all are.
    unknown : csr_array of shape (n_samples, n_labels) or None
        Ones at cells that have no type because y does not know them, or too few neighbors do.
    on_device : TypedCells or None
        The cells and their types on the device of the labels, for our own use.
    """

    opposite: csr_array
    types: csr_array
    weights: NDArray[np.float64]
    minority_value: NDArray[np.int8]
    n_neighbors: int
    known: csr_array | None = None
    unknown: csr_array | None = None
    on_device: TypedCells | None = None

    @cached_property
    def minority(self) -> csr_array:
        """The matrix M of minority cells, a CSR array of ones."""
        return _on_pattern(self.opposite, np.ones(self.opposite.nnz, dtype=np.int8))

    @cached_property
    def C(self) -> csr_array:
        """The proportion of (known) neighbors of the opposite class, equation (1), with zeros."""
        of = self.n_neighbors if self.known is None else self.known.data
        return _on_pattern(self.opposite, self.opposite.data / of)

    @cached_property
    def type_counts(self) -> NDArray[np.int64]:
        """The number of SF, BD, RR and OT cells of every label, of shape (n_labels, 4)."""
        n_labels, n_types = self.types.shape[1], len(LabelType)
        code = self.types.indices.astype(np.int64) * n_types + (self.types.data - LabelType.SAFE)
        return np.bincount(code, minlength=n_labels * n_types).reshape(n_labels, n_types)

    def shares(self) -> csr_array:
        """Return C with the cells of every label divided by their sum, the terms of equation (3).

        Returns
        -------
        csr_array of shape (n_samples, n_labels)
            Stored where a share is defined, zeros included. Not stored for majority cells,
            for outliers, and for labels whose other minority cells are all at C = 0.
        """
        if self.known is None:
            return _shares(self.opposite, self.n_neighbors)
        return _shares(self.C, 1)

    def __repr__(self) -> str:
        n_rows, n_labels = self.types.shape
        of_type = ", ".join(
            f"{count} {kind.abbreviation}"
            for kind, count in zip(LabelType, self.type_counts.sum(axis=0))
        )
        size = f"{n_rows} rows, {n_labels} labels, k={self.n_neighbors}"
        return f"<LocalDistribution: {size}; {of_type}>"

    def _repr_html_(self) -> str:
        counts = self.type_counts
        safe = counts[:, LabelType.SAFE - 1].sum() / max(counts.sum(), 1)
        verdict = (
            f"{1 - safe:.0%} of {counts.sum():,} minority cells are not safe, by "
            f"{self.n_neighbors} neighbors."
        )
        return draw_result(
            verdict if counts.any() else "There are no minority cells.",
            {
                "label": range(len(counts)),
                **{kind.abbreviation: counts[:, kind - 1] for kind in LabelType},
            },
            order=rarest_first(counts.sum(axis=1)).tolist(),
        )


def local_distribution(
    y: Any,
    neighborhood: HasIndices,
    *,
    variant: Variant = "paper",
    weighting: Weighting = "paper",
) -> LocalDistribution:
    """Measure how the classes of every label are spread among the neighbors of its minority.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones. An unknown cell (NaN) is no minority cell, and not counted among
        the neighbors of others; a cell with fewer than two known neighbors is not stored.
    neighborhood : Neighborhood
        The k neighbors of every row, from `labelance.neighbors.find_neighbors`, or any
        object with the row numbers as ``indices`` of shape (n_samples, k), where no row
        is its own neighbor.
    variant : {"paper", "mulan"}, default="paper"
        Where the paper and its authors' program differ: a rare cell is made borderline if it
        has a safe or borderline minority neighbor, until nothing changes, or, in the program,
        only if it has a safe one.
    weighting : {"paper", "sum"}, default="paper"
        The paper's equation (3), which gives every label the same total weight and leaves
        out outliers, or the plain sum of equation (2), for comparison.

    Returns
    -------
    LocalDistribution
        A frozen value with ``C``, ``weights``, ``types`` and what they are made of.

    Notes
    -----
    Cost and memory are O(k nnz(M)), with M the minority cells, of which there are never
    more than ones in y. A label with one value only has no minority cell, and gives no weight.

    References
    ----------
    B. Liu, G. Tsoumakas. Synthetic oversampling of multi-label data based on local label
    distribution. ECML PKDD 2019.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from labelance.imbalance import LabelType, local_distribution
    >>> y = np.array([[1], [1], [0], [0], [0]])
    >>> around = SimpleNamespace(indices=np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 2]]))
    >>> local = local_distribution(y, around)
    >>> local.C.data.tolist(), local.weights.tolist()
    ([0.5, 0.5], [0.5, 0.5, 0.0, 0.0, 0.0])
    >>> LabelType(local.types[0, 0]).name
    'BORDERLINE'
    """
    check_choice("variant", variant, get_args(Variant))
    check_choice("weighting", weighting, get_args(Weighting))
    labels = validate_labels(y, caller="local_distribution", needs_all=None)
    neighbors = _validate_neighbors(neighborhood, labels.Y.shape[0])
    return find_local_distribution(labels.Y, neighbors, variant, weighting, labels.unknown)


def find_local_distribution(
    Y: csr_array,
    neighbors: NDArray[np.int64],
    variant: Variant,
    weighting: Weighting,
    unknown: csr_array | None = None,
) -> LocalDistribution:
    """Measure the local distribution of clean labels."""
    if unknown is not None:
        return _known_distribution(Y, neighbors, variant, weighting, unknown)
    values = minority_values(Y)
    M = minority_matrix(Y, values)
    k = neighbors.shape[1]
    like = device_of(Y)
    shares: Callable[[], csr_array]
    typed = None
    if like is None:
        opposite = _on_pattern(M, np.int32(k) - count_same_class(M, neighbors))
        types = type_cells(M, opposite.data, neighbors, variant)
        shares = partial(_shares, opposite, k)
    else:
        codes = LabelType.SAFE, LabelType.BORDERLINE, LabelType.RARE
        by_count, spreads = types_by_count(k), variant == "paper"
        there = measure_cells(M, neighbors, by_count, codes, like, spreads=spreads)
        counts, types = there.to_host()
        typed = there.typed()
        opposite, shares = _on_pattern(M, counts), there.shares
    weights = shares().sum(axis=1) if weighting == "paper" else opposite.sum(axis=1) / k
    return LocalDistribution(
        opposite=opposite,
        types=_on_pattern(M, types),
        weights=weights,
        minority_value=values,
        n_neighbors=k,
        on_device=typed,
    )


def _known_distribution(
    Y: csr_array,
    neighbors: NDArray[np.int64],
    variant: Variant,
    weighting: Weighting,
    unknown: csr_array,
) -> LocalDistribution:
    """Measure the local distribution where some labels are unknown: C counts known neighbors."""
    k = neighbors.shape[1]
    values = minority_values(Y, unknown)
    M = minority_matrix(Y, values, unknown)
    same, known = _count_known_neighbors(M, unknown, neighbors)
    # Cells that cannot have a type leave M, so that all arrays have one pattern.
    enough = known >= min(FEWEST_KNOWN, k)
    typed, untyped = part_cells(M, enough)
    opposite = (known - same)[enough]
    known, same = known[enough], count_same_class(typed, neighbors)
    types = _types_of(opposite, known)
    local = LocalDistribution(
        opposite=_on_pattern(typed, opposite),
        types=_on_pattern(typed, _reexamine(typed, types, same, neighbors, variant)),
        weights=np.zeros(Y.shape[0]),
        minority_value=values,
        n_neighbors=k,
        known=_on_pattern(typed, known),
        unknown=csr_array(unknown + untyped),
    )
    terms = local.shares() if weighting == "paper" else local.C
    return replace(local, weights=np.asarray(terms.sum(axis=1)).ravel())


def _count_known_neighbors(
    M: csr_array, unknown: csr_array, neighbors: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Count, for every minority cell, the neighbors of its class, and those that are known.

    Among the neighbors that a cell has in "minority or unknown" are those of its class; the
    others are unknown. So one kernel counts both.
    """
    same = count_same_class(M, neighbors)
    both = csr_array(M + 2 * unknown.astype(M.dtype))
    both.sort_indices()
    either = count_same_class(both, neighbors)[both.data == 1]
    return same, np.int32(neighbors.shape[1]) - (either - same)


def part_cells(M: csr_array, first: NDArray[np.bool_]) -> tuple[csr_array, csr_array]:
    """Return the cells of a mask over M's cells, and the others."""
    return keep_cells(M, first), keep_cells(M, ~first)


def keep_cells(M: csr_array, chosen: NDArray[np.bool_]) -> csr_array:
    """Return ones at the cells of a mask over M's cells."""
    indptr = np.concatenate(([0], np.cumsum(chosen)))[M.indptr].astype(M.indptr.dtype)
    ones = np.ones(np.count_nonzero(chosen), np.int8)
    return csr_array((ones, M.indices[chosen], indptr), shape=M.shape)


def _shares(opposite: csr_array, k: int) -> csr_array:
    usable = opposite.data < k
    label, count = opposite.indices, opposite.data
    total = np.bincount(label[usable], weights=count[usable], minlength=opposite.shape[1])
    # A label whose usable cells are all deep inside their class has nothing to divide by.
    defined = usable & (total > 0)[label]
    indptr = np.concatenate(([0], np.cumsum(defined)))[opposite.indptr]
    share = count[defined] / total[label[defined]]
    return csr_array(
        (share, label[defined], indptr.astype(opposite.indptr.dtype)), shape=opposite.shape
    )


def _on_pattern(pattern: csr_array, data: NDArray[Any]) -> csr_array:
    """Put other data on the same cells, without a copy of where they are."""
    return csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _validate_neighbors(neighborhood: HasIndices, n_rows: int) -> NDArray[np.int64]:
    """Check that every row has k neighbors, none of them itself."""
    problem = f"local_distribution needs the indices of k neighbors for each of {n_rows} rows of y"
    cure = "Pass find_neighbors(X, n_neighbors) of the X that belongs to this y"
    indices = np.ascontiguousarray(neighborhood.indices)
    if indices.ndim != 2 or indices.shape[0] != n_rows or not indices.shape[1]:
        raise InputError(problem, f"The indices have shape {indices.shape}", cure)
    if not np.issubdtype(indices.dtype, np.integer):
        raise InputError(problem, f"The indices have type {indices.dtype}", cure)
    if indices.min() < 0 or indices.max() >= n_rows:
        raise InputError(problem, f"Some indices are outside 0 … {n_rows - 1}", cure)
    own = np.flatnonzero((indices == np.arange(n_rows)[:, None]).any(axis=1))
    if own.size:
        raise InputError(problem, f"Row {own[0]} is among its own neighbors", cure)
    return indices.astype(np.int64, copy=False)
