"""Data of any number of rows for the benchmarks of scale: in clusters, on a surface, like texts."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

TEXTS = ("text", "growing text")
KINDS = ("clusters", "few dimensions", *TEXTS)
N_FEATURES, N_LABELS = 64, 50
_INNER = 8  # dimensions of the surface
_WORDS, _OF_TOPIC, _VOCABULARY = 30, 40, 20_000  # of a text, of a topic, of all texts
_AT_FIRST = 10_000  # texts that have this vocabulary where it grows with their root (Heaps' law)
_ROWS_PER_GROUP = 200  # in a cluster, or about a topic


def make_rows(kind: str, n: int, d: int = N_FEATURES) -> np.ndarray | sp.csr_array:
    """Return n rows of a kind: dense float32 of d features, or CSR float64 of 20,000 and more.

    Parameters
    ----------
    kind : {"clusters", "few dimensions", "text", "growing text"}
        200 rows about each center; a bent surface of 8 dimensions; 30 words of a text, most of
        them of its topic and the others by Zipf's law, weighted by rarity, of length 1, from a
        vocabulary that stays as it is, or grows.
    n, d : int
        How many rows and features.
    """
    rng = np.random.default_rng(0)
    group = rng.integers(_n_groups(n), size=n)
    if kind == "clusters":
        centers = rng.standard_normal((_n_groups(n), d), dtype=np.float32)
        X = rng.standard_normal((n, d), dtype=np.float32)
        X *= 0.3
        X += centers[group]
        return X
    if kind == "few dimensions":
        inner = rng.standard_normal((n, _INNER), dtype=np.float32)
        X = np.tanh(inner @ rng.standard_normal((_INNER, d), dtype=np.float32))
        X += 0.01 * rng.standard_normal((n, d), dtype=np.float32)
        return X
    growth = 1.0 if kind == "text" else np.sqrt(n / _AT_FIRST)
    return _make_texts(group, rng, round(_VOCABULARY * growth))


def make_labels(n: int) -> sp.csr_array:
    """Return a label for every row, by its group: one in many rows, the others in few."""
    group = np.random.default_rng(0).integers(_n_groups(n), size=n)
    labels = np.minimum((group % 997 + np.random.default_rng(1).integers(3, size=n)) % 200, 49)
    return sp.csr_array((np.ones(n, np.int8), (np.arange(n), labels)), shape=(n, N_LABELS))


def data_bytes(X: np.ndarray | sp.csr_array) -> int:
    """Return how large rows are in memory."""
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def _n_groups(n: int) -> int:
    return max(20, n // _ROWS_PER_GROUP)


def _make_texts(topic: np.ndarray, rng: np.random.Generator, vocabulary: int) -> sp.csr_array:
    n = len(topic)
    of_topic = rng.integers(vocabulary, size=(topic.max() + 1, _OF_TOPIC), dtype=np.int32)
    words = of_topic[topic[:, np.newaxis], rng.integers(_OF_TOPIC, size=(n, _WORDS))]
    common = np.exp(rng.random((n, _WORDS)) * np.log(vocabulary)).astype(np.int32) - 1
    other = rng.random((n, _WORDS)) < 0.3
    words[other] = common[other]
    ends = np.arange(0, n * _WORDS + 1, _WORDS, dtype=np.int32)
    X = sp.csr_array((np.ones(n * _WORDS), words.ravel(), ends), shape=(n, vocabulary))
    X.sum_duplicates()
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=vocabulary))) + 1
    X.data *= rarity[X.indices]
    return normalize(X, copy=False)
