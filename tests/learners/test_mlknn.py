"""MLkNN: the worked example, counts by loops, and the authors' program in every fold.

For datasets with rows that are equally near see test_authors_draws.
"""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelance.exceptions import InputError, MissingValuesError, TooFewRowsError
from labelance.learners import MLkNN
from labelance.learners._mlknn import count_neighbors, count_rows
from labelance.neighbors import Neighborhood, find_neighbors


def test_worked_example():
    X, Y = np.arange(8.0)[:, None], np.array([[1, 1, 0, 1, 0, 0, 0, 0]]).T
    around, labels = find_neighbors(X, 3), sp.csr_array(Y.astype(np.int8))
    e = count_neighbors(around, labels)
    assert e.toarray().ravel().tolist() == [2, 2, 3, 1, 1, 1, 0, 0]
    with_label, without = count_rows(labels, e, 3)
    assert with_label.tolist() == [[0, 1, 2, 0]]
    assert without.tolist() == [[2, 2, 0, 1]]
    learner = MLkNN(n_neighbors=3).fit(X, Y)
    assert learner.prior_.tolist() == [0.4]
    scores = learner.predict_proba([[0.4], [2.6], [5.2]]).ravel()
    np.testing.assert_allclose(scores, [0.72, 4 / 11, 2 / 9], rtol=1e-12)
    assert learner.predict([[0.4], [2.6], [5.2]]).tolist() == [[1], [0], [0]]


def posteriors_by_loops(X, Y, new, k, s):
    """The definition, cell by cell; the nearest rows come from sorting all distances."""

    def nearest(x, but=None):
        distances = ((X - x) ** 2).sum(axis=1)
        others = [i for i in range(len(X)) if i != but]
        return sorted(others, key=lambda i: (distances[i], i))[:k]

    scores = np.empty((len(new), Y.shape[1]))
    for j, y in enumerate(Y.T):
        seen = np.zeros((2, k + 1))
        for i in range(len(X)):
            seen[y[i], y[nearest(X[i], but=i)].sum()] += 1
        prior = (s + y.sum()) / (2 * s + len(y))
        given = (s + seen) / (s * (k + 1) + seen.sum(axis=1, keepdims=True))
        for i, x in enumerate(new):
            e = y[nearest(x)].sum()
            joint = prior * given[1, e], (1 - prior) * given[0, e]
            scores[i, j] = joint[0] / sum(joint)
    return scores


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.5, 1, 3]))
def test_equals_the_definition(seed, k, s):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (20, 2)).astype(float)
    Y = (rng.random((20, 4)) < [0.5, 0.1, 0, 1]).astype(int)
    new = rng.integers(-1, 5, (6, 2)).astype(float)
    expected = posteriors_by_loops(X, Y, new, k, s)
    for rows in (np.asarray, sp.csr_array):
        learner = MLkNN(k, s).fit(rows(X), rows(Y))
        np.testing.assert_allclose(learner.predict_proba(rows(new)), expected, rtol=1e-12)


def test_an_exact_tie_is_predicted():
    X, y = np.arange(8.0)[:, None] ** 2, [[0], [1], [0], [0], [0], [1], [0], [0]]
    learner = MLkNN(2, smoothing=2).fit(X, y)
    assert learner.predict_proba([[9.01]]).tolist() == [[0.5]]
    assert learner.predict([[9.01]]).tolist() == [[1]]


def exact_posteriors(y, e, k, s):
    """Bayes' rule in fractions, for every number of neighbors with the label."""
    seen = [[sum(y[e == count] == value) for count in range(k + 1)] for value in (0, 1)]
    s = Fraction(s)
    joint = [
        [(s + sum(counts)) * (s + count) / (s * (k + 1) + sum(counts)) for count in counts]
        for counts in seen
    ]
    return [present / (present + absent) for absent, present in zip(*joint)]


@pytest.mark.slow
@pytest.mark.parametrize("s", [0.1, 0.5, 1, 2, 3, 7.25])
def test_posteriors_are_on_the_side_of_a_half_where_fractions_are(s):
    ties, rng = 0, np.random.default_rng(0)
    for _ in range(30):
        n, k = int(rng.integers(5, 16)), int(rng.integers(1, 5))
        X, Y = rng.normal(size=(n, 1)), rng.integers(0, 2, (n, 8))
        learner = MLkNN(k, s).fit(X, Y)
        e = np.asarray(Y)[find_neighbors(X, k).indices].sum(axis=1)
        for j, posterior in enumerate(learner.posterior_):
            exact = exact_posteriors(Y[:, j], e[:, j], k, s)
            np.testing.assert_allclose(posterior, np.array(exact, dtype=float), rtol=1e-12)
            assert (posterior >= 0.5).tolist() == [value >= Fraction(1, 2) for value in exact]
            tied = np.array([value == Fraction(1, 2) for value in exact])
            assert (posterior[tied] == 0.5).all()
            ties += tied.sum()
        np.testing.assert_array_equal(learner.predict(X), learner.predict_proba(X) >= 0.5)
    assert ties > 10


def test_tiny_numbers_have_the_posteriors_of_ordinary_ones(small):
    """A power of two changes no digit; squares of these numbers underflow."""
    X, Y, new = small
    for scale in (None, "standard"):
        expected = MLkNN(scale=scale).fit(X, Y).predict_proba(new)
        tiny = MLkNN(scale=scale).fit(X * 2.0**-600, Y).predict_proba(new * 2.0**-600)
        np.testing.assert_array_equal(tiny, expected)


