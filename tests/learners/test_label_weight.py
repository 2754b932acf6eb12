"""``label_weight``, against each label fitted by hand with ``sample_weight``."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from imblearn import FunctionSampler
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone, config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelThresholds
from labelance.exceptions import InputError
from labelance.learners import ECC, BinaryRelevance, C45Classifier, PerLabel
from labelance.sampling import distribution_balanced_weights, label_weights

X, Y = make_multilabel_imbalanced(120, 6, n_labels=4, random_state=0)
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(Y, columns=NAMES)
UNKNOWN = np.where(np.random.default_rng(0).random(Y.shape) < 0.2, np.nan, Y)
ROWS = 1 + np.arange(120) / 60
CELLS = np.random.default_rng(1).uniform(0.5, 3, Y.shape)
CLASSES = np.array([[1, 2], [0.5, 4], [1, 1], [2, 1.5]])
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def cells_of(wanted, y):
    """Return the weight of every cell by a loop."""
    cells = np.ones(y.shape)
    for i, j in np.ndindex(y.shape):
        positives, known = np.nansum(y[:, j]), np.count_nonzero(~np.isnan(y[:, j]))
        if isinstance(wanted, str):
            cells[i, j] = known / (2 * (positives if y[i, j] == 1 else known - positives))
        elif isinstance(wanted, dict):
            cells[i, j] = wanted.get(j, 1) if y[i, j] == 1 else 1
        elif np.shape(wanted) == (4, 2):
            cells[i, j] = wanted[j][int(y[i, j] == 1)]
        else:
            cells[i, j] = wanted[i, j]
    return cells


def scores_by_hand(estimator, y, weights):
    columns = []
    for j in range(y.shape[1]):
        known = ~np.isnan(y[:, j])
        model = clone(estimator).fit(X[known], y[known, j], sample_weight=weights[known, j])
        columns.append(model.predict_proba(X)[:, 1])
    return np.column_stack(columns)


def scores(learner, y=Y, weight=None):
    return learner.fit(X, y, sample_weight=weight).predict_proba(X)


@pytest.mark.parametrize(
    "wanted", ["balanced", {0: 3.0, 2: 2}, CLASSES, CELLS], ids=lambda w: type(w)
)
@pytest.mark.parametrize("y", [Y.astype(float), UNKNOWN], ids=["known", "unknown"])
@pytest.mark.parametrize("rows", [None, ROWS], ids=["", "rows"])
@pytest.mark.parametrize("estimator", [TREE, C45Classifier()], ids=["tree", "c45"])
def test_each_label_learns_as_by_hand_with_sample_weight(estimator, rows, y, wanted):
    weights = cells_of(wanted, y) * (1 if rows is None else rows[:, None])
    found = scores(BinaryRelevance(estimator, label_weight=wanted), y, rows)
    assert_allclose(found, scores_by_hand(estimator, y, weights), rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), HistGradientBoostingClassifier(max_iter=2), TREE, C45Classifier()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_balanced_is_the_class_weight_of_scikit_learn(estimator):
    expected = BinaryRelevance(clone(estimator).set_params(class_weight="balanced"))
    assert_array_equal(
        scores(BinaryRelevance(estimator, label_weight="balanced")), scores(expected)
    )


@pytest.mark.parametrize("kind", [BinaryRelevance, ECC, PerLabel])
def test_all_forms_agree(kind):
    """An array, a list, a Series, mappings by name and number, and functions."""
    same = {"sampler": FunctionSampler()} if kind is PerLabel else {}
    same |= {"n_estimators": 1} if kind is ECC else {}
    same |= {} if kind is BinaryRelevance else {"random_state": 0}

    def found(wanted, y=Y):
        return kind(estimator=TREE, label_weight=wanted, **same).fit(X, y).predict_proba(X)

    positives = np.array([1, 2.5, 1, 4])
    by_name = pd.Series(positives, index=NAMES)[::-1]
    pairs = np.column_stack([np.ones(4), positives])
    expected = found(positives)
    assert np.any(expected != found(None))
    for wanted in (positives.tolist(), {1: {1: 2.5, 0: 1}, np.int64(3): 4}, pairs):
        assert_array_equal(found(wanted), expected)
        assert_array_equal(found(wanted, sp.csr_array(Y)), expected)
    for wanted in (by_name, by_name.to_dict(), {"b": 2.5, 3: 4}):
        assert_array_equal(found(wanted, FRAME), expected)
    assert_array_equal(found(label_weights), found("balanced"))
    assert_array_equal(found(lambda y: np.ones(y.shape[1])), found(None))
    if kind is not PerLabel:
        assert_array_equal(found(cells_of(pairs, Y)), expected)
        assert_array_equal(found(lambda y: by_name, FRAME), expected)
        balanced = distribution_balanced_weights(Y)
        assert_array_equal(found(distribution_balanced_weights), found(balanced))


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), TREE], ids=str)
@pytest.mark.parametrize("kind", [BinaryRelevance, ECC])
def test_weights_of_one_are_none_bit_for_bit(kind, estimator):
    seed = {"random_state": 0, "n_estimators": 2} if kind is ECC else {}
    plain = scores(kind(estimator, **seed))
    for ones in ({}, np.ones(4), np.ones((4, 2)), np.ones(Y.shape)):
        assert_array_equal(scores(kind(estimator, label_weight=ones, **seed)), plain)


def test_a_weight_of_a_label_changes_that_label_only():
    weighted = scores(BinaryRelevance(LogisticRegression(), label_weight={2: 5}), weight=ROWS)
    plain = scores(BinaryRelevance(LogisticRegression()), weight=ROWS)
    assert_array_equal(np.delete(weighted, 2, axis=1), np.delete(plain, 2, axis=1))
    assert (weighted[:, 2] > plain[:, 2]).all()


@pytest.mark.parametrize("wanted", ["balanced", CLASSES, CELLS], ids=lambda w: type(w))
def test_links_of_a_chain_learn_as_by_hand(wanted):
    chain = ECC(LogisticRegression(), n_estimators=1, label_weight=wanted, random_state=0)
    labels, models = chain.fit(X, Y, sample_weight=ROWS).estimators_[0]
    stream = np.random.default_rng(0).spawn(1)[0]
    assert_array_equal(labels, stream.permutation(4))
    bag = stream.integers(120, size=120)
    weights = cells_of(wanted, Y.astype(float)) * ROWS[:, None]
    for t, label in enumerate(labels):
        wide = np.column_stack([X, Y[:, np.sort(labels[:t])]])[bag]
        by_hand = LogisticRegression().fit(wide, Y[bag, label], sample_weight=weights[bag, label])
        assert_allclose(models[t].coef_, by_hand.coef_)


def test_per_label_balances_the_resampled_rows():
    sampler = RandomOverSampler(sampling_strategy=0.5)
    learner = PerLabel(sampler, LogisticRegression(), random_state=0, label_weight="balanced")
    balanced = clone(learner).set_params(
        label_weight=None, estimator=LogisticRegression(class_weight="balanced")
    )
    found = learner.fit(X, Y).predict_proba(X)
    assert_array_equal(found, balanced.fit(X, Y).predict_proba(X))
    whole = clone(learner).set_params(sampler=RandomOverSampler()).fit(X, Y).predict_proba(X)
    plain = PerLabel(None, LogisticRegression(), random_state=0).fit(X, Y).predict_proba(X)
    assert_array_equal(whole, plain)


def test_weights_of_labels_survive_pickles_clones_jobs_and_thresholds():
    learner = BinaryRelevance(LogisticRegression(), label_weight={"a": 2.0})
    again = pickle.loads(pickle.dumps(clone(learner)))
    assert again.get_params()["label_weight"] == {"a": 2.0}
    expected = scores(learner, FRAME)
    with parallel_config("threading", n_jobs=2):
        assert_array_equal(scores(again, FRAME), expected)
    tuned = LabelThresholds(learner, random_state=0).fit(X, FRAME)
    assert_array_equal(tuned.predict_proba(X), expected)


def test_rows_of_weight_zero_do_not_count_in_balanced_weights():
    kept = np.arange(120) % 3 > 0
    learner = BinaryRelevance(TREE, label_weight="balanced")
    found = scores(learner, weight=kept.astype(float))
    assert_array_equal(found, learner.fit(X[kept], Y[kept]).predict_proba(X))


def test_the_last_step_of_a_pipeline_gets_the_weights():
    pipeline = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), TREE))
    learner = BinaryRelevance(pipeline, label_weight="balanced")
    by_hand = [
        clone(pipeline).set_params(pipeline__decisiontreeclassifier__class_weight="balanced")
        .fit(X, Y[:, j]).predict_proba(X)[:, 1]
        for j in range(4)
    ]  # fmt: skip
    assert_array_equal(scores(learner), np.column_stack(by_hand))
    plain = BinaryRelevance(pipeline)
    assert np.any(scores(plain, weight=ROWS) != scores(plain))
    tuned = LabelThresholds(make_pipeline(StandardScaler(), BinaryRelevance(TREE)), random_state=0)
    assert np.any(scores(tuned, weight=ROWS) != scores(tuned))


def test_with_routing_estimators_get_weights_of_labels_unasked_and_pipelines_route_them():
    expected = scores(BinaryRelevance(TREE, label_weight="balanced"))
    with config_context(enable_metadata_routing=True):
        assert_array_equal(scores(BinaryRelevance(TREE, label_weight="balanced")), expected)
        asks = clone(TREE).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        learner = BinaryRelevance(make_pipeline(scaler, asks), label_weight="balanced")
        assert_allclose(scores(learner), expected)


class Untouched(KNeighborsClassifier):
    """Fails when fitted."""

    def fit(self, X, y):
        raise AssertionError


@pytest.mark.parametrize("kind", [BinaryRelevance, ECC, PerLabel])
@pytest.mark.parametrize(
    "estimator",
    [Untouched(), make_pipeline(StandardScaler(), Untouched()),
     make_sampling_pipeline(RandomOverSampler(), TREE)],
    ids=["classifier", "pipeline", "sampler"],
)  # fmt: skip
def test_an_estimator_without_weights_is_refused_before_work(estimator, kind):
    learner = kind(estimator=estimator, label_weight="balanced")
    words = f"estimator of {kind.__name__} must accept sample_weight.*takes no weights"
    with pytest.raises(InputError, match=words):
        learner.fit(X, Y)


@pytest.mark.parametrize("kind", [BinaryRelevance, ECC, PerLabel])
@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"e": 2}, "there is no label 'e'. Labels: a, b, c, d"),
        ({4: 2}, "there is no label 4"),
        ([1, 2, 3], r"shape \(3,\), and y has 120 rows of weight > 0 and 4 labels"),
        (np.ones((119, 4)), r"shape \(119, 4\).*Pass a function of y"),
        ({"a": "many"}, "must hold numbers"),
        ([1, 2, 3, 0], "finite numbers > 0.*NaN in y"),
        (CELLS - 1, "finite numbers > 0"),
        ("heavy", "label_weight"),
        (2.0, "label_weight"),
    ],
)
def test_strange_weights_are_refused(kind, wanted, words):
    learner = kind(estimator=LogisticRegression(), label_weight=wanted)
    with pytest.raises(ValueError, match=words):
        learner.fit(X, FRAME)


def test_cells_that_a_sampler_makes_have_no_weights():
    with pytest.raises(InputError, match="It has one per cell"):
        PerLabel(None, TREE, label_weight=CELLS).fit(X, Y)


def test_weights_of_cells_may_be_missing_where_y_is():
    holes = np.where(np.isnan(UNKNOWN), np.nan, CELLS)
    found, expected = (
        scores(BinaryRelevance(TREE, label_weight=cells), UNKNOWN) for cells in (holes, CELLS)
    )
    assert_array_equal(found, expected)


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_ratio_of_a_label_that_does_not_vary_is_not_used(constant):
    y = np.column_stack([Y, np.full(120, constant)])
    ratio = BinaryRelevance(TREE, label_weight=lambda y: (1 - y).sum(axis=0) / y.sum(axis=0))
    expected = BinaryRelevance(TREE, label_weight=lambda y: label_weights(y, kind="positive"))
    assert_array_equal(scores(ratio, y), scores(expected, y))


def test_cross_validation_balances_the_training_rows_of_each_fold():
    learner = BinaryRelevance(TREE, label_weight="balanced")
    run = cross_validate(learner, X, Y, cv=2, return_estimator=True)["estimator"][0]
    assert_array_equal(run.predict_proba(X), learner.fit(X[60:], Y[60:]).predict_proba(X))
