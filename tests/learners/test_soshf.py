"""SOSHF: costs, two classes, the oblique split, and trees of such splits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from labelance.datasets import load_dataset
from labelance.exceptions import InputError, MissingValuesError
from labelance.learners import SOSHF
from labelance.learners._kernels import gradient_ascent, soft_hellinger
from labelance.learners._soshf import (
    Rules,
    best_split,
    hellinger_distances,
    label_costs,
    scan,
    two_classes,
)
from labelance.metrics import label_scores, macro_auc_roc

SEEDS = st.integers(0, 2**32 - 1)
EASY = Rules(min_leaf=1, l1=1e-3, steepness=4.0)


def labels(seed, n=20, q=6):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < rng.random(q)).astype(np.int8)
    return Y, sp.csr_array(Y), rng


def hard_hellinger(right, plus):
    """The definition for a hard split."""
    r, m = right[plus].mean(), right[~plus].mean()
    return np.hypot(np.sqrt(r) - np.sqrt(m), np.sqrt(1 - r) - np.sqrt(1 - m))


def test_the_docstring_says_that_it_is_a_reconstruction():
    head, _, rest = SOSHF.__doc__.partition("Parameters")
    assert "reconstruction from the abstract" in head.splitlines()[0]
    assert "**This is a reconstruction.**" in head
    assert "Notes" in rest


@given(SEEDS)
def test_costs_by_the_formula(seed):
    Y, sparse, rng = labels(seed)
    rows = np.sort(rng.choice(20, 12))
    share = Y[rows].mean(axis=0)
    expected = np.where((share > 0) & (share < 1), 1 / (share + 1 / 12), 0)
    omega = label_costs(sparse[rows])
    np.testing.assert_allclose(omega, expected / max(expected.sum(), 1e-300))


def two_means(z, first, second):
    """Lloyd's steps on dense vectors, from two given rows."""
    centers, cluster = z[[first, second]], None
    for _ in range(26):
        squared = ((z[:, None] - centers) ** 2).sum(axis=2)
        squared[squared < 1e-12] = 0
        # A row as far from one center as from the other goes where rounding sends it.
        assume((np.abs(squared[:, 0] - squared[:, 1]) > 1e-9).all())
        before, cluster = cluster, squared[:, 1] < squared[:, 0]
        if before is not None and (before == cluster).all():
            break
        assert 0 < cluster.sum() < len(z)
        centers = np.array([z[~cluster].mean(axis=0), z[cluster].mean(axis=0)])
    return cluster


@given(SEEDS)
def test_two_classes_are_two_means_of_weighted_labels(seed):
    Y, sparse, rng = labels(seed)
    rows = np.sort(rng.choice(20, 15))
    omega = label_costs(sparse[rows])
    if not omega.any():
        return
    chance = rng.random(2)
    plus = two_classes(sparse[rows], omega, chance)
    z = np.sqrt(omega) * Y[rows]
    first = int(chance[0] * 15)
    squared = ((z - z[first]) ** 2).sum(axis=1)
    second = int(np.searchsorted(np.cumsum(squared), chance[1] * squared.sum(), side="right"))
    cluster = two_means(z, first, second)
    expected = cluster if 2 * cluster.sum() < 15 else ~cluster
    np.testing.assert_array_equal(plus, expected)


def test_of_equal_clusters_the_one_with_the_lowest_row_is_plus():
    Y = sp.csr_array(np.repeat(np.eye(2, dtype=np.int8), 4, axis=0))
    rows = np.arange(8)
    for chance in np.random.default_rng(0).random((20, 2)):
        plus = two_classes(Y, np.full(2, 0.5), chance)
        np.testing.assert_array_equal(plus, rows < 4)


@given(st.floats(0, 1), st.floats(0, 1))
def test_hellinger_is_a_bounded_distance(one, two):
    assert hellinger_distances(one, two) == hellinger_distances(two, one)
    assert 0 <= hellinger_distances(one, two) <= np.sqrt(2) + 1e-12
    assert hellinger_distances(one, one) == 0


