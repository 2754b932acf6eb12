"""Clean rows as one table of numbers for learners that know neither categories nor gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer

from labelance._arrays._containers import to_dense
from labelance._arrays._sparse import narrow_indices
from labelance._arrays._tables import count_nonzero, divide_columns, join_columns, largest_sizes

Floats = NDArray[np.float64]
Table = Any  # a float64 array, or a csr_array

_MOST_CATEGORIES = 100  # of a column; rows of others look like those of the most frequent one
_MOST_SPREADS = 10.0  # from the mean: what lies beyond says no more to a kernel or a regression
_FAR = 1e6  # times the largest size of training rows
_WIDE, _SPARSE = 100, 0.1  # columns, and the share of nonzero cells: text and the like


@dataclass(frozen=True, eq=False)
class Encoding:
    """Numbers filled and scaled, categories as columns of 0 and 1.

    The form of the table follows from the values, not from their container, so
    that learners give the same for both: wide tables that are mostly zeros are sparse, with
    columns divided by their largest size; others are dense and standardised.
    """

    numeric: NDArray[np.intp]
    size: Floats  # the largest of every numeric column
    imputer: SimpleImputer | None  # None without numeric columns
    nominal: NDArray[np.intp]
    column: NDArray[np.intp]  # among the categorical ones: whose category each new column is
    category: Floats
    sparse: bool = False
    center: Floats | float = 0.0
    spread: Floats | float = 1.0

    @classmethod
    def fit(cls, X: Any, categorical: NDArray[np.bool_]) -> tuple[Encoding, Table]:
        """Return the encoding of training rows, and their table."""
        numeric, nominal = np.flatnonzero(~categorical), np.flatnonzero(categorical)
        size, imputer = np.ones(len(numeric)), None
        if len(numeric):
            size = largest_sizes(_take(X, numeric))
            size = np.where(size > 0, size, 1.0)
            imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            imputer.fit(divide_columns(_take(X, numeric), size, _FAR))
        plain = cls(numeric, size, imputer, nominal, *_find_categories(_codes(X, nominal)))
        joined = plain._join(X)
        n, d = joined.shape
        if d >= _WIDE and count_nonzero(joined) < _SPARSE * n * d:
            return replace(plain, sparse=True), _as_sparse(joined)
        table = np.asarray(to_dense(joined))
        spread = table.std(axis=0)
        spread[spread < 1e-12] = 1.0
        fitted = replace(plain, center=table.mean(axis=0), spread=spread)
        return fitted, fitted._standardise(table)

    def transform(self, X: Any) -> Table:
        """Return the table of clean rows."""
        joined = self._join(X)
        return _as_sparse(joined) if self.sparse else self._standardise(to_dense(joined))

    def _standardise(self, table: Floats) -> Floats:
        return np.clip((table - self.center) / self.spread, -_MOST_SPREADS, _MOST_SPREADS)

    def _join(self, X: Any) -> Any:
        """Return numbers and categories of clean rows, side by side."""
        parts = []
        if self.imputer is not None:
            numbers = divide_columns(_take(X, self.numeric), self.size, _FAR)
            parts.append(self.imputer.transform(numbers))
        if len(self.nominal):
            codes = _codes(X, self.nominal)
            if len(self.category) >= _WIDE:
                parts.append(self._find_present(codes))
            else:
                parts.append((codes[:, self.column] == self.category).astype(np.float64))
        return join_columns(parts)

    def _find_present(self, codes: Floats) -> sp.csr_array:
        """Return categories as sparse columns, which never are a dense table of all of them."""
        columns = []
        for j, values in enumerate(codes.T):
            own = self.category[self.column == j]  # ascending
            place = np.minimum(np.searchsorted(own, values), len(own) - 1)
            rows = np.flatnonzero(own[place] == values)
            cells = np.ones(len(rows)), (rows, place[rows])
            columns.append(sp.csr_array(cells, shape=(len(values), len(own))))
        return sp.hstack(columns, format="csr")


def _as_sparse(joined: Any) -> sp.csr_array:
    table = narrow_indices(sp.csr_array(joined))
    if not table.data.all():  # such as medians in place of missing cells
        table = table.copy()
        table.eliminate_zeros()
    return table


def _take(X: Any, columns: NDArray[np.intp]) -> Any:
    part = X if len(columns) == X.shape[1] else X[:, columns]
    return part.astype(np.float64)


def _codes(X: Any, columns: NDArray[np.intp]) -> Floats:
    """Return the codes of categorical columns; a missing one is a category, too."""
    codes = np.asarray(to_dense(X[:, columns]), dtype=float)
    return np.where(np.isnan(codes), -1.0, codes)


def _find_categories(codes: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return columns and categories to make columns of: all but the most frequent of a column.

    The most frequent one is left out because then tables of many rare properties are sparse.
    """
    column, category = [np.empty(0, dtype=np.intp)], [np.empty(0)]
    for j, values in enumerate(codes.T):
        found, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: _MOST_CATEGORIES + 1]
        kept = np.sort(found[order[1:] if len(order) > 1 else order])
        column.append(np.full(len(kept), j, dtype=np.intp))
        category.append(kept)
    return np.concatenate(column), np.concatenate(category)
