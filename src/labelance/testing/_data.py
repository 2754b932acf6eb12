"""Data for the laws: small data with rare labels and equal rows, and hostile cases."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import to_dense
from labelance._arrays._open import open_container
from labelance.exceptions import LabelanceError, LabelanceWarning


def sampler_data(n: int = 60, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y whose labels form regions; the last label is present in most rows.

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


SPARSE_KINDS = (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array)
_LARGEST, _TINIEST = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal


@dataclass(frozen=True)
class HostileCase:
    """X and Y with one thing odd about them, and what that is."""

    name: str
    X: Any
    Y: Any


def hostile_cases() -> Iterator[HostileCase]:
    """Yield data sets at the edge of what is allowed, made again at every call."""
    for make in (_odd_values, _odd_labels, _few_rows, _odd_arrays, _odd_sparse, _odd_frames):
        yield from (HostileCase(*case) for case in make())


def _odd_values() -> Iterator[tuple[str, Any, Any]]:
    X, Y = sampler_data(n=30)
    yield "all values equal", np.full_like(X, 7.0), Y
    yield "constant columns", np.where([True, False, True, False], 0.0, X), Y
    yield "every row twice", np.repeat(X[:15], 2, axis=0), np.repeat(Y[:15], 2, axis=0)
    yield "equal rows with other labels", np.repeat(X[:3], 10, axis=0), Y
    yield "huge values", np.sign(X) * _LARGEST, Y
    yield "one huge column", X * [1.0, 1e300, 1.0, 1.0], Y
    yield "tiny values", np.round(X) * _TINIEST, Y
    yield "values of every size", X * np.logspace(-300, 300, X.size).reshape(X.shape), Y
    yield "huge float32", (np.sign(X) * np.finfo(np.float32).max).astype(np.float32), Y
    yield "negative zeros", np.where(X == 0, -0.0, X), Y


def _odd_labels() -> Iterator[tuple[str, Any, Any]]:
    X, Y = sampler_data(n=30)
    yield "one label", X, Y[:, :1]
    yield "no row has a label", X, np.zeros_like(Y)
    yield "every row has every label", X, np.ones_like(Y)
    yield "one row has a label", X, np.eye(30, 5, dtype=int)
    yield "equal labels", X, np.repeat(Y[:, 3:4], 4, axis=1)
    yield "opposite labels", X, np.column_stack([Y[:, 3], 1 - Y[:, 3]])
    yield "more labels than rows", X, np.eye(30, 40, dtype=int)
    yield "a label for every row and one for all", X, np.eye(30, dtype=int) | (np.arange(30) == 0)


def _few_rows() -> Iterator[tuple[str, Any, Any]]:
    X, Y = sampler_data(n=30)
    for n in range(1, 6):
        yield f"rows: {n}", X[:n], Y[:n]
    yield "one column", X[:, :1], Y


def _odd_arrays() -> Iterator[tuple[str, Any, Any]]:
    X, Y = sampler_data(n=30)
    whole = np.round(X * 3)
    for dtype in (np.float16, np.float32, np.int8, np.uint8, np.bool_, np.int64, np.longdouble):
        yield f"{np.dtype(dtype)} features", np.abs(whole).astype(dtype), Y
    yield "integers beyond floats", whole.astype(np.int64) * 2**58 + 1, Y
    yield "bool labels", X, Y.astype(bool)
    yield "float16 labels", X, Y.astype(np.float16)
    yield "big-endian", X.astype(">f8"), Y.astype(">i2")
    yield "Fortran order", np.asfortranarray(X), np.asfortranarray(Y)
    yield (
        "every second cell",
        np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2],
        np.repeat(Y, 2, 0)[::2],
    )
    yield "backwards", X[::-1, ::-1], Y[::-1, ::-1]
    X_frozen, Y_frozen = X.copy(), Y.copy()
    X_frozen.flags.writeable = Y_frozen.flags.writeable = False
    yield "read-only", X_frozen, Y_frozen
    yield "lists", X.tolist(), Y.tolist()
    yield "objects", X.astype(object), Y.astype(object)


def _odd_sparse() -> Iterator[tuple[str, Any, Any]]:
    X, Y = sampler_data(n=30)
    yield "nothing stored", sp.csr_array(X.shape), sp.csr_array(Y)
    yield "empty columns", sp.csr_array(X * [0, 1, 0, 1]), sp.csr_array(Y)
    yield "labels without a one", sp.csr_array(X), sp.csr_array(Y.shape, dtype=np.int64)
    yield "unsorted cells", _unsorted(sp.csr_array(X)), _unsorted(sp.csr_array(Y))
    yield "cells in two parts", _in_two_parts(sp.csr_array(X)), sp.csr_array(Y)
    yield "stored zeros", _with_zeros(X), _with_zeros(Y)
    yield "COO", sp.coo_array(X), sp.coo_array(Y)
    yield "64-bit indices", _wide(sp.csr_array(X)), _wide(sp.csr_array(Y))
    frozen = sp.csr_array(X), sp.csr_array(Y)
    for table in frozen:
        for part in (table.data, table.indices, table.indptr):
            part.flags.writeable = False
    yield "read-only sparse", *frozen


def _odd_frames() -> Iterator[tuple[str, Any, Any]]:
    import pandas as pd

    X, Y = sampler_data(n=30)
    mixed = pd.DataFrame(
        {
            "float32": X[:, 0].astype(np.float32),
            "int8": np.round(X[:, 1]).astype(np.int8),
            "bool": X[:, 2] > 0,
            "words": pd.Categorical.from_codes(np.arange(30) % 3, ["a", "b", "c"]),
        },
        index=np.arange(30) // 2,
    )
    yield "mixed columns and a repeated index", mixed, pd.DataFrame(Y, index=mixed.index)
    yield "one category", mixed.assign(words=pd.Categorical(["a"] * 30)), Y


def _unsorted(table: Any) -> Any:
    """Return the same cells, in every row the last one first."""
    order = np.concatenate(
        [np.arange(start, stop)[::-1] for start, stop in zip(table.indptr, table.indptr[1:])]
    )
    cells = table.data[order], table.indices[order], table.indptr
    return type(table)(cells, shape=table.shape)


def _in_two_parts(table: Any) -> Any:
    """Return the same numbers, each stored as two halves."""
    cells = np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), table.indptr * 2
    return type(table)(cells, shape=table.shape)


def _with_zeros(table: np.ndarray) -> Any:
    """Return a CSR array that stores every cell, zeros too."""
    n, d = table.shape
    cells = table.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)
    return sp.csr_array(cells, shape=(n, d))


def _wide(table: Any) -> Any:
    cells = table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64)
    wide = type(table)(table.shape, dtype=table.dtype)
    wide.data, wide.indices, wide.indptr = cells
    return wide


def try_hostile_cases(work: Callable[[HostileCase], None]) -> None:
    """Run a check on all hostile cases: it may raise our errors, and must not change the input."""
    for case in hostile_cases():
        before = deepcopy((case.X, case.Y))
        with _named_errors_only(case.name):
            work(case)
        same = all(map(_unchanged, before, (case.X, case.Y)))
        assert same, f"{case.name}: the input was changed"


@contextmanager
def _named_errors_only(name: str) -> Iterator[None]:
    """Let errors and warnings of this library pass, and call all others by the case's name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", LabelanceWarning)
            yield
    except LabelanceError:
        return
    except Exception as error:
        raise AssertionError(f"{name}: {error!r}") from error


def dense_values(table: Any) -> np.ndarray:
    """Return what any container holds, category codes included, as an array."""
    values = open_container(table, "X").clean()
    return np.asarray(to_dense(values))


def _unchanged(before: Any, after: Any) -> bool:
    if sp.issparse(before):
        parts = ("coords",) if before.format == "coo" else ("indices", "indptr")
        return all(
            np.array_equal(getattr(before, part), getattr(after, part)) for part in ("data", *parts)
        )
    return (
        bool(before.equals(after)) if hasattr(before, "equals") else np.array_equal(before, after)
    )
