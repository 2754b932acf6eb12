"""Comparisons with a mean of ratios against fractions, which do not round."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from labelance.imbalance import scumble_instances
from labelance.imbalance._above_mean import (
    counts_at_mean,
    exceeds,
    imr_against_mean,
    irlbl_against_mean,
    mean_ir_is_below,
)

many = settings(max_examples=100)

# Small counts meet their mean often; large ones are what rounding could not tell apart.
some_counts = st.lists(st.one_of(st.integers(0, 12), st.integers(0, 10**6)), min_size=1)


@st.composite
def counts_at_their_mean(draw):
    """One label at the mean: its count is the harmonic mean of two others, and of all."""
    a, b, times = draw(st.tuples(st.integers(1, 300), st.integers(1, 300), st.integers(1, 30)))
    return [times * a * (a + b), times * 2 * a * b, times * b * (a + b)]


def signs(ratios):
    """Compare ratios, None where a label has none, with their mean, one by one."""
    known = [ratio for ratio in ratios if ratio is not None]
    mean = sum(known, Fraction(0)) / max(len(known), 1)
    return [np.nan if r is None else (r > mean) - (r < mean) for r in ratios]


@pytest.mark.slow
@many
@given(st.one_of(some_counts, counts_at_their_mean()))
@example([66, 60, 55])
@example([63, 45, 35])
def test_irlbl_against_its_mean(counts):
    ratios = [Fraction(max(counts), c) if c else None for c in counts]
    assert_array_equal(irlbl_against_mean(np.array(counts)), signs(ratios))


@pytest.mark.slow
@many
@given(st.one_of(some_counts, counts_at_their_mean()), st.integers(0, 50))
def test_imr_against_its_mean(counts, more):
    n = max(counts) + more
    pairs = [(max(c, n - c), min(c, n - c)) for c in counts]
    ratios = [Fraction(major, minor) if minor else None for major, minor in pairs]
    assert_array_equal(imr_against_mean(np.array(counts), n), signs(ratios))


@pytest.mark.slow
@many
@given(st.one_of(some_counts, counts_at_their_mean()), st.data())
def test_the_count_at_which_a_label_is_at_the_mean(counts, data):
    present = [c for c in counts if c] or [1]
    mean = sum((Fraction(max(present), c) for c in present), Fraction(0)) / len(present)
    others = data.draw(st.lists(st.integers(0, 2**31 - 1), max_size=5))
    largest = [max(present), *others, *(int(mean * c) for c in others if mean * c < 2**31)]
    below, above = counts_at_mean(np.array(present), np.array(largest))
    assert_array_equal(below, [math.floor(most / mean) for most in largest])
    assert_array_equal(above, [math.ceil(most / mean) for most in largest])
    assert mean_ir_is_below(np.array(present), mean + 1)
    assert not mean_ir_is_below(np.array(present), mean)


def test_ten_thousand_labels_in_a_million_rows():
    rng = np.random.default_rng(0)
    counts = rng.choice(10**6, 10_000, replace=False) + 1
    ratios = 1 / counts
    assert_array_equal(irlbl_against_mean(counts), np.sign(ratios - ratios.mean()))
    below, above = counts_at_mean(counts, np.array([10**6, 10**9]))
    expected = np.array([10**6, 10**9]) / np.mean(counts.max() / counts)
    assert_array_equal(below, np.floor(expected))
    assert_array_equal(above, np.ceil(expected))


@pytest.mark.slow
@many
@given(
    arrays(np.int8, st.tuples(st.integers(1, 12), st.integers(1, 8)), elements=st.integers(0, 1))
)
def test_scumble_of_rows_with_equal_counts_is_equal(Y):
    counts = Y.sum(axis=0)
    found = {}
    for row, value in zip(Y, scumble_instances(Y)):
        own = tuple(sorted(counts[row == 1]))
        assert found.setdefault(own, value) == value


def test_equal_values_do_not_exceed_their_mean():
    for n in range(2, 400):
        Y = csr_array(np.hstack([np.ones((n, 1), int), np.eye(n, dtype=int)]))
        values = scumble_instances(Y)
        assert not exceeds(values, values.mean()).any(), n
