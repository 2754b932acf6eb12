"""Thresholds: on which scores, for which objective, how certain, and shrunk for rare labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from imblearn.ensemble import BalancedBaggingClassifier, BalancedRandomForestClassifier
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import (
    CostMatrix,
    LabelCalibration,
    LabelThresholds,
    PrecisionAtRecall,
    RecallAtPrecision,
    find_thresholds,
)
from labelance.decisions._held_out import has_bags
from labelance.decisions._search import (
    ScoredRows,
    pooled_threshold,
    search_thresholds,
    shrink_thresholds,
)
from labelance.ensemble import EMLS
from labelance.exceptions import InputError
from labelance.learners import BinaryRelevance
from labelance.sampling import MLROS

TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
FOREST = RandomForestClassifier(40, random_state=0)
BAGS = BaggingClassifier(TREE, 40, max_features=0.7, random_state=0)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(150, 6, 4, random_state=0)


# ------------------------------------------------------------------------- whose scores


def test_a_frozen_estimator_has_thresholds_by_the_rows_that_are_known():
    X, y = make_multilabel_imbalanced(120, random_state=0)
    frozen = FrozenEstimator(BinaryRelevance().fit(X, y))
    holes = np.where(np.arange(120)[:, None] % 5 == 0, np.nan, y)
    model = LabelThresholds(frozen, shrinkage=0, random_state=0).fit(X, holes)
    expected = find_thresholds(holes, frozen.predict_proba(X), shrinkage=0)
    assert_array_equal(model.thresholds_, expected.thresholds)


@pytest.mark.slow
def test_a_forest_is_tuned_on_its_own_out_of_bag_scores(data):
    X, y = data
    model = LabelThresholds(FOREST, shrinkage=0).fit(X, y)
    known = clone(FOREST).set_params(oob_score=True).fit(X, y).oob_decision_function_[:, 1]
    assert_array_equal(
        model.thresholds_, search_thresholds(ScoredRows.of(sp.csr_array(y), known)).own
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrap", [BinaryRelevance, MultiOutputClassifier, OneVsRestClassifier], ids=lambda w: w.__name__
)
@pytest.mark.parametrize("inner", [FOREST, BAGS], ids=["forest", "bagging"])
def test_every_label_may_have_a_forest_or_bags_of_its_own(data, wrap, inner):
    X, y = data
    model = LabelThresholds(wrap(inner), tune_on="oob", shrinkage=0).fit(X, y)
    for j in range(y.shape[1]):
        one = clone(inner).set_params(oob_score=True).fit(X, y[:, j])
        known = one.oob_decision_function_[:, [1]]
        rows = np.isfinite(known).all(axis=1)
        own = search_thresholds(ScoredRows.of(sp.csr_array(y[rows][:, [j]]), known[rows])).own
        assert_array_equal(model.thresholds_[[j]], own)


@pytest.mark.slow
def test_a_forest_may_stand_at_the_end_of_a_pipeline(data):
    X, y = data
    behind = make_pipeline(StandardScaler(), FOREST)
    model = LabelThresholds(behind, shrinkage=0).fit(X, y)
    alone = LabelThresholds(FOREST, shrinkage=0).fit(StandardScaler().fit_transform(X), y)
    assert_array_equal(model.thresholds_, alone.thresholds_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrap", [BinaryRelevance, MultiOutputClassifier, OneVsRestClassifier], ids=lambda w: w.__name__
)
def test_every_label_may_have_a_pipeline_with_a_forest(data, wrap):
    X, y = data
    behind = wrap(make_pipeline(StandardScaler(), FOREST))
    model = LabelThresholds(behind, tune_on="oob", shrinkage=0).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    alone = LabelThresholds(wrap(FOREST), tune_on="oob", shrinkage=0).fit(scaled, y)
    assert_array_equal(model.thresholds_, alone.thresholds_)


@pytest.mark.slow
def test_members_without_probabilities_vote(data):
    X, y = data
    bags = BaggingClassifier(LinearSVC(random_state=0), 40, oob_score=True, random_state=0)
    model = LabelThresholds(BinaryRelevance(bags), tune_on="oob", shrinkage=0).fit(X, y)
    known = np.column_stack(
        [one.oob_decision_function_[:, 1] for one in model.estimator_.estimators_]
    )
    rows = np.isfinite(known).all(axis=1)
    assert_array_equal(
        model.thresholds_, search_thresholds(ScoredRows.of(sp.csr_array(y[rows]), known[rows])).own
    )


def test_an_ensemble_of_ours_behind_transformers_is_tuned_on_folds(data):
    X, y = data
    behind = make_pipeline(StandardScaler(), EMLS(TREE, n_estimators=2, bootstrap=True))
    assert LabelThresholds(behind, random_state=0).fit(X, y).predict(X).shape == y.shape


@pytest.mark.slow
def test_sparse_rows_have_the_same_out_of_bag_scores(data):
    X, y = data
    found = [
        LabelThresholds(FOREST).fit(kind(X), y).thresholds_ for kind in (np.asarray, sp.csr_array)
    ]
    assert_array_equal(*found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@pytest.mark.filterwarnings("ignore:Label .* is present in all:UserWarning")
@pytest.mark.filterwarnings("ignore:Label not :UserWarning")
@pytest.mark.parametrize(
    "learner", [FOREST, BinaryRelevance(FOREST), OneVsRestClassifier(FOREST)], ids=str
)
def test_labels_that_all_rows_agree_on_are_no_obstacle(data, learner):
    """scikit-learn's own out-of-bag scores fail on them."""
    X, y = data
    y = np.column_stack([np.zeros(150, int), y, np.ones(150, int)])
    model = LabelThresholds(learner, tune_on="oob", shrinkage=0).fit(X, y)
    assert_array_equal(model.predict(X)[:, [0, -1]], y[:, [0, -1]])
    assert_array_equal(model.thresholds_[[0, -1]], [np.inf, 1])


