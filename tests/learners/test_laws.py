"""Every learner obeys the laws of :mod:`labelance.testing`; ensembles scikit-learn's too."""

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from labelance.decisions import (
    BudgetClassifier,
    LabelCalibration,
    LabelThresholds,
    RecallGuarantee,
)
from labelance.ensemble import EMLS, MLSOLBagging, RareLabelClassifier, StackedBagging
from labelance.exceptions import InputError
from labelance.learners import IRUS, MCE, BinaryRelevance, MLkNN, PerLabel, all_learners
from labelance.sampling import MLROS, MLSOL
from labelance.testing import parametrize_with_learner_checks, sampler_data

pytestmark = pytest.mark.usefixtures("few_steps")


def with_few_members(kind):
    """Return a learner that obeys the laws for the same reasons as a larger one, in less time."""
    learner = kind()
    sizes = {"n_estimators": 4, "n_couples": 3}
    known = {name: size for name, size in sizes.items() if learner.get_params().get(name)}
    return learner.set_params(**known)


LEARNERS = [
    *map(with_few_members, all_learners().values()),
    EMLS(MLkNN(n_neighbors=3), MLSOL(), n_estimators=2),
    StackedBagging(MLkNN(n_neighbors=3), None, n_estimators=2),
    LabelThresholds(MLkNN(n_neighbors=3)),
    LabelCalibration(MLkNN(n_neighbors=3)),
    RecallGuarantee(MLkNN(n_neighbors=3), recall=0.6, too_few="never"),
    BudgetClassifier(MLkNN(n_neighbors=3)),
]
VARIANTS = [
    RareLabelClassifier(n_estimators=8),  # six models inside; its quick tests are its own
    BinaryRelevance(DecisionTreeClassifier(min_samples_leaf=4)),
    PerLabel(SMOTE(k_neighbors=1)),
    EMLS(MLkNN(n_neighbors=3), None, n_estimators=3, bootstrap=True, tune_on="oob"),
    EMLS(BinaryRelevance(), MLSOL(), n_estimators=3),
    MLSOLBagging(BinaryRelevance()),
    LabelThresholds(BinaryRelevance()),
    LabelThresholds(MLkNN(n_neighbors=3), objective="gmean", tune_on="train"),
    LabelCalibration(BinaryRelevance(), method="isotonic", min_class_count=2),
    RecallGuarantee(BinaryRelevance(), recall=0.6, too_few="never", tune_on="cv"),
    BudgetClassifier(BinaryRelevance(), utility="precision"),
]


def exempt(learner):
    """Laws that a learner cannot obey, and why."""
    if isinstance(learner.get_params().get("estimator"), DecisionTreeClassifier):
        return {"learns_from_hostile_data": "scikit-learn's tree refuses words in its own words"}
    if isinstance(learner, BudgetClassifier):
        together = {"rows_do_not_see_each_other": "the rows of a batch are decided together"}
        alone = {"constant_labels_stay_constant": "precision keeps the most probable cell alone"}
        return together | (alone if learner.utility == "precision" else {})
    if isinstance(learner.get_params().get("sampler"), SMOTE):
        return {"learns_from_hostile_data": "SMOTE's own sums overflow on huge values"}
    return {}


LAWS = parametrize_with_learner_checks(LEARNERS, expected_failures=exempt)
DEAR = ("learns_from_hostile_data", "works_in_cross_val_predict")


@pytest.mark.parametrize(
    "check",
    [
        case._replace(marks=[*case.marks, pytest.mark.slow]) if case.id.endswith(DEAR) else case
        for case in LAWS.args[1]
    ],
)
def test_learner_obeys_the_law(check):
    check()


@pytest.mark.slow
@parametrize_with_learner_checks(VARIANTS, expected_failures=exempt)
def test_a_variant_obeys_the_law(check):
    check()


# MLSOL would refuse some of the data, in which no class lies next to another.
CLONES = EMLS(BinaryRelevance(), MLROS(), n_estimators=2, tune_on="train", random_state=0)
BAGS = EMLS(BinaryRelevance(), bootstrap=True, n_estimators=2, random_state=0)
STACKED = StackedBagging(BinaryRelevance(), n_estimators=2, random_state=0)
DEFAULT = RareLabelClassifier(n_estimators=8, random_state=0)
TUNED = LabelThresholds(BinaryRelevance(), random_state=0)
GUARANTEED = RecallGuarantee(BinaryRelevance(), recall=0.6, too_few="never", random_state=0)
BUDGET = BudgetClassifier(BinaryRelevance(), random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "cannot"),
    [
        (CLONES, ["sure"]),
        (BAGS, ["own_rule", "sure", "draws_rows"]),
        (STACKED, ["own_rule", "draws_rows"]),
        (DEFAULT, ["own_rule", "draws_rows"]),
        (TUNED, ["own_rule", "sure", "draws_rows"]),
        (GUARANTEED, ["sure", "draws_rows"]),
        (BUDGET, ["sure"]),
    ],
    ids=[
        "EMLS",
        "bagging",
        "StackedBagging",
        "RareLabelClassifier",
        "LabelThresholds",
        "RecallGuarantee",
        "BudgetClassifier",
    ],
)
def test_scikit_learn_checks_of_ensembles(learner, cannot, pass_scikit_learn_checks):
    pass_scikit_learn_checks(learner, *cannot)


class WantsTwoFeatures(GaussianNB):
    """Fits where there are two features only."""

    def fit(self, X, y, sample_weight=None):
        if X.shape[1] != 2:
            raise RuntimeError("two features are wanted")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(
    "learner",
    [
        BinaryRelevance(WantsTwoFeatures()),
        IRUS(WantsTwoFeatures(), n_estimators=2, random_state=0),
        PerLabel(None, WantsTwoFeatures(), random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_fit_that_fails_leaves_a_learner_as_it_was(learner):
    X, y = sampler_data()
    with pytest.raises(RuntimeError, match="two features"):
        learner.fit(X, y)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    two = X[:, :2]
    scores = learner.fit(two, y[:, :3]).predict_proba(two)
    with pytest.raises(RuntimeError, match="two features"):
        learner.fit(X, y)
    assert_array_equal(learner.predict_proba(two), scores)
    assert (learner.n_features_in_, learner.n_labels_) == (2, 3)


def test_members_of_a_fit_that_fails_later_do_not_stay():
    X, y = sampler_data()
    learner = MCE(GaussianNB(), n_estimators=3, random_state=0).fit(X, y)
    scores = learner.predict_proba(X)
    with pytest.raises(InputError, match="too large"):
        learner.fit(np.sign(X) * np.finfo(float).max, y)
    assert_array_equal(learner.predict_proba(X), scores)
