"""Which columns of X are nominal, and how many categories each declares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from labelance._validation import Schema
from labelance.exceptions import InputError


def nominal_columns(
    categorical_features: ArrayLike | None, d: int, names: ArrayLike | None
) -> NDArray[np.int64]:
    """Return the numbers of the nominal columns, given as a mask, numbers or names."""
    if categorical_features is None:
        return np.empty(0, dtype=np.int64)
    given = np.asarray(categorical_features)
    if given.dtype == bool:
        if given.shape != (d,):
            raise InputError(
                "categorical_features as a mask has one entry per feature",
                f"it has shape {given.shape} and X has {d} features",
                f"Give {d} booleans, column numbers or column names",
            )
        return np.flatnonzero(given)
    if given.dtype.kind in "OUS":
        given = _positions(given, names)
    numbers = given.astype(np.int64)
    if np.any((numbers < -d) | (numbers >= d)):
        raise InputError(
            f"categorical_features names columns 0 to {d - 1}",
            f"it has {numbers.min()} to {numbers.max()}",
            "Count columns from 0",
        )
    return np.unique(numbers % d)


def _positions(wanted: NDArray[Any], names: ArrayLike | None) -> NDArray[np.int64]:
    known = [] if names is None else list(np.asarray(names))
    strange = [name for name in wanted if name not in known]
    if strange:
        raise InputError(
            "categorical_features names columns of X",
            f"X has no column {strange[0]!r}",
            "Give names of a data frame's columns, or column numbers",
        )
    return np.array([known.index(name) for name in wanted], dtype=np.int64)


def count_categories(
    X: Any, nominal: NDArray[np.int64], n_categories: ArrayLike | None
) -> NDArray[np.int32]:
    """Return the number of categories of every feature, 0 for a numeric one.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        Clean rows.
    nominal : ndarray
        Numbers of the nominal columns.
    n_categories : int or array-like of shape (len(nominal),), optional
        The declared numbers; the codes up to the largest one if None.
    """
    counts = np.zeros(X.shape[1], dtype=np.int32)
    if len(nominal) == 0:
        return counts
    part = X if len(nominal) == X.shape[1] else X[:, nominal]
    cells = part.data if issparse(part) else part
    known = cells[~np.isnan(cells)]
    if np.any(known < 0) or np.any(known != np.floor(known)):
        raise InputError(
            "Nominal features hold category codes 0, 1, 2, …",
            "there are negative or fractional cells among them",
            "Encode them, for example with sklearn.preprocessing.OrdinalEncoder",
        )
    largest = _largest(part)
    if n_categories is None:
        counts[nominal] = np.maximum(largest + 1, 2)
        return counts
    counts[nominal] = np.asarray(n_categories)
    if np.any(largest >= counts[nominal]):
        wrong = int(np.flatnonzero(largest >= counts[nominal])[0])
        raise InputError(
            f"Feature {nominal[wrong]} declares {counts[nominal[wrong]]} categories",
            f"it has the code {largest[wrong]}",
            "Raise its n_categories",
        )
    return counts


def categories_of_features(
    X: Any, own: NDArray[np.int64], n_categories: ArrayLike | None, schema: Schema | None
) -> NDArray[np.int32]:
    """Return the number of categories of every feature, 0 for a numeric one.

    Features may be nominal for the tree (``own``), as codes, or nominal in the data that the
    schema tells of: a data frame's categorical columns, and those that a learner was told of.
    """
    counts = count_categories(X, own, n_categories)
    if schema is not None:
        # What had other cells than 0 and 1 is coded, and so in one of the next two.
        counts[schema.categorical] = 2
        for column, values in (schema.categories | schema.decoders).items():
            counts[column] = max(1, len(values))
    return counts


def _largest(part: Any) -> NDArray[np.int64]:
    """Return the largest code of every column."""
    if issparse(part):
        columns = part.tocsc()
        largest = np.zeros(part.shape[1])
        held = np.flatnonzero(np.diff(columns.indptr))
        codes = np.nan_to_num(columns.data)
        largest[held] = np.maximum.reduceat(codes, columns.indptr[held]) if len(held) else 0
    else:
        largest = np.nan_to_num(part).max(axis=0)
    return largest.astype(np.int64)
