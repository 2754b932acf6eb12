"""Binary relevance: q independent fits, whatever the estimator, the containers and the threads."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelance.learners import BinaryRelevance, C45Classifier
from labelance.learners._base import ConstantClassifier

ESTIMATORS = [
    C45Classifier(),
    C45Classifier(prune=False, min_samples_leaf=5),
    C45Classifier(class_weight="balanced"),
    DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


def fit_one_by_one(estimator, X, Y, new):
    """The definition: one fit per label; a constant label has probability 0 or 1."""
    scores = np.empty((len(new), Y.shape[1]))
    for j, y in enumerate(Y.T):
        constant = len(np.unique(y)) == 1
        scores[:, j] = y[0] if constant else estimator.fit(X, y).predict_proba(new)[:, 1]
    return scores


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_equals_independent_fits(estimator, small):
    X, Y, new = small
    learner = BinaryRelevance(estimator).fit(X, Y)
    expected = fit_one_by_one(estimator, X, Y, new)
    np.testing.assert_allclose(learner.predict_proba(new), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(learner.predict(new), expected >= 0.5)


def test_the_default_estimator_is_c45(small):
    X, Y, new = small
    default = BinaryRelevance().fit(X, Y).predict_proba(new)
    np.testing.assert_array_equal(
        default, BinaryRelevance(C45Classifier()).fit(X, Y).predict_proba(new)
    )


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(random_state=0)], ids=str)
def test_containers_and_threads_agree(estimator, small):
    X, Y, new = small
    expected = BinaryRelevance(estimator).fit(X, Y).predict_proba(new)
    names = list("abcde")
    pairs = [
        (sp.csr_array(X), sp.csr_array(new)),
        (sp.csc_matrix(X), sp.coo_array(new)),
        (X.tolist(), new.tolist()),
        (pd.DataFrame(X, columns=names), pd.DataFrame(new, columns=names)),
        (pl.DataFrame(X, schema=names), pl.DataFrame(new, schema=names)),
    ]
    for rows, new_rows in pairs:
        for labels in (Y, sp.csc_array(Y), pd.DataFrame(Y)):
            with parallel_config(backend="threading"):  # starting processes takes seconds
                learner = BinaryRelevance(estimator, n_jobs=2).fit(rows, labels)
                np.testing.assert_array_equal(learner.predict_proba(new_rows), expected)


def test_sparse_labels_give_sparse_predictions(small):
    X, Y, new = small
    dense = BinaryRelevance().fit(X, Y).predict(new)
    sparse = BinaryRelevance().fit(X, sp.csr_array(Y)).predict(new)
    assert sp.issparse(sparse)
    np.testing.assert_array_equal(sparse.toarray(), dense)


class DecidesAlone(ClassifierMixin, BaseEstimator):
    """A classifier with neither probabilities nor margins."""

    def fit(self, X, y):
        self.classes_, self.model_ = np.unique(y), RidgeClassifier().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def test_a_classifier_without_probabilities_and_margins_decides(small):
    X, Y, new = small
    learner = BinaryRelevance(DecidesAlone()).fit(X, Y)
    scores = learner.predict_proba(new)
    assert set(np.unique(scores)) == {0, 1}
    np.testing.assert_array_equal(scores[:, 0], RidgeClassifier().fit(X, Y[:, 0]).predict(new))


def test_margins_rank_rows_and_decide_as_the_classifier_does(small):
    X, Y, new = small
    learner = BinaryRelevance(RidgeClassifier()).fit(X, Y)
    alone = RidgeClassifier().fit(X, Y[:, 0])
    scores = learner.predict_proba(new)
    np.testing.assert_allclose(scores[:, 0], 1 / (1 + np.exp(-alone.decision_function(new))))
    np.testing.assert_array_equal(learner.predict(new)[:, 0], alone.predict(new))


def test_constant_labels_are_never_fitted(small):
    X, Y, new = small
    learner = BinaryRelevance(DecisionTreeClassifier()).fit(X, Y)
    constant = [isinstance(model, ConstantClassifier) for model in learner.estimators_]
    assert constant == [False] * 4 + [True] * 2
    for estimator in (None, DecisionTreeClassifier()):
        scores = BinaryRelevance(estimator).fit(X, Y).predict_proba(new)
        assert np.all(scores[:, 4] == 0)
        assert np.all(scores[:, 5] == 1)


@pytest.mark.slow
def test_missing_values_reach_estimators_that_take_them(small):
    X, Y, new = small
    X, new = X.copy(), new.copy()
    X[::7, 1], new[::5, 0] = np.nan, np.nan
    for estimator in (C45Classifier(), HistGradientBoostingClassifier(max_iter=2)):
        scores = BinaryRelevance(estimator).fit(X, Y).predict_proba(new)
        expected = fit_one_by_one(estimator, X, Y, new)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
        assert BinaryRelevance(estimator).__sklearn_tags__().input_tags.allow_nan
    assert not BinaryRelevance(LogisticRegression()).__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        BinaryRelevance(LogisticRegression()).fit(X, Y)


def nominal_frame(codes, n_categories):
    """One numeric column, and one of words of which not all need to occur."""
    words = [f"w{c}" for c in range(n_categories)]
    column = pd.Categorical.from_codes(codes[:, 0], categories=words)
    return pd.DataFrame({"word": column, "number": codes[:, 1].astype(float)})


def test_categories_of_a_frame_are_nominal_and_all_declared():
    """A declared category that no training row has is an empty branch, not a missing value."""
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(0, 3, 80), rng.integers(0, 9, 80)])
    Y = np.column_stack([codes[:, 0] == 1, (codes[:, 0] == 2) & (codes[:, 1] > 3)]).astype(int)
    new = np.column_stack([np.arange(40) % 5, rng.integers(0, 9, 40)])
    framed = BinaryRelevance().fit(nominal_frame(codes, 5), Y)
    tree = C45Classifier(categorical_features=[0], n_categories=[5])
    expected = fit_one_by_one(tree, codes, Y, new)
    np.testing.assert_array_equal(framed.predict_proba(nominal_frame(new, 5)), expected)
    told = BinaryRelevance(tree).fit(codes, Y)
    np.testing.assert_array_equal(told.predict_proba(new), expected)
    assert "word = w1" in framed.estimators_[0].export_text()


def test_nominal_numbers_of_an_array_may_be_any_numbers():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, (80, 1))
    Y = (codes % 2 == 0).astype(int)
    values = np.array([-3.5, 10, 2, 7])
    learner = BinaryRelevance(categorical_features=[0]).fit(values[codes], Y)
    np.testing.assert_array_equal(learner.predict(values[codes]), Y)
    weighted = BinaryRelevance(C45Classifier(class_weight="balanced"), categorical_features=[0])
    np.testing.assert_array_equal(weighted.fit(values[codes], Y).predict(values[codes]), Y)


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers what kind of rows it got."""

    def fit(self, X, y):
        self.kind_ = type(X)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        assert type(X) is self.kind_
        return np.ones(X.shape[0], dtype=int)


