"""Threads and blocks."""

from concurrent.futures import ThreadPoolExecutor
from math import ceil

import numpy as np
import pytest
from joblib import cpu_count, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

from labelance._utils._threads import thread_count
from labelance.neighbors import find_neighbors
from labelance.neighbors._search import even_block


def blas_threads():
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


@pytest.mark.slow
def test_searches_at_the_same_time_leave_blas_as_it_was():
    X = np.random.default_rng(0).normal(size=(400, 30))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: find_neighbors(X, 3, n_jobs=2), range(12)))
        assert blas_threads() == before
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)


def test_threads_follow_openmp_unless_told(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count(None) == cpu_count()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert thread_count(None) == 1
    assert thread_count(3) == 3


def test_a_process_backend_does_not_matter(engines):
    X = np.random.default_rng(0).normal(size=(60, 4))
    with engines(fast=True, working_memory=0.01), parallel_config(backend="loky"):
        found = find_neighbors(X, 3, n_jobs=2)
    np.testing.assert_array_equal(found.indices, find_neighbors(X, 3).indices)


@pytest.mark.parametrize(
    ("n", "most", "threads"), [(1, 5, 2), (2417, 512, 2), (10, 3, 4), (7, 1, 1)]
)
def test_blocks_are_even(n, most, threads):
    block = even_block(n, most, threads)
    assert 1 <= block <= most
    blocks = ceil(n / block)
    assert ceil(blocks / threads) <= ceil(n / (most * threads))
