"""New rows between pairs of rows, with the same random numbers for any container.

A random number is consumed only for a feature in which seed and reference are both known
and differ, in column order. So a sparse row costs its non-zeros, not d, and the same seed
gives the same values whatever the container.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import SparseRows, is_tensor, sparse_rows, squeeze_runs
from labelance._arrays._torch import interpolate_tensor
from labelance._utils import kernel

# Rows are made in blocks of about this many random numbers. The stream of a Generator does
# not depend on how it is cut, so neither does the result.
_NUMBERS_PER_BLOCK = 4_000_000
_NO_COLUMN = np.int64(2**62)


class Pairs(NamedTuple):
    """The pairs of rows between which new rows lie, as compiled code takes them."""

    seeds: np.ndarray
    references: np.ndarray
    categorical: np.ndarray  # which features are nominal
    line: bool  # one random number for all numeric features of a row


class Buffer(NamedTuple):
    """New sparse rows while they are made, each with the capacity that it may need."""

    data: np.ndarray
    columns: np.ndarray
    starts: np.ndarray  # of each row; one more at the end


def interpolate_rows(
    X: Any,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    rng: np.random.Generator,
    *,
    line: bool = False,
) -> Any:
    """Return one row per pair, each value between the pair's two values.

    Parameters
    ----------
    X : ndarray, csr_array or tensor on a GPU, of shape (n, d)
        Clean rows.
    seeds, references : ndarray of shape (g,)
        Row numbers of the pairs.
    categorical : ndarray of bool of shape (d,)
        Nominal features: a fair coin chooses one of the two values, a known one if the
        other is missing. A numeric value is missing if either of the two is.
    rng : Generator
        Where the random numbers come from.
    line : bool
        One random number for all numeric features of a row, instead of one each.
    """
    if is_tensor(X):  # without nominal features and missing values: validation saw to that
        return interpolate_tensor(X, seeds, references, rng, line=line)
    pairs = Pairs(seeds.astype(np.int64), references.astype(np.int64), categorical, line)
    return (_interpolate_sparse if sp.issparse(X) else _interpolate_dense)(X, pairs, rng)


def _interpolate_dense(X: np.ndarray, pairs: Pairs, rng: np.random.Generator) -> np.ndarray:
    n_new, d = len(pairs.seeds), X.shape[1]
    out = np.empty((n_new, d), dtype=X.dtype)
    step = max(1, _NUMBERS_PER_BLOCK // max(1, d))
    for start in range(0, n_new, step):
        block = slice(start, start + step)
        part = pairs._replace(seeds=pairs.seeds[block], references=pairs.references[block])
        offsets = _count_dense(X, part)
        _fill_dense(X, part, rng.random(offsets[-1]), offsets, out[block])
    return out


def _interpolate_sparse(X: sp.csr_array, pairs: Pairs, rng: np.random.Generator) -> sp.csr_array:
    rows = sparse_rows(X)
    offsets, starts = _count_sparse(rows, pairs)
    capacity = starts[-1]
    data = np.empty(capacity, dtype=X.dtype)
    buffer = Buffer(data, np.empty(capacity, dtype=X.indices.dtype), starts)
    ends = _fill_sparse(rows, pairs, rng.random(offsets[-1]), offsets, buffer)
    kept, indptr = squeeze_runs(starts[:-1], ends)
    out = sp.csr_array(
        (buffer.data[kept], buffer.columns[kept], indptr.astype(X.indptr.dtype)),
        shape=(len(pairs.seeds), X.shape[1]),
    )
    out.has_sorted_indices = True
    return out


@kernel
def _wants_number(a: float, b: float, nominal: bool, line: bool) -> bool:
    known = not (np.isnan(a) or np.isnan(b))
    return known and a != b and (nominal or not line)


@kernel
def _between(a: float, b: float, u: float, nominal: bool) -> float:
    """Return the value at position u between a and b (a coin if nominal)."""
    if np.isnan(a) or np.isnan(b):
        if nominal:
            return b if np.isnan(a) else a
        return np.nan
    if a == b:
        return np.float64(a)
    if nominal:
        return np.float64(a if u < 0.5 else b)
    value = a + u * (np.float64(b) - np.float64(a))
    # Rounding may step over an end by the last digit.
    return min(max(value, min(a, b)), max(a, b))


@kernel
def _count_dense(X: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return where each row's random numbers begin; the last entry is their total."""
    seeds, references, categorical, line = pairs
    offsets = np.zeros(len(seeds) + 1, dtype=np.int64)
    for t in range(len(seeds)):
        a, b = X[seeds[t]], X[references[t]]
        needed = 1 if line else 0
        for f in range(X.shape[1]):
            if _wants_number(a[f], b[f], categorical[f], line):
                needed += 1
        offsets[t + 1] = offsets[t] + needed
    return offsets


