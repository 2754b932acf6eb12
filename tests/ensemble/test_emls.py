"""EMLS: one plan, many draws, mean scores, thresholds."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from imblearn.base import BaseSampler
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelThresholds
from labelance.decisions._search import GRID, ScoredRows, search_thresholds
from labelance.ensemble import EMLS, EMLSOL, StackedBagging, draw_training_sets
from labelance.exceptions import (
    FeatureScaleWarning,
    InputError,
    TooFewRowsError,
    UndefinedLabelWarning,
)
from labelance.learners import BinaryRelevance, MLkNN
from labelance.metrics import label_scores, macro_f1
from labelance.neighbors import find_neighbors
from labelance.sampling import MLRUS, MLSMOTE, MLSOL, MLUL

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(150, 6, 4, random_state=0)


def count(monkeypatch, owner, name):
    calls = []
    original = getattr(owner, name)

    def counted(*args, **options):
        calls.append(name)
        return original(*args, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_five_members_share_one_search(monkeypatch, data):
    searches = count(monkeypatch, NearestNeighbors, "kneighbors")
    fits = count(monkeypatch, DecisionTreeClassifier, "fit")
    sampler = MLSOL(k_neighbors=NearestNeighbors(n_neighbors=6))
    EMLS(TREE, sampler, n_estimators=5, tune_on="train", random_state=0).fit(*data)
    assert (len(searches), len(fits)) == (1, 5)


def test_a_foreign_sampler_is_called_for_every_member(data):
    seeds = []

    class Doubling(BaseSampler):
        _sampling_type = "bypass"
        _parameter_constraints = {}  # noqa: RUF012

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit_resample(self, X, y):
            seeds.append(self.random_state)
            return np.vstack([X, X]), np.vstack([y, y])

        def _fit_resample(self, X, y):
            raise AssertionError

    EMLS(TREE, Doubling(), n_estimators=5, tune_on="train", random_state=0).fit(*data)
    assert len(set(seeds)) == 5


def test_one_member_gives_the_single_models_scores(data):
    X, Y = data
    model = EMLS(TREE, MLSOL(), n_estimators=1, random_state=0).fit(X, Y)
    drawn = MLSOL().plan(X, Y).draw(np.random.default_rng(0).spawn(1)[0])
    single = clone(TREE).fit(drawn.X, drawn.y)
    assert_array_equal(model.predict_proba(X), label_scores(single, X))


@pytest.mark.slow
def test_the_score_is_the_mean_of_the_members(data):
    X, Y = data
    model = EMLS(TREE, MLSOL(), random_state=0).fit(X, Y)
    members = [label_scores(member, X) for member in model.estimators_]
    assert_allclose(model.predict_proba(X), np.mean(members, axis=0), rtol=1e-12)
    assert_array_equal(model.predict(X), model.predict_proba(X) >= model.thresholds_)


@pytest.mark.slow
@pytest.mark.parametrize("bootstrap", [False, True])
def test_jobs_do_not_matter(data, bootstrap):
    X, Y = data
    options = {"bootstrap": bootstrap, "random_state": 0, "tune_on": "cv"}
    one = EMLS(TREE, MLSOL(), n_jobs=1, **options).fit(X, Y)
    two = EMLS(TREE, MLSOL(), n_jobs=2, **options).fit(X, Y)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(one.thresholds_, two.thresholds_)


def test_bagging_is_no_sampler_with_a_bootstrap(data):
    X, Y = data
    model = EMLS(TREE, None, bootstrap=True, tune_on="oob", random_state=0).fit(X, Y)
    assert len({tuple(label_scores(m, X).ravel()) for m in model.estimators_}) == 5


def test_out_of_bag_scores_come_from_members_that_left_the_row_out(data):
    X, Y = data
    knn = KNeighborsClassifier(1)  # knows its own rows by heart
    options = {"bootstrap": True, "n_estimators": 3, "random_state": 0}
    seen = EMLS(knn, None, tune_on="train", **options).fit(X, Y)
    unseen = clone(seen).set_params(tune_on="oob").fit(X, Y)
    assert_array_equal(unseen.thresholds_, EMLS(knn, None, **options).fit(X, Y).thresholds_)
    assert macro_f1(Y, seen.predict(X)) >= macro_f1(Y, unseen.predict(X))
    assert not np.array_equal(seen.thresholds_, unseen.thresholds_)


def test_rows_that_a_sampler_deletes_are_out_of_bag(data):
    X, Y = data
    model = EMLS(TREE, MLUL(sampling_ratio=0.3), tune_on="oob", random_state=0).fit(X, Y)
    assert np.isfinite(model.thresholds_).all()


def test_oob_without_rows_left_out_is_refused(data):
    with pytest.raises(InputError, match="bootstrap=True"):
        EMLS(TREE, MLSOL(), tune_on="oob").fit(*data)


@pytest.mark.parametrize("threshold", ["f1", "gmean", "balanced_accuracy", None])
@pytest.mark.parametrize("tune_on", ["train", "cv"])
def test_every_way_to_find_thresholds(data, threshold, tune_on):
    X, Y = data
    model = EMLSOL(TREE, objective=threshold, tune_on=tune_on, random_state=0)
    model.fit(X, Y)
    if threshold is None:
        assert (model.thresholds_ == 0.5).all()
    assert model.predict(X).shape == Y.shape


@pytest.mark.slow
def test_sparse_labels_come_back_sparse(data):
    X, Y = data
    model = EMLS(TREE, MLSOL(), random_state=0).fit(sp.csr_array(X), Y)
    dense = model.predict(sp.csr_array(X))
    knn = LabelThresholds(KNeighborsClassifier(3), random_state=0).fit(X, Y)
    assert isinstance(dense, np.ndarray)
    assert_array_equal(knn.predict(X), knn.predict_proba(X) >= knn.thresholds_)


def f_slowly(y, scores, t):
    chosen = scores >= t
    both = chosen.sum() + y.sum()
    return 2 * (chosen & y).sum() / both if both else 1.0


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 10, 1000]))
def test_exact_thresholds_are_the_largest_of_the_best(seed, levels):
    rng = np.random.default_rng(seed)
    Y = rng.random((30, 3)) < [0.1, 0.5, 0.9]
    scores = rng.integers(levels + 1, size=(30, 3)) / levels
    found = search_thresholds(ScoredRows.of(sp.csr_array(Y), scores)).own
    for j in range(3):
        if not Y[:, j].any():
            assert found[j] == np.inf
            continue
        values = {t: f_slowly(Y[:, j], scores[:, j], t) for t in scores[:, j]}
        best = max(values.values())
        assert_allclose(values[found[j]], best, rtol=1e-12)
        assert found[j] == max(t for t, f in values.items() if f == best)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_the_first_best_of_the_grid_wins_and_exact_is_no_worse(seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((30, 3)) < [0.2, 0.5, 0.9]
    Y[0] = True
    scores = rng.integers(1, 21, size=(30, 3)) / 20
    found = search_thresholds(ScoredRows.of(sp.csr_array(Y), scores), search="grid").own
    exact = search_thresholds(ScoredRows.of(sp.csr_array(Y), scores)).own
    for j in range(3):
        values = [f_slowly(Y[:, j], scores[:, j], t) for t in GRID]
        assert found[j] == GRID[int(np.argmax(values))]
        assert f_slowly(Y[:, j], scores[:, j], exact[j]) >= max(values)


def test_the_worked_example_of_the_specification():
    y = np.array([1, 0, 1, 0, 0, 1])[:, None]
    scores = np.array([0.9, 0.8, 0.8, 0.3, 0.2, 0.1])[:, None]
    assert search_thresholds(ScoredRows.of(sp.csr_array(y), scores)).own[0] == 0.8


def test_a_hopeless_label_keeps_one_half_or_the_programs_zero():
    Y, scores = sp.csr_array(np.array([[1], [0]])), np.array([[0.0], [0.9]])
    with pytest.warns(UndefinedLabelWarning):
        assert search_thresholds(ScoredRows.of(Y, scores), search="grid").own[0] == 0.5
    assert search_thresholds(ScoredRows.of(Y, scores), search="grid", variant="mulan").own[0] == 0


def test_a_hopeless_label_is_named(data):
    never = DummyClassifier(strategy="constant", constant=[0, 0])
    y = pd.DataFrame(data[1][:, :2], columns=["jazz", "rock"])
    model = LabelThresholds(never, threshold_search="grid", tune_on="train")
    with pytest.warns(UndefinedLabelWarning, match="2 of 2 labels: 'jazz', 'rock'"):
        model.fit(data[0], y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("learner", [TREE, KNeighborsClassifier(3)])
def test_few_labels_are_not_taken_for_classes(data, learner, n_labels):
    X, Y = data[0], data[1][:, :n_labels]
    model = EMLS(learner, MLSOL(), random_state=0).fit(X, Y)
    assert model.predict_proba(X).shape == Y.shape
    fitted = clone(learner).fit(X, Y)
    assert_array_equal(label_scores(fitted, X) > 0.5, fitted.predict(X).reshape(Y.shape) == 1)


def test_a_classifier_of_one_label_is_pointed_to_binary_relevance(data):
    with pytest.raises(InputError, match="BinaryRelevance"):
        EMLS(LogisticRegression(), MLSOL()).fit(*data)


def test_margins_become_scores_with_the_same_decision(data):
    X, Y = data
    margins = OneVsRestClassifier(LinearSVC(random_state=0))
    model = EMLS(margins, None, n_estimators=1, objective=None).fit(X, Y)
    scores = model.predict_proba(X)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert_array_equal(model.predict(X), model.estimators_[0].predict(X))


def test_a_foreign_under_sampler_gives_rows_out_of_bag(data):
    class Half(BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit_resample(self, X, Y):
            rows = np.random.default_rng(self.random_state).permutation(len(X))
            self.sample_indices_ = np.sort(rows[: len(X) // 2])
            return X[self.sample_indices_], Y[self.sample_indices_]

    model = EMLS(TREE, Half(), tune_on="oob", random_state=0).fit(*data)
    assert np.isfinite(model.thresholds_).all()


def test_mlsmote_searches_each_bag_once_for_all_members(monkeypatch, data):
    searches = count(monkeypatch, MLSMOTE, "_feature_metric")
    model = EMLS(TREE, MLSMOTE(), n_estimators=5, tune_on="train", random_state=0).fit(*data)
    bags = len(set(MLSMOTE().plan(*data).details.labels))
    assert (len(searches), len(model.estimators_)) == (2 * bags, 5)  # ours and the ensemble's


@pytest.mark.parametrize("learner", [LabelThresholds(TREE), EMLS(TREE, tune_on="cv")])
def test_fewer_rows_than_folds_are_refused(data, learner):
    X, Y = data
    with pytest.raises(TooFewRowsError, match=r"n_samples=2"):
        learner.fit(X[:2], Y[:2])


def test_what_an_ensemble_takes_is_what_its_estimator_takes():
    assert get_tags(EMLS(BinaryRelevance(), MLSOL())).input_tags.allow_nan
    assert not get_tags(LabelThresholds(MLkNN())).input_tags.allow_nan


def test_bags_beside_the_rows_that_a_sampler_adds():
    X, Y = make_multilabel_imbalanced(120, random_state=0)
    seen = []

    class Spy(KNeighborsClassifier):
        def fit(self, X, Y):
            seen.append(np.asarray(X))
            return super().fit(X, Y)

    options = {"n_estimators": 3, "tune_on": "train", "random_state": 0}
    model = EMLS(Spy(), MLSOL(), bootstrap="originals", **options).fit(X, Y)
    assert len(model.estimators_) == 3
    originals = {tuple(row) for row in X}
    for rows in seen:
        bag, new = rows[:120], rows[120:]
        assert {tuple(row) for row in bag} < originals
        assert len(new) == 36
        assert not {tuple(row) for row in new} <= originals
    assert not np.array_equal(seen[0], seen[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": None}, "only adds rows"),
        ({"sampler": MLRUS()}, "only adds rows"),
        ({"sampler": MLSOL(), "tune_on": "oob"}, "outside its bag"),
    ],
)
def test_bags_beside_are_refused_where_they_mean_nothing(options, words):
    X, Y = make_multilabel_imbalanced(60, random_state=0)
    model = EMLS(KNeighborsClassifier(), bootstrap="originals", **options)
    with pytest.raises(InputError, match=words):
        model.fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("bootstrap", [False, True, "originals"])
@pytest.mark.parametrize("tune_on", ["train", "cv"])
def test_ready_training_sets_give_the_same_ensemble(data, bootstrap, tune_on):
    X, Y = data
    options = {"bootstrap": bootstrap, "tune_on": tune_on, "random_state": 3}
    expected = EMLS(TREE, MLSOL(), **options).fit(X, Y)
    sets = draw_training_sets(MLSOL(), X, Y, 7, bootstrap=bootstrap, random_state=3)
    model = EMLS(TREE, MLSOL(), **options).fit(X, Y, training_sets=sets)
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert_array_equal(model.thresholds_, expected.thresholds_)


@pytest.mark.parametrize("kind", [partial(EMLS, bootstrap=True), partial(StackedBagging, C=None)])
def test_training_sets_with_rows_made_from_those_left_out_judge_nobody(data, kind):
    beside, within = (
        draw_training_sets(MLSOL(), *data, bootstrap=bags, max_features=0.5, random_state=0)
        for bags in ("originals", "parents")
    )
    kind(TREE, MLSOL()).fit(*data, training_sets=within)
    with pytest.raises(InputError, match='drawn with bootstrap="originals"'):
        kind(TREE, MLSOL()).fit(*data, training_sets=beside)
    EMLS(TREE, bootstrap=True, tune_on="train").fit(*data, training_sets=beside)


def test_every_member_needs_a_training_set(data):
    sets = draw_training_sets(MLSOL(), *data, 2, random_state=0)
    with pytest.raises(InputError, match=r"5 members.*Got 2"):
        EMLS(TREE).fit(*data, training_sets=sets)


@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@pytest.mark.parametrize("tune_on", ["train", "cv"])
def test_label_sets_are_learned_as_their_table(data, tune_on):
    """Also where a draw or a fold has lost a label altogether."""
    X, y = data[0][:40], data[1][:40]
    y = y[:, y.any(axis=0)]
    sets = [[f"label {j}" for j in np.flatnonzero(row)] for row in y]
    options = {"n_estimators": 2, "tune_on": tune_on, "random_state": 0}
    model, expected = (
        EMLS(MLkNN(3), MLRUS(sampling_ratio=0.5), **options).fit(X, labels) for labels in (sets, y)
    )
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert_array_equal(model.thresholds_, expected.thresholds_)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X[:, 1:], y), "5 features and 4 labels"),
        (lambda X, y: (X, y[:, 1:]), "6 features and 3 labels"),
        (lambda X, y: (np.vstack([X, X]), np.vstack([y, y])), "leaves out row"),
    ],
)
def test_training_sets_of_other_data_are_refused(data, change, words):
    X, y = data
    sets = draw_training_sets(None, *change(X, y), bootstrap=True, random_state=0)
    with pytest.raises(InputError, match=words):
        EMLS(TREE, n_estimators=3).fit(X, y, training_sets=sets)


def test_training_sets_may_have_more_rows_than_came(data):
    X, y = data
    sets = draw_training_sets(MLSOL(sampling_ratio=1.0), X, y, 2, random_state=0)
    assert sets[0].y.shape[0] == 2 * y.shape[0]
    assert len(EMLS(TREE, n_estimators=2).fit(X, y, training_sets=sets).estimators_) == 2


def test_weights_that_do_not_fit_their_set_are_refused(data):
    X, y = data
    (drawn,) = draw_training_sets(None, X, y, 1)
    wrong = [replace(drawn, weight=np.ones(3))]
    with pytest.raises(InputError, match="150 rows and 3 weights"):
        EMLS(TREE, n_estimators=1).fit(X, y, training_sets=wrong)


class Careful(BinaryRelevance):
    """A learner of somebody else, whose public methods do more than ours."""

    def fit(self, X, y):
        super().fit(X, y)
        self.seen_ = len(X)
        return self


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", [EMLS, LabelThresholds])
def test_a_learner_of_ours_gets_clean_rows_and_one_derived_from_it_its_own_fit(data, wrapper):
    X, y = data
    models = [
        wrapper(learner(), random_state=0).fit(X, y) for learner in (BinaryRelevance, Careful)
    ]
    assert_array_equal(*(model.predict_proba(X) for model in models))
    assert_array_equal(*(model.thresholds_ for model in models))
    inner = models[1].estimator_ if wrapper is LabelThresholds else models[1].estimators_[0]
    assert inner.seen_ == len(X)


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", [EMLS, LabelThresholds])
def test_clean_rows_are_those_that_a_learner_would_have_made(wrapper):
    """Frames with categories and whole numbers, nominal columns of the learner's own, bags."""
    X, y = make_multilabel_imbalanced(120, 6, 4, n_categorical=2, random_state=0)
    frame = pd.DataFrame(X).round(1)
    frame[0] = (frame[0] * 10).astype(int)
    frame[5] = pd.Categorical.from_codes(X[:, 5].astype(int), categories=list("abcdefghij"))
    for columns in (None, [4]):
        learner = BinaryRelevance(categorical_features=columns)
        careful = Careful(categorical_features=columns)
        for options in [{"tune_on": "cv"}, {"tune_on": "train"}]:
            models = [wrapper(one, random_state=0, **options) for one in (learner, careful)]
            if wrapper is EMLS:
                models = [model.set_params(sampler=MLSOL(), bootstrap=True) for model in models]
            ours, theirs = (model.fit(frame, y) for model in models)
            assert_array_equal(ours.predict_proba(frame), theirs.predict_proba(frame))
            assert_array_equal(ours.thresholds_, theirs.thresholds_)


