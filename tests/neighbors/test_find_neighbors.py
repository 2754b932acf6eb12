"""Any engine, container, block size and number of threads gives the same answer, bit for bit."""

import math
from importlib import import_module
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelance.neighbors import find_neighbors
from labelance.neighbors._find import ENGINES
from labelance.neighbors._metric import FeatureMetric
from labelance.neighbors._search import Search

TINY_MEMORY = 0.002  # in MiB: blocks of a few queries and rows


def tables(elements, dtype=np.float64):
    shapes = st.tuples(st.integers(3, 12), st.integers(1, 5))
    return shapes.flatmap(lambda shape: hnp.arrays(dtype, shape, elements=elements))


WHOLE = st.integers(-3, 3).map(float)  # ties everywhere
BINARY = st.integers(0, 1).map(float)
TENTHS = st.integers(0, 4).map(lambda i: i / 10)  # ties that float32 cannot see
FLOATS = st.floats(-1e3, 1e3, allow_subnormal=False)
SHORT = st.floats(-100, 100, width=32, allow_subnormal=False)
FAR = st.integers(0, 3).map(lambda i: 1e8 + i / 8)  # far from zero, close to each other
WILD = st.sampled_from([0.0, 1.0, -1.0, 1e-30, 1e30, 1e-160, 1e140, -1e140, 3e-5])
ANY = st.one_of(*map(tables, (WHOLE, BINARY, TENTHS, FLOATS, FAR, WILD)))


def same(found, expected):
    np.testing.assert_array_equal(found.indices, expected[0])
    np.testing.assert_array_equal(found.distances, expected[1])


@pytest.mark.slow
@given(X=ANY, data=st.data(), scale=st.sampled_from([None, "range"]), fast=st.booleans())
def test_equals_the_table(X, data, scale, fast, euclidean_table, nearest, engines):
    k = data.draw(st.integers(1, len(X) - 1))
    expected = nearest(euclidean_table(X, scale=scale), k)
    memory = data.draw(st.sampled_from([1024, TINY_MEMORY]))
    with engines(fast, memory):
        same(find_neighbors(X, k, scale=scale), expected)
        same(find_neighbors(sp.csr_array(X), k, scale=scale), expected)


@pytest.mark.slow
@given(X=tables(SHORT, np.float32), scale=st.sampled_from([None, "range"]))
def test_float32_gives_float64_answers(X, scale, euclidean_table, nearest, engines):
    expected = nearest(euclidean_table(X, scale=scale), 2)
    with engines(fast=True):
        for container in (X, X.astype(np.float64), sp.csr_array(X), sp.csc_matrix(X)):
            same(find_neighbors(container, 2, scale=scale), expected)


@st.composite
def mixed_tables(draw, missing):
    """Some nominal columns with up to five categories, some numeric; NaN where wanted."""
    n, d = draw(st.integers(4, 10)), draw(st.integers(1, 4))
    nominal = draw(hnp.arrays(bool, d))
    codes = draw(hnp.arrays(np.int64, (n, d), elements=st.integers(0, 4)))
    numbers = draw(hnp.arrays(np.float64, (n, d), elements=st.one_of(WHOLE, FLOATS)))
    X = np.where(nominal, codes, numbers)
    where = draw(missing)
    if where:
        X[1:][draw(hnp.arrays(bool, (n - 1, d))) & (nominal | (where == "any"))] = np.nan
    return X, nominal


@pytest.mark.slow
@given(mixed=mixed_tables(missing=st.none()), scale=st.sampled_from([None, "range"]))
def test_nominal_features_differ_by_0_or_1(mixed, scale, euclidean_table, nearest, engines):
    X, nominal = mixed
    expected = nearest(euclidean_table(X, nominal, scale), 3)
    for fast in (True, False):
        with engines(fast):
            same(find_neighbors(X, 3, scale=scale, categorical_features=nominal), expected)
            sparse = sp.csr_array(X)
            same(find_neighbors(sparse, 3, scale=scale, categorical_features=nominal), expected)


