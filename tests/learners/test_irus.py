"""IRUS: all minority rows and fewer others in every member, and all others in turn."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from labelance.learners import IRUS
from labelance.learners._irus import split_inversely
from labelance.testing import sampler_data

# Predicts the share of ones among the rows that it learned from.
SHARE = DummyClassifier(strategy="prior")


@pytest.mark.slow
def test_by_hand():
    """Of 10 rows the labels have 4, 6, 1 and none."""
    X, y = np.arange(10.0)[:, None], np.zeros((10, 4), dtype=int)
    y[:4, 0] = y[:6, 1] = y[3, 2] = 1
    scores = IRUS(SHARE, random_state=0).fit(X, y).predict_proba(X[:1])[0]
    # 4 ones and 2 zeros; 2 ones and 4 zeros; 1 one and, since none would be too few, 1 zero.
    np.testing.assert_allclose(scores, [4 / 6, 2 / 6, 1 / 2, 0])
    even = IRUS(SHARE, majority_ratio=1, random_state=0).fit(X, y).predict_proba(X[:1])[0]
    np.testing.assert_allclose(even, [1 / 2, 1 / 2, 1 / 2, 0])


def members(y, n_members, ratio, seed=0, unknown=None):
    """Return rows and classes of every member of every label."""
    rng = np.random.default_rng(seed)
    split = split_inversely(sp.csr_array(y), n_members, ratio, rng, unknown=unknown)
    p = split.problems
    parts = [(p.rows[a:b], p.targets[a:b]) for a, b in pairwise(p.start)]
    return [parts[t : t + n_members] for t in range(0, len(parts), n_members)]


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("share_unknown", [0, 0.4])
def test_members_have_all_minority_rows_and_the_others_in_turn(ratio, share_unknown):
    _, y = sampler_data()
    hidden = np.random.default_rng(0).random(y.shape) < share_unknown
    hidden[:, 4] = False
    y[hidden] = 0
    unknown = sp.csr_array(hidden.astype(np.int8)) if hidden.any() else None
    for j, label in enumerate(members(y, 17, ratio, unknown=unknown)):
        ones, n_known = y[:, j].sum(), (~hidden[:, j]).sum()
        rare = 1 if 2 * ones <= n_known else 0
        n_rare = min(ones, n_known - ones)
        n_others = min(max(1, int(round(ratio * n_rare, 9))), n_known - n_rare)
        uses = np.zeros(60, dtype=int)
        for rows, classes in label:
            assert len(set(rows)) == len(rows)
            np.testing.assert_array_equal(classes, y[rows, j])
            assert (classes == rare).sum() == n_rare
            assert (classes != rare).sum() == n_others
            uses[rows] += 1
        assert (uses[hidden[:, j]] == 0).all()
        others = uses[(y[:, j] != rare) & ~hidden[:, j]]
        assert others.max() - others.min() <= 1


def test_a_label_without_known_rows_is_absent():
    unknown = sp.csr_array(np.tile(np.array([[1, 0]], dtype=np.int8), (6, 1)))
    y = np.array([[0, 1], [0, 0]] * 3, dtype=np.int8)
    absent, _ = members(y, 3, 0.5, unknown=unknown)
    assert all(len(rows) == 1 and classes == [0] for rows, classes in absent)


@pytest.mark.slow
def test_every_majority_row_is_as_likely():
    y = np.zeros((12, 1), dtype=int)
    y[:4] = 1
    first = np.concatenate([members(y, 1, 0.5, seed)[0][0][0][4:] for seed in range(2000)])
    share = np.bincount(first, minlength=12)[4:] / 2000
    assert (abs(share - 2 / 8) < 0.04).all()


def test_the_score_is_the_mean_of_the_members():
    X, y = sampler_data()
    learner = IRUS(GaussianNB(), n_estimators=4, random_state=0).fit(X, y)
    models = [learner.estimators_[t] for t in range(4)]
    expected = np.mean([model.predict_proba(X)[:, 1] for model in models], axis=0)
    np.testing.assert_allclose(learner.predict_proba(X)[:, 0], expected)


@pytest.mark.slow
def test_it_leans_towards_the_minority():
    X, y = sampler_data(n=200)
    y = (np.random.default_rng(0).random((200, 3)) < 0.2).astype(int)  # nothing to learn
    shares = [
        IRUS(GaussianNB(), majority_ratio=ratio, random_state=0).fit(X, y).predict(X).mean()
        for ratio in (0.3, 1.0, 3.0)
    ]
    assert shares[0] > shares[1] > shares[2]


def test_parameters_set_after_fit_change_no_score():
    X, y = sampler_data()
    learner = IRUS(GaussianNB(), n_estimators=4, random_state=0).fit(X, y)
    scores = learner.predict_proba(X)
    np.testing.assert_array_equal(learner.set_params(n_estimators=8).predict_proba(X), scores)


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    # An odd number of members: no score is exactly 0.5, which scikit-learn takes for absent.
    pass_scikit_learn_checks(IRUS(n_estimators=3, random_state=0), "draws_rows")
