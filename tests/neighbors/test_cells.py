"""Cells: exact where bounds rule others out, whatever the rows are."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from labelance import MLSOL
from labelance.exceptions import InputError, LongSearchWarning
from labelance.neighbors import find_neighbors

rng = np.random.default_rng(0)
N, D = 500, 6
CENTERS = rng.normal(size=(12, D)) * 5


def clustered(spread=0.3, n=N):
    return CENTERS[rng.integers(len(CENTERS), size=n)] + spread * rng.normal(size=(n, D))


# Data made to break bounds: ties, centers that coincide, rounding larger than distances.
ROWS = {
    "clusters": clustered(),
    "tight clusters": clustered(1e-7),
    "no clusters": rng.normal(size=(N, D)),
    "copies": np.repeat(clustered(n=N // 7), 7, axis=0),
    "all rows alike": np.ones((N, D)) * 0.3,
    "a lattice": rng.integers(4, size=(N, D)) / 3,
    "far from zero": clustered() + 1e5,
    "huge": clustered() * 1e80,
    "tiny": clustered() * 1e-80,
    "heavy tails": rng.standard_cauchy(size=(N, D)),
    "one far row": np.vstack([clustered(n=N - 1), np.full((1, D), 1e6)]),
    "single precision": clustered().astype(np.float32),
    "on a line": np.outer(rng.random(N), np.arange(1, D + 1)),
}


@pytest.fixture
def always_cells(monkeypatch):
    """Divide any number of rows among cells, however little that rules out."""
    monkeypatch.setattr("labelance.neighbors._find._SMALL", 0)
    monkeypatch.setattr("labelance.neighbors._dense._TREE_ROWS", np.inf)
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", np.inf)


def assert_equal(found, known):
    np.testing.assert_array_equal(found.indices, known.indices)
    np.testing.assert_array_equal(found.distances, known.distances)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("rows", ROWS)
def test_cells_find_what_measuring_every_pair_finds(rows, metric, request):
    X = ROWS[rows]
    known = [find_neighbors(X, k, metric=metric) for k in (5, 80)]
    request.getfixturevalue("always_cells")
    for around in known:
        assert_equal(find_neighbors(X, around.n_neighbors, metric=metric), around)


@pytest.mark.parametrize("scale", ["range", "standard"])
def test_scaled_rows_and_other_queries(scale, request):
    X, queries = ROWS["clusters"], np.vstack([ROWS["heavy tails"][:150], ROWS["clusters"][:30]])
    known = find_neighbors(X, 4, scale=scale, queries=queries)
    request.getfixturevalue("always_cells")
    assert_equal(find_neighbors(X, 4, scale=scale, queries=queries), known)


@pytest.mark.slow
def test_threads_do_not_change_a_thing(always_cells):
    X = ROWS["clusters"]
    assert_equal(find_neighbors(X, 5, n_jobs=2), find_neighbors(X, 5, n_jobs=1))


def test_rows_of_zeros_have_no_direction(request):
    X = ROWS["clusters"].copy()
    X[::50] = 0
    known = find_neighbors(X, 5, metric="cosine")
    request.getfixturevalue("always_cells")
    assert_equal(find_neighbors(X, 5, metric="cosine"), known)


def texts(n=N):
    """Sparse rows of a few topics, most of whose words are the topic's own."""
    rng = np.random.default_rng(1)
    topics = rng.integers(12, size=n)
    words = np.where(
        rng.random((n, 15)) < 0.7,
        rng.integers(200, size=(12, 20))[topics[:, None], rng.integers(20, size=(n, 15))],
        rng.integers(200, size=(n, 15)),
    )
    X = sp.coo_array((rng.random(words.size), (np.repeat(np.arange(n), 15), words.ravel())))
    return sp.csr_array(X)


def test_a_long_search_names_the_way_out(monkeypatch):
    monkeypatch.setattr("labelance.neighbors._find._LONG", 0)
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 400)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", 0)
    X, y = ROWS["no clusters"], (rng.random((N, 3)) < 0.3).astype(int)
    for search in (find_neighbors, MLSOL(random_state=0).fit_resample, MLSOL().plan):
        with pytest.warns(LongSearchWarning, match="algorithm='approx'") as told:
            search(X, 5 if search is find_neighbors else y)
        assert [warning.filename for warning in told] == [__file__]  # the user's line
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_neighbors(X, 5, algorithm="exact")
        find_neighbors(X[:300], 5)  # too few for the other way


def test_a_long_search_of_sparse_rows_names_the_way_out(monkeypatch):
    monkeypatch.setattr("labelance.neighbors._find._LONG_SPARSE", 0)
    with pytest.warns(LongSearchWarning, match="TruncatedSVD makes fewer features"):
        find_neighbors(texts(), 5)


@pytest.mark.slow
def test_with_verbose_it_says_which_engine_searches_and_why(always_cells, monkeypatch, capfd):
    monkeypatch.setattr("labelance.neighbors._search._WORTH_TELLING", 400)
    X = ROWS["clusters"]
    find_neighbors(X, 5, verbose=1)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", 0)
    find_neighbors(X, 5, verbose=1)
    find_neighbors(texts(), 5, verbose=1)
    find_neighbors(X, 5)
    cells, pairs, index = capfd.readouterr().err.splitlines()
    assert cells.startswith("Searching neighbors of 500 rows among 500: ")
    assert "cells, whose bounds leave" in cells
    assert "all pairs, as bounds of cells would leave" in pairs
    assert "an inverted index, as rows are sparse" in index


def test_other_methods_are_refused():
    with pytest.raises(InputError, match="'auto', 'exact', 'approx'"):
        find_neighbors(ROWS["clusters"], 5, algorithm="nearly")
    with pytest.raises(ValueError, match="algorithm"):
        MLSOL(algorithm="nearly").fit_resample(ROWS["clusters"], np.eye(N, 3, dtype=int))
