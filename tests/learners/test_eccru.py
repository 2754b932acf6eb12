"""ECCRU, ECCRU2, ECCRU3: who is in how many chains, and balanced bags. See test_ecc for chains."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.learners import ECCRU, ECCRU2, ECCRU3
from labelance.learners._chains import ChainPlan
from labelance.learners._eccru import open_labels_by_chain, share_chains


def test_worked_example():
    minority = np.array([40, 10, 4, 100])
    assert share_chains(minority, 10, 0, 10).tolist() == [9, 38, 96, 3]
    wanted = share_chains(minority, 10, 0.5, 10)
    assert wanted.tolist() == [9, 38, 96, 5]
    chains = open_labels_by_chain(wanted)
    assert len(chains) == 38
    assert chains[0].tolist() == [0, 1, 2, 3]
    assert chains[-1].tolist() == [1, 2]


def test_labels_without_minority_rows_get_c_chains():
    assert share_chains(np.array([0, 10, 30]), 10, 0, 10).tolist() == [10, 20, 6]
    assert share_chains(np.array([0, 0]), 10, 0, 10).tolist() == [10, 10]


def test_products_are_not_cut_by_rounding():
    assert 100 * 0.29 < 29
    assert share_chains(np.array([1] * 9 + [1000]), 100, 0.29, 1)[-1] == 29


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
def test_open_labels_are_nested_and_counted(wanted):
    wanted = np.array(wanted)
    chains = open_labels_by_chain(wanted)
    for larger, smaller in pairwise(chains):
        assert {*smaller.tolist()} <= {*larger.tolist()}
    assert all(len(chain) > 1 for chain in chains) or len(wanted) == 1
    counts = np.bincount(np.concatenate(chains), minlength=len(wanted))
    np.testing.assert_array_equal(counts, np.minimum(wanted, len(chains)))


@pytest.mark.parametrize("kind", [ECCRU, ECCRU2, ECCRU3])
def test_labels_are_in_as_many_chains_as_they_want(kind, small):
    X, Y, _ = small
    learner = kind(n_estimators=4, theta_max=3) if kind is not ECCRU else kind(n_estimators=4)
    learner.set_params(random_state=0).fit(X, Y)
    minority = np.minimum(Y.sum(axis=0), 90 - Y.sum(axis=0))
    wanted = {
        ECCRU: np.full(6, 4),
        ECCRU2: share_chains(minority, 4, 0, 3),
        ECCRU3: share_chains(minority, 4, 0.5, 3),
    }[kind]
    np.testing.assert_array_equal(
        learner.chain_counts_, np.minimum(wanted, len(learner.estimators_))
    )
    for t, chain in enumerate(learner.estimators_, start=1):
        assert sorted(chain.labels.tolist()) == np.flatnonzero(wanted >= t).tolist()
        assert len(chain.estimators) == len(chain.labels)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 0.1, 0.5, 0.9, 1]))
def test_links_learn_from_all_minority_rows_and_as_many_others(seed, share):
    rng = np.random.default_rng(seed)
    present = (rng.random(30) < share).astype(np.int8)
    bag = rng.integers(30, size=30)
    rows = ChainPlan(np.arange(2), bag, rng, balanced=True).draw_rows(present)
    counts, in_bag = np.bincount(rows, minlength=30), np.bincount(bag, minlength=30)
    assert np.all(counts <= in_bag)
    ones, zeros = present[bag].sum(), 30 - present[bag].sum()
    if min(ones, zeros) == 0:
        assert len(rows) == 1
        return
    assert present[rows].sum() == len(rows) - present[rows].sum() == min(ones, zeros)
    rare = present == (ones <= zeros)
    if ones != zeros:
        np.testing.assert_array_equal(counts[rare], in_bag[rare])


def test_every_majority_row_is_equally_likely():
    present, rng, counts = np.repeat([1, 0], [4, 8]).astype(np.int8), np.random.default_rng(0), 0
    plan = ChainPlan(np.arange(1), np.arange(12), rng, balanced=True)
    for _ in range(2000):
        counts = counts + np.bincount(plan.draw_rows(present), minlength=12)
    assert np.all(counts[:4] == 2000)
    assert np.all(abs(counts[4:] - 1000) < 5 * np.sqrt(2000 * 0.25))


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_bootstraps(variant, small, monkeypatch):
    X, Y, _ = small
    bags, create = [], ChainPlan.__init__

    def noted(plan, labels, bag, *args, **kwargs):
        bags.append(bag)
        create(plan, labels, bag, *args, **kwargs)

    monkeypatch.setattr(ChainPlan, "__init__", noted)
    ECCRU(n_estimators=5, variant=variant, random_state=0).fit(X, Y)
    counts = np.array([np.bincount(bag, minlength=90) for bag in bags])
    assert len(np.unique(counts, axis=0)) == 5  # other rows every time
    patterns = np.unique(np.sort(counts, axis=1), axis=0)
    assert (len(patterns) == 1) == (variant == "mulan")


@pytest.mark.parametrize("kind", [ECCRU, ECCRU2, ECCRU3])
def test_one_label_has_chains_of_one_link(kind, small):
    X, Y, new = small
    learner = kind(random_state=0).fit(X, Y[:, :1])
    assert len(learner.estimators_) == 10
    assert learner.predict_proba(new).shape == (40, 1)


def test_constant_labels_alone(small):
    X, Y, new = small
    learner = ECCRU3(random_state=0).fit(X, sp.csr_array(Y[:, 4:]))
    assert np.all(learner.predict_proba(new) == [0, 1])
    assert np.all(learner.predict(new).toarray() == [0, 1])


@pytest.mark.parametrize(
    ("search", "variant"), [("exact", "paper"), ("grid", "paper"), ("grid", "mulan")]
)
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(min_samples_leaf=3)], ids=str)
def test_thresholds_maximise_f_on_all_training_rows(search, variant, estimator, small):
    X, Y, new = small
    options = {"threshold_search": search, "variant": variant, "random_state": 0}
    learner = ECCRU3(estimator, n_estimators=2, **options).fit(X, Y)
    found = search_thresholds(
        ScoredRows.of(sp.csr_array(Y[:, :4].astype(np.int8)), learner.predict_proba(X)[:, :4]),
        search=search,
        variant=variant,
    ).own
    np.testing.assert_array_equal(learner.thresholds_[:4], found)
    expected = learner.predict_proba(new) >= learner.thresholds_
    np.testing.assert_array_equal(learner.predict(new), expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_scikit_learn_checks(pass_scikit_learn_checks):
    learner = ECCRU3(n_estimators=3, random_state=0)
    pass_scikit_learn_checks(learner, "own_rule", "sure", "draws_rows")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(("name", "n_seeds"), [("flags", 10), ("emotions", 4)])
def test_is_as_good_as_the_authors_program(name, n_seeds, authors_folds):
    """Their figures are those of one seed for all folds, and so might be of one of ours.

    With their draws they are equal, see test_authors_draws.
    """
    differences = np.empty((n_seeds, 10, 3))
    for at, fold in enumerate(authors_folds(name, "ECCRU3")):
        new = fold.dataset.values[fold.test]
        for seed in range(n_seeds):
            learner = ECCRU3(
                fold.estimator,
                variant="mulan",
                threshold_search="grid",
                random_state=seed,
            )
            fold.fit(learner)
            figures = fold.measure(learner.predict(new), learner.predict_proba(new))
            differences[seed, at] = figures - fold.figures
    of_seeds = differences.mean(axis=1)
    error = of_seeds.std(axis=0, ddof=1) * np.sqrt(1 + 1 / n_seeds)
    assert np.all(abs(of_seeds.mean(axis=0)) <= 3 * error)