def test_who_has_bags():
    assert has_bags(FOREST)
    assert has_bags(EMLS(TREE, bootstrap=True))
    assert not has_bags(EMLS(TREE, MLROS(), bootstrap="originals"))
    assert not has_bags(ExtraTreesClassifier())
    assert has_bags(ExtraTreesClassifier(bootstrap=True))
    assert not has_bags(BinaryRelevance(LogisticRegression()))
    assert not has_bags(BinaryRelevance())
    assert not has_bags(KNeighborsClassifier())


@pytest.mark.parametrize(
    "step",
    [SelectKBest(), TargetEncoder(), make_union(StandardScaler(), SelectKBest()), MLROS()],
    ids=lambda step: type(step).__name__,
)
def test_bags_behind_a_step_that_saw_the_labels_of_all_rows_do_not_count(step):
    assert not has_bags(make_pipeline(step, FOREST))


@pytest.mark.parametrize("step", [VarianceThreshold(), "passthrough", StandardScaler()], ids=str)
def test_bags_behind_a_step_that_knows_no_labels_count(step):
    assert has_bags(make_pipeline(step, FOREST))


def test_trees_that_number_the_rows_of_their_own_samples_have_no_bags():
    assert not has_bags(BalancedRandomForestClassifier(bootstrap=True))
    assert has_bags(BalancedBaggingClassifier())


def test_out_of_bag_scores_without_bags_are_refused_before_anything_is_fitted(data):
    class Unfittable(KNeighborsClassifier):
        def fit(self, X, y):
            raise AssertionError

    for model in (
        LabelThresholds(Unfittable(), tune_on="oob"),
        LabelCalibration(Unfittable(), tune_on="oob"),
    ):
        with pytest.raises(InputError, match='tune_on="oob" needs an estimator whose members'):
            model.fit(*data)


def test_without_bags_the_scores_come_from_folds(data):
    X, y = data
    found = [
        LabelThresholds(KNeighborsClassifier(5), tune_on=source, random_state=0).fit(X, y)
        for source in ("auto", "cv")
    ]
    assert_array_equal(*(model.thresholds_ for model in found))


def test_calibrating_an_ensemble_of_bags_needs_no_folds(data):
    X, y = data
    model = LabelCalibration(EMLS(TREE, bootstrap=True, random_state=0)).fit(X, y)
    same = LabelCalibration(EMLS(TREE, bootstrap=True, random_state=0), tune_on="oob")
    assert_array_equal(model.predict_proba(X), same.fit(X, y).predict_proba(X))


# ----------------------------------------------------------------------------- objectives


def counts_at(y, scores, t):
    chosen = scores >= t
    return (
        (chosen & y).sum(),
        (chosen & ~y).sum(),
        (~chosen & y).sum(),
        (~chosen & ~y).sum(),
    )


def precision_recall(y, scores, t):
    tp, fp, fn, _ = counts_at(y, scores, t)
    return tp / (tp + fp) if tp + fp else 1.0, tp / (tp + fn) if tp + fn else 1.0


