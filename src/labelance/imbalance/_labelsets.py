"""The distinct rows of Y, found through a trie of label lists."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance._validation._labels import validate_labels

__all__ = ["Labelsets", "find_labelsets", "labelsets"]


@dataclass(frozen=True, eq=False)
class Labelsets:
    """The distinct labelsets of Y, most frequent first.

    Labelsets of equal frequency come in the order in which they first appear. The empty
    labelset, where a row has no label, is one of them.

    Attributes
    ----------
    sets : csr_array of shape (n_labelsets, n_labels)
        Each distinct row of Y once.
    frequencies : ndarray of shape (n_labelsets,)
        The number of rows with that labelset.
    membership : ndarray of shape (n_samples,)
        The number of each row's labelset: ``sets[membership]`` is Y again.
    """

    sets: csr_array
    frequencies: NDArray[np.int64]
    membership: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def share_single(self) -> float:
        """The share of labelsets that only one row has."""
        return float(np.mean(self.frequencies == 1))

    def __repr__(self) -> str:
        return f"<Labelsets: {len(self)} in {len(self.membership)} rows>"


def labelsets(y: Any) -> Labelsets:
    """Find the distinct labelsets of Y, how often each occurs, and which one each row has.

    Parameters
    ----------
    y : array-like, sparse or data frame of shape (n_samples, n_labels)
        The labels, zeros and ones.

    Returns
    -------
    Labelsets
        A frozen value with ``sets``, ``frequencies``, ``membership`` and ``share_single``;
        its length is the number of labelsets.

    Examples
    --------
    >>> from labelance.imbalance import labelsets
    >>> found = labelsets([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> len(found), found.frequencies.tolist(), found.membership.tolist()
    (3, [2, 1, 1], [0, 1, 0, 2])
    >>> found.sets.toarray().tolist()
    [[1, 0], [1, 1], [0, 0]]
    """
    return find_labelsets(validate_labels(y, caller="labelsets").Y)


def find_labelsets(Y: csr_array) -> Labelsets:
    """Find the labelsets of clean labels."""
    nodes = _trie_nodes(Y)
    _, first, inverse, frequencies = np.unique(
        nodes, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -frequencies))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Labelsets(
        sets=Y[first[order]],
        frequencies=frequencies[order].astype(np.int64),
        membership=place[inverse].astype(np.int64),
    )


def _trie_nodes(Y: csr_array) -> NDArray[np.int64]:
    """Walk every row's sorted label list down one trie, and return where it ends.

    Equal rows end at the same node and different rows at different ones. All rows take
    their step at the same time, and a row that is through takes no more of them, so the
    loop is as long as the longest row and the work that of sorting the ones of Y.
    """
    n_labels = Y.shape[1]
    sizes = np.diff(Y.indptr)
    nodes = np.zeros(Y.shape[0], dtype=np.int64)
    walking = np.flatnonzero(sizes)
    n_nodes, depth = 1, 0
    while walking.size:
        label = Y.indices[Y.indptr[walking] + depth]
        edges, step = np.unique(nodes[walking] * n_labels + label, return_inverse=True)
        nodes[walking] = n_nodes + step
        n_nodes, depth = n_nodes + edges.size, depth + 1
        walking = walking[sizes[walking] > depth]
    return nodes
