"""Every learner obeys the laws of :mod:`labelance.testing`; ensembles scikit-learn's too."""

import pytest
from imblearn.over_sampling import SMOTE
from sklearn.tree import DecisionTreeClassifier

from labelance.ensemble import EMLS, LabelThresholds
from labelance.learners import BinaryRelevance, MLkNN, PerLabel, all_learners
from labelance.sampling import MLROS, MLSOL
from labelance.testing import parametrize_with_learner_checks

LEARNERS = [
    *(kind() for kind in all_learners().values()),
    BinaryRelevance(DecisionTreeClassifier(min_samples_leaf=4)),
    PerLabel(SMOTE(k_neighbors=1)),
    EMLS(BinaryRelevance(), MLSOL()),
    EMLS(MLkNN(n_neighbors=3), None, n_estimators=3, bootstrap=True, threshold_data="oob"),
    LabelThresholds(BinaryRelevance()),
    LabelThresholds(MLkNN(n_neighbors=3), objective="gmean", threshold_data="train"),
]


def exempt(learner):
    """Laws that a learner cannot obey, and why."""
    if isinstance(learner.get_params().get("estimator"), DecisionTreeClassifier):
        return {"learns_from_hostile_data": "scikit-learn's tree refuses words in its own words"}
    if isinstance(learner.get_params().get("sampler"), SMOTE):
        return {"learns_from_hostile_data": "SMOTE's own sums overflow on huge values"}
    return {}


@parametrize_with_learner_checks(LEARNERS, expected_failures=exempt)
def test_learner_obeys_the_law(check):
    check()


# MLSOL would refuse some of the data, in which no class lies next to another.
CLONES = EMLS(BinaryRelevance(), MLROS(), n_estimators=2, random_state=0)
BAGS = EMLS(BinaryRelevance(), bootstrap=True, n_estimators=2, random_state=0)
TUNED = LabelThresholds(BinaryRelevance(), random_state=0)


@pytest.mark.parametrize(
    ("learner", "cannot"),
    [
        (CLONES, ["sure"]),
        (BAGS, ["own_rule", "sure", "draws_rows"]),
        (TUNED, ["own_rule", "sure", "draws_rows"]),
    ],
    ids=["EMLS", "bagging", "LabelThresholds"],
)
def test_scikit_learn_checks_of_ensembles(learner, cannot, pass_scikit_learn_checks):
    pass_scikit_learn_checks(learner, *cannot)
