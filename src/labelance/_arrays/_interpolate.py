"""New rows between pairs of rows, with the same random numbers for any container.

A random number is consumed only for a feature in which seed and reference are both known
and differ, in column order. So a sparse row costs its non-zeros, not d, and the same seed
gives the same values whatever the container.

Dense rows have a form of the rule in NumPy, which a test holds against the kernels of sparse rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import is_blocks, is_tensor, rows_below
from labelance._arrays._dask import DaskRows, even_edges
from labelance._arrays._kernels import count_sparse, fill_sparse
from labelance._arrays._torch import interpolate_tensor

# Dense rows are made in blocks of about this many cells, which stay in the processor's cache. The
# stream of a Generator does not depend on how it is cut, so neither does the result.
_CELLS_PER_BLOCK = 1 << 14
_NUMBERS_PER_BLOCK = 1 << 17  # drawn for sparse rows, or only to be skipped


class Pairs(NamedTuple):
    """The pairs of rows between which new rows lie."""

    seeds: np.ndarray
    references: np.ndarray
    categorical: np.ndarray  # which features are nominal
    line: bool  # one random number for all numeric features of a row


def interpolate_rows(
    X: Any,
    seeds: np.ndarray,
    references: np.ndarray,
    categorical: np.ndarray,
    rng: np.random.Generator,
    *,
    line: bool = False,
    room: bool = False,
) -> Any:
    """Return one row per pair, each value between the pair's two values.

    Parameters
    ----------
    X : ndarray, csr_array, tensor on a GPU or DaskRows, of shape (n, d)
        Clean rows. New rows of rows in blocks are in blocks, and made when they are wanted.
    seeds, references : ndarray of shape (g,)
        Row numbers of the pairs.
    categorical : ndarray of bool of shape (d,)
        Nominal features: a fair coin chooses one of the two values, a known one if the
        other is missing. A numeric value is missing if either of the two is.
    rng : Generator
        Where the random numbers come from.
    line : bool
        One random number for all numeric features of a row, instead of one each.
    room : bool
        Leave room above new rows for those of X: joining them, once, copies X alone.
    """
    if is_tensor(X):  # without nominal features and missing values: validation saw to that
        return interpolate_tensor(X, seeds, references, rng, line=line)
    pairs = Pairs(seeds.astype(np.int64), references.astype(np.int64), categorical, line)
    if is_blocks(X):
        return _interpolate_blocks(X, pairs, rng)
    if sp.issparse(X):
        return _interpolate_sparse(X, pairs, rng, room=room)
    out = rows_below(X, len(seeds)) if room else np.empty((len(seeds), X.shape[1]), X.dtype)
    step = max(1, _CELLS_PER_BLOCK // max(1, X.shape[1]))
    for start in range(0, len(seeds), step):
        block = slice(start, start + step)
        both = X[seeds[block]], X[references[block]]
        out[block] = _between_dense(*both, categorical, line, rng)
    return out


def interpolate_pairs(
    A: Any, B: Any, categorical: np.ndarray, rng: np.random.Generator, *, line: bool = False
) -> Any:
    """Return what `interpolate_rows` does for seeds and references that were taken already.

    New rows can be made block by block, wherever the parents are: blocks that take their numbers
    from one generator in turn, or each from `skip_numbers`, make the rows of one call.

    Parameters
    ----------
    A, B : ndarrays or csr_arrays of shape (g, d)
        The clean seeds and references of consecutive new rows.
    categorical, rng, line
        As for `interpolate_rows`.
    """
    both = sp.vstack([A, B], format="csr") if sp.issparse(A) else np.concatenate([A, B])
    seeds = np.arange(A.shape[0])
    return interpolate_rows(both, seeds, seeds + len(seeds), categorical, rng, line=line)


def count_numbers(A: Any, B: Any, categorical: np.ndarray, *, line: bool = False) -> np.ndarray:
    """Return how many random numbers `interpolate_pairs` takes for each pair."""
    seeds = np.arange(A.shape[0])
    if sp.issparse(A):
        pairs = Pairs(seeds, seeds + len(seeds), categorical, line)
        return np.diff(count_sparse(**_parts(sp.vstack([A, B], format="csr"), pairs))[0])
    wants = (A != B) & ~(np.isnan(A) | np.isnan(B))
    return 1 + wants[:, categorical].sum(axis=1) if line else wants.sum(axis=1)


def skip_numbers(rng: np.random.Generator, n: int) -> np.random.Generator:
    """Return a copy of a generator that has drawn n uniform numbers already.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._interpolate import skip_numbers
    >>> later = skip_numbers(np.random.default_rng(0), 3)
    >>> later.random() == np.random.default_rng(0).random(4)[3]
    np.True_
    """
    later = deepcopy(rng)
    bits = later.bit_generator
    if isinstance(bits, (np.random.PCG64, np.random.PCG64DXSM)):
        before: Any = bits.state
        bits.advance(n)
        after: Any = bits.state
        # Advancing forgets the second half of a number of which the first half was used.
        bits.state = after | {name: before[name] for name in ("has_uint32", "uinteger")}
        return later
    for start in range(0, n, _NUMBERS_PER_BLOCK):
        later.random(min(_NUMBERS_PER_BLOCK, n - start))
    return later


def _interpolate_blocks(X: DaskRows, pairs: Pairs, rng: np.random.Generator) -> DaskRows:
    """Return new rows in blocks, each with the random numbers that it would have in one call.

    How many numbers a block takes depends on its rows, so these are counted now.
    """
    edges = even_edges(len(pairs.seeds), X.largest)
    A, B = X.take(pairs.seeds, edges), X.take(pairs.references, edges)
    options: dict[str, Any] = {"categorical": pairs.categorical, "line": pairs.line}
    streams, later = [], rng
    for needed in A.compute(partial(count_numbers, **options), B.blocks):
        streams.append(skip_numbers(later, 0))
        later = skip_numbers(later, int(needed.sum()))
    rng.bit_generator.state = later.bit_generator.state
    return A.transform(partial(_interpolate_block, **options), B.blocks, streams)


def _interpolate_block(
    A: Any, B: Any, stream: np.random.Generator, categorical: np.ndarray, line: bool
) -> Any:
    # A copy of the stream, since a block may be made more than once.
    return interpolate_pairs(A, B, categorical, skip_numbers(stream, 0), line=line)


@np.errstate(over="ignore", invalid="ignore")
def _between_dense(
    A: np.ndarray, B: np.ndarray, nominal: np.ndarray, line: bool, rng: np.random.Generator
) -> np.ndarray:
    """Return values between those of A and B (one of the two if nominal), in float64."""
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    between = B - A
    missing = np.isnan(between)
    wants_number = (between != 0) & ~missing
    if line:
        wants_number[:, ~nominal] = False
    u = _draw_positions(wants_number, line, rng)
    between *= u
    between += A
    # Rounding may step over an end by the last digit.
    np.maximum(between, np.minimum(A, B), out=between)
    np.minimum(between, np.maximum(A, B), out=between)
    if not wants_number.all():
        np.copyto(between, A, where=A == B)  # also the sign of a zero
    if nominal.any():
        takes_b = np.where(missing, np.isnan(A), u >= 0.5)
        np.copyto(between, np.where(takes_b, B, A), where=nominal)
    return between


def _draw_positions(wants: np.ndarray, line: bool, rng: np.random.Generator) -> np.ndarray:
    """Draw a number for each cell that wants one, row after row.

    With ``line`` a row begins with a number for all the cells that want none of their own.
    """
    if line:
        wants = np.column_stack([np.ones(len(wants), dtype=bool), wants])
    if wants.all():
        positions = rng.random(wants.shape)
    else:
        positions = np.zeros(wants.shape)
        positions[wants] = rng.random(np.count_nonzero(wants))
    if line:
        return np.where(wants[:, 1:], positions[:, 1:], positions[:, :1])
    return positions


def _interpolate_sparse(
    X: sp.csr_array, pairs: Pairs, rng: np.random.Generator, *, room: bool
) -> sp.csr_array:
    parts, g = _parts(X, pairs), len(pairs.seeds)
    offsets, capacity = count_sparse(**parts)
    above = X.nnz if room else 0
    data = np.empty(above + capacity, dtype=X.dtype)
    columns = np.empty(above + capacity, dtype=X.indices.dtype)
    ends = np.zeros(g + 1, dtype=np.int64)
    parts |= {"new_data": data[above:], "new_indices": columns[above:], "new_indptr": ends}
    for start, stop in _cut_numbers(offsets):
        needed = offsets[stop] - offsets[start]
        fill_sparse(**parts, numbers=rng.random(needed), start=start, stop=stop)
    del parts
    for array in (data, columns):
        array.resize(above + ends[-1], refcheck=False)  # there is no other reference
    out = sp.csr_array((g, X.shape[1]), dtype=X.dtype)
    # Not by its constructor: that copies what is less than half of an array, such as new rows
    # below those of X.
    short = X.indptr.dtype if ends[-1] < 2**31 else np.dtype(np.int64)
    out.data, out.indices, out.indptr = data[above:], columns[above:], ends.astype(short)
    out.has_sorted_indices = True
    return out


def _parts(X: sp.csr_array, pairs: Pairs) -> dict[str, Any]:
    """Return sparse rows and pairs of them as compiled code takes them."""
    rows = {"data": X.data, "indices": X.indices, "indptr": X.indptr.astype(np.int64)}
    return rows | pairs._asdict() | {"categorical": pairs.categorical.view(np.uint8)}


def _cut_numbers(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield blocks of rows that take about this many random numbers together, or one row each."""
    edges = np.flatnonzero(np.diff(offsets[:-1] // _NUMBERS_PER_BLOCK)) + 1
    return pairwise([0, *edges.tolist(), len(offsets) - 1])
