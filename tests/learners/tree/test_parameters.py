"""Parameters and weights of C45Classifier, as scikit-learn asks for them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

from labelance.learners import C45Classifier
from labelance.learners.tree import class_problems, fit_many

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"confidence": 0},
        {"confidence": 1.0},
        {"min_samples_leaf": 0},
        {"prune": "no"},
        {"subtree_raising": None},
        {"n_categories": 0},
        {"class_weight": "uniform"},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_before_any_work(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        C45Classifier(**wrong).fit(X, y)


def test_many_trees_refuse_the_same():
    for wrong in ({"confidence": 0}, {"min_samples_leaf": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            fit_many(X, class_problems(y[:, None], 3), **wrong)


def test_leaves_are_as_heavy_as_asked():
    """At least two branches of a split weigh so much, and these numeric ones have two."""
    for least in (2, 7, 20):
        tree = C45Classifier(min_samples_leaf=least, prune=False, collapse=False).fit(X, y)
        forest = tree.forest_
        assert forest.weight[forest.feature < 0].min() >= least
        assert tree.get_n_leaves() > 1


def test_a_row_of_weight_two_is_two_rows():
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = C45Classifier().fit(X, y, sample_weight=weight)
    repeated = C45Classifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.export_text() == repeated.export_text()


def test_conventions_of_scikit_learn():
    check_estimator(C45Classifier(), on_skip=None)