@pytest.mark.slow
@given(
    mixed=mixed_tables(missing=st.sampled_from(["nominal", "any"])),
    scale=st.sampled_from([None, "range"]),
)
def test_missing_values_make_the_largest_difference(
    mixed, scale, euclidean_table, nearest, engines
):
    X, nominal = mixed
    expected = nearest(euclidean_table(X, nominal, scale), 3)
    options = {"scale": scale, "categorical_features": nominal, "missing": "distance"}
    with engines(fast=True):
        for container in (X, sp.csr_array(X)):
            same(find_neighbors(container, 3, **options), expected)
            learned = {"scale": scale, "categorical": nominal, "missing": "distance"}
            metric = FeatureMetric.learn(container, **learned)
            rows = np.repeat(np.arange(len(X)), 3)
            pairs = metric.paired(container, container, rows, expected[0].ravel())
            np.testing.assert_array_equal(pairs, expected[1].ravel())


@pytest.mark.slow
@given(X=st.one_of(tables(FLOATS.map(lambda x: round(x, 2))), tables(TENTHS)))
def test_standard_scale(X, euclidean_table, engines):
    """The deviation is ours to the last bit; against numpy's, only distances can be compared."""
    exact = find_neighbors(X, 2, scale="standard")
    expected = np.sort(euclidean_table(X, scale="standard") + np.diag(np.full(len(X), np.inf)))
    np.testing.assert_allclose(exact.distances, expected[:, :2], rtol=1e-9, atol=1e-9)
    with engines(fast=True):
        same(find_neighbors(X, 2, scale="standard"), (exact.indices, exact.distances))
        csr = find_neighbors(sp.csr_array(X), 2, scale="standard")
        same(csr, (exact.indices, exact.distances))


def clustered(n, d, rng):
    """Tight clusters far from each other, with repeated rows: float32 is too coarse here."""
    centers = rng.normal(scale=1e4, size=(2, d))
    X = centers[rng.integers(0, 2, n)] + rng.normal(scale=1e-3, size=(n, d))
    X[n // 2 :: 7] = X[0]
    return X


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["floats", "counts", "clusters", "constant", "repeated"])
@pytest.mark.parametrize("scale", [None, "range"])
def test_blocks_threads_and_containers_agree(kind, scale, engines):
    rng = np.random.default_rng(3)
    X = {
        "floats": lambda: rng.normal(size=(300, 20)),
        "counts": lambda: rng.poisson(0.3, size=(300, 20)).astype(float),
        "clusters": lambda: clustered(300, 20, rng),
        "constant": lambda: np.full((300, 20), 0.1),
        "repeated": lambda: rng.normal(size=(4, 20))[rng.integers(0, 4, 300)],
    }[kind]()
    with engines(fast=False):
        exact = find_neighbors(X, 6, scale=scale)
    for memory in (1024, 0.5, TINY_MEMORY):
        for n_jobs in (None, 1, 3):
            with engines(fast=True, working_memory=memory):
                for container in (X, sp.csr_array(X)):
                    found = find_neighbors(container, 6, scale=scale, n_jobs=n_jobs)
                    same(found, (exact.indices, exact.distances))


@pytest.mark.slow
@given(X=ANY, data=st.data(), fast=st.booleans())
def test_inside_a_bag(X, data, fast, euclidean_table, nearest, engines):
    """A bag is searched as if the other rows did not exist; it may be listed in any order."""
    bag = data.draw(st.permutations(range(len(X))))[: data.draw(st.integers(2, len(X)))]
    ordered = np.sort(bag)
    inside, distances = nearest(euclidean_table(X[ordered], scale="range"), 1)
    with engines(fast):
        for container in (X, sp.csr_array(X)):
            found = find_neighbors(container, 1, scale="range", among=bag)
            at = np.searchsorted(ordered, bag)
            same(found, (ordered[inside][at], distances[at]))


@pytest.mark.slow
@given(X=ANY, data=st.data(), fast=st.booleans(), scale=st.sampled_from([None, "range"]))
def test_queries_exclude_nothing(X, data, fast, scale, euclidean_table, nearest, engines):
    Q = data.draw(hnp.arrays(np.float64, (4, X.shape[1]), elements=st.one_of(WHOLE, FLOATS, FAR)))
    Q[0] = X[1]
    k = data.draw(st.integers(1, len(X)))
    expected = nearest(euclidean_table(X, scale=scale, Q=Q), k, own=False)
    assume(np.isfinite(expected[1]).all())  # others are refused
    with engines(fast, TINY_MEMORY):
        same(find_neighbors(X, k, scale=scale, queries=Q), expected)
        sparse = find_neighbors(sp.csr_array(X), k, scale=scale, queries=sp.csr_array(Q))
        same(sparse, expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "rows", [[2.0, 7.0, 9.0], [0.0, 7.0, 9.0], [7.0, 0.0, 7.0], [1.0, 0.0, 1.0]]
)
def test_queries_mean_the_categories_of_the_rows(rows, sparse, engines):
    """The same value is the same category in both tables; what X never has differs from all."""
    make = sp.csr_array if sparse else np.asarray
    X, asked = make(np.column_stack([rows, np.ones(3)])), [7.0, 5.0, 0.0, 9.0, 1.0, -1.0, 0.5]
    Q = make(np.column_stack([asked, np.ones(7)]))
    expected = [[float(value != row) for row in rows] for value in asked]
    for fast in (True, False):
        with engines(fast):
            found = find_neighbors(X, 3, categorical_features=[0], queries=Q)
        np.testing.assert_array_equal(found.distances, np.sort(expected))
        np.testing.assert_array_equal(found.indices, np.argsort(expected, kind="stable"))