@kernel
def _fill_dense(
    X: np.ndarray, pairs: Pairs, numbers: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    seeds, references, categorical, line = pairs
    for t in range(len(seeds)):
        a, b = X[seeds[t]], X[references[t]]
        position = offsets[t]
        along = 0.0
        if line:
            along = numbers[position]
            position += 1
        for f in range(X.shape[1]):
            u = along
            if _wants_number(a[f], b[f], categorical[f], line):
                u = numbers[position]
                position += 1
            out[t, f] = _between(a[f], b[f], u, categorical[f])


@kernel
def _count_sparse(X: SparseRows, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row's random numbers begin, and where its stored values may begin."""
    data, indices, indptr = X
    seeds, references, categorical, line = pairs
    offsets = np.zeros(len(seeds) + 1, dtype=np.int64)
    starts = np.zeros(len(seeds) + 1, dtype=np.int64)
    for t in range(len(seeds)):
        p, p_end = indptr[seeds[t]], indptr[seeds[t] + 1]
        r, r_end = indptr[references[t]], indptr[references[t] + 1]
        needed = 1 if line else 0
        union = 0
        while p < p_end or r < r_end:
            f = min(
                indices[p] if p < p_end else _NO_COLUMN,
                indices[r] if r < r_end else _NO_COLUMN,
            )
            a = b = 0.0
            if p < p_end and indices[p] == f:
                a = data[p]
                p += 1
            if r < r_end and indices[r] == f:
                b = data[r]
                r += 1
            union += 1
            if _wants_number(a, b, categorical[f], line):
                needed += 1
        offsets[t + 1] = offsets[t] + needed
        starts[t + 1] = starts[t] + union
    return offsets, starts


@kernel
def _fill_sparse(
    X: SparseRows, pairs: Pairs, numbers: np.ndarray, offsets: np.ndarray, buffer: Buffer
) -> np.ndarray:
    """Fill every row of the buffer from its start on; return where each row ends."""
    data, indices, indptr = X
    seeds, references, categorical, line = pairs
    ends = np.empty(len(seeds), dtype=np.int64)
    for t in range(len(seeds)):
        p, p_end = indptr[seeds[t]], indptr[seeds[t] + 1]
        r, r_end = indptr[references[t]], indptr[references[t] + 1]
        position, end = offsets[t], buffer.starts[t]
        along = 0.0
        if line:
            along = numbers[position]
            position += 1
        while p < p_end or r < r_end:
            f = min(
                indices[p] if p < p_end else _NO_COLUMN,
                indices[r] if r < r_end else _NO_COLUMN,
            )
            a = b = 0.0
            if p < p_end and indices[p] == f:
                a = data[p]
                p += 1
            if r < r_end and indices[r] == f:
                b = data[r]
                r += 1
            u = along
            if _wants_number(a, b, categorical[f], line):
                u = numbers[position]
                position += 1
            value = _between(a, b, u, categorical[f])
            if value != 0:
                buffer.data[end] = value
                buffer.columns[end] = f
                end += 1
        ends[t] = end
    return ends
