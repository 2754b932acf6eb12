"""MLSOL against the paper's pseudo-code, by example, by oracle and by distribution."""

import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, kstest
from sklearn.neighbors import NearestNeighbors

from labelance import MLSOL
from labelance.exceptions import ConstantLabelWarning, InputError, NothingToSampleError
from labelance.imbalance import local_distribution
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.sampling import MLeNN
from labelance.sampling._mlsol import assign_labels
from labelance.testing import sampler_data

THETA = {1: 0.5, 2: 0.75, 3: 1 + 1e-5, 4: -1e-5}  # SF, BD, RR, OT

# Worked example L of the specification: one feature, five labels.
X_L = np.array([0, 1, 2.1, 3.3, 7, 8.2])[:, None]
Y_L = np.array([list(row) for row in ("11011", "00101", "00101", "10110", "11100", "00100")], int)


def generate_labels_slowly(Y, T, s, r, cd):
    """The paper's GenerateInstance, with its swap that persists from label to label."""
    y_c = np.empty(Y.shape[1], dtype=int)
    for j in range(Y.shape[1]):
        if Y[s, j] == Y[r, j]:
            y_c[j] = Y[s, j]
            continue
        if T[s, j] == 0:  # the seed's cell is the majority one
            s, r, cd = r, s, 1 - cd
        y_c[j] = Y[s, j] if cd <= THETA[T[s, j]] else Y[r, j]
    return y_c


@pytest.mark.parametrize(
    ("s", "r", "cd", "expected"),
    [(0, 4, 0.6, [1, 1, 1, 1, 1]), (5, 4, 0.6, [1, 0, 1, 0, 0]), (5, 4, 0.2, [0, 0, 1, 0, 0])],
)
def test_labels_of_example_l(s, r, cd, expected):
    local = local_distribution(Y_L, find_neighbors(X_L, 4))
    Y, _ = assign_labels(local, np.array([s]), np.array([r]), np.array([cd]))
    assert_array_equal(Y.toarray()[0], expected)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(2, 8), st.sampled_from([0, 1]))
def test_labels_equal_the_papers_loop(seed, q, k, rule):
    rng = np.random.default_rng(seed)
    X, Y = rng.random((20, 2)), (rng.random((20, q)) < rng.random(q)).astype(int)
    local = local_distribution(Y, find_neighbors(X, k), variant=("paper", "mulan")[rule])
    s, r = rng.integers(20, size=(2, 40))
    cd = rng.choice([0, 0.25, 0.5, 0.75, 1, rng.random()], size=40)
    fast, _ = assign_labels(local, s, r, cd)
    T = local.types.toarray()
    slow = [generate_labels_slowly(Y, T, *parents) for parents in zip(s, r, cd)]
    assert_array_equal(fast.toarray(), slow)
    assert fast.has_sorted_indices


def test_seeds_follow_the_weights():
    X, Y = sampler_data(n=40)
    weights = local_distribution(Y, find_neighbors(X, 5)).weights
    sampler = MLSOL(n_synthetic=40_000, random_state=0)
    sampler.fit_resample(X, Y)
    drawn = np.bincount(sampler.seed_indices_, minlength=len(X))
    assert not drawn[weights == 0].any()
    heavy = weights > 0
    expected = 40_000 * weights[heavy] / weights.sum()
    assert chisquare(drawn[heavy], expected).pvalue > 1e-4


def test_references_are_drawn_evenly_from_the_neighbors():
    X, Y = sampler_data(n=40)
    around = find_neighbors(X, 5)
    sampler = MLSOL(n_synthetic=20_000, random_state=0)
    sampler.fit_resample(X, Y)
    of_seed = around.indices[sampler.seed_indices_]
    is_reference = of_seed == sampler.reference_indices_[:, None]
    assert (is_reference.sum(axis=1) == 1).all()
    assert chisquare(is_reference.sum(axis=0)).pvalue > 1e-4


