"""Deal the rows of Y to folds, one by one."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelance.model_selection._deal import deal
from labelance.model_selection._evidence import Integers, Order, gather_evidence

Rows = NDArray[np.intp]


def deal_rows(
    Y: csr_array, weights: Integers, *, order: Order, shuffle: bool, rng: np.random.Generator
) -> Integers:
    """Return the fold of every row, fold f getting ``weights[f] / weights.sum()`` of everything."""
    n = Y.shape[0]
    turn = rng.permutation(n) if shuffle else np.arange(n)
    fold = np.empty(n, dtype=np.int64)
    fold[turn] = deal(gather_evidence(Y[turn], order=order), weights, rng.random(n))
    return fold


def rows_of_folds(fold: Integers, n_folds: int) -> list[Rows]:
    """Return the rows of every fold, in increasing order."""
    return [np.flatnonzero(fold == f) for f in range(n_folds)]