@pytest.mark.slow
@given(X=st.one_of(tables(FLOATS), tables(TENTHS), tables(FAR), tables(WILD)), data=st.data())
def test_trees_equal_the_table(X, data, euclidean_table, nearest, engines):
    """Trees are for very many rows; here they get few, and crowds of equally near ones."""
    X = X[data.draw(st.lists(st.integers(0, len(X) - 1), min_size=4, max_size=20))]
    k = data.draw(st.integers(1, 3))
    with engines(fast=True), patch("labelance.neighbors._dense._TREE_ROWS", 0):
        same(find_neighbors(X, k), nearest(euclidean_table(X), k))
        Q = X[::-2] * 0.75
        expected = nearest(euclidean_table(X, Q=Q), k, own=False)
        same(find_neighbors(X, k, queries=Q), expected)


def test_every_engine_that_suits_gives_the_same_answer(monkeypatch):
    monkeypatch.setattr("labelance.neighbors._dense._TREE_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._partition._MANY_ROWS", 0)
    monkeypatch.setattr("labelance.neighbors._partition.WORTHWHILE", np.inf)
    X = np.random.default_rng(0).integers(5, size=(250, 3)) / 3  # with ties
    search = Search(X, X, np.arange(len(X)), 5, FeatureMetric.learn(X), threads=1)
    found = [engine.run(search) for engine in ENGINES if engine.suits(search)]
    assert len(found) == 4  # all pairs, a tree, cells and products
    for other in found[1:]:
        np.testing.assert_array_equal(other.rows, found[0].rows)
        np.testing.assert_array_equal(other.values, found[0].values)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["_dense.GemmEngine", "_sparse.InvertedIndexEngine"])
def test_precision_does_not_depend_on_the_order_of_rows(name, engines):
    """A few rows that float32 can tell apart say nothing of the others, wherever they are."""
    X = np.random.default_rng(0).normal(size=(800, 10))
    module, _, engine = name.partition(".")
    if module == "_dense":
        X[:20] += 1e6  # which moves the middle away from all others
    else:
        X[20:] = 1e3 + 1e-4 * X[20:]
    module = import_module(f"labelance.neighbors.{module}")
    for rows in (X, X[::-1]):
        rows = sp.csr_array(rows) if "sparse" in name else rows
        with (
            engines(fast=True),
            patch.object(module, engine, wraps=getattr(module, engine)) as made,
        ):
            find_neighbors(rows, 5)
        assert made.call_count == 2  # in float32, and then in float64


def test_frames_equal_arrays():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.random.default_rng(0).integers(0, 3, (20, 3)).astype(float)
    words = np.array(["low", "mid", "top"])[X[:, 2].astype(int)]
    expected = find_neighbors(X, 4, categorical_features=[2])
    columns = {"a": X[:, 0], "b": X[:, 1].astype(int), "c": words}
    frames = (
        pd.DataFrame(columns).astype({"c": "category"}),
        pl.DataFrame(columns).with_columns(pl.col("c").cast(pl.Enum(["low", "mid", "top"]))),
    )
    for frame in frames:
        same(find_neighbors(frame, 4), (expected.indices, expected.distances))


