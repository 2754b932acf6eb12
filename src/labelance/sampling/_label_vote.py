"""Seed neighborhoods vote on the labels and the nominal features of synthetic rows.

A seed neighborhood is a line of row numbers, the seed first and then its neighbors; lines are of
one length, and ``sizes`` says how many entries of each count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays import SparseRows, interpolate_rows, sparse_rows, squeeze_runs
from labelance._utils import kernel


@dataclass(frozen=True, eq=False)
class Circles:
    """One circle for each row that is to be made.

    Parameters
    ----------
    rows : ndarray of int of shape (g, 1 + k)
        The seed, then its neighbors, nearest first, and -1 where a bag has fewer.
    sizes : ndarray of int of shape (g,)
        How many rows each circle has, the seed included; at least 2.
    labels : ndarray of int of shape (g,)
        The label whose bag the circle lies in.
    """

    rows: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(
        cls, labels: np.ndarray, bags: Sequence[np.ndarray], around: Sequence[np.ndarray]
    ) -> Circles:
        """Join the neighbors found inside each bag, as places in the bag, to circles of rows."""
        lengths = np.array([len(bag) for bag in bags], dtype=np.int64)
        widths = np.array([1 + places.shape[1] for places in around], dtype=np.int64)
        rows = np.full((lengths.sum(), widths.max(initial=1)), -1, dtype=np.int64)
        start = 0
        for bag, places in zip(bags, around):
            part = rows[start : start + len(bag)]
            part[:, 0], part[:, 1 : 1 + places.shape[1]] = bag, bag[places]
            start += len(bag)
        return cls(rows, np.repeat(widths, lengths), np.repeat(labels, lengths))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def seeds(self) -> np.ndarray:
        """The first row of every circle."""
        return self.rows[:, 0]

    def take(self, places: np.ndarray | slice) -> Circles:
        """Return some of the circles; one may come more than once."""
        return Circles(self.rows[places], self.sizes[places], self.labels[places])

    def draw_references(self, rng: np.random.Generator) -> np.ndarray:
        """Draw one of the neighbors of every seed."""
        chosen = rng.integers(1, self.sizes)
        return self.rows[np.arange(len(self)), chosen]


class Made(NamedTuple):
    """New rows, the rows they come from, and the label they were made for."""

    X: Any
    Y: sp.csr_array
    seeds: np.ndarray
    references: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Offspring:
    """Rows to be made, as far as chance has no say in them.

    Parameters
    ----------
    circles : Circles
        Who they come from.
    Y : csr_array of shape (g, q)
        Their labels.
    nominal : array, csr_array or None
        The values of their nominal features, as :func:`~labelance.sampling._label_vote.vote_values`
        gives them; None if all features are numeric.
    """

    circles: Circles
    Y: sp.csr_array
    nominal: Any

    def take(self, places: np.ndarray | slice) -> Offspring:
        """Return some of the rows to be made; one may come more than once."""
        if isinstance(places, slice):
            return self
        nominal = None if self.nominal is None else self.nominal[places]
        return Offspring(self.circles.take(places), self.Y[places], nominal)

    def make(self, X: Any, categorical: np.ndarray, rng: np.random.Generator) -> Made:
        """Draw a reference for every seed, and numbers between the two."""
        circles = self.circles
        references = circles.draw_references(rng)
        if self.nominal is not None and categorical.all():
            X_new = self.nominal
        else:
            X_new = interpolate_rows(X, circles.seeds, references, categorical, rng)
            if self.nominal is not None:
                X_new = _overlay(X_new, self.nominal, categorical)
        return Made(X_new, self.Y, circles.seeds, references, circles.labels)


def _overlay(mixed: Any, voted: Any, categorical: np.ndarray) -> Any:
    """Replace the nominal features of mixed rows by the values that were voted for."""
    if not sp.issparse(mixed):
        mixed[:, categorical] = voted
        return mixed
    mixed.data[categorical[mixed.indices]] = 0.0
    mixed.eliminate_zeros()
    return mixed + voted


def vote_labels(
    Y: sp.csr_array, circles: np.ndarray, sizes: np.ndarray, needed: np.ndarray
) -> sp.csr_array:
    """Return for every circle the labels that at least ``needed`` of its rows have.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Labels of the rows.
    circles : ndarray of int of shape (g, 1 + k)
        Row numbers; only the first ``sizes[t]`` of line t count.
    sizes, needed : ndarray of int of shape (g,)
        Rows of the circle, and how many of them must have a label; at least 1.
    """
    # A label in the result takes ``needed`` of the circle's ones, so there is room for all.
    room = _count_stored(Y.indptr, circles, sizes, 0) // needed
    starts = np.cumsum(room) - room
    columns = np.empty(room.sum(), dtype=Y.indices.dtype)
    votes = np.zeros(Y.shape[1], dtype=np.int64)
    ends = _gather_labels(Y.indices, Y.indptr, circles, sizes, needed, votes, starts, columns)
    filled, indptr = squeeze_runs(starts, ends)
    ones = np.ones(len(filled), dtype=np.int8)
    out = sp.csr_array((ones, columns[filled], indptr), shape=(len(circles), Y.shape[1]))
    out.sort_indices()  # they came in the order in which the votes sufficed
    return out


def vote_values(
    X: Any, nominal: np.ndarray, circles: np.ndarray, sizes: np.ndarray, *, with_seed: bool
) -> Any:
    """Return for every circle the most frequent value of each nominal feature.

    The lowest code wins a tie, and missing values have no vote. Dense rows give an array of
    the nominal features alone; sparse rows give a CSR array of all columns, in which only
    nominal ones are filled.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Clean features.
    nominal : ndarray of bool of shape (d,)
        The features to vote on.
    circles, sizes : ndarray of int
        As for :func:`vote_labels`.
    with_seed : bool
        Whether the first row of a circle has a vote.
    """
    first = 0 if with_seed else 1
    if not sp.issparse(X):
        out = np.empty((len(circles), np.count_nonzero(nominal)), dtype=X.dtype)
        _fill_dense(X, np.flatnonzero(nominal), circles, sizes, first, out)
        return out
    # Zero is the lowest code, so another value wins only where more voters store a value than
    # do not. So no row of the result has more than twice what its voters store on average.
    room = 2 * _count_stored(X.indptr, circles, sizes, first) // np.maximum(sizes - first, 1)
    starts = np.cumsum(room) - room
    columns = np.empty(room.sum(), dtype=X.indices.dtype)
    values = np.empty(room.sum(), dtype=X.dtype)
    ends = _fill_sparse(sparse_rows(X), nominal, circles, sizes, first, starts, columns, values)
    filled, indptr = squeeze_runs(starts, ends)
    cells = values[filled], columns[filled], indptr
    voted = sp.csr_array(cells, shape=(len(circles), X.shape[1]))
    voted.sort_indices()
    return voted


@kernel
def _count_stored(
    indptr: np.ndarray, circles: np.ndarray, sizes: np.ndarray, first: int
) -> np.ndarray:
    """Return how many entries the rows of each circle store together, from ``first`` on."""
    stored = np.zeros(len(circles), dtype=np.int64)
    for t in range(len(circles)):
        for row in circles[t, first : sizes[t]]:
            stored[t] += indptr[row + 1] - indptr[row]
    return stored


@kernel
def _gather_labels(
    indices: np.ndarray,
    indptr: np.ndarray,
    circles: np.ndarray,
    sizes: np.ndarray,
    needed: np.ndarray,
    votes: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    """Fill ``columns`` with the labels of each new row; return where they end."""
    ends = starts.copy()
    for t in range(len(circles)):
        for row in circles[t, : sizes[t]]:
            for cell in range(indptr[row], indptr[row + 1]):
                votes[indices[cell]] += 1
                if votes[indices[cell]] == needed[t]:
                    columns[ends[t]] = indices[cell]
                    ends[t] += 1
        for row in circles[t, : sizes[t]]:
            for cell in range(indptr[row], indptr[row + 1]):
                votes[indices[cell]] = 0
    return ends


@kernel
def _most_frequent(values: np.ndarray) -> float:
    """Return the most frequent known value, the lowest of several; NaN if none is known."""
    best, most = np.nan, 0
    for value in values:
        same = 0
        for other in values:
            same += other == value  # NaN equals nothing, so it has no vote
        if 2 * same > len(values):
            return value
        if same > most or (same == most and value < best):
            best, most = value, same
    return best


@kernel
def _fill_dense(
    X: np.ndarray,
    features: np.ndarray,
    circles: np.ndarray,
    sizes: np.ndarray,
    first: int,
    out: np.ndarray,
) -> None:
    values = np.empty(circles.shape[1])
    for t in range(len(circles)):
        voters = circles[t, first : sizes[t]]
        for c in range(len(features)):
            for a in range(len(voters)):
                values[a] = X[voters[a], features[c]]
            out[t, c] = _most_frequent(values[: len(voters)])


@kernel
def _fill_sparse(
    csr: SparseRows,
    nominal: np.ndarray,
    circles: np.ndarray,
    sizes: np.ndarray,
    first: int,
    starts: np.ndarray,
    columns: np.ndarray,
    out: np.ndarray,
) -> np.ndarray:
    """Fill what zero does not win, in no order; return where each new row ends."""
    data, indices, indptr = csr
    ends = starts.copy()
    # How many voters store a value of a column; once these are most of them, the column is
    # nominated, and has the place of its ballots here, counted down from -1.
    state = np.zeros(len(nominal), dtype=np.int64)
    for t in range(len(circles)):
        voters = circles[t, first : sizes[t]]
        n_nominated, most = 0, len(voters) // 2 + 1
        for row in voters:
            for cell in range(indptr[row], indptr[row + 1]):
                column = indices[cell]
                if state[column] >= 0:
                    state[column] += 1
                    if state[column] == most and nominal[column]:
                        columns[starts[t] + n_nominated] = column
                        n_nominated += 1
                        state[column] = -n_nominated
        ballots = np.zeros((n_nominated, len(voters)))
        for a in range(len(voters)):
            for cell in range(indptr[voters[a]], indptr[voters[a] + 1]):
                column = indices[cell]
                if state[column] < 0:
                    ballots[-1 - state[column], a] = data[cell]
                else:
                    state[column] = 0
        for c in range(n_nominated):
            column = columns[starts[t] + c]
            state[column] = 0
            winner = _most_frequent(ballots[c])
            if winner != 0:
                columns[ends[t]], out[ends[t]] = column, winner
                ends[t] += 1
    return ends
