"""Sieve, then rank: what the fast engines have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from labelance.neighbors._blocks import even_block, for_each_block
from labelance.neighbors._scan import Bounds, Tally, new_tally
from labelance.neighbors._task import Task

_ROOM = 64  # pools are ranked early once they outgrow this (or 4 k)
_PROBE, _TOO_MANY = 16, 16  # too coarse is what leaves one row in so many, for so many queries


@dataclass(frozen=True, eq=False)
class Sieve(ABC):
    """Rows pass by blocks of queries, segment by segment; few are left to be ranked exactly.

    Parameters
    ----------
    task : Task
        What is searched.
    bounds : Bounds
        How far scores may be from exact values.
    whole : array of float64, or None
        Squared lengths of the queries if scores are exact, so that nothing is left to be ranked.
    segment : int
        How many rows pass by together.
    """

    task: Task
    bounds: Bounds
    whole: np.ndarray | None
    segment: int

    @abstractmethod
    def pass_by(self, first: int, start: int, stop: int, tally: Tally) -> None:
        """Let the segment that begins at row ``first`` pass by the queries start to stop."""

    def search(self, most: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances for all queries, in blocks of at most ``most``."""
        m, threads = self.task.Q.shape[0], self.task.threads
        block = even_block(m, most, threads)
        rows, distances, _ = zip(*for_each_block(self.block, m, block=block, threads=threads))
        return np.concatenate(rows), np.concatenate(distances)

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return rows and distances for some queries, and how many rows were ranked for them."""
        room = 0 if self.whole is not None else self._room + self.segment
        tally = new_tally(stop - start, self.task.k, room, self.bounds.low.dtype)
        ranked = 0
        for first in range(0, self.task.X.shape[0], self.segment):
            self.pass_by(first, start, stop, tally)
            if tally.counts.max() > self._room:
                ranked += self._rank_early(tally, start)
        if self.whole is not None:
            squares = tally.best + self.whole[start:stop, np.newaxis]
            return tally.rows, np.sqrt(squares), 0
        rows, distances = self.task.rank(np.arange(start, stop), tally.pool, tally.counts)
        return rows, distances, ranked + int(tally.counts.sum())

    def is_too_coarse(self) -> bool:
        """Tell from a few queries whether the bounds leave too many rows to be ranked."""
        if self.whole is not None:
            return False
        probe = min(_PROBE, self.task.Q.shape[0])
        return self.block(0, probe)[2] * _TOO_MANY > probe * self.task.X.shape[0]

    @property
    def _room(self) -> int:
        return max(_ROOM, 4 * self.task.k)

    def _rank_early(self, tally: Tally, start: int) -> int:
        """Cut pools that outgrew their room to the k nearest; return how many rows were ranked."""
        k = self.task.k
        full = np.flatnonzero(tally.counts > self._room)
        counts = tally.counts[full]
        rows, distances = self.task.rank(start + full, tally.pool[full], counts)
        tally.pool[full, :k], tally.low[full, :k] = rows, -np.inf
        tally.counts[full] = k
        tally.best[full[distances[:, -1] == 0]] = -np.inf  # k equal rows: nobody later comes before
        return int(counts.sum())
