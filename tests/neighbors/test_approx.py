"""Approximate neighbors by faiss: other rows, at their distances, nearly all of the nearest."""

import pickle
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import scipy.sparse as sp

from labelance import MLSOL
from labelance.exceptions import InputError, LowRecallWarning, MissingDependencyError
from labelance.neighbors import find_neighbors

needs_faiss = pytest.mark.skipif(
    find_spec("faiss") is None,
    reason="faiss is not installed: pip install 'labelance[approx]'",
)
LOW = pytest.mark.filterwarnings("ignore::labelance.exceptions.LowRecallWarning")
N, D = 500, 6
rng = np.random.default_rng(0)
CENTERS = rng.normal(size=(12, D)) * 5
CLUSTERS = CENTERS[rng.integers(12, size=N)] + 0.3 * rng.normal(size=(N, D))
ROWS = {
    "clusters": CLUSTERS,
    "no clusters": rng.normal(size=(N, D)),
    "copies": np.repeat(CLUSTERS[: N // 10], 10, axis=0),
    "all rows alike": np.ones((N, D)) * 0.3,
    "far from zero": CLUSTERS + 1e5,
    "huge": CLUSTERS * 1e80,
    "tiny": CLUSTERS * 1e-80,
    "heavy tails": rng.standard_cauchy(size=(N, D)),
    "single precision": CLUSTERS.astype(np.float32),
}


@pytest.fixture
def any_size(monkeypatch):
    """Take any number of rows for many."""
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._dense._TREE_ROWS", np.inf)


@pytest.fixture
def narrow(any_size, monkeypatch):
    """Look into one list of about five rows only."""
    monkeypatch.setattr("labelance.neighbors._approx._LOOKED_INTO", (1,))


def near(X, k=5, **options):
    return find_neighbors(X, k, algorithm="approx", **options)


def assert_equal(found, known):
    np.testing.assert_array_equal(found.indices, known.indices)
    np.testing.assert_array_equal(found.distances, known.distances)


@needs_faiss
@LOW
@pytest.mark.parametrize("rows", ROWS)
def test_near_rows_are_other_rows_with_their_distances(rows, any_size):
    X, k = ROWS[rows], 5
    found, exact = near(X, k), find_neighbors(X, k)
    assert found.recall_ > 0.9
    for around in (found, near(X, k, n_jobs=2)):
        assert_equal(around, found)
    in_order = np.sort(found.indices)
    assert (in_order[:, 1:] != in_order[:, :-1]).all()
    assert (found.indices != np.arange(N)[:, None]).all()
    assert (np.diff(found.distances) >= 0).all()
    assert (found.distances >= exact.distances).all()
    gaps = X[:, None].astype(float) - X[found.indices]
    scale = np.abs(gaps).max() or 1.0
    wanted = np.linalg.norm(gaps / scale, axis=2) * scale
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-12)


@needs_faiss
@LOW
def test_every_row_gets_its_k_neighbors_however_short_lists_are(narrow):
    X = ROWS["heavy tails"]
    found = near(X, 80)
    assert (np.diff(np.sort(found.indices)) > 0).all()
    assert np.isfinite(found.distances).all()


@needs_faiss
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_other_queries_find_their_rows(metric, any_size):
    X = ROWS["clusters"]
    found = near(X, metric=metric, queries=X[::7])
    assert (found.indices[:, 0] == np.arange(0, N, 7)).all()
    assert found.recall_ > 0.97


@needs_faiss
def test_recall_is_the_share_of_neighbors_found(narrow, monkeypatch):
    monkeypatch.setattr("labelance.neighbors._approx._MEASURED", N)
    X = np.random.default_rng(0).normal(size=(N, 30))
    with pytest.warns(LowRecallWarning, match="algorithm='exact'") as told:
        found = near(X, 2)
    exact = find_neighbors(X, 2)
    shares = [np.isin(a, b).mean() for a, b in zip(found.indices, exact.indices)]
    assert 0.1 < found.recall_ < 0.9
    assert f"found {found.recall_:.0%} of" in str(told[0].message)
    assert found.recall_ == pytest.approx(np.mean(shares))
    assert f"recall {found.recall_:.3f}" in repr(found)
    for kept in (found.truncate(1), pickle.loads(pickle.dumps(found))):
        assert kept.recall_ == found.recall_
    assert exact.recall_ is None


@needs_faiss
@LOW
def test_more_lists_are_looked_into_until_enough_are_found(any_size, monkeypatch):
    X, recalls = ROWS["no clusters"], []
    monkeypatch.setattr("labelance.neighbors._approx._ENOUGH", 1.0)
    for lists in ((1,), (1, 16), (1, 16, 1000)):
        monkeypatch.setattr("labelance.neighbors._approx._LOOKED_INTO", lists)
        recalls.append(near(X).recall_)
    assert recalls[0] < recalls[1] < recalls[2] == 1
    monkeypatch.setattr("labelance.neighbors._approx._ENOUGH", 0.1)
    assert near(X).recall_ == recalls[0]


@needs_faiss
def test_far_rows_do_not_spoil_what_is_near(any_size):
    """Seen from their mean, ordinary rows would be one point in float32."""
    X = np.random.default_rng(0).normal(size=(3000, 10))
    X[-30:] += 1e6
    assert near(X).recall_ > 0.97


@needs_faiss
def test_what_is_fast_or_has_no_points_stays_exact(any_size):
    X = ROWS["clusters"]
    holes, zeros = X.copy(), X.copy()
    holes[3, 2], zeros[5] = np.nan, 0
    codes = np.column_stack([np.arange(N) % 5, X])
    for rows, options in (
        (X, {"metric": "chebyshev"}),
        (holes, {"missing": "distance"}),
        (zeros, {"metric": "cosine"}),
        (codes, {"categorical_features": [0]}),
    ):
        found = near(rows, 3, **options)
        assert found.recall_ is None
        assert_equal(found, find_neighbors(rows, 3, **options))


@needs_faiss
def test_few_rows_are_searched_exactly_though_asked_otherwise():
    assert near(ROWS["clusters"]).recall_ is None


@needs_faiss
def test_with_verbose_it_says_how_many_lists(any_size, monkeypatch, capfd):
    monkeypatch.setattr("labelance.neighbors._search._WORTH_TELLING", 400)
    near(ROWS["clusters"], verbose=1)
    assert "lists of faiss, as asked for, with a recall of" in capfd.readouterr().err


@needs_faiss
def test_a_sampler_takes_the_method(narrow):
    X, y = np.random.default_rng(0).normal(size=(N, 30)), (rng.random((N, 3)) < 0.3).astype(int)
    with pytest.warns(LowRecallWarning):
        around = near(X)
    known = MLSOL(random_state=0).fit_resample(X, y, neighborhood=around)
    with pytest.warns(LowRecallWarning):
        found = MLSOL(random_state=0, algorithm="approx").fit_resample(X, y)
    for ours, theirs in zip(found, known):
        np.testing.assert_array_equal(ours, theirs)


def test_sparse_rows_are_refused():
    with pytest.raises(InputError, match=r"dense rows only\. X is sparse\. .*TruncatedSVD"):
        near(sp.csr_array(ROWS["clusters"]))


def test_without_the_extra_an_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'labelance\[approx\]'"):
        near(ROWS["clusters"])


def test_an_exact_search_does_not_import_faiss():
    code = (
        "import sys, labelance.neighbors as n; n.find_neighbors([[0.], [1.]], 1); "
        "assert 'faiss' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