@pytest.mark.slow
def test_stages_are_smaller_ensembles(data):
    X, Y = data
    stages = list(EMLS(TREE, MLSOL(), random_state=1).fit(X, Y).staged_predict_proba(X))
    for n, scores in enumerate(stages, start=1):
        smaller = EMLS(TREE, MLSOL(), n_estimators=n, random_state=1).fit(X, Y)
        assert_array_equal(scores, smaller.predict_proba(X))
    assert len(stages) == 5


@pytest.mark.slow
def test_a_warm_start_adds_members(monkeypatch, data):
    X, Y = data
    options = {"warm_start": True, "tune_on": "train", "random_state": 1}
    model = EMLS(TREE, MLSOL(), n_estimators=2, **options).fit(X, Y)
    fits = count(monkeypatch, DecisionTreeClassifier, "fit")
    model.set_params(n_estimators=5).fit(X, Y)
    assert len(fits) == 3
    expected = EMLS(TREE, MLSOL(), tune_on="train", random_state=1).fit(X, Y)
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert_array_equal(model.thresholds_, expected.thresholds_)


def test_a_warm_start_has_no_rows_out_of_bag(data):
    model = EMLS(TREE, bootstrap=True, tune_on="oob", warm_start=True)
    with pytest.raises(InputError, match="With warm_start=True"):
        model.fit(*data)


