"""Label powerset: one class per labelset, in the order of bit strings."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from labelance.learners import C45Classifier, LabelPowerset
from labelance.learners import _labelsets as module
from labelance.learners._labelsets import split_powerset

ESTIMATORS = [C45Classifier(), DecisionTreeClassifier(min_samples_leaf=4, random_state=0)]
BITS = st.integers(0, 1)


def powerset_by_hand(estimator, X, Y, new):
    """The definition: labelsets as strings, sorted; one fit; probabilities of every labelset."""
    words = np.array(["".join(map(str, row)) for row in Y])
    known = sorted(set(words))
    y = np.array([known.index(word) for word in words])
    sets = np.array([[int(bit) for bit in word] for word in known])
    return sets, estimator.fit(X, y).predict_proba(new)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scores_and_labels_by_the_definition(estimator, small):
    X, Y, new = small
    sets, P = powerset_by_hand(estimator, X, Y, new)
    winners = sets[P.argmax(axis=1)]
    best = P.max(axis=1, keepdims=True)
    marginal = LabelPowerset(estimator).fit(X, Y)
    winner = LabelPowerset(estimator, proba="winner").fit(X, Y)
    np.testing.assert_array_equal(marginal.labelsets_.toarray(), sets)
    np.testing.assert_allclose(marginal.predict_proba(new), P @ sets, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        winner.predict_proba(new), np.where(winners, best, 1 - best), rtol=0, atol=1e-12
    )
    for learner in (marginal, winner):
        np.testing.assert_array_equal(learner.predict(new), winners)


@pytest.mark.slow
@given(
    arrays(np.int8, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(0, 1))
)
def test_classes_are_labelsets_in_the_order_of_bit_strings(Y):
    split = split_powerset(sp.csr_array(Y))
    words = sorted({"".join(map(str, row)) for row in Y})
    assert ["".join(map(str, row)) for row in split.votes.toarray().astype(int)] == words
    classes = np.zeros(len(Y), dtype=int)
    classes[split.problems.rows] = split.problems.targets
    np.testing.assert_array_equal(split.votes.toarray()[classes], Y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("proba", ["marginal", "winner"])
def test_a_single_labelset_is_always_predicted(estimator, proba, small):
    X, _, new = small
    Y = np.tile([1, 0, 1], (len(X), 1))
    learner = LabelPowerset(estimator, proba=proba).fit(X, Y)
    np.testing.assert_array_equal(learner.predict(new), Y[: len(new)])
    np.testing.assert_array_equal(learner.predict_proba(new), Y[: len(new)])


def test_only_labelsets_of_the_training_rows_are_predicted(small):
    X, Y, new = small
    predicted = LabelPowerset().fit(X, Y).predict(new)
    assert {tuple(row) for row in predicted} <= {tuple(row) for row in Y}


def test_a_tie_goes_to_the_lowest_labelset():
    learner = LabelPowerset().fit(np.zeros((4, 1)), [[1, 0], [0, 1], [1, 0], [0, 1]])
    assert learner.predict([[0.0]]).tolist() == [[0, 1]]
    assert learner.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]


@pytest.mark.slow
def test_blocks_of_rows_do_not_matter(small, monkeypatch):
    X, Y, new = small
    learner = LabelPowerset(proba="winner").fit(X, Y)
    expected = learner.predict_proba(new)
    monkeypatch.setattr(module, "_CELLS_PER_BLOCK", 50)
    np.testing.assert_array_equal(learner.predict_proba(new), expected)
    frames = LabelPowerset(DecisionTreeClassifier(random_state=0), proba="winner").fit(X, Y)
    np.testing.assert_array_equal(
        frames.predict_proba(new.tolist()), frames.predict_proba(sp.coo_array(new))
    )


def test_a_classifier_without_probabilities_decides(small):
    X, Y, new = small
    learner = LabelPowerset(RidgeClassifier()).fit(X, Y)
    np.testing.assert_array_equal(learner.predict_proba(new), learner.predict(new))


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(LabelPowerset(), "sure")
