"""Dense rows as points: their dot products are distances of a feature metric, up to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from labelance._arrays._columns import column_range, columns_beyond_binary
from labelance.neighbors._metric import CompiledMetric

_SINGLE = np.dtype(np.float32)
_CELLS = 1 << 17  # cells worked on together, so that they stay in the processor's cache
_SAMPLE = 1024  # rows that say where the middle is; any middle is right, a good one rounds less
_WHOLE = 2.0**22  # integers of squared length up to this never round, in float32


@dataclass(frozen=True, eq=False)
class Embedding:
    """A map from clean rows to points.

    A numeric feature (and a nominal one of two categories) is one coordinate. A nominal feature
    of more categories is one coordinate per category: equal categories make a dot product of
    1, and the squared distance is 1 minus that.

    Parameters
    ----------
    center, width : arrays of shape (d,)
        A coordinate is ``(x - center) / width``.
    many, sizes : arrays of int
        The nominal features that are not 0 or 1 everywhere, and their numbers of categories.
    unit : bool
        Make every point of length 1, for the cosine distance.
    whole : bool
        The coordinates are small integers, so that nothing is ever rounded.
    dtype : float32 or float64
        The type of the points.
    factor : float
        A power of two that keeps points of any size within that type.
    """

    center: np.ndarray
    width: np.ndarray
    many: np.ndarray
    sizes: np.ndarray
    unit: bool
    whole: bool = False
    dtype: np.dtype = _SINGLE
    factor: float = 1.0

    @property
    def n_coordinates(self) -> int:
        return len(self.center) + int(self.sizes.sum())

    def weights(self) -> np.ndarray:
        """Return what a query's coordinates are multiplied by: -2, and -1 for categories."""
        d = len(self.center)
        return np.repeat([-2.0, -1.0], [d, self.n_coordinates - d]).astype(self.dtype)

    def scale(self, X: np.ndarray) -> np.ndarray:
        """Return the numeric coordinates in float64; a one-hot encoded feature has a 0."""
        scaled = X - self.center
        scaled /= self.width
        scaled *= self.factor
        if len(self.many):
            scaled[:, self.many] = 0.0
        return scaled

    def embed(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points of the rows of X, and their squared lengths (before ``unit``)."""
        n, d = X.shape
        points = np.zeros((n, self.n_coordinates), self.dtype)
        lengths = np.empty(n)
        for part in _parts(X):
            scaled = self.scale(X[part])
            lengths[part] = np.einsum("ij,ij->i", scaled, scaled)
            if self.unit:
                scaled /= np.sqrt(np.where(lengths[part] > 0, lengths[part], 1.0))[:, np.newaxis]
            points[part, :d] = scaled
        first = d
        for f, size in zip(self.many, self.sizes):
            for code in range(size):
                points[X[:, f] == code, first + code] = self.factor
            first += size
        return points, lengths + len(self.many) * self.factor**2 / 2


@dataclass(frozen=True, eq=False)
class Points:
    """Rows searched and queries on the same map, with their squared lengths."""

    embedding: Embedding
    corpus: np.ndarray
    corpus_lengths: np.ndarray
    queries: np.ndarray
    query_lengths: np.ndarray


@np.errstate(over="ignore", invalid="ignore")
def embed_all(Q: np.ndarray, X: np.ndarray, embedding: Embedding) -> Points | None:
    """Embed rows and queries, rescaled if their squares do not fit the floating-point type.

    None says that even float64 squares of these rows overflow or underflow.
    """
    points = _embed_both(Q, X, embedding)
    lengths = np.append(points.corpus_lengths, points.query_lengths)
    if not is_ordinary(lengths, each=embedding.unit):
        return None
    factor = 1.0 if embedding.unit else safe_factor(lengths)
    return points if factor == 1 else _embed_both(Q, X, replace(embedding, factor=factor))


def _embed_both(Q: np.ndarray, X: np.ndarray, embedding: Embedding) -> Points:
    corpus = embedding.embed(X)
    queries = corpus if Q is X else embedding.embed(Q)
    return Points(embedding, *corpus, *queries)


@np.errstate(over="ignore", invalid="ignore")
def choose_embedding(Q: np.ndarray, X: np.ndarray, metric: CompiledMetric) -> Embedding:
    """Choose the embedding of rows without missing values."""
    many, sizes = _categories(Q, X, metric.nominal)
    width = np.where(metric.nominal, 1.0, metric.width)
    plain = Embedding(np.zeros(len(width)), width, many, sizes, metric.cosine)
    if metric.cosine:
        return plain
    if _all_whole(X, plain) and (Q is X or _all_whole(Q, plain)):
        return replace(plain, whole=True)
    sample = X[np.arange(0, len(X), max(1, len(X) // _SAMPLE))]
    return replace(plain, center=sample.mean(axis=0, dtype=np.float64))


def _categories(Q: np.ndarray, X: np.ndarray, nominal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nominal features that are not 0 or 1 everywhere, and their numbers of categories.

    A missing category, or one that only the queries have, is at no coordinate at all.
    """
    many = columns_beyond_binary(X, nominal)
    if Q is not X:
        many = np.union1d(many, columns_beyond_binary(Q, nominal))
    largest = np.nan_to_num(column_range(X[:, many])[1])
    return many, largest.astype(np.int64) + 1


def _all_whole(X: np.ndarray, embedding: Embedding) -> bool:
    """Tell whether all coordinates are whole and short; most data fails in the first block."""
    if not np.isin(embedding.width, (1.0, np.inf)).all():
        return False
    for part in _parts(X):
        scaled = embedding.scale(X[part])
        lengths = np.einsum("ij,ij->i", scaled, scaled) + len(embedding.many)
        if not is_whole(lengths) or not (scaled == np.rint(scaled)).all():
            return False
    return True


def _parts(X: np.ndarray) -> Iterator[slice]:
    step = max(1, _CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        yield slice(start, start + step)


def is_whole(lengths: np.ndarray) -> bool:
    """Tell whether points of integers are short enough for exact float32 sums."""
    return bool(lengths.max(initial=0.0) <= _WHOLE)


def is_ordinary(lengths: np.ndarray, *, each: bool) -> bool:
    """Tell whether squares in the longest row, or in each, neither overflow nor underflow."""
    some = lengths[lengths > 0] if each else lengths.max(keepdims=True, initial=0.0)
    return bool(((some > 1e-280) & (some < 1e280) | (some == 0)).all())


def safe_factor(lengths: np.ndarray) -> float:
    """Return a power of two that keeps squares of the longest point within any float type."""
    longest = float(lengths.max(initial=0.0))
    if longest == 0 or not np.isfinite(longest) or 2.0**-40 < longest < 2.0**40:
        return 1.0
    return float(2.0 ** -np.round(np.log2(longest) / 2))