def test_a_training_set_may_bring_its_neighbors(data):
    X, Y = data
    (drawn,) = draw_training_sets(None, X, Y, 1)
    wrong = find_neighbors(X, 3)
    with pytest.raises(InputError, match="3 neighbors per row, and 10 are needed"):
        EMLS(MLkNN(), n_estimators=1).fit(X, Y, training_sets=[replace(drawn, neighborhood=wrong)])
    ready = [replace(drawn, neighborhood=find_neighbors(X, 10))]
    model = EMLS(MLkNN(), n_estimators=1).fit(X, Y, training_sets=ready)
    assert_array_equal(model.predict_proba(X), MLkNN().fit(X, Y).predict_proba(X))


@pytest.mark.slow
def test_a_warm_start_refuses_fewer_members(data):
    model = EMLS(TREE, MLSOL(), n_estimators=3, warm_start=True, random_state=1).fit(*data)
    with pytest.raises(InputError, match="n_estimators=2"):
        model.set_params(n_estimators=2).fit(*data)
    assert len(model.estimators_) == 3
    assert len(model.set_params(warm_start=False).fit(*data).estimators_) == 2


def test_a_warm_start_refuses_other_columns(data):
    X, y = data
    model = EMLS(TREE, MLSOL(), n_estimators=1, warm_start=True, random_state=1).fit(X, y)
    before = model.predict_proba(X)
    model.set_params(n_estimators=2)
    for other in [(X[:, 1:], y), (X, y[:, 1:])]:
        with pytest.raises(InputError, match="as before"):
            model.fit(*other)
    assert_array_equal(model.predict_proba(X), before)


