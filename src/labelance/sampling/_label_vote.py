"""Seed neighborhoods vote on the labels and the categorical features of synthetic rows.

A seed neighborhood is a line of row numbers, the seed first and then its neighbors; lines are of
one length, and ``sizes`` says how many entries of each count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._cells import take_cells
from labelance._arrays._columns import replace_columns
from labelance._arrays._containers import SparseRows, compact_rows, sparse_rows
from labelance._arrays._dask import DaskRows, compute, even_edges, map_blocks
from labelance._arrays._interpolate import interpolate_rows
from labelance._arrays._open import kind_of, stack_rows
from labelance._utils._kernel import kernel
from labelance._validation._labels import take_unknown


@dataclass(frozen=True, eq=False)
class SeedNeighborhoods:
    """A seed and its neighbors inside a bag, for each candidate row.

    Parameters
    ----------
    rows : ndarray of int of shape (g, 1 + k)
        The seed, then its neighbors, nearest first, and -1 where a bag has fewer.
    sizes : ndarray of int of shape (g,)
        How many rows each neighborhood has, the seed included; at least 2.
    labels : ndarray of int of shape (g,)
        The label whose bag it lies in.
    """

    rows: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(
        cls, labels: np.ndarray, bags: Sequence[np.ndarray], around: Sequence[np.ndarray]
    ) -> SeedNeighborhoods:
        """Join the neighbors found inside each bag, as places in the bag, to lines of rows."""
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
        """The first row of every neighborhood."""
        return self.rows[:, 0]

    def take(self, places: np.ndarray | slice) -> SeedNeighborhoods:
        """Return some of the neighborhoods; one may come more than once."""
        return SeedNeighborhoods(self.rows[places], self.sizes[places], self.labels[places])

    def draw_references(self, rng: np.random.Generator) -> np.ndarray:
        """Draw one of the neighbors of every seed."""
        chosen = rng.integers(1, self.sizes)
        return self.rows[np.arange(len(self)), chosen]


class SyntheticRows(NamedTuple):
    """Synthetic rows, their seeds and references, and the label whose bag these lie in."""

    X: Any
    Y: sp.csr_array
    seeds: np.ndarray
    references: np.ndarray
    labels: np.ndarray
    unknown: sp.csr_array | None = None


@dataclass(frozen=True, eq=False)
class CandidateRows:
    """Synthetic rows as far as they do not depend on chance.

    Parameters
    ----------
    neighborhoods : SeedNeighborhoods
        Their seeds, and the neighbors that references are drawn from.
    Y : csr_array of shape (g, q)
        Their labels.
    nominal : array, csr_array or None
        The values of their nominal features, as :func:`~labelance.sampling._label_vote.vote_values`
        gives them; None if all features are numeric.
    unknown : csr_array of shape (g, q) or None
        Ones at labels that no row of their neighborhood knows; None where all are known.
    """

    neighborhoods: SeedNeighborhoods
    Y: sp.csr_array
    nominal: Any
    unknown: sp.csr_array | None = None

    def take(self, places: np.ndarray | slice) -> CandidateRows:
        """Return some of the candidate rows; one may come more than once."""
        if isinstance(places, slice):
            return self
        nominal = None if self.nominal is None else self.nominal[places]
        unknown = take_unknown(self.unknown, places)
        return CandidateRows(self.neighborhoods.take(places), self.Y[places], nominal, unknown)

    def draw(self, X: Any, categorical: np.ndarray, rng: np.random.Generator) -> SyntheticRows:
        """Draw a reference for every seed, and numbers between the two."""
        around = self.neighborhoods
        references = around.draw_references(rng)
        if self.nominal is not None and categorical.all():
            X_new = self.nominal
        else:
            X_new = interpolate_rows(X, around.seeds, references, categorical, rng)
            if self.nominal is not None:
                X_new = replace_columns(X_new, categorical, self.nominal)
        parents = around.seeds, references, around.labels
        return SyntheticRows(X_new, self.Y, *parents, self.unknown)


class Voters(NamedTuple):
    """Who votes in each neighborhood t: the rows ``rows[t, first : sizes[t]]``."""

    rows: np.ndarray
    sizes: np.ndarray
    first: int


def vote_labels(
    Y: sp.csr_array, neighborhoods: np.ndarray, sizes: np.ndarray, needed: np.ndarray
) -> sp.csr_array:
    """Return for every neighborhood the labels that at least ``needed`` of its rows have.

    Parameters
    ----------
    Y : csr_array of shape (n, q)
        Labels of the rows.
    neighborhoods : ndarray of int of shape (g, 1 + k)
        Row numbers; only the first ``sizes[t]`` of line t count.
    sizes, needed : ndarray of int of shape (g,)
        Rows of the neighborhood, and how many of them must have a label; at least 1.
    """
    # A label in the result takes ``needed`` of its ones, so all fit.
    voters = Voters(neighborhoods, sizes, 0)
    capacity = _count_stored(Y.indptr, voters) // needed
    starts = np.cumsum(capacity) - capacity
    columns = np.empty(capacity.sum(), dtype=Y.indices.dtype)
    votes = np.zeros(Y.shape[1], dtype=np.int64)
    ends = starts.copy()
    _gather_labels(Y.indptr, Y.indices, voters, needed, votes, ends, columns)
    filled, indptr = compact_rows(starts, ends)
    ones = np.ones(len(filled), dtype=np.int8)
    out = sp.csr_array((ones, columns[filled], indptr), shape=(len(neighborhoods), Y.shape[1]))
    out.sort_indices()  # they are in the order in which the votes sufficed
    return out


def vote_known_labels(
    Y: sp.csr_array,
    unknown: sp.csr_array,
    neighborhoods: np.ndarray,
    sizes: np.ndarray,
    needed: Callable[[np.ndarray], np.ndarray],
) -> tuple[sp.csr_array, sp.csr_array]:
    """Return the labels that enough of the rows have that know them, and those that none knows.

    ``needed`` says how many of that many voters are enough.
    """
    votes_here = np.arange(neighborhoods.shape[1]) < sizes[:, np.newaxis]
    cells = np.nonzero(votes_here)[0], neighborhoods[votes_here]
    ones, shape = np.ones(len(cells[0]), dtype=np.int64), (len(sizes), Y.shape[0])
    voters = sp.csr_array((ones, cells), shape=shape)
    votes, hidden = sp.csr_array(voters @ Y), sp.csr_array(voters @ unknown)
    line = np.repeat(np.arange(len(sizes)), np.diff(votes.indptr))
    known = sizes[line] - take_cells(hidden, line, votes.indices)
    unseen = hidden.data == np.repeat(sizes, np.diff(hidden.indptr))
    return _keep_cells(votes, votes.data >= needed(known)), _keep_cells(hidden, unseen)


def _keep_cells(table: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """Return ones at some of the stored cells."""
    indptr = np.concatenate(([0], np.cumsum(kept)))[table.indptr].astype(np.int32)
    columns = table.indices[kept].astype(np.int32)
    found = sp.csr_array((np.ones(len(columns), np.int8), columns, indptr), shape=table.shape)
    found.sort_indices()
    return found


def vote_values(
    X: Any, nominal: np.ndarray, neighborhoods: np.ndarray, sizes: np.ndarray, *, with_seed: bool
) -> Any:
    """Return for every neighborhood the most frequent value of each categorical feature.

    The lowest code wins a tie, and missing values have no vote. Dense rows give an array of
    the categorical features alone; sparse rows give a CSR array of all columns, in which only
    nominal ones are filled.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Clean features.
    nominal : ndarray of bool of shape (d,)
        The features to vote on.
    neighborhoods, sizes : ndarray of int
        As for :func:`vote_labels`.
    with_seed : bool
        Whether the seed has a vote.
    """
    kind = kind_of(X)
    if kind == "blocks":
        return _vote_in_blocks(X, nominal, neighborhoods, sizes, with_seed)
    voters = Voters(neighborhoods, sizes, 0 if with_seed else 1)
    if kind == "dense":
        out = np.empty((len(neighborhoods), np.count_nonzero(nominal)), dtype=X.dtype)
        _fill_dense(X, np.flatnonzero(nominal), voters, out)
        return out
    # Zero is the lowest code, so another value wins only where more voters store a value than
    # do not. So no row of the result has more than twice what its voters store on average.
    capacity = 2 * _count_stored(X.indptr, voters) // np.maximum(sizes - voters.first, 1)
    starts = np.cumsum(capacity) - capacity
    columns = np.empty(capacity.sum(), dtype=X.indices.dtype)
    values = np.empty(capacity.sum(), dtype=X.dtype)
    ends = _fill_sparse(sparse_rows(X), nominal, voters, starts, columns, values)
    filled, indptr = compact_rows(starts, ends)
    cells = values[filled], columns[filled], indptr
    voted = sp.csr_array(cells, shape=(len(neighborhoods), X.shape[1]))
    voted.sort_indices()
    return voted


def _vote_in_blocks(
    X: DaskRows, nominal: np.ndarray, neighborhoods: np.ndarray, sizes: np.ndarray, with_seed: bool
) -> Any:
    """Bring the rows of blocks of neighborhoods together, and let them vote there."""
    vote = partial(vote_values, with_seed=with_seed)
    tasks: list[Any] = []
    edges = even_edges(len(sizes), max(1, X.largest // neighborhoods.shape[1]))
    for start, stop in pairwise(edges):
        lines = np.maximum(neighborhoods[start:stop], 0)  # what does not count is some row
        rows, places = np.unique(lines, return_inverse=True)
        block = X.take(rows, np.array([0, len(rows)])).blocks
        tasks += map_blocks(
            vote, block, [nominal], [places.reshape(lines.shape)], [sizes[start:stop]]
        )
    return reduce(stack_rows, compute(tasks))


def _count_stored(indptr: np.ndarray, voters: Voters) -> np.ndarray:
    """Return how many entries the rows of each neighborhood store together, from ``first`` on."""
    place = np.arange(voters.rows.shape[1])
    votes = (place >= voters.first) & (place < voters.sizes[:, np.newaxis])
    return np.where(votes, np.diff(indptr)[voters.rows], 0).sum(axis=1, dtype=np.int64)


@kernel
def _gather_labels(
    indptr: np.ndarray,
    indices: np.ndarray,
    voters: Voters,
    needed: np.ndarray,
    votes: np.ndarray,
    ends: np.ndarray,
    columns: np.ndarray,
) -> None:
    """Fill ``columns`` with the labels of each new row, and move ``ends`` to where they end."""
    for t in range(len(voters.rows)):
        for row in voters.rows[t, voters.first : voters.sizes[t]]:
            for cell in range(indptr[row], indptr[row + 1]):
                votes[indices[cell]] += 1
                if votes[indices[cell]] == needed[t]:
                    columns[ends[t]] = indices[cell]
                    ends[t] += 1
        for row in voters.rows[t, voters.first : voters.sizes[t]]:
            for cell in range(indptr[row], indptr[row + 1]):
                votes[indices[cell]] = 0


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
    voters: Voters,
    out: np.ndarray,
) -> None:
    values = np.empty(voters.rows.shape[1])
    for t in range(len(voters.rows)):
        rows = voters.rows[t, voters.first : voters.sizes[t]]
        for c in range(len(features)):
            for a in range(len(rows)):
                values[a] = X[rows[a], features[c]]
            out[t, c] = _most_frequent(values[: len(rows)])


@kernel
def _fill_sparse(
    csr: SparseRows,
    nominal: np.ndarray,
    voters: Voters,
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
    for t in range(len(voters.rows)):
        rows = voters.rows[t, voters.first : voters.sizes[t]]
        n_nominated, most = 0, len(rows) // 2 + 1
        for row in rows:
            for cell in range(indptr[row], indptr[row + 1]):
                column = indices[cell]
                if state[column] >= 0:
                    state[column] += 1
                    if state[column] == most and nominal[column]:
                        columns[starts[t] + n_nominated] = column
                        n_nominated += 1
                        state[column] = -n_nominated
        ballots = np.zeros((n_nominated, len(rows)))
        for a in range(len(rows)):
            for cell in range(indptr[rows[a]], indptr[rows[a] + 1]):
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
