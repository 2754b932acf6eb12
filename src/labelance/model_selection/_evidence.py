"""What a deal must spread evenly over the folds: labels, or pairs of labels and then labels."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from labelance._compile import kernel

Order = Literal[1, 2]
Integers = NDArray[np.integer]


class Evidence(NamedTuple):
    """Which pieces of evidence every hand holds, by hand and by piece.

    A hand is what goes to one fold as a whole: a row, or all rows of a group. A piece is a
    label, or a pair of labels.

    Attributes
    ----------
    indptr, pieces, times : ndarray
        By hand: ``pieces[indptr[i]:indptr[i + 1]]`` are the pieces that hand i holds, and
        ``times`` says how often (once each if the hand is a row).
    piece_indptr, hands : ndarray
        By piece: the hands that hold it, those that hold it most often first.
    sizes : ndarray
        Number of rows in every hand.
    phases : ndarray
        The pieces ``phases[p]`` to ``phases[p + 1]`` are dealt before those of phase p + 1.
    """

    indptr: Integers
    pieces: Integers
    times: Integers
    piece_indptr: Integers
    hands: Integers
    sizes: Integers
    phases: Integers


def gather_evidence(
    Y: csr_array, *, order: Order = 1, group_of: Integers | None = None
) -> Evidence:
    """Collect the labels (order 1), or the pairs and then the labels (order 2), of every hand.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Ones at the labels that a row has.
    order : {1, 2}, default=1
        1 balances labels (Sechidis et al. 2011), 2 balances pairs of labels first
        (Szymański & Kajdanowicz 2017).
    group_of : ndarray of shape (n,), optional
        Number of every row's group, from 0 without gaps. By default every row is alone.
    """
    n, q = Y.shape
    held, phases = _ones(Y), [0, q]
    if order == 2:
        pairs = label_pairs(Y)
        n_pairs = pairs.shape[1]
        held, phases = _beside(pairs, held), [0, n_pairs, n_pairs + q]
    sizes = np.ones(n, dtype=np.int64)
    if group_of is not None:
        sizes = np.bincount(group_of)
        held = _sum_groups(held, group_of, len(sizes))
    by_hand = (held.indptr, held.indices, held.data)
    return Evidence(*map(_wide, (*by_hand, *_hands_by_piece(held), sizes, phases)))


def label_pairs(Y: csr_array) -> csr_array:
    """Return the (n, pairs) indicator of the pairs j < l that rows have, in the order of (j, l).

    Only pairs that occur get a column.
    """
    n, _ = Y.shape
    ones = _ones(Y)
    together = (ones.T @ ones).tocsr()
    together.sort_indices()
    by_label = ones.tocsc()
    by_label.sort_indices()
    per_row = np.diff(ones.indptr).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(per_row * (per_row - 1) // 2)])
    columns, n_pairs = _write_pairs(
        ones.indptr, ones.indices, by_label.indptr, by_label.indices,
        together.indptr, together.indices, indptr,
    )  # fmt: skip
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, indptr), shape=(n, n_pairs))


@kernel
def _write_pairs(
    indptr: Integers,
    labels: Integers,
    label_indptr: Integers,
    rows: Integers,
    together_indptr: Integers,
    together: Integers,
    pair_indptr: Integers,
) -> tuple[Integers, int]:
    # Going through the first label j in order writes the pairs of every row in order, and the
    # numbers of j's pairs fit in one array over labels: no search, no sort.
    q = len(label_indptr) - 1
    columns = np.empty(pair_indptr[-1], dtype=np.int64)
    free = pair_indptr[:-1].copy()
    number = np.empty(q, dtype=np.int64)
    n_pairs = 0
    for j in range(q):
        for at in range(together_indptr[j], together_indptr[j + 1]):
            if together[at] > j:
                number[together[at]] = n_pairs
                n_pairs += 1
        for i in rows[label_indptr[j] : label_indptr[j + 1]]:
            for other in labels[indptr[i] : indptr[i + 1]]:
                if other > j:
                    columns[free[i]] = number[other]
                    free[i] += 1
    return columns, n_pairs


def _wide(values: Any) -> Integers:
    # One width, so that the dealing is compiled once.
    return np.asarray(values, dtype=np.int64)


def _ones(Y: csr_array) -> csr_array:
    # int8 ones would overflow as soon as they are summed.
    return csr_array((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)


def _beside(left: csr_array, right: csr_array) -> csr_array:
    beside = hstack([left, right], format="csr")
    beside.sort_indices()
    return beside


def _sum_groups(held: csr_array, group_of: Integers, n_groups: int) -> csr_array:
    n = len(group_of)
    member = csr_array((np.ones(n, dtype=np.int64), (group_of, np.arange(n))), (n_groups, n))
    summed = (member @ held).tocsr()
    summed.sort_indices()
    return summed


def _hands_by_piece(held: csr_array) -> tuple[Integers, Integers]:
    by_piece = held.tocsc()
    by_piece.sort_indices()
    if held.nnz == 0 or held.data.max() == 1:
        return by_piece.indptr, by_piece.indices
    piece = np.repeat(np.arange(held.shape[1]), np.diff(by_piece.indptr))
    largest_first = np.lexsort((by_piece.indices, -by_piece.data, piece))
    return by_piece.indptr, by_piece.indices[largest_first]
