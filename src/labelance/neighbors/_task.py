"""What every engine is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelance.neighbors._space import Space


@dataclass(frozen=True, eq=False)
class Task:
    """A search: for every row of Q, the k nearest rows of X except its own."""

    Q: Any
    X: Any
    own: np.ndarray
    k: int
    space: Space
    threads: int

    def rank(
        self, queries: np.ndarray, pool: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and distances of the k nearest in the pool of each query."""
        own = self.own[queries]
        return self.space.rank(self.Q, queries, self.X, own, pool, counts, self.k)
