"""Chains: link after link by loops, whatever the estimator, the containers and the threads."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.tree import DecisionTreeClassifier

from labelance.learners import ECC, ECCRU, C45Classifier
from labelance.learners import _chains as tree_chains
from labelance.learners._base import CloneTrainer, Rows
from labelance.learners._chains import ChainPlan, fit_clone_chains
from labelance.learners._ecc import cardinality_threshold

ESTIMATORS = [
    None,
    C45Classifier(prune=False),
    C45Classifier(class_weight="balanced"),
    DecisionTreeClassifier(min_samples_leaf=3),
]


@pytest.fixture
def drawn(monkeypatch):
    """The rows that every link learns from: by chain, then by position."""
    by_plan, draw = {}, ChainPlan.draw_rows

    def noted(plan, present):
        rows = draw(plan, present)
        by_plan.setdefault(id(plan), []).append(rows)
        keep.append(plan)  # or another plan might get its id
        return rows

    keep = []
    monkeypatch.setattr(ChainPlan, "draw_rows", noted)
    return by_plan


def scores_by_loops(learner, drawn, X, Y, new, votes=False):
    """The definition: all links fitted again, with the labels before as nominal features."""
    d, total, voters = X.shape[1], np.zeros((len(new), Y.shape[1])), np.zeros(Y.shape[1])
    for chain, link_rows in zip(learner.estimators_, drawn.values()):
        before, asked = np.empty(Y.shape), np.empty(total.shape)
        for t, (label, model, rows) in enumerate(zip(chain.labels, chain.estimators, link_rows)):
            earlier = np.sort(chain.labels[:t])
            wide, new_wide = np.hstack([X, before[:, earlier]]), np.hstack([new, asked[:, earlier]])
            ask = fit_link(model, wide[rows], Y[rows, label], learner.categorical_features, d, t)
            told = ~np.isnan(Y[:, label]) & (learner.chain_features == "true")
            before[:, label] = np.where(told, Y[:, label], ask(wide)[0])
            asked[:, label], share = ask(new_wide)
            total[:, label] += asked[:, label] if votes else share
            voters[label] += 1
    return total / voters


def fit_link(model, X, y, nominal, d, t):
    """Return a function from rows to decisions and probabilities of presence."""
    if len(np.unique(y)) == 1:
        return lambda rows: (np.full(len(rows), y[0]), np.full(len(rows), float(y[0])))
    model = clone(model)
    if isinstance(model, C45Classifier):
        columns = [*([] if nominal is None else nominal), *range(d, d + t)]
        counts = [3] * (len(columns) - t) + [2] * t
        model.set_params(categorical_features=columns, n_categories=counts)
    model.fit(X, y)

    def ask(rows):
        shares = model.predict_proba(rows)
        return (shares[:, 1] >= shares[:, 0]).astype(int), shares[:, 1]

    return ask


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("kind", [ECC, ECCRU])
@pytest.mark.parametrize("features", ["true", "predicted"])
def test_equals_the_definition(estimator, kind, features, small, drawn):
    X, Y, new = small
    learner = kind(estimator, n_estimators=3, chain_features=features, random_state=1).fit(X, Y)
    expected = scores_by_loops(learner, drawn, X, Y, new)
    np.testing.assert_allclose(learner.predict_proba(new), expected, rtol=0, atol=1e-12)
    assert np.all(learner.predict_proba(new)[:, 4:] == [0, 1])
    assert np.all(learner.predict(new)[:, 4:] == [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS[::3], ids=str)
@pytest.mark.parametrize("kind", [ECC, ECCRU])
@pytest.mark.parametrize("features", ["true", "predicted"])
def test_links_learn_from_known_rows_and_decide_about_the_others(
    estimator, kind, features, small, drawn
):
    X, Y, new = small
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    learner = kind(estimator, n_estimators=3, chain_features=features, random_state=1)
    expected = scores_by_loops(learner.fit(X, holes), drawn, X, holes, new)
    np.testing.assert_allclose(learner.predict_proba(new), expected, rtol=0, atol=1e-12)
    for chain, link_rows in zip(learner.estimators_, drawn.values()):
        for label, rows in zip(chain.labels, link_rows):
            ones = holes[rows, label].sum()  # nan if some row is not known
            assert ones == len(rows) / 2 if kind is ECCRU and label < 4 else ones >= 0


def draws(n_chains, q, n):
    """Yield the order of labels and the bag of every chain of ECC(random_state=0)."""
    for stream in np.random.default_rng(0).spawn(n_chains):
        yield stream.permutation(q), stream.integers(n, size=n)


@pytest.mark.slow
def test_a_chain_does_not_vote_against_a_label_that_its_bag_does_not_know():
    present = np.array([1, -1, -1, 0, 0], dtype=np.int8)
    plan = ChainPlan(np.arange(1), np.array([1, 2, 1]), np.random.default_rng(0), False)
    np.testing.assert_array_equal(plan.draw_rows(present), [0, 3, 4])
    np.testing.assert_array_equal(plan.draw_rows(np.full_like(present, -1)), plan.bag)
    X, y = np.arange(8.0)[:, None], np.full((8, 2), np.nan)
    y[:, 0], y[0, 1] = [0, 1] * 4, 1
    assert any(0 not in bag for _, bag in draws(30, 2, 8))
    for estimator in (None, DecisionTreeClassifier()):
        learner = ECC(estimator, n_estimators=30, random_state=0).fit(X, y)
        np.testing.assert_array_equal(learner.predict_proba(X)[:, 1], 1)


def test_a_cardinality_threshold_is_found_where_left_out_rows_know_nothing():
    X, y = np.arange(6.0)[:, None], np.full((6, 2), np.nan)
    y[0] = 1
    for seed in range(8):
        learner = ECC(n_estimators=1, threshold="cardinality", random_state=seed).fit(X, y)
        assert learner.predict(X).all()


def test_the_cardinality_threshold_counts_known_cells(small):
    X, Y, _ = small
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    learner = ECC(n_estimators=6, threshold="cardinality", random_state=0).fit(X, holes)
    total, voters = np.zeros(Y.shape), np.zeros((len(X), 1))
    for c, (_, bag) in enumerate(draws(6, Y.shape[1], len(X))):
        left_out, part = np.setdiff1d(np.arange(len(X)), bag), learner.estimators_.take(c)
        scores = part.aggregate(Rows(X[left_out], X[left_out]), votes=False, n_jobs=None)
        total[left_out] += scores
        voters[left_out] += 1
    known = ~np.isnan(holes) & (voters > 0)
    scores = (total / np.maximum(voters, 1))[known]
    assert learner.threshold_ == cardinality_threshold(scores, int(holes[known].sum()))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(min_samples_leaf=3)], ids=str)
def test_votes_are_decisions(estimator, small, drawn):
    X, Y, new = small
    learner = ECC(estimator, n_estimators=3, use_votes=True, random_state=1).fit(X, Y)
    expected = scores_by_loops(learner, drawn, X, Y, new, votes=True)
    np.testing.assert_allclose(learner.predict_proba(new), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(learner.predict(new), expected >= 0.5)


@pytest.mark.parametrize("kind", [ECC, ECCRU])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_nominal_and_missing_values_reach_the_trees(kind, container, small, drawn):
    X, Y, new = (part.astype(float) for part in small)
    X[:, 2], new[:, 2] = np.floor(X[:, 2]), np.floor(new[:, 2])
    X[::7, 1], X[::9, 2], new[::5, 0], new[::4, 2] = np.nan, np.nan, np.nan, np.nan
    learner = kind(n_estimators=3, categorical_features=[2], random_state=2)
    learner.fit(container(X), Y)
    expected = scores_by_loops(learner, drawn, X, Y.astype(int), new)
    np.testing.assert_allclose(learner.predict_proba(container(new)), expected, rtol=0, atol=1e-12)


def test_one_chain_equals_scikit_learns(small):
    X, Y, new = small
    Y, order = Y[:, :4], np.array([2, 0, 3, 1])
    linear = LogisticRegression()
    chain = ClassifierChain(linear, order=order).fit(X, Y)
    plan = ChainPlan(order, np.arange(len(X)), np.random.default_rng(0), balanced=False)
    labels = tree_chains.LabelColumns(sp.csr_array(Y.astype(np.int8)))
    trainer = CloneTrainer(linear, Rows(X, X), clean=True)
    chains = fit_clone_chains(trainer, labels, [plan], features="true", n_jobs=None)
    scores = chains.aggregate(Rows(new, new), votes=False, n_jobs=None)
    np.testing.assert_allclose(scores, chain.predict_proba(new), rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(min_samples_leaf=3)], ids=str)
@pytest.mark.parametrize("kind", [ECC, ECCRU])
def test_containers_and_threads_agree(estimator, kind, small):
    X, Y, new = small
    options = {"n_estimators": 3, "random_state": 3}
    expected = kind(estimator, **options).fit(X, Y).predict_proba(new)
    for rows, labels in [(sp.csr_array, sp.csc_array), (pd.DataFrame, pd.DataFrame)]:
        with parallel_config(backend="threading"):  # starting processes takes seconds
            learner = kind(estimator, **options, n_jobs=2).fit(rows(X), labels(Y))
            scores = learner.predict_proba(rows(new))
        np.testing.assert_array_equal(scores, expected)


def test_chains_that_do_not_fit_into_memory_grow_in_groups(small, monkeypatch):
    X, Y, new = small
    expected = ECCRU(random_state=0).fit(X, Y).predict_proba(new)
    monkeypatch.setattr(tree_chains, "_CELLS_PER_GROUP", 3000)
    np.testing.assert_array_equal(ECCRU(random_state=0).fit(X, Y).predict_proba(new), expected)


def test_rows_are_drawn_with_or_without_replacement(small, drawn):
    X, Y, _ = small
    ECC(n_estimators=2, random_state=0).fit(X, Y)
    for rows in drawn.values():
        assert len(rows[0]) == 90
        assert len(np.unique(rows[0])) < 90
    drawn.clear()
    ECC(n_estimators=2, bootstrap=False, random_state=0).fit(X, Y)
    for rows in drawn.values():
        assert len(rows[0]) == len(np.unique(rows[0])) == 60


def test_links_are_classifiers_that_name_the_labels_before(small):
    X, Y, _ = small
    frame, labels = pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y[:, [0, 0, 0]])
    labels.columns = ["red", "green", "blue"]
    learner = ECC(n_estimators=1, random_state=0).fit(frame, labels)
    first, second, third = learner.estimators_[0].labels
    assert {first, second, third} == {0, 1, 2}
    model = learner.estimators_[0].estimators[1]
    assert model.feature_names_in_.tolist() == [*"abcde", *labels.columns]
    assert model.export_text().startswith(f"{labels.columns[first]} = 0: 0")


@pytest.mark.parametrize(
    ("wanted", "threshold"), [(0, np.inf), (1, 0.9), (2, 0.9), (3, 0.5), (4, 0.1), (9, 0.1)]
)
def test_cardinality_threshold(wanted, threshold):
    assert cardinality_threshold(np.array([[0.9, 0.5], [0.1, 0.5]]), wanted) == threshold


def test_cardinality_predicts_about_as_many_labels_as_there_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    Y = (X[:, [0, 1, 2, 3, 0]] + rng.normal(size=(400, 5)) > 1.5).astype(int)
    new = rng.normal(size=(400, 4))
    learner = ECC(threshold="cardinality", random_state=0).fit(X, Y)
    assert abs(learner.predict(new).sum() / Y.sum() - 1) < 0.15
    assert ECC(random_state=0).fit(X, Y).predict(new).sum() < 0.7 * Y.sum()
    alone = ECC(n_estimators=1, threshold="cardinality", random_state=0).fit(X[:1], Y[:1])
    np.testing.assert_array_equal(alone.predict(X[:1]), Y[:1])  # no row is left out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_scikit_learn_checks(pass_scikit_learn_checks):
    pass_scikit_learn_checks(ECC(n_estimators=3, random_state=0), "sure", "draws_rows")
