"""Calibrated label ranking: the votes, counted one by one."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from labelance.learners import BinaryRelevance, C45Classifier, CalibratedLabelRanking
from labelance.learners import _clr as module

ESTIMATORS = [C45Classifier(), DecisionTreeClassifier(min_samples_leaf=4, random_state=0)]


def probability_of_one(estimator, X, y, new):
    if len(np.unique(y)) == 1:
        return np.full(len(new), float(y[0]))
    return estimator.fit(X, y).predict_proba(new)[:, 1]


def votes_by_hand(estimator, X, Y, new, *, soft=False, silent_after_empty=False):
    """The definition; the last column is the virtual label's."""
    q = Y.shape[1]
    votes = np.zeros((len(new), q + 1))

    def vote(rows, y, winner, loser):
        P = probability_of_one(estimator, X[rows], y, new)
        P = P if soft else (P >= 0.5).astype(float)
        votes[:, winner] += P
        votes[:, loser] += 1 - P

    for j in range(q):
        known = ~np.isnan(Y[:, j])
        vote(known, Y[known, j], j, q)
    for j, m in combinations(range(q), 2):
        rows = abs(Y[:, j] - Y[:, m]) == 1  # both are known, and differ
        if not rows.any() and silent_after_empty:
            break
        if rows.any():
            vote(rows, Y[rows, j], j, m)
    return votes


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("soft", [False, True])
def test_votes_by_the_definition(estimator, soft, small):
    X, Y, new = small
    votes = votes_by_hand(estimator, X, Y, new, soft=soft)
    learner = CalibratedLabelRanking(estimator, soft=soft).fit(X, Y)
    scores = learner.predict_proba(new)
    np.testing.assert_allclose(scores, votes[:, :-1] / Y.shape[1], rtol=0, atol=1e-12)
    if not soft:  # sums of probabilities may differ in the last digit, where >= would see it
        np.testing.assert_array_equal(learner.predict(new), votes[:, :-1] >= votes[:, -1:])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("rows_per_block", [1, 1 << 19])
def test_pairs_learn_from_rows_in_which_both_labels_are_known(
    estimator, rows_per_block, small, monkeypatch
):
    monkeypatch.setattr(module, "_ROWS_PER_BLOCK", rows_per_block)
    X, Y, new = small
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    holes[:45, 0] = holes[45:, 1] = np.nan  # no row knows this pair
    votes = votes_by_hand(estimator, X, holes, new)
    learner = CalibratedLabelRanking(estimator).fit(X, holes)
    assert [0, 1] not in learner.pairs_.tolist()
    np.testing.assert_allclose(learner.predict_proba(new), votes[:, :-1] / Y.shape[1])
    np.testing.assert_array_equal(learner.predict(new), votes[:, :-1] >= votes[:, -1:])


@pytest.mark.parametrize("soft", [False, True])
def test_every_model_gives_one_vote(soft, small):
    X, Y, new = small
    learner = CalibratedLabelRanking(soft=soft).fit(X, Y)
    votes = learner._votes(new, new)
    n_models = sum(len(models) for models in learner.estimators_)
    assert n_models == Y.shape[1] + len(learner.pairs_)
    np.testing.assert_allclose(votes.sum(axis=1), n_models, rtol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_one_label_is_binary_relevance(estimator, small):
    X, Y, new = small
    learner = CalibratedLabelRanking(estimator).fit(X, Y[:, :1])
    expected = BinaryRelevance(estimator).fit(X, Y[:, :1]).predict(new)
    np.testing.assert_array_equal(learner.predict(new), expected)
    assert learner.pairs_.shape == (0, 2)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("slip", [False, True])
def test_pairs_without_rows_do_not_vote(estimator, slip, small):
    """The second label equals the fourth, so that one pair in the middle has no row."""
    X, Y, new = small
    Y = Y[:, [0, 1, 2, 1]]
    learner = CalibratedLabelRanking(estimator, variant="mulan" if slip else "paper").fit(X, Y)
    votes = votes_by_hand(estimator, X, Y, new, silent_after_empty=slip)
    np.testing.assert_array_equal(learner.predict_proba(new) * 4, votes[:, :-1])
    pairs = [[0, 1], [0, 2], [0, 3], [1, 2]] + ([] if slip else [[2, 3]])
    assert learner.pairs_.tolist() == pairs


def test_labels_that_are_all_equal_have_no_pairs(small):
    X, Y, new = small
    learner = CalibratedLabelRanking().fit(X, Y[:, [0, 0, 0]])
    assert len(learner.pairs_) == 0
    expected = BinaryRelevance().fit(X, Y[:, [0]]).predict(new)
    np.testing.assert_array_equal(learner.predict_proba(new), expected.repeat(3, axis=1) / 3)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [*ESTIMATORS, RidgeClassifier()], ids=str)
def test_blocks_threads_and_containers_do_not_matter(estimator, small, monkeypatch):
    X, Y, new = small
    expected = CalibratedLabelRanking(estimator, soft=False).fit(X, Y).predict_proba(new)
    monkeypatch.setattr(module, "_ROWS_PER_BLOCK", 60)
    with parallel_config(backend="threading"):
        learner = CalibratedLabelRanking(estimator, n_jobs=2).fit(sp.csc_array(X), sp.csr_array(Y))
        scores = learner.predict_proba(sp.csr_array(new))
    assert len(learner.estimators_) > 3
    if not isinstance(estimator, RidgeClassifier):  # it solves sparse systems in another way
        np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(
        CalibratedLabelRanking(estimator).fit(X, Y).predict_proba(new), expected
    )


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(CalibratedLabelRanking(), "own_rule", "sure")


@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "emotions", "genbase"])
def test_equals_the_authors_program_in_every_fold(name, authors_folds):
    for fold in authors_folds(name, "CLR"):
        learner = fold.fit(CalibratedLabelRanking(fold.estimator, variant="mulan"))
        new = fold.dataset.values[fold.test]
        figures = fold.measure(learner.predict(new), learner.predict_proba(new))
        np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)
