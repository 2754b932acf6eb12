"""RareLabelClassifier and its parts, against models that are fitted anew without a row."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize

from labelance import RareLabelClassifier
from labelance._utils._random import draw_seeds
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import find_thresholds
from labelance.ensemble._encoding import Encoding, Task
from labelance.ensemble._forest import BAG, BaggedTrees
from labelance.ensemble._kernel_ridge import KernelRidge, _Fit, _kernel, _prepare
from labelance.ensemble._parts import LabelCurves
from labelance.ensemble._race import find_candidates
from labelance.exceptions import InputError
from labelance.metrics import macro_auc_roc, macro_brier_loss

pytestmark = pytest.mark.usefixtures("few_steps")
NO_CATEGORIES = np.zeros(20, dtype=bool)
PENALTY = 0.3


def make_task(table, Y, weight=None, known=None, n_trees=1):
    unknown = None if known is None else sp.csr_array(1 - known)
    return Task(table, sp.csr_array(Y), unknown, weight, n_trees)


@pytest.fixture(scope="module")
def data():
    X, y = make_multilabel_imbalanced(120, random_state=0)
    return X, y.astype(float)


@pytest.fixture(scope="module")
def model(data):
    """A fitted model that tests only read."""
    X, y = data
    return RareLabelClassifier(n_estimators=5, keep_oob=True, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def table(data):
    return Encoding.fit(data[0], NO_CATEGORIES)[1]


@pytest.fixture(scope="module")
def known(data):
    """Labels 0 and 1 are known in the same rows, label 2 everywhere, the others at random."""
    known = np.random.default_rng(1).random(data[1].shape) < 0.7
    known[:, 1], known[:, 2] = known[:, 0], True
    return known


# ------------------------------------------------------------------------------------- kernel ridge


@pytest.fixture
def one_penalty(monkeypatch):
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._PENALTIES", [PENALTY])


def refit_without(table, Y, weight, i, machine):
    """Solve the ridge regression without row i, and return what it gives that row."""
    rest = np.delete(np.arange(len(Y)), i)
    rows = _prepare(table, machine.rarity)
    K = _kernel(rows, rows, machine.gamma)
    w = np.ones(len(Y)) if weight is None else weight
    system = K[np.ix_(rest, rest)] + np.diag(PENALTY / w[rest])
    alpha = np.linalg.solve(system, (Y - machine.mean)[rest])
    return machine.mean + K[i, rest] @ alpha


@pytest.mark.usefixtures("one_penalty")
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_scores_are_those_of_machines_without_the_row(data, table, weighted):
    Y = data[1]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y)) if weighted else None
    machine, left_out = KernelRidge.fit(make_task(table, Y, weight), np.random.default_rng(0))
    for i in (0, 7, 50):
        assert_allclose(left_out[i], refit_without(table, Y, weight, i, machine), atol=1e-6)


@pytest.mark.usefixtures("one_penalty")
@pytest.mark.parametrize("weighted", [False, True])
def test_machines_of_a_label_learn_from_rows_in_which_it_is_known(data, table, known, weighted):
    Y, rng = np.where(known, data[1], 0), np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, len(Y)) if weighted else None
    machine, left_out = KernelRidge.fit(make_task(table, Y, weight, known=known), rng)
    scores = machine.scores(table)
    for label in (0, 1, 2, 3):
        rows = np.flatnonzero(known[:, label])
        own = None if weight is None else weight[rows]
        assert_allclose(machine.mean[label], np.average(Y[rows, label], weights=own))
        one = replace(machine, mean=machine.mean[label])
        for i in (0, 5):
            expected = refit_without(table[rows], Y[rows, label], own, i, one)
            assert_allclose(left_out[rows[i], label], expected, atol=1e-6)
        unknown = ~known[:, label]
        assert_allclose(left_out[unknown, label], scores[unknown, label], atol=1e-9)


def test_the_penalty_is_that_of_the_least_error_of_rows_left_out(data, table, monkeypatch):
    Y = data[1]

    def left_out(penalties):
        monkeypatch.setattr("labelance.ensemble._kernel_ridge._PENALTIES", penalties)
        return KernelRidge.fit(make_task(table, Y), np.random.default_rng(0))[1]

    each = [left_out([penalty]) for penalty in (0.03, 1.0, 10.0)]
    errors = [(((Y - one) ** 2).mean(axis=0) / Y.var(axis=0)).sum() for one in each]
    assert_array_equal(left_out([0.03, 1.0, 10.0]), each[int(np.argmin(errors))])


def test_many_groups_of_labels_share_the_landmarks_of_one(data, table, known, monkeypatch):
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._MOST_LANDMARKS", 60)
    Y = np.where(known, data[1], 0)
    machine, left_out = KernelRidge.fit(make_task(table, Y, known=known), np.random.default_rng(0))
    assert machine.landmarks.shape[0] == int(60 / 9 ** (1 / 3))
    assert np.isfinite(left_out).all()


def test_landmarks_give_nearly_the_scores_of_all_rows(data, table, monkeypatch):
    exact, _ = KernelRidge.fit(make_task(table, data[1]), np.random.default_rng(0))
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._MOST_LANDMARKS", 110)
    few, _ = KernelRidge.fit(make_task(table, data[1]), np.random.default_rng(0))
    assert few.landmarks.shape[0] == 110
    assert_allclose(few.scores(table), exact.scores(table), atol=0.15)


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_rows_give_the_scores_of_all_at_once(data, table, weighted, monkeypatch):
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._MOST_LANDMARKS", 50)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(table)) if weighted else None
    at_once = KernelRidge.fit(make_task(table, data[1], weight), np.random.default_rng(0))
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._BLOCK", 7)
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._JUDGING", 100)
    in_blocks = KernelRidge.fit(make_task(table, data[1], weight), np.random.default_rng(0))
    assert_allclose(in_blocks[1], at_once[1], atol=1e-9)
    assert_allclose(in_blocks[0].scores(table), at_once[0].scores(table), atol=1e-9)


# ------------------------------------------------------------------------------------------ forests


@pytest.fixture
def whole_trees(monkeypatch):
    """Trees that predict themselves, as forests do not keep them."""
    monkeypatch.setattr("labelance.ensemble._forest.drop_node_values", lambda tree: None)


@pytest.mark.usefixtures("whole_trees")
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_scores_of_a_forest_are_means_of_its_trees(data, table, splitter):
    rng = np.random.default_rng(0)
    forest, _ = BaggedTrees.fit(make_task(table, data[1], n_trees=7), rng, splitter)
    rows = table.astype(np.float32)
    expected = np.mean([tree.predict(rows) for tree in forest.trees], axis=0)
    assert_allclose(forest.scores(table), expected, atol=1e-12)


def test_trees_keep_their_splits_and_not_what_they_predict(data, table, monkeypatch):
    def fit():
        rng = np.random.default_rng(0)
        return BaggedTrees.fit(make_task(table, data[1], n_trees=5), rng, "best")[0]

    kept = fit()
    monkeypatch.setattr("labelance.ensemble._forest.drop_node_values", lambda tree: None)
    whole = fit()
    again = pickle.loads(pickle.dumps(kept))
    for one in (kept, again):
        assert all(tree.tree_.value.shape[1:] == (1, 1) for tree in one.trees)
        assert_array_equal(one.scores(table), whole.scores(table))
    n_labels = data[1].shape[1]
    dropped = 8 * (n_labels - 1) * int(whole.start[-1])
    assert len(pickle.dumps(kept)) < len(pickle.dumps(whole)) - 0.9 * dropped


@pytest.mark.usefixtures("whole_trees")
def test_rows_left_out_are_scored_by_trees_that_did_not_see_them(data, table):
    rng = np.random.default_rng(0)
    forest, held_out = BaggedTrees.fit(make_task(table, data[1], n_trees=25), rng, "best")
    rows = table.astype(np.float32)
    by_tree = np.array([tree.predict(rows) for tree in forest.trees])
    bags = bags_of(25, len(table))
    for i in (0, 5, 60):
        assert_allclose(held_out[i], by_tree[bags[:, i] == 0, i].mean(axis=0), atol=1e-12)


def bags_of(n_trees, n):
    """How often each tree of a forest of seed 0 draws every row."""
    drawn = [
        np.random.default_rng(seed).integers(n, size=min(n, BAG))
        for seed in draw_seeds(np.random.default_rng(0), n_trees)
    ]
    return np.array([np.bincount(one, minlength=n) for one in drawn])


def test_leaves_of_a_forest_count_rows_in_which_a_label_is_known(data, table, known):
    Y = np.where(known, data[1], 0)
    rng = np.random.default_rng(0)
    forest, held_out = BaggedTrees.fit(make_task(table, Y, n_trees=4, known=known), rng, "best")
    places = np.array([tree.apply(table.astype(np.float32)) for tree in forest.trees])
    bags, scores = bags_of(4, len(table)), forest.scores(table)
    for i, label in ((0, 0), (3, 4), (50, 7)):
        weight = np.zeros(len(Y))
        for bag, place in zip(bags, places):
            near = bag * (place == place[i])
            weight += near / near.sum()
        weight *= known[:, label]
        expected = np.average(Y[:, label], weights=weight) if weight.any() else np.nan
        assert_allclose(scores[i, label], expected)
    assert np.isnan(held_out).any()  # so few trees have leaves that know nothing of a label
    assert np.nanmax(np.abs(held_out - 0.5)) <= 0.5


def test_a_tree_draws_no_more_rows_than_a_bag_has(data, table, monkeypatch):
    monkeypatch.setattr("labelance.ensemble._forest.BAG", 30)
    rng = np.random.default_rng(0)
    forest, held_out = BaggedTrees.fit(make_task(table, data[1], n_trees=6), rng, "best")
    assert max(tree.tree_.n_node_samples[0] for tree in forest.trees) <= 30
    assert held_out.shape == data[1].shape


def test_projected_labels_give_leaf_means_of_the_labels(monkeypatch):
    monkeypatch.setattr("labelance.ensemble._forest._MOST_OUTPUTS", 3)
    X, y = make_multilabel_imbalanced(150, random_state=1)
    table = Encoding.fit(X, NO_CATEGORIES)[1]
    forest, held_out = BaggedTrees.fit(
        make_task(table, y.astype(float), n_trees=30), np.random.default_rng(0), "best"
    )
    assert forest.trees[0].n_outputs_ == 16
    scores = forest.scores(table)
    assert scores.shape == held_out.shape == y.shape
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[y == 1].mean() > 0.5 > scores[y == 0].mean()


# ------------------------------------------------------------------------------------------- curves


def test_curves_keep_the_order_and_draw_rare_labels_to_the_others(data):
    Y = data[1]
    scores = Y + np.random.default_rng(0).normal(size=Y.shape)
    curves = LabelCurves.fit(Y, scores, None)
    p = curves(scores)
    assert (np.diff(np.take_along_axis(p, scores.argsort(axis=0), axis=0), axis=0) >= 0).all()
    assert_allclose(p.mean(axis=0), Y.mean(axis=0), atol=0.05)


def test_curves_are_those_of_known_cells(data, known):
    Y = data[1][:, :1]
    scores, rows = Y + np.random.default_rng(0).normal(size=Y.shape), known[:, 0]
    holes = LabelCurves.fit(np.where(known[:, :1], Y, 0), scores, None, known[:, :1])
    assert_allclose(holes(scores), LabelCurves.fit(Y[rows], scores[rows], None)(scores))


# ----------------------------------------------------------------------------------- the classifier


def mixed_frame(n, seed):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X, y = make_multilabel_imbalanced(n, 6, 4, random_state=3)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    frame.loc[rng.random(n) < 0.2, "b"] = np.nan
    frame["color"] = pandas.Categorical(rng.choice(["red", "green", "blue"], n))
    frame.loc[rng.random(n) < 0.1, "color"] = np.nan
    return frame, y


@pytest.mark.slow
def test_takes_frames_with_categories_and_gaps():
    frame, y = mixed_frame(90, 0)
    model = RareLabelClassifier(n_estimators=10, random_state=0).fit(frame, y)
    assert model.predict(frame).shape == y.shape
    assert list(model.feature_names_in_) == [*"abcdef", "color"]
    unknown = frame.head(3).copy()
    unknown["color"] = unknown["color"].cat.add_categories("pink")
    unknown.loc[0, "color"] = "pink"
    assert np.isfinite(model.predict_proba(unknown)).all()


@pytest.mark.slow
@pytest.mark.parametrize("lacking", [0, 20])
def test_a_new_category_counts_as_missing(lacking):
    rng = np.random.default_rng(0)
    kind = pd.Series(rng.choice(["a", "b", "c"], 120, p=[0.5, 0.3, 0.2]))
    y = np.column_stack([kind == "b", kind == "c"]).astype(int)
    X = pd.DataFrame({"x": rng.random(120), "kind": kind.where(kind.index >= lacking)})
    X = X.astype({"kind": "category"})
    model = RareLabelClassifier(n_estimators=20, random_state=0).fit(X, y)
    new = pd.DataFrame({"x": 0.5, "kind": pd.Categorical(["new", None, "a"])})
    scores = model.predict_proba(new)
    assert_array_equal(scores[0], scores[1])
    assert (scores[0] == scores[2]).all() == (lacking == 0)


@pytest.mark.slow
def test_decisions_name_labels_of_sets(data):
    X, y = data
    names = [[f"l{j}" for j in np.flatnonzero(row)] for row in y]
    model = RareLabelClassifier(n_estimators=10, random_state=0).fit(X, names)
    assert model.decisions_.names == model.label_names_
    assert "l0" in model.label_names_


@pytest.mark.slow
def test_text_is_encoded_sparse_in_any_container():
    X, y = make_multilabel_imbalanced(150, 300, 8, sparse=True, density=0.04, random_state=0)
    ours = RareLabelClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert ours._tables.encodings[0].sparse
    dense = RareLabelClassifier(n_estimators=5, random_state=0).fit(X.toarray(), y)
    assert_allclose(ours.predict_proba(X), dense.predict_proba(X.toarray()), atol=1e-9)


@pytest.mark.slow
def test_decisions_are_those_of_the_default_rule_on_rows_left_out(data, model):
    X, y = data
    found = find_thresholds(y.astype(int), model.oob_decision_function_)
    assert_array_equal(model.thresholds_, found.thresholds)
    assert_array_equal(model.decisions_.interval(), found.interval())
    plain = RareLabelClassifier(n_estimators=2, objective=None, random_state=0).fit(X, y)
    assert plain.decisions_ is None
    assert_array_equal(plain.thresholds_, np.full(y.shape[1], 0.5))


def test_scores_are_the_weighted_mean_of_the_parts(data, model):
    X, _ = data
    (table,) = model._tables.transform(X, X)
    parts = [part.scores(table) for _, part in model._models]
    assert len(parts) == len(model.parts_) == len(model.weights_) > 1
    assert_allclose(model.weights_.sum(), 1)
    expected = np.tensordot(model.weights_, parts, 1)
    assert_allclose(model.predict_proba(X)[:, model._learned], expected)


@pytest.mark.slow
def test_scores_of_rows_left_out_are_not_those_of_training_rows(data):
    X, y = data
    noise = np.random.default_rng(0).normal(size=X.shape)
    model = RareLabelClassifier(keep_oob=True, random_state=0).fit(noise, y)
    inside, outside = model.predict_proba(noise), model.oob_decision_function_
    gap = [scores[y == 1].mean() - scores[y == 0].mean() for scores in (inside, outside)]
    base = y.mean(axis=0) * np.ones_like(y)  # what knows nothing of X tells labels apart, too
    apart = base[y == 1].mean() - base[y == 0].mean()
    assert gap[0] > gap[1]
    assert abs(gap[1] - apart) < 0.01


@pytest.mark.slow
def test_weights_matter(data, model):
    X, y = data
    weight = np.where(y[:, 0] > 0, 5.0, 1.0)
    heavy = RareLabelClassifier(n_estimators=5, random_state=0).fit(X, y, sample_weight=weight)
    assert heavy.predict_proba(X)[:, 0].mean() > model.predict_proba(X)[:, 0].mean()


@pytest.mark.slow
def test_sparse_rows_with_gaps_are_filled():
    X, y = make_multilabel_imbalanced(90, 120, 4, sparse=True, density=0.2, random_state=0)
    X = sp.csr_array(X)
    X.data[::7] = np.nan
    model = RareLabelClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.slow
def test_scores_of_rows_that_every_tree_saw_are_those_of_other_parts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), (rng.random((200, 2)) < 0.4).astype(int)  # pure noise
    model = RareLabelClassifier(n_estimators=1, keep_oob=True, random_state=0).fit(X, y)
    assert np.isfinite(model.oob_decision_function_).all()
    assert macro_auc_roc(y, model.oob_decision_function_) < 0.65


def test_a_weight_of_two_is_a_row_twice_for_the_curves_of_scores():
    rng = np.random.default_rng(0)
    Y, scores = (rng.random((60, 3)) < 0.2).astype(float), rng.random((60, 3))
    twice = LabelCurves.fit(np.vstack([Y, Y]), np.vstack([scores, scores]), None)
    weighted = LabelCurves.fit(Y, scores, np.full(60, 2.0))
    assert_allclose(weighted(scores), twice(scores), rtol=1e-6)


def test_many_categories_are_sparse_columns_with_the_cells_of_a_dense_table(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(70, size=(300, 3)).astype(float)
    X[::9, 0], X[:, 2] = np.nan, rng.normal(size=300)
    new = X[:20].copy()
    new[0, 0] = 99  # a category that training rows do not have
    categorical = np.array([True, True, False])
    encoding, table = Encoding.fit(X, categorical)
    assert sum(map(len, encoding.encoder.categories_)) > 100
    tables = table, encoding.transform(new)
    monkeypatch.setattr("labelance.ensemble._encoding._WIDE", 1000)
    dense = Encoding.fit(X, categorical)[0]
    whole = dense._join(X), dense._join(new)
    for one, expected in zip(tables, whole):
        assert_allclose(one.toarray(), normalize(expected))


def test_missing_cells_of_sparse_tables_are_no_stored_zeros():
    X = sp.random_array((300, 80), density=0.05, rng=np.random.default_rng(0), format="csr")
    X.data[::7] = np.nan
    _, table = Encoding.fit(X, np.zeros(80, dtype=bool))
    assert sp.issparse(table)
    assert table.data.all()


@pytest.mark.slow
def test_a_label_known_in_two_rows_has_finite_scores():
    X, y = make_multilabel_imbalanced(90, 6, 4, random_state=0)
    y = y.astype(float)
    y[np.setdiff1d(np.arange(90), [np.argmax(y[:, 0]), np.argmin(y[:, 0])]), 0] = np.nan
    model = RareLabelClassifier(n_estimators=3, keep_oob=True, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.oob_decision_function_).all()
    assert model.decisions_.n_known[0] == 2


@pytest.mark.slow
def test_known_cells_are_better_than_unknown_cells_taken_for_absent():
    X, y = make_multilabel_imbalanced(600, random_state=0)
    hidden = np.random.default_rng(0).random((300, y.shape[1])) < 0.5
    losses = [
        macro_brier_loss(
            y[300:],
            RareLabelClassifier(n_estimators=20, objective=None, random_state=0)
            .fit(X[:300], np.where(hidden, fill, y[:300]))
            .predict_proba(X[300:]),
        )
        for fill in (np.nan, 0)
    ]
    assert losses[0] < losses[1]


@pytest.mark.slow
def test_columns_in_another_order_are_named():
    X, y = make_multilabel_imbalanced(60, 3, 2, random_state=0)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=pd.Categorical(["u", "v"] * 30))
    model = RareLabelClassifier(n_estimators=2, random_state=0).fit(frame, y)
    with pytest.raises(InputError, match=r"another order\. Pass X\[model\.feature_names_in_\]"):
        model.predict(frame[frame.columns[::-1]])


# ------------------------------------------------------------------------------ texts, and a race

WORDS = ["apple", "car", "tree", "house", "river", "stone", "cloud", "bird"]


def posts(n, seed=0):
    """Texts of eight words, and labels that are some of the words."""
    rng = np.random.default_rng(seed)
    share = np.geomspace(0.6, 0.1, len(WORDS))
    has = rng.random((n, len(WORDS))) < share
    other = rng.integers(90, size=(n, 3))
    texts = [
        " ".join(["the", *np.array(WORDS)[row], *(f"word{i}" for i in more)])
        for row, more in zip(has, other)
    ]
    return texts, has[:, 4:].astype(int)


def test_texts_in_any_container_give_one_model():
    texts, y = posts(120)
    fit = RareLabelClassifier(n_estimators=3, random_state=0).fit
    expected = fit(texts, y).predict_proba(texts)
    assert macro_auc_roc(y, expected) > 0.95
    for X in (pd.Series(texts), np.array(texts, dtype=object), np.array(texts)):
        assert_array_equal(fit(X, y).predict_proba(X), expected)


def test_texts_vectors_and_a_table_are_blended():
    texts, y = posts(150)
    rng = np.random.default_rng(0)
    vectors = y @ rng.normal(size=(4, 16)) + rng.normal(size=(150, 16))
    frame = pd.DataFrame(
        {"id": [f"p{i}" for i in range(150)], "post": texts, "x": rng.normal(size=150)}
    )
    frame["vector"] = list(vectors.astype(np.float32))
    model = RareLabelClassifier(n_estimators=3, random_state=0).fit(frame, y)
    assert "id" in model.columns_
    assert {name.partition("(")[2] for name in model.parts_} >= {"post)", "vector)"}
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(frame[:9]), model.predict_proba(frame[:9]))
    empty = frame[:9].assign(post=None)
    assert np.isfinite(model.predict_proba(empty)).all()
    with pytest.raises(InputError):
        model.predict(frame.assign(post=1.0))
    with pytest.raises(InputError, match="does not have: 'post'"):
        model.predict(frame.drop(columns="post"))


def test_scores_of_training_rows_are_kept_on_request_only(data, model):
    X, y = data
    plain = RareLabelClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert not hasattr(plain, "oob_decision_function_")
    assert_array_equal(plain.thresholds_, model.thresholds_)
    assert len(pickle.dumps(plain)) <= len(pickle.dumps(model)) - y.size * 8


def test_a_race_chooses_parts_and_tells_it(monkeypatch, capsys):
    X, y = make_multilabel_imbalanced(2500, 12, 4, random_state=0)
    monkeypatch.setattr("labelance.ensemble._race._FREE", 1.0)
    model = RareLabelClassifier(n_estimators=3, random_state=0, verbose=1).fit(X, y)
    told = capsys.readouterr().err.strip().splitlines()
    assert [line.partition(":")[0] for line in told] == ["X", "race", "weights"]
    table = pd.DataFrame(model.race_)
    assert not any("minutes" in line for line in told)
    assert list(table) == ["part", "rows", "loss", "weight", "work", "decision"]
    chosen = table[table.decision == "learns from all rows"]
    assert set(model.parts_) <= set(chosen.part)
    best = chosen.loc[chosen.loss.idxmin()]
    assert chosen.work.sum() <= max(1.0, 2.5 * best.work)
    again = RareLabelClassifier(n_estimators=3, random_state=0, n_jobs=2).fit(X, y)
    assert again.race_ == model.race_
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_fit_of_more_than_a_minute_says_so_before(capsys):
    from labelance.ensemble._race import LEARNS, RaceResult, Trial

    long = RaceResult([], [Trial("linear", 1000, 1.0, 1.0, 200.0, LEARNS)])
    RareLabelClassifier(verbose=1)._print_race(long, 5)
    assert "about 3 minutes of one core" in capsys.readouterr().err
    RareLabelClassifier()._print_race(long, 5)
    assert not capsys.readouterr().err  # in a pipe
    RareLabelClassifier(verbose=1)._print_race(RaceResult([], []), 5)
    assert "no race" in capsys.readouterr().err


def test_the_unit_of_weights_does_not_matter(data):
    weight = np.random.default_rng(0).integers(1, 5, len(data[0])).astype(float)
    one, other = (
        RareLabelClassifier(n_estimators=3, random_state=0).fit(*data, sample_weight=unit * weight)
        for unit in (1.0, 1 / 1024)  # a power of two, so that nothing is rounded
    )
    assert_array_equal(one.predict_proba(data[0]), other.predict_proba(data[0]))


def test_scores_of_an_earlier_fit_do_not_stay(data):
    model = RareLabelClassifier(n_estimators=3, random_state=0, keep_oob=True).fit(*data)
    model.set_params(keep_oob=False).fit(*data)
    assert not hasattr(model, "oob_decision_function_")


def test_a_penalty_is_judged_on_rows_from_everywhere(data, table, monkeypatch):
    judged = []
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._MOST_LANDMARKS", 50)
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._BLOCK", 10)
    monkeypatch.setattr("labelance.ensemble._kernel_ridge._JUDGING", 2)
    off = _Fit._off
    monkeypatch.setattr(
        _Fit, "_off", lambda self, block, *rest: judged.append(block) or off(self, block, *rest)
    )
    KernelRidge.fit(make_task(table, data[1]), np.random.default_rng(0))
    rows = np.unique(np.concatenate([one for one in judged if isinstance(one, np.ndarray)]))
    assert len(rows) <= 20
    assert np.ptp(np.diff(rows)) == 0
    assert rows[-1] >= len(table) - np.diff(rows)[0]


def test_a_label_of_which_no_row_counts_does_not_stop_a_kernel(data, table, known):
    Y, known = np.where(known, data[1], 0), known.copy()
    Y[:, 0], known[:, 0] = 0, False
    machine, left_out = KernelRidge.fit(make_task(table, Y, known=known), np.random.default_rng(0))
    assert np.isnan(machine.scores(table)[:, 0]).all()
    assert np.isfinite(left_out[:, 1:]).all()


def test_empty_texts_do_not_change_how_words_are_weighted():
    X = sp.random_array((300, 120), density=0.05, rng=np.random.default_rng(0), format="csr")
    X = normalize(X + sp.eye_array(300, 120, format="csr"))
    words = np.zeros(120, dtype=bool)
    assert Encoding.fit(X[:120], words, text=True)[0].weighted
    rows = sp.vstack([X[:120], sp.csr_array((20, 120))], format="csr")
    assert Encoding.fit(rows, words, text=True)[0].weighted
    assert Encoding.fit(rows, words)[0].weighted


@pytest.fixture
def one_part(monkeypatch):
    monkeypatch.setattr(
        "labelance.ensemble._rare_label.find_candidates",
        lambda *a: [one for one in find_candidates(*a) if one.part.name == "linear"],
    )


@pytest.mark.usefixtures("one_part")
@pytest.mark.parametrize("kind", ["text", "vectors"])
def test_a_single_column_needs_no_name_and_names_are_checked_in_three_parts(kind):
    texts, y = posts(60)
    cells = texts if kind == "text" else list(y + np.linspace(0, 1, 60)[:, None])
    frame = pd.DataFrame({"post": cells})
    model = RareLabelClassifier(random_state=0).fit(frame, y)
    assert_array_equal(model.predict_proba(pd.Series(cells)), model.predict_proba(frame))
    for X, told in (
        (frame.rename(columns={"post": "text"}), "columns that X does not have: 'post'"),
        (frame.assign(size=1.0), "without columns that X has: 'size'"),
    ):
        with pytest.raises(InputError, match=told) as caught:
            model.predict(X)
        assert all(caught.value.parts[:2])


@pytest.mark.usefixtures("one_part")
def test_columns_next_to_texts_go_by_name():
    texts, y = posts(60)
    frame = pd.DataFrame(
        {"post": texts, "size": np.arange(60) / 7, "day": pd.Timestamp("2020-01-01")}
    )
    model = RareLabelClassifier(random_state=0).fit(frame, y)
    other = frame[["size", "post"]]
    assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    with pytest.raises(InputError, match="does not have: 'size'"):
        model.predict(frame[["post", "day"]])
