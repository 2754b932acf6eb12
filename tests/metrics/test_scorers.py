"""Scorers work with every kind of multi-label classifier, also when a fold misses a label."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from labelance import metrics
from labelance.exceptions import InputError, UndefinedLabelWarning
from labelance.learners import MLkNN

CLASSIFIERS = {
    "list of (n, 2)": KNeighborsClassifier(3),
    "(n, q)": OneVsRestClassifier(LogisticRegression()),
    "decision_function": RidgeClassifier(),
    "chain": ClassifierChain(LogisticRegression()),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0)),
    "no proba": OneVsRestClassifier(LinearSVC()),
}


@pytest.fixture(scope="module")
def data():
    return make_multilabel_classification(80, n_classes=4, n_labels=2, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_every_scorer_works_in_cross_validate(classifier, data):
    X, Y = data
    scorers = dict(metrics.SCORERS)
    if not hasattr(classifier, "predict_proba"):  # margins are no probabilities
        with pytest.raises(InputError, match="between 0 and 1"):
            scorers["neg_macro_brier_loss"](clone(classifier).fit(X, Y), X, Y)
        del scorers["neg_macro_brier_loss"], scorers["neg_macro_calibration_error"]
    result = cross_validate(classifier, X, Y, cv=2, scoring=scorers, error_score="raise")
    for name in scorers:
        values = result[f"test_{name}"]
        assert np.isfinite(values).all(), name
        assert (values <= 0).all() if name.startswith("neg_") else (values >= 0).all(), name


def test_score_is_the_metric_of_the_response(data):
    X, Y = data
    knn = KNeighborsClassifier().fit(X, Y)
    proba = np.column_stack([p[:, 1] for p in knn.predict_proba(X)])
    np.testing.assert_array_equal(metrics.label_scores(knn, X), proba)
    score = metrics.get_label_scorer("macro_auc_pr")(knn, X, Y)
    assert score == metrics.macro_auc_pr(Y, proba)
    loss = metrics.get_label_scorer("neg_hamming_loss")(knn, X, Y)
    assert loss == -metrics.hamming_loss(Y, knn.predict(X))
    top = metrics.get_label_scorer("precision_at_k", k=3)(knn, X, Y)
    assert top == metrics.precision_at_k(Y, proba, k=3)


def test_labels_that_training_missed_score_their_only_class(data):
    X, Y = data
    Y = np.column_stack([Y, np.zeros(len(Y), dtype=int), np.ones(len(Y), dtype=int)])
    scores = metrics.label_scores(KNeighborsClassifier().fit(X, Y), X)
    assert scores.shape == Y.shape
    assert (scores[:, -2] == 0).all()
    assert (scores[:, -1] == 1).all()


def test_fold_that_misses_a_label_is_scored(data):
    X, Y = data
    Y = Y.copy()
    Y[:, 0] = 0
    Y[:3, 0] = 1  # the second fold trains on these rows, the first never sees the label
    scoring = metrics.get_joint_scorer("macro_f1", "macro_auc_roc", "macro_auc_pr")
    with pytest.warns(UndefinedLabelWarning, match="1 of 4"):
        result = cross_validate(
            KNeighborsClassifier(), X, Y, cv=KFold(2), scoring=scoring, error_score="raise"
        )
    assert np.isfinite(result["test_macro_auc_pr"]).all()
    np.testing.assert_array_equal(np.isnan(result["test_macro_auc_roc"]), [False, True])
    silent = metrics.get_label_scorer("macro_auc_roc", undefined=0.5)
    result = cross_validate(KNeighborsClassifier(), X, Y, cv=KFold(2), scoring=silent)
    assert np.isfinite(result["test_score"]).all()


def test_two_labels_are_not_two_classes(data):
    X, Y = data
    mlp = MLPClassifier((2,), max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two iterations do not converge
        mlp.fit(X, Y[:, :2])
    assert metrics.label_scores(mlp, X).shape == (len(X), 2)


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("outer", [make_pipeline, lambda model: GridSearchCV(model, {}, cv=2)])
def test_labels_inside_a_pipeline_are_not_classes(data, q, outer):
    X, Y = data
    Y = Y[:, :q]
    expected = MLkNN().fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(metrics.label_scores(outer(MLkNN()).fit(X, Y), X), expected)


def test_single_label_keeps_its_column():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 2)), (rng.random((40, 1)) < 0.5).astype(int)
    ridge = RidgeClassifier().fit(X, y.ravel())
    auc = metrics.macro_auc_roc(y, ridge.decision_function(X)[:, None])
    assert metrics.get_label_scorer("macro_auc_roc")(ridge, X, y) == auc
    f1 = metrics.macro_f1(y, ridge.predict(X)[:, None])
    assert metrics.get_label_scorer("macro_f1")(ridge, X, y) == f1


class Counting(ClassifierMixin, BaseEstimator):
    """Counts how often it is asked."""

    def fit(self, X, Y):
        self.asked_, self.q_ = [], Y.shape[1]
        return self

    def predict(self, X):
        self.asked_.append("predict")
        return np.ones((len(X), self.q_))

    def predict_proba(self, X):
        self.asked_.append("predict_proba")
        return np.ones((len(X), self.q_))


def test_a_list_of_names_is_refused_in_words():
    with pytest.raises(InputError, match=r"no scorer .*Scorers: macro_f1"):
        metrics.get_joint_scorer(["macro_f1", "macro_auc_pr"])


def test_joint_scorer_predicts_once_and_agrees_with_single_ones(data):
    X, Y = data
    model = Counting().fit(X, Y)
    names = ["macro_f1", "example_f1", "macro_auc_roc", "macro_auc_pr", "neg_one_error"]
    together = metrics.get_joint_scorer(*names)(model, X, Y)
    assert sorted(model.asked_) == ["predict", "predict_proba"]
    assert together == {name: metrics.get_label_scorer(name)(model, X, Y) for name in names}


@pytest.mark.slow
def test_grid_search(data):
    X, Y = data
    scoring = metrics.get_joint_scorer("macro_f1", "macro_auc_roc")
    grid = {"n_neighbors": [1, 5]}
    knn = KNeighborsClassifier()
    search = GridSearchCV(knn, grid, scoring=scoring, refit="macro_auc_roc", cv=2)
    fitted = clone(search).fit(X, Y)
    assert fitted.best_params_["n_neighbors"] == 5


def test_errors_name_the_choices(data):
    X, _ = data
    with pytest.raises(InputError, match="macro_auc_roc"):
        metrics.get_label_scorer("auc")
    with pytest.raises(InputError, match="object has neither"):
        metrics.label_scores(object(), X)
