"""Stacked bagging: honest bags, shares of the features, a second level, thresholds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from labelance._validation._data import validate_data
from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import find_thresholds
from labelance.decisions._held_out import out_of_bag_scores
from labelance.decisions._search import (
    ScoredRows,
    pooled_threshold,
    search_thresholds,
    shrink_thresholds,
)
from labelance.ensemble import EMLS, MLSOLBagging, StackedBagging, draw_training_sets
from labelance.ensemble._logistic import fit_logistic_regressions
from labelance.ensemble._stacked_bagging import LevelRows, SecondLevel, second_level_weights
from labelance.exceptions import InputError
from labelance.learners import BinaryRelevance, MLkNN
from labelance.metrics import label_scores, macro_auc_roc
from labelance.sampling import MLROS, MLSMOTE, MLSOL

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(150, 6, 4, random_state=0)


# ------------------------------------------------------------------------------------------- bags


class Remembering(MLSOL):
    """MLSOL that keeps where its rows came from."""

    drawn = []  # noqa: RUF012

    def _draw(self, data, plan, rng):
        draw = super()._draw(data, plan, rng)
        self.drawn.append(draw)
        return draw


@pytest.mark.slow
@given(seed=st.integers(0, 20))
def test_nothing_that_a_member_sees_descends_from_a_row_outside_its_bag(seed):
    X, Y = make_multilabel_imbalanced(90, 4, 3, random_state=seed)
    Remembering.drawn.clear()
    sets = draw_training_sets(Remembering(), X, Y, 3, bootstrap="parents", random_state=seed)
    for drawn, made in zip(sets, Remembering.drawn, strict=True):
        assert len(drawn.left_out) > 0
        originals = {row.tobytes(): number for number, row in enumerate(X)}
        seen = {originals[row.tobytes()] for row in drawn.X[: len(X)]}
        assert seen == set(range(len(X))) - set(drawn.left_out)
        # The rest are exactly those new rows whose two parents are among the rows of the bag.
        parents = zip(*(made.provenance[f"{p}_indices_"] for p in ("seed", "reference")))
        kept = [i for i, (s, r) in enumerate(parents) if s in seen and r in seen]
        assert_array_equal(drawn.X[len(X) :], made.X_new[kept])
        assert_array_equal(drawn.y[len(X) :], made.Y_new[kept].toarray())


def test_all_bags_share_one_search(monkeypatch, data):
    searches, search = [], NearestNeighbors.kneighbors

    def counted(*args, **options):
        searches.append(1)
        return search(*args, **options)

    monkeypatch.setattr(NearestNeighbors, "kneighbors", counted)
    MLSOLBagging(TREE, MLSOL(k_neighbors=NearestNeighbors(n_neighbors=6))).fit(*data)
    assert len(searches) == 1


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [MLSMOTE(), MLROS(), None], ids=str)
def test_other_samplers_see_the_bag_alone(data, sampler):
    X, Y = data
    seen = []

    class Noting(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(X)
            return super().fit(X, y)

    StackedBagging(Noting(3), sampler, max_features=1.0, random_state=0).fit(X, Y)
    expected = draw_training_sets(sampler, X, Y, bootstrap=True, random_state=0)
    for came, drawn in zip(seen, expected, strict=True):
        assert_array_equal(came, drawn.X)


@pytest.mark.parametrize("sampler", [MLSMOTE(), MLROS(), None], ids=str)
def test_bags_within_are_refused_where_rows_have_other_parents(data, sampler):
    with pytest.raises(InputError, match="bootstrap=True"):
        EMLS(TREE, sampler, bootstrap="parents").fit(*data)


def test_rows_outside_bags_within_are_out_of_bag(data):
    model = EMLS(TREE, MLSOL(), bootstrap="parents", tune_on="oob", random_state=0).fit(*data)
    assert np.isfinite(model.thresholds_).all()


# --------------------------------------------------------------------------------------- features


@pytest.mark.slow
@pytest.mark.parametrize(("share", "expected"), [(0.5, 3), (2, 2), (0.01, 1), (1.0, 6)])
def test_members_see_their_own_features(data, share, expected):
    X, Y = data
    model = EMLS(TREE, MLSOL(), max_features=share, random_state=0).fit(X, Y)
    assert [len(columns) for columns in model.estimators_features_] == [expected] * 5
    assert all((np.diff(columns) > 0).all() for columns in model.estimators_features_)
    members = [
        label_scores(member, X[:, columns])
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    assert_allclose(model.predict_proba(X), np.mean(members, axis=0), rtol=1e-12)


@pytest.mark.slow
def test_a_share_of_one_changes_nothing(data):
    X, Y = data
    plain = EMLS(TREE, MLSOL(), random_state=0).fit(X, Y)
    every = EMLS(TREE, MLSOL(), max_features=6, random_state=0).fit(X, Y)
    assert_array_equal(plain.predict_proba(X), every.predict_proba(X))


def test_more_features_than_there_are_are_refused(data):
    with pytest.raises(InputError, match="Got 7, and X has 6 columns"):
        EMLS(TREE, max_features=7).fit(*data)


@pytest.mark.slow
def test_ready_sets_bring_their_features(data):
    X, Y = data
    sets = draw_training_sets(MLSOL(), X, Y, max_features=0.5, random_state=0)
    ready = EMLS(TREE).fit(X, Y, training_sets=sets)
    own = EMLS(TREE, MLSOL(), max_features=0.5, random_state=0).fit(X, Y)
    assert_array_equal(ready.predict_proba(X), own.predict_proba(X))


@pytest.mark.slow
def test_a_warm_start_keeps_the_features_of_members(data):
    X, Y = data
    model = EMLS(TREE, MLSOL(), n_estimators=2, max_features=0.5, warm_start=True, random_state=0)
    grown = model.fit(X, Y).set_params(n_estimators=4).fit(X, Y)
    whole = clone(model).set_params(n_estimators=4).fit(X, Y)
    assert_array_equal(grown.predict_proba(X), whole.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", [[4, 5], ["e", "f"], [False] * 4 + [True] * 2], ids=str)
def test_nominal_features_are_counted_among_those_that_a_member_sees(name):
    X, Y = make_multilabel_imbalanced(120, 6, 3, n_categorical=2, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    learner = BinaryRelevance(categorical_features=name)
    model = EMLS(learner, bootstrap=True, max_features=3, random_state=0).fit(frame, Y)
    assert learner.categorical_features == name  # members are clones
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        assert_array_equal(member.categorical_features, columns >= 4)
    assert model.predict_proba(frame).shape == Y.shape


@pytest.mark.slow
@pytest.mark.parametrize("learner", [BinaryRelevance(), MLkNN(n_neighbors=3)], ids=str)
def test_categories_of_frames_follow_their_columns(learner):
    X, Y = make_multilabel_imbalanced(120, 6, 3, n_categorical=3, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame[list("def")] = frame[list("def")].astype(int).astype(str).astype("category")
    model = StackedBagging(learner, MLSOL(), max_features=0.5, random_state=0).fit(frame, Y)
    coded = StackedBagging(
        clone(learner).set_params(categorical_features=[3, 4, 5]),
        MLSOL(categorical_features=[3, 4, 5]),
        max_features=0.5,
        random_state=0,
    ).fit(X, Y)
    assert_allclose(model.predict_proba(frame), coded.predict_proba(X), rtol=1e-12)


# ----------------------------------------------------------------------------------- second level


def by_hand(model, X, Y, X_new):
    """Out-of-bag scores, second level and mean in plain loops: a list of lists of scores."""
    q, n = Y.shape[1], len(X)
    sets = draw_training_sets(
        model.sampler,
        X,
        Y,
        model.n_estimators,
        bootstrap="parents",
        max_features=model.max_features,
        random_state=model.random_state,
    )
    members = [(clone(model.estimator).fit(s.X, s.y), s.features, s.left_out) for s in sets]
    judged, out = [], []
    for i in range(n):
        own = [
            label_scores(member, X[i : i + 1, columns])[0]
            for member, columns, left_out in members
            if i in left_out
        ]
        if own:
            judged.append(i)
            out.append([sum(scores[j] for scores in own) / len(own) for j in range(q)])
    new = [
        [
            sum(label_scores(m, row[None, c])[0][j] for m, c, _ in members) / len(members)
            for j in range(q)
        ]
        for row in X_new
    ]
    means = [sum(row[j] for row in out) / len(out) for j in range(q)]
    widths = [(sum((r[j] - means[j]) ** 2 for r in out) / len(out)) ** 0.5 for j in range(q)]
    widths = [width if width > 0 else 1 for width in widths]

    def standardise(row):
        return [min(3, max(-3, (row[j] - means[j]) / widths[j])) for j in range(q)]

    level = np.array([standardise(row) for row in out])
    truth = Y[judged]
    labels = [j for j in range(q) if 0 < truth[:, j].sum() < len(truth)]
    share = [truth[:, j].mean() for j in labels]
    given = np.concatenate([np.full(len(truth), np.log(p / (1 - p))) for p in share])
    own = np.concatenate([level[:, j] for j in labels])[:, None]
    common = regression(own, np.concatenate([truth[:, j] for j in labels]), 1e6, given)[0]
    final = [list(row) for row in new]
    for j in range(q):
        m = min(truth[:, j].sum(), len(truth) - truth[:, j].sum())
        if m >= 2:
            weight = m / (m + 5) / 2
            *coef, intercept = regression(level, truth[:, j], model.C, common * level[:, j])
            for row, scores in zip(new, final, strict=True):
                z = standardise(row)
                known = intercept + common * z[j] + sum(w * x for w, x in zip(coef, z, strict=True))
                scores[j] = (1 - weight) * row[j] + weight / (1 + np.exp(-known))
    return np.array(final)


def regression(X, y, C, given):
    """Coefficients and intercept of one ridge logistic regression beside what is given."""

    def loss(point):
        z = given + X @ point[:-1] + point[-1]
        return C * (np.logaddexp(0, z) - y * z).sum() + (point[:-1] ** 2).sum() / 2

    start = np.zeros(X.shape[1] + 1)
    return minimize(loss, start, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).x


@pytest.mark.slow
def test_the_scores_are_those_computed_by_hand():
    X, Y = make_multilabel_imbalanced(90, 5, 4, random_state=1)
    Y = np.column_stack([Y, np.arange(90) == 30, np.arange(90) % 45 == 0])
    model = StackedBagging(TREE, MLSOL(), max_features=0.7, random_state=3)
    expected = by_hand(model, X, Y, X[:20] + 0.01)
    model.fit(X, Y)
    assert_allclose(model.predict_proba(X[:20] + 0.01), expected, atol=1e-4)
    assert 0 < len(model.stacked_labels_) < 6  # the rarest keeps its score


@pytest.mark.parametrize("weighted", [False, True])
def test_the_second_level_learns_from_known_cells(weighted):
    rng = np.random.default_rng(4)
    truth = rng.random((120, 4)) < [0.5, 0.3, 0.3, 0.2]
    scores = np.clip(0.3 * truth + 0.6 * rng.random(truth.shape), 0, 1)
    known = rng.random(truth.shape) < 0.7
    known[:, 1], known[:, 3] = known[:, 0], True
    w = rng.integers(1, 4, 120).astype(float) if weighted else np.ones(120)
    Y = sp.csr_array((truth & known).astype(np.int8))
    unknown = sp.csr_array((~known).astype(np.int8))
    weights = second_level_weights(Y, unknown)
    for j in range(4):
        m = min((truth & known)[:, j].sum(), (~truth & known)[:, j].sum())
        assert weights[j] == m / (m + 5) / 2
    rows = LevelRows(Y, scores, weights, 0.1, w if weighted else None, unknown)
    found = SecondLevel.fit(rows)
    level = np.clip((scores - found.center) / found.width, -3, 3)
    rows = [np.repeat(np.flatnonzero(known[:, j]), w[known[:, j]].astype(int)) for j in range(4)]
    share = [truth[rows[j], j].mean() for j in range(4)]
    given = np.concatenate(
        [np.full(len(rows[j]), np.log(share[j] / (1 - share[j]))) for j in range(4)]
    )
    own = np.concatenate([level[rows[j], j] for j in range(4)])[:, None]
    present = np.concatenate([truth[rows[j], j] for j in range(4)])
    common = regression(own, present, 1e6, given)[0]
    for j in range(4):
        here = level[rows[j]]
        *coef, intercept = regression(here, truth[rows[j], j], 0.1, common * here[:, j])
        coef[j] += common
        assert_allclose(found.coef[j], coef, atol=2e-3)
        assert_allclose(found.intercept[j], intercept, atol=2e-3)


@pytest.mark.slow
@given(rows=st.integers(4, 3000), share=st.floats(0, 1))
def test_the_second_level_has_a_weight_that_grows_with_the_rarer_class(rows, share):
    """None without rows, one half in the limit; a label and its absence are alike."""
    few = int(share * rows)
    Y = np.column_stack([np.arange(rows) < n for n in (0, 1, few, rows - few, rows // 2)])
    nothing, one, some, others, most = second_level_weights(sp.csr_array(Y.astype(int)))
    assert nothing == one == 0
    assert some == others <= most < 0.5
    assert most == rows // 2 / (rows // 2 + 5) / 2


@pytest.mark.slow
def test_a_rare_label_is_drawn_to_what_scores_say_of_their_own_labels():
    """And not to its prevalence: its own score counts nearly as much as that of frequent ones."""
    rng = np.random.default_rng(0)
    truth = rng.random((2000, 4)) < [0.3, 0.3, 0.3, 0.003]
    X = truth + rng.normal(scale=0.4, size=truth.shape)
    Y = truth.astype(int)
    model = StackedBagging(MLkNN(n_neighbors=5), max_features=1.0, random_state=0).fit(X, Y)
    own = model.coef_[np.arange(4), np.arange(4)]
    assert own[3] > 0.5 * own[:3].mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_regressions_of_all_labels_are_those_of_each(weighted):
    """Also of labels that scores separate, and of scores that are the same up to a factor."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 5))
    X[:, 3] = 2 * X[:, 0]
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + rng.normal(size=80) > 1.5, rng.random(80) < 0.1])
    weight = rng.integers(1, 4, 80).astype(float) if weighted else None
    coef, intercept = fit_logistic_regressions(X, Y.astype(float), 0.1, weight)
    for j in range(3):
        one = LogisticRegression(C=0.1, tol=1e-9, max_iter=1000)
        one.fit(X, Y[:, j], sample_weight=weight)
        assert_allclose(coef[j], one.coef_[0], atol=1e-4)
        assert_allclose(intercept[j], one.intercept_[0], atol=1e-4)


