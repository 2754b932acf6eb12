"""Calibration: maps found on rows left out, for labels rare and frequent, and the changed prior."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import (
    LabelCalibration,
    correct_prior,
    decide_within_budget,
    find_calibration,
)
from labelance.decisions._calibration import (
    _find_softness,
    fit_curves,
    fit_isotonic_steps,
    fit_sigmoids,
)
from labelance.exceptions import InputError, TooFewRowsError
from labelance.learners import BinaryRelevance
from labelance.metrics import (
    label_scores,
    macro_auc_roc,
    macro_brier_loss,
    macro_calibration_error,
)


@pytest.fixture(scope="module")
def data():
    return make_multilabel_imbalanced(300, 6, 4, random_state=0)


def scores_and_labels(seed, n=120, q=3):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 41, size=(n, q)) / 40
    return scores, (rng.random((n, q)) < scores**2).astype(float)


def softened(s):
    return np.log((s + 0.05) / (1.05 - s))


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_sigmoids_minimise_the_loss_of_platts_targets(seed):
    scores, present = scores_and_labels(seed)
    found = fit_sigmoids(present, scores, None)
    for j in range(3):
        n, z = present[:, j].sum(), softened(scores[:, j])
        target = np.where(present[:, j] > 0, (n + 1) / (n + 2), 1 / (120 - n + 2))

        def loss(ab, z=z, target=target):
            margin = ab[0] * z + ab[1]
            return (np.logaddexp(0, margin) - target * margin).sum()

        best = minimize(loss, [1, 0], method="BFGS", options={"gtol": 1e-9})
        assert_allclose(loss([found.slope[j], found.intercept[j]]), best.fun, rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_the_last_bits_of_scores_move_a_curve_by_last_bits(seed):
    """Processors and threads differ by these; curves moved by 1e-8, and golden results too."""
    scores, present = scores_and_labels(seed, q=40)
    z = softened(scores)
    changed = z * (1 + np.random.default_rng(seed).uniform(-1e-15, 1e-15, z.shape))
    assert_allclose(fit_curves(present, changed, None), fit_curves(present, z, None), atol=1e-12)


@pytest.mark.parametrize("score", [0.0, 0.3, 0.5, 1.0])
def test_a_score_that_is_the_same_for_all_rows_becomes_the_labels_share(score):
    present = np.repeat([1.0, 0.0], [10, 90])[:, None]
    scores = np.full((100, 1), score)
    share = (10 * 11 / 12 + 90 * 1 / 92) / 100  # of Platt's targets
    assert_allclose(fit_sigmoids(present, scores, None)(scores), share)


def test_a_score_that_separates_a_label_has_a_finite_curve():
    scores = np.repeat([0.0, 1.0], 20)[:, None]
    found = fit_sigmoids(scores, scores, None)
    assert np.isfinite(found.slope).all()
    assert_allclose(found(np.array([[0.0], [1.0]])), [[1 / 22], [21 / 22]], rtol=1e-6)


def regression_scores(seed, n=4000, q=24):
    """Return true probabilities of labels in 0.2 to 12 % of the rows, and labels drawn by them."""
    rng = np.random.default_rng(seed)
    p = expit(rng.normal(np.linspace(-7.5, -2.5, q), 1.5, size=(n, q)))
    return p, (rng.random((n, q)) < p).astype(int)


def loss_per_positive(y, p):
    return (-(y * np.log(p) + (1 - y) * np.log1p(-p)).sum(axis=0) / y.sum(axis=0)).mean()


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_are_probabilities_already_stay_so(seed):
    p, y = regression_scores(seed)
    calibrated = find_calibration(y[:2000], p[:2000]).predict_proba(p[2000:])
    y, p = y[2000:], p[2000:]
    seen = y.any(axis=0)  # small scores differ: 0.002 is not 0.02
    before, after = (
        loss_per_positive(y[:, seen], p[:, seen]),
        loss_per_positive(y[:, seen], calibrated[:, seen]),
    )
    assert after < before + 0.1
    rare = y.sum(axis=0) < 20
    counts = [
        decide_within_budget(table, per_row=2, random_state=0).n_predicted[rare].sum()
        for table in (p, calibrated)
    ]
    assert counts[1] > 0.7 * counts[0]


def test_votes_are_softened_more_than_the_scores_of_a_regression():
    p, y = regression_scores(0)
    votes = np.random.default_rng(0).binomial(20, p) / 20
    assert _find_softness(y.astype(float), p, None) == 0.001
    assert _find_softness(y.astype(float), votes, None) == 0.05


def test_labels_with_few_rows_lean_on_the_common_curve():
    p, y = regression_scores(0)
    present, n_positive = y.astype(float), y.sum(axis=0)
    own = fit_sigmoids(present, p, None, 0.001)
    found = own.lean_on_common(n_positive, present, None)
    weight = n_positive / (n_positive + 5)
    common = weight @ own.slope / weight.sum()
    assert_allclose(found.slope, weight * own.slope + (1 - weight) * common)
    # Scores that are probabilities have the slope 1 and the intercept 0, whatever the base rate.
    assert abs(found.intercept - own.intercept)[n_positive > 100].max() < 0.05
    rare = n_positive < 20
    assert abs(found.slope - 1)[rare].mean() < abs(own.slope - 1)[rare].mean()
    assert abs(found.intercept)[rare].mean() < abs(own.intercept)[rare].mean()


def test_labels_that_are_copies_keep_their_curve():
    p, y = regression_scores(1)
    p, y = np.repeat(p[:, [9]], 3, axis=1), np.repeat(y[:, [9]], 3, axis=1).astype(float)
    own = fit_sigmoids(y, p, None)
    found = own.lean_on_common(y.sum(axis=0), y, None)
    assert_allclose([found.slope, found.intercept], [own.slope, own.intercept])


def test_a_table_of_margins_has_one_softness():
    p, y = regression_scores(2)
    margins = np.log(p / (1 - p))
    found = find_calibration(y, margins)
    assert np.isfinite(found.predict_proba(margins * 10)).all()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_steps_of_all_labels_are_those_of_each(seed):
    scores, present = scores_and_labels(seed)
    found = fit_isotonic_steps(present, scores, None)
    new = np.random.default_rng(seed).random((50, 3))
    for j in range(3):
        alone = IsotonicRegression(out_of_bounds="clip").fit(scores[:, j], present[:, j])
        assert_allclose(found(new)[:, j], alone.predict(new[:, j]), atol=1e-9)


@pytest.mark.parametrize("fit", [fit_sigmoids, fit_isotonic_steps])
def test_maps_count_weights_as_rows(fit):
    scores, present = scores_and_labels(0)
    weight = np.random.default_rng(1).integers(1, 4, size=120)
    again = np.repeat(np.arange(120), weight)
    new = np.random.default_rng(2).random((20, 3))
    found = fit(present, scores, weight.astype(float))(new)
    assert_allclose(found, fit(present[again], scores[again], None)(new), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_makes_naive_bayes_speak_of_probabilities(method):
    X, y = make_multilabel_imbalanced(1200, 10, 5, random_state=1)
    plain = BinaryRelevance(GaussianNB())
    model = LabelCalibration(plain, method=method, random_state=0).fit(X[:800], y[:800])
    before, after = plain.fit(X[:800], y[:800]).predict_proba(X[800:]), model.predict_proba(X[800:])
    assert macro_brier_loss(y[800:], after) < macro_brier_loss(y[800:], before)
    error = macro_calibration_error(y[800:], after)
    assert error < 0.6 * macro_calibration_error(y[800:], before)
    # The order of the rows stays; the isotonic steps make some equal.
    area = macro_auc_roc(y[800:], before)
    assert abs(macro_auc_roc(y[800:], after) - area) < (1e-6 if method == "sigmoid" else 0.03)


def test_rare_labels_share_a_map_and_constant_ones_have_none(data):
    X, y = data
    rare = np.zeros((300, 3), dtype=int)
    rare[[3, 50, 170, 220], 0] = 1  # 4 rows have it
    rare[:, 1] = 1
    rare[[8, 150, 200], 1] = 0  # 3 rows lack it
    y = np.column_stack([y, rare])
    model = LabelCalibration(KNeighborsClassifier(5), min_class_count=5, random_state=0)
    model.fit(X, y)
    by = model.calibrated_by_
    assert list(by) == ["sigmoid"] * 4 + ["pooled", "pooled", "nothing"]
    scores = model.predict_proba(X)
    plain = KNeighborsClassifier(5).fit(X, y)
    raw = np.column_stack(
        [p[:, 1] if p.shape[1] > 1 else 0 * p[:, 0] for p in plain.predict_proba(X)]
    )
    assert_array_equal(scores[:, 6], raw[:, 6])
    # One increasing map: cells of both labels with the same score get the same probability.
    maps = {}
    for j in (4, 5):
        for before, after in zip(raw[:, j], scores[:, j]):
            maps.setdefault(round(before, 9), set()).add(round(after, 12))
    assert all(len(values) == 1 for values in maps.values())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame])
def test_any_container_gives_the_same(data, kind):
    X, y = data
    learner = BinaryRelevance(LogisticRegression())
    expected = LabelCalibration(learner, random_state=0).fit(X, y).predict_proba(X)
    labels = sp.csr_array(y) if kind is sp.csr_array else y
    found = LabelCalibration(learner, random_state=0).fit(kind(X), labels).predict_proba(kind(X))
    assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_fewer_rows_than_folds_are_refused(data):
    with pytest.raises(TooFewRowsError, match='tune_on="cv"'):
        LabelCalibration(KNeighborsClassifier(1)).fit(data[0][:2], data[1][:2])


def test_a_classifier_of_one_label_is_pointed_to_binary_relevance(data):
    with pytest.raises(InputError, match="BinaryRelevance"):
        LabelCalibration(LogisticRegression()).fit(*data)


# ------------------------------------------------------------------------- changed prior


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0, 1))
def test_the_correction_there_and_back_is_none(train, true, p):
    there = correct_prior([[p]], train, true)
    assert_allclose(correct_prior(there, true, train), [[p]], atol=1e-9)
    assert_array_equal(correct_prior([[p]], train, train).round(12), np.round([[p]], 12))


def test_the_correction_is_bayes_theorem_on_generated_data():
    """Two Gaussians: what a model of balanced rows must say, and what is true, are known."""
    rng = np.random.default_rng(0)
    share, shift = 0.05, 1.5
    y = rng.random(200_000) < share
    x = rng.normal(size=y.size) + shift * y
    balanced = expit(shift * x - shift**2 / 2)  # the likelihood ratio alone: prior odds 1
    corrected = correct_prior(balanced[:, None], 0.5, share)
    truth = expit(shift * x - shift**2 / 2 + np.log(share / (1 - share)))
    assert_allclose(corrected[:, 0], truth, rtol=1e-9)
    assert macro_calibration_error(y[:, None].astype(int), corrected) < 0.003
    assert macro_calibration_error(y[:, None].astype(int), balanced[:, None]) > 0.1


def test_the_correction_repairs_a_model_of_cloned_rows():
    """Cloning the rows of a label changes its share and nothing else."""
    rng = np.random.default_rng(0)
    y = (rng.random((6000, 1)) < 0.1).astype(int)
    X = rng.normal(size=(6000, 2)) + y
    rows = np.concatenate([np.arange(6000), np.repeat(np.flatnonzero(y[:, 0]), 8)])
    learner = BinaryRelevance(LogisticRegression(C=1e6))
    plain = learner.fit(X, y).predict_proba(X)
    cloned = learner.fit(X[rows], y[rows]).predict_proba(X)
    corrected = correct_prior(cloned, y[rows].mean(axis=0), y.mean(axis=0))
    assert abs(cloned - plain).mean() > 0.1
    assert abs(corrected - plain).mean() < 0.01


def test_labels_of_which_nothing_is_known_keep_their_scores():
    scores = [[0.2, 0.7, 0.4]]
    found = correct_prior(scores, [0, 1, 0.4], [0.3, 0.3, 0.4])
    assert_allclose(found, scores)
    assert_array_equal(correct_prior([[0.0, 1.0]], 0.5, [1, 0]), [[0.0, 1.0]])


def test_what_is_no_probability_or_share_is_refused():
    with pytest.raises(InputError, match="between 0 and 1"):
        correct_prior([[1.2]], 0.5, 0.1)
    for wrong in ([0.1, 0.2], -0.1, np.nan):
        with pytest.raises(InputError, match="prior must be a number in"):
            correct_prior([[0.5]], 0.5, wrong)


@pytest.fixture
def bare():
    """Labels, the probability of each cell, and scores that overstate rare labels."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 1, size=(4000, 4)) * [0.9, 0.5, 0.2, 0.05]
    return (rng.random(p.shape) < p).astype(int), p, p ** [1, 0.7, 0.4, 0.15]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_bare_scores_become_probabilities(bare, method):
    y, p, scores = bare
    found = find_calibration(y[:2000], scores[:2000], method=method)
    q = found.predict_proba(scores[2000:])
    assert ((q >= 0) & (q <= 1)).all()
    assert abs(q - p[2000:]).mean() < 0.25 * abs(scores[2000:] - p[2000:]).mean()
    assert list(found.calibrated_by) == [method] * 4


