"""Expected F: against all subsets of rows or labels, and all labels of a row."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from labelance.decisions import bayes_threshold, maximize_expected_f
from labelance.exceptions import InputError

TENTHS = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])


def f_of_counts(p, y, beta):
    b = beta**2
    whole = b * p.sum(axis=-1) + y.sum(axis=-1)
    hits = (1 + b) * (p * y).sum(axis=-1)
    return np.divide(hits, whole, out=np.zeros(np.shape(hits)), where=whole > 0)


@pytest.mark.slow
@given(arrays(float, (7, 2), elements=TENTHS), st.sampled_from([0.5, 1.0, 2.0]))
def test_no_subset_of_rows_has_a_larger_f(p, beta):
    every = np.array(list(product([0, 1], repeat=7)))
    y = maximize_expected_f(p, beta=beta)
    for own, chosen in zip(p.T, y.T):
        assert f_of_counts(own, chosen, beta) == pytest.approx(f_of_counts(own, every, beta).max())
    micro = maximize_expected_f(p[:4], average="micro", beta=beta)
    every = np.array(list(product([0, 1], repeat=8)))
    flat = p[:4].ravel()
    best = f_of_counts(flat, every, beta).max()
    assert f_of_counts(flat, micro.ravel(), beta) == pytest.approx(best)


def exact_f(joint, every, beta):
    """Return the expected F of every decision, from the probability of every label set."""
    b = beta**2
    hits, whole = every @ every.T, b * every.sum(axis=1)[:, None] + every.sum(axis=1)
    f = np.divide((1 + b) * hits, whole, out=np.ones(whole.shape), where=whole > 0)
    return joint @ f  # the true labels are the rows


@pytest.mark.slow
@given(arrays(float, (3, 6), elements=TENTHS), st.sampled_from([0.5, 1.0, 2.0]))
def test_no_decision_of_a_row_has_a_larger_f(p, beta):
    every = np.array(list(product([0, 1], repeat=6)))
    y = maximize_expected_f(p, average="samples", beta=beta)
    for own, chosen in zip(p, y):
        joint = np.where(every == 1, own, 1 - own).prod(axis=1)
        values = exact_f(joint, every, beta)
        got = values[(every == chosen).all(axis=1)][0]
        assert got == pytest.approx(values.max(), abs=1e-9)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_labels_that_depend_on_each_other(beta):
    every = np.array(list(product([0, 1], repeat=5)))
    sizes = every.sum(axis=1)
    joint = np.random.default_rng(0).dirichlet(np.full(32, 0.2), size=20)
    table = np.stack([joint @ (every * (sizes == s)[:, None]) for s in range(1, 6)], axis=2)
    y = maximize_expected_f(joint @ every, average="samples", beta=beta, joint=table)
    for own, chosen in zip(joint, y):
        values = exact_f(own, every, beta)
        assert values[(every == chosen).all(axis=1)][0] == pytest.approx(values.max())


@pytest.mark.slow
def test_many_labels_stay_numerically_stable():
    p = np.random.default_rng(0).random((3, 400)) ** 3
    y = maximize_expected_f(p, average="samples")
    for own, chosen in zip(p, y):
        drawn = np.random.default_rng(1).random((4000, 400)) < own
        counts = np.arange(20, 300, 20)
        top = np.argsort(-own)
        values = []
        for k in [chosen.sum(), *counts]:
            hits = drawn[:, top[:k]].sum(axis=1)
            values.append((2 * hits / (k + drawn.sum(axis=1))).mean())
        assert values[0] >= max(values[1:]) - 1e-3


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_containers_give_the_same(average):
    p = np.random.default_rng(0).random((30, 5)) ** 2
    p[p < 0.1] = 0
    expected = maximize_expected_f(p, average=average)
    assert_array_equal(maximize_expected_f(pd.DataFrame(p), average=average), expected)
    found = maximize_expected_f(sp.csr_array(p), average=average)
    assert sp.issparse(found)
    assert_array_equal(found.toarray(), expected)


def test_nothing_is_predicted_where_nothing_is_probable():
    p = np.zeros((3, 2))
    for average in ("macro", "micro", "samples"):
        assert maximize_expected_f(p, average=average).sum() == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"average": "weighted"}, "average must be"),
        ({"beta": 0}, "beta must be"),
        ({"beta": True}, "beta must be"),
        ({"joint": np.zeros((2, 2, 2))}, 'joint needs average="samples"'),
        ({"joint": np.zeros((2, 2, 2)), "average": "samples"}, "joint must have shape"),
        ({"y_proba": [[2.0, 0.0]]}, "between 0 and 1"),
    ],
)
def test_bad_input_is_an_error(wrong, message):
    arguments = {"y_proba": np.full((2, 2), 0.5)} | wrong
    with pytest.raises(InputError, match=message):
        maximize_expected_f(arguments.pop("y_proba"), **arguments)


def test_thresholds_of_costs_separate_the_cheaper_decision():
    costs = np.array([[[0, 1], [9, 0]], [[-1, 2], [4, 1]]])
    found = bayes_threshold(costs)
    for t, c in zip(found, costs):
        alarm, silence = ((1 - t) * c[0, d] + t * c[1, d] for d in (1, 0))
        assert alarm == pytest.approx(silence)
    with pytest.raises(InputError, match="Wrong decisions must cost more"):
        bayes_threshold([[1, 0], [0, 1]])
    with pytest.raises(InputError, match="CostMatrix"):
        bayes_threshold([1, 2])


@pytest.mark.parametrize("average", ["samples", "macro"])
def test_a_table_without_rows_or_labels_has_no_decisions(average):
    for shape in ((0, 3), (3, 0)):
        assert maximize_expected_f(np.zeros(shape), average=average).shape == shape
