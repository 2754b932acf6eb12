"""Signed ranks: an oracle over all sign patterns, scipy, and worked examples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata, wilcoxon

from labelance.exceptions import InputError
from labelance.study.statistics import signed_rank_sums, wilcoxon_matrix


def against_zero(differences):
    """Scores of two methods that differ so."""
    return np.column_stack([differences, np.zeros(len(differences))])


def p_value(differences, **options):
    return wilcoxon_matrix(against_zero(differences), **options)[0, 1]


def by_all_patterns(differences, zero):
    """W+, W- and p from every one of the sign patterns."""
    d = np.asarray(differences, dtype=float)
    if zero == "drop":
        d = d[d != 0]
    ranks = rankdata(abs(d))
    half = ranks[d == 0].sum() / 2
    moving = ranks[d != 0]
    plus, minus = ranks[d > 0].sum() + half, ranks[d < 0].sum() + half
    patterns = np.array(list(product([0, 1], repeat=moving.size)))
    sums = patterns.reshape(2**moving.size, moving.size) @ moving + half
    total = plus + minus
    return plus, minus, np.mean(np.minimum(sums, total - sums) <= min(plus, minus))


@pytest.mark.slow
@pytest.mark.parametrize("zero", ["split", "drop"])
@given(differences=arrays(np.int64, st.integers(2, 9), elements=st.integers(-4, 4)))
def test_exact_p_counts_all_sign_patterns(zero, differences):
    plus, minus, p = by_all_patterns(differences, zero)
    sums = signed_rank_sums(against_zero(differences), zero=zero)
    assert (sums[0, 1], sums[1, 0]) == (plus, minus)
    assert p_value(differences, zero=zero) == pytest.approx(p, abs=1e-12)


def test_example_of_the_specification():
    differences = [0.05, 0.045, -0.01, 0.03, 0.06, 0.02, 0.04, 0.012]
    assert signed_rank_sums(against_zero(differences))[1, 0] == 1
    assert p_value(differences) == 0.015625


def test_demsar_2006(demsar):
    # Two zeros and two pairs of equal differences: R+ = 93, R- = 12 (section 3.1.3).
    sums = signed_rank_sums(demsar[:, :2])
    assert_array_equal(sums, [[0, 12], [93, 0]])
    assert wilcoxon_matrix(demsar[:, :2])[0, 1] < 0.05


@pytest.mark.parametrize("n", [5, 13, 25])
def test_exact_p_is_that_of_scipy(n):
    scores = np.random.default_rng(n).random((n, 4))
    p = wilcoxon_matrix(scores)
    for a, b in [(0, 1), (0, 3), (2, 3)]:
        theirs = wilcoxon(scores[:, a], scores[:, b], method="exact")
        assert_allclose(p[a, b], theirs.pvalue, rtol=1e-12)


@pytest.mark.parametrize(("n", "decimals"), [(26, 15), (40, 1), (200, 1)])
def test_normal_p_is_that_of_scipy(n, decimals):
    rng = np.random.default_rng(n)
    d = np.round(rng.normal(0.2, 1, n), decimals)
    theirs = wilcoxon(d, zero_method="wilcox", method="asymptotic", correction=False)
    if (d != 0).sum() > 25:
        assert_allclose(p_value(d, zero="drop"), theirs.pvalue, rtol=1e-9)
    # Splitting zeros moves both sums alike, so z is that of Pratt's method.
    pratt = wilcoxon(d, zero_method="pratt", method="asymptotic", correction=False)
    assert_allclose(p_value(d, zero="split"), pratt.pvalue, rtol=1e-9)


def test_normal_continues_exact():
    d = np.random.default_rng(0).normal(0.3, 1, 26)
    exact = wilcoxon(d, method="exact").pvalue
    assert_allclose(p_value(d), exact, rtol=0.1)


@pytest.mark.parametrize("zero", ["split", "drop"])
@pytest.mark.parametrize("n", [5, 30])
def test_equal_methods(zero, n):
    scores = np.repeat(np.random.default_rng(0).random((n, 1)), 3, axis=1)
    assert_array_equal(wilcoxon_matrix(scores, zero=zero), np.ones((3, 3)))


@pytest.mark.parametrize("n", [2, 10, 13, 25])
def test_best_possible(n):
    assert p_value(np.arange(1, n + 1)) == 2 / 2**n


def test_decimals_that_are_equal_on_paper_are_equal():
    a = np.array([0.75, 0.63, 0.3, 0.9])
    b = np.array([0.72, 0.60, 0.27, 0.95])
    assert len(set(a[:3] - b[:3])) > 1  # the trap
    for scale in (1, 1e-6, 1e9):
        sums = signed_rank_sums(scale * np.column_stack([a, b]))
        assert_array_equal(sums, [[0, 6], [4, 0]])


@pytest.mark.slow
@given(st.integers(2, 7), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_symmetry(n, k, seed):
    scores = np.random.default_rng(seed).integers(0, 5, (n, k))
    p, sums = wilcoxon_matrix(scores), signed_rank_sums(scores)
    assert_array_equal(p, p.T)
    assert_array_equal(np.diag(p), 1)
    assert_array_equal((sums + sums.T)[~np.eye(k, dtype=bool)], n * (n + 1) / 2)
    order = np.random.default_rng(seed).permutation(k)
    assert_array_equal(wilcoxon_matrix(scores[:, order]), p[np.ix_(order, order)])
    assert_array_equal(wilcoxon_matrix(scores, higher_is_better=False), p)
    assert_array_equal(signed_rank_sums(scores, higher_is_better=False), sums.T)


def test_unknown_zero_is_refused():
    with pytest.raises(InputError, match="Got 'pratt'"):
        wilcoxon_matrix(np.eye(3), zero="pratt")