def test_positions_along_a_feature_are_uniform():
    X, Y = sampler_data()
    sampler = MLSOL(n_synthetic=5_000, random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    moved = seeds[:, 0] != references[:, 0]
    share = (X_new[len(X) :] - seeds)[moved, 0] / (references - seeds)[moved, 0]
    assert kstest(share, "uniform").pvalue > 1e-4


def test_the_line_keeps_one_share_for_the_whole_row():
    X, Y = sampler_data()
    sampler = MLSOL(interpolation="line", random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    with np.errstate(invalid="ignore"):
        share = (X_new[len(X) :] - seeds) / (references - seeds)
    assert_allclose(np.nanmin(share, axis=1), np.nanmax(share, axis=1), atol=1e-9)
    moved = np.isfinite(share).any(axis=1)
    assert_allclose(sampler.positions_[moved], np.nanmax(share[moved], axis=1), atol=1e-9)


def test_cd_is_the_share_of_the_way():
    X, Y = sampler_data()
    sampler = MLSOL(random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    made = X_new[len(X) :]
    d_s = np.linalg.norm(made - X[sampler.seed_indices_], axis=1)
    d_r = np.linalg.norm(made - X[sampler.reference_indices_], axis=1)
    both = d_s + d_r
    expected = np.where(both > 0, d_s / np.where(both > 0, both, 1), 0.5)
    assert_allclose(sampler.positions_, expected, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_nominal_values_are_a_fair_coin(sparse):
    X, Y = sampler_data(n=200)
    X[:, 1] = np.random.default_rng(0).integers(0, 3, size=200) * 10.0
    sampler = MLSOL(categorical_features=[1], n_synthetic=4_000, random_state=0)
    X_new, _ = sampler.fit_resample(sp.csr_array(X) if sparse else X, Y)
    made = (X_new.toarray() if sparse else X_new)[len(X) :, 1]
    seeds, references = X[sampler.seed_indices_, 1], X[sampler.reference_indices_, 1]
    assert ((made == seeds) | (made == references)).all()
    differ = seeds != references
    from_seed = (made == seeds)[differ].sum()
    assert chisquare([from_seed, differ.sum() - from_seed]).pvalue > 1e-4


def test_missing_values_follow_a_missing_parent():
    X, Y = sampler_data(n=100)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    sampler = MLSOL(missing="distance", random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    missing = np.isnan(X[sampler.seed_indices_]) | np.isnan(X[sampler.reference_indices_])
    assert_array_equal(np.isnan(X_new[len(X) :]), missing)
    X_sparse, _ = sampler.fit_resample(sp.csr_array(X), Y)
    assert_array_equal(X_sparse.toarray(), X_new)


def test_a_number_of_rows_can_be_asked_for():
    X, Y = sampler_data()
    assert len(MLSOL(n_synthetic=7).fit_resample(X, Y)[0]) == len(X) + 7
    assert len(MLSOL(n_synthetic=0).fit_resample(X, Y)[0]) == len(X)
    assert len(MLSOL(sampling_ratio=2.5).fit_resample(X, Y)[0]) == len(X) * 3.5


def test_nothing_to_sample_is_an_error_that_says_so():
    X = np.arange(10.0)[:, None]
    Y = np.zeros((10, 2), dtype=int)
    Y[5, 0] = 1  # one minority cell, an outlier by necessity
    with (
        pytest.warns(ConstantLabelWarning),
        pytest.raises(NothingToSampleError, match="No label has one"),
    ):
        MLSOL().fit_resample(X, Y)


def test_a_neighbors_object_counts_the_row_itself():
    X, Y = sampler_data()
    X += np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no ties
    given = MLSOL(k_neighbors=NearestNeighbors(n_neighbors=6), random_state=0)
    plain = MLSOL(k_neighbors=5, random_state=0)
    assert_array_equal(given.fit_resample(X, Y)[0], plain.fit_resample(X, Y)[0])


def test_one_label_and_many_labels():
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    for q in (1, 10_000):
        Y = sp.random_array((200, q), density=0.2 if q == 1 else 0.002, rng=rng, format="csr")
        Y.data[:] = 1
        with pytest.warns(ConstantLabelWarning) if q > 1 else nullcontext():
            Y_new = MLSOL(random_state=0).fit_resample(X, Y)[1]
        assert Y_new.shape == (260, q)
        assert sp.issparse(Y_new)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("scale", [None, "range", "standard"])
def test_every_metric_and_scale_gives_rows_between_parents(metric, scale):
    X, Y = sampler_data()
    X = np.abs(X) + 0.1
    sampler = MLSOL(metric=metric, scale=scale, random_state=0)
    sampler.fit_resample(X, Y)
    assert ((sampler.positions_ >= 0) & (sampler.positions_ <= 1)).all()


@pytest.mark.parametrize(("place", "row"), [(0, 10**9), (2, 10**12), (4, -1)])
def test_a_neighborhood_of_rows_that_are_not_there_is_refused(place, row):
    X, Y = sampler_data()
    found = find_neighbors(X, 5)
    indices = found.indices.copy()
    indices[3, place] = row
    for sampler in (MLSOL(), MLeNN(k_neighbors=5)):
        with pytest.raises(InputError):
            sampler.fit_resample(X, Y, neighborhood=Neighborhood(indices, found.distances))


def test_an_object_that_finds_too_little_is_refused():
    class Padded:
        n_neighbors = 4

        def kneighbors(self, X):
            n = X.shape[0]
            return np.zeros((n, 4)), np.full((n, 4), -1)

    X, Y = sampler_data()
    with pytest.raises(InputError, match="kneighbors"):
        MLSOL(k_neighbors=Padded()).fit_resample(X, Y)


def test_a_strategy_without_need_says_so():
    X, Y = sampler_data()
    enough = int(Y[:, 0].sum())
    with pytest.raises(NothingToSampleError, match="targets"):
        MLSOL(sampling_strategy={0: enough}).fit_resample(X, Y)


def test_a_budget_of_no_rows_leaves_both_indices_as_they_were():
    pd = pytest.importorskip("pandas")
    X, y = map(pd.DataFrame, sampler_data())
    X.index = y.index = range(100, 100 + len(X))
    X_same, y_same = MLSOL(sampling_ratio=0).fit_resample(X, y)
    pd.testing.assert_frame_equal(X_same, X)
    pd.testing.assert_frame_equal(y_same, y)


class NextRows:
    """Take the rows that follow for neighbors; no distance is measured."""

    def kneighbors(self, X):
        n = X.shape[0]
        return np.ones((n, 4)), (np.arange(n)[:, np.newaxis] + np.arange(4)) % n


def resample_and_weigh(X, Y):
    """Return the rows that MLSOL makes, and the most memory that it held meanwhile."""
    sampler = MLSOL(k_neighbors=NextRows(), random_state=0)
    sampler.fit_resample(X[:500], Y[:500])  # compiles, which takes memory of its own
    tracemalloc.start()
    X_more, _ = sampler.fit_resample(X, Y)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return X_more, held


@pytest.mark.slow
def test_new_rows_are_made_where_the_result_has_them():
    rng = np.random.default_rng(0)
    X = rng.random((5000, 400))
    Y = sp.csr_array(rng.random((5000, 3)) < 0.2).astype(np.int8)
    X_more, held = resample_and_weigh(X, Y)
    assert X_more.flags.owndata
    assert_array_equal(X_more[:5000], X)
    assert held < 1.2 * X_more.nbytes  # the result, and new rows apart from it, are 1.23 of it


@pytest.mark.slow
def test_new_sparse_rows_are_made_where_the_result_has_them():
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((5000, 2000)) * (rng.random((5000, 2000)) < 0.05))
    Y = sp.csr_array(rng.random((5000, 3)) < 0.2).astype(np.int8)
    X_more, held = resample_and_weigh(X, Y)
    assert (X_more[:5000] != X).nnz == 0
    # New rows have nearly twice as many cells; apart from the result they would be 0.38 of it.
    assert held < 1.25 * (X_more.data.nbytes + X_more.indices.nbytes)


def test_two_draws_of_a_plan_share_no_rows():
    X, Y = sampler_data()
    for container in (np.asarray, sp.csr_array):
        plan = MLSOL().plan(container(X), Y)
        # A sparse table shares no cells where it shares no values.
        first, second, before = (
            rows.data if sp.issparse(rows) else rows
            for rows in (plan.draw(0).X, plan.draw(0).X, plan.data.X)
        )
        assert_array_equal(first, second)
        assert not np.shares_memory(first, second)
        assert not np.shares_memory(first, before)
