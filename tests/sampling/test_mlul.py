"""MLUL against the paper's formulas, by example, by oracle and by distribution."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare

from labelance.exceptions import ConstantLabelWarning, NothingToSampleError
from labelance.imbalance import local_distribution
from labelance.neighbors import find_neighbors
from labelance.sampling import MLUL
from labelance.sampling._mlsol import draw_rows_to_keep, influences, row_values
from labelance.testing import sampler_data

# Worked example L of the specification: one feature, five labels.
X_L = np.array([0, 1, 2.1, 3.3, 7, 8.2])[:, None]
Y_L = np.array([list(row) for row in ("11011", "00101", "00101", "10110", "11100", "00100")], int)


def shares_slowly(Y, neighbors):
    """S of every cell, nan where it is not defined."""
    n, q = Y.shape
    k = neighbors.shape[1]
    S = np.full((n, q), np.nan)
    for j in range(q):
        minority = 1 if 2 * Y[:, j].sum() <= n else 0
        opposite = {
            i: sum(Y[m, j] != minority for m in neighbors[i])
            for i in range(n)
            if Y[i, j] == minority
        }
        usable = {i: count for i, count in opposite.items() if count < k}
        total = sum(usable.values())
        for i, count in usable.items():
            if total > 0:
                S[i, j] = count / total
    return S


def worth_slowly(Y, neighbors, variant):
    """The paper's u and v, one row and one label after the other."""
    n, q = Y.shape
    S = shares_slowly(Y, neighbors)
    u = np.zeros(n)
    for i in range(n):
        askers = [m for m in range(n) if i in neighbors[m]]
        for m in askers:
            for j in range(q):
                if np.isnan(S[m, j]):
                    continue
                agrees = Y[i, j] == Y[m, j]
                if variant == "mulan":
                    agrees = not np.isnan(S[i, j])
                u[i] += (1 if agrees else -1) * S[m, j] / len(askers)
    v = np.nansum(S, axis=1) + u
    return u, v - min(v.min(), 0)


def worth_quickly(Y, around, variant):
    local = local_distribution(Y, around)
    u = influences(local, around, variant)
    return u, row_values(local.weights, u)


@pytest.mark.parametrize(("variant", "v_4"), [("paper", 0.771429), ("mulan", 0.371429)])
def test_worked_example_l(variant, v_4):
    u, v = worth_quickly(Y_L, find_neighbors(X_L, 4), variant)
    u_4 = -0.085714 + v_4 - 0.771429
    expected = [0.484127, -0.466667, -0.466667, -0.157143, u_4, -0.428571]
    assert_allclose(u, expected, atol=1e-6)
    assert_allclose(v, [3.031746, 0.295238, 0.295238, 1.057143, v_4, 0], atol=1e-6)
    assert v[5] == 0


@pytest.mark.slow
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from(["paper", "mulan"]),
)
def test_worth_equals_the_papers_sums(seed, q, k, variant):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (20, 2)).astype(float)
    Y = (rng.random((20, q)) < rng.random(q)).astype(int)
    around = find_neighbors(X, k)
    u, v = worth_slowly(Y, around.indices, variant)
    fast_u, fast_v = worth_quickly(Y, around, variant)
    assert_allclose(fast_u, u, atol=1e-12)
    assert_allclose(fast_v, v, atol=1e-12)
    assert (fast_v >= 0).all()
    assert_array_equal(fast_v == 0, v < 1e-9)


def test_the_plan_holds_v():
    X, Y = sampler_data()
    expected = worth_slowly(Y, find_neighbors(X, 5).indices, "paper")[1]
    v = MLUL().plan(X, Y).details
    assert_allclose(v, expected, atol=1e-12)
    assert v.min() == 0


def keep_slowly(v, n_kept, rng):
    """Draw one row at a time by the cumulative sum, put it aside, and draw again."""
    left, kept = list(range(len(v))), []
    while len(kept) < n_kept:
        reach = np.cumsum(v[left])
        kept.append(left.pop(np.searchsorted(reach, rng.random() * reach[-1], side="right")))
    return sorted(kept)


