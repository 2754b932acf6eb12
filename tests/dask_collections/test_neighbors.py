"""Neighbors of rows in blocks are those of rows in memory, to the last bit."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask_tables import as_dask
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from labelance.exceptions import ContainerError, InputError, TooFewRowsError
from labelance.neighbors import find_neighbors
from labelance.sampling import MLSOL

pytest.importorskip("dask", reason="dask is not installed: pip install 'labelance[dask]'")

N = 90
OPTIONS = [
    {},
    {"scale": "range"},
    {"scale": "standard"},
    {"metric": "cosine"},
    {"metric": "cosine", "scale": "range"},
    {"metric": "manhattan", "scale": "standard"},
]


def rows(seed=0, n=N, d=4, digits=1):
    """Rows with ties, with rows that occur twice, and a row of zeros."""
    X = np.random.default_rng(seed).normal(size=(n, d)).round(digits)
    X[3] = 0.0
    X[n // 2] = X[n - 1] = X[1]
    return X


def assert_same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.fixture(params=["cells", "all pairs"])
def by_cell(monkeypatch, request):
    """Let few rows be shuffled by cell too, and blocks be searched in both ways."""
    monkeypatch.setattr("labelance.neighbors._dask._MANY_ROWS", 0)
    share = 2.0 if request.param == "cells" else -1.0
    monkeypatch.setattr("labelance.neighbors._dask.WORTHWHILE", share)


def cuts(n):
    """Any way to cut n rows into blocks, some of them of one row or of none."""
    places = st.lists(st.integers(0, n), max_size=6)
    return places.map(lambda at: np.diff([0, *sorted(at), n]).tolist())


@pytest.mark.slow
@settings(max_examples=12)
@given(lengths=cuts(N), seed=st.integers(0, 99), options=st.sampled_from(OPTIONS))
def test_blocks_do_not_matter(lengths, seed, options):
    X = rows(seed)
    assert_same(find_neighbors(as_dask(X, lengths), 5, **options), find_neighbors(X, 5, **options))


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS[:5], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("by_cell")
def test_a_shuffle_by_cell_does_not_matter(options, dtype):
    X = rows(n=400, d=3, digits=2).astype(dtype)
    if options.get("metric") == "cosine":
        X = X[np.abs(X).sum(axis=1) > 0]
    dX = as_dask(X, [100, 1, 150, len(X) - 251])
    assert_same(find_neighbors(dX, 4, **options), find_neighbors(X, 4, **options))


@pytest.mark.slow
@pytest.mark.usefixtures("by_cell")
def test_blocks_with_fewer_rows_than_neighbors_are_shuffled_too():
    X = rows(n=40, d=3, digits=2)
    assert_same(find_neighbors(as_dask(X, [5] * 8), 20), find_neighbors(X, 20))


@pytest.mark.usefixtures("by_cell")
def test_the_shuffle_searches_only_cells_within_reach(monkeypatch):
    centers = 100 * np.arange(8.0)[:, np.newaxis] * np.ones(5)
    X = np.concatenate([center + rows(c, n=50, d=5, digits=3) for c, center in enumerate(centers)])
    searched, search = [], import_module("labelance.neighbors._dask").Search

    def count(Q, X, *options, **more):
        searched.append(Q.shape[0] * X.shape[0])
        return search(Q, X, *options, **more)

    monkeypatch.setattr("labelance.neighbors._dask.Search", count)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(find_neighbors(as_dask(X[order], [50] * 8), 5), find_neighbors(X[order], 5))
    assert sum(searched) < 0.3 * len(X) ** 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "strange"), [("euclidean", 1e70), ("euclidean", 1e-200), ("cosine", 0.0)]
)
@pytest.mark.usefixtures("by_cell")
def test_rows_unlike_the_sample_that_places_cells(monkeypatch, metric, strange):
    monkeypatch.setattr("labelance.neighbors._dask._ROWS_PER_CENTER", 2)
    X = rows(n=400, d=3, digits=2)
    X[np.abs(X).sum(axis=1) == 0] = 1.0
    X[::7] *= strange
    dX = as_dask(X, [100, 1, 150, 149])
    assert_same(find_neighbors(dX, 4, metric=metric), find_neighbors(X, 4, metric=metric))


@pytest.mark.parametrize("lengths", [[90], [1, 88, 1], [30, 30, 30]], ids=str)
def test_sparse_rows(lengths):
    X = sp.random_array((N, 30), density=0.15, rng=np.random.default_rng(0), format="csr")
    for options in ({}, {"metric": "cosine"}, {"scale": "standard"}):
        found = find_neighbors(as_dask(X, lengths), 5, **options)
        assert_same(found, find_neighbors(X, 5, **options))


@pytest.mark.slow
def test_frames_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N).astype(np.float32),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], N)),
            "count": rng.integers(0, 9, N),
        }
    )
    X.loc[[4, 70], "size"] = np.nan
    X.loc[8, "color"] = np.nan
    dX = as_dask(X, [40, 20, 30])
    for scale in (None, "range", "standard"):
        options = {"missing": "distance", "scale": scale}
        assert_same(find_neighbors(dX, 3, **options), find_neighbors(X, 3, **options))


def test_nominal_numbers_are_coded_alike():
    X = rows()
    X[:, 1] = np.random.default_rng(1).choice([2.0, 7.5, 9.0], N)
    options = {"categorical_features": [1], "scale": "standard"}
    assert_same(find_neighbors(as_dask(X, [80, 10]), 5, **options), find_neighbors(X, 5, **options))


def test_bags_and_queries():
    X, bag = rows(), [5, 3, 80, 7, 1, 45, 89]
    dX = as_dask(X, [45, 1, 44])
    assert_same(find_neighbors(dX, 3, among=bag), find_neighbors(X, 3, among=bag))
    assert_same(find_neighbors(dX, 3, queries=X[:7]), find_neighbors(X, 3, queries=X[:7]))


def test_rows_whose_number_dask_does_not_know_are_counted():
    X = rows()
    dX = as_dask(X, [45, 45])
    chosen = dX[dX[:, 0] > 0]
    assert np.isnan(chosen.shape[0])
    assert_same(find_neighbors(chosen, 3), find_neighbors(X[X[:, 0] > 0], 3))


def no_rows():
    """Return a Dask array of which no block can be read."""
    import dask
    import dask.array as da

    def fail():
        raise AssertionError("a block is read")

    return da.from_delayed(dask.delayed(fail)(), (N, 4), dtype=float)


REFUSED = [
    ({"algorithm": "approx"}, InputError, r"searched exactly\. .* X\.compute\(\)"),
    ({"metric": "mahalanobis"}, ContainerError, "Whiten its features"),
    ({"metric": "seuclidean"}, ContainerError, 'scale="standard"'),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=str)
def test_what_blocks_cannot_do_is_refused_before_one_is_read(options, error, words):
    with pytest.raises(error, match=words):
        find_neighbors(no_rows(), 3, **options)
    with pytest.raises(error, match=words):
        MLSOL(**options).fit_resample(no_rows(), np.ones((N, 2)))


def test_a_search_of_their_own_is_refused_before_a_block_is_read():
    sampler = MLSOL(k_neighbors=NearestNeighbors(n_neighbors=4))
    with pytest.raises(ContainerError, match=r"needs rows in memory.*X\.compute"):
        sampler.fit_resample(no_rows(), np.ones((N, 2)))


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_the_way_out_of_metrics_that_learn_has_their_neighbors(metric):
    import dask.array as da

    X = np.random.default_rng(0).normal(size=(N, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    dX, options = as_dask(X, [45, 45]), {"scale": "standard"}
    if metric == "mahalanobis":
        options, dX = {}, dX @ np.linalg.cholesky(np.linalg.inv(da.cov(dX.T).compute()))
    found = find_neighbors(dX, 3, **options)
    np.testing.assert_array_equal(found.indices, find_neighbors(X, 3, metric=metric).indices)


def test_more_neighbors_than_rows_are_refused():
    with pytest.raises(TooFewRowsError, match="only 90 rows"):
        find_neighbors(as_dask(rows(), [45, 45]), N)


def test_strange_numbers_are_refused_by_column():
    X = rows()
    X[70, 2] = np.inf
    with pytest.raises(InputError, match=r"infinity \(inf\) in columns 2"):
        find_neighbors(as_dask(X, [45, 45]), 3)
    X[70, 2] = np.nan
    with pytest.raises(InputError, match="NaN in columns 2"):
        find_neighbors(as_dask(X, [45, 45]), 3)


def test_columns_that_are_no_numbers_say_what_to_do():
    words = pd.DataFrame({"a": pd.array(["x", "y"] * 5, dtype=object), "b": np.arange(10.0)})
    unknown = as_dask(words, [5, 5])
    for table in (unknown, unknown.astype({"a": "category"})):
        with pytest.raises(InputError, match="categorize") as refused:
            find_neighbors(table, 3)
        assert refused.value.found == "Categories are unknown in a"