@pytest.mark.parametrize("kind", [pd.DataFrame, sp.csc_matrix, np.asarray])
def test_other_estimators_get_the_rows_as_they_came(kind, small):
    X, Y, new = small
    learner = BinaryRelevance(Spy()).fit(kind(X), Y)
    assert learner.estimators_[0].kind_ is type(kind(X))
    learner.predict(kind(new))


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(BinaryRelevance(), "sure")


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["flags", "emotions", "genbase", "yeast", pytest.param("enron", marks=pytest.mark.slow)],
)
def test_equals_the_authors_program_in_every_fold(name, authors_folds):
    for fold in authors_folds(name, "BR"):
        learner, new = fold.fit(BinaryRelevance(fold.estimator)), fold.dataset.values[fold.test]
        figures = fold.measure(learner.predict(new), learner.predict_proba(new))
        np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.data
def test_frames_equal_the_authors_program_too(authors_folds):
    for fold in authors_folds("flags", "BR"):
        X, Y = fold.dataset.to_frame()
        learner = BinaryRelevance().fit(X.iloc[fold.train], Y.iloc[fold.train])
        new = X.iloc[fold.test]
        figures = fold.measure(learner.predict(new), learner.predict_proba(new))
        np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)


def test_sparse_rows_with_long_indices_are_learned_by_liblinear():
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 8), density=0.4, format="csr", rng=rng)
    y = (rng.random((60, 3)) < 0.4).astype(int)
    model = BinaryRelevance(LogisticRegression(solver="liblinear"))
    expected = model.fit(X, y).predict_proba(X)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    np.testing.assert_array_equal(model.fit(long, y).predict_proba(X), expected)
    assert long.indices.dtype == np.int64
