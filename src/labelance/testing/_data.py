"""Small data with everything that trips a sampler up: rare labels, a frequent one, duplicates."""

from __future__ import annotations

from typing import Any

import numpy as np


def sampler_data(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X and Y whose labels form regions; the last label is present in most rows.

    About a third of the cells of X are exactly zero, so that sparse containers have
    something to leave out, and two rows are equal.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(3)
    X[rng.random((n, d)) < 0.3] = 0.0
    X[1] = X[0]
    score = X @ rng.normal(size=(d, 5)) + rng.normal(scale=0.3, size=(n, 5))
    share = np.array([0.1, 0.2, 0.3, 0.45, 0.8])
    Y = (score > np.quantile(score, 1 - share, axis=0)[range(5), range(5)]).astype(np.int64)
    return X, Y


def seeded(sampler: Any, random_state: Any = 0) -> Any:
    """Return the sampler with its ``random_state`` set, where it has one."""
    if "random_state" in sampler.get_params():
        sampler.set_params(random_state=random_state)
    return sampler
