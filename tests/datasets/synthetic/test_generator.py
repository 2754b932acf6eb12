"""The generator keeps what it promises: types, counts, correlation, containers."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse

from labelance.datasets import make_multilabel_imbalanced
from labelance.exceptions import InputError
from labelance.imbalance import cardinality, imr, local_distribution, mean_imr
from labelance.neighbors import find_neighbors


def type_shares_of(X, Y, k=5, **distance):
    counts = local_distribution(Y, find_neighbors(X, n_neighbors=k, **distance)).type_counts.sum(
        axis=0
    )
    return counts / counts.sum()


@pytest.mark.parametrize(
    "shares",
    [
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        (0, 0, 1, 0),
        (0.25, 0.25, 0.25, 0.25),
        (0.1, 0.2, 0.3, 0.4),
        (0.5, 0, 0, 0.5),
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"n_features": 1},
        {"n_features": 2, "n_samples": 1003},
        {"n_features": 12, "n_categorical": 6},
        {"sparse": True},
        {"sparse": True, "n_features": 300, "density": 0.02, "n_categorical": 200},
    ],
    ids=str,
)
def test_type_shares_are_reached(shares: tuple[float, ...], kind: dict) -> None:
    X, Y = make_multilabel_imbalanced(type_shares=shares, random_state=0, **kind)
    np.testing.assert_allclose(type_shares_of(X, Y), shares, atol=0.05)


@pytest.mark.slow
def test_every_label_with_enough_rows_has_the_shares() -> None:
    shares = (0.3, 0.3, 0.3, 0.1)
    X, Y = make_multilabel_imbalanced(4000, 6, 12, type_shares=shares, random_state=0)
    counts = local_distribution(Y, find_neighbors(X, n_neighbors=5)).type_counts
    reached = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(reached[counts.sum(axis=1) >= 100], [shares] * 12, atol=0.05)


def test_only_outliers_is_possible_where_labels_are_rare() -> None:
    X, Y = make_multilabel_imbalanced(imbalance=40, type_shares=(0, 0, 0, 1), random_state=0)
    assert type_shares_of(X, Y)[3] == 1


@pytest.mark.parametrize(
    "kind",
    [{"n_categorical": 8}, {"n_features": 3}, {"sparse": True, "n_categorical": 10}],
    ids=str,
)
def test_types_do_not_change_when_features_are_scaled_by_their_range(kind: dict) -> None:
    X, Y = make_multilabel_imbalanced(type_shares=(0.4, 0.3, 0.2, 0.1), random_state=1, **kind)
    nominal = np.arange(X.shape[1] - kind.get("n_categorical", 0), X.shape[1])
    scaled = type_shares_of(X, Y, scale="range", categorical_features=nominal)
    np.testing.assert_array_equal(scaled, type_shares_of(X, Y))


@pytest.mark.slow
@settings(max_examples=15)
@given(
    n_samples=st.integers(1500, 2500),
    n_features=st.integers(1, 8),
    n_labels=st.integers(1, 8),
    k=st.integers(4, 7),
    seed=st.integers(0, 2**32),
    # With fewer safe cells there may not be rows enough for the groups of the others.
    weights=st.tuples(st.floats(0.3, 1), *[st.floats(0.05, 1)] * 2, st.floats(0.0, 0.3)),
)
def test_type_shares_hold_for_any_shape(n_samples, n_features, n_labels, k, seed, weights) -> None:
    shares = np.array(weights) / sum(weights)
    X, Y = make_multilabel_imbalanced(
        n_samples,
        n_features,
        n_labels,
        imbalance=9.0 * k / 5,
        k_neighbors=k,
        type_shares=shares,
        random_state=seed,
    )
    np.testing.assert_allclose(type_shares_of(X, Y, k), shares, atol=0.05)


@pytest.mark.parametrize(
    ("cardinality_asked", "imbalance_asked"),
    [(None, 5.0), (None, 50.0), (2.0, 8.0), (2.0, 4.0), (0.5, 60.0), (4.0, 1.6), (2.0, None)],
)
def test_cardinality_and_mean_imbalance_are_reached(cardinality_asked, imbalance_asked) -> None:
    _, Y = make_multilabel_imbalanced(
        10_000, cardinality=cardinality_asked, imbalance=imbalance_asked, random_state=0
    )
    if cardinality_asked is not None:
        assert cardinality(Y) == pytest.approx(cardinality_asked, rel=1e-3)
    if imbalance_asked is not None:
        assert mean_imr(Y) == pytest.approx(imbalance_asked, rel=0.02)


@pytest.mark.parametrize("indicator", ["dense", "sparse"])
def test_ratios_are_followed_label_by_label_on_either_side_of_balance(indicator: str) -> None:
    ratio = np.array([0.1, 0.5, 1, 3, 24])
    _, Y = make_multilabel_imbalanced(
        1200, n_labels=5, imbalance=ratio, return_indicator=indicator, random_state=0
    )
    ones = np.asarray(Y.sum(axis=0)).ravel()
    np.testing.assert_allclose((1200 - ones) / ones, ratio, rtol=0.02)
    np.testing.assert_allclose(imr(Y), np.maximum(ratio, 1 / ratio), rtol=0.02)


def test_a_label_shares_as_many_rows_with_the_next_more_frequent_one_as_asked() -> None:
    for asked in (0.0, 0.4, 1.0):
        _, Y = make_multilabel_imbalanced(12_000, label_correlation=asked, random_state=0)
        together = (Y[:, 1:] & Y[:, :-1]).sum(axis=0) / Y[:, 1:].sum(axis=0)
        by_chance = (1 - asked) * Y[:, :-1].mean(axis=0)
        np.testing.assert_allclose(together, asked + by_chance, atol=0.05)


def test_dense_and_sparse_indicators_are_the_same_labels() -> None:
    ratio = [0.4, 2, 6]
    kind = {"n_labels": 3, "imbalance": ratio, "random_state": 5}
    X, dense = make_multilabel_imbalanced(**kind)
    same_X, sparse = make_multilabel_imbalanced(**kind, return_indicator="sparse")
    np.testing.assert_array_equal(X, same_X)
    assert dense.dtype == sparse.dtype == np.int8
    np.testing.assert_array_equal(dense, sparse.toarray())


def test_a_sparse_X_has_the_density_and_the_codes_asked_for() -> None:
    X, _ = make_multilabel_imbalanced(
        600, 200, sparse=True, density=0.05, n_categorical=150, random_state=0
    )
    assert issparse(X)
    assert X.nnz == 600 * 10
    codes = X[:, 50:].data
    np.testing.assert_array_equal(codes, codes.astype(int))


def test_categorical_columns_of_a_dense_X_hold_codes() -> None:
    X, _ = make_multilabel_imbalanced(n_features=6, n_categorical=2, random_state=0)
    assert set(np.unique(X[:, 4:])) == {0, 1, 2, 3}
    assert len(np.unique(X[:, 0])) == len(X)


def test_features_tell_something_of_the_labels() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    X, Y = make_multilabel_imbalanced(
        3000, 5, 1, imbalance=3, type_shares=(1, 0, 0, 0), random_state=0
    )
    half = len(X) // 2
    guess = KNeighborsClassifier(3).fit(X[:half], Y[:half].ravel()).predict(X[half:])
    hit = guess == Y[half:].ravel()
    assert hit.mean() > 0.9


def test_seeds_fix_the_data_and_generators_move_on() -> None:
    first, again = (make_multilabel_imbalanced(random_state=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    rng = np.random.default_rng(1)
    one, two = (make_multilabel_imbalanced(random_state=rng)[0] for _ in range(2))
    assert not np.array_equal(one, two)


@pytest.mark.slow
def test_a_million_rows_take_seconds() -> None:
    start = time.process_time()
    X, Y = make_multilabel_imbalanced(1_000_000, 10, 5, random_state=0)
    assert time.process_time() - start < 15
    assert X.shape == (1_000_000, 10)
    assert Y.shape == (1_000_000, 5)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"type_shares": (0, 0, 0, 1), "imbalance": 5}, "separate groups of 6 rows"),
        ({"type_shares": (0.5, 0.6, 0, 0)}, "sum to 1"),
        ({"type_shares": (0, 0, 1, 0), "k_neighbors": 3}, "no cell can be RR"),
        ({"type_shares": (1, 0, 0, 0), "n_samples": 60}, "closest shares"),
        ({"cardinality": 2, "imbalance": 3}, "at least 4"),
        ({"cardinality": 6}, r"in \(0, 5\]"),
        ({"cardinality": 2, "imbalance": [9] * 10}, "already determines the cardinality"),
        ({"imbalance": [9] * 3}, "10 positive ratios"),
        ({"imbalance": 0.5}, "at least 1"),
        ({"imbalance": 5000}, "at least one row that has it"),
        ({"n_labels": 1, "cardinality": 0.2, "imbalance": 9}, "cannot be so unequal"),
        ({"n_categorical": 20}, "n_categorical must be between 0 and 19"),
        ({"sparse": True, "density": 0.9}, "density must be between"),
        ({"sparse": True, "n_samples": 20_000, "density": 0.05}, "distinguishes only 80"),
        ({"label_correlation": 2}, "label_correlation must be between 0 and 1"),
        ({"n_samples": 11}, "n_samples must be between 12"),
    ],
)
def test_what_cannot_be_had_together_is_said(asked: dict, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_multilabel_imbalanced(random_state=0, **asked)
