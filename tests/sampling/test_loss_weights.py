"""Numbers for losses against their definitions, by hand and cell by cell."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from labelance.exceptions import InputError, LabelFormatError
from labelance.sampling import (
    distribution_balanced_weights,
    focal_parameters,
    label_weights,
    logit_adjustment,
)

tables = arrays(
    np.int8, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(0, 1)
)


def test_effective_numbers_by_hand():
    """beta = 0.5: one row counts 1, three rows count 1 + 1/2 + 1/4."""
    per_one, per_three = 1.0, 1 / 1.75
    scale = 4 / (1 * per_one + 3 * per_three)  # all four cells have the mean weight 1
    weights = label_weights([[1], [0], [0], [0]], kind="effective", beta=0.5)
    assert_allclose(weights, [[per_three * scale, per_one * scale]])


@pytest.mark.slow
@given(tables)
def test_effective_weights_lie_between_none_and_balanced(Y):
    assert_allclose(label_weights(Y, kind="effective", beta=0), 1)
    nearly = label_weights(Y, kind="effective", beta=1 - 1e-9)
    assert_allclose(nearly, label_weights(Y), rtol=1e-5)
    for y, pair in zip(Y.T, label_weights(Y, kind="effective", beta=0.9)):
        assert_allclose(pair[y].mean(), 1)


@pytest.mark.parametrize("beta", [-0.1, 1, 2])
def test_beta_is_a_share(beta):
    with pytest.raises(InputError, match="beta"):
        label_weights(np.eye(2), kind="effective", beta=beta)


def db_weight(Y, counts, i, j, alpha, beta, mu):
    """The definition: chance of row i by label j, over its chance by all labels that it has."""
    by_all = sum(1 / max(counts[m], 1) for m in range(Y.shape[1]) if Y[i, m])
    if by_all == 0:
        return alpha + 1
    ratio = (1 / max(counts[j], 1)) / by_all
    return alpha + 1 / (1 + math.exp(-beta * (ratio - mu)))


@pytest.mark.slow
@given(tables)
def test_distribution_balanced_weights_by_definition(Y):
    weights = distribution_balanced_weights(Y, alpha=0.2, beta=5, mu=0.4)
    counts = Y.sum(axis=0)
    expected = [
        [db_weight(Y, counts, i, j, 0.2, 5, 0.4) for j in range(Y.shape[1])] for i in range(len(Y))
    ]
    assert_allclose(weights, expected)
    assert_allclose(
        distribution_balanced_weights(sp.csr_array(Y), alpha=0.2, beta=5, mu=0.4), weights
    )


def test_a_batch_has_the_weights_that_it_has_among_all_rows():
    Y = (np.random.default_rng(0).random((50, 4)) < [0.5, 0.3, 0.1, 0]).astype(int)
    batch = distribution_balanced_weights(Y[10:20], label_counts=Y.sum(axis=0))
    assert_array_equal(batch, distribution_balanced_weights(Y)[10:20])
    for counts in (Y.sum(axis=0)[:2], -Y.sum(axis=0)):
        with pytest.raises(InputError, match="label_counts"):
            distribution_balanced_weights(Y, label_counts=counts)


@pytest.mark.slow
@given(tables)
def test_adjusted_logits_of_the_base_rate_are_even(Y):
    """A score that knows nothing but the label's frequency is 0.5 when that is taken away."""
    ones = Y.mean(axis=0)
    shift = logit_adjustment(Y)
    varies = (ones > 0) & (ones < 1)
    assert_allclose(1 / (1 + np.exp(-shift[varies])), ones[varies])
    assert_array_equal(shift[~varies], 0)
    assert_allclose(logit_adjustment(Y, tau=0.3), 0.3 * shift)


@pytest.mark.slow
@given(tables, st.sampled_from([0.0, 1.0]))
def test_focus_balances_both_classes_at_one_half(Y, gamma):
    found = focal_parameters(Y, gamma_positive=gamma, max_gamma=100)
    ones = Y.sum(axis=0)
    zeros = len(Y) - ones
    assert_array_equal(found.gamma_positive, gamma)
    for j in np.flatnonzero((ones > 0) & (ones < len(Y))):
        assert_allclose(found.alpha[j] * ones[j], (1 - found.alpha[j]) * zeros[j])
        if ones[j] <= zeros[j]:
            weights = [zeros[j] * 0.5 ** found.gamma_negative[j], ones[j] * 0.5**gamma]
            assert_allclose(*weights)
        else:
            assert found.gamma_negative[j] == gamma


def test_exponents_are_limited():
    Y = np.arange(1000)[:, None] < [1, 999, 0]
    found = focal_parameters(Y, gamma_positive=1, max_gamma=5)
    assert_array_equal(found.gamma_negative, [5, 1, 1])
    assert found.alpha[2] == 0.5


@pytest.mark.parametrize(
    "number", [distribution_balanced_weights, logit_adjustment, focal_parameters]
)
def test_labels_are_zeros_and_ones(number):
    with pytest.raises(LabelFormatError):
        number([[0.5]])
