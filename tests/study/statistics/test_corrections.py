"""Holm, Shaffer, Bergmann-Hommel: worked example, oracles by definition, laws."""

from itertools import combinations
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance.exceptions import InputError
from labelance.study.statistics import bergmann_hommel, holm, shaffer
from labelance.study.statistics._corrections import exhaustive_sets, partitions, true_counts

CORRECTIONS = [holm, shaffer, bergmann_hommel]
P_VALUES = st.integers(2, 6).flatmap(
    lambda k: st.lists(
        st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.2, 1.0]) | st.floats(0, 1),
        min_size=k * (k - 1) // 2,
        max_size=k * (k - 1) // 2,
    )
)


def pairs_of(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


def test_example_b_of_the_specification(matrix_of):
    p = matrix_of([0.001, 0.004, 0.030, 0.020, 0.012, 0.400])
    assert_allclose(pairs_of(bergmann_hommel(p)), [0.006, 0.012, 0.040, 0.040, 0.036, 0.400])
    assert_allclose(pairs_of(shaffer(p)), [0.006, 0.012, 0.060, 0.060, 0.036, 0.400])
    assert_allclose(pairs_of(holm(p)), [0.006, 0.020, 0.060, 0.060, 0.048, 0.400])
    rejected = [int((pairs_of(rule(p)) <= 0.05).sum()) for rule in CORRECTIONS]
    assert rejected == [3, 3, 5]


@pytest.mark.parametrize(
    ("k", "counts"),
    [
        (0, [0]),
        (1, [0]),
        (2, [0, 1]),
        (3, [0, 1, 3]),
        (4, [0, 1, 2, 3, 6]),
        (5, [0, 1, 2, 3, 4, 6, 10]),
        (7, [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 21]),
    ],
)
def test_numbers_of_true_hypotheses(k, counts):
    assert true_counts(k) == tuple(counts)


@pytest.mark.parametrize("k", range(2, 9))
def test_exhaustive_sets_have_the_possible_sizes(k):
    assert {0, *exhaustive_sets(k).sum(axis=0)} == set(true_counts(k))


@pytest.mark.parametrize(
    ("k", "n_sets"),
    list(enumerate([1, 4, 14, 51, 202, 876, 4139, 21146, 115974], start=2)),
)
def test_number_of_exhaustive_sets(k, n_sets):
    sets = exhaustive_sets(k)
    assert sets.shape == (k * (k - 1) // 2, n_sets)
    assert np.unique(np.packbits(sets, axis=0), axis=1).shape[1] == n_sets
    assert_array_equal(partitions(k)[0], 0)
    assert_array_equal(partitions(k)[-1], range(k))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_exhaustive_sets_by_trying_all_sets(k):
    """A set is exhaustive if a = b and b = c in it always come with a = c."""
    pairs = list(combinations(range(k), 2))

    def is_closed(chosen):
        return all(
            len({(a, b), (b, c), (a, c)} & chosen) != 2 for a, b, c in combinations(range(k), 3)
        )

    every = [frozenset(s) for size in range(1, len(pairs) + 1) for s in combinations(pairs, size)]
    ours = [
        frozenset(pair for pair, inside in zip(pairs, column) if inside)
        for column in exhaustive_sets(k).T
    ]
    assert set(ours) == {s for s in every if is_closed(s)}


@pytest.mark.slow
@given(P_VALUES)
def test_order_of_power(matrix_of, p):
    p = matrix_of(p)
    raw, least, middle, most = map(pairs_of, (p, bergmann_hommel(p), shaffer(p), holm(p)))
    assert (raw <= least).all()
    assert (least <= middle).all()
    assert (middle <= most).all()
    assert (most <= 1).all()


@pytest.mark.slow
@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.1]))
def test_adjusted_values_reject_what_the_procedure_rejects(matrix_of, p, alpha):
    """Accepted is what lies in an exhaustive set I with min p > alpha / |I|."""
    matrix = matrix_of(p)
    p, sets = np.array(p), exhaustive_sets(len(matrix))
    accepted = np.zeros(p.size, dtype=bool)
    for inside in sets.T:
        if p[inside].min() * inside.sum() > alpha:
            accepted |= inside
    assert_array_equal(pairs_of(bergmann_hommel(matrix)) > alpha, accepted)


@pytest.mark.slow
@given(P_VALUES)
def test_holm_and_shaffer_by_their_definition(matrix_of, p):
    matrix = matrix_of(p)
    order, k, m = np.argsort(p, kind="stable"), len(matrix), len(p)
    for rule, factor in [
        (holm, lambda left: left),
        (shaffer, lambda left: max(s for s in true_counts(k) if s <= left)),
    ]:
        expected, largest = np.empty(m), 0.0
        for i, pair in enumerate(order):
            largest = max(largest, min(1, factor(m - i) * p[pair]))
            expected[pair] = largest
        assert_array_equal(pairs_of(rule(matrix)), expected)


@pytest.mark.parametrize("rule", CORRECTIONS)
def test_all_equal(rule, case):
    for k in [2, 3, 5, 9]:
        with case(k):
            m = k * (k - 1) // 2
            for p in (0.0, 0.4 / m, 0.9):
                adjusted = rule(np.full((k, k), p))
                assert_allclose(pairs_of(adjusted), min(1, m * p))
                assert_array_equal(np.diag(adjusted), 1)


@pytest.mark.slow
@pytest.mark.parametrize("rule", CORRECTIONS)
@given(p=P_VALUES, seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_order_of_methods_does_not_matter(matrix_of, rule, p, seed):
    p = matrix_of(p)
    order = np.random.default_rng(seed).permutation(len(p))
    assert_array_equal(rule(p[np.ix_(order, order)]), rule(p)[np.ix_(order, order)])


@pytest.mark.slow
def test_bergmann_hommel_is_not_monotone_unless_asked(matrix_of):
    rng = np.random.default_rng(0)
    inversions = 0
    for _ in range(300):
        p = rng.random(rng.choice([6, 10])) ** 3
        order = np.argsort(p)
        plain = pairs_of(bergmann_hommel(matrix_of(p)))
        forced = pairs_of(bergmann_hommel(matrix_of(p), monotone=True))
        inversions += (np.diff(plain[order]) < 0).any()
        assert_array_equal(forced[order], np.maximum.accumulate(plain[order]))
    assert 30 < inversions < 270


@pytest.mark.slow
@given(P_VALUES)
def test_monotone_stays_below_shaffer(matrix_of, p):
    p = matrix_of(p)
    forced = pairs_of(bergmann_hommel(p, monotone=True))
    assert (pairs_of(bergmann_hommel(p)) <= forced).all()
    assert (forced <= pairs_of(shaffer(p))).all()


def test_nine_methods_are_quick(matrix_of):
    p = matrix_of(np.random.default_rng(0).random(36))
    bergmann_hommel(p)
    start = process_time()
    bergmann_hommel(p)
    assert process_time() - start < 1


def test_more_than_ten_methods_are_sent_to_shaffer():
    p = np.full((11, 11), 0.5)
    with pytest.raises(InputError, match=r"Got 11\. Use shaffer"):
        bergmann_hommel(p)
    assert shaffer(p).shape == (11, 11)