def test_rows_that_occur_twice_find_each_other():
    X = np.repeat([[0.5, 0.1], [0.5, 0.7]], 3, axis=0)
    found = find_neighbors(X, 2)
    np.testing.assert_array_equal(found.indices, [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    assert (found.distances == 0).all()


# --- numbers whose squares underflow --------------------------------------------------------------

SMALL = 2.0**-600  # a power of two rounds nothing, so that all bits are known


def tiny_containers(X):
    yield "array", X
    yield "CSR", sp.csr_array(X)
    for name, make in {
        "pandas": lambda X: pytest.importorskip("pandas").DataFrame(X),
        "torch": lambda X: pytest.importorskip("torch").tensor(X),
        "dask": lambda X: pytest.importorskip("dask.array").from_array(X, chunks=(40, -1)),
    }.items():
        try:
            yield name, make(X)
        except pytest.skip.Exception:
            continue


@pytest.mark.parametrize("scale", [None, "range", "standard"])
@pytest.mark.parametrize("fast", [False, True])
def test_tiny_numbers_have_the_neighbors_of_ordinary_ones(scale, fast, engines):
    X = np.random.default_rng(1).normal(size=(90, 3)).round(1)
    unit = SMALL if scale is None else 1.0
    with engines(fast):
        expected = find_neighbors(X, 4, scale=scale)
        for name, container in tiny_containers(X * SMALL):
            found = find_neighbors(container, 4, scale=scale)
            np.testing.assert_array_equal(found.indices, expected.indices, name)
            np.testing.assert_array_equal(found.distances, expected.distances * unit, name)
        asked = find_neighbors(X * SMALL, 2, scale=scale, queries=X[:9] * SMALL)
        wanted = find_neighbors(X, 2, scale=scale, queries=X[:9])
        same(asked, (wanted.indices, wanted.distances * unit))
        bag = find_neighbors(X * SMALL, 2, scale=scale, among=[5, 1, 8, 3])
        wanted = find_neighbors(X, 2, scale=scale, among=[5, 1, 8, 3])
        same(bag, (wanted.indices, wanted.distances * unit))


@pytest.mark.slow
@given(
    exponents=st.lists(st.integers(-1050, -200), min_size=1, max_size=4),
    far=st.sampled_from([None, 1e-300, 1.0, 1e30]),
    fast=st.booleans(),
)
def test_columns_and_rows_of_any_tiny_size(exponents, far, fast, engines):
    """``math.dist`` neither overflows nor underflows; columns differ by 250 digits, and one row."""
    X = np.random.default_rng(len(exponents)).normal(size=(9, len(exponents)))
    X = np.ldexp(X, exponents)
    X[4] = X[2]
    if far is not None:
        X[0, 0] = far
    with engines(fast):
        found = find_neighbors(X, 3)
    exact = np.array([[math.dist(x, z) for z in X] for x in X])
    ordered = np.sort(exact + np.diag(np.full(9, np.inf)))[:, :3]
    np.testing.assert_allclose(found.distances, ordered, rtol=1e-12, atol=5e-324)
    measured = np.take_along_axis(exact, found.indices, axis=1)
    np.testing.assert_allclose(measured, ordered, rtol=1e-12, atol=5e-324)
    metric = FeatureMetric.learn(X)
    paired = metric.paired(X, X, np.repeat(np.arange(9), 3), found.indices.ravel())
    np.testing.assert_array_equal(paired, found.distances.ravel())


def test_tiny_rows_are_measured_from_far_queries():
    X = np.array([[1.0], [2.0], [4.0]]) * SMALL
    found = find_neighbors(X, 2, queries=[[1.0], [3.5 * SMALL]])
    np.testing.assert_array_equal(found.distances, [[1, 1], [0.5 * SMALL, 1.5 * SMALL]])
    np.testing.assert_array_equal(found.indices[1], [2, 1])


@pytest.mark.parametrize("fast", [False, True])
def test_tiny_numbers_beside_categories_and_gaps(fast, engines):
    X = np.array([[0, 1.0], [0, 2.0], [0, 4.0], [1, 1.0], [2, np.nan]]) * [1, SMALL]
    for container in (X, sp.csr_array(X)):
        with engines(fast):
            found = find_neighbors(container, 2, categorical_features=[0], missing="distance")
        np.testing.assert_array_equal(found.indices[:3], [[1, 2], [0, 2], [1, 0]])
        np.testing.assert_array_equal(found.distances[:3] / SMALL, [[1, 3], [1, 2], [2, 3]])
        np.testing.assert_array_equal(found.distances[3:], np.ones((2, 2)))
    X[:, 0] = 0
    found = find_neighbors(X, 4, missing="distance")
    np.testing.assert_array_equal(found.distances[4] / SMALL, [2, 3, 3, 3])
