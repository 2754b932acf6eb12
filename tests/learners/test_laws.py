"""Every learner obeys the laws of :mod:`labelance.testing`."""

import inspect

from sklearn.tree import DecisionTreeClassifier

from labelance import learners
from labelance.ensemble import EMLS, LabelThresholds
from labelance.learners import BinaryRelevance, MLkNN
from labelance.learners._base import BaseMultiLabelClassifier
from labelance.sampling import MLSOL
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


@parametrize_with_learner_checks(LEARNERS)
def test_learner_obeys_the_law(check):
    check()
