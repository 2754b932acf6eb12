"""RecallGuarantee and BudgetClassifier: the functions on arrays, as classifiers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import (
    BudgetClassifier,
    LabelCalibration,
    RecallGuarantee,
    decide_within_budget,
    guarantee_recall,
)
from labelance.exceptions import InputError, TooFewRowsError
from labelance.learners import BinaryRelevance, MLkNN
from labelance.metrics import label_scores

KNN = KNeighborsClassifier(9)
FOREST = RandomForestClassifier(20, random_state=0)


class NeverFitted(ClassifierMixin, BaseEstimator):
    """Fails in fit: for errors that must come before."""

    def fit(self, X, y):
        raise AssertionError("this is too late")

    def predict(self, X):
        raise AssertionError("this is too late")

    predict_proba = predict


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(400, 6, 4, random_state=0)


# ------------------------------------------------------------------------------------ guarantees


def test_the_rows_that_calibrate_are_not_learned_from(data):
    X, y = data
    X = np.column_stack([X, np.arange(len(X))])  # a number for every row
    model = RecallGuarantee(KNeighborsClassifier(9), random_state=0).fit(X, y)
    learned = model.estimator_._fit_X[:, -1].astype(int)
    rest = np.setdiff1d(np.arange(len(X)), learned)
    assert abs(len(learned) - len(rest)) <= 1
    found = guarantee_recall(y[rest], label_scores(model.estimator_, X[rest]))
    assert_array_equal(model.thresholds_, found.thresholds)
    assert model.guarantees_.reasons == found.reasons
    assert found.guaranteed.all()
    scores = model.predict_proba(X)
    assert_array_equal(model.predict(X), scores >= model.thresholds_)


@pytest.mark.slow
def test_every_row_calibrates_with_the_same_probability():
    # A labelset in a single row would always be learned from, if parts of other sizes were cut.
    y = np.zeros((9, 2), dtype=int)
    y[0], y[1:5, 0] = 1, 1
    draws = [
        RecallGuarantee(KNN, n_splits=3)._split(_Labels(y), np.random.default_rng(seed))[1]
        for seed in range(300)
    ]
    shares = np.bincount(np.concatenate(draws), minlength=9) / 300
    assert (abs(shares - 1 / 3) < 4 * np.sqrt(2 / 9 / 300)).all()


class _Labels:
    def __init__(self, y):
        self.Y, self.unknown, self.n_samples = sp.csr_array(y), None, len(y)


@pytest.mark.slow
@pytest.mark.parametrize("hard", [0.1, 0.3])
def test_recall_of_new_rows_where_another_label_says_how_hard_a_row_is(hard):
    # Parts are stratified by the second label, too, which gives away the scores of the first.
    rng, recalls = np.random.default_rng(1), []
    for seed in range(200):
        second = rng.random(60) < hard
        scores = np.where(second, rng.random(60) / 2, 0.5 + rng.random(60) / 2)[:, None]
        y = np.column_stack([np.ones(60, dtype=int), second])
        model = RecallGuarantee(_Given(), recall=0.8, too_few="never", random_state=seed)
        t = model.fit(scores, y).thresholds_[0]
        # P(score >= t) of a new row, exactly.
        recalls.append(hard * np.clip(1 - 2 * t, 0, 1) + (1 - hard) * np.clip(2 - 2 * t, 0, 1))
    assert np.mean(recalls) > 0.8 - 4 * np.std(recalls) / np.sqrt(200)


class _Given(ClassifierMixin, BaseEstimator):
    """Scores every label by the first feature."""

    def fit(self, X, y):
        self.classes_, self.n_labels_ = [np.arange(2)] * y.shape[1], y.shape[1]
        return self

    def predict_proba(self, X):
        return np.repeat(np.asarray(X)[:, :1], self.n_labels_, axis=1)

    def predict(self, X):
        return (self.predict_proba(X) >= 0.5).astype(int)


def test_a_frozen_estimator_is_calibrated_on_all_rows(data):
    X, y = data
    known = clone(KNN).fit(X[:200], y[:200])
    model = RecallGuarantee(FrozenEstimator(known), recall=0.7, confidence=0.8).fit(
        X[200:], y[200:]
    )
    found = guarantee_recall(y[200:], label_scores(known, X[200:]), recall=0.7, confidence=0.8)
    assert_array_equal(model.thresholds_, found.thresholds)
    assert model.estimator_.estimator is known
    assert model.guarantees_.guaranteed.all()


@pytest.mark.parametrize(
    ("estimator", "source", "words"),
    [(FOREST, "oob", "out of bag"), (KNN, "cv", "out of fold")],
    ids=["oob", "cv"],
)
def test_scores_of_other_models_give_estimates(data, estimator, source, words):
    X, y = data
    model = RecallGuarantee(estimator, tune_on=source, random_state=0).fit(X, y)
    every = (model.guarantees_.n_predicted == len(y)).tolist()
    expected = (f"estimate: scores {words}" + "; only by predicting every row" * e for e in every)
    assert model.guarantees_.reasons == tuple(expected)
    assert not model.guarantees_.guaranteed.any()
    assert_array_equal(model.guarantees_.n_positive, y.sum(axis=0))


def test_names_of_labels_are_in_results_and_errors(data):
    X, y = data
    names = pd.DataFrame(y.copy(), columns=list("abcd"))
    model = RecallGuarantee(KNN, random_state=0).fit(X, names)
    assert model.guarantees_.names == tuple("abcd")
    assert list(model.guarantees_.to_frame().index) == list("abcd")
    names.loc[names.index[3:], "c"] = 0
    with pytest.raises(InputError, match=r"1 of 4 labels have fewer: 'c'"):
        RecallGuarantee(NeverFitted()).fit(X, names)


def test_labels_with_too_few_positives_share_a_threshold_by_the_rows_learned_from(data):
    X, y = data
    model = RecallGuarantee(KNN, recall=0.98, too_few="pool", random_state=0).fit(X, y)
    few = model.guarantees_.n_positive < model.guarantees_.n_needed
    assert few.any()
    reasons = np.array(model.guarantees_.reasons)[few]
    assert all("pooled over" in reason and "estimate" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"too_few": "pool", "confidence": 0.9}, InputError, "in expectation only"),
        ({"recall": 0.999}, InputError, "needs 999 positives"),
        ({"n_splits": 1000}, TooFewRowsError, "a row for each of 1000"),
        ({"tune_on": "oob"}, InputError, "whose members are trained on bootstrap samples"),
    ],
    ids=["pool", "few", "rows", "oob"],
)
def test_what_cannot_be_guaranteed_raises_before_anything_is_fitted(data, options, error, match):
    with pytest.raises(error, match=match):
        RecallGuarantee(NeverFitted(), **options).fit(*data)


@pytest.mark.parametrize("options", [{"recall": 1}, {"confidence": 0}, {"too_few": "drop"}])
def test_parameters_are_checked(data, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        RecallGuarantee(KNN, **options).fit(*data)


# --------------------------------------------------------------------------------------- budgets


@pytest.mark.parametrize(
    "budget",
    [
        {"per_row": 1},
        {"per_row": 2, "exactly": True, "utility": "coverage"},
        {"per_label": [5, 10, 15, 20]},
        {"total": 30},
        {"per_row": 1, "total": 30, "utility": "macro_recall"},
        {},
    ],
    ids=str,
)
def test_a_batch_is_decided_as_its_probabilities_are(data, budget):
    X, y = data
    model = BudgetClassifier(LabelCalibration(MLkNN()), random_state=0, **budget)
    decided = model.fit(X[:300], y[:300]).predict(X[300:])
    proba = model.predict_proba(X[300:])
    found = decide_within_budget(proba, random_state=model._seed, **budget)
    assert_array_equal(decided, found.y.toarray())
    assert_array_equal(model.predict(X[300:]), decided)
    assert decided.sum(axis=1).max() <= budget.get("per_row", 4)
    assert decided.sum() <= budget.get("total", decided.size)
    assert (decided.sum(axis=0) <= budget.get("per_label", len(decided))).all()


def test_a_label_that_no_row_had_is_never_decided_for(data):
    X, y = data
    y = y.copy()
    y[:, 0] = 0
    model = BudgetClassifier(MLkNN()).fit(X, y)
    assert model.predict_proba(X)[:, 0].min() > 0
    assert not model.predict(X)[:, 0].any()


@pytest.mark.parametrize(
    ("budget", "match"),
    [
        ({"per_row": 5}, "integer from 1 to 4"),
        ({"exactly": True}, "exactly needs per_row"),
        ({"per_label": [1, 2]}, "one for each of 4 labels"),
        ({"per_row": 1, "total": 9}, "macro_f1"),
    ],
    ids=str,
)
def test_an_impossible_budget_raises_before_anything_is_fitted(data, budget, match):
    with pytest.raises(InputError, match=match):
        BudgetClassifier(NeverFitted(), **budget).fit(*data)


# ------------------------------------------------------------------------------------------ both


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [RecallGuarantee(KNN, recall=0.6, random_state=0), BudgetClassifier(KNN, random_state=0)],
    ids=str,
)
def test_sparse_labels_and_searches(data, model):
    X, y = data
    plain = clone(model).fit(X, y).predict(X)
    assert_array_equal(clone(model).fit(X, sp.csr_array(y)).predict(X).toarray(), plain)
    search = GridSearchCV(model, {"estimator__n_neighbors": [3, 9]}, cv=2).fit(X, y)
    assert search.best_params_["estimator__n_neighbors"] in (3, 9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RecallGuarantee, BudgetClassifier])
def test_weights_reach_the_estimator_that_asks_for_them(data, kind):
    X, y = data
    weight = np.linspace(0.5, 2, len(X))
    inner = LogisticRegression()
    without = kind(BinaryRelevance(inner), random_state=0).fit(X, y)
    weighted = kind(BinaryRelevance(inner), random_state=0).fit(X, y, sample_weight=weight)
    assert (weighted.predict_proba(X) != without.predict_proba(X)).any()
    with pytest.raises(InputError, match="takes no weights"):
        kind(KNN).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        asked = BinaryRelevance(LogisticRegression().set_fit_request(sample_weight=True))
        asked.set_fit_request(sample_weight=True)
        routed = kind(asked, random_state=0).fit(X, y, sample_weight=weight)
        assert_array_equal(routed.predict_proba(X), weighted.predict_proba(X))
    with pytest.raises(InputError, match="learns one"):
        kind(inner).fit(X, y)