def test_ready_training_sets_refuse_rows_without_weight(data):
    X, y = data
    sets = draw_training_sets(None, X, y, bootstrap=True, random_state=0)
    model = EMLS(TREE, bootstrap=True, tune_on="oob", random_state=0)
    weight = np.ones(len(X))
    weight[0] = 0
    with pytest.raises(InputError, match="weight 0"):
        model.fit(X, y, weight, training_sets=sets)


@pytest.mark.parametrize("bootstrap", [False, True, "originals"])
def test_training_sets_can_be_drawn_from_lists(data, bootstrap):
    X, y = data
    options = {"bootstrap": bootstrap, "random_state": 0}
    (expected,) = draw_training_sets(MLSOL(), X, y, 1, **options)
    (drawn,) = draw_training_sets(MLSOL(), X.tolist(), y.tolist(), 1, **options)
    assert_array_equal(drawn.y, expected.y)
    assert_array_equal(drawn.left_out, expected.left_out)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sampler": MLRUS(), "bootstrap": "originals"}, "only adds rows"),
        ({"sampler": None, "bootstrap": "originals"}, "only adds rows"),
        ({"sampler": None, "bootstrap": "besides"}, "'bootstrap'"),
        ({"sampler": None, "n_sets": -1}, "'n_sets'"),
        ({"sampler": "MLSOL"}, "'sampler'"),
        ({"sampler": None, "y": None}, "y is None"),
        ({"sampler": None, "y": [[1, 0]]}, "draw_training_sets needs X and y with the same"),
    ],
)
def test_training_sets_of_what_cannot_be_drawn_are_refused(data, options, words):
    X, y = data
    with pytest.raises(ValueError, match=words):
        draw_training_sets(**{"X": X, "y": y, **options})


@pytest.mark.parametrize("bootstrap", [False, True])
def test_a_warning_of_all_members_comes_once(bootstrap):
    X, y = make_multilabel_imbalanced(120, 4, 3, random_state=0)
    ensemble = EMLS(BinaryRelevance(), MLSMOTE(), bootstrap=bootstrap, random_state=0)
    with pytest.warns(FeatureScaleWarning) as caught:
        ensemble.fit(X * [1e4, 1, 1, 1], y)
    assert [w.category for w in caught].count(FeatureScaleWarning) == 1
