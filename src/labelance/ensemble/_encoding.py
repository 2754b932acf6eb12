"""What parts learn from: tables of numbers, without categories and gaps, and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, normalize
from sklearn.utils.extmath import row_norms

from labelance._arrays._cells import count_nonzero, divide_columns, join_columns, largest_sizes
from labelance._arrays._containers import column_counts, to_dense
from labelance._arrays._sparse import narrow_indices
from labelance._validation._arguments import Weights, take_weights
from labelance._validation._column_groups import ColumnGroups
from labelance._validation._data import (
    Data,
    Schema,
    known_cells,
    take_labels,
    take_unknown,
    validate_features,
    validate_like,
)

Floats = NDArray[np.float64]
Table = Any  # a float64 array, or a csr_array

_CALLER = "RareLabelClassifier"
_MOST_CATEGORIES = 100  # of a column; rows of others look like those of the most frequent one
_MOST_SPREADS = 10.0  # from the mean: what lies beyond says no more to a kernel or a regression
_FAR = 1e6  # times the largest size of training rows
_WIDE, _SPARSE = 100, 0.1  # columns, and the share of nonzero cells: text and the like
_ALIKE = 100.0  # times as large are columns of one kind at most
_EQUAL = 0.1  # of the mean: how much lengths of rows vary that were weighted to be equal


@dataclass(frozen=True, eq=False)
class Encoding:
    """Numbers filled and scaled, categories as columns of 0 and 1.

    The form of the table follows from the values, not from their container, so
    that learners give the same for both: wide tables that are mostly zeros are sparse, with rows of
    length 1; others are dense and standardised. Columns of a sparse table are divided by their
    largest sizes before, but not where they are alike, as counts and TF-IDF of words are.
    """

    numeric: NDArray[np.intp]
    size: Floats  # the largest of every numeric column
    imputer: SimpleImputer | None  # None without numeric columns
    nominal: NDArray[np.intp]
    encoder: OneHotEncoder | None  # None without nominal columns
    sparse: bool = False
    weighted: bool = False  # training rows had equal lengths already, as TF-IDF has
    center: Floats | float = 0.0
    spread: Floats | float = 1.0

    @classmethod
    def fit(
        cls, X: Any, categorical: NDArray[np.bool_], *, text: bool = False
    ) -> tuple[Encoding, Table]:
        """Return the encoding of training rows, and their table; that of ``text`` is sparse."""
        numeric, nominal = np.flatnonzero(~categorical), np.flatnonzero(categorical)
        size, imputer = np.ones(len(numeric)), None
        if len(numeric):
            if not text:
                size = _common_size(largest_sizes(_take(X, numeric)))
            imputer = SimpleImputer(
                strategy="median", add_indicator=True, keep_empty_features=True, copy=False
            )
            imputer.fit(divide_columns(_take(X, numeric), size, _FAR))
        encoder = _fit_encoder(_codes(X, nominal)) if len(nominal) else None
        plain = cls(numeric, size, imputer, nominal, encoder)
        joined = plain._join(X)
        n, d = joined.shape
        if text or (d >= _WIDE and count_nonzero(joined) < _SPARSE * n * d):
            table = _as_sparse(joined)
            lengths = row_norms(table)
            some = lengths[lengths > 0]
            weighted = text or bool(len(some) and np.std(some) < _EQUAL * np.mean(some))
            return replace(plain, sparse=True, weighted=weighted), normalize(table)
        table = np.asarray(to_dense(joined))
        spread = table.std(axis=0)
        spread[spread < 1e-12] = 1.0
        fitted = replace(plain, center=table.mean(axis=0), spread=spread)
        return fitted, fitted._standardise(table)

    def transform(self, X: Any) -> Table:
        """Return the table of clean rows."""
        joined = self._join(X)
        return normalize(_as_sparse(joined)) if self.sparse else self._standardise(to_dense(joined))

    def _standardise(self, table: Floats) -> Floats:
        """Standardise a table in place: it was made here, and may be the largest thing there is."""
        table -= self.center
        table /= self.spread
        return np.clip(table, -_MOST_SPREADS, _MOST_SPREADS, out=table)

    def _join(self, X: Any) -> Any:
        """Return numbers and categories of clean rows, side by side."""
        parts = []
        if self.imputer is not None:
            numbers = divide_columns(_take(X, self.numeric), self.size, _FAR)
            parts.append(self.imputer.transform(numbers))
        if self.encoder is not None:
            parts.append(self.encoder.transform(_codes(X, self.nominal)))
        return join_columns(parts)


def _as_sparse(joined: Any) -> sp.csr_array:
    table = narrow_indices(sp.csr_array(joined))
    if not table.data.all():  # such as medians in place of missing cells
        table = table.copy()
        table.eliminate_zeros()
    return table


def _common_size(size: Floats) -> Floats:
    """Return what columns are divided by: one number where they are alike, else their own size."""
    own = np.where(size > 0, size, 1.0)
    some = size[size > 0]
    if len(size) < _WIDE or not len(some):
        return own
    low, high = np.quantile(some, [0.05, 0.95])
    return np.full(len(size), some.max()) if high <= _ALIKE * low else own


def _take(X: Any, columns: NDArray[np.intp]) -> Any:
    part = X if len(columns) == X.shape[1] else X[:, columns]
    return part.astype(np.float64)


def _codes(X: Any, columns: NDArray[np.intp]) -> Floats:
    """Return the codes of categorical columns; a missing one is a category, too."""
    codes = np.asarray(to_dense(X[:, columns]), dtype=float)
    return np.where(np.isnan(codes), -1.0, codes)


def _fit_encoder(codes: Floats) -> OneHotEncoder:
    """Return what makes columns of categories: of all but the most frequent of a column.

    The most frequent one is left out because then tables of many rare properties are sparse.
    """
    categories = []
    for values in codes.T:
        found, counts = np.unique(values, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: _MOST_CATEGORIES + 1]
        categories.append(np.sort(found[order[1:] if len(order) > 1 else order]))
    # Many categories are sparse columns, which never are a dense table of all of them.
    sparse = sum(map(len, categories)) >= _WIDE
    encoder = OneHotEncoder(categories=categories, handle_unknown="ignore", sparse_output=sparse)
    return encoder.fit(codes)


class EncodedTable(NamedTuple):
    """Training rows for parts, and whether cells of a sparse table are weighted, as TF-IDF is."""

    rows: Table
    weighted: bool


@dataclass(frozen=True, eq=False)
class Tables:
    """X as tables of numbers: one for each column of texts or vectors, one for the rest."""

    groups: ColumnGroups
    names: list[str]
    encodings: list[Encoding]
    schemas: list[Schema]  # empty where X is one table, which is clean already

    @classmethod
    def fit(cls, data: Data, X: Any) -> tuple[Tables, list[EncodedTable]]:
        """Return the tables of training rows."""
        groups, blocks = ColumnGroups.fit(X, caller=_CALLER)
        names, encodings, tables, schemas = [], [], [], []
        for block in blocks:
            if groups.whole and not data.features.only_rows:
                found = data.features
            else:
                found = validate_features(block.native, caller=_CALLER, missing="keep")
                schemas.append(found.schema())
            encoding, rows = Encoding.fit(found.X, found.categorical, text=block.kind == "text")
            names.append(str(block.name))
            encodings.append(encoding)
            tables.append(EncodedTable(rows, encoding.weighted))
        return cls(groups, names, encodings, schemas), tables

    def transform(self, clean: Any, X: Any) -> list[Table]:
        """Return the tables of other rows, ``clean`` where X is one table of numbers."""
        if not self.schemas:
            return [self.encodings[0].transform(clean)]
        blocks = self.groups.transform(X, caller=_CALLER)
        return [
            encoding.transform(validate_like(block.native, schema, caller=_CALLER))
            for block, schema, encoding in zip(blocks, self.schemas, self.encodings)
        ]


class Task(NamedTuple):
    """What parts learn from: labels that some rows have and others lack."""

    table: Table
    Y: sp.csr_array
    unknown: sp.csr_array | None
    weight: Weights
    n_trees: int = 1
    n_jobs: int | None = None
    weighted: bool = False  # cells of a sparse table say how much they tell, as TF-IDF does

    @property
    def known(self) -> NDArray[np.bool_] | None:
        """A mask of known cells, None if all are."""
        return known_cells(self.unknown)

    @property
    def present(self) -> Floats:
        """Zeros and ones, as dense as the scores of parts are."""
        return self.Y.toarray().astype(float)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.Y.shape[1])

    def take(self, rows: Any) -> Task:
        """Return some of the rows."""
        return self._replace(
            table=self.table[rows],
            Y=self.Y[rows],
            unknown=take_unknown(self.unknown, rows),
            weight=take_weights(self.weight, rows),
        )


def find_learned(data: Data) -> NDArray[np.intp]:
    """Return the labels that some of the rows in which they are known have, and others lack."""
    counts = column_counts(data.Y)
    return np.flatnonzero((counts > 0) & (counts < data.labels.n_known))


def make_tasks(
    tables: list[EncodedTable],
    data: Data,
    labels: NDArray[np.intp],
    weight: Weights = None,
    *,
    n_trees: int,
    n_jobs: int | None = None,
) -> list[Task]:
    """Return what parts learn from, for every table."""
    Y = take_labels(data.Y, labels)
    unknown = None if data.unknown is None else take_labels(data.unknown, labels)
    return [Task(one.rows, Y, unknown, weight, n_trees, n_jobs, one.weighted) for one in tables]
