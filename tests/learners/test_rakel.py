"""RAkEL: which sets are drawn, and how the label powersets over them vote."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config
from sklearn.tree import DecisionTreeClassifier

from labelance.exceptions import InputError, UnknownLabelsError
from labelance.learners import C45Classifier, LabelPowerset, RAkEL
from labelance.learners import _labelsets as module
from labelance.learners._base import Rows
from labelance.learners._labelsets import draw_subsets, split_labelsets, split_powerset

ESTIMATORS = [C45Classifier(), DecisionTreeClassifier(min_samples_leaf=4, random_state=0)]


@given(st.integers(2, 9), st.data())
def test_sets_are_different_and_as_many_as_asked_or_there_are(q, data):
    k = data.draw(st.integers(1, q))
    n = data.draw(st.integers(1, 150))
    drawn = draw_subsets(q, k, n, np.random.default_rng(0))
    assert drawn.shape == (min(n, comb(q, k)), k)
    assert len({tuple(row) for row in drawn}) == len(drawn)
    assert np.all(np.diff(drawn, axis=1) > 0)
    assert drawn.min() >= 0
    assert drawn.max() < q


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 12])  # few: drawn again if known; many: from the list of all
def test_all_sets_are_equally_likely(n):
    rng, repeats = np.random.default_rng(0), 1500
    count = dict.fromkeys(combinations(range(6), 3), 0)
    for _ in range(repeats):
        for row in draw_subsets(6, 3, n, rng):
            count[tuple(row.tolist())] += 1
    share = n / len(count)
    spread = np.sqrt(repeats * share * (1 - share))
    assert np.all(np.abs(np.array(list(count.values())) - repeats * share) < 4.5 * spread)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.floats(0.05, 0.95))
def test_the_problem_of_a_set_is_the_label_powerset_of_its_labels(seed, k, density):
    rng = np.random.default_rng(seed)
    Y = sp.csr_array((rng.random((15, 6)) < density).astype(np.int8))
    subsets = draw_subsets(6, k, 5, rng)
    split = split_labelsets(Y, subsets)
    slots = np.concatenate([[0], np.cumsum(split.problems.n_classes)])
    for p, labels in enumerate(subsets):
        alone, part = split_powerset(Y[:, labels]), split.problems.take(p, p + 1)
        votes = split.votes[slots[p] : slots[p + 1]].toarray()
        np.testing.assert_array_equal(votes[:, labels], alone.votes.toarray())
        assert votes.sum() == alone.votes.sum()
        for ours, theirs in zip(part, alone.problems):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scores_are_shares_of_label_powersets(estimator, small):
    X, Y, new = small
    learner = RAkEL(estimator, n_estimators=7, random_state=1).fit(X, Y)
    votes, voters = np.zeros((len(new), Y.shape[1])), np.zeros(Y.shape[1])
    for p, labels in enumerate(learner.subsets_):
        alone = LabelPowerset(learner.estimators_[p]).fit(X, Y[:, labels])
        votes[:, labels] += alone.predict(new)
        voters[labels] += 1
    np.testing.assert_allclose(learner.predict_proba(new), votes / np.maximum(voters, 1))
    np.testing.assert_array_equal(learner.predict(new), votes / np.maximum(voters, 1) >= 0.5)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("q", [6, 3])
def test_a_set_learns_from_rows_that_know_all_its_labels(estimator, q, small):
    X, Y, new = small
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)[:, :q]
    learner = RAkEL(estimator, n_estimators=7, random_state=1).fit(X, Y)
    votes, voters = np.zeros((len(new), q)), np.zeros(q)
    for p, labels in enumerate(learner.subsets_):
        rows = ~np.isnan(Y[:, labels]).any(axis=1)
        alone = LabelPowerset(learner.estimators_[p]).fit(X[rows], Y[rows][:, labels])
        votes[:, labels] += alone.predict(new)
        voters[labels] += 1
    np.testing.assert_allclose(learner.predict_proba(new), votes / np.maximum(voters, 1))


def test_a_set_that_no_row_knows_is_refused(small):
    X, Y, _ = small
    Y = pd.DataFrame(Y.astype(float), columns=list("abcdef"))
    Y.loc[:44, "a"] = Y.loc[45:, "c"] = np.nan
    with pytest.raises(UnknownLabelsError, match=r"No row knows all of .*'a'.*'c'.*BinaryRel"):
        RAkEL(n_estimators=100).fit(X, Y)
    RAkEL(labelset_size=1).fit(X, Y)


def test_votes_are_whole_and_a_label_in_no_set_has_none(small):
    X, Y, new = small
    learner = RAkEL(n_estimators=1, random_state=0).fit(X, Y)
    outside = np.setdiff1d(np.arange(Y.shape[1]), learner.subsets_)
    assert np.all(learner.predict_proba(new)[:, outside] == 0)
    learner = RAkEL(random_state=0).fit(X, Y)
    votes = learner.predict_proba(new) * np.bincount(learner.subsets_.ravel(), minlength=6)
    np.testing.assert_allclose(votes, votes.round(), atol=1e-12)
    assert learner.subsets_.shape == (12, 3)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_few_labels_make_one_label_powerset(q, small):
    X, Y, new = small
    learner = RAkEL(random_state=0).fit(X, Y[:, :q])
    assert learner.subsets_.tolist() == [list(range(q))]
    expected = LabelPowerset().fit(X, Y[:, :q]).predict(new)
    np.testing.assert_array_equal(learner.predict(new), expected)
    np.testing.assert_array_equal(learner.predict_proba(new), expected)


def test_more_sets_than_there_are_come_once_each(small):
    X, Y, _ = small
    learner = RAkEL(n_estimators=10**6, random_state=0).fit(X, Y[:, :4])
    assert learner.subsets_.tolist() == [list(s) for s in combinations(range(4), 3)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_one_labelset_in_all_rows_ends(estimator, small):
    X, _, new = small
    Y = np.tile([1, 0, 1, 0, 0], (len(X), 1))
    learner = RAkEL(estimator, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(learner.predict(new), Y[: len(new)])


@pytest.mark.slow
def test_the_seed_decides_everything(small):
    """Also what the estimators draw, with any number of threads."""
    X, Y, new = small
    tree = DecisionTreeClassifier(max_features=1)
    one = RAkEL(tree, random_state=5).fit(X, Y)
    with parallel_config(backend="threading"):
        two = RAkEL(tree, random_state=5, n_jobs=2).fit(sp.csr_array(X), sp.csr_array(Y))
        scores = two.predict_proba(new)
    np.testing.assert_array_equal(one.subsets_, two.subsets_)
    np.testing.assert_array_equal(one.predict_proba(new), scores)
    assert len({model.random_state for model in one.estimators_.models}) == len(one.estimators_)
    other = RAkEL(tree, random_state=6).fit(X, Y)
    assert not np.array_equal(one.subsets_, other.subsets_)


def test_sets_too_large_to_number_are_refused():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (5, 80))
    with pytest.raises(InputError, match="more labelsets than 62 bits"):
        RAkEL(labelset_size=70, n_estimators=3).fit(np.eye(5), Y)


@pytest.mark.slow
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(RAkEL(random_state=0), "sure")


# Against the authors' program -----------------------------------------------------------------
#
# It draws the same sets in every fold, by Java's generator with seed 0, and breaks ties between
# labelsets by a coin, where we take the lowest. With its sets, genbase is equal (there are no ties
# in it), and the others must be equal on average over coins of ours.


def java_sets(q, n):
    """The different triples that ``java.util.Random(0).nextInt(q)`` draws, q no power of 2."""
    state, sets = 0x5DEECE66D, {}
    while len(sets) < n:
        triple = set()
        while len(triple) < 3:
            state = (state * 0x5DEECE66D + 0xB) % 2**48
            bits = state >> 17
            if bits - bits % q + q - 1 < 2**31:
                triple.add(bits % q)
        sets[tuple(sorted(triple))] = None
    return np.array(list(sets))


def scores_by_coin(learner, X, rng):
    """The learner's scores if a coin decides between equally probable labelsets."""
    slots = learner._vote_matrix.shape[0]
    every = sp.csr_array(sp.eye_array(slots))
    P = learner.estimators_.aggregate(Rows(X, X), every)
    start = np.cumsum(learner.estimators_.n_classes)[:-1]
    decisions = []
    for part in np.split(P, start, axis=1):
        lot = rng.random(part.shape) * (part >= part.max(axis=1, keepdims=True) - 1e-12)
        decisions.append(np.arange(part.shape[1]) == lot.argmax(axis=1)[:, None])
    return np.hstack(decisions) @ learner._vote_matrix / learner._voters


