"""How wrong a fast dot product can be, so that nobody is ruled out by rounding.

Points are the scaled rows, rounded to float32 (or float64), and multiplied by a power of two
where they would be too long or too short for that. Take unit roundoff u, ``terms`` products in
a sum and S = |x|² + |z|². Rounding the points and their lengths moves the squared distance by
less than 8 u S, summing in any order by less than terms u / (1 - terms u) S, and the bounds' own
arithmetic by a few u S. Products too small for a type lose less than float32's smallest normal
number each. The definition itself, a float64 sum of at most 2 terms squares, is off by less
than 2⁻⁵¹ (terms + 4) S; a little more lets sums that have the same root count as equal.
"""

from __future__ import annotations

import numpy as np

from labelance.neighbors._scan import Bounds

_WHOLE = 2.0**22  # whole numbers of squared length up to this never round, in float32


def bounds_of(
    corpus: np.ndarray, queries: np.ndarray, terms: int, dtype: np.dtype, *, cosine: bool
) -> Bounds:
    """Return bounds from the squared lengths of the points.

    Parameters
    ----------
    corpus, queries : float64 arrays
        Squared lengths of the rows searched and of the queries.
    terms : int
        The most products in any dot product; 0 says that nothing was rounded at all.
    dtype : float32 or float64
        In which the products were summed.
    cosine : bool
        Points are unit vectors (or zero), and twice their cosine distance is wanted.
    """
    if terms == 0:
        exact = corpus.astype(dtype)
        return Bounds(exact, exact, np.zeros(len(queries), dtype=dtype))
    unit, tiny = float(np.finfo(dtype).eps) / 2, 64.0 * terms * float(np.finfo(np.float32).tiny)
    share = unit * (terms / (1 - terms * unit) + 32) + 2.0**-51 * (terms + 16)
    if cosine:
        slack = np.full(len(corpus), 2 * share + tiny)
        return Bounds(
            (-slack).astype(dtype), slack.astype(dtype), np.zeros(len(queries), dtype=dtype)
        )
    low, high = corpus * (1 - share) - tiny, corpus * (1 + share) + tiny
    margin = 2 * share * queries + 2 * tiny
    return Bounds(low.astype(dtype), high.astype(dtype), margin.astype(dtype))


def is_whole(lengths: np.ndarray) -> bool:
    """Tell whether points of whole numbers are short enough for exact float32 sums."""
    return bool(lengths.max(initial=0.0) <= _WHOLE)


def is_ordinary(lengths: np.ndarray, *, each: bool) -> bool:
    """Tell whether squares in the longest row, or in each, neither overflow nor fade away."""
    some = lengths[lengths > 0] if each else lengths.max(keepdims=True, initial=0.0)
    return bool(((some > 1e-280) & (some < 1e280) | (some == 0)).all())


def safe_factor(lengths: np.ndarray) -> float:
    """Return a power of two that keeps squares of the longest point within any float type."""
    longest = float(lengths.max(initial=0.0))
    if longest == 0 or not np.isfinite(longest) or 2.0**-40 < longest < 2.0**40:
        return 1.0
    return float(2.0 ** -np.round(np.log2(longest) / 2))
