"""New rows between pairs of rows, dense or sparse, with the same random numbers for both.

A random number is consumed only for a feature in which seed and reference are both known
and differ, in column order. So a sparse row costs its non-zeros, not d, and the same seed
gives the same values whatever the container.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labelance._arrays._rows import squeeze_runs
from labelance._utils import kernel

# Rows are mixed in blocks of about this many random numbers. The stream of a Generator does
# not depend on how it is cut, so neither does the result.
_NUMBERS_PER_BLOCK = 4_000_000


def mix_rows(
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
    X : ndarray or csr_array of shape (n, d)
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
    seeds, references = seeds.astype(np.int64), references.astype(np.int64)
    mix = _mix_sparse if sp.issparse(X) else _mix_dense
    return mix(X, seeds, references, categorical, rng, line)


def _mix_dense(
    X: np.ndarray,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    rng: np.random.Generator,
    line: bool,
) -> np.ndarray:
    out = np.empty((len(seeds), X.shape[1]), dtype=X.dtype)
    step = max(1, _NUMBERS_PER_BLOCK // max(1, X.shape[1]))
    for start in range(0, len(seeds), step):
        block = slice(start, start + step)
        counts = _count_dense(X, seeds[block], references[block], categorical, line)
        numbers = rng.random(counts[-1])
        _fill_dense(
            X, seeds[block], references[block], categorical, line, numbers, counts, out[block]
        )
    return out


def _mix_sparse(
    X: sp.csr_array,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    rng: np.random.Generator,
    line: bool,
) -> sp.csr_array:
    csr = (X.data, X.indices, X.indptr)
    counts, room = _count_sparse(*csr, seeds, references, categorical, line)
    numbers = rng.random(counts[-1])
    data = np.empty(room[-1], dtype=X.dtype)
    columns = np.empty(room[-1], dtype=X.indices.dtype)
    ends = _fill_sparse(
        *csr, seeds, references, categorical, line, numbers, counts, room, data, columns
    )
    kept, indptr = squeeze_runs(room[:-1], ends)
    shape = (len(seeds), X.shape[1])
    out = sp.csr_array((data[kept], columns[kept], indptr.astype(X.indptr.dtype)), shape=shape)
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
def _count_dense(
    X: np.ndarray, seeds: np.ndarray, references: np.ndarray, categorical: np.ndarray, line: bool
) -> np.ndarray:
    """Return where each row's random numbers begin; the last entry is their total."""
    counts = np.zeros(len(seeds) + 1, dtype=np.int64)
    for t in range(len(seeds)):
        a, b = X[seeds[t]], X[references[t]]
        needed = 1 if line else 0
        for f in range(X.shape[1]):
            if _wants_number(a[f], b[f], categorical[f], line):
                needed += 1
        counts[t + 1] = counts[t] + needed
    return counts


@kernel
def _fill_dense(
    X: np.ndarray,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    line: bool,
    numbers: np.ndarray,
    counts: np.ndarray,
    out: np.ndarray,
) -> None:
    for t in range(len(seeds)):
        a, b = X[seeds[t]], X[references[t]]
        position = counts[t]
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
def _count_sparse(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    line: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row's random numbers begin, and where its stored values may begin."""
    counts = np.zeros(len(seeds) + 1, dtype=np.int64)
    room = np.zeros(len(seeds) + 1, dtype=np.int64)
    for t in range(len(seeds)):
        p, p_end = indptr[seeds[t]], indptr[seeds[t] + 1]
        r, r_end = indptr[references[t]], indptr[references[t] + 1]
        needed = 1 if line else 0
        union = 0
        while p < p_end or r < r_end:
            f = min(
                indices[p] if p < p_end else np.int64(2**62),
                indices[r] if r < r_end else np.int64(2**62),
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
        counts[t + 1] = counts[t] + needed
        room[t + 1] = room[t] + union
    return counts, room


@kernel
def _fill_sparse(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    line: bool,
    numbers: np.ndarray,
    counts: np.ndarray,
    room: np.ndarray,
    out: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    """Fill values and columns of every row from its room on; return where each row ends."""
    ends = np.empty(len(seeds), dtype=np.int64)
    for t in range(len(seeds)):
        p, p_end = indptr[seeds[t]], indptr[seeds[t] + 1]
        r, r_end = indptr[references[t]], indptr[references[t] + 1]
        position, end = counts[t], room[t]
        along = 0.0
        if line:
            along = numbers[position]
            position += 1
        while p < p_end or r < r_end:
            f = min(
                indices[p] if p < p_end else np.int64(2**62),
                indices[r] if r < r_end else np.int64(2**62),
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
                out[end] = value
                columns[end] = f
                end += 1
        ends[t] = end
    return ends
