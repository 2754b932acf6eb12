"""MLBOTE against its rules, by hand and by slow loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from labelance.neighbors._metric import FeatureMetric
from labelance.sampling import MLBOTE
from labelance.sampling._mlbote import Distances, find_border, find_noise
from labelance.testing import sampler_data


def space(X):
    X = np.asarray(X, dtype=float)
    return Distances(X, FeatureMetric.learn(X), None)


def test_border_by_hand():
    """Rows 0 to 2 have the label, at 0, 1 and 3; the rest are at 5, 5.5, 8 and 20."""
    X = [[0], [1], [3], [5], [5.5], [8], [20]]
    border = find_border(space(X), np.arange(7) < 3, m_neighbors=1, k_neighbors=2)
    # The nearest of the rest is row 3 for all three; the nearest with the label to it is row 2.
    assert border.rest.tolist() == [3]
    assert border.own.tolist() == [2]
    # Row 2 has its two nearest with the label at distances 2 and 3, and the rest at 2.
    assert_allclose(border.weight, [2.5 / 2])
    # Row 3 has its two nearest of the rest at 0.5 and 3, and row 2 those of the label at 2 and 3.
    assert_allclose(border.thinness, [(1.75 / 2.5) ** 2])


def border_by_loop(X, has_label, m_neighbors, k_neighbors):
    D = cdist(X, X)
    label, others = np.flatnonzero(has_label), np.flatnonzero(~has_label)

    def nearest(i, among, k):
        among = [m for m in among if m != i]
        return sorted(among, key=lambda m: (D[i, m], m))[:k]

    def gap(i, among, k):
        return np.mean([D[i, m] for m in nearest(i, among, k)])

    rest = sorted({m for i in label for m in nearest(i, others, m_neighbors)})
    k_own = min(m_neighbors, len(label) - 1)
    own = sorted({m for i in rest for m in nearest(i, label, k_own)})
    weight = [gap(i, label, k_neighbors) / gap(i, others, m_neighbors) for i in own]
    thinness = [
        (gap(i, others, k_neighbors) / gap(nearest(i, label, 1)[0], label, k_neighbors)) ** 2
        for i in rest
    ]
    return own, weight, rest, thinness


@pytest.mark.parametrize("seed", range(4))
def test_borders_by_loop(seed):
    """Among 40 rows the nearest 32 of each answer nearly all; among 150, many must be searched."""
    rng, n = np.random.default_rng(seed), [150, 40, 40, 150][seed]
    X = rng.normal(size=(n, 3))
    has_label = rng.random(n) < [0.1, 0.3, 0.5, 0.9][seed]
    border = find_border(space(X), has_label, 3, 5)
    own, weight, rest, thinness = border_by_loop(X, has_label, 3, 5)
    assert border.own.tolist() == own
    assert border.rest.tolist() == rest
    assert_allclose(border.weight, weight)
    assert_allclose(border.thinness, thinness)


def test_references_are_the_nearest_rows_of_the_labelset():
    """Equal rows and many ties, in labelsets of 1 to 80 rows, by loop."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 2)).astype(float)
    labelset = rng.choice(5, size=200, p=[0.4, 0.35, 0.2, 0.04, 0.01])
    Y = sp.csr_array(np.eye(5, dtype=int)[labelset])
    references, counts = MLBOTE(k_neighbors=5)._references(space(X), Y)
    D = cdist(X, X)
    for i in range(200):
        alike = [m for m in np.flatnonzero(labelset == labelset[i]) if m != i]
        nearest = sorted(alike, key=lambda m: (D[i, m], m))[:5]
        assert counts[i] == len(nearest)
        assert references[i].tolist() == nearest + [-1] * (5 - len(nearest))


def test_noise_by_hand():
    """A label at 0, 1, 2, 3 and 100, among rows without it: the last one is noise for k = 2."""
    X = np.array([[0], [1], [2], [3], [100], [101], [102], [103]])
    Y = sp.csr_array([[1], [1], [1], [1], [1], [0], [0], [0]])
    # None of its nearest (101, 102) has the label, and the widest gap of the others is 2, from 0
    # to 2; the nearest of its kind is 97 away.
    assert find_noise(space(X), Y, 2).tolist() == [False] * 4 + [True]
    near = np.where(X == 100, 6, X)
    near[5:] = [[6.1], [6.2], [6.3]]  # alone as well, but within 1.5 times that gap
    assert not find_noise(space(near), Y, 2).any()
    # A label with three rows has no noise for k = 2.
    assert not find_noise(space(X[[0, 1, 4, 5, 6]]), Y[[0, 1, 4, 5, 6]], 2).any()


def test_noise_is_cleared_and_told():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), [[30, 30], [30.1, 30], [30, 30.1]]])
    X = np.vstack([X, [[30.1, 30.1], [30.2, 30], [30, 30.2]]])
    Y = np.column_stack([np.arange(66) % 3 == 0, np.arange(66) % 2]).astype(int)
    Y[60:, 0] = [1, 0, 0, 0, 0, 0]
    sampler = MLBOTE(random_state=0)
    _, Y_new = sampler.fit_resample(X, Y)
    assert [60, 0] in sampler.noise_cells_.tolist()
    expected = Y.copy()
    expected[tuple(sampler.noise_cells_.T)] = 0
    assert_array_equal(Y_new[:66], expected)


def test_parents_have_equal_labels():
    X, Y = sampler_data(n=150)
    sampler = MLBOTE(borderline_ratio=0.1, cross_threshold=1.5, random_state=0)
    _, Y_new = sampler.fit_resample(X, Y)
    seeds, references = sampler.seed_indices_, sampler.reference_indices_
    assert len(seeds) > 20
    assert (seeds != references).all()
    assert_array_equal(Y_new[150:], Y_new[seeds])
    assert_array_equal(Y_new[150:], Y_new[references])
    assert set(sampler.seed_types_) == {0, 1, 2}


def test_interior_rows_fill_minority_labels():
    X, Y = sampler_data(n=200)
    Y = Y[:, [0, 2, 3]]  # a tenth, three tenths and nearly half of the rows
    sampler = MLBOTE(borderline_ratio=0, cross_threshold=1e9, random_state=0)
    _, Y_new = sampler.fit_resample(X, Y)
    assert set(sampler.seed_types_) == {0}
    cleared = Y_new[:200].sum(axis=0)
    # Label 0 gets what it lacks to label 1, and all its seeds have it.
    assert Y_new[200:, 0].sum() == len(Y_new) - 200 == cleared[1] - cleared[0]


def test_the_number_of_borderline_rows():
    X, Y = sampler_data(n=200)
    sampler = MLBOTE(borderline_ratio=0.5, cross_threshold=1e9, random_state=0)
    plan = sampler.plan(X, Y).details
    counts = plan.Y.sum(axis=0)
    n_seeds = np.count_nonzero(plan.self_weight)
    assert plan.n_self == round(0.5 * np.mean((200 - counts) / counts) * n_seeds)
    sampler.fit_resample(X, Y)
    assert np.sum(sampler.seed_types_ == 1) == plan.n_self


def test_where_every_labelset_is_seen_once_nothing_is_added():
    X = np.arange(16.0)[:, None]
    Y = (np.arange(16)[:, None] >> np.arange(4)) & 1
    X_new, _ = MLBOTE(borderline_ratio=1).fit_resample(X, Y)
    assert len(X_new) == 16