def some_scores(seed):
    rng = np.random.default_rng(seed)
    y = rng.random((40, 3)) < [0.1, 0.3, 0.8]
    y[0] = True
    return y, rng.integers(11, size=(40, 3)) / 10


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 0.5, 0.8, 1]))
def test_the_best_precision_or_recall_with_enough_of_the_other(seed, least):
    y, scores = some_scores(seed)
    rows = ScoredRows.of(sp.csr_array(y), scores)
    for wanted, objective in enumerate([PrecisionAtRecall(least), RecallAtPrecision(least)]):
        found = search_thresholds(rows, objective=objective).own
        for j in range(3):
            tried = [*scores[:, j], np.inf]
            all_of = {t: precision_recall(y[:, j], scores[:, j], t) for t in tried}
            best = max(both[wanted] for both in all_of.values() if both[1 - wanted] >= least)
            assert all_of[found[j]][1 - wanted] >= least  # never predicting is no false alarm
            assert all_of[found[j]][wanted] == best


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_the_least_cost_by_a_matrix_for_every_label(seed):
    y, scores = some_scores(seed)
    costs = np.random.default_rng(seed).integers(-2, 10, size=(3, 2, 2))
    found = search_thresholds(
        ScoredRows.of(sp.csr_array(y), scores), objective=CostMatrix(costs)
    ).own

    def cost(j, t):
        tp, fp, fn, tn = counts_at(y[:, j], scores[:, j], t)
        return (costs[j] * [[tn, fp], [fn, tp]]).sum()

    for j in range(3):
        assert cost(j, found[j]) == min(cost(j, t) for t in [*scores[:, j], np.inf])


@pytest.mark.slow
def test_equal_costs_for_all_labels_are_one_matrix(data):
    X, y = data
    one, each = (
        LabelThresholds(FOREST, objective=CostMatrix(costs)).fit(X, y).thresholds_
        for costs in ([[0, 1], [5, 0]], [[[0, 1], [5, 0]]] * 4)
    )
    assert_array_equal(one, each)


@pytest.mark.slow
def test_any_function_of_the_counts_is_an_objective(data):
    X, y = data
    by_name = LabelThresholds(FOREST, objective="f1", shrinkage=0).fit(X, y)
    by_hand = LabelThresholds(
        FOREST, objective=lambda tp, fp, fn, tn: 2 * tp / (2 * tp + fp + fn)
    ).fit(X, y)
    assert_allclose(by_hand.thresholds_, by_name.thresholds_)


@pytest.mark.parametrize("model", [LabelThresholds, LabelCalibration])
def test_one_label_is_a_table_of_one_column_and_nothing_to_warn_of(data, model):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model(KNeighborsClassifier(5), random_state=0).fit(X, y[:, :1])
    assert fitted.predict(X).shape == fitted.predict_proba(X).shape == (len(X), 1)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [FOREST, KNeighborsClassifier(5)], ids=["forest", "neighbors"])
def test_learners_that_take_no_sparse_labels_learn_from_them_all_the_same(data, learner):
    X, y = data
    dense, sparse = (
        LabelThresholds(learner, random_state=0).fit(X, t) for t in (y, sp.csr_array(y))
    )
    assert_array_equal(sparse.predict(X).toarray(), dense.predict(X))
    names = [[f"label {j}" for j in np.flatnonzero(row)] for row in y]
    named = LabelThresholds(learner, random_state=0).fit(X, names)
    assert_array_equal(named.predict_proba(X), dense.predict_proba(X))


@pytest.mark.slow
def test_a_function_that_is_undefined_somewhere_is_worst_there(data):
    """Precision is 0/0 where a value of the grid predicts nothing."""
    X, y = data

    def precision(tp, fp, fn, tn):
        return tp / (tp + fp)

    model = LabelThresholds(FOREST, objective=precision, threshold_search="grid").fit(X, y)
    known = LabelThresholds(FOREST, objective=PrecisionAtRecall(0), threshold_search="grid")
    predicted = model.predict_proba(X).max(axis=0) >= model.thresholds_
    assert_array_equal(predicted, True)
    assert (model.thresholds_ <= known.fit(X, y).thresholds_).all()


@pytest.mark.parametrize(
    "objective", [PrecisionAtRecall, lambda tp, fp: tp - fp, lambda tp, fp, fn, tn: 1.0]
)
def test_what_is_no_function_of_the_counts_is_refused_before_anything_is_fitted(data, objective):
    class NeverFitted(KNeighborsClassifier):
        def fit(self, X, y):
            raise AssertionError

    with pytest.raises(InputError, match=r"function \(tp, fp, fn, tn\) -> value"):
        LabelThresholds(NeverFitted(), objective=objective).fit(*data)


