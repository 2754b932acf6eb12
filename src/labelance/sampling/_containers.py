"""Draws whose rows are in their containers already: what functions and chains return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays import stack_rows
from labelance._validation import Data
from labelance.exceptions import InputError
from labelance.sampling._plan import Draw, Resampled, ResamplingPlan


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from.

    Parameters
    ----------
    rows : ndarray of int
        The row of the input that a row has the features of; -1 for new features.
    kept : ndarray of bool
        Whether it is that row itself, rather than a clone of it.
    """

    rows: np.ndarray
    kept: np.ndarray

    @classmethod
    def start(cls, n: int) -> Origin:
        """Return the origin of n rows before anything is done to them."""
        return cls(np.arange(n), np.ones(n, dtype=bool))

    @classmethod
    def unknown(cls, n: int) -> Origin:
        """Return the origin of n rows of which nothing is known."""
        return cls(np.full(n, -1), np.zeros(n, dtype=bool))

    def then(self, later: Origin) -> Origin:
        """Follow rows that came from these rows back to where these came from."""
        if not len(self.rows):  # data that were not checked, of which no row is known
            return later
        known = later.rows >= 0
        rows = np.where(known, self.rows[later.rows], -1)
        return Origin(rows, known & later.kept & self.kept[later.rows])


class Unchecked:
    """Stands for data that were not checked; whoever needs them is told what to do."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, key: Any) -> Any:
        raise InputError(
            "To tell what became of labels, they have to be checked",
            "a FunctionSampler has validate=False",
            "Set validate=True",
        )


@dataclass(frozen=True, eq=False)
class ContainerDraw(Draw):
    """A draw with its rows in containers; the fields of Draw say what became of the input."""

    X: Any = None
    Y: Any = None
    labels: sp.csr_array | Unchecked = field(default_factory=Unchecked)
    origin: Origin = field(default_factory=lambda: Origin.start(0))

    @classmethod
    def of(
        cls, X: Any, Y: Any, labels: sp.csr_array | Unchecked, origin: Origin, **provenance: Any
    ) -> ContainerDraw:
        """Return the draw with these rows, clean labels and origin."""
        old = origin.rows >= 0
        Y_rows, Y_new = labels, None
        if not isinstance(labels, Unchecked) and not old.all():
            Y_rows, Y_new = labels[np.flatnonzero(old)], labels[np.flatnonzero(~old)]
        return cls(
            rows=origin.rows[old],
            Y_rows=Y_rows,
            Y_new=Y_new,
            provenance=provenance,
            X=X,
            Y=Y,
            labels=labels,
            origin=origin,
        )


@dataclass(frozen=True, eq=False)
class ContainerPlan(ResamplingPlan):
    """A plan whose draws need no restoring; ``data`` may be unchecked."""

    data: Any

    def restore(self, draw: Draw) -> Resampled:
        """Return the containers of the draw as they are."""
        assert isinstance(draw, ContainerDraw)
        return Resampled(draw.X, draw.Y, draw.provenance)


def origin_of(draw: Draw, n: int) -> Origin:
    """Return where the rows of a draw from n rows come from."""
    if isinstance(draw, ContainerDraw):
        return draw.origin
    rows = np.arange(n) if draw.rows is None else draw.rows
    kept = np.zeros(len(rows), dtype=bool)
    kept[np.unique(rows, return_index=True)[1]] = True  # a row that comes again is a clone
    added = Origin.unknown(0 if draw.Y_new is None else draw.Y_new.shape[0])
    return Origin(np.concatenate([rows, added.rows]), np.concatenate([kept, added.kept]))


def labels_of(draw: Draw, data: Data) -> sp.csr_array | Unchecked:
    """Return the clean labels of all rows of a draw."""
    if isinstance(draw, ContainerDraw):
        return draw.labels
    labels = draw.Y_rows
    if labels is None:
        labels = data.Y if draw.rows is None else data.Y[draw.rows]
    return labels if draw.Y_new is None else stack_rows(labels, draw.Y_new)
