"""Parameters and weights of C45Classifier, as scikit-learn asks for them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator

from labelance.exceptions import InputError, LabelFormatError
from labelance.learners import C45Classifier
from labelance.learners import tree as package
from labelance.learners.tree import (
    Problems,
    class_problems,
    fit_many,
    label_problems,
    pair_problems,
    prepare_data,
    subset_problems,
)

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


def test_the_package_has_what_it_lists():
    assert [name for name in package.__all__ if not hasattr(package, name)] == []


OTHER_PROBLEMS = {
    "rows of a longer X": lambda: label_problems(np.ones((len(X) + 1, 2), dtype=int)),
    "negative rows": lambda: subset_problems([np.array([-1, 0])], [np.array([0, 1])], 2),
    "more classes than declared": lambda: class_problems(y[:, None], 2),
    "negative classes": lambda: class_problems(y[:, None] - 1, 3),
}


@pytest.mark.parametrize("problems", OTHER_PROBLEMS.values(), ids=OTHER_PROBLEMS)
def test_problems_of_another_x_are_refused(problems):
    with pytest.raises(InputError, match="row numbers of X, and class numbers"):
        fit_many(X, problems())


@pytest.mark.parametrize("start", [[0, 5], [1, len(X)], [0, len(X), 3, len(X)], [0]])
def test_a_start_that_does_not_fit_the_rows_is_refused(start):
    sizes, _, *others = class_problems(y[:, None], 3)
    with pytest.raises(InputError, match="start must hold the first entry of every problem"):
        fit_many(X, Problems(sizes, np.array(start), *others))


def test_problems_that_kernels_would_read_beyond_are_refused():
    """Each of them once read and wrote outside of arrays."""
    nothing = np.zeros(0, dtype=np.int32)
    twice = np.zeros(6, dtype=np.int32)
    for sizes, start, rows, message in (
        ([0], [0, 0], nothing, "Every problem must have a class"),
        ([2], [0, 6], twice, "must list a row once"),
    ):
        problems = Problems(np.array(sizes), np.array(start), rows, rows, True)
        with pytest.raises(InputError, match=message):
            fit_many(X[:2], problems)
    with pytest.raises(InputError, match="below the number of categories"):
        prepare_data(np.array([[0.0], [2.0]]), np.array([2], dtype=np.int32))


def test_no_problems_make_no_trees():
    assert len(subset_problems([], [], 2)) == 0


def test_a_pair_has_two_labels():
    with pytest.raises(InputError, match="Pair 1 is label 1 twice"):
        pair_problems([[0, 1], [1, 1]], [0, 1], [1, 1])


def test_problems_are_made_of_zeros_and_ones():
    with pytest.raises(LabelFormatError, match="label_problems needs"):
        label_problems([[0, 2], [1, 1]])
    with pytest.raises(LabelFormatError, match="pair_problems needs"):
        pair_problems([[0, 2], [1, 1]], [0], [1])
    wrong = ([0], [2]), ([-1], [0]), ([0, 1], [1]), ([0.5], [1]), (0, 1), ([[0]], [[1]])
    for first, second in wrong:
        with pytest.raises(InputError, match="label numbers from 0 to 1"):
            pair_problems([[0, 1], [1, 1]], first, second)


def test_leaves_are_as_heavy_as_asked():
    """At least two branches of a split weigh so much, and these numeric ones have two."""
    for least in (2, 7, 20):
        tree = C45Classifier(min_samples_leaf=least, prune=False, collapse=False).fit(X, y)
        forest = tree.forest_
        assert forest.weight[forest.feature < 0].min() >= least
        assert tree.get_n_leaves() > 1


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1, 1: 4, 2: 0.5}], ids=str)
def test_a_row_of_weight_two_is_two_rows(class_weight):
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    tree = C45Classifier(class_weight=class_weight)
    weighted = tree.fit(X, y, sample_weight=weight).export_text(), tree.predict_proba(X)
    tree.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted[0] == tree.export_text()
    assert_allclose(weighted[1], tree.predict_proba(X), rtol=1e-12)


def test_balanced_classes_without_weights_are_scikit_learns():
    by_class = compute_sample_weight("balanced", y)
    expected = C45Classifier().fit(X, y, sample_weight=by_class).predict_proba(X)
    for weight in (None, np.ones(len(y))):
        tree = C45Classifier(class_weight="balanced").fit(X, y, sample_weight=weight)
        assert_array_equal(tree.predict_proba(X), expected)


def test_a_class_whose_rows_all_weigh_nothing_does_not_count():
    tree, weight = C45Classifier(class_weight="balanced"), (y > 0).astype(float)
    found = tree.fit(X, y, sample_weight=weight).predict_proba(X)
    assert_allclose(found[:, 1:], tree.fit(X[y > 0], y[y > 0]).predict_proba(X), rtol=1e-12)


@pytest.mark.slow
def test_conventions_of_scikit_learn():
    check_estimator(C45Classifier(), on_skip=None)