def test_what_is_given_beside_a_regression_is_what_it_need_not_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    Y = (X[:, :3] + rng.standard_normal((200, 3)) > 0).astype(float)
    given = 0.7 * X[:, :3]
    plain, intercept = fit_logistic_regressions(X, Y, 1e6)
    beside, same = fit_logistic_regressions(X, Y, 1e6, offset=given)
    np.testing.assert_allclose(beside + 0.7 * np.eye(3, 4), plain, atol=1e-3)
    np.testing.assert_allclose(same, intercept, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_out_of_bag_scores_of_noise_know_nothing(seed):
    """Thirty labels that nothing explains, in sixty rows: enough to learn them by heart."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(60, 5)), (rng.random((60, 30)) < 0.3).astype(int)
    model = StackedBagging(KNeighborsClassifier(5), oob_score=True, random_state=0).fit(X, Y)
    judged = ~np.isnan(model.oob_decision_function_[:, 0])
    assert len(model.stacked_labels_) > 20
    assert macro_auc_roc(Y[judged], model.oob_decision_function_[judged]) < 0.55
    known = out_of_bag_scores(model, validate_data(X, Y, caller="a test"))  # for who calibrates
    assert_array_equal(known.rows, np.flatnonzero(judged))
    assert_allclose(known.scores, model.oob_decision_function_[judged])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
def test_labels_of_two_rows_may_have_a_second_level(data):
    """Folds without such a label's rows, or rows that all have it, leave its scores alone."""
    X, Y = data
    Y = np.column_stack([Y, np.arange(len(Y)) < 2, np.arange(len(Y)) > 0]).astype(int)
    options = {"n_estimators": 9, "oob_score": True, "random_state": 0}
    model = StackedBagging(KNeighborsClassifier(3), **options).fit(X, Y)
    assert set(model.stacked_labels_) > {0, 1, 2, 3}
    judged = model.oob_decision_function_[~np.isnan(model.oob_decision_function_[:, 0])]
    assert len(judged) > 100
    assert ((judged >= 0) & (judged <= 1)).all()


@pytest.mark.slow
def test_without_a_second_level_the_scores_are_the_members_mean(data):
    X, Y = data
    options = {"max_features": 0.7, "random_state": 0}
    alone = StackedBagging(TREE, MLSOL(), C=None, **options).fit(X, Y)
    mean = EMLS(TREE, MLSOL(), bootstrap="parents", **options).fit(X, Y)
    assert_array_equal(alone.predict_proba(X), mean.predict_proba(X))
    assert len(alone.stacked_labels_) == 0
    assert alone.coef_.shape == (0, 4)


@pytest.mark.slow
def test_out_of_bag_scores_are_kept_where_asked_for(data):
    X, Y = data
    model = StackedBagging(TREE, MLSOL(), n_estimators=2, oob_score=True, random_state=0).fit(X, Y)
    sets = draw_training_sets(
        MLSOL(), X, Y, 2, bootstrap="parents", max_features=0.85, random_state=0
    )
    seen_by_all = np.setdiff1d(np.arange(len(X)), np.concatenate([s.left_out for s in sets]))
    unjudged = np.flatnonzero(np.isnan(model.oob_decision_function_).all(axis=1))
    assert len(unjudged) > 0
    assert_array_equal(unjudged, seen_by_all)
    assert not hasattr(clone(model).set_params(oob_score=False).fit(X, Y), "oob_decision_function_")


@pytest.mark.slow
def test_a_label_with_one_score_for_all_rows_tells_nothing():
    """Means of 0.1 differ by rounding, which must not become the unit of what is said of others."""
    X, Y = make_multilabel_imbalanced(100, 4, 3, random_state=0)

    class Flat(MLkNN):
        def predict_proba(self, X):
            scores = super().predict_proba(X)
            scores[:, 2] = np.where(X[:, 0] < 100, 0.1, 0.9)
            return scores

    model = StackedBagging(Flat(3), None, max_features=1.0, random_state=0).fit(X, Y)
    near, far = (model._combine(np.array([[0.5, 0.5, score]])) for score in (0.1, 0.9))
    assert_allclose(near[:, :2], far[:, :2], atol=1e-6)


@pytest.mark.slow
def test_stages_end_with_the_ensemble(data):
    X, Y = data
    model = MLSOLBagging(TREE, n_estimators=3, random_state=0).fit(X, Y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 3
    assert_array_equal(stages[-1], model.predict_proba(X))


@pytest.mark.slow
def test_a_label_that_follows_another_gains_from_it():
    """Two labels are one feature behind noise of their own, so that each tells of the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    Y = (X[:, [0, 0]] + rng.normal(scale=[0.3, 0.3], size=(400, 2)) > 0.8).astype(int)
    model = MLSOLBagging(TREE, random_state=0).fit(X, Y)
    assert (model.coef_ > 0).all()


# ------------------------------------------------------------------------------------- thresholds


@pytest.mark.slow
def test_thresholds_come_from_out_of_bag_scores(data):
    X, Y = data
    model = MLSOLBagging(TREE, oob_score=True, random_state=0).fit(X, Y)
    judged = np.flatnonzero(~np.isnan(model.oob_decision_function_[:, 0]))
    scores = model.oob_decision_function_[judged]
    known = sp.csr_array(Y[judged])
    assert_array_equal(model.thresholds_, find_thresholds(known, scores).thresholds)
    own = search_thresholds(ScoredRows.of(known, scores)).own
    pooled = pooled_threshold(ScoredRows.of(known, scores), own)
    common = clone(model).set_params(shrink_to="pooled").fit(X, Y)
    assert_allclose(
        common.thresholds_, shrink_thresholds(own, pooled, Y[judged].sum(axis=0), strength=5)
    )
    exact = clone(model).set_params(shrinkage=0, objective="gmean").fit(X, Y)
    assert_array_equal(
        exact.thresholds_, search_thresholds(ScoredRows.of(known, scores), objective="gmean").own
    )
    paper = {"threshold_search": "grid", "tune_on": "train", "shrinkage": 0}
    train = clone(model).set_params(**paper).fit(X, Y)
    assert_array_equal(
        train.thresholds_,
        search_thresholds(
            ScoredRows.of(sp.csr_array(Y), model.predict_proba(X)), search="grid"
        ).own,
    )
    assert (clone(model).set_params(objective=None).fit(X, Y).thresholds_ == 0.5).all()


# --------------------------------------------------------------------------------- laws of fitting


@pytest.mark.slow
@pytest.mark.parametrize("learner", [TREE, MLkNN(n_neighbors=3)], ids=str)
def test_jobs_do_not_matter(data, learner):
    X, Y = data
    one, two = (MLSOLBagging(learner, random_state=0, n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.thresholds_, two.thresholds_)


@pytest.mark.slow
def test_containers_do_not_matter(data):
    X, Y = data
    X = np.round(X, 1)
    expected = MLSOLBagging(BinaryRelevance(), random_state=0).fit(X, Y).predict_proba(X)
    names = list("abcdef")
    kinds = [
        (sp.csr_array(X), sp.csr_array(Y)),
        (sp.csc_matrix(X), Y),
        (pd.DataFrame(X, columns=names), pd.DataFrame(Y)),
        (pl.DataFrame(X, schema=names), Y),
        (X.tolist(), Y.tolist()),
    ]
    for rows, labels in kinds:
        model = MLSOLBagging(BinaryRelevance(), random_state=0).fit(rows, labels)
        assert_allclose(model.predict_proba(rows), expected, rtol=1e-9)
    assert sp.issparse(
        MLSOLBagging(BinaryRelevance(), random_state=0).fit(*kinds[0]).predict(kinds[0][0])
    )


@pytest.mark.slow
def test_sparse_rows_are_never_made_dense(monkeypatch):
    X, Y = make_multilabel_imbalanced(150, 60, 4, sparse=True, random_state=0)
    toarray = sp.csr_array.toarray

    def of_labels(self, *args, **options):
        assert self.shape[1] <= 4, "rows were made dense"
        return toarray(self, *args, **options)

    monkeypatch.setattr(sp.csr_array, "toarray", of_labels)
    model = MLSOLBagging(MLkNN(n_neighbors=3), random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape


@pytest.mark.slow
def test_seeds_matter_and_repeat(data):
    X, Y = data
    fitted = [MLSOLBagging(TREE, random_state=seed).fit(X, Y) for seed in (0, 0, 1)]
    first, again, other = (model.predict_proba(X) for model in fitted)
    assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.slow
def test_weights_reach_members_and_second_level(data):
    X, Y = data
    twice = np.full(len(X), 2.0)
    plain = MLSOLBagging(BinaryRelevance(TREE), random_state=0).fit(X, Y)
    # Trees do not mind the scale of weights; the second level then trusts its rows twice as much.
    even = clone(plain).set_params(C=plain.C / 2).fit(X, Y, sample_weight=twice)
    assert_allclose(plain.coef_, even.coef_, atol=1e-4)
    heavy = clone(plain).fit(X, Y, sample_weight=np.where(Y[:, 0], 5.0, 1.0))
    assert heavy.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean()


@pytest.mark.slow
def test_weights_are_routed_to_the_estimator(data):
    X, Y = data
    with sklearn.config_context(enable_metadata_routing=True):
        heavy = np.where(Y[:, 0], 5, 1)
        asked, silent = (
            MLSOLBagging(
                BinaryRelevance().set_fit_request(sample_weight=wanted), C=None, random_state=0
            ).fit(X, Y, sample_weight=heavy)
            for wanted in (True, False)
        )
    plain = MLSOLBagging(BinaryRelevance(), C=None, random_state=0).fit(X, Y)
    assert_array_equal(silent.predict_proba(X), plain.predict_proba(X))
    assert (asked.predict_proba(X) != plain.predict_proba(X)).any()


# ---------------------------------------------------------------------------------- degenerate data


def test_one_label_is_learned(data):
    X, Y = data
    model = MLSOLBagging(BinaryRelevance(), random_state=0).fit(X, Y[:, :1])
    assert model.predict_proba(X).shape == (len(X), 1)
    assert model.coef_.shape == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [BinaryRelevance(), MLkNN(n_neighbors=3)], ids=str)
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
def test_constant_and_single_positive_labels_keep_their_scores(data, learner):
    X, Y = data
    Y = np.column_stack([Y, np.zeros(len(Y)), np.ones(len(Y)), np.arange(len(Y)) == 7]).astype(int)
    model = MLSOLBagging(learner, random_state=0).fit(X, Y)
    assert set(model.stacked_labels_) <= {0, 1, 2, 3}
    predicted = model.predict(X)
    assert (predicted[:, 4] == 0).all()
    assert (predicted[:, 5] == 1).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_classifier_of_scikit_learn_may_miss_a_label_in_a_bag(data):
    X, Y = data
    Y = np.column_stack([Y, np.arange(len(Y)) == 7]).astype(int)
    model = StackedBagging(TREE, n_estimators=8, random_state=0).fit(X, Y)
    assert model.predict_proba(X).shape == Y.shape


@pytest.mark.slow
def test_rows_that_all_members_saw_decide_nothing_out_of_bag(data):
    X, Y = data
    sets = [
        replace(drawn, left_out=np.empty(0, dtype=int))
        for drawn in draw_training_sets(MLSOL(), X, Y, 5, random_state=0)
    ]
    model = MLSOLBagging(TREE, max_features=1.0).fit(X, Y, training_sets=sets)
    plain = EMLS(TREE).fit(X, Y, training_sets=sets)
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_parameters_are_cloned_and_set(data):
    model = MLSOLBagging(MultiOutputClassifier(TREE), MLSOL(k_neighbors=3), C=0.1)
    assert clone(model).get_params()["sampler__k_neighbors"] == 3
    assert "bootstrap" not in model.get_params()
    assert "warm_start" not in model.get_params()


# ------------------------------------------------------------------------------ made of parts


def test_it_is_made_of_members_and_a_second_level_and_is_no_emls(data):
    assert not issubclass(StackedBagging, EMLS)
    model = StackedBagging(TREE, n_estimators=2)
    assert not {"bootstrap", "warm_start"} & {*model.get_params(), *dir(model)}
    X, y = data
    model.fit(X, y)
    mean = np.mean([member.scores for member in model._stages(X, X)], axis=0)
    assert_allclose(model.predict_proba(X), model._level.combine(mean))


def test_few_of_our_classes_lie_below_an_ensemble():
    for kind in (EMLS, StackedBagging):
        ours = [base.__name__ for base in kind.__mro__ if base.__module__.startswith("labelance")]
        assert ours == [
            kind.__name__,
            "SampledEnsemble",
            "WeightedClassifier",
            "BaseMultiLabelClassifier",
            "MarksVersion",
        ]
