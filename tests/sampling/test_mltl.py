"""MLTL against the author's loop: which rows are linked, and which of them go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from labelance.exceptions import InputError
from labelance.imbalance import label_counts, mean_ir, scumble
from labelance.imbalance._above_mean import irlbl_against_mean
from labelance.neighbors import find_neighbors
from labelance.sampling import MLTL
from labelance.testing import sampler_data


def threshold_slowly(Y):
    """The author's choice of a threshold, one rule after the other."""
    evenness = 1 / np.sqrt(mean_ir(Y) * (1 + 1e-12))  # MeanIR = 4 is 0.5, whatever is rounded
    threshold = 0.15
    if evenness > 0.5:
        threshold = 0.5
    elif evenness > 0.3:
        threshold = 0.3
    if scumble(Y) > 0.3:
        threshold = 0.5
    return threshold


def link_slowly(X, Y, label_distance_threshold, mode, mutual, protect_minority):
    """The rows that are left when all linked candidates are gone."""
    sign = irlbl_against_mean(label_counts(Y))
    nearest = find_neighbors(X, 1).indices[:, 0]
    kept = []
    for i, m in enumerate(nearest):
        one, two = set(np.flatnonzero(Y[i])), set(np.flatnonzero(Y[m]))
        union = one | two
        linked = len(one ^ two) / len(union) > label_distance_threshold if union else False
        if mutual and nearest[m] != i:
            linked = False
        candidate = mode == "clean" or any(sign[j] < 0 for j in one)
        if protect_minority and any(sign[j] > 0 for j in one):
            candidate = False
        if not (candidate and linked):
            kept.append(i)
    return kept


@st.composite
def tables(draw):
    """X on a small grid, so that ties and duplicates occur, and Y with empty rows in it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(4, 40)), draw(st.integers(2, 8))
    X = rng.integers(0, 6, (n, 2)).astype(float)
    Y = (rng.random((n, q)) < rng.random(q) ** 2).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    return X, Y


options = st.fixed_dictionaries(
    {
        "label_distance_threshold": st.sampled_from([0, 0.3, 0.5, 2 / 3]),
        "mode": st.sampled_from(["undersample", "clean"]),
        "mutual": st.booleans(),
        "protect_minority": st.booleans(),
    }
)


@pytest.mark.slow
@given(tables(), options)
def test_keeps_what_the_loop_keeps(data, asked):
    X, Y = data
    expected = link_slowly(X, Y, **asked)
    sampler = MLTL(**asked)
    if not expected:
        with pytest.raises(InputError, match="REMEDIAL"):
            sampler.fit_resample(X, Y)
        return
    X_kept, Y_kept = sampler.fit_resample(X, Y)
    assert_array_equal(sampler.sample_indices_, expected)
    assert_array_equal(X_kept, X[expected])
    assert_array_equal(Y_kept, Y[expected])


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 6))
def test_the_threshold_is_the_authors(seed, power):
    rng = np.random.default_rng(seed)
    Y = (rng.random((60, 6)) < rng.random(6) ** power).astype(int)
    Y[0], Y[1] = 0, 1
    sampler = MLTL(mutual=True, protect_minority=True)
    sampler.fit_resample(rng.random((60, 2)), Y)
    assert sampler.label_distance_threshold_ == threshold_slowly(Y)


@pytest.mark.parametrize(
    ("counts", "threshold"), [((90, 60, 30), 0.5), ((90, 9, 9), 0.3), ((90, 3, 3), 0.15)]
)
def test_the_more_imbalanced_the_smaller_the_threshold(counts, threshold):
    Y = (np.arange(100)[:, None] < counts).astype(int)
    Y[:, 1:] = Y[::-1, 1:]  # few rows with both frequent and rare labels
    sampler = MLTL()
    sampler.fit_resample(np.arange(100.0)[:, None], Y)
    assert sampler.label_distance_threshold_ == threshold


def test_concurrence_of_rare_and_frequent_labels_raises_the_threshold():
    """Every row but one has the frequent label and a rare one of its own, a SCUMBLE of 0.72."""
    Y = np.hstack([np.ones((51, 1), dtype=int), np.eye(51, dtype=int)])[:, :-1]
    Y[-1] = 0
    assert mean_ir(Y) > 100 / 9
    sampler = MLTL()
    sampler.fit_resample(np.arange(51.0)[:, None], Y)
    assert sampler.label_distance_threshold_ == 0.5


@pytest.mark.parametrize("mode", ["undersample", "clean"])
def test_a_threshold_of_one_deletes_nothing(mode):
    X, Y = sampler_data()
    sampler = MLTL(label_distance_threshold=1, mode=mode)
    sampler.fit_resample(X, Y)
    assert_array_equal(sampler.sample_indices_, np.arange(len(X)))


@pytest.mark.slow
@given(tables())
def test_mutual_links_are_some_of_the_links(data):
    X, Y = data
    kept = []
    for mutual in (False, True):
        sampler = MLTL(label_distance_threshold=0.5, mutual=mutual)
        try:
            sampler.fit_resample(X, Y)
        except InputError:
            return
        kept.append(set(sampler.sample_indices_))
    assert kept[0] <= kept[1]


def test_protected_rows_stay():
    X, Y = sampler_data(n=200)
    minority = irlbl_against_mean(label_counts(Y)) > 0
    lost = MLTL(label_distance_threshold=0).fit_resample(X, Y)[1]
    safe = MLTL(label_distance_threshold=0, protect_minority=True).fit_resample(X, Y)[1]
    assert (lost[:, minority].sum(axis=0) < Y[:, minority].sum(axis=0)).any()
    assert_array_equal(safe[:, minority].sum(axis=0), Y[:, minority].sum(axis=0))


@pytest.mark.parametrize("k", [1, 4])
def test_a_neighborhood_of_any_size_gives_the_same_rows(k):
    X, Y = sampler_data()
    searched, given_one = MLTL(), MLTL()
    searched.fit_resample(X, Y)
    given_one.fit_resample(X, Y, neighborhood=find_neighbors(X, k))
    assert_array_equal(searched.sample_indices_, given_one.sample_indices_)
    with pytest.raises(InputError, match="neighborhood"):
        MLTL().fit_resample(X, Y, neighborhood=find_neighbors(X[::-1], k))


def test_deleting_every_row_is_an_error_that_says_what_to_do():
    X = np.arange(4.0)[:, None]
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    with pytest.raises(InputError, match="all 4 rows"):
        MLTL(mode="clean").fit_resample(X, Y)