def test_what_is_no_share_or_no_matrix_is_refused(data):
    for wrong in (-0.1, 1.5, np.nan, "0.9", None):
        with pytest.raises(InputError, match=r"share of .* must be in"):
            PrecisionAtRecall(wrong)
        with pytest.raises(InputError, match=r"share of .* must be in"):
            RecallAtPrecision(wrong)
    shapes = ([1, 2], np.zeros((2, 3)), np.zeros((1, 1, 2, 2)), [[0, 1], [9]])
    for costs in (*shapes, [[0, np.inf], [1, 0]], "costs", None):
        with pytest.raises(InputError, match=r"costs of CostMatrix .* shape \(2, 2\)"):
            CostMatrix(costs)
    with pytest.raises(InputError, match="each of 4 labels"):
        LabelThresholds(FOREST, objective=CostMatrix(np.zeros((3, 2, 2)))).fit(*data)


# ------------------------------------------------------------------ spread and shrinkage


@pytest.mark.slow
def test_the_spread_is_that_of_the_thresholds_of_the_folds(data):
    X, y = data
    model = LabelThresholds(KNeighborsClassifier(5), random_state=0).fit(X, y)
    assert (model.threshold_spread_ >= 0).all()
    # The same scores everywhere: no threshold but one.
    constant = LabelThresholds(KNeighborsClassifier(100), random_state=0)
    assert_array_equal(constant.fit(np.zeros_like(X), y).threshold_spread_ < 0.1, True)
    forest = LabelThresholds(FOREST).fit(X, y)
    assert np.isfinite(forest.threshold_spread_).all()


@pytest.mark.slow
def test_training_rows_say_nothing_about_the_spread(data):
    model = LabelThresholds(FOREST, tune_on="train").fit(*data)
    assert np.isnan(model.threshold_spread_).all()
    assert not LabelThresholds(FOREST, objective=None).fit(*data).threshold_spread_.any()


@pytest.mark.slow
def test_a_label_in_one_fold_only_has_no_spread(data):
    X, y = data
    y = y.copy()
    y[:, 0] = np.arange(150) == 7
    spread = LabelThresholds(FOREST, random_state=0).fit(X, y).threshold_spread_
    assert np.isnan(spread[0])
    assert np.isfinite(spread[1:]).all()


def test_shrinkage_weighs_own_and_common_threshold_by_rows():
    own, n_positive = np.array([0.1, 0.3, np.inf]), np.array([1, 15, 0])
    assert_allclose(shrink_thresholds(own, 0.5, n_positive, 5), [(0.1 + 2.5) / 6, 0.35, np.inf])
    assert_array_equal(shrink_thresholds(own, 0.5, n_positive, 0), own)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_the_common_threshold_is_the_best_for_all_labels_alike(seed):
    y, scores = some_scores(seed)
    Y = sp.csr_array(y)
    own = search_thresholds(ScoredRows.of(Y, scores)).own

    def mean_f(t):
        return np.mean(
            [
                2 * tp / (2 * tp + fp + fn)
                for tp, fp, fn, _ in (counts_at(y[:, j], scores[:, j], t) for j in range(3))
            ]
        )

    found = pooled_threshold(ScoredRows.of(Y, scores), own)
    assert found in own
    assert_allclose(mean_f(found), max(map(mean_f, own)))


@pytest.mark.slow
def test_much_shrinkage_is_one_threshold_and_none_is_each_labels_own(data):
    X, y = data
    model = LabelThresholds(FOREST, shrinkage=1e12, shrink_to="pooled").fit(X, y)
    assert np.ptp(model.thresholds_) < 1e-6
    own = LabelThresholds(FOREST, shrinkage=0).fit(X, y).thresholds_
    some = LabelThresholds(FOREST, shrink_to="pooled").fit(X, y).thresholds_
    common = model.thresholds_[0]
    # Every label's threshold moves towards the common one, the rarer the further.
    assert_allclose(some, own + (common - own) * 5 / (y.sum(axis=0) + 5), rtol=1e-6)


@pytest.mark.slow
def test_conditions_are_not_softened_by_shrinkage(data):
    X, y = data
    rule = PrecisionAtRecall(0.9)
    found = [
        LabelThresholds(FOREST, objective=rule, **options).fit(X, y).thresholds_
        for options in ({}, {"shrinkage": 0})
    ]
    assert_array_equal(*found)
