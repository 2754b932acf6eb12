"""Arguments that no decision can be made with, and extreme ones that it can be made with."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB

from labelance.decisions import (
    FBeta,
    LabelThresholds,
    correct_prior,
    decide_within_budget,
    find_budget_rule,
    find_calibration,
    find_thresholds,
    guarantee_precision,
    guarantee_recall,
    limit_alarms,
    maximize_expected_f,
    positives_needed,
)
from labelance.ensemble import StackedBagging
from labelance.exceptions import InputError, LabelanceError
from labelance.learners import BinaryRelevance

RNG = np.random.default_rng(0)
P = RNG.random((60, 3))
Y = (RNG.random((60, 3)) < P).astype(int)
RAGGED = [0.1, [0.2], 0.3]
REFUSED = {
    "min_class_count": (
        lambda value: find_calibration(Y, P, min_class_count=value),
        ["a", None, 0, -1, 2.5, True, [3]],
    ),
    "reference": (
        lambda value: guarantee_recall(Y, P, recall=0.5, reference=value),
        [3, "x", (Y,), (Y, P, P), (Y[:, :2], P[:, :2])],
    ),
    "label_groups": (
        lambda value: guarantee_recall(Y, P, recall=0.5, label_groups=value),
        [3, "abc", [0, 1], RAGGED, ["a", None, 1], [np.nan, 1, 1]],
    ),
    "missing_labels": (
        lambda value: guarantee_precision(Y, P, precision=0.5, missing_labels=value),
        ["x", None, 3, ["ignore"], np.array(["error", "ignore"])],
    ),
    "candidates": (
        lambda value: guarantee_precision(Y, P, precision=0.5, candidates=value),
        ["text", ["a", "b"], RAGGED, {1: 2}, [np.nan], []],
    ),
    "utility": (
        lambda value: decide_within_budget(P, per_row=1, utility=value),
        [["x"], {"a": 1}, None, np.array(["precision", "coverage"])],
    ),
    "utility of a rule": (
        lambda value: find_budget_rule(Y, P, per_row=1, utility=value),
        [["x"], {"a": 1}, None],
    ),
    "per_label": (
        lambda value: decide_within_budget(P, per_label=value),
        [RAGGED, [1, [2], 3], [None, 1, 2], "a", -1],
    ),
    "beta": (
        lambda value: maximize_expected_f(P, beta=value),
        [np.array([1, 2]), [1, [2]], "a", None, True, 0, np.nan, np.inf],
    ),
    "joint": (
        lambda value: maximize_expected_f(P, average="samples", joint=value),
        ["a", RAGGED, 3],
    ),
    "n_alarms": (
        lambda value: limit_alarms(P, n_alarms=value, n_rows=20),
        [np.array([1, 2]), [1, 2], np.array(3), "a", None, -1, True],
    ),
    "prior": (lambda value: correct_prior(P, value, 0.1), [RAGGED, "a", list("abc"), None]),
    "prior of the rows to decide": (
        lambda value: correct_prior(P, 0.1, value),
        [RAGGED, "a", list("abc"), None],
    ),
    "level": (
        lambda value: find_thresholds(Y, P).interval(value),
        [2, -1, 0, 1, np.nan, "a", None, [0.5], np.array([0.5, 0.6]), True],
    ),
    "sample_weight": (
        lambda value: find_thresholds(Y, P, sample_weight=np.full(60, value)),
        [1e308, 1e300, 1e-320],
    ),
    "sample_weight of probabilities": (
        lambda value: find_calibration(Y, P, sample_weight=np.full(60, value)),
        [1e308, 1e300, 1e-320],
    ),
    "n_jobs": (lambda value: find_thresholds(Y, P, n_jobs=value), [0]),
}


@pytest.mark.parametrize("argument", REFUSED)
def test_an_error_in_three_parts_names_the_argument(argument):
    call, values = REFUSED[argument]
    for value in values:
        with pytest.raises(LabelanceError, match=argument.partition(" ")[0]):
            call(value)


def test_any_recall_above_0_needs_a_positive():
    assert positives_needed(1e-300) == positives_needed(1e-300, 0.9) == 1
    assert positives_needed(0.5, 1e-12) == 1
    found = guarantee_recall(Y, P, recall=1e-300)
    assert_array_equal(found.thresholds, np.where(Y, P, 0).max(axis=0))
    with pytest.raises(InputError, match="needs 1 positives"):
        guarantee_recall(np.zeros_like(Y), P, recall=1e-300)


@pytest.mark.parametrize("beta", [1e154, 1e200])
def test_where_only_recall_counts_all_that_may_be_present_is_predicted(beta):
    possible = np.where(P > 0.3, P, 0)
    for average in ("macro", "micro"):
        assert_array_equal(maximize_expected_f(possible, average=average, beta=beta), possible > 0)
    found = find_thresholds(Y, P, objective=FBeta(beta), shrinkage=0)
    assert_array_equal(found.n_found, Y.sum(axis=0))


@pytest.mark.parametrize("weight", [1e100, 1e-90])
def test_the_size_of_all_weights_together_decides_nothing(weight):
    weights = np.full(60, weight)
    plain = find_thresholds(Y, P, shrinkage=0)
    weighted = find_thresholds(Y, P, shrinkage=0, sample_weight=weights)
    assert_array_equal(weighted.thresholds, plain.thresholds)
    assert np.isfinite(find_calibration(Y, P, sample_weight=weights).predict_proba(P)).all()


def test_scores_that_are_no_numbers_are_refused():
    X = RNG.normal(size=(60, 2)) * 1e300  # too large for the variances of naive Bayes
    inner = BinaryRelevance(GaussianNB())
    for model in (StackedBagging(inner, n_estimators=3, random_state=0), LabelThresholds(inner)):
        with (
            np.errstate(all="ignore"),
            pytest.raises(InputError, match=r"BinaryRelevance gave NaN .* Scale very"),
        ):
            model.fit(X, Y)
