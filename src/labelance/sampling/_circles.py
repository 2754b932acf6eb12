"""A seed and its neighbors inside a bag: the circle that decides what a new row is like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays import interpolate_rows


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
        The values of their nominal features, as :func:`~labelance.sampling._vote.vote_values`
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
