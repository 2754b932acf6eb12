"""LSDMLO: coefficients, seed weights and labels by hand and against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelance._validation._data import validate_data
from labelance.exceptions import NothingToSampleError, TooFewRowsError, TooManyRowsError
from labelance.neighbors._metric import FeatureMetric
from labelance.sampling import LSDMLO
from labelance.sampling._lsdmlo import feature_coefficients, nearer_labels, seed_weights
from labelance.testing import sampler_data


def test_coefficients_of_one_feature_by_hand():
    """The lasso: (x·y - beta) / x·x, or 0 if that has another sign; x·x = 14 and x·y = 5."""
    X, Y = sp.csr_array([[1.0], [2.0], [3.0]]), sp.csr_array([[0], [1], [1]])
    for sparsity, expected in ((0, 5 / 14), (1, 4 / 14), (6, 0)):
        W = feature_coefficients(X, Y, correlation=1, sparsity=sparsity)
        assert_allclose(W, [[expected]], atol=1e-12)


def objective(X, Y, W, correlation, sparsity):
    """The definition, with every pair of labels written out."""
    scores, norms = X @ W, np.linalg.norm(Y, axis=0)
    value = np.sum((scores - Y) ** 2) / 2 + sparsity * np.abs(W).sum()
    for j in range(Y.shape[1]):
        for m in range(Y.shape[1]):
            cosine = Y[:, j] @ Y[:, m] / (norms[j] * norms[m])
            value += correlation * cosine * np.sum((scores[:, j] - scores[:, m]) ** 2) / 4
    return value


@pytest.mark.parametrize(("correlation", "sparsity"), [(0, 0), (0.5, 0.2), (4, 2)])
def test_coefficients_are_nearly_the_best(correlation, sparsity):
    X, Y = sampler_data(n=100)
    W = feature_coefficients(
        sp.csr_array(X), sp.csr_array(Y), correlation=correlation, sparsity=sparsity
    )
    found = objective(X, Y, W, correlation, sparsity)
    rng = np.random.default_rng(0)
    for size in (0.3, 0.1, 0.03):
        for _ in range(30):
            other = W + size * rng.normal(size=W.shape)
            assert objective(X, Y, other, correlation, sparsity) > found - 0.05


def test_coefficients_of_features_that_do_not_matter_are_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    Y = (X[:, [1, 4]] > 0.8).astype(int)
    W = feature_coefficients(sp.csr_array(X), sp.csr_array(Y), correlation=0.1, sparsity=25)
    assert (W[[0, 2, 3, 5]] == 0).all()
    assert W[1, 0] > 0
    assert W[4, 1] > 0


def test_seed_weights_by_hand():
    """Label 0 has rows 0, 1, 2 and 3; label 1, its only related label, rows 0, 3 and 4."""
    Y = sp.csr_array([[1, 1], [1, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    around = np.array([[1, 4], [2, 3], [4, 5], [0, 5]])
    # Neighbors with label 0: 1 of 2, 2 of 2 (left out), none (left out), 1 of 2. So 1/2 each.
    # Label 1 among row and neighbors: 2, 1, 1 and 2, of 6 together.
    expected = [1 / 2 + 2 / 6, 0, 0, 1 / 2 + 2 / 6, 0, 0]
    assert_allclose(seed_weights(Y, np.array([0]), around), expected)


def test_labels_by_the_nearer_parent_in_their_own_distance():
    """Label 0 looks at the first feature alone, label 1 at the second; label 2 both have."""
    X, Y = np.array([[0.0, 0.0], [10.0, 10.0]]), np.array([[1, 0, 1], [0, 1, 1]])
    data = validate_data(X, Y, caller="a test")
    plain = FeatureMetric.learn(X)
    metrics = [
        replace(plain, compiled=plain.compiled._replace(width=np.array(width)))
        for width in ([1.0, np.inf], [np.inf, 1.0], [1.0, 1.0])
    ]
    X_new = np.array([[2.0, 3.0], [8.0, 3.0], [2.0, 9.0], [8.0, 9.0], [5.0, 5.0]])
    seeds, references = np.zeros(5, dtype=int), np.ones(5, dtype=int)
    found = nearer_labels(metrics, data, X_new, seeds, references).toarray()
    # Half way the seed decides: it has label 0 and not label 1.
    assert_array_equal(found, [[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 1]])


def test_neighbors_are_near_in_the_features_that_matter():
    """One of ten features decides the label; neighbors differ less in it than plain ones do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    Y = np.column_stack([X[:, 3] > 1, rng.random((200, 2)) < 0.5]).astype(int)
    plan = LSDMLO(sparsity=5).plan(X, Y).details
    assert plan.rare.tolist() == [0]
    width = plan.metrics[0].compiled.width
    assert np.argmin(width) == 3
    assert_allclose(np.sum(1 / width**2), 10)


def test_parents_are_neighbors_and_seeds_have_the_label():
    X, Y = sampler_data(n=120)
    sampler = LSDMLO(random_state=0)
    sampler.fit_resample(X, Y)
    plan = sampler.plan(X, Y).details
    assert (plan.weights[sampler.seed_indices_] > 0).all()
    for seed, reference, label in zip(
        sampler.seed_indices_, sampler.reference_indices_, sampler.label_indices_
    ):
        assert Y[seed, label] == 1
        own = FeatureMetric.paired(
            plan.metrics[label], X, X, np.full(len(X), seed), np.arange(len(X))
        )
        own[seed] = np.inf
        assert reference in np.argsort(own, kind="stable")[:5]


def test_memory_is_asked_for_before_models_are_fitted(monkeypatch):
    """Models of 20,000 features take six tables, about a megabyte for each label."""
    X, Y = sp.csr_array((60, 20_000)), sampler_data()[1]
    monkeypatch.setattr("labelance._arrays._memory.available_memory", lambda: 1e6)
    monkeypatch.setattr("labelance._arrays._memory._LITTLE", 0)
    with pytest.raises(TooManyRowsError, match="linear models"):
        LSDMLO().fit_resample(X, Y)


def test_refusals():
    X, Y = sampler_data()
    with pytest.raises(TooFewRowsError, match="Got 60, and there are only 60"):
        LSDMLO(k_neighbors=60).fit_resample(X, Y)
    with pytest.raises(NothingToSampleError, match="minority row"):
        LSDMLO().fit_resample(X, Y[:, :1])


def test_labels_of_large_tables_are_never_dense(monkeypatch):
    """A dense table of these labels would hold 6 million cells."""
    n, q = 20_000, 300
    Y = sp.random_array((n, q), density=0.002, format="csr", dtype=np.int8, rng=0)
    Y.data[:] = 1
    data = validate_data(np.random.default_rng(0).random((n, 2)), Y, caller="a test")
    around = np.arange(n)[::-1].reshape(-1, 2)[: Y[:, [3]].sum()]
    toarray, largest = sp.csc_array.toarray, []

    def watch(table, *args, **options):
        largest.append(np.prod(table.shape))
        return toarray(table, *args, **options)

    for kind in (sp.csr_array, sp.csc_array):
        monkeypatch.setattr(kind, "toarray", watch)
    seed_weights(data.Y, np.array([3]), around)
    metrics = [FeatureMetric.learn(data.X)] * q
    rows = np.arange(n)
    Y_new = nearer_labels(metrics, data, data.X, rows, rows[::-1])
    assert max(largest) <= max(n, q * q)
    assert (Y_new != data.Y).nnz == 0  # each row is its seed, the nearest of the parents
