"""Areas, rankings and top-k against slow oracles and against scikit-learn."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import metrics as sklearn_metrics

from labelance import metrics
from labelance.exceptions import ContainerError, InputError, UndefinedLabelWarning

MEASURES_OF_ROWS = [
    metrics.ranking_loss,
    metrics.label_ranking_average_precision,
    metrics.coverage_error,
    metrics.one_error,
]


@st.composite
def scored(draw, min_labels=1):
    """Y with empty, rare, common and full labels; scores with few distinct values, or many."""
    n, q = draw(st.integers(1, 12)), draw(st.integers(min_labels, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Y = (rng.random((n, q)) < rng.choice([0.0, 0.2, 0.5, 1.0], size=q)).astype(np.int8)
    levels = draw(st.sampled_from([1, 2, 5, 1000]))
    scores = rng.integers(0, levels, size=(n, q)) / levels - 0.3
    return Y, scores.astype(draw(st.sampled_from([np.float32, np.float64])))


def auc_by_pairs(y, s):
    """Share of (positive, negative) pairs won, ties half."""
    pairs = list(itertools.product(s[y == 1], s[y == 0]))
    if not pairs:
        return np.nan
    return sum((p > n) + 0.5 * (p == n) for p, n in pairs) / len(pairs)


def area_by_steps(y, s):
    """Walk down the distinct thresholds: gain in recall times precision."""
    if not y.any():
        return np.nan
    area = recall = 0.0
    for threshold in sorted(set(s), reverse=True):
        chosen = y[s >= threshold]
        area += (chosen.sum() / y.sum() - recall) * chosen.mean()
        recall = chosen.sum() / y.sum()
    return area


def top_by_orders(y, s, k, worth):
    """Worth of the relevant labels among the first k, averaged over all orders of tied labels."""
    orders = [o for o in itertools.permutations(range(len(s))) if (np.diff(s[list(o)]) <= 0).all()]
    return np.mean([sum(worth[j] for j in o[:k] if y[j]) for o in orders])


def test_worked_example():
    Y = np.array([[1, 0, 1, 0, 0, 1]]).T
    scores = np.array([[0.9, 0.8, 0.8, 0.3, 0.2, 0.1]]).T
    assert metrics.macro_auc_pr(Y, scores) == pytest.approx(0.722222, abs=5e-7)
    assert metrics.macro_auc_roc(Y, scores) == pytest.approx(0.611111, abs=5e-7)
    f_at = {t: metrics.macro_f1(Y, scores >= t) for t in (0.1, 0.2, 0.3, 0.8, 0.9)}
    expected = {0.1: 2 / 3, 0.2: 0.5, 0.3: 4 / 7, 0.8: 2 / 3, 0.9: 0.5}
    assert f_at == pytest.approx(expected)


@pytest.mark.slow
@given(scored())
def test_areas_are_pairs_won_and_steps_down(case):
    Y, scores = case
    areas = metrics.label_areas(Y, scores)
    slow_roc = [auc_by_pairs(y, s) for y, s in zip(Y.T, scores.T)]
    slow_pr = [area_by_steps(y, s) for y, s in zip(Y.T, scores.T)]
    np.testing.assert_allclose(areas.auc_roc, slow_roc, atol=1e-12)
    np.testing.assert_allclose(areas.auc_pr, slow_pr, atol=1e-12)
    np.testing.assert_array_equal(metrics.macro_auc_roc(Y, scores, average=None), areas.auc_roc)
    np.testing.assert_array_equal(
        metrics.macro_auc_pr(Y, scores, average=None, undefined="nan"), areas.auc_pr
    )


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [1, 3, 17], ids="rounded to {}".format)
def test_areas_equal_scikit_learn(decimals):
    rng = np.random.default_rng(0)
    scores = rng.random((2000, 30)).round(decimals)
    Y = (rng.random((2000, 30)) < np.linspace(0.01, 0.9, 30)).astype(int)
    areas = metrics.label_areas(Y, scores)
    roc = sklearn_metrics.roc_auc_score(Y, scores, average=None)
    pr = sklearn_metrics.average_precision_score(Y, scores, average=None)
    np.testing.assert_allclose(areas.auc_roc, roc, rtol=0, atol=1e-12)
    np.testing.assert_allclose(areas.auc_pr, pr, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@pytest.mark.filterwarnings("ignore::labelance.exceptions.UndefinedLabelWarning")
@given(scored(min_labels=2))
def test_default_areas_are_scikit_learns_for_absent_and_full_labels_too(case):
    Y, scores = _rows_it_recognizes(*case)
    for name, theirs in {
        "macro_auc_roc": sklearn_metrics.roc_auc_score,
        "macro_auc_pr": sklearn_metrics.average_precision_score,
    }.items():
        ours = getattr(metrics, name)
        for average in ("macro", None):
            expected = theirs(Y, scores, average=average)
            np.testing.assert_allclose(ours(Y, scores, average=average), expected, atol=1e-12)
        scorer = metrics.get_label_scorer(name)
        np.testing.assert_allclose(scorer.score(sparse.csr_array(Y), scores), theirs(Y, scores))
    chances = np.clip(scores, 0, 1)
    brier = [sklearn_metrics.brier_score_loss(y, p) for y, p in zip(Y.T, chances.T)]
    assert metrics.macro_brier_loss(Y, chances) == pytest.approx(np.mean(brier))


@pytest.mark.slow
@given(scored())
def test_areas_depend_on_order_only(case):
    Y, scores = case
    before = metrics.label_areas(Y, scores)
    after = metrics.label_areas(Y[::-1], 4 * scores[::-1] + 8)
    np.testing.assert_array_equal(before.auc_roc, after.auc_roc)
    np.testing.assert_allclose(before.auc_pr, after.auc_pr, atol=1e-15)
    mirrored = metrics.macro_auc_roc(1 - Y, -scores, average=None)
    np.testing.assert_allclose(before.auc_roc, mirrored, atol=1e-15)


@pytest.mark.slow
@given(scored(min_labels=2))
def test_rankings_equal_scikit_learn(case):
    Y, scores = case
    peers = {
        metrics.ranking_loss: sklearn_metrics.label_ranking_loss,
        metrics.label_ranking_average_precision: (
            sklearn_metrics.label_ranking_average_precision_score
        ),
        metrics.coverage_error: sklearn_metrics.coverage_error,
    }
    wide, wide_scores = _rows_it_recognizes(Y, scores)
    for ours, theirs in peers.items():
        expected = theirs(wide, wide_scores)
        assert ours(wide, wide_scores) == pytest.approx(expected, abs=1e-12)
    for k in range(1, Y.shape[1] + 1):
        expected = sklearn_metrics.ndcg_score(wide, wide_scores, k=k)
        assert metrics.ndcg_at_k(wide, wide_scores, k=k) == pytest.approx(expected, abs=1e-12)


def chances_by_orders(s, k):
    """Share of the orders of tied labels in which each label is among the first k."""
    orders = [o for o in itertools.permutations(range(len(s))) if (np.diff(s[list(o)]) <= 0).all()]
    return np.mean([np.isin(np.arange(len(s)), o[:k]) for o in orders], axis=0)


@pytest.mark.slow
@given(scored(), st.integers(1, 6))
def test_labels_at_k_share_the_places_of_ties(case, k):
    Y, scores = case
    k = min(k, Y.shape[1])
    chance = np.array([chances_by_orders(s, k) for s in scores])
    tp, found, positive = (Y * chance).sum(axis=0), chance.sum(axis=0), Y.sum(axis=0)
    recall = tp / np.maximum(positive, 1)
    assert metrics.macro_recall_at_k(Y, scores, k=k) == pytest.approx(recall.mean())
    f1 = 2 * tp / np.maximum(positive + found, 1e-9)
    assert metrics.macro_f1_at_k(Y, scores, k=k) == pytest.approx(f1.mean())
    covered = 1 - np.prod(1 - Y * chance, axis=0)
    assert metrics.coverage_at_k(Y, scores, k=k) == pytest.approx(covered.mean())


def test_without_ties_labels_at_k_are_predictions():
    rng = np.random.default_rng(0)
    Y, scores = rng.integers(0, 2, (30, 5)), rng.random((30, 5))
    Y[:, 0], scores[:, 0] = 0, -1
    top = np.zeros_like(Y)
    top[np.arange(30)[:, None], np.argsort(-scores, axis=1)[:, :2]] = 1
    for zero_division in (0, 1, np.nan):
        found = metrics.macro_f1_at_k(Y, scores, k=2, zero_division=zero_division)
        assert found == metrics.macro_f1(Y, top, zero_division=zero_division)
    hit = (Y * top).any(axis=0)
    assert metrics.coverage_at_k(Y, scores, k=2) == hit.mean()


def _rows_it_recognizes(Y, scores):
    """Add a row with both values, by which scikit-learn tells multi-label targets."""
    mixed = np.arange(Y.shape[1])[None] % 2
    return np.vstack([Y, mixed]), np.vstack([scores, mixed]).astype(np.float64)


@pytest.mark.slow
@given(scored(), st.integers(1, 6))
def test_top_k_is_the_mean_over_all_orders_of_ties(case, k):
    Y, scores = case
    n, q = Y.shape
    k = min(k, q)
    hits = [top_by_orders(y, s, k, np.ones(q)) for y, s in zip(Y, scores)]
    assert metrics.precision_at_k(Y, scores, k=k) == pytest.approx(np.mean(hits) / k)
    first = [top_by_orders(y, s, 1, np.ones(q)) for y, s in zip(Y, scores)]
    assert metrics.one_error(Y, scores) == pytest.approx(1 - np.mean(first))

    propensity = np.linspace(0.2, 1, q)
    won = [top_by_orders(y, s, k, 1 / propensity) for y, s in zip(Y, scores)]
    best = [np.sort(y / propensity)[::-1][:k].sum() for y in Y]
    psp = metrics.propensity_scored_precision_at_k
    plain = psp(Y, scores, k=k, propensity=propensity, normalize=False)
    assert plain == pytest.approx(np.sum(won) / (k * n))
    relative = np.sum(won) / np.sum(best) if Y.any() else 0
    assert psp(Y, scores, k=k, propensity=propensity) == pytest.approx(relative)


def test_propensity_formula():
    Y = np.zeros((100, 3), dtype=int)
    Y[:50, 0], Y[:2, 1] = 1, 1
    c = (np.log(100) - 1) * 2.5**0.55
    expected = [1 / (1 + c * np.exp(-0.55 * np.log(count + 1.5))) for count in (50, 2, 0)]
    np.testing.assert_allclose(metrics.label_propensity(Y), expected)
    scores = np.random.default_rng(0).random((100, 3))
    given_them = metrics.propensity_scored_precision_at_k(Y, scores, k=2, propensity=expected)
    assert metrics.propensity_scored_precision_at_k(Y, scores, k=2) == pytest.approx(given_them)


def test_large_pair_counts_do_not_overflow():
    n = 70_000
    Y, scores = (np.arange(n)[:, None] % 2), np.zeros((n, 1))  # every one of 1.2e9 pairs is tied
    assert metrics.macro_auc_roc(Y, scores) == 0.5
    assert metrics.macro_auc_pr(Y, scores) == 0.5


def test_perfect_scores_are_perfect():
    Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert metrics.macro_auc_roc(Y, Y) == metrics.macro_auc_pr(Y, Y) == 1
    assert metrics.ranking_loss(Y, Y) == metrics.one_error(Y, Y) == 0
    assert metrics.coverage_error(Y, Y) == Y.sum() / len(Y)
    assert metrics.propensity_scored_precision_at_k(Y, Y, k=2) == pytest.approx(1)


@pytest.mark.slow
def test_threads_and_blocks_do_not_matter():
    # Beyond a million scores the table is cut into blocks, of labels here and of rows below.
    rng = np.random.default_rng(0)
    Y, scores = (rng.random((1025, 1100)) < 0.1).astype(np.int8), rng.random((1025, 1100)).round(2)
    whole = metrics.label_areas(Y, scores)
    for n_jobs, labels in ((2, slice(None)), (1, slice(0, 500)), (2, slice(900, 1100))):
        part = metrics.label_areas(Y[:, labels], scores[:, labels], n_jobs=n_jobs)
        np.testing.assert_array_equal(part.auc_roc, whole.auc_roc[labels])
        np.testing.assert_array_equal(part.auc_pr, whole.auc_pr[labels])
    halves = [
        metrics.ranking_loss(Y[rows], scores[rows]) for rows in (slice(0, 500), slice(500, 1025))
    ]
    mean = (500 * halves[0] + 525 * halves[1]) / 1025
    assert metrics.ranking_loss(Y, scores, n_jobs=2) == pytest.approx(mean, rel=1e-12)


@pytest.mark.slow
def test_containers_agree():
    rng = np.random.default_rng(0)
    Y, scores = (rng.random((40, 4)) < 0.3).astype(int), rng.random((40, 4)).round(1)
    names = list("abcd")
    pairs = [
        (sparse.csr_array(Y), scores),
        (sparse.coo_matrix(Y), np.asfortranarray(scores)),
        (Y.tolist(), scores.tolist()),
        (pd.DataFrame(Y, columns=names), pd.DataFrame(scores, columns=names)),
        (pl.DataFrame(Y, schema=names), pl.DataFrame(scores, schema=names)),
    ]
    for measure in [metrics.macro_auc_roc, metrics.macro_auc_pr, *MEASURES_OF_ROWS]:
        expected = measure(Y, scores)
        assert [measure(*pair) for pair in pairs] == [expected] * len(pairs), measure


class TestUndefinedLabels:
    Y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]])  # half, none, all
    scores = np.array([[0.9, 0.1, 0.2], [0.8, 0.3, 0.4], [0.8, 0.2, 0.1], [0.3, 0.4, 0.3]])

    def test_skip_warns_and_counts(self):
        with pytest.warns(UndefinedLabelWarning, match="undefined for 2 of 3 labels"):
            assert metrics.macro_auc_roc(self.Y, self.scores, undefined="skip") == 0.875
        with pytest.warns(UndefinedLabelWarning, match="undefined for 1 of 3 labels"):
            found = metrics.macro_auc_pr(self.Y, self.scores, undefined="skip")
        assert found == pytest.approx((5 / 6 + 1) / 2)

    def test_labels_are_named(self):
        named = pd.DataFrame(self.Y, columns=["half", "none", "all"])
        with pytest.warns(UndefinedLabelWarning, match=r"2 of 3 labels \('none', 'all'\)"):
            metrics.macro_auc_roc(named, self.scores)

    def test_warning_points_at_the_caller(self):
        with pytest.warns(UndefinedLabelWarning) as caught:
            metrics.macro_auc_roc(self.Y, self.scores)
        assert caught[0].filename == __file__

    def test_nan_says_the_way_out(self):
        with pytest.warns(UndefinedLabelWarning, match="make the mean nan.*undefined='skip'"):
            assert np.isnan(metrics.macro_auc_roc(self.Y, self.scores))

    def test_labels_without_a_known_cell_are_left_out(self):
        unknown = np.full((4, 1), np.nan)
        Y = np.hstack([self.Y[:, :1], unknown])
        for measure, expected in ((metrics.macro_auc_roc, 0.875), (metrics.macro_auc_pr, 5 / 6)):
            found = measure(Y, self.scores[:, :2])
            assert found == pytest.approx(expected)

    def test_numbers_are_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert metrics.macro_auc_roc(self.Y, self.scores, undefined=0.5) == 1.875 / 3
            assert metrics.macro_auc_pr(self.Y, self.scores, undefined=0) == pytest.approx(11 / 18)
            labels = metrics.macro_auc_roc(self.Y, self.scores, average=None)
            filled = metrics.macro_auc_roc(self.Y, self.scores, average=None, undefined=0)
        np.testing.assert_array_equal(labels, [0.875, np.nan, np.nan])
        np.testing.assert_array_equal(filled, [0.875, 0, 0])

    def test_nothing_defined_is_nan(self):
        with pytest.warns(UndefinedLabelWarning, match="2 of 2"):
            assert np.isnan(metrics.macro_auc_roc(self.Y[:, 1:], self.scores[:, 1:]))

    def test_unknown_word(self):
        with pytest.raises(InputError, match=r"undefined='drop'"):
            metrics.macro_auc_roc(self.Y, self.scores, undefined="drop")


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (np.zeros((2, 2)), InputError, r"same shape. Got shapes \(2, 3\) and \(2, 2\)"),
        (np.full((2, 3), np.nan), InputError, "Scores of 3 labels are NaN or infinite"),
        (sparse.csr_array((2, 3)), ContainerError, "sparse matrix"),
        ([np.zeros((2, 2))] * 3, InputError, "label_scores"),
        (pd.DataFrame(np.zeros((2, 3)), columns=list("bac")), InputError, "order their columns"),
    ],
    ids=["shape", "nan", "sparse", "list", "columns"],
)
def test_bad_scores(scores, error, message):
    Y = pd.DataFrame([[1, 0, 1], [0, 1, 0]], columns=list("abc"))
    for measure in [metrics.macro_auc_roc, *MEASURES_OF_ROWS]:
        with pytest.raises(error, match=message):
            measure(Y, scores)


@pytest.mark.parametrize("k", [0, 4, 1.5])
def test_bad_k(k):
    for measure in [metrics.precision_at_k, metrics.macro_f1_at_k, metrics.coverage_at_k]:
        with pytest.raises(InputError, match="integer from 1 to 3"):
            measure([[1, 0, 1]], [[0.3, 0.2, 0.1]], k=k)


@pytest.mark.parametrize("propensity", [[0.5], [0.5, 0.0, 1.0], [0.5, 0.5, 2.0], []])
def test_bad_propensity(propensity):
    with pytest.raises(InputError, match="label_propensity"):
        metrics.propensity_scored_precision_at_k(
            [[1, 0, 1]], [[0.3, 0.2, 0.1]], k=1, propensity=propensity
        )
