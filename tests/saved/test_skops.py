"""Every learner and ensemble can be saved with skops, which runs no code when it opens a file."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from labelance import ensemble
from labelance.decisions import (
    BudgetClassifier,
    LabelCalibration,
    LabelThresholds,
    RecallGuarantee,
)
from labelance.ensemble import (
    EMLS,
    EMLSMOTE,
    EMLSOL,
    ERHwRSMT,
    MLSOLBagging,
    RareLabelClassifier,
    StackedBagging,
)
from labelance.learners import BinaryRelevance, C45Classifier, MLkNN, all_learners
from labelance.sampling import MLROS, all_samplers
from labelance.testing import sampler_data

pytestmark = pytest.mark.usefixtures("few_steps")

skops_io = pytest.importorskip("skops.io")

NEAR = MLkNN(n_neighbors=3)
MODELS = [
    EMLS(NEAR, MLROS(), n_estimators=2, random_state=0),
    EMLSMOTE(NEAR, n_estimators=2, random_state=0),
    EMLSOL(NEAR, n_estimators=2, random_state=0),
    ERHwRSMT(NEAR, n_estimators=2, random_state=0),
    MLSOLBagging(NEAR, n_estimators=2, random_state=0),
    StackedBagging(NEAR, None, n_estimators=2, random_state=0),
    RareLabelClassifier(n_estimators=8, random_state=0),
    LabelThresholds(NEAR, random_state=0),
    LabelCalibration(NEAR, random_state=0),
    RecallGuarantee(NEAR, recall=0.6, too_few="never", random_state=0),
    BudgetClassifier(NEAR, random_state=0),
]
# What files may name besides what skops trusts by itself. docs/user_guide/saving.md has the rule.
TRUSTED = ("labelance.", "sklearn.", "scipy.sparse.", "numpy.")


def test_every_ensemble_is_tried():
    public = {getattr(ensemble, name) for name in ensemble.__all__}
    fitted = {one for one in public if isinstance(one, type) and hasattr(one, "predict_proba")}
    assert fitted <= {type(model) for model in MODELS}


def save_and_open(model):
    """Return a model as skops opens it again."""
    saved = skops_io.dumps(model)
    named = skops_io.get_untrusted_types(data=saved)
    assert not [name for name in named if not name.startswith(TRUSTED)]
    return skops_io.loads(saved, trusted=named)


def check_same_scores(model):
    X, Y = sampler_data()
    model.fit(X, Y)
    assert_array_equal(save_and_open(model).predict_proba(X), model.predict_proba(X))


def test_neighbors_come_back():
    check_same_scores(MLkNN(n_neighbors=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", all_learners())
def test_every_learner_comes_back(name):
    learner = all_learners()[name]()
    sizes = {"n_estimators": 2, "n_couples": 2, "random_state": 0}
    known = learner.get_params()
    check_same_scores(learner.set_params(**{word: sizes[word] for word in sizes if word in known}))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_ensemble_and_decision_comes_back(model):
    check_same_scores(model)


@pytest.mark.slow
def test_a_model_of_texts_vectors_and_a_table_comes_back():
    numbers, Y = sampler_data()
    texts = [f"row {row} has {'one' if labels[0] else 'none'}" for row, labels in enumerate(Y)]
    X = pd.DataFrame({"text": texts, "vector": list(numbers), "size": numbers[:, 0]})
    model = RareLabelClassifier(n_estimators=2, random_state=0).fit(X, Y)
    assert_array_equal(save_and_open(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", [name for name in all_samplers() if name != "FunctionSampler"])
def test_samplers_come_back(name):
    sampler = all_samplers()[name]
    made = sampler([("mlros", MLROS())]) if name == "SamplerSequence" else sampler()
    opened = save_and_open(made)
    assert type(opened) is type(made)
    assert opened.get_params(deep=False).keys() == made.get_params(deep=False).keys()


def test_trees_of_our_own_come_back():
    X, Y = sampler_data()
    tree = C45Classifier().fit(X, Y[:, 0])
    assert_array_equal(save_and_open(tree).predict_proba(X), tree.predict_proba(X))
    check_same_scores(BinaryRelevance())
