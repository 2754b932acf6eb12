"""Chains of classifiers: each learns one label from X and the labels before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelance.learners._models import Floats, Rows

Ints = NDArray[np.int64]
ChainFeatures = Literal["true", "predicted"]


class Chain(NamedTuple):
    """A fitted chain: labels in the order of its links, and the classifier of each link.

    The classifier of a link takes the features of X and behind them the labels before its own,
    in the order of Y. A tree of C4.5 takes all labels, but asks only for those.
    """

    labels: Ints
    models: list[Any]


class Chains(Protocol):
    """Fitted chains, whatever their classifiers are."""

    def __len__(self) -> int: ...

    def __getitem__(self, c: int) -> Chain: ...

    def take(self, c: int) -> Chains:
        """Return chain c alone."""

    def add_up(self, rows: Rows, *, votes: bool, n_jobs: int | None) -> Floats:
        """Return, for every row and label, the sum of what the chains say.

        A chain says the probability of the label, or with ``votes`` its 0/1 decision. Links
        get the decisions of the links before them.
        """


@dataclass(frozen=True, eq=False)
class ChainPlan:
    """What a chain will learn: labels in order, from a bag of rows.

    Attributes
    ----------
    labels : ndarray
        Labels in the order of the links.
    bag : ndarray
        Rows, some of them more than once if it is a bootstrap.
    rng : Generator
        Of this chain alone, for what is drawn link by link.
    balanced : bool
        Let every link learn from as many rows with its label as without it.
    """

    labels: Ints
    bag: Ints
    rng: np.random.Generator
    balanced: bool

    def draw_rows(self, present: NDArray[np.int8]) -> Ints:
        """Return the rows that the next link learns from, given its label in all rows."""
        if not self.balanced:
            return self.bag
        with_label = present[self.bag] == 1
        few, many = self.bag[with_label], self.bag[~with_label]
        if len(few) > len(many):
            few, many = many, few
        if len(few) == 0:
            return many[:1]  # there is nothing to tell apart, and one row tells that
        return np.concatenate([few, self.rng.choice(many, len(few), replace=False)])


class Labels:
    """Y by columns, written out one at a time."""

    def __init__(self, Y: sp.csr_array) -> None:
        self._columns = sp.csc_array(Y)

    def __len__(self) -> int:
        return self._columns.shape[1]

    def __getitem__(self, j: int) -> NDArray[np.int8]:
        present = np.zeros(self._columns.shape[0], dtype=np.int8)
        start, stop = self._columns.indptr[j], self._columns.indptr[j + 1]
        present[self._columns.indices[start:stop]] = 1
        return present


def count_chains(label_lists: Sequence[Ints], q: int) -> Ints:
    """Return in how many chains every label is."""
    return np.bincount(np.concatenate(label_lists), minlength=q)
