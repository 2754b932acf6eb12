"""The compiled assignment against the readable one, and what must hold for any deal."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelance.model_selection._stratify import assign, label_incidence, label_pairs

MANY = settings(max_examples=80)


@st.composite
def indicators(draw, max_rows=30, max_labels=7):
    n, q = draw(st.integers(1, max_rows)), draw(st.integers(1, max_labels))
    density = draw(st.sampled_from([0.1, 0.3, 0.6]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (rng.random((n, q)) < density).astype(np.int8)


def assign_dense(Y, weights, draws, order=1):
    incidence = label_incidence(csr_array(Y), order=order)
    return assign(incidence, np.asarray(weights, dtype=np.int64), draws)


@pytest.mark.slow
@MANY
@given(
    Y=indicators(),
    weights=st.lists(st.integers(1, 7), min_size=2, max_size=6) | st.just([1, 1, 1]),
    order=st.sampled_from([1, 2]),
    seed=st.integers(0, 1000),
)
def test_compiled_dealing_is_the_readable_one(oracle, lots, Y, weights, order, seed):
    draws = np.random.default_rng(seed).random(len(Y))
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    expected = oracle(Y, shares, lots(draws), order)
    assert assign_dense(Y, weights, draws, order).tolist() == expected


@pytest.mark.slow
@MANY
@given(Y=indicators(), n_folds=st.integers(2, 6), order=st.sampled_from([1, 2]))
def test_every_row_is_dealt_and_no_fold_stays_empty(Y, n_folds, order):
    fold = assign_dense(Y, [1] * n_folds, np.zeros(len(Y)), order)
    sizes = np.bincount(fold, minlength=n_folds)
    assert fold.min() >= 0
    assert sizes.sum() == len(Y)
    assert (sizes > 0).sum() == min(n_folds, len(Y))


@pytest.mark.slow
@MANY
@given(Y=indicators(), n_folds=st.integers(2, 6))
def test_the_label_dealt_first_is_spread_evenly(Y, n_folds):
    counts = Y.sum(axis=0)
    present = np.flatnonzero(counts)
    if len(present) == 0:
        return
    first = present[np.argmin(counts[present])]
    fold = assign_dense(Y, [1] * n_folds, np.zeros(len(Y)))
    share = np.bincount(fold[Y[:, first] == 1], minlength=n_folds)
    assert share.max() - share.min() <= 1


def test_thirds_tie_exactly():
    # In floats 1 - 1/3 - 1/3 is not 1/3, and a wrong fold would want most.
    Y = np.ones((9, 1), dtype=np.int8)
    fold = assign_dense(Y, [1, 1, 1], np.zeros(9))
    assert fold.tolist() == [0, 1, 2] * 3


def test_no_lot_is_drawn_without_a_tie():
    # Every lot that were drawn would be out of range.
    Y = np.ones((3, 1), dtype=np.int8)
    assert assign_dense(Y, [5, 2], np.empty(0)).tolist() == [0, 0, 1]


def test_a_tie_uses_one_lot_in_order():
    Y = np.zeros((4, 1), dtype=np.int8)
    assert assign_dense(Y, [1, 1], np.array([0.9, 0.1])).tolist() == [1, 0, 0, 1]


@pytest.mark.slow
@MANY
@given(Y=indicators())
def test_pairs_are_those_of_the_rows_in_order(Y):
    pairs = label_pairs(csr_array(Y))
    q = Y.shape[1]
    occurring = [(j, m) for j in range(q) for m in range(j + 1, q) if (Y[:, j] & Y[:, m]).any()]
    expected = [Y[:, j] & Y[:, m] for j, m in occurring]
    assert pairs.shape == (len(Y), len(occurring))
    np.testing.assert_array_equal(pairs.toarray().T, np.array(expected).reshape(-1, len(Y)))


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_large_and_very_sparse_labels_take_no_dense_table(order):
    # 50,000 x 200,000 cells would be 10 GB; this needs two ones a row.
    n, q = 50_000, 200_000
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, q, size=(n, 2)), axis=1)
    columns[:, 1] += columns[:, 0] == columns[:, 1]
    Y = csr_array((np.ones(2 * n, dtype=np.int8), columns.ravel(), np.arange(0, 2 * n + 1, 2)))
    fold = assign(label_incidence(Y, order=order), np.ones(5, dtype=np.int64), rng.random(n))
    sizes = np.bincount(fold)
    assert sizes.max() - sizes.min() < 0.02 * n
