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
