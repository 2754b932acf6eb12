"""Cells: exact where bounds rule others out, near enough where one asks for "approx"."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context

from labelance import MLSOL
from labelance.exceptions import InputError, LongSearchWarning, LowRecallWarning
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


LOW = pytest.mark.filterwarnings("ignore::labelance.exceptions.LowRecallWarning")


@pytest.fixture
def always_cells(monkeypatch):
    """Divide any number of rows among cells, however little that rules out."""
    monkeypatch.setattr("labelance.neighbors._engine._SMALL", 0)
    monkeypatch.setattr("labelance.neighbors._kdtree._ROWS", np.inf)
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", np.inf)
    monkeypatch.setattr("labelance.neighbors._engine.share_scanned", lambda n: 0.0)
    monkeypatch.setattr("labelance.neighbors._approx._MANY_SPARSE_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._approx._VALUES_PER_FEATURE", (5, 20))
    monkeypatch.setattr("labelance.neighbors._approx._LIKELY", 20)


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
    for method in ("exact", "approx"):
        assert_equal(
            find_neighbors(X, 5, algorithm=method, n_jobs=2),
            find_neighbors(X, 5, algorithm=method, n_jobs=1),
        )


def test_rows_of_zeros_have_no_direction(request):
    X = ROWS["clusters"].copy()
    X[::50] = 0
    known = find_neighbors(X, 5, metric="cosine")
    request.getfixturevalue("always_cells")
    assert_equal(find_neighbors(X, 5, metric="cosine"), known)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ROWS)
def test_near_rows_are_other_rows_with_their_distances(rows, always_cells):
    X = ROWS[rows]
    found = find_neighbors(X, 5, algorithm="approx")
    exact = find_neighbors(X, 5)
    assert (np.sort(found.indices)[:, 1:] != np.sort(found.indices)[:, :-1]).all()
    assert (found.indices != np.arange(len(X))[:, None]).all()
    assert (np.diff(found.distances) >= 0).all()
    assert (found.distances >= exact.distances).all()
    gaps = X[:, None].astype(float) - X[found.indices]
    np.testing.assert_allclose(found.distances, np.linalg.norm(gaps, axis=2), rtol=1e-12)


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


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_near_sparse_rows_are_other_rows_with_their_distances(metric, always_cells):
    X = texts()
    found = find_neighbors(X, 5, metric=metric, algorithm="approx")
    exact = find_neighbors(X, 5, metric=metric)
    assert found.recall_ > 0.7
    assert (np.sort(found.indices)[:, 1:] != np.sort(found.indices)[:, :-1]).all()
    assert (found.indices != np.arange(N)[:, None]).all()
    same = found.indices == exact.indices
    assert (found.distances[same] == exact.distances[same]).all()
    assert (found.distances >= exact.distances).all()
    some = find_neighbors(X, 5, metric=metric, algorithm="approx", queries=X[::7])
    assert (some.indices[:, 0] == np.arange(0, N, 7)).mean() > 0.7  # each is its own nearest row


def test_sparse_rows_without_an_end_are_searched_exactly(always_cells):
    X = texts() * 1e70
    found = find_neighbors(X, 3, algorithm="approx")
    assert found.recall_ is None
    assert_equal(found, find_neighbors(X, 3))


@pytest.mark.slow
@LOW
def test_neighbors_of_neighbors_are_looked_at_until_enough_are_found(always_cells, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._approx._CELLS", 1)
    monkeypatch.setattr("labelance.neighbors._approx._ROWS_PER_CELL", 20)
    X, recalls = ROWS["no clusters"], []
    for rounds in range(4):
        monkeypatch.setattr("labelance.neighbors._approx._ROUNDS", rounds)
        recalls.append(find_neighbors(X, 5, algorithm="approx").recall_)
    assert recalls == sorted(recalls)
    assert recalls[0] < recalls[-1]
    monkeypatch.setattr("labelance.neighbors._approx._ENOUGH", 0.1)
    assert find_neighbors(X, 5, algorithm="approx").recall_ == recalls[0]


@pytest.mark.slow
@LOW
def test_recall_is_the_share_of_neighbors_found(always_cells, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._approx._ROUNDS", 1)
    monkeypatch.setattr("labelance.neighbors._approx._CELLS", 1)
    monkeypatch.setattr("labelance.neighbors._approx._ROWS_PER_CELL", 20)
    monkeypatch.setattr("labelance.neighbors._engine._MEASURED", N)
    X = np.random.default_rng(0).normal(size=(N, 30))
    found, exact = find_neighbors(X, 2, algorithm="approx"), find_neighbors(X, 2)
    shares = [np.isin(a, b).mean() for a, b in zip(found.indices, exact.indices)]
    assert 0.1 < found.recall_ < 0.9
    assert found.recall_ == pytest.approx(np.mean(shares))
    assert f"recall {found.recall_:.3f}" in repr(found)
    for kept in (found.truncate(1), pickle.loads(pickle.dumps(found))):
        assert kept.recall_ == found.recall_
    assert exact.recall_ is None


@pytest.mark.slow
def test_a_low_recall_is_a_warning_with_the_way_out(always_cells, monkeypatch):
    for name, value in {"_ROUNDS": 0, "_CELLS": 1, "_ROWS_PER_CELL": 20}.items():
        monkeypatch.setattr(f"labelance.neighbors._approx.{name}", value)
    X, y = np.random.default_rng(0).normal(size=(N, 30)), rng.random((N, 3)) < 0.3
    with pytest.warns(LowRecallWarning, match="algorithm='exact'") as told:
        recall = find_neighbors(X, 5, algorithm="approx").recall_
    assert recall < 0.9
    assert f"found {recall:.0%} of" in str(told[0].message)
    with pytest.warns(LowRecallWarning):
        MLSOL(algorithm="approx").fit_resample(X, y.astype(int))


@pytest.mark.slow
def test_far_rows_do_not_spoil_what_is_near(always_cells):
    """Seen from the middle of all, ordinary rows are one point in float32."""
    X = np.random.default_rng(0).normal(size=(3000, 10))
    X[-30:] += 1e6
    found = find_neighbors(X, 5, algorithm="approx")
    assert 0.9 < found.recall_ <= 1


@pytest.mark.slow
def test_an_approximate_search_is_exact_where_that_is_as_fast(always_cells, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._engine.share_scanned", lambda n: 0.9)
    X = ROWS["clusters"]
    found = find_neighbors(X, 5, algorithm="approx")
    assert found.recall_ == 1
    assert_equal(found, find_neighbors(X, 5))


def test_clusters_are_found_whole(always_cells):
    assert find_neighbors(ROWS["clusters"], 5, algorithm="approx").recall_ > 0.99


def test_what_is_fast_or_has_no_points_stays_exact(always_cells):
    X, nominal = ROWS["clusters"], np.arange(D) == 0
    words = sp.csr_array(np.floor(np.abs(X)))
    for other, options in (
        (words, {"categorical_features": nominal}),
        (X, {"metric": "chebyshev"}),
    ):
        found = find_neighbors(other, 3, algorithm="approx", **options)
        assert found.recall_ is None
        assert_equal(found, find_neighbors(other, 3, **options))


def test_sparse_rows_find_the_shortest_that_share_nothing_with_them(always_cells):
    long = sp.csr_array(np.kron(np.eye(100), np.ones(6)))  # words of its own for every row
    short = sp.csr_array((np.full(3, 0.1), (range(3), range(3))), shape=(3, 600))
    around = find_neighbors(sp.vstack([long, short], format="csr"), 3, algorithm="approx")
    assert around.recall_ == 1
    assert (np.sort(around.indices[3:100]) == [100, 101, 102]).all()


@LOW
def test_a_row_of_which_little_is_kept_seems_no_farther_for_that(always_cells, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._approx._VALUES_PER_FEATURE", (20,))
    monkeypatch.setattr("labelance.neighbors._approx._LIKELY", 8)
    monkeypatch.setattr("labelance.neighbors._approx._ROUNDS", 0)
    draw = np.random.default_rng(1)
    group = np.repeat(np.arange(40), 10)  # ten long rows about each of 40 topics, and short ones
    topics = draw.random((40, 300)) < 0.2
    long = topics[group] & (draw.random((400, 300)) < 0.8)
    short = draw.random((400, 300)) < 0.03
    X = sp.csr_array(np.vstack([long, short]).astype(float))
    known_in_part = find_neighbors(X, 5, algorithm="approx").recall_
    monkeypatch.setattr("labelance.neighbors._approx._PRIOR", 1e9)  # takes values as they are
    assert known_in_part > find_neighbors(X, 5, algorithm="approx").recall_


def test_few_rows_are_searched_exactly_though_asked_otherwise():
    assert find_neighbors(ROWS["clusters"], 5, algorithm="approx").recall_ is None


def test_a_long_search_names_the_way_out(monkeypatch):
    monkeypatch.setattr("labelance.neighbors._engine._LONG", 0)
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
    monkeypatch.setattr("labelance.neighbors._engine._LONG_SPARSE", 0)
    monkeypatch.setattr("labelance.neighbors._approx._MANY_SPARSE_ROWS", 400)
    X = texts()
    with pytest.warns(LongSearchWarning, match="algorithm='approx'"):
        find_neighbors(X, 5)


@pytest.mark.slow
def test_with_verbose_it_says_which_engine_searches_and_why(always_cells, monkeypatch, capfd):
    monkeypatch.setattr("labelance.neighbors._search._WORTH_TELLING", 400)
    X = ROWS["clusters"]
    for method in ("exact", "approx"):
        find_neighbors(X, 5, algorithm=method, verbose=1)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", 0)
    find_neighbors(X, 5, verbose=1)
    find_neighbors(texts(), 5, verbose=1)
    find_neighbors(X, 5)
    cells, near, pairs, index = capfd.readouterr().err.splitlines()
    assert cells.startswith("Searching neighbors of 500 rows among 500: ")
    assert "cells, whose bounds leave" in cells
    assert "as asked for, with a recall of" in near
    assert "all pairs, as bounds of cells would leave" in pairs
    assert "an inverted index, as rows are sparse" in index


def test_other_methods_are_refused():
    with pytest.raises(InputError, match='"auto", "exact" or "approx"'):
        find_neighbors(ROWS["clusters"], 5, algorithm="nearly")
    with pytest.raises(ValueError, match="algorithm"):
        MLSOL(algorithm="nearly").fit_resample(ROWS["clusters"], np.eye(N, 3, dtype=int))


@pytest.mark.slow
def test_a_sampler_takes_the_method(always_cells):
    X, y = ROWS["clusters"], (rng.random((N, 3)) < 0.3).astype(int)
    around = find_neighbors(X, 5, algorithm="approx")
    known = MLSOL(random_state=0).fit_resample(X, y, neighborhood=around)
    found = MLSOL(random_state=0, algorithm="approx").fit_resample(X, y)
    for ours, theirs in zip(found, known):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_memory_is_bounded_for_many_neighbors_too(always_cells):
    X, k = rng.normal(size=(900, D)), 24
    known = find_neighbors(X, k, algorithm="approx", n_jobs=1)
    with config_context(working_memory=8):
        tracemalloc.start()
        found = find_neighbors(X, k, algorithm="approx", n_jobs=1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert_equal(found, known)
    assert peak < 32 * 2**20  # lists of neighbors' neighbors are over 70 MiB together
