"""LD, LPD and ED against their definitions, in every way to write folds."""

import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelance.exceptions import InputError
from labelance.model_selection import (
    IterativeStratifiedKFold,
    examples_distribution,
    label_distribution,
    label_pair_distribution,
)


def mean_distance(columns, folds):
    """The mean over columns and folds of the distance of odds, as it is written."""
    distances = []
    for column in columns:
        n, c = len(column), column.sum()
        if c < n:
            for rows in folds:
                n_f, c_f = len(rows), column[rows].sum()
                odds = c_f / (n_f - c_f) if c_f < n_f else np.inf
                distances.append(abs(odds - c / (n - c)))
    return np.mean(distances) if distances else 0.0


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), n_folds=st.integers(1, 5), q=st.integers(1, 6))
def test_measures_follow_their_definitions(seed, n_folds, q):
    rng = np.random.default_rng(seed)
    Y = (rng.random((25, q)) < rng.random(q)).astype(int)
    fold = rng.permutation(25) % n_folds
    folds = [np.flatnonzero(fold == f) for f in range(n_folds)]
    pairs = [Y[:, j] & Y[:, m] for j, m in combinations(range(q), 2)]
    occurring = [pair for pair in pairs if pair.any()]
    assert label_distribution(Y, fold) == pytest.approx(mean_distance(Y.T, folds))
    assert label_pair_distribution(Y, fold) == pytest.approx(mean_distance(occurring, folds))
    expected = np.mean([abs(len(rows) - 25 / n_folds) for rows in folds])
    assert examples_distribution(fold) == pytest.approx(expected)


def test_folds_may_be_numbers_rows_or_splits():
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 5)) < 0.3).astype(int)
    splits = list(IterativeStratifiedKFold(4, random_state=0).split(Y, Y))
    tests = [test for _, test in splits]
    fold = np.empty(40, dtype=int)
    for f, test in enumerate(tests):
        fold[test] = f
    for measure in (label_distribution, label_pair_distribution):
        assert measure(Y, fold) == measure(Y, fold.tolist()) == measure(Y, tests)
        assert measure(Y, tests) == measure(Y, splits) == measure(Y, [t.tolist() for t in tests])
    assert examples_distribution(fold) == examples_distribution(splits)


def test_rows_may_be_in_no_fold():
    Y = np.array([[1], [0], [1], [0], [1]])
    assert label_distribution(Y, [0, 0, 1, 1, -1]) == pytest.approx(0.5)
    assert examples_distribution([0, 0, 1, 1, -1]) == 0


def test_labels_that_all_rows_have_are_left_out():
    Y = np.array([[1, 1], [1, 0], [1, 1], [1, 0]])
    assert label_distribution(Y, [0, 0, 1, 1]) == 0
    assert label_distribution(Y[:, :1], [0, 0, 1, 1]) == 0
    assert label_pair_distribution(np.eye(4), [0, 0, 1, 1]) == 0


def test_sizes_are_what_was_asked_for():
    assert examples_distribution([0, 0, 0, 1, 1], sizes=(0.6, 0.4)) == 0
    assert examples_distribution([0, 0, 0, 1, 1], sizes=(2, 3)) == 1


BAD = [
    (lambda Y: label_distribution(Y, [[0, 1], []]), "The folds have 0 to 2 rows"),
    (lambda Y: label_distribution(Y, [[0, 1], [4]]), "numbered 0 to 4"),
    (lambda Y: label_distribution(Y, []), "No folds given"),
    (lambda Y: examples_distribution([0, 0, 1], sizes=(0.5, 0.3, 0.2)), "2 folds and 3 sizes"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[b[1] for b in BAD])
def test_bad_folds_are_refused(call, words):
    with pytest.raises(InputError, match=re.escape(words)):
        call(np.eye(4, dtype=int))
