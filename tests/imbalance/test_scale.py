"""Many rows and labels, without anything as large as rows times labels."""

import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelance.imbalance import LabelType, local_distribution, profile

resource = pytest.importorskip("resource")  # not on Windows

N, Q, K = 100_000, 5_000, 5
DENSE = N * Q  # bytes, if a cell took one


def clustered_labels(rng: np.random.Generator) -> csr_array:
    """Label 0 in 60% of the rows, and four more in each, shared within runs of 50 rows."""
    run = np.arange(N) // 50
    few = (run[:, None] * 7 + rng.integers(0, 12, (N, 4))) % (Q - 1) + 1
    most = np.flatnonzero(rng.random(N) < 0.6)
    rows = np.concatenate([np.repeat(np.arange(N), 4), most])
    columns = np.concatenate([few.ravel(), np.zeros(len(most), dtype=int)])
    Y = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(N, Q))
    Y.sum_duplicates()
    Y.data[:] = 1
    return Y


def most_memory_so_far() -> int:
    """What the process held at most, in bytes; sees compiled code too."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


@pytest.mark.slow
def test_many_rows_and_labels_take_no_dense_array():
    rng = np.random.default_rng(0)
    Y = clustered_labels(rng)
    neighbors = (np.arange(N)[:, None] + rng.integers(1, 30, (N, K))) % N
    before = most_memory_so_far()
    tracemalloc.start()
    result = profile(None, Y, neighborhood=SimpleNamespace(indices=neighbors))
    local = local_distribution(Y, SimpleNamespace(indices=neighbors))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < DENSE / 4
    assert most_memory_so_far() - before < DENSE / 2
    assert local.minority_value[0] == 0
    assert local.type_counts.sum() == local.minority.nnz
    assert (result.type_counts == local.type_counts).all()
    assert all((local.types.data == kind).any() for kind in LabelType)