@given(SEEDS)
def test_slopes_of_the_soft_split_are_its_differences(seed):
    rng = np.random.default_rng(seed)
    along, plus = rng.normal(size=14), np.arange(14) < 5
    weight = np.where(plus, 1 / 5, 1 / 9)
    soft = np.empty(14)
    value, by_plus, by_minus = soft_hellinger(along, 0.1, plus.view(np.uint8), weight, 4.0, soft)
    r, m = soft[plus].mean(), soft[~plus].mean()
    assert value == pytest.approx(hellinger_distances(r, m))
    if value > 1e-2:
        tiny = 1e-7
        assert by_plus == pytest.approx(
            (hellinger_distances(r + tiny, m) - value) / tiny, rel=1e-3, abs=1e-4
        )
        assert by_minus == pytest.approx(
            (hellinger_distances(r, m + tiny) - value) / tiny, rel=1e-3, abs=1e-4
        )


@given(SEEDS)
def test_the_search_climbs_and_stays_in_the_unit_ball(seed):
    rng = np.random.default_rng(seed)
    Z, plus = rng.normal(size=(30, 4)), np.arange(30) < 8
    weight = np.where(plus, 1 / 8, 1 / 22)
    a = rng.normal(size=4)
    a /= np.linalg.norm(a)
    along, price = Z @ a, np.abs(a).sum()
    start, *_ = soft_hellinger(
        along, along @ weight / 2, plus.view(np.uint8), weight, 4.0, np.empty(30)
    )
    reached = gradient_ascent(Z, plus.view(np.uint8), weight, a, 0.01, 4.0, 50, 20, 1e-9)
    assert reached >= start - 0.01 * price
    assert np.linalg.norm(a) <= 1 + 1e-12


@given(SEEDS, st.integers(1, 4))
def test_the_scan_finds_the_best_midpoint_of_all_columns(seed, min_leaf):
    rng = np.random.default_rng(seed)
    along = rng.integers(0, 6, (14, 3)) / 2
    plus = rng.permutation(14) < 5
    column, threshold, value = scan(along, plus, min_leaf)
    values = [0.0]
    for f in range(3):
        for cut in np.unique(along[:, f])[:-1]:
            right = along[:, f] > cut
            if min(right.sum(), (~right).sum()) >= min_leaf:
                values.append(hard_hellinger(right, plus))
    assert value == pytest.approx(max(values), abs=1e-8)
    if value > 0:
        right = along[:, column] > threshold
        assert hard_hellinger(right, plus) == pytest.approx(value)
        assert min(right.sum(), (~right).sum()) >= min_leaf


def test_multiplying_the_rows_of_a_class_leaves_the_split(case):
    for seed in range(12):
        with case(seed):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(60, 4))
            plus = X @ [1, -1, 0.5, 0] + 0.5 * rng.normal(size=60) > 1
            directions = rng.normal(size=(2, 4))
            a, b, value = best_split(X, plus, directions, EASY)
            for repeats in (np.where(plus, 3, 1), np.where(plus, 1, 5)):
                many = np.repeat(np.arange(60), repeats)
                a_many, b_many, value_many = best_split(X[many], plus[many], directions, EASY)
                np.testing.assert_allclose(a_many, a, atol=1e-6)
                assert b_many == pytest.approx(b, abs=1e-6)
                assert value_many == pytest.approx(value)
                np.testing.assert_array_equal(X @ a_many > b_many, X @ a > b)


def features_per_split(forest):
    return [len(split.features) for tree in forest for split in tree.splits]


def test_a_high_price_leaves_one_feature_a_split(small):
    X, Y, _ = small
    cheap = SOSHF(5, l1=0, max_features=5, random_state=0).fit(X, Y).forest_
    dear = SOSHF(5, l1=1e3, max_features=5, random_state=0).fit(X, Y).forest_
    assert set(features_per_split(dear)) == {1}
    assert np.mean(features_per_split(cheap)) > 2


