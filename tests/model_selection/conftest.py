"""The slow, readable form of iterative stratification that the compiled one is checked against."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

Choose = Callable[[int, list[int]], int]


def stratify_reference(
    Y: np.ndarray, shares: list[Fraction], choose: Choose, order: int = 1
) -> list[int]:
    """Deal rows as Sechidis et al. (order 1) or Szymański & Kajdanowicz (order 2) say.

    ``choose(row, candidates)`` decides between folds that tie in everything.
    """
    n = len(Y)
    incidence = [_labels_or_pairs(np.flatnonzero(row).tolist(), order) for row in Y]
    count = Counter(item for items in incidence for item in items)
    want = {item: [share * c for share in shares] for item, c in count.items()}
    want_rows = [share * n for share in shares]
    fold = [-1] * n

    def assign(i: int, first: list[Fraction]) -> None:
        most = max(zip(first, want_rows))
        candidates = [f for f, wants in enumerate(zip(first, want_rows)) if wants == most]
        fold[i] = candidates[0] if len(candidates) == 1 else choose(i, candidates)
        want_rows[fold[i]] -= 1
        for item in incidence[i]:
            want[item][fold[i]] -= 1

    while True:
        left = Counter(item for i in range(n) if fold[i] < 0 for item in incidence[i])
        pool = [item for item in left if len(item) == order] or list(left)
        if not pool:
            break
        rarest = min(pool, key=lambda item: (left[item], item))
        for i in range(n):
            if fold[i] < 0 and rarest in incidence[i]:
                assign(i, want[rarest])
    for i in range(n):
        if fold[i] < 0:
            assign(i, want_rows)
    return fold


def _labels_or_pairs(labels: list[int], order: int) -> list[tuple[int, ...]]:
    return [*(combinations(labels, 2) if order == 2 else ()), *((label,) for label in labels)]


def from_draws(draws: np.ndarray) -> Choose:
    """Decide ties as the library does: one number in [0, 1) for each."""
    stream: Iterator[float] = iter(draws.tolist())
    return lambda row, candidates: candidates[int(next(stream) * len(candidates))]


@pytest.fixture(scope="session")
def oracle() -> Callable[..., list[int]]:
    return stratify_reference


@pytest.fixture(scope="session")
def lots() -> Callable[[np.ndarray], Choose]:
    return from_draws
