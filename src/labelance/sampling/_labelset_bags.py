"""Bags of rows with the same labelset, and how many rows each of them gains or loses.

The rule of Charte et al.: a number of rows is shared out evenly among bags that are all below
(or all above) the mean size, nearest to the mean first; a bag that reaches the mean takes no
more, and what it leaves is spread evenly over the bags after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from labelance._utils import kernel

_MANY_ROWS = 2_000_000  # n³ fits into 64 bits below this


@dataclass(frozen=True, eq=False)
class LabelsetBags:
    """The rows, bag by bag, in the order of the labelsets as bit strings.

    Parameters
    ----------
    rows : ndarray of int of shape (n,)
        All row numbers; those of a bag follow each other, in row order.
    starts : ndarray of int of shape (n_bags + 1,)
        Where each bag begins in ``rows``.
    """

    rows: np.ndarray
    starts: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows of every bag."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class Quotas:
    """How many rows to clone or to delete: bag by bag, in the order in which they take."""

    bags: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class LabelsetPlan:
    """The bags, and what each of them is to clone or to delete."""

    bags: LabelsetBags
    quotas: Quotas


def labelset_bags(Y: sp.csr_array) -> LabelsetBags:
    """Return the bags of rows with equal labels; the empty labelset has a bag too.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from labelance.sampling._labelset_bags import labelset_bags
    >>> bags = labelset_bags(sp.csr_array([[1, 0], [0, 1], [0, 0], [0, 1]]))
    >>> bags.rows, bags.starts
    (array([2, 1, 3, 0]), array([0, 1, 3, 4]))
    """
    roughly = np.argsort(_first_labels(Y), kind="stable")
    rows, opens = _sort_rows(Y.indptr, Y.indices, roughly)
    return LabelsetBags(rows, np.append(np.flatnonzero(opens), len(rows)))


def share_out(sizes: np.ndarray, total: int, *, above_mean: bool) -> Quotas:
    """Share ``total`` rows out among the bags above the mean size, or those below it.

    A bag wants an even share of what is left for it and the bags after it, and takes at most
    its distance to the mean. Bags come nearest to the mean first, so once one takes all that
    it wants, so do all bags after it, and the same. Rows are whole: of the running sum of
    what the bags may take each takes the whole rows that those before it have not taken.
    Sums are kept as integers, in units of one over the number of bags, in which the mean is
    whole.

    Parameters
    ----------
    sizes : ndarray of int
        The sizes of all bags.
    total : int
        How many rows to share out. Some are left over if all bags reach the mean before.
    above_mean : bool
        Which bags take part.
    """
    n, n_bags = int(sizes.sum()), len(sizes)
    total = min(total, n)  # bags never take as many before all are at the mean
    room = (sizes * n_bags - n) * (1 if above_mean else -1)
    bags = np.argsort(room, kind="stable")
    bags = bags[np.searchsorted(room[bags], 1) :]
    room = _exact(room[bags], n)
    reached = np.cumsum(room)
    before = reached - room
    n_left = np.arange(len(bags), 0, -1)
    satisfied = room * n_left >= total * n_bags - before
    first = int(np.argmax(satisfied)) if satisfied.any() else len(bags)
    taken = reached // n_bags
    if first < len(bags):
        left, sharing = total * n_bags - before[first], int(n_left[first])
        step = _exact(np.arange(1, sharing + 1), n)
        taken[first:] = (before[first] * sharing + step * left) // (n_bags * sharing)
    return Quotas(bags, np.diff(taken, prepend=0).astype(np.int64))


def _exact(values: np.ndarray, n: int) -> np.ndarray:
    """Return integers that n³ fits into: machine words, or Python's own for very many rows."""
    return values.astype(np.int64 if n < _MANY_ROWS else object)


def _first_labels(Y: sp.csr_array) -> np.ndarray:
    """Return a number for the first three labels of every row, which sorts as bit strings do.

    Few rows are left out of order by it.
    """
    n_labels, sizes = Y.shape[1], np.diff(Y.indptr)
    keys = np.zeros(len(sizes), dtype=np.int64)
    for depth in range(3):
        keys *= n_labels + 1
        longer = np.flatnonzero(sizes > depth)
        keys[longer] += n_labels - Y.indices[Y.indptr[longer] + depth]
    return keys


@kernel
def _comes_after(indptr: np.ndarray, indices: np.ndarray, one: int, two: int) -> bool:
    """Compare two rows as bit strings: a one beats a zero at the first label that differs."""
    a, a_end = indptr[one], indptr[one + 1]
    b, b_end = indptr[two], indptr[two + 1]
    while a < a_end and b < b_end:
        if indices[a] != indices[b]:
            return bool(indices[a] < indices[b])
        a, b = a + 1, b + 1
    return bool(a < a_end)


@kernel
def _sort_rows(
    indptr: np.ndarray, indices: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Merge sort row numbers by their rows as bit strings; equal rows stay in order.

    Also tell which of them are not equal to the one before, and so open a bag.
    """
    n = len(rows)
    merged = np.empty_like(rows)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            if b < end and not _comes_after(indptr, indices, rows[b - 1], rows[b]):
                b = end  # in order already
            for t in range(start, end):
                if b == end or (a < middle and not _comes_after(indptr, indices, rows[a], rows[b])):
                    merged[t] = rows[a]
                    a += 1
                else:
                    merged[t] = rows[b]
                    b += 1
        rows, merged = merged, rows
        width *= 2
    opens = np.ones(n, dtype=np.bool_)
    for t in range(1, n):
        opens[t] = _comes_after(indptr, indices, rows[t], rows[t - 1])
    return rows, opens