@pytest.mark.parametrize("seed", range(5))
def test_a_linearly_separable_label_is_fitted_exactly_by_one_tree(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    along = X @ rng.normal(size=3)
    along -= np.quantile(along, 0.8)
    Y = (along > 0).astype(int)[:, None]
    tree = SOSHF(1, min_samples_leaf=1, bootstrap=False, random_state=seed)
    np.testing.assert_array_equal(tree.fit(X, Y).predict(X), Y)
    clear = np.abs(along) > 0.5  # with a gap between the classes, a single split does it
    tree.set_params(max_features=3).fit(X[clear], Y[clear])
    assert len(tree.forest_[0].splits) == 1
    np.testing.assert_array_equal(tree.predict(X[clear]), Y[clear])


def test_scores_are_means_of_leaves_and_leaves_hold_enough_rows(small):
    X, Y, new = small
    model = SOSHF(4, min_samples_leaf=7, bootstrap=False, random_state=0).fit(X, Y)
    at, at_new = (
        np.column_stack([tree.leaves_of(rows) for tree in model.forest_]) for rows in (X, new)
    )
    assert min(np.bincount(leaves).min() for leaves in at.T) >= 7
    expected = np.array(
        [[Y[at[:, t] == leaf].mean(axis=0) for t, leaf in enumerate(row)] for row in at_new]
    ).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), model.predict_proba(new) >= 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_grow_the_same_trees(dtype, small):
    X, Y, new = (part.astype(dtype) for part in small)
    X, new = X * (X > 1), new * (new > 1)
    dense = SOSHF(4, random_state=0).fit(X, Y)
    sparse = SOSHF(4, random_state=0).fit(sp.csr_array(X), sp.csr_array(Y))
    for tree, same in zip(dense.forest_, sparse.forest_, strict=True):
        for split, equal in zip(tree.splits, same.splits, strict=True):
            np.testing.assert_array_equal(split.coefficients, equal.coefficients)
            np.testing.assert_array_equal(split.features, equal.features)
    np.testing.assert_array_equal(dense.predict_proba(new), sparse.predict_proba(sp.csr_array(new)))


def test_constant_features_are_passed_over():
    rng = np.random.default_rng(0)
    X = np.zeros((80, 100))
    X[:, 37] = rng.normal(size=80)
    Y = (X[:, [37]] > 0.5).astype(int)
    for rows in (X, sp.csr_array(X)):
        model = SOSHF(3, bootstrap=False, random_state=0).fit(rows, Y)
        np.testing.assert_array_equal(model.predict(rows), Y)
        assert all(split.features == [37] for tree in model.forest_ for split in tree.splits)


def test_depth_is_limited(small):
    X, Y, _ = small
    forest = SOSHF(6, max_depth=1, random_state=0).fit(X, Y).forest_
    for tree in forest:
        assert tree.children == [[~0, ~1]]
        assert tree.leaves.shape == (2, 6)


def test_nothing_to_split_is_a_leaf():
    model = SOSHF(3, random_state=0).fit(np.ones((30, 2)), np.eye(2, dtype=int)[np.arange(30) % 2])
    assert not any(tree.splits for tree in model.forest_)
    assert np.ptp(model.predict_proba(np.array([[1.0, 1.0], [5.0, 2.0]])), axis=0).max() == 0


def test_words_and_missing_values_are_refused(small):
    X, Y, _ = small
    frame = pd.DataFrame(X, columns=list("abcde")).assign(f=pd.Categorical(["u", "v"] * 45))
    with pytest.raises(InputError, match="1 columns of X are categorical"):
        SOSHF(2).fit(frame, Y)
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(MissingValuesError, match="columns 1"):
        SOSHF(2).fit(holes, Y)
    with pytest.raises(MissingValuesError, match="columns 1"):
        SOSHF(2).fit(X, Y).predict(holes)


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(SOSHF(n_estimators=5, random_state=0), "sure")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "scene", "yeast"])
def test_as_good_as_a_random_forest(name, data_dir):
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(data.Y.shape[0])[:1000]
    train, test = np.array_split(rows, 2)
    gaps = []
    for seed in range(2):
        areas = [
            macro_auc_roc(data.Y[test], label_scores(forest, data.X[test]))
            for forest in (
                SOSHF(30, random_state=seed).fit(data.X[train], data.Y[train]),
                RandomForestClassifier(30, random_state=seed).fit(
                    data.X[train], data.Y[train].toarray()
                ),
            )
        ]
        gaps.append(areas[0] - areas[1])
    assert np.mean(gaps) >= -0.01
