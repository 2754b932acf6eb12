"""The slow truth that every engine is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn import config_context


def _gap(x: float, z: float, nominal: bool, width: float, low: float, high: float) -> float:
    if nominal:
        return 0.0 if x == z else 1.0
    if np.isnan(x) and np.isnan(z):
        return (high - low) / width
    if np.isnan(x) or np.isnan(z):
        known = z if np.isnan(x) else x
        return max(high - known, known - low) / width
    return (x - z) / width


def _length(gaps: np.ndarray) -> float:
    """Return the root of the sum of squares, enlarged so that squares of tiny gaps stay."""
    shift = max(0, -np.frexp(abs(gaps).max())[1])
    total = 0.0
    for gap in np.ldexp(gaps, shift):
        total += gap * gap
    return float(np.ldexp(np.sqrt(total), -shift))


def _widths(X: np.ndarray, scale: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    d = X.shape[1]
    low, high, width = np.zeros(d), np.zeros(d), np.full(d, np.inf)
    for f in range(d):
        known = X[:, f][~np.isnan(X[:, f])]
        if len(known) == 0:
            continue
        low[f], high[f] = known.min(), known.max()
        if scale is None:
            width[f] = 1.0
        elif low[f] < high[f]:
            width[f] = high[f] - low[f] if scale == "range" else known.std()
    return low, high, width


@pytest.fixture(scope="session")
def euclidean_table() -> Callable[..., np.ndarray]:
    """All distances, feature after feature; NaN, nominal features and zero widths included."""

    @np.errstate(over="ignore")  # far queries, a narrow range: an infinite distance
    def table(X: Any, nominal: Any = None, scale: str | None = None, Q: Any = None) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        Q = X if Q is None else np.asarray(Q, dtype=np.float64)
        nominal = np.zeros(X.shape[1], dtype=bool) if nominal is None else nominal
        low, high, width = _widths(X, scale)
        out = np.zeros((len(Q), len(X)))
        for i in range(len(Q)):
            for j in range(len(X)):
                each = zip(Q[i], X[j], nominal, width, low, high)
                out[i, j] = _length(np.array([_gap(*feature) for feature in each]))
        return out

    return table


@pytest.fixture(scope="session")
def nearest() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """The k first of every line of a table by (distance, row number), the own row left out."""

    def choose(table: np.ndarray, k: int, own: bool = True) -> tuple[np.ndarray, np.ndarray]:
        indices = np.empty((len(table), k), dtype=np.int64)
        for i, line in enumerate(table):
            others = [j for j in range(len(line)) if not (own and j == i)]
            indices[i] = sorted(others, key=lambda j: (line[j], j))[:k]
        return indices, np.take_along_axis(table, indices, axis=1)

    return choose


@pytest.fixture(scope="session")
def engines() -> Callable[..., Any]:
    """A context in which even the smallest search uses blocked engines, or none does."""

    @contextmanager
    def using(fast: bool, working_memory: float = 1024) -> Iterator[None]:
        small = patch("labelance.neighbors._find._SMALL", 0 if fast else 2**62)
        large = patch("labelance.neighbors._find._LARGE", 0)  # threads even for little work
        with small, large, config_context(working_memory=working_memory):
            yield

    return using