@pytest.mark.slow
def test_containers_and_threads_agree(small):
    X, Y, new = small
    expected = MLkNN(scale="range").fit(X, Y).predict_proba(new)
    for rows in (sp.csr_array, sp.csc_matrix, pd.DataFrame, np.ndarray.tolist):
        for labels in (np.asarray, sp.csc_array, pd.DataFrame):
            learner = MLkNN(scale="range", n_jobs=2).fit(rows(X), labels(Y))
            np.testing.assert_array_equal(learner.predict_proba(rows(new)), expected)


def test_rows_may_be_dense_now_and_sparse_then(small):
    X, Y, new = small
    expected = MLkNN().fit(X, Y).predict_proba(new)
    for first, then in [(np.asarray, sp.csr_array), (sp.csr_array, np.asarray)]:
        scores = MLkNN().fit(first(X), Y).predict_proba(then(new))
        np.testing.assert_array_equal(scores, expected)


def test_labels_without_examples_stay_rare_and_frequent(small):
    X, Y, new = small
    predicted = MLkNN().fit(X, sp.csr_array(Y)).predict(new)
    assert sp.issparse(predicted)
    assert predicted[:, [4]].nnz == 0
    assert predicted[:, [5]].nnz == len(new)


def test_a_neighborhood_found_before_saves_the_search(small, monkeypatch):
    X, Y, new = small
    expected = MLkNN(n_neighbors=4).fit(X, Y).predict_proba(new)
    around = find_neighbors(X, 7)
    with monkeypatch.context() as patch:
        patch.setattr("labelance.learners._mlknn.search_neighbors", None)
        learner = MLkNN(n_neighbors=4).fit(X, Y, neighborhood=around)
    np.testing.assert_array_equal(learner.predict_proba(new), expected)
    with pytest.raises(InputError, match="7 neighbors per row, and 8 are needed"):
        MLkNN(n_neighbors=8).fit(X, Y, neighborhood=around)
    with pytest.raises(InputError, match="90 rows, and X has 30"):
        MLkNN(n_neighbors=4).fit(X[:30], Y[:30], neighborhood=around)


def test_as_many_neighbors_as_there_are_other_rows(small):
    X, Y, _ = small
    MLkNN(n_neighbors=9).fit(X[:10], Y[:10])
    with pytest.raises(TooFewRowsError, match="at most 9"):
        MLkNN(n_neighbors=10).fit(X[:10], Y[:10])


def test_missing_values_are_refused_or_measured(small):
    X, Y, new = small
    holes, asked = X.copy(), new.copy()
    holes[3, 1], asked[0, 2] = np.nan, np.nan
    with pytest.raises(MissingValuesError, match="columns 1"):
        MLkNN().fit(holes, Y)
    with pytest.raises(MissingValuesError, match="columns 2"):
        MLkNN().fit(X, Y).predict(asked)
    learner = MLkNN(missing="distance", scale="range").fit(holes, Y)
    around = find_neighbors(holes, 10, missing="distance", scale="range", queries=asked)
    e = Y[around.indices].sum(axis=1)
    expected = learner.posterior_[np.arange(6), e]
    np.testing.assert_array_equal(learner.predict_proba(asked), expected)


def test_a_new_category_differs_from_all_others():
    frame = pd.DataFrame({"word": pd.Categorical(list("aabb")), "number": [0.0, 5, 1, 6]})
    learner = MLkNN(n_neighbors=1).fit(frame, [[1, 0], [0, 0], [0, 1], [0, 0]])
    new = pd.DataFrame({"word": pd.Categorical(["c", "b"]), "number": [0.2, 0.2]})
    alone = MLkNN(n_neighbors=1).fit(frame[["number"]], [[1, 0], [0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(
        learner.predict_proba(new)[0], alone.predict_proba(new[["number"]])[0]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(MLkNN(n_neighbors=3), "few_rows")  # there are checks with ten rows


@pytest.mark.data
@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_equals_the_authors_program_in_every_fold(name, authors_folds):
    for fold in authors_folds(name, "MLkNN"):
        learner, new = fold.fit(MLkNN(scale="range")), fold.dataset.values[fold.test]
        figures = fold.measure(learner.predict(new), learner.predict_proba(new))
        np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)


@pytest.mark.parametrize("row", [-1, 30, 35, 10**9])
def test_a_neighborhood_of_rows_that_are_not_there_is_refused(row):
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), rng.integers(2, size=(30, 2))
    around = find_neighbors(X, 3)
    indices = around.indices.copy()
    indices[4, 1] = row
    with pytest.raises(InputError, match=r"outside 0 … 29"):
        MLkNN(n_neighbors=3).fit(X, y, neighborhood=Neighborhood(indices, around.distances))


def test_a_neighborhood_of_other_rows_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 3)), rng.integers(2, size=(30, 2))
    with pytest.raises(InputError, match="not those of these rows"):
        MLkNN(n_neighbors=3).fit(X, y, neighborhood=find_neighbors(X[::-1], 3))


def test_the_prior_counts_every_known_row():
    X, y = np.arange(40.0)[:, None], np.full((40, 2), np.nan)
    y[:, 1] = np.arange(40) % 2
    y[[0, 39], 0] = 0  # far apart: neither is a neighbor of the other
    model = MLkNN(n_neighbors=3).fit(X, y)
    np.testing.assert_allclose(model.prior_[0], 1 / 4)
    assert not model.predict(X)[:, 0].any()
