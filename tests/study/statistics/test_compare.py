"""The whole comparison: its parts agree, and it says when it cannot find anything."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance.exceptions import InputError
from labelance.study.statistics import (
    Comparison,
    average_ranks,
    bergmann_hommel,
    cliques,
    compare,
    friedman,
    holm,
    shaffer,
    wilcoxon_matrix,
)


def ladder(n, k, *, seed=0):
    """Scores in which each method is better than the one before it, on every data set."""
    rng = np.random.default_rng(seed)
    return np.arange(k) + 0.1 * rng.random((n, k))


@pytest.fixture
def result():
    scores = np.random.default_rng(0).normal([0.7, 0.71, 0.74, 0.8], 0.02, (12, 4))
    return compare(pd.DataFrame(scores, columns=list("abcd")))


@pytest.mark.slow
@given(st.integers(2, 14), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_parts_agree(n, k, seed):
    scores = np.random.default_rng(seed).normal(0.5 * np.arange(k), 1, (n, k)).round(1)
    whole, p = compare(scores), wilcoxon_matrix(scores)
    assert_array_equal(whole.average_ranks, average_ranks(scores))
    assert whole.friedman == friedman(scores)
    assert_array_equal(whole.p_values, p)
    for rule in (bergmann_hommel, shaffer, holm):
        assert_array_equal(whole.adjusted[rule.__name__], rule(p))
    found = cliques(whole.average_ranks, whole.adjusted["bergmann_hommel"])
    assert whole.cliques == tuple(tuple(f"method_{m}" for m in run) for run in found)
    assert whole.wins.sum() == whole.losses.sum() == whole.significant.sum() // 2
    assert whole.can_be_significant or not whole.significant.any()


def test_wins_and_losses_of_a_ladder():
    result = compare(ladder(12, 5))
    assert_array_equal(result.wins, [0, 1, 2, 3, 4])
    assert_array_equal(result.losses, [4, 3, 2, 1, 0])
    assert result.cliques == ()
    turned = compare(ladder(12, 5), higher_is_better=False)
    assert_array_equal(turned.wins, result.losses)


def test_winner_has_the_larger_rank_sum_not_the_better_rank():
    # b wins by a little seven times, a by a lot five times.
    d = np.array([-1, -2, -3, -4, -5, -6, -7, 20, 21, 22, 23, 24], dtype=float)
    result = compare(np.column_stack([d, np.zeros(12)]), alpha=0.5)
    assert result.significant[0, 1]
    assert result.average_ranks[1] < result.average_ranks[0]
    assert_array_equal(result.wins, [1, 0])


@pytest.mark.parametrize("correction", ["bergmann_hommel", "shaffer", "holm"])
def test_seven_methods_need_ten_data_sets(correction):
    nine, ten = (compare(ladder(n, 7), correction=correction) for n in (9, 10))
    assert not nine.can_be_significant
    assert not nine.significant.any()
    assert nine.datasets_needed == ten.datasets_needed == 10
    assert "At least 10 data sets are needed" in str(nine)
    assert "no pair of 7 methods" in nine.remark()
    assert ten.can_be_significant
    assert ten.significant.sum() == 42
    assert ten.remark() == ""


def test_smallest_possible_p_is_reached():
    for n in (5, 13, 30):
        result = compare(ladder(n, 4))
        assert_allclose(np.min(result.adjusted["holm"]), result.smallest_possible_p)
    assert compare(ladder(13, 7)).smallest_possible_p == pytest.approx(21 * 2 / 8192)


def test_no_correction():
    result = compare(ladder(6, 7), correction=None)
    assert result.smallest_possible_p == 2 / 64
    assert result.significant.sum() == 42
    assert "no correction" in str(result)
    assert "after" not in compare(ladder(5, 3), correction=None).remark()


def test_more_than_ten_methods():
    scores = ladder(15, 11)
    with pytest.raises(InputError, match="Use shaffer"):
        compare(scores)
    assert set(compare(scores, correction="shaffer").adjusted) == {"shaffer", "holm"}


def test_pandas_in_pandas_out(result):
    assert result.methods == ("a", "b", "c", "d")
    for vector in (result.average_ranks, result.wins, result.losses):
        assert isinstance(vector, pd.Series)
        assert list(vector.index) == list("abcd")
    for matrix in (result.p_values, result.significant, *result.adjusted.values()):
        assert list(matrix.index) == list(matrix.columns) == list("abcd")
    assert result.significant.loc["d", "a"]


def test_tables(result):
    methods, pairs = result.table(), result.pairs()
    assert list(methods.columns) == ["method", "average_rank", "wins", "losses"]
    assert methods["average_rank"].is_monotonic_increasing
    assert methods.set_index("method").loc["d", "wins"] == result.wins["d"]
    assert len(pairs) == 6
    last = pairs.set_index(["method_a", "method_b"]).loc[("a", "d")]
    assert last["p"] == result.p_values.loc["a", "d"]
    assert last["w_plus"] + last["w_minus"] == 12 * 13 / 2
    assert last["bergmann_hommel"] <= last["shaffer"] <= last["holm"]
    assert last["hodges_lehmann"] == result.effects.hodges_lehmann.loc["a", "d"]


def test_reads_as_a_table(result):
    lines = str(result).splitlines()
    assert lines[0].startswith("4 methods on 12 data sets")
    assert "Bergmann-Hommel" in lines[0]
    assert [line.split()[0] for line in lines[3:7]] == list(result.table()["method"])
    assert repr(result) == str(result)


def test_is_frozen_and_can_be_sent(result):
    with pytest.raises(FrozenInstanceError):
        result.alpha = 0.1
    again = pickle.loads(pickle.dumps(result))
    assert isinstance(again, Comparison)
    assert str(again) == str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"correction": "bonferroni"}, "Got 'bonferroni'"),
        ({"alpha": 0}, "Got 0"),
        ({"alpha": 5}, "Got 5"),
        ({"zero": "keep"}, "Got 'keep'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        compare(ladder(5, 3), **options)
