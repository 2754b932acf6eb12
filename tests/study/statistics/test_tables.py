"""What comes in goes out with its names, and what cannot be compared is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from labelance.exceptions import InputError
from labelance.study.statistics import (
    average_ranks,
    bergmann_hommel,
    compare,
    effect_sizes,
    holm,
    shaffer,
    signed_rank_sums,
    wilcoxon_matrix,
)

NAMES = ["a", "b", "c", "d"]


def corrected(rule):
    return lambda scores: rule(wilcoxon_matrix(scores))


@pytest.mark.parametrize(
    "function",
    [wilcoxon_matrix, signed_rank_sums, *map(corrected, (holm, shaffer, bergmann_hommel))],
    ids=["wilcoxon", "rank_sums", "holm", "shaffer", "bergmann_hommel"],
)
def test_frames_stay_frames(example_f, function):
    plain = function(example_f)
    pandas = function(pd.DataFrame(example_f, columns=NAMES))
    assert list(pandas.index) == list(pandas.columns) == NAMES
    assert_array_equal(pandas, plain)
    polars = function(pl.DataFrame(example_f, schema=NAMES))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == NAMES
    assert_array_equal(polars.to_numpy(), plain)


def test_vectors(example_f):
    ranks = average_ranks(pd.DataFrame(example_f, columns=NAMES))
    assert isinstance(ranks, pd.Series)
    assert list(ranks.index) == NAMES
    assert isinstance(average_ranks(pl.DataFrame(example_f, schema=NAMES)), np.ndarray)
    named = average_ranks(pd.DataFrame(example_f), methods=NAMES)
    assert list(named.index) == NAMES


def test_input_is_not_changed(example_f):
    scores = example_f.copy()
    compare(scores, higher_is_better=False)
    assert_array_equal(scores, example_f)
    p = wilcoxon_matrix(scores)
    before = p.copy()
    bergmann_hommel(p)
    assert_array_equal(p, before)


@pytest.mark.parametrize("function", [average_ranks, compare, effect_sizes, wilcoxon_matrix])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_gap_is_named(example_f, function, value):
    scores = example_f.copy()
    scores[4, 1] = value
    with pytest.raises(InputError, match=rf"Row 4 has {value} for method 'method_1'"):
        function(scores)
    frame = pd.DataFrame(scores, index=["v", "w", "x", "y", "enron", "z"], columns=NAMES)
    with pytest.raises(InputError, match=rf"Row 'enron' has {value} for method 'b'"):
        function(frame)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (0, 3), (3, 0)])
def test_too_small_is_refused(shape):
    with pytest.raises(InputError, match="at least 2 data sets"):
        compare(np.zeros(shape))


def test_other_refusals(example_f):
    with pytest.raises(InputError, match="1 dimension"):
        average_ranks([1, 2, 3])
    with pytest.raises(InputError, match="numbers only"):
        average_ranks(pd.DataFrame({"dataset": ["x", "y"], "a": [1, 2], "b": [2, 3]}))
    with pytest.raises(InputError, match="its own method name"):
        average_ranks(example_f, methods=["a", "b"])
    with pytest.raises(InputError, match="its own method name"):
        average_ranks(example_f, methods=["a", "b", "c", "a"])


@pytest.mark.parametrize("rule", [holm, shaffer, bergmann_hommel])
def test_p_values_are_checked(rule):
    with pytest.raises(InputError, match="k x k"):
        rule(np.zeros((2, 3)))
    with pytest.raises(InputError, match="k x k"):
        rule([[1.0]])
    with pytest.raises(InputError, match=r"\(0, 1\) and \(1, 0\) are 0.1 and 0.2"):
        rule([[1, 0.1], [0.2, 1]])
    with pytest.raises(InputError, match=r"\(1, 2\) and \(2, 1\) are 0.1 and 0.2"):
        rule([[7, 1, 1], [1, 7, 0.1], [1, 0.2, 7]])
    for bad in (np.nan, -0.1, 1.1):
        with pytest.raises(InputError, match=r"\[0, 1\]"):
            rule([[0, bad], [bad, 0]])
    with pytest.raises(InputError, match="same order"):
        rule(pd.DataFrame([[1, 0.5], [0.5, 1]], index=["b", "a"], columns=["a", "b"]))


@pytest.mark.parametrize("diagonal", [np.nan, 0, 7])
def test_diagonal_does_not_matter(diagonal):
    p = np.full((3, 3), 0.01)
    np.fill_diagonal(p, diagonal)
    assert_array_equal(bergmann_hommel(p), np.where(np.eye(3), 1, 0.03))
