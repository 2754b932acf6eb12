"""UCLSO: clusters without labels, and new rows between minority rows of one cluster."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from labelance.datasets import make_multilabel_imbalanced
from labelance.exceptions import NothingToSampleError, TooManyRowsError
from labelance.sampling import UCLSO
from labelance.sampling._per_label import cluster_rows
from labelance.testing import sampler_data

# Two clusters, {0, 1, 2, 3} and {10, 11, 12, 13}. Label 0 has two rows in the first and one in the
# second; label 1 has one in each; label 2 is in half of the rows.
X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [13.0]])
Y = np.array(
    [[1, 1, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 0]]
)


def test_by_hand():
    sampler = UCLSO(n_clusters=2, random_state=0)
    X_new, Y_new = sampler.fit_resample(X, Y)
    assert sampler.clusters_.tolist() in ([0] * 4 + [1] * 4, [1] * 4 + [0] * 4)
    # Label 0 lacks 8 - 2 * 3 rows; row 4 is alone in its cluster, so all lie between rows 0 and 1.
    # The rows of label 1 are alone in their clusters, and label 2 lacks nothing.
    assert sampler.sampling_strategy_ == {0: 2}
    assert sampler.label_indices_.tolist() == [0, 0]
    assert set(zip(sampler.seed_indices_, sampler.reference_indices_)) <= {(0, 1), (1, 0)}
    added = X_new[8:, 0]
    assert ((added >= 0) & (added <= 1)).all()
    # The other labels are those of the nearer parent.
    np.testing.assert_array_equal(Y_new[8:], np.where(added[:, None] < 0.5, Y[0], Y[1]))


def members_by_loop(Y, clusters):
    """Return, label by label, the minority rows that have company, and that company."""
    n, q = Y.shape
    company = {}
    for j in range(q):
        rare = 1 if 2 * Y[:, j].sum() <= n else 0
        for i in range(n):
            others = [m for m in range(n) if m != i and clusters[m] == clusters[i]]
            others = [m for m in others if Y[m, j] == rare]
            if Y[i, j] == rare and others:
                company[i, j] = set(others)
    return company


@pytest.mark.slow
def test_all_pairs_and_only_those_are_drawn():
    X, Y = sampler_data()
    plan = UCLSO(n_clusters=4).plan(X, Y)
    seen = {}
    for seed in range(500):
        drawn = plan.draw(seed).provenance
        parents = drawn["seed_indices_"], drawn["label_indices_"], drawn["reference_indices_"]
        for i, j, reference in zip(*parents):
            seen.setdefault((i, j), set()).add(reference)
    expected = members_by_loop(Y, drawn["clusters_"])
    assert {label for _, label in seen} == set(range(5))
    assert seen == expected


def test_every_label_is_balanced_among_its_own_rows():
    X, Y = make_multilabel_imbalanced(150, random_state=0)
    sampler = UCLSO(random_state=0)
    _, Y_new = sampler.fit_resample(X, Y)
    for label, n_new in sampler.sampling_strategy_.items():
        own = Y_new[150:][sampler.label_indices_ == label, label]
        assert len(own) == n_new
        assert Y[:, label].sum() + own.sum() == (150 + n_new) / 2


def test_clusters_are_those_of_kmeans():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0], [20, 0], [0, 20], [20, 20]])
    X = (centers[:, None] + rng.normal(size=(4, 30, 2))).reshape(-1, 2)
    ours = cluster_rows(X, 4)
    theirs = KMeans(4, n_init=5, random_state=0).fit(X).labels_
    assert len({*zip(ours, theirs)}) == len({*ours}) == 4


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_the_same_for_any_container(seed):
    X = np.round(np.random.default_rng(seed).normal(size=(80, 5)))
    np.testing.assert_array_equal(cluster_rows(X, 6), cluster_rows(sp.csr_array(X), 6))


def test_there_are_no_more_clusters_than_different_rows():
    assert set(cluster_rows(np.repeat([[1.0], [2.0]], 5, axis=0), 9)) == {0, 1}


def test_clusters_do_not_depend_on_chance():
    X, Y = sampler_data()
    one, two = (UCLSO(random_state=seed) for seed in (1, 2))
    assert not np.array_equal(one.fit_resample(X, Y)[0], two.fit_resample(X, Y)[0])
    np.testing.assert_array_equal(one.clusters_, two.clusters_)


def test_refusals():
    with pytest.raises(NothingToSampleError, match=r"two minority rows.*same cluster.*n_clusters"):
        UCLSO(n_clusters=8).fit_resample(X, Y)
    with pytest.raises(TooManyRowsError, match="max_synthetic=1"):
        UCLSO(n_clusters=2, max_synthetic=1).fit_resample(X, Y)
