"""Guarantees: thresholds of order statistics, simulated coverage, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from labelance.decisions import (
    guarantee_precision,
    guarantee_recall,
    limit_alarms,
    positives_needed,
)
from labelance.exceptions import InputError, LabelanceWarning

COUNTS = [(0.9, None, 9), (0.95, None, 19), (0.9, 0.9, 22), (0.9, 0.95, 29), (0.95, 0.95, 59)]


def positives(m, n_labels, seed=0):
    """Return labels and uniform scores of calibration rows that all have all labels."""
    return np.ones((m, n_labels)), np.random.default_rng(seed).random((m, n_labels))


@pytest.mark.parametrize(("recall", "confidence", "needed"), COUNTS)
def test_the_positives_needed_are_those_of_the_formulas(recall, confidence, needed):
    assert positives_needed(recall, confidence) == needed
    y, scores = positives(needed, 2)
    found = guarantee_recall(y, scores, recall=recall, confidence=confidence)
    assert_array_equal(found.thresholds, scores.min(axis=0))
    with pytest.raises(InputError, match=rf"needs {needed} positives .* 2 of 2 .*0 \({needed - 1}"):
        guarantee_recall(y[1:], scores[1:], recall=recall, confidence=confidence)


def test_all_labels_at_once_need_more():
    assert positives_needed(0.9, 0.9, n_labels=50) == 59
    y, scores = positives(59, 50)
    found = guarantee_recall(y, scores, confidence=0.9, simultaneous=True)
    assert_array_equal(found.thresholds, scores.min(axis=0))
    with pytest.raises(InputError, match="Got confidence=None"):
        guarantee_recall(y, scores, simultaneous=True)


def test_a_promise_kept_by_predicting_every_row_says_so():
    rng = np.random.default_rng(0)
    y = np.column_stack([np.arange(100) < 30, np.arange(100) < 30, np.ones(100)]).astype(float)
    scores = np.column_stack([y[:, 0] + rng.random(100), np.full(100, 0.5), rng.random(100)])
    y[60:, 1] = np.nan
    found = guarantee_recall(y, scores)
    assert_array_equal(found.n_predicted[1], 60)
    assert found.reasons == ("guaranteed", "guaranteed; only by predicting every row", "guaranteed")
    assert found.guaranteed.all()
    assert "3 of 3 labels (1 only by predicting every row)" in str(found)


@pytest.mark.slow
@given(
    st.integers(1, 200), st.sampled_from([0.5, 0.7, 0.71, 0.9, 0.95]), st.sampled_from([0.8, 0.95])
)
def test_ranks_are_the_largest_that_keep_the_promise(m, recall, confidence):
    y, scores = positives(m, 1, seed=m)
    options = {"recall": recall, "too_few": "always"}
    sure = guarantee_recall(y, scores, confidence=confidence, **options).thresholds[0]
    rank = np.count_nonzero(scores <= sure)
    tail = stats.binom.cdf(np.arange(m + 1), m, 1 - recall)  # P(Bin <= r - 1) for r = 1...
    assert rank == np.count_nonzero(tail <= 1 - confidence + 1e-12)
    mean = guarantee_recall(y, scores, **options).thresholds[0]
    rank = np.count_nonzero(scores <= mean)
    assert rank / (m + 1) <= 1 - recall + 1e-9 < (rank + 1) / (m + 1)


@pytest.mark.parametrize("runs", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("m", "recall"), [(9, 0.9), (40, 0.9), (100, 0.8)])
def test_mean_recall_is_that_of_theory(m, recall, runs):
    y, scores = positives(m, runs)
    rank = int((1 - recall) * (m + 1) + 1e-9)
    missed = guarantee_recall(y, scores, recall=recall).thresholds.mean()  # of uniform scores
    error = np.sqrt(rank * (m + 1 - rank) / ((m + 1) ** 2 * (m + 2) * runs))
    assert abs(missed - rank / (m + 1)) < 4 * error


@pytest.mark.parametrize("runs", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("m", "recall", "confidence"), [(22, 0.9, 0.9), (80, 0.9, 0.95)])
def test_few_calibrations_miss_more_than_promised(m, recall, confidence, ties, runs):
    y, scores = positives(m, runs)
    scores = np.floor(scores * 20) / 20 if ties else scores  # P(score < t) is t on the grid, too
    missed = guarantee_recall(y, scores, recall=recall, confidence=confidence).thresholds
    delta = 1 - confidence
    assert (missed > 1 - recall + 1e-12).mean() < delta + 4 * np.sqrt(delta * confidence / runs)


def test_rows_in_clusters_break_the_promise():
    y, scores = positives(10, 2000)
    found = guarantee_recall(np.tile(y, (5, 1)), np.tile(scores, (5, 1)), confidence=0.9)
    assert (found.thresholds > 0.1).mean() == pytest.approx(0.9**10, abs=0.05)


def test_unknown_cells_count_nowhere():
    y, scores = positives(60, 300)
    gone = np.random.default_rng(1).random(y.shape) < 0.5
    found = guarantee_recall(np.where(gone, np.nan, y), scores, recall=0.9)
    assert_array_equal(found.n_positive, (~gone).sum(axis=0))
    for j in range(5):
        alone = guarantee_recall(y[~gone[:, j], j : j + 1], scores[~gone[:, j], j : j + 1])
        assert alone.thresholds[0] == found.thresholds[j]
        assert alone.n_predicted[0] == found.n_predicted[j]


@pytest.fixture
def rare():
    rng = np.random.default_rng(0)
    y = (rng.random((300, 4)) < [0.3, 0.2, 0.02, 0.0]).astype(int)
    return y, np.round(y + rng.normal(size=y.shape), 2)


def test_labels_with_too_few_positives_get_what_was_chosen(rare):
    y, scores = rare
    few = y.sum(axis=0) < 9
    assert_array_equal(few, [False, False, True, True])
    always = guarantee_recall(y, scores, too_few="always")
    never = guarantee_recall(y, scores, too_few="never")
    assert_array_equal(always.thresholds[few], -np.inf)
    assert_array_equal(never.thresholds[few], np.inf)
    assert_array_equal(always.guaranteed, ~few)
    assert never.reasons[3] == "too few positives: 0, needs 9; never predicted"
    assert_array_equal(always.thresholds[~few], never.thresholds[~few])
    with pytest.raises(InputError, match=r"2 of 4 labels have fewer: 3 \(0\), 2 \(\d\)"):
        guarantee_recall(y, scores)


def missed_shares(y, scores, found):
    """Return of every row with a pooled label the share of these that it misses."""
    few = ~found.guaranteed
    hit = ((scores >= found.thresholds) & (y == 1))[:, few].sum(axis=1)
    of = y[:, few].sum(axis=1)
    return 1 - hit[of > 0] / of[of > 0]


def test_pooled_labels_share_one_percentile_of_negatives():
    rng = np.random.default_rng(2)
    y = (rng.random((500, 12)) < 0.008).astype(int)
    scores = y + rng.normal(size=y.shape)
    found = guarantee_recall(y, scores, too_few="pool")
    few = np.flatnonzero(~found.guaranteed)
    assert len(few) > 3
    assert f"pooled over {len(few)} labels (estimate" in found.reasons[few[0]]
    missed = missed_shares(y, scores, found)
    # As much is missed as may be: one more row would be too much.
    assert (missed.sum() + 1) / (len(missed) + 1) <= 0.1 < (missed.sum() + 2) / (len(missed) + 1)
    below = [(scores[y[:, j] == 0, j] <= found.thresholds[j]).mean() for j in few]
    assert_allclose(below, below[0], atol=1 / 480)
    exact = guarantee_recall(y, scores, too_few="pool", reference=(y, scores))
    assert_array_equal(exact.thresholds, found.thresholds)
    assert "(estimate)" in exact.reasons[few[0]]


@pytest.mark.parametrize("runs", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_pooled_recall_holds_on_average(runs):
    rng = np.random.default_rng(3)
    means = []
    for _ in range(runs):
        y = (rng.random((900, 8)) < 0.01).astype(int)
        scores = y * np.arange(8) / 4 + rng.normal(size=y.shape)
        reference, calibration, new = (slice(a, a + 300) for a in (0, 300, 600))
        found = guarantee_recall(
            y[calibration],
            scores[calibration],
            too_few="pool",
            reference=(y[reference], scores[reference]),
        )
        means.append(missed_shares(y[new], scores[new], found).mean())
    assert np.mean(means) < 0.1 + 4 * np.std(means) / np.sqrt(runs)
    if runs > 100:
        assert np.mean(means) > 0.04  # nor is it always predicted


def test_pooling_needs_rows_and_no_confidence(rare):
    y, scores = rare
    with pytest.raises(InputError, match="in expectation only"):
        guarantee_recall(y, scores, too_few="pool", confidence=0.9)
    with pytest.raises(InputError, match="needs 9 rows with a label of the group"):
        guarantee_recall(y, scores, too_few="pool", label_groups=[0, 0, 1, 2])
    with pytest.raises(InputError, match=r"label_groups has shape \(2,\)"):
        guarantee_recall(y, scores, too_few="pool", label_groups=[0, 0])


def normal_precision(threshold, share, shift):
    hit, false = stats.norm.sf(threshold - shift), stats.norm.sf(threshold)
    return share * hit / (share * hit + (1 - share) * false)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [300, 4000])
@pytest.mark.parametrize("split", [False, True])
def test_precision_holds_as_often_as_promised(split, runs):
    rng = np.random.default_rng(0)
    y = rng.random((1200 if split else 600, runs)) < 0.3
    scores = y * 1.5 + rng.normal(size=y.shape)
    grid = None if split else np.linspace(2.6, -1, 60)
    found = guarantee_precision(y, scores, precision=0.7, candidates=grid, random_state=0)
    wrong = normal_precision(found.thresholds[found.guaranteed], 0.3, 1.5) < 0.7
    assert found.guaranteed.mean() > 0.8
    assert wrong.sum() / runs < 0.1 + 4 * np.sqrt(0.09 / runs)
    assert (found.n_needed == 7).all()


def test_precision_stops_at_the_first_candidate_that_fails():
    y = np.array([1] * 30 + [0] * 30 + [1] * 200)[:, None]
    scores = np.arange(260)[::-1, None]
    options = {"precision": 0.7, "candidates": [0, 200, 235]}
    found = guarantee_precision(y, scores, **options)
    assert found.thresholds[0] == 235  # 0 would pass, but 200 does not
    assert (found.n_predicted[0], found.value[0]) == (25, 1.0)
    assert found.low[0] == pytest.approx(0.05 ** (1 / 25))


def test_precision_refuses_unknown_labels_unless_told():
    y = np.array([[1.0], [np.nan], [0.0]] * 20)
    scores = y.copy()
    scores[1::3] = 0.5
    with pytest.raises(InputError, match=r"\(nan\)"):
        guarantee_precision(y, scores, precision=0.5)
    found = guarantee_precision(y, scores, precision=0.5, missing_labels="ignore", candidates=[0.4])
    assert (found.n_predicted[0], found.n_known[0]) == (20, 40)
    assert found.to_frame()["share"][0] == 0.5


def test_alarms_of_a_stream_are_beta_binomial():
    rng = np.random.default_rng(0)
    scores = rng.random((1000, 2000))
    thresholds = limit_alarms(scores, n_alarms=5, n_rows=200)
    assert ((scores >= thresholds).sum(axis=0) == 13).all()  # above the 14th largest score
    alarms = rng.binomial(200, 1 - thresholds)
    theory = stats.betabinom.sf(5, 200, 14, 1000 - 14 + 1)
    assert theory == pytest.approx(0.081, abs=1e-3)
    assert abs((alarms > 5).mean() - theory) < 4 * np.sqrt(theory * (1 - theory) / 2000)


def test_alarms_with_equal_scores_and_too_few_rows():
    scores = np.random.default_rng(0).integers(0, 20, (300, 500)) / 20
    with pytest.warns(
        LabelanceWarning, match="no reference row raises an alarm for labels"
    ) as said:
        thresholds = limit_alarms(scores, n_alarms=10, n_rows=100)
    silent = np.flatnonzero(thresholds > scores.max(axis=0))
    assert f"labels {silent[0]}, {silent[1]}, " in str(said[0].message)
    share = np.clip(1 - np.ceil(thresholds * 20) / 20, 0, 1)
    alarms = np.random.default_rng(1).binomial(100, share)
    assert (alarms > 10).mean() < 0.1
    with pytest.raises(InputError, match=r"0 alarms in 1000 rows .* need 9000 ref"):
        limit_alarms(scores, n_alarms=0, n_rows=1000)
    assert_array_equal(limit_alarms(scores[:, :1], n_alarms=3, n_rows=3), [-np.inf])


KINDS = [np.asarray, np.ndarray.tolist, sp.csr_array, sp.coo_matrix, pd.DataFrame, pl.DataFrame]


@pytest.mark.parametrize("kind", KINDS, ids=["array", "list", "csr", "coo", "pandas", "polars"])
def test_containers_of_scores_give_the_same(kind, rare):
    y, scores = rare
    scores[::3] = 0
    for y_true in (y, sp.csr_array(y)):
        plain = guarantee_recall(y, scores, too_few="always")
        found = guarantee_recall(y_true, kind(scores), too_few="always")
        assert_array_equal(found.thresholds, plain.thresholds)
        assert_array_equal(found.n_predicted, plain.n_predicted)
        again = found.predict(kind(scores))
        assert_array_equal(again.toarray() if sp.issparse(again) else again, plain.predict(scores))
    found = guarantee_precision(y, kind(scores), precision=0.3, random_state=0)
    plain = guarantee_precision(y, scores, precision=0.3, random_state=0)
    assert_allclose(found.thresholds, plain.thresholds)


def test_results_show_labels_by_name(rare):
    y, scores = rare
    names = ["a", "<b>", "c", "d"]
    found = guarantee_recall(pd.DataFrame(y, columns=names), scores, too_few="never")
    frame = found.to_frame()
    assert list(frame.index) == names
    assert list(frame.columns[:2]) == ["threshold", "n_positive"]
    assert str(found).startswith("recall >= 0.9 in expectation, guaranteed for 2 of 4 labels")
    assert_allclose(frame["share"], found.predict(scores).mean(axis=0))
    assert "&lt;b&gt;" in found._repr_html_()
    assert "too few positives: 0, needs 9" in str(found)
    with pytest.raises(InputError, match="order"):
        found.predict(pd.DataFrame(scores, columns=names[::-1]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"recall": 1.0}, "recall must be a number between 0 and 1"),
        ({"recall": True}, "recall must be"),
        ({"confidence": 0}, "confidence must be"),
        ({"too_few": "guess"}, "too_few must be one of"),
        ({"y_score": np.full((300, 4), np.nan)}, "NaN"),
        ({"y_score": np.zeros((300, 3))}, "shape"),
    ],
)
def test_bad_input_is_an_error_in_three_parts(change, message, rare):
    arguments = {"y_true": rare[0], "y_score": rare[1]} | change
    with pytest.raises(InputError, match=message):
        guarantee_recall(**arguments)


@pytest.mark.parametrize("candidates", [[], [[0.5, 0.4]], [np.nan]])
def test_bad_candidates_are_refused(candidates, rare):
    with pytest.raises(InputError, match="candidates"):
        guarantee_precision(*rare, precision=0.5, candidates=candidates)


def test_bad_numbers_of_alarms_are_refused():
    for wrong in ({"n_alarms": -1, "n_rows": 5}, {"n_alarms": 1, "n_rows": 0}):
        with pytest.raises(InputError, match=r"integer >= [01]"):
            limit_alarms([[0.5]], **wrong)


def test_sparse_scores_of_rows_without_labels():
    found = guarantee_recall(np.zeros((5, 2)), sp.csr_array((5, 2)), too_few="never")
    assert np.isposinf(found.thresholds).all()


def test_alarms_among_more_rows_than_an_integer_of_64_bits_holds():
    with pytest.raises(InputError, match="reference rows"):
        limit_alarms(np.linspace(0, 1, 50)[:, None], n_alarms=5, n_rows=2**64)