def test_bare_scores_have_the_maps_of_the_classifier(data):
    """The oracle: LabelCalibration around a frozen model, on the same validation rows."""
    X, y = data
    model = KNeighborsClassifier(10).fit(X[:100], y[:100])
    score = partial(label_scores, model)
    expected = LabelCalibration(FrozenEstimator(model), random_state=0).fit(X[100:], y[100:])
    found = find_calibration(y[100:], score(X[100:]))
    assert_array_equal(found.calibrated_by, expected.calibrated_by_)
    assert_allclose(found.predict_proba(score(X)), expected.predict_proba(X), rtol=1e-6)


def test_margins_are_taken_in_any_unit(bare):
    y, p, scores = bare
    margins = np.log(scores / (1 - scores + 1e-9) + 1e-9)
    found = [find_calibration(y, m).predict_proba(m) for m in (margins, 100 * margins)]
    assert_allclose(found[0], found[1], atol=1e-6)
    assert abs(found[0] - p).mean() < 0.03


def test_labels_in_few_rows_share_a_map_and_labels_in_none_have_a_share(bare):
    y, _, scores = (table[:200].copy() for table in bare)
    y[:, 2:] = 0
    y[:3, 2] = 1
    found = find_calibration(y, scores)
    assert list(found.calibrated_by) == ["sigmoid", "sigmoid", "pooled", "share"]
    assert_allclose(found.predict_proba(scores)[:, 3], 1 / 202)
    unknown = y.astype(float)
    unknown[100:, 3] = np.nan
    assert_allclose(find_calibration(unknown, scores).predict_proba(scores)[:, 3], 1 / 102)


