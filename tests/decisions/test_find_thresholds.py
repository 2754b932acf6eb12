"""find_thresholds: the search of LabelThresholds, for scores that exist already."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import f1_score

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import CostMatrix, LabelThresholds, RecallAtPrecision, find_thresholds
from labelance.exceptions import InputError

FOREST = RandomForestClassifier(20, random_state=0)


@pytest.fixture(scope="module")
def scored():
    X, y = make_multilabel_imbalanced(120, 6, 4, random_state=0)
    known = clone(FOREST).set_params(oob_score=True).fit(X, y).oob_decision_function_[:, 1]
    return X, y, known


@given(st.data())
def test_no_cut_has_a_larger_f_by_scikit_learn(data):
    n = data.draw(st.integers(2, 12))
    y = data.draw(arrays(np.int64, (n, 2), elements=st.integers(0, 1)))
    tenths = data.draw(arrays(np.int64, (n, 2), elements=st.integers(-3, 13)))
    weight = data.draw(arrays(np.int64, n, elements=st.integers(1, 4)))
    scores = tenths / 10
    found = find_thresholds(y, scores, shrinkage=0, sample_weight=weight)
    chosen = found.apply(scores)
    for label in np.flatnonzero(y.any(axis=0)):
        truth, score = y[:, label], scores[:, label]

        def f(cut, truth=truth):
            return f1_score(truth, cut, sample_weight=weight, zero_division=0)

        best = max(f(score >= cut) for cut in np.unique(score))
        assert f(chosen[:, label]) == pytest.approx(best)
    assert (found.values[~y.any(axis=0)] == np.inf).all()


@pytest.mark.parametrize("search", ["exact", "grid"])
@pytest.mark.parametrize("shrinkage", ["auto", 0, 2.5])
@pytest.mark.parametrize(
    "objective", ["f1", "gmean", CostMatrix([[0, 1], [9, 0]]), RecallAtPrecision(0.5)], ids=str
)
def test_the_search_is_that_of_label_thresholds(scored, objective, shrinkage, search):
    X, y, known = scored
    model = LabelThresholds(
        FOREST, objective=objective, threshold_search=search, shrinkage=shrinkage
    ).fit(X, y)
    found = find_thresholds(y, known, objective=objective, search=search, shrinkage=shrinkage)
    assert_array_equal(found.values, model.thresholds_)
    assert_array_equal(found.spread, model.threshold_spread_)
    assert_array_equal(found.apply(model.predict_proba(X)), model.predict(X))


def test_any_container_gives_the_same(scored):
    _, y, known = scored
    plain = find_thresholds(y, known)
    for labels, scores in [
        (sp.csr_array(y), known),
        (pd.DataFrame(y), pd.DataFrame(known)),
        (y.tolist(), known.tolist()),
    ]:
        found = find_thresholds(labels, scores)
        assert_array_equal(found.values, plain.values)
        assert_array_equal(found.apply(scores), plain.apply(known))


def test_rows_of_weight_zero_are_as_if_they_were_not_there(scored):
    _, y, known = scored
    weight = np.arange(len(y)) % 2
    kept = weight > 0
    some = find_thresholds(y, known, sample_weight=weight)
    assert_array_equal(some.values, find_thresholds(y[kept], known[kept]).values)


def test_thresholds_stay_what_they_are(scored):
    found = find_thresholds(*scored[1:])
    with pytest.raises(FrozenInstanceError):
        found.values = np.zeros(4)


def test_what_has_no_thresholds_is_refused(scored):
    _, y, known = scored
    for wrong in [{"objective": None}, {"search": "fine"}, {"shrinkage": -1}]:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            find_thresholds(y, known, **wrong)
    with pytest.raises(InputError, match="each of 4 labels"):
        find_thresholds(y, known, objective=CostMatrix(np.ones((3, 2, 2))))
    found = find_thresholds(y, known)
    with pytest.raises(InputError, match="each of 4 labels"):
        found.apply(known[:, :2])
    with pytest.raises(InputError, match="nan or infinite"):
        found.apply(known * np.nan)
