"""MLeNN against the paper's loop, and what it promises: rare labels stay, chance has no part."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance.datasets import load_dataset
from labelance.exceptions import InputError
from labelance.imbalance import label_counts
from labelance.imbalance._above_mean import irlbl_against_mean
from labelance.neighbors import find_neighbors
from labelance.sampling import MLTL, MLeNN
from labelance.sampling._cleaning import label_distances
from labelance.testing import sampler_data


def distance_slowly(one, two, kind):
    """Labels of one row only, over both sizes (hamming) or over the union (jaccard)."""
    one, two = set(np.flatnonzero(one)), set(np.flatnonzero(two))
    largest = len(one) + len(two) if kind == "hamming" else len(one | two)
    return len(one ^ two) / largest if largest else 0.0


def edit_slowly(X, Y, k, threshold, kind):
    """The rows that the paper's loop keeps."""
    minority = irlbl_against_mean(label_counts(Y)) > 0
    kept = []
    for i, neighbors in enumerate(find_neighbors(X, k).indices):
        differences = sum(distance_slowly(Y[i], Y[m], kind) > threshold for m in neighbors)
        if Y[i][minority].any() or 2 * differences < k:
            kept.append(i)
    return kept


@st.composite
def tables(draw):
    """X on a small grid, so that ties and duplicates occur, and Y with empty rows in it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(8, 40)), draw(st.integers(2, 8))
    X = rng.integers(0, 6, (n, 2)).astype(float)
    Y = (rng.random((n, q)) < rng.random(q) ** 2).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    return X, Y


kinds = st.sampled_from(["hamming", "jaccard"])


@pytest.mark.slow
@given(tables(), st.integers(1, 5), st.sampled_from([0, 0.3, 0.5, 0.75]), kinds)
def test_keeps_what_the_papers_loop_keeps(data, k, threshold, kind):
    X, Y = data
    expected = edit_slowly(X, Y, k, threshold, kind)
    sampler = MLeNN(k_neighbors=k, label_distance_threshold=threshold, label_distance=kind)
    if not expected:
        with pytest.raises(InputError, match="Raise label_distance_threshold"):
            sampler.fit_resample(X, Y)
        return
    X_kept, Y_kept = sampler.fit_resample(X, Y)
    assert_array_equal(sampler.sample_indices_, expected)
    assert_array_equal(X_kept, X[expected])
    assert_array_equal(Y_kept, Y[expected])


@given(tables(), kinds)
def test_distances_of_labelsets(data, kind):
    _, Y = data
    n = len(Y)
    rows, others = np.arange(n), np.random.default_rng(0).integers(n, size=(n, 3))
    fast = label_distances(sp.csr_array(Y.astype(np.int8)), rows, others, kind)
    slow = [[distance_slowly(Y[i], Y[m], kind) for m in others[i]] for i in rows]
    assert_allclose(fast, slow, rtol=0)


@pytest.mark.parametrize("threshold", [0, 0.5, 0.75])
def test_no_row_with_a_minority_label_is_deleted(threshold):
    X, Y = sampler_data(n=200)
    minority = irlbl_against_mean(label_counts(Y)) > 0
    assert minority.any()
    _, Y_kept = MLeNN(label_distance_threshold=threshold).fit_resample(X, Y)
    assert len(Y_kept) < len(Y)
    assert_array_equal(Y_kept[:, minority].sum(axis=0), Y[:, minority].sum(axis=0))


def test_a_threshold_of_one_deletes_nothing():
    X, Y = sampler_data()
    sampler = MLeNN(label_distance_threshold=1)
    sampler.fit_resample(X, Y)
    assert_array_equal(sampler.sample_indices_, np.arange(len(X)))


@pytest.mark.parametrize(("k", "kept"), [(1, False), (2, False), (3, True), (4, True)])
def test_half_of_the_neighbors_is_enough_and_a_third_is_not(k, kept):
    X = np.array([[0.0], [1], [-1.5], [-2], [-2.5]])
    Y = np.array([[1, 0], [0, 1], [1, 0], [1, 0], [1, 0]])  # row 0's nearest neighbor differs
    sampler = MLeNN(k_neighbors=k)
    sampler.fit_resample(X, Y)
    assert (0 in sampler.sample_indices_) == kept


def test_deleting_every_row_is_an_error_that_says_what_to_do():
    X = np.arange(4.0)[:, None]
    Y = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    with pytest.raises(InputError, match="all 4 rows"):
        MLeNN(k_neighbors=1).fit_resample(X, Y)


@pytest.mark.data
@pytest.mark.parametrize("name", ["verbframes", "yeast", "enron"])
def test_hundreds_of_rows_go_where_the_loop_says_so(name, data_dir):
    data = load_dataset(name)
    X, Y = data.X, data.Y.toarray() if sp.issparse(data.Y) else np.asarray(data.Y)
    sampler = MLeNN()
    sampler.fit_resample(X, Y)
    assert_array_equal(sampler.sample_indices_, edit_slowly(X, Y, 3, 0.75, "hamming"))
    assert len(sampler.sample_indices_) < len(Y) - 200


@pytest.mark.parametrize("kind", ["hamming", "jaccard"])
def test_rows_are_compared_by_labels_that_both_know(kind):
    rng = np.random.default_rng(0)
    Y, hidden = rng.random((2, 30, 6)) < 0.4
    Y &= ~hidden
    rows, others = np.arange(10), rng.integers(0, 30, (10, 3))
    clean, unknown = (sp.csr_array(part.astype(np.int8)) for part in (Y, hidden))
    found = label_distances(clean, rows, others, kind, unknown)
    for t, p in np.ndindex(others.shape):
        known = ~hidden[rows[t]] & ~hidden[others[t, p]]
        a, b = Y[rows[t]] & known, Y[others[t, p]] & known
        below = a.sum() + b.sum() if kind == "hamming" else (a | b).sum()
        assert found[t, p] == ((a ^ b).sum() / below if below else 0)


@pytest.mark.parametrize("sampler", [MLeNN(), MLTL(protect_minority=True)], ids=repr)
def test_rows_that_may_have_a_protected_label_are_kept(sampler):
    X, y = sampler_data(n=80)
    y = np.asarray(y, dtype=float)
    sampler.fit_resample(X, y)
    gone = np.setdiff1d(np.arange(80), sampler.sample_indices_)
    rare = next(iter(sampler.sampling_strategy_))
    y[gone[0], rare] = np.nan
    sampler.fit_resample(X, y)
    assert gone[0] in sampler.sample_indices_
