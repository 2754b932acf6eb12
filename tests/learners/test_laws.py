"""Every learner obeys the laws of :mod:`labelance.testing`; ensembles scikit-learn's too."""

import inspect

import pytest
from sklearn.tree import DecisionTreeClassifier

from labelance import learners
from labelance.ensemble import EMLS, LabelThresholds
from labelance.learners import BinaryRelevance, MLkNN
from labelance.learners._base import BaseMultiLabelClassifier
from labelance.sampling import MLROS, MLSOL
from labelance.testing import parametrize_with_learner_checks


def all_learners():
    """Every exported multi-label learner as it is made without arguments."""
    for name in learners.__all__:
        made = getattr(learners, name)
        if inspect.isclass(made) and issubclass(made, BaseMultiLabelClassifier):
            yield made()


LEARNERS = [
    *all_learners(),
    BinaryRelevance(DecisionTreeClassifier(min_samples_leaf=4)),
    EMLS(BinaryRelevance(), MLSOL()),
    EMLS(MLkNN(k=3), None, n_estimators=3, bootstrap=True, threshold_data="oob"),
    LabelThresholds(BinaryRelevance()),
    LabelThresholds(MLkNN(k=3), threshold="gmean", threshold_data="train"),
]


def exempt(learner):
    """Laws that a learner cannot obey, and why."""
    if isinstance(learner.get_params().get("estimator"), DecisionTreeClassifier):
        return {"learns_from_hostile_data": "scikit-learn's tree refuses words in its own words"}
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
    [(CLONES, ["sure"]), (BAGS, ["own_rule", "sure"]), (TUNED, ["own_rule", "sure"])],
    ids=["EMLS", "bagging", "LabelThresholds"],
)
def test_scikit_learn_checks_of_ensembles(learner, cannot, pass_scikit_learn_checks):
    pass_scikit_learn_checks(learner, *cannot)
