"""Weights of rows: what learners and ensembles do with them, and when they refuse them."""

from typing import ClassVar

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import LabelThresholds
from labelance.decisions._search import ScoredRows, search_thresholds
from labelance.ensemble import EMLS
from labelance.exceptions import InputError
from labelance.learners import (
    COCOA,
    ECC,
    ECCRU3,
    BinaryRelevance,
    C45Classifier,
    CalibratedLabelRanking,
    LabelPowerset,
    RAkEL,
    all_learners,
)
from labelance.sampling import MLROS, MLSMOTE, MLSOL, MLUL, SamplerSequence, sample_weights
from labelance.testing._learner_laws import (
    check_rows_without_weight_do_not_count,
    check_weights_count_rows,
    check_weights_of_one_change_nothing,
)

DATA = make_multilabel_imbalanced(120, 6, n_labels=4, random_state=0)
COUNTS = 1 + np.arange(120) % 3


class Recorder(LogisticRegression):
    """Notes of every fit whether there were weights."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(sample_weight is not None)
        return super().fit(X, y, sample_weight)


WEIGHTED = [
    BinaryRelevance(),
    LabelPowerset(),
    CalibratedLabelRanking(),
    RAkEL(labelset_size=2, random_state=0),
    COCOA(random_state=0),
    ECC(n_estimators=3, random_state=0),
    ECCRU3(n_estimators=3, random_state=0),
    EMLS(BinaryRelevance(), MLSOL(), random_state=0),
    LabelThresholds(BinaryRelevance(), random_state=0),
]


@pytest.mark.parametrize("learner", WEIGHTED, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=2)], ids=str)
def test_weights_of_the_library_are_taken_and_tell(learner, estimator):
    X, Y = DATA
    inside = "estimator__estimator" if isinstance(learner, EMLS | LabelThresholds) else "estimator"
    learner = sklearn.clone(learner).set_params(**{inside: estimator})
    plain = learner.fit(X, Y).predict_proba(X)
    weights = sample_weights(X, Y)
    assert np.any(learner.fit(X, Y, sample_weight=weights).predict_proba(X) != plain)


REDUCTIONS = {
    name: kind
    for name, kind in all_learners().items()
    if "estimator" in kind().get_params() and has_fit_parameter(kind(), "sample_weight")
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", REDUCTIONS.values(), ids=REDUCTIONS)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 3}], ids=str)
def test_weights_of_rows_and_of_classes_work_together(kind, class_weight):
    """The laws of weights hold for every kind of class weights; without any, see test_laws."""
    learner = kind(C45Classifier(class_weight=class_weight))
    few = {"n_estimators": 3, "n_couples": 2, "random_state": 0}
    learner.set_params(**{name: few[name] for name in few if name in learner.get_params()})
    check_weights_of_one_change_nothing(learner)
    check_rows_without_weight_do_not_count(learner)
    if kind in (BinaryRelevance, CalibratedLabelRanking, LabelPowerset, RAkEL):
        assert learner._weights_count_rows
    check_weights_count_rows(learner)


@pytest.mark.parametrize("learner", WEIGHTED, ids=lambda learner: type(learner).__name__)
def test_an_estimator_without_weights_is_refused_before_work(learner):
    inside = "estimator__estimator" if isinstance(learner, EMLS | LabelThresholds) else "estimator"
    learner = sklearn.clone(learner).set_params(**{inside: KNeighborsClassifier()})
    with pytest.raises(InputError, match="KNeighborsClassifier takes no weights"):
        learner.fit(*DATA, sample_weight=np.ones(120))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(119), r"shape \(119,\), and X has 120 rows"),
        (np.ones((120, 1)), r"shape \(120, 1\)"),
        (-np.ones(120), "negative"),
        (np.full(120, np.nan), "missing"),
        (np.zeros(120), "zero"),
    ],
)
def test_strange_weights_are_refused(weights, words):
    with pytest.raises(InputError, match=words):
        BinaryRelevance().fit(*DATA, sample_weight=weights)


@pytest.mark.parametrize("objective", ["f1", "gmean", "balanced_accuracy"])
@pytest.mark.parametrize("search", ["exact", "grid"])
def test_thresholds_count_weights_as_rows(objective, search):
    rng = np.random.default_rng(0)
    Y, scores = (rng.random((120, 3)) < 0.3).astype(np.int8), rng.integers(0, 21, (120, 3)) / 20
    again = np.repeat(np.arange(120), COUNTS)
    options = {"objective": objective, "search": search}
    weighted = search_thresholds(
        ScoredRows.of(csr_array(Y), scores, weight=COUNTS.astype(float)), **options
    ).own
    repeated = search_thresholds(ScoredRows.of(csr_array(Y[again]), scores[again]), **options).own
    assert_array_equal(weighted, repeated)


def test_thresholds_on_training_rows_count_weights_as_rows():
    X, Y = DATA
    learner = LabelThresholds(BinaryRelevance(), tune_on="train")
    again = np.repeat(np.arange(120), COUNTS)
    expected = learner.fit(X[again], Y[again]).predict(X)
    assert_array_equal(learner.fit(X, Y, sample_weight=COUNTS).predict(X), expected)


class Noted(BinaryRelevance):
    """Remembers what it learned from."""

    def _fit(self, data, X, weight=None):
        self.learned_ = data.X, weight
        super()._fit(data, X, weight)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "bootstrap"),
    [
        *[(sampler, False) for sampler in (MLSOL(), MLSMOTE(variant="mulan"), MLUL(), MLROS())],
        *[(MLSOL(), "originals"), (MLSOL(), True), (None, True)],
    ],
    ids=str,
)
def test_rows_of_members_have_the_weights_of_the_rows_they_come_from(sampler, bootstrap):
    X, Y = DATA
    weights = 1 + np.arange(120) / 120
    model = EMLS(Noted(), sampler, n_estimators=2, bootstrap=bootstrap, random_state=0)
    weight_of = {row.tobytes(): weight for row, weight in zip(X, weights)}
    for member in model.fit(X, Y, sample_weight=weights).estimators_:
        rows, given = member.learned_
        assert len(rows) == len(given)
        old = [weight_of.get(row.tobytes()) for row in rows]
        assert all(known in (None, weight) for known, weight in zip(old, given))
        assert set(given) <= set(weights)


def test_new_rows_of_a_sampler_that_does_not_tell_are_refused():
    sampler = SamplerSequence([MLSOL(), MLUL()])
    with pytest.raises(InputError, match="SamplerSequence does not report"):
        EMLS(BinaryRelevance(), sampler).fit(*DATA, sample_weight=COUNTS)


@pytest.mark.slow
def test_weights_reach_learners_through_scikit_learn():
    X, Y = DATA
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        asks = BinaryRelevance(estimator).set_fit_request(sample_weight=True)
        asks.set_score_request(sample_weight=False)
        options = {"cv": 2, "return_estimator": True}
        found = cross_validate(asks, X, Y, params={"sample_weight": COUNTS}, **options)
        plain = cross_validate(BinaryRelevance(LogisticRegression()), X, Y, **options)
    coefficients = [run["estimator"][0].estimators_[0].coef_ for run in (found, plain)]
    by_hand = LogisticRegression().fit(X[60:], Y[60:, 0], sample_weight=COUNTS[60:])
    assert_allclose(coefficients[0], by_hand.coef_)
    assert np.any(coefficients[0] != coefficients[1])


def test_data_are_validated_before_rows_without_weight_are_dropped():
    X, y = DATA
    weight = np.ones(len(X))
    weight[3] = 0
    damaged = csr_array(X)
    damaged.indptr[5] = 2**30
    learner = BinaryRelevance(LogisticRegression())
    cases = {
        "indptr": (damaged, y),
        "same number of rows": (X, y[:-1]),
        "y is None": (X, None),
        "X is None": (None, y),
    }
    for words, (rows, labels) in cases.items():
        with pytest.raises(InputError, match=words):
            learner.fit(rows, labels, weight)
        with pytest.raises(InputError, match=words):
            learner.fit(rows, labels)


WRAPPERS = [
    BinaryRelevance,
    ECC,
    lambda inner: COCOA(inner, random_state=0),
    lambda inner: LabelThresholds(BinaryRelevance(inner), tune_on="train"),
    lambda inner: EMLS(BinaryRelevance(inner), n_estimators=2),
]


def request(learner, inner):
    """Return the learner and all that it wraps, asking for weights, except for the innermost."""
    if learner.estimator is not inner:
        request(learner.estimator, inner)
    return learner.set_fit_request(sample_weight=True)


@pytest.mark.slow
@pytest.mark.parametrize("wrap", WRAPPERS)
def test_with_routing_an_estimator_gets_the_weights_it_asks_for(wrap):
    X, y = DATA
    with sklearn.config_context(enable_metadata_routing=True):
        for asks in (True, False):
            inner = Recorder().set_fit_request(sample_weight=asks)
            Recorder.seen = []
            request(wrap(inner), inner).fit(X, y, COUNTS)
            assert Recorder.seen
            assert set(Recorder.seen) == {asks}
        with pytest.raises(UnsetMetadataPassedError):
            request(wrap(silent := Recorder()), silent).fit(X, y, COUNTS)


def test_with_routing_our_own_trees_take_weights_without_being_asked():
    X, y = DATA
    expected = BinaryRelevance().fit(X, y, COUNTS).predict_proba(X)
    with sklearn.config_context(enable_metadata_routing=True):
        found = BinaryRelevance().fit(X, y, COUNTS).predict_proba(X)
    assert_array_equal(found, expected)
