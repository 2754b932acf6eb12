"""Features as any classifier takes them: numbers, all of them known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays import narrow_indices
from labelance.neighbors import column_range


@dataclass(frozen=True, eq=False)
class Numbers:
    """How clean rows become rows of known numbers, dense or sparse as they came.

    A numeric feature is divided by its width, as in the distance, and a missing value is the
    mean of the known ones. A nominal feature becomes a column for every category but the
    first, and one more for missing values if there are any, so a feature of two categories
    stays as it is, and sparse rows stay sparse.

    Parameters
    ----------
    nominal : ndarray of bool of shape (d,)
        Which features are nominal.
    highest : ndarray of shape (d,)
        The largest code of every nominal feature.
    first : ndarray of int of shape (d + 1,)
        The first column that each feature takes; the last entry is their number.
    mean, width : ndarrays of shape (d,)
        What stands for a missing number, and what all are divided by.
    """

    nominal: np.ndarray
    highest: np.ndarray
    first: np.ndarray
    mean: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, X: Any, nominal: np.ndarray, width: np.ndarray) -> Numbers:
        """Learn categories and means from clean rows."""
        highest = np.where(nominal, np.nan_to_num(column_range(X)[1]), 0).astype(np.int64)
        mean, missing = _known_means(X)
        columns = np.where(nominal, np.maximum(highest + missing, 1), 1)
        return cls(nominal, highest, np.concatenate(([0], np.cumsum(columns))), mean, width)

    def read(self, X: Any) -> Any:
        """Return clean rows as numbers, in the container they came in."""
        return self._read_sparse(X) if sp.issparse(X) else self._read_dense(X)

    def _read_sparse(self, X: sp.csr_array) -> sp.csr_array:
        values = np.where(np.isnan(X.data), self.mean[X.indices], X.data) / self.width[X.indices]
        nominal = self.nominal[X.indices]
        columns = self.first[X.indices]
        columns[nominal] += self._places(X.data[nominal], X.indices[nominal])
        values[nominal] = 1.0
        shape = (X.shape[0], int(self.first[-1]))
        return narrow_indices(
            sp.csr_array((values.astype(X.dtype), columns, X.indptr), shape=shape)
        )

    def _read_dense(self, X: np.ndarray) -> np.ndarray:
        out = np.zeros((X.shape[0], self.first[-1]), dtype=X.dtype)
        numeric, nominal = np.flatnonzero(~self.nominal), np.flatnonzero(self.nominal)
        known = np.where(np.isnan(X[:, numeric]), self.mean[numeric], X[:, numeric])
        out[:, self.first[numeric]] = known / self.width[numeric]
        rows, which = np.nonzero(X[:, nominal])
        features = nominal[which]
        out[rows, self.first[features] + self._places(X[rows, features], features)] = 1.0
        return out

    def _places(self, codes: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return which of its feature's columns each code that is not 0 has."""
        codes = np.where(np.isnan(codes), self.highest[features] + 1, codes)
        return codes.astype(np.int64) - 1


def _known_means(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of the known values of every column, and whether some are missing."""
    n, d = X.shape
    stored = X.data if sp.issparse(X) else X
    known = np.nan_to_num(stored.astype(np.float64))
    if sp.issparse(X):
        missing = np.bincount(X.indices[np.isnan(stored)], minlength=d)
        total = np.bincount(X.indices, weights=known, minlength=d)
    else:
        missing, total = np.isnan(stored).sum(axis=0), known.sum(axis=0)
    return total / np.maximum(n - missing, 1), missing > 0
