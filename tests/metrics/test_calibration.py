"""Brier loss and calibration error, against loops and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from labelance.exceptions import InputError
from labelance.metrics import (
    calibration_bins,
    get_label_scorer,
    imbalance_report,
    macro_brier_loss,
    macro_calibration_error,
)


def some_scores(seed, n=60, levels=1000):
    rng = np.random.default_rng(seed)
    scores = rng.integers(levels + 1, size=(n, 3)) / levels
    y = (rng.random((n, 3)) < scores).astype(int)
    return y, scores


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_brier_is_scikit_learns_label_by_label(seed):
    y, scores = some_scores(seed)
    found = macro_brier_loss(sp.csr_array(y), scores, average=None)
    assert_allclose(found, [brier_score_loss(y[:, j], scores[:, j]) for j in range(3)])
    assert_allclose(macro_brier_loss(y, scores), found.mean())


def test_brier_of_many_short_floats_is_added_up_in_long_ones():
    scores = np.full((200_000, 2), 0.3, dtype=np.float32)
    found = macro_brier_loss(sp.csr_array(scores.shape, dtype=np.int8), scores)
    assert_allclose(found, 0.09, rtol=1e-6)


def error_slowly(y, scores, bins):
    parts = [np.flatnonzero(bins == b) for b in np.unique(bins)]
    return sum(len(p) * abs(y[p].mean() - scores[p].mean()) for p in parts) / len(y)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 10]))
def test_the_error_of_bins_of_one_width(seed, n_bins):
    y, scores = some_scores(seed)
    found = macro_calibration_error(y, scores, average=None, n_bins=n_bins)
    for j in range(3):
        bins = np.minimum(np.floor(scores[:, j] * n_bins), n_bins - 1)
        assert_allclose(found[j], error_slowly(y[:, j], scores[:, j], bins), atol=1e-12)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 1000]))
def test_bins_of_as_many_rows_do_not_part_equal_scores(seed, levels):
    y, scores = some_scores(seed, levels=levels)
    bins = calibration_bins(y, scores, n_bins=6, strategy="quantile")
    assert_array_equal(bins.count.sum(axis=0), 60)
    if levels == 1000 and all(len(np.unique(column)) == 60 for column in scores.T):
        assert_array_equal(bins.count, 10)
    for j in range(3):
        for value in np.unique(scores[:, j]):
            n_lower = (scores[:, j] < value).sum()
            edges = np.concatenate([[0], np.cumsum(bins.count[:, j])])
            holds = np.searchsorted(edges, n_lower, side="right")
            assert n_lower + (scores[:, j] == value).sum() <= edges[holds:].max()


def test_the_bins_are_scikit_learns_curve():
    y, scores = some_scores(3, n=500, levels=997)  # none on an edge but 0 and 1
    bins = calibration_bins(y, scores, n_bins=10)
    share, mean = calibration_curve(y[:, 0], scores[:, 0], n_bins=10)
    assert_allclose(bins.share[:, 0], share)
    assert_allclose(bins.score[:, 0], mean)


def test_an_empty_bin_counts_nothing():
    bins = calibration_bins([[1], [0]], [[0.05], [0.05]], n_bins=2)
    assert_array_equal(bins.count, [[2], [0]])
    assert np.isnan(bins.share[1, 0])
    assert_allclose(bins.error, [0.45])


def test_the_report_has_losses_where_there_are_probabilities():
    rng = np.random.default_rng(0)
    y = (rng.random((300, 3)) < [0.02, 0.2, 0.5]).astype(int)
    scores = np.clip(0.6 * y + 0.3 * rng.random(y.shape), 0, 1)
    report = imbalance_report(y, scores >= 0.5, y_score=scores)
    assert_allclose(report.brier, macro_brier_loss(y, scores, average=None))
    assert_allclose(report.averages["macro"]["brier"], macro_brier_loss(y, scores))
    assert_allclose(
        report.averages["macro"]["calibration_error"], macro_calibration_error(y, scores)
    )
    rare = report.bands["1-9 rows avg"]
    assert_allclose(rare["brier"], report.brier[0])
    assert "brier" in str(report)
    assert {"brier", "calibration_error"} <= set(report.to_dict()["0"])
    plain = imbalance_report(y, scores >= 0.5)
    assert plain.brier is None
    assert "brier" not in str(plain)
    assert "brier" not in plain.to_dict()["macro avg"]


def test_scorers_have_a_minus_sign():
    class Fixed:
        def predict_proba(self, X):
            return X

    y, scores = some_scores(0)
    assert get_label_scorer("neg_macro_brier_loss")(Fixed(), scores, y) == -macro_brier_loss(
        y, scores
    )


def test_what_cannot_be_binned_is_refused():
    for wrong in ([[1.2]], [[-0.1]], [[np.nan]]):
        with pytest.raises(InputError, match="between 0 and 1"):
            macro_brier_loss([[1]], wrong)
    with pytest.raises(InputError, match="n_bins"):
        macro_calibration_error([[1]], [[0.5]], n_bins=0)
    with pytest.raises(InputError, match="strategy"):
        calibration_bins([[1]], [[0.5]], strategy="equal")
    with pytest.raises(InputError, match="average"):
        macro_brier_loss([[1]], [[0.5]], average="micro")