def test_without_calibration_a_budget_floods_rare_labels(bare):
    y, _, scores = bare
    q = find_calibration(y[:2000], scores[:2000]).predict_proba(scores[2000:])
    counts = [
        decide_within_budget(table, per_row=1, total=1000, utility="precision").n_predicted
        for table in (scores[2000:], q)
    ]
    assert counts[0][3] > 500 > 5 > counts[1][3]


def test_a_calibration_gives_numbers_far_from_the_scores_that_it_was_found_on():
    rng = np.random.default_rng(0)
    y = (rng.random((80, 2)) < 0.3).astype(int)
    margins = rng.normal(size=(80, 2)) + y
    found = find_calibration(y, margins)
    assert np.isfinite(found.predict_proba([[900.0, -900.0]])).all()
    with pytest.raises(InputError, match=r"in \[0, 1\]"):
        find_calibration(y, rng.random((80, 2))).predict_proba([[1.2, 0.5]])


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.3, 1, 60)])
def test_the_place_of_a_label_does_not_matter(sample_weight):
    """Scores a hair apart: numbers near 600 would not tell them apart."""
    scores = np.repeat(1e-13 * np.arange(60.0)[:, None], 300, axis=1)
    y = (scores >= scores[30]).astype(int)
    found = find_calibration(y, scores, method="isotonic", sample_weight=sample_weight)
    assert_array_equal(found.predict_proba(scores), y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("as_margins", [False, True])
def test_scores_of_cells_that_do_not_count_do_not_matter(bare, method, as_margins):
    y, _, scores = (part[:400] for part in bare)
    scores = np.log(scores + 1e-9) if as_margins else scores
    weight, unknown = np.ones(400), y.astype(float)
    weight[::7], unknown[3::5, 1], unknown[7:, 3] = 0, np.nan, np.nan
    options = {"method": method, "sample_weight": weight}
    expected = find_calibration(unknown, scores, **options).predict_proba(scores)
    for other in (-1e6, 0.5, 40.0):
        changed = np.where(np.isnan(unknown) | (weight[:, None] == 0), other, scores)
        found = find_calibration(unknown, changed, **options).predict_proba(scores)
        assert_array_equal(found, expected)
