"""New rows made block by block are those of one call, whoever makes which block."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelance._arrays._interpolate import (
    count_numbers,
    interpolate_pairs,
    interpolate_rows,
    skip_numbers,
)

CONTAINERS = [np.array, sp.csr_array]
GENERATORS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox]


def pairs():
    """Return rows with equal, missing and nominal values, and pairs of them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (30, 7)) / 3
    X[rng.random(X.shape) < 0.1] = np.nan
    seeds, references = rng.integers(30, size=(2, 25))
    return X, seeds, references, np.arange(7) % 3 == 0


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("line", [False, True])
def test_blocks_in_turn_are_the_rows_of_one_call(container, line):
    X, seeds, references, nominal = pairs()
    X = container(X)
    rng, ours = np.random.default_rng(1), np.random.default_rng(1)
    whole = interpolate_rows(X, seeds, references, nominal, rng, line=line)
    parts = [
        interpolate_pairs(X[seeds[part]], X[references[part]], nominal, ours, line=line)
        for part in (slice(0, 4), slice(4, 5), slice(5, 25))
    ]
    np.testing.assert_array_equal(np.vstack(list(map(dense, parts))), dense(whole))
    assert ours.random() == rng.random()


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("line", [False, True])
def test_blocks_in_any_order_take_up_the_stream_where_they_begin(container, line):
    X, seeds, references, nominal = pairs()
    X = container(X)
    whole = interpolate_rows(X, seeds, references, nominal, np.random.default_rng(1), line=line)
    A, B = X[seeds], X[references]
    offsets = np.append(0, np.cumsum(count_numbers(A, B, nominal, line=line)))
    for t in reversed(range(len(seeds))):
        rng = skip_numbers(np.random.default_rng(1), int(offsets[t]))
        row = interpolate_pairs(A[[t]], B[[t]], nominal, rng, line=line)
        np.testing.assert_array_equal(dense(row), dense(whole[[t]]))


@pytest.mark.parametrize("bits", GENERATORS)
def test_skipped_numbers_are_drawn_numbers(bits):
    rng = np.random.Generator(bits(3))
    rng.integers(5, dtype=np.int32)  # uses half of a number, and keeps the other half
    later = skip_numbers(rng, 9)
    rng.random(9)
    assert later.integers(1 << 30, dtype=np.int32) == rng.integers(1 << 30, dtype=np.int32)
    assert later.random() == rng.random()
