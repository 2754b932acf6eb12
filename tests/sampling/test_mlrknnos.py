"""MLRkNNOS: counts and reverse neighbors by oracle, draws by distribution, labels by training."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from labelance.exceptions import (
    ConstantLabelWarning,
    InputError,
    NothingToSampleError,
    TooManyRowsError,
)
from labelance.neighbors import find_neighbors
from labelance.sampling import MLRkNNOS
from labelance.sampling._per_label import NumericEncoder, RBFMachine
from labelance.testing import sampler_data

TREE = DecisionTreeClassifier(random_state=0)


def minority_rows(Y, j):
    """The minority value of a label (a tie makes it 1) and the rows that have it."""
    value = 1 if 2 * Y[:, j].sum() <= len(Y) else 0
    return value, [i for i in range(len(Y)) if Y[i, j] == value]


def reverse_slowly(X, bag, k):
    """RNN of every row of a bag: the rows of the bag that have it among their k nearest."""
    reverse = {p: [] for p in bag}
    for m in bag:
        others = sorted((np.sqrt(((X[m] - X[p]) ** 2).sum()), p) for p in bag if p != m)
        for _, p in others[:k]:
            reverse[p].append(m)
    return {p: members for p, members in reverse.items() if members}


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 6))
def test_the_plan_equals_the_slow_loops(seed, q, k):
    rng = np.random.default_rng(seed)
    n = 25
    X = rng.integers(0, 4, (n, 2)).astype(float)
    Y = (rng.random((n, q)) < rng.random(q)).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    Y[:, 0] = np.arange(n) < 3  # and there is always one to balance
    plan = MLRkNNOS(k_neighbors=k).plan(X, Y).details
    expected = {}
    for j in range(q):
        bag = minority_rows(Y, j)[1]
        if len(bag) > 1 and n > 2 * len(bag):
            reverse = reverse_slowly(X, bag, min(k, len(bag) - 1))
            expected[j] = (n - 2 * len(bag), dict(sorted(reverse.items())))
    assert plan.labels.tolist() == list(expected)
    for label, n_new, near in zip(plan.labels, plan.n_new, plan.reverse):
        members = np.split(near.members, near.bounds[1:-1])
        found = {p: sorted(m) for p, m in zip(near.seeds.tolist(), map(list, members))}
        assert (n_new, found) == expected[label]


def test_every_label_is_balanced_by_its_own_rows():
    X, Y = sampler_data()
    sampler = MLRkNNOS(random_state=0)
    _, Y_new = sampler.fit_resample(X, Y)
    assert_array_equal(Y_new[: len(Y)], Y)
    for j in range(Y.shape[1]):
        value, bag = minority_rows(Y, j)
        own = Y_new[len(Y) :][sampler.label_indices_ == j, j]
        assert (own == value).all()
        assert len(bag) + len(own) == len(Y) - len(bag)


def test_parents_are_drawn_evenly_from_the_reverse_neighbors():
    X, _ = sampler_data(n=4000)
    Y = (np.arange(4000) < 25)[:, None]  # one label of 25 minority rows, so no labeller
    sampler = MLRkNNOS(k_neighbors=3, random_state=0)
    sampler.fit_resample(X, Y)
    reverse = reverse_slowly(X, range(25), 3)
    seeds, references = sampler.seed_indices_, sampler.reference_indices_
    drawn = np.bincount(seeds, minlength=25)
    assert set(np.flatnonzero(drawn)) == set(reverse)
    assert chisquare(drawn[list(reverse)]).pvalue > 1e-4
    expected = {
        (p, m): len(seeds) / len(reverse) / len(ms) for p, ms in reverse.items() for m in ms
    }
    seen = dict.fromkeys(expected, 0)
    for pair in zip(seeds.tolist(), references.tolist()):
        seen[pair] += 1  # a pair of other rows would be a KeyError
    assert chisquare(list(seen.values()), list(expected.values())).pvalue > 1e-4


@pytest.mark.parametrize(("labeller", "twin"), [(None, SVC()), (TREE, TREE)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_other_labels_are_predicted_from_original_and_own_rows(labeller, twin, kind):
    X, Y = sampler_data()
    sampler = MLRkNNOS(labeller=labeller, random_state=0)
    X_new, Y_new = sampler.fit_resample(kind(X), Y)
    X_new = X_new.toarray() if sp.issparse(X_new) else X_new
    made, labels = X_new[len(X) :], Y_new[len(X) :]
    for j in range(Y.shape[1]):
        own = sampler.label_indices_ == j
        twin.fit(np.r_[X, made[own]], np.r_[Y[:, j], labels[own, j]])
        assert_array_equal(labels[~own, j], twin.predict(made[~own]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_machine_decides_as_scikit_learns(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3000, 6)) < 0.4, rng.normal(size=(3000, 6)), 0)
    y = (np.sin(2 * X).sum(axis=1) + rng.normal(scale=0.3, size=3000) > 0).astype(int)
    X = kind(X)
    expected = SVC().fit(X[:1000], y[:1000]).predict(X)
    assert_array_equal(RBFMachine().fit(X[:1000], y[:1000]).predict(X), expected)


def read_slowly(X, nominal, width):
    """One row of numbers after the other."""
    rows = []
    for x in X:
        row = []
        for f, value in enumerate(x):
            known = X[~np.isnan(X[:, f]), f]
            if not nominal[f]:
                row.append((known.mean() if np.isnan(value) else value) / width[f])
                continue
            columns = [value == code for code in range(1, int(known.max()) + 1)]
            if len(known) < len(X):
                columns.append(np.isnan(value))
            row += columns or [False]
        rows.append(row)
    return np.array(rows, dtype=float)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5), st.integers(0, 4))
def test_numbers_equal_the_slow_loop_dense_and_sparse(seed, missing, n_categories):
    rng = np.random.default_rng(seed)
    nominal = np.array([False, True, True, False, True])
    X = np.where(nominal, rng.integers(0, n_categories + 1, (12, 5)), rng.integers(-2, 3, (12, 5)))
    X = X.astype(float)
    X[1:][rng.random((11, 5)) < missing] = np.nan
    width = rng.random(5) + 0.5
    expected = read_slowly(X, nominal, width)
    for kind in (np.asarray, sp.csr_array):
        numbers = NumericEncoder.learn(kind(X), nominal, width).transform(kind(X))
        assert sp.issparse(numbers) == (kind is sp.csr_array)
        numbers = numbers.toarray() if sp.issparse(numbers) else numbers
        assert_allclose(numbers, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_categories_are_the_same_numbers_dense_and_sparse(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (20, 5)).astype(dtype)
    X[1:][rng.random((19, 5)) < 0.2] = np.nan
    encoder = NumericEncoder.learn(X, np.zeros(5, dtype=bool), rng.random(5) + 0.5)
    expected = encoder.transform(sp.csr_array(X)).toarray()
    monkeypatch.setattr(sp, "csr_array", None)  # dense rows are not made sparse
    found = encoder.transform(X)
    assert found.dtype == dtype
    assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_nominal_and_missing_values(kind):
    X, Y = sampler_data(n=100)
    rng = np.random.default_rng(0)
    X[:, 1] = rng.integers(0, 3, size=100) * 10.0
    X[rng.random(100) < 0.1, 0] = np.nan
    sampler = MLRkNNOS(categorical_features=[1], missing="distance", random_state=0)
    X_new, Y_new = sampler.fit_resample(kind(X), Y)
    made = (X_new.toarray() if sp.issparse(X_new) else X_new)[100:]
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    assert ((made[:, 1] == seeds[:, 1]) | (made[:, 1] == references[:, 1])).all()
    assert_array_equal(np.isnan(made[:, 0]), np.isnan(seeds[:, 0]) | np.isnan(references[:, 0]))
    assert set(np.unique(Y_new)) == {0, 1}


@pytest.mark.slow
def test_a_labeller_with_chance_in_it_is_seeded():
    X, Y = sampler_data()
    forest = make_pipeline(MaxAbsScaler(), RandomForestClassifier(n_estimators=3))
    results = [
        MLRkNNOS(labeller=forest, random_state=seed, n_jobs=n_jobs).fit_resample(X, Y)
        for seed, n_jobs in ((0, 1), (0, 2), (1, 1))
    ]
    assert_array_equal(results[0][1], results[1][1])
    assert (results[0][1] != results[2][1]).any()


def test_very_large_numbers_pass_without_a_warning():
    X, Y = sampler_data()
    X *= 1e20  # beyond what an int64 holds
    MLRkNNOS(labeller=TREE).fit_resample(X, Y)


def test_labels_with_one_minority_row_or_none_are_left_alone():
    X, Y = sampler_data()
    Y[:, 0], Y[:, 1], Y[:, 2] = 0, np.arange(60) == 7, np.arange(60) < 30
    sampler = MLRkNNOS(labeller=TREE, random_state=0)
    with pytest.warns(ConstantLabelWarning):
        Y_new = sampler.fit_resample(X, Y)[1]
    assert set(sampler.label_indices_) == {3, 4}
    assert not Y_new[:, 0].any()


class Refusing(DecisionTreeClassifier):
    def fit(self, X, y):
        raise AssertionError("there is nothing to predict")


def test_one_label_needs_no_labeller():
    X, Y = sampler_data()
    Y_new = MLRkNNOS(labeller=Refusing()).fit_resample(X, Y[:, :1])[1]
    assert Y_new.mean() == 0.5


@pytest.mark.slow
def test_too_many_rows_are_refused_by_their_number():
    X, Y = sampler_data()
    n_new = len(MLRkNNOS().fit_resample(X, Y)[0]) - len(X)
    with pytest.raises(TooManyRowsError, match=f"one by one needs {n_new}"):
        MLRkNNOS(max_synthetic=n_new - 1).fit_resample(X, Y)
    for enough in (n_new, None):
        assert len(MLRkNNOS(max_synthetic=enough).fit_resample(X, Y)[0]) == len(X) + n_new


def test_nothing_to_balance_is_an_error_that_says_so():
    X = np.arange(8.0)[:, None]
    Y = np.array([[1, 1], [0, 0]] * 4)
    Y[:, 1] = np.arange(8) == 3
    with pytest.raises(NothingToSampleError, match="No label"):
        MLRkNNOS().fit_resample(X, Y)


def test_a_neighborhood_of_all_rows_is_refused():
    X, Y = sampler_data()
    with pytest.raises(InputError, match="does not search neighbors among all rows"):
        MLRkNNOS().fit_resample(X, Y, neighborhood=find_neighbors(X, 5))
