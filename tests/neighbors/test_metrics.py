"""Cosine and the other metrics."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from labelance.exceptions import InputError
from labelance.neighbors import find_neighbors
from labelance.neighbors._metric import FeatureMetric

NUMBERS = st.one_of(st.integers(-2, 2).map(float), st.floats(-10, 10, allow_subnormal=False))
TABLES = st.tuples(st.integers(3, 10), st.integers(1, 4)).flatmap(
    lambda shape: hnp.arrays(np.float64, shape, elements=NUMBERS)
)
PLAIN = sorted(
    {*VALID_METRICS["brute"]}
    - {"precomputed", "cosine", "euclidean", "l2", "nan_euclidean", "haversine"}
    - {"mahalanobis", "seuclidean", "yule"}
    - {"sokalmichener"}  # scipy has taken it away
)


def cosine_table(X):
    largest = abs(X).max(axis=1, keepdims=True)
    X = np.ldexp(X, -np.frexp(largest)[1])  # so that no square fades away
    table = np.ones((len(X), len(X)))
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            xz = xx = zz = 0.0
            for a, b in zip(x, z):
                xz, xx, zz = xz + a * b, xx + a * a, zz + b * b
            if xx > 0 and zz > 0:
                table[i, j] = max(0.0, 1 - xz / (np.sqrt(xx) * np.sqrt(zz)))
    return table


@pytest.mark.slow
@given(X=TABLES, fast=st.booleans())
def test_cosine_equals_the_table(X, fast, nearest, engines):
    indices, distances = nearest(cosine_table(X), 2)
    with engines(fast, working_memory=0.002):
        for container in (X, sp.csr_array(X)):
            found = find_neighbors(container, 2, metric="cosine")
            np.testing.assert_array_equal(found.indices, indices)
            np.testing.assert_array_equal(found.distances, distances)


def test_cosine_is_scikit_learns_up_to_rounding():
    X = np.random.default_rng(1).normal(size=(60, 7))
    X[3] = 0
    table = pairwise_distances(X, metric="cosine")
    np.fill_diagonal(table, np.inf)
    found = find_neighbors(X, 5, metric="cosine")
    np.testing.assert_allclose(found.distances, np.sort(table)[:, :5], atol=1e-14)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("size", [1e200, 1e-170, 1e-310])
def test_the_length_of_a_row_does_not_change_its_direction(size, fast, engines):
    X = np.random.default_rng(2).normal(size=(80, 5))
    X[7] = 0
    expected = find_neighbors(X, 4, metric="cosine")
    lengths = np.where(np.arange(80) % 3, 1.0, 2.0 ** np.round(np.log2(size)))
    # The shortest rows lose digits: a float64 has few of them down there.
    rtol = 1e-2 if size < 1e-300 else 0
    with engines(fast, working_memory=0.002):
        for container in (X * lengths[:, None], sp.csr_array(X * lengths[:, None])):
            found = find_neighbors(container, 4, metric="cosine")
            np.testing.assert_allclose(found.distances, expected.distances, rtol=rtol)
            if not rtol:
                np.testing.assert_array_equal(found.indices, expected.indices)
    metric = FeatureMetric.learn(X, metric="cosine")
    for length in (size, 1 / size if size > 1e-300 else 1.0):
        distances = metric.paired(X, length * X[::-1])
        np.testing.assert_allclose(distances, metric.paired(X, X[::-1]), atol=1e-9)


@pytest.mark.parametrize("metric", PLAIN)
def test_other_metrics_are_scikit_learns(metric, nearest, engines):
    X = np.random.default_rng(2).integers(0, 3, (40, 4)).astype(float)
    X[:, 0] = 3 + np.arange(40) % 5  # no constant row, which some metrics cannot measure
    # scikit-learn makes sets of numbers too, with a warning.
    of_sets = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath")
    sets = X != 0 if metric in of_sets else X
    indices, distances = nearest(pairwise_distances(sets, metric=metric), 3)
    for memory in (1024, 0.01):
        with engines(fast=True, working_memory=memory):
            found = find_neighbors(X, 3, metric=metric, n_jobs=2)
            np.testing.assert_array_equal(found.indices, indices)
            np.testing.assert_array_equal(found.distances, distances)


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_metrics_that_learn_from_the_rows(metric, engines):
    X = np.random.default_rng(3).normal(size=(50, 4))
    table = pairwise_distances(X, metric=metric)
    np.fill_diagonal(table, np.inf)
    with engines(fast=True, working_memory=0.01):
        found = find_neighbors(X, 3, metric=metric)
    np.testing.assert_allclose(found.distances, np.sort(table)[:, :3], rtol=1e-10)


def test_haversine_and_callables():
    X = np.radians(np.random.default_rng(4).uniform(-80, 80, (20, 2)))
    table = pairwise_distances(X, metric="haversine")
    np.fill_diagonal(table, np.inf)
    np.testing.assert_allclose(
        find_neighbors(X, 2, metric="haversine").distances, np.sort(table)[:, :2]
    )
    city = find_neighbors(X, 2, metric=lambda a, b: np.abs(a - b).sum())
    np.testing.assert_array_equal(city.indices, find_neighbors(X, 2, metric="manhattan").indices)


def test_aliases_are_the_plain_distance():
    X = np.random.default_rng(5).normal(size=(30, 3))
    for name in ("l2", "nan_euclidean"):
        found = find_neighbors(X, 2, metric=name)
        np.testing.assert_array_equal(found.distances, find_neighbors(X, 2).distances)


def test_scale_comes_before_any_metric(nearest):
    X = np.random.default_rng(6).normal(size=(30, 3)) * [1, 10, 100]
    scaled = X / (X.max(axis=0) - X.min(axis=0))
    for container in (X, sp.csr_array(X)):
        found = find_neighbors(container, 2, metric="manhattan", scale="range")
        indices, distances = nearest(pairwise_distances(scaled, metric="manhattan"), 2)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_allclose(found.distances, distances)


@pytest.mark.slow
@given(X=TABLES, data=st.data())
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_paired_distances_are_those_of_the_search(metric, X, data):
    learned = FeatureMetric.learn(X, metric=metric, scale="range")
    found = find_neighbors(X, 2, metric=metric, scale="range")
    rows = np.repeat(np.arange(len(X)), 2)
    near = found.indices.ravel()
    np.testing.assert_array_equal(learned.paired(X, X, rows, near), found.distances.ravel())
    if metric != "chebyshev":
        sparse = sp.csr_array(X)
        pairs = FeatureMetric.learn(sparse, metric=metric, scale="range").paired(
            sparse, sparse, rows, near
        )
        np.testing.assert_array_equal(pairs, found.distances.ravel())
    np.testing.assert_array_equal(learned.paired(X, X[near[::2]]), found.distances[:, 0])


def test_paired_distances_of_a_callable():
    X = np.arange(6.0).reshape(3, 2)
    learned = FeatureMetric.learn(X, metric=lambda a, b: float(np.abs(a - b).max()))
    np.testing.assert_array_equal(learned.paired(X, X, [0, 1], [2, 1]), [4.0, 0.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "straight"}, "straight"),
        ({"metric": "precomputed"}, "precomputed"),
        ({"scale": "max"}, "scale must be one of None.* Got 'max'"),
        ({"metric": "manhattan", "missing": "distance"}, "euclidean"),
        ({"metric": "cosine", "categorical_features": [0]}, "categorical features"),
    ],
)
def test_what_cannot_be_measured_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        find_neighbors(np.eye(4), 2, **options)


def test_sparse_metrics_are_listed():
    with pytest.raises(InputError, match=r"X is sparse.*manhattan"):
        find_neighbors(sp.eye_array(4, format="csr"), 2, metric="chebyshev")


def test_undefined_distances_are_refused():
    with pytest.raises(InputError, match="undefined"):
        find_neighbors(np.ones((4, 2)), 2, metric="correlation")
    with pytest.raises(InputError, match="infinite"):
        find_neighbors(np.array([[1e200], [-1e200], [0.0]]), 2)


def test_mahalanobis_needs_independent_features():
    X = np.repeat(np.arange(6.0)[:, np.newaxis], 2, axis=1)
    with pytest.raises(InputError, match="covariance"):
        find_neighbors(X, 2, metric="mahalanobis")
