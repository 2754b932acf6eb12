"""The value, the objects that can make it, and what is refused."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from labelance.exceptions import InputError, MissingValuesError, TooFewRowsError
from labelance.neighbors import Neighborhood, find_neighbors
from labelance.neighbors._find import resolve_neighbors
from labelance.neighbors._metric import FeatureMetric


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 3)).astype(float)
    X[10] = X[20] = X[30]
    return X


def test_a_neighborhood_cannot_be_changed(X):
    around = find_neighbors(X, 3)
    for array in (around.indices, around.distances):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        around.indices = around.indices
    rows = np.array([[1], [0]])
    Neighborhood(rows, np.ones((2, 1)))
    rows[0] = 0  # the caller's own array stays writable


def test_a_neighborhood_survives_pickling(X):
    around = find_neighbors(X, 3)
    again = pickle.loads(pickle.dumps(around))
    np.testing.assert_array_equal(again.indices, around.indices)
    assert not again.distances.flags.writeable
    assert again != around
    assert around == around


def test_adjacency_has_k_ones_in_every_row(X):
    around = find_neighbors(X, 3)
    graph = around.adjacency()
    assert graph.shape == (40, 40)
    assert graph.has_sorted_indices
    assert (graph.sum(axis=1) == 3).all()
    assert all(graph[[i], [j]] == 1 for i in range(40) for j in around.indices[i])
    assert (graph.diagonal() == 0).all()
    bag = find_neighbors(X, 2, among=[3, 7, 30])
    assert bag.adjacency(n_columns=40).shape == (3, 40)


def test_fewer_neighbors_are_the_first_ones(X):
    around = find_neighbors(X, 5)
    for k in (1, 5):
        cut, direct = around.truncate(k), find_neighbors(X, k)
        assert (cut.n_neighbors, cut.n_rows) == (k, 40)
        np.testing.assert_array_equal(cut.indices, direct.indices)
    with pytest.raises(InputError, match="1 to 5"):
        around.truncate(6)


def test_a_neighborhood_needs_two_arrays_of_one_shape():
    for indices, distances in (
        (np.zeros((2, 1), int), np.zeros((1, 2))),
        (np.zeros((2, 1)), np.zeros((2, 1))),
        (np.zeros(2, int), np.zeros(2)),
    ):
        with pytest.raises(InputError, match="shape"):
            Neighborhood(indices, distances)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_an_object_counts_the_row_itself(X, algorithm):
    """As in imbalanced-learn; rows that occur more than n_neighbors times may hide their own."""
    finder = NearestNeighbors(n_neighbors=4, algorithm=algorithm)
    around = resolve_neighbors(finder, X, FeatureMetric.learn(X), n_jobs=None, caller="Test")
    assert around.n_neighbors == 3
    assert not (around.indices == np.arange(40)[:, np.newaxis]).any()
    np.testing.assert_allclose(around.distances, find_neighbors(X, 3).distances, atol=1e-7)
    assert not hasattr(finder, "n_samples_fit_"), "a clone is fitted, not the user's object"


def test_own_row_hidden_by_duplicates_drops_the_last():
    X = np.zeros((9, 2))
    finder = NearestNeighbors(n_neighbors=3)
    around = resolve_neighbors(finder, X, FeatureMetric.learn(X), n_jobs=None, caller="Test")
    assert around.n_neighbors == 2
    assert not (around.indices == np.arange(9)[:, np.newaxis]).any()


class Given:
    """A search by other means, without ``fit``."""

    def kneighbors(self, X):
        n = X.shape[0]
        rows = (np.arange(n)[:, np.newaxis] + [1, 0, 2]) % n
        return np.ones((n, 3)), rows


def test_an_object_without_fit_is_used_as_it_is(X):
    around = resolve_neighbors(Given(), X, FeatureMetric.learn(X), n_jobs=None, caller="Test")
    np.testing.assert_array_equal(around.indices[39], [0, 1])


def test_transformers_and_numbers(X):
    finder = KNeighborsTransformer(n_neighbors=4)
    around = resolve_neighbors(
        finder, sp.csr_array(X), FeatureMetric.learn(X), n_jobs=1, caller="Test"
    )
    number = resolve_neighbors(np.int64(3), X, FeatureMetric.learn(X), n_jobs=1, caller="Test")
    assert around.n_neighbors == number.n_neighbors == 3
    np.testing.assert_array_equal(number.indices, find_neighbors(X, 3).indices)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True, None])
def test_k_is_a_whole_number(X, k):
    with pytest.raises(InputError, match="integer"):
        find_neighbors(X, k)


def test_k_is_smaller_than_the_number_of_rows(X):
    with pytest.raises(
        TooFewRowsError,
        match=r"n_neighbors .*must be < n_samples\. Got 40, .*only 40 rows.*at most 39",
    ):
        find_neighbors(X, 40)
    with pytest.raises(TooFewRowsError, match="only 2 rows"):
        find_neighbors(X, 2, among=[0, 1])
    with pytest.raises(TooFewRowsError, match=r"k_neighbors of Test must be < n_samples. Got 40"):
        resolve_neighbors(40, X, FeatureMetric.learn(X), n_jobs=None, caller="Test")
    finder = NearestNeighbors(n_neighbors=41)
    with pytest.raises(TooFewRowsError, match="of Test must be < n_samples"):
        resolve_neighbors(finder, X, FeatureMetric.learn(X), n_jobs=None, caller="Test")
    assert find_neighbors(X, 40, queries=X).n_neighbors == 40


@pytest.mark.parametrize("among", [[0, 40], [-1, 2], [0.5, 1], [[0, 1]], [True, False]])
def test_a_bag_lists_row_numbers(X, among):
    with pytest.raises(InputError, match="row numbers from 0 to 39"):
        find_neighbors(X, 1, among=among)


def test_a_bag_lists_every_row_once(X):
    with pytest.raises(InputError, match="1 of its 3 entries"):
        find_neighbors(X, 1, among=[3, 3, 4])


def test_other_misunderstandings(X):
    with pytest.raises(InputError, match="Got both"):
        find_neighbors(X, 1, among=[1, 2], queries=X)
    with pytest.raises(InputError, match="Got 'drop'"):
        find_neighbors(X, 1, missing="drop")
    with pytest.raises(InputError, match="queries is a sparse matrix"):
        find_neighbors(X, 1, queries=sp.csr_array(X))
    with pytest.raises(InputError, match=r"2 features.*expecting 3"):
        find_neighbors(X, 1, queries=X[:, :2])
    with pytest.raises(MissingValuesError):
        find_neighbors(np.where(X == 1, np.nan, X), 2)
    with pytest.raises(MissingValuesError, match="in queries"):
        find_neighbors(X, 2, queries=np.where(X == 1, np.nan, X))
