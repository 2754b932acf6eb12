"""Nemenyi's distance, and the bars of a diagram."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from labelance.exceptions import InputError
from labelance.study.statistics import cliques, critical_difference


def test_published_quantiles():
    quantiles = [1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164]
    for k, q in enumerate(quantiles, start=2):
        n = 24
        assert_allclose(critical_difference(k, n) / np.sqrt(k * (k + 1) / (6 * n)), q, atol=6e-4)


def test_demsar_2006():
    # Section 3.2.2: 4 classifiers, 14 data sets; 1.25 at 0.05 and 1.12 at 0.10.
    assert round(critical_difference(4, 14), 2) == 1.25
    assert round(critical_difference(4, 14, alpha=0.1), 2) == 1.12


def test_more_than_ten_methods():
    differences = [critical_difference(k, 20) for k in range(2, 30)]
    assert (np.diff(differences) > 0).all()


@pytest.mark.parametrize("arguments", [(1, 5), (3, 0)])
def test_sizes_are_checked(arguments):
    with pytest.raises(InputError, match="at least 2 methods"):
        critical_difference(*arguments)
    with pytest.raises(InputError, match="alpha=1"):
        critical_difference(3, 5, alpha=1)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_cliques_are_all_maximal_runs(k, seed):
    rng = np.random.default_rng(seed)
    p = np.triu(rng.choice([0.01, 0.05, 0.2], (k, k)), 1)
    p += p.T
    ranks = rng.permutation(k) + 1.0
    order = np.argsort(ranks)
    runs = [tuple(order[i:j]) for i in range(k) for j in range(i + 2, k + 1)]
    alike = [run for run in runs if all(p[a, b] > 0.05 for a, b in combinations(run, 2))]
    maximal = [run for run in alike if not any(set(run) < set(other) for other in alike)]
    assert cliques(ranks, p) == tuple(maximal)


def test_a_run_does_not_reach_over_a_pair_that_differs():
    # 0 and 2 are alike, but 1 between them differs from both.
    p = np.array([[1, 0.01, 0.9], [0.01, 1, 0.01], [0.9, 0.01, 1]])
    assert cliques([1, 2, 3], p) == ()


def test_names():
    p = pd.DataFrame(np.full((2, 2), 0.5), index=["x", "y"], columns=["x", "y"])
    assert cliques(pd.Series([2.0, 1.0], index=["x", "y"]), p) == (("y", "x"),)


def test_shapes_are_checked():
    with pytest.raises(InputError, match="one average rank"):
        cliques([1, 2, 3], np.ones((2, 2)))
