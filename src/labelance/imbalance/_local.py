"""The local label distribution: C, weights and types of minority cells (the paper, section 3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._validation import validate_labels
from labelance.exceptions import InputError
from labelance.imbalance._cells import count_same_class
from labelance.imbalance._minority import minority_matrix, minority_values
from labelance.imbalance._types import LabelType, RareRule, type_cells

__all__ = ["LocalDistribution", "Weighting", "local_distribution"]

Weighting = Literal["paper", "sum"]


class HasIndices(Protocol):
    """Whatever tells the row numbers of every row's k neighbors."""

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
    k : int
        The number of neighbors.
    """

    opposite: csr_array
    types: csr_array
    weights: NDArray[np.float64]
    minority_value: NDArray[np.int8]
    k: int

    @cached_property
    def minority(self) -> csr_array:
        """The matrix M of minority cells, a CSR array of ones."""
        return _on_pattern(self.opposite, np.ones(self.opposite.nnz, dtype=np.int8))

    @cached_property
    def C(self) -> csr_array:
        """The proportion of neighbors of the opposite class, equation (1); zeros are kept."""
        return _on_pattern(self.opposite, self.opposite.data / self.k)

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
        return _shares(self.opposite, self.k)

    def __repr__(self) -> str:
        n_rows, n_labels = self.types.shape
        of_type = ", ".join(
            f"{count} {kind.abbreviation}"
            for kind, count in zip(LabelType, self.type_counts.sum(axis=0))
        )
        return f"<LocalDistribution: {n_rows} rows, {n_labels} labels, k={self.k}; {of_type}>"


def local_distribution(
    Y: Any,
    neighborhood: HasIndices,
    *,
    rare_rule: RareRule = "paper",
    weighting: Weighting = "paper",
) -> LocalDistribution:
    """Measure how the classes of every label are spread among the neighbors of its minority.

    Parameters
    ----------
    Y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.
    neighborhood : Neighborhood
        The k neighbors of every row, from `labelance.neighbors.find_neighbors`, or any
        object with the row numbers as ``indices`` of shape (n_samples, k), where no row
        is its own neighbor.
    rare_rule : {"paper", "mulan"}, default="paper"
        When a rare cell is made borderline: if it has a safe or borderline minority
        neighbor, until nothing changes ("paper"), or, as in the program of the paper's
        authors, only if it has a safe one ("mulan").
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
    more than ones in Y. A label with one value only has no minority cell, and gives no weight.

    References
    ----------
    B. Liu, G. Tsoumakas. Synthetic oversampling of multi-label data based on local label
    distribution. ECML PKDD 2019.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from labelance.imbalance import LabelType, local_distribution
    >>> Y = np.array([[1], [1], [0], [0], [0]])
    >>> around = SimpleNamespace(indices=np.array([[1, 2], [0, 2], [1, 3], [2, 4], [3, 2]]))
    >>> local = local_distribution(Y, around)
    >>> local.C.data.tolist(), local.weights.tolist()
    ([0.5, 0.5], [0.5, 0.5, 0.0, 0.0, 0.0])
    >>> LabelType(local.types[0, 0]).name
    'BORDERLINE'
    """
    _check_choice("rare_rule", rare_rule, RareRule)
    _check_choice("weighting", weighting, Weighting)
    clean = validate_labels(Y, who="local_distribution").Y
    return find_local_distribution(
        clean, _open_neighbors(neighborhood, clean.shape[0]), rare_rule, weighting
    )


def find_local_distribution(
    Y: csr_array, neighbors: NDArray[np.int64], rare_rule: RareRule, weighting: Weighting
) -> LocalDistribution:
    """Measure the local distribution of clean labels."""
    k = neighbors.shape[1]
    values = minority_values(Y)
    M = minority_matrix(Y, values)
    same = count_same_class(M.indptr, M.indices, neighbors, M.shape[1])
    opposite = _on_pattern(M, np.int32(k) - same)
    weights = _shares(opposite, k).sum(axis=1) if weighting == "paper" else opposite.sum(axis=1) / k
    return LocalDistribution(
        opposite=opposite,
        types=_on_pattern(M, type_cells(M, opposite.data, neighbors, rare_rule)),
        weights=weights,
        minority_value=values,
        k=k,
    )


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


def _open_neighbors(neighborhood: HasIndices, n_rows: int) -> NDArray[np.int64]:
    """Check that every row has k neighbors, none of them itself."""
    asked = (
        f"local_distribution needs the row numbers of k neighbors for each of {n_rows} rows of Y"
    )
    fix = "Pass find_neighbors(X, k) of the X that belongs to this Y"
    indices = np.ascontiguousarray(neighborhood.indices)
    if indices.ndim != 2 or indices.shape[0] != n_rows or not indices.shape[1]:
        raise InputError(asked, f"the neighborhood's indices have the shape {indices.shape}", fix)
    if not np.issubdtype(indices.dtype, np.integer):
        raise InputError(asked, f"the neighborhood's indices are of type {indices.dtype}", fix)
    if indices.min() < 0 or indices.max() >= n_rows:
        raise InputError(asked, f"some lie outside 0 … {n_rows - 1}", fix)
    own = np.flatnonzero((indices == np.arange(n_rows)[:, None]).any(axis=1))
    if own.size:
        raise InputError(asked, f"row {own[0]} is among its own neighbors", fix)
    # Always the same kind of array, so that the kernels are compiled for one kind only.
    locked = indices.astype(np.int64, copy=False).view()
    locked.flags.writeable = False
    return locked


def _check_choice(name: str, value: str, choices: Any) -> None:
    if value not in get_args(choices):
        among = " or ".join(repr(choice) for choice in get_args(choices))
        raise InputError(f"{name} is {among}", f"{value!r} came", "Choose one of these")
