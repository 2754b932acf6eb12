"""Average ranks and Friedman's test: the literature, scipy, and what must always hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import friedmanchisquare

from labelance.study.statistics import average_ranks, friedman

# Few values, so that there are many ties.
TABLES = st.tuples(st.integers(2, 8), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 4))
)


def test_example_of_the_specification(example_f):
    assert_allclose(average_ranks(example_f), [3.166667, 2.583333, 3.25, 1], atol=1e-6)
    plain = friedman(example_f)
    assert_allclose([plain.chi2, plain.p], [11.75, 0.008291], atol=1e-6)
    assert_allclose([plain.F, plain.F_p], [9.4, 0.000968], atol=1e-6)
    corrected = friedman(example_f, tie_correction=True)
    assert_allclose([corrected.chi2, corrected.p], [12.155172, 0.006870], atol=1e-6)


def test_demsar_2006(demsar):
    assert_array_equal(np.round(average_ranks(demsar), 3), [3.143, 2.0, 2.893, 1.964])
    result = friedman(demsar)
    assert (round(result.chi2, 2), round(result.F, 2)) == (9.28, 3.69)
    assert result.df == (3, 39)


@given(TABLES)
def test_ranks_share_a_fixed_sum(scores):
    k = scores.shape[1]
    ranks = average_ranks(scores)
    assert np.isclose(ranks.sum(), k * (k + 1) / 2)
    assert_allclose(average_ranks(scores, higher_is_better=False), k + 1 - ranks)


@given(TABLES)
def test_ranks_by_counting(scores):
    # The rank is 1, and one more for each better method, and half for each equal one.
    expected = [[1 + sum(row > own) + (sum(row == own) - 1) / 2 for own in row] for row in scores]
    assert_allclose(average_ranks(scores), np.mean(expected, axis=0))


@pytest.mark.slow
@given(TABLES.filter(lambda scores: scores.shape[1] >= 3 and (np.ptp(scores, axis=1) > 0).any()))
def test_tie_correction_is_that_of_scipy(scores):
    ours, theirs = friedman(scores, tie_correction=True), friedmanchisquare(*scores.T)
    assert_allclose([ours.chi2, ours.p], [theirs.statistic, theirs.pvalue], atol=1e-9)


@pytest.mark.parametrize("tie_correction", [False, True])
def test_extremes(tie_correction):
    agreed = friedman([[3, 2, 1]] * 7, tie_correction=tie_correction)
    assert agreed.chi2 == 14
    assert (agreed.F, agreed.F_p) == (np.inf, 0)
    tied = friedman(np.ones((5, 3)), tie_correction=tie_correction)
    assert (tied.chi2, tied.p, tied.F, tied.F_p) == (0, 1, 0, 1)
    # Agreement with a tie in every row is perfect only if the tie is corrected for.
    shared = friedman([[2, 1, 1]] * 4, tie_correction=tie_correction)
    assert np.isinf(shared.F) == tie_correction