def chance_of_keeping(v, rows):
    """The exact probability that the sequential draw keeps this set."""
    chance = 0.0
    for order in permutations(rows):
        left, path = v.sum(), 1.0
        for i in order:
            path *= v[i] / left
            left -= v[i]
        chance += path
    return chance


@pytest.mark.slow
@pytest.mark.parametrize("draw", [draw_rows_to_keep, keep_slowly])
def test_sets_are_kept_as_often_as_the_sequential_draw_says(draw):
    v = np.array([0.3, 1.0, 0.0, 2.0, 0.5, 1.2])
    rng = np.random.default_rng(0)
    n_draws = 6_000
    seen = {}
    for _ in range(n_draws):
        kept = tuple(draw(v, 3, rng))
        seen[kept] = seen.get(kept, 0) + 1
    assert not any(2 in kept for kept in seen)
    expected = {kept: n_draws * chance_of_keeping(v, kept) for kept in seen}
    assert sum(expected.values()) == pytest.approx(n_draws)
    assert chisquare(list(seen.values()), list(expected.values())).pvalue > 1e-4


def test_rows_of_no_worth_are_deleted_first():
    v = np.array([0, 2.0, 0, 1, 0, 3])
    rng = np.random.default_rng(0)
    for n_kept in (1, 2, 3):
        assert set(draw_rows_to_keep(v, n_kept, rng)) <= {1, 3, 5}
    for n_kept in (4, 5):
        assert set(draw_rows_to_keep(v, n_kept, rng)) > {1, 3, 5}
    stayed = np.bincount(np.ravel([draw_rows_to_keep(v, 4, rng) for _ in range(3_000)]))[[0, 2, 4]]
    assert chisquare(stayed).pvalue > 1e-4


@pytest.mark.parametrize("ratio", [0, 0.1, 0.29, 0.9])
def test_the_share_asked_for_is_deleted(ratio):
    X, Y = sampler_data(n=100)
    sampler = MLUL(sampling_ratio=ratio, random_state=0)
    X_kept, Y_kept = sampler.fit_resample(X, Y)
    assert len(X_kept) == len(Y_kept) == 100 - round(100 * ratio)
    assert_array_equal(X_kept, X[sampler.sample_indices_])
    assert_array_equal(Y_kept, Y[sampler.sample_indices_])


def test_a_sampler_keeps_rows_by_their_worth():
    X, Y = sampler_data(n=30)
    plan = MLUL(sampling_ratio=0.5).plan(X, Y)
    times = np.zeros(30)
    for seed in range(300):
        times[plan.draw(seed).provenance["sample_indices_"]] += 1
    v = plan.details
    poor, rich = np.argsort(v)[:10], np.argsort(v)[-10:]
    assert not times[v == 0].any()
    assert times[rich].min() > times[poor].max()


def test_nothing_to_judge_by_is_an_error_that_says_so():
    X = np.arange(10.0)[:, None]
    Y = np.zeros((10, 2), dtype=int)
    Y[5, 0] = 1
    with (
        pytest.warns(ConstantLabelWarning),
        pytest.raises(NothingToSampleError, match="No label has one"),
    ):
        MLUL().fit_resample(X, Y)


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_unknown_cells_support_no_row_and_are_not_supported(variant):
    X, y = sampler_data(n=70)
    rng = np.random.default_rng(0)
    hidden = rng.random(y.shape) < 0.3
    around = find_neighbors(X, 5)
    local = local_distribution(np.where(hidden, np.nan, y), around)
    typed, S = local.minority.toarray() > 0, local.shares()
    defined = S.copy()
    defined.data[:] = 1
    defined, S = defined.toarray() > 0, S.toarray()
    untyped = local.unknown.toarray() > 0
    assert (untyped >= hidden).all()
    u = np.zeros(len(X))
    for i in range(len(X)):
        askers = [m for m in range(len(X)) if i in around.indices[m]]
        for m in askers:
            for j in np.flatnonzero(defined[m] & ~untyped[i]):
                agrees = typed[i, j] if variant == "paper" else defined[i, j]
                u[i] += (1 if agrees else -1) * S[m, j] / len(askers)
    assert_allclose(influences(local, around, variant), u, atol=1e-12)