def differences(fold, learner, coins):
    """Differences of F, AUC and AUCPR from the authors' figures, for several coins."""
    X, rng = fold.dataset.values[fold.test], np.random.default_rng(0)
    scores = [scores_by_coin(learner, X, rng) for _ in range(coins)]
    return np.array([fold.measure((s >= 0.5).astype(int), s) - fold.figures for s in scores])


@pytest.mark.data
def test_with_their_sets_and_no_ties_equals_the_authors_program(authors_folds, monkeypatch):
    monkeypatch.setattr(module, "draw_subsets", lambda q, k, n, rng: java_sets(q, n))
    for fold in authors_folds("genbase", "RAkEL"):
        learner = fold.fit(RAkEL(fold.estimator))
        scores = learner.predict_proba(fold.dataset.values[fold.test])
        figures = fold.measure((scores >= 0.5).astype(int), scores)
        np.testing.assert_allclose(figures, fold.figures, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "emotions"])
def test_with_their_sets_only_coins_differ(name, authors_folds, monkeypatch):
    monkeypatch.setattr(module, "draw_subsets", lambda q, k, n, rng: java_sets(q, n))
    folds = authors_folds(name, "RAkEL")
    found = np.array([differences(f, f.fit(RAkEL(f.estimator)), coins=10) for f in folds])
    error = np.sqrt((found.var(axis=1, ddof=1)).sum(axis=0)) / len(folds)
    assert np.all(np.abs(found.mean(axis=(0, 1))) < 3 * error)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "seeds"), [("flags", 10), ("emotions", 5)])
def test_with_other_sets_differs_by_chance_only(name, seeds, authors_folds):
    """Theirs is one draw of sets for all folds, so the error has a part that folds do not show."""
    folds = authors_folds(name, "RAkEL")
    found = np.array(
        [
            [
                differences(fold, fold.fit(RAkEL(fold.estimator, random_state=seed)), 1)[0]
                for fold in folds
            ]
            for seed in range(seeds)
        ]
    )
    of_folds = found.mean(axis=0).std(axis=0, ddof=1) / np.sqrt(len(folds))
    of_draws = found.mean(axis=1).std(axis=0, ddof=1)
    assert np.all(np.abs(found.mean(axis=(0, 1))) < 3 * np.hypot(of_folds, of_draws))
