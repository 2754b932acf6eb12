"""find_thresholds: the search of LabelThresholds, for scores that exist already."""

from dataclasses import FrozenInstanceError
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, fbeta_score

from labelance.datasets import make_multilabel_imbalanced
from labelance.decisions import (
    CostMatrix,
    FBeta,
    LabelThresholds,
    PrecisionAtRecall,
    RecallAtPrecision,
    decide_within_budget,
    find_budget_rule,
    find_calibration,
    find_thresholds,
    guarantee_precision,
    guarantee_recall,
)
from labelance.exceptions import IndexMismatchWarning, InputError, UnknownLabelsError
from labelance.metrics import macro_f1

FOREST = RandomForestClassifier(20, random_state=0)


@pytest.fixture(scope="module")
def scored():
    X, y = make_multilabel_imbalanced(120, 6, 4, random_state=0)
    known = clone(FOREST).set_params(oob_score=True).fit(X, y).oob_decision_function_[:, 1]
    return X, y, known


# ------------------------------------------------------------------ against every cut


@st.composite
def small_tables(draw):
    """Labels, scores with ties and zeros, and whole weights of up to 12 rows and two labels."""
    n = draw(st.integers(2, 12))
    y = draw(arrays(np.int64, (n, 2), elements=st.integers(0, 1)))
    tenths = draw(arrays(np.int64, (n, 2), elements=st.integers(-3, 6)))
    weight = draw(arrays(np.int64, n, elements=st.integers(1, 4)))
    return y, tenths / 10, weight


def cost(truth, predicted, sample_weight):
    table = np.array([[0.0, 1], [3, -0.5]])
    return -(sample_weight * table[truth, predicted]).sum()


MEASURES = {
    "f1": ("f1", lambda *a, **k: f1_score(*a, zero_division=0, **k)),
    "balanced accuracy": ("balanced_accuracy", balanced_accuracy_score),
    "F2": (FBeta(2), lambda *a, **k: fbeta_score(*a, beta=2, zero_division=0, **k)),
    "cost": (CostMatrix([[0, 1], [3, -0.5]]), cost),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y_pred contains classes")
@pytest.mark.parametrize("name", MEASURES)
@given(small_tables())
def test_no_cut_is_better_by_scikit_learn(name, table):
    y, scores, weight = table
    objective, measure = MEASURES[name]
    found = find_thresholds(y, scores, objective=objective, shrinkage=0, sample_weight=weight)
    chosen = found.predict(scores)
    for label in np.flatnonzero(y.any(axis=0) & ~y.all(axis=0)):
        truth, score = y[:, label], scores[:, label]
        cuts = [score >= cut for cut in [*np.unique(score), np.inf]]
        values = [measure(truth, cut.astype(int), sample_weight=weight) for cut in cuts]
        got = measure(truth, chosen[:, label], sample_weight=weight)
        assert got == pytest.approx(max(values))
        assert found.n_predicted[label] == weight[chosen[:, label] > 0].sum()
        assert found.n_found[label] == weight[(chosen[:, label] * truth) > 0].sum()
    assert (found.thresholds[~y.any(axis=0)] == np.inf).all()


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["f1", "gmean", FBeta(0.5, smoothing=1), "micromacro"])
@pytest.mark.parametrize("shrink_to", ["prevalence", "pooled"])
@given(small_tables())
def test_weights_sparse_scores_and_unknown_cells_are_what_they_stand_for(
    objective, shrink_to, table
):
    y, scores, weight = table
    options = {"objective": objective, "shrinkage": 3, "shrink_to": shrink_to}
    plain = find_thresholds(y, scores, **options)
    sparse = find_thresholds(sp.csr_array(y), sp.csr_array(scores), **options)
    assert_array_equal(sparse.thresholds, plain.thresholds)
    assert_array_equal(sparse.n_predicted, plain.n_predicted)
    again = np.repeat(np.arange(len(y)), weight)
    weighted = find_thresholds(y, scores, sample_weight=weight, **options)
    assert_allclose(
        weighted.thresholds, find_thresholds(y[again], scores[again], **options).thresholds
    )
    holes = np.vstack([np.where(weight[:, None] > 2, np.nan, y), [[np.nan, np.nan]]])
    rest = np.vstack([scores, [[9.0, 9.0]]])
    kept = weight <= 2
    if kept.any():
        found = find_thresholds(holes, rest, **options)
        assert_array_equal(
            found.thresholds, find_thresholds(y[kept], scores[kept], **options).thresholds
        )
        stored = find_thresholds(holes, sp.csr_array(rest), **options)
        assert_array_equal(stored.thresholds, found.thresholds)


@pytest.mark.slow
@given(small_tables())
def test_shrinking_counts_is_the_formula_and_knows_ranks_only(table):
    y, scores, _ = table
    own = find_thresholds(y, scores, shrinkage=0)
    found = find_thresholds(y, scores, shrinkage=4, shrink_to="prevalence")
    for label in np.flatnonzero(y.any(axis=0)):
        positives, score = y[:, label].sum(), scores[:, label]
        share = positives / (positives + 4)
        target = own.n_predicted[label] ** share * positives ** (1 - share)
        reachable = np.array([(score >= cut).sum() for cut in [np.inf, *np.unique(score)]])
        gap = np.abs(reachable - target).min()
        assert abs(found.n_predicted[label] - target) == pytest.approx(gap)
    bent = find_thresholds(y, np.exp(scores), shrinkage=4, shrink_to="prevalence")
    assert_array_equal(bent.predict(np.exp(scores)), found.predict(scores))


def test_ties_at_the_bottom_are_no_reason_to_predict_all_rows():
    """Three positives that share their score with 997 others: a count of 3 is nearer to none."""
    y, scores = np.zeros((1000, 1), int), np.zeros((1000, 1))
    y[:3] = 1
    found = find_thresholds(y, scores, shrinkage=20, shrink_to="prevalence")
    assert found.n_predicted == 0
    assert found.predict([[0.0], [0.01]]).ravel().tolist() == [0, 1]


def test_infinite_shrinkage_predicts_as_many_as_there_are(scored):
    _, y, known = scored
    distinct = known + 1e-9 * np.arange(known.size).reshape(known.shape)
    found = find_thresholds(y, distinct, shrinkage=np.inf, shrink_to="prevalence")
    assert_array_equal(found.n_predicted, y.sum(axis=0))


@pytest.mark.slow
@given(small_tables())
def test_micromacro_is_a_greedy_search_over_labels(table):
    """The definition of the rule, tried on every cut of one label after the other."""
    y, scores, _ = table
    found = find_thresholds(y, scores, objective="micromacro").predict(scores)
    done, truth = np.zeros((len(y), 0), int), np.zeros((len(y), 0), int)
    for place, label in enumerate(np.argsort(-y.sum(axis=0), kind="stable"), start=1):
        truth = np.column_stack([truth, y[:, label]])

        def worth(cut, label=label, place=place, truth=truth, done=done):
            both = np.column_stack([done, cut])
            own = f1_score(y[:, label], cut, zero_division=0)
            return own / place + f1_score(truth.ravel(), both.ravel(), zero_division=0)

        cuts = [(scores[:, label] >= t).astype(int) for t in [np.inf, *np.unique(scores[:, label])]]
        best = max(worth(cut) for cut in cuts)
        assert worth(found[:, label]) == pytest.approx(best)
        done = np.column_stack([done, found[:, label]])


def test_smoothing_spares_a_hopeless_label_thousands_of_alarms():
    rng = np.random.default_rng(0)
    y, scores = np.zeros((5000, 1), int), rng.random((5000, 1))
    y[np.argsort(scores[:, 0])[1000:1003]] = 1  # three rows, far down
    plain = find_thresholds(y, scores, shrinkage=0)
    smooth = find_thresholds(y, scores, objective=FBeta(1, smoothing=1))
    shrunk = find_thresholds(y, scores, shrinkage=20, shrink_to="prevalence")
    assert plain.n_predicted[0] > 3000
    assert smooth.n_predicted[0] == 0
    assert shrunk.n_predicted[0] < 20


# ------------------------------------------------------------------ the result


def test_the_result_says_why(scored):
    _, y, known = scored
    y = np.column_stack([y, np.zeros(len(y), int), np.ones(len(y), int)])
    known = np.column_stack([known, known[:, 0], known[:, 0]])
    names = ["a", "b", "c", "d", "none", "all"]
    found = find_thresholds(
        pd.DataFrame(y, columns=names), known, shrinkage=20, shrink_to="prevalence"
    )
    table = found.to_frame()
    assert list(table.index) == names
    assert table.loc["none", "threshold"] == np.inf
    assert "no positives" in table.loc["none", "reason"]
    assert "always" in table.loc["all", "reason"]
    few = find_thresholds(y[:30], known[:30], shrinkage=200, shrink_to="prevalence")
    assert any("shrunk" in reason for reason in few.reasons)
    assert "6 labels" in repr(found)
    assert "no positives" in repr(found)
    assert "<table" in found._repr_html_()
    inside = table["low"].le(table["value"]) & table["value"].le(table["high"])
    assert inside[["a", "b", "c", "d"]].all()


def test_rows_in_another_order_are_warned_of(scored):
    _, y, scores = scored
    frame, shuffled = pd.DataFrame(y), pd.DataFrame(y).sample(frac=1, random_state=0)
    with pytest.warns(IndexMismatchWarning, match=r"scores\.loc\[y_true\.index\]"):
        find_thresholds(shuffled, pd.DataFrame(scores))
    with pytest.warns(IndexMismatchWarning, match="y_pred have different"):
        macro_f1(shuffled, frame)
    # Predictions with an index of their own are no mistake.
    assert macro_f1(frame.set_index(frame.index + len(y)), frame) == 1


def test_labels_without_positives_do_not_flatter_the_mean(scored):
    _, y, scores = scored
    one = find_thresholds(y[:, :1], scores[:, :1])
    both = find_thresholds(np.where([True, False], y[:, :1], 0), scores[:, :2])
    assert f"mean {one.value[0]:.3f};" in str(both)
    none = find_thresholds(np.zeros_like(y), scores)
    assert str(none).startswith("Thresholds of 4 labels for f1; 4 never predicted")


@pytest.mark.parametrize(
    "find",
    [
        find_thresholds,
        find_calibration,
        partial(guarantee_recall, recall=0.5),
        partial(guarantee_precision, precision=0.5),
        partial(find_budget_rule, per_row=1),
        lambda y, scores, **names: decide_within_budget(scores, per_row=1, **names),
    ],
    ids=["thresholds", "calibration", "recall", "precision", "rule", "batch"],
)
def test_names_can_be_given_for_arrays(scored, find):
    _, y, scores = scored
    names = [f"n{j}" for j in range(y.shape[1])]
    found = find(y, scores, label_names=names)
    assert found.names == tuple(names)
    assert find(y, scores).names is None
    frame = pd.DataFrame(scores, columns=[*"abcd"])
    assert find(y, frame).names == tuple("abcd")
    assert find(y, frame, label_names=names).names == tuple(names)
    with pytest.raises(InputError, match="different label names"):
        find(y, scores, label_names=names[1:])


def test_errors_about_unknown_cells_have_the_names_of_the_scores(scored):
    _, y, scores = scored
    y = y.astype(float)
    y[0, 2] = np.nan
    frame = pd.DataFrame(scores, columns=[*"abcd"])
    for options in ({"y_score": frame}, {"y_score": scores, "label_names": "abcd"}):
        with pytest.raises(UnknownLabelsError, match="in labels 'c'"):
            guarantee_precision(y, precision=0.5, **options)


def test_intervals_get_narrower_with_rows():
    y = np.tile([[1], [0], [0], [1]], (5, 1))
    scores = np.tile([[0.9], [0.2], [0.8], [0.6]], (5, 1))
    narrow = find_thresholds(np.tile(y, (40, 1)), np.tile(scores, (40, 1)), shrinkage=0)
    wide = find_thresholds(y, scores, shrinkage=0)
    assert wide.thresholds == narrow.thresholds
    assert np.ptp(narrow.interval()) < 0.3 * np.ptp(wide.interval())
    assert np.ptp(wide.interval(0.5)) < np.ptp(wide.interval(0.95))


@pytest.mark.slow
@given(small_tables())
def test_sparse_scores_are_cut_as_dense_ones(table):
    y, scores, _ = table
    found = find_thresholds(y, scores, shrinkage=0)
    cut = found.predict(sp.csr_array(scores))
    assert sp.issparse(cut)
    assert_array_equal(cut.toarray(), found.predict(scores))


@pytest.mark.parametrize(
    "objective", ["f1", "gmean", CostMatrix([[0, 1], [9, 0]]), RecallAtPrecision(0.5)], ids=str
)
def test_the_search_is_that_of_label_thresholds(scored, objective, case):
    for shrinkage in ["auto", 0, 2.5]:
        with case(shrinkage):
            X, y, known = scored
            model = LabelThresholds(FOREST, objective=objective, shrinkage=shrinkage).fit(X, y)
            found = find_thresholds(y, known, objective=objective, shrinkage=shrinkage)
            assert_array_equal(found.thresholds, model.thresholds_)
            assert_array_equal(found.predict(model.predict_proba(X)), model.predict(X))


def test_any_container_and_any_number_of_threads_give_the_same(scored):
    _, y, known = scored
    plain = find_thresholds(y, known)
    for labels, scores in [
        (sp.csr_array(y), known),
        (y, sp.csr_array(known)),
        (pd.DataFrame(y), pd.DataFrame(known)),
        (y.tolist(), known.tolist()),
    ]:
        found = find_thresholds(labels, scores, n_jobs=2)
        assert_array_equal(found.thresholds, plain.thresholds)
        cut = found.predict(scores)
        cut = cut.toarray() if sp.issparse(cut) else cut
        assert_array_equal(cut, plain.predict(known))


def test_tensors_are_scores(scored):
    torch = pytest.importorskip("torch")
    _, y, known = scored
    known = known.astype(np.float32)
    found = find_thresholds(torch.from_numpy(y), torch.from_numpy(known))
    assert_array_equal(found.thresholds, find_thresholds(y, known).thresholds)


def test_rows_of_weight_zero_are_as_if_they_were_not_there(scored):
    _, y, known = scored
    weight = np.arange(len(y)) % 2
    kept = weight > 0
    some = find_thresholds(y, known, sample_weight=weight)
    assert_array_equal(some.thresholds, find_thresholds(y[kept], known[kept]).thresholds)


def test_thresholds_stay_what_they_are(scored):
    found = find_thresholds(*scored[1:])
    with pytest.raises(FrozenInstanceError):
        found.thresholds = np.zeros(4)


def test_what_has_no_thresholds_is_refused(scored):
    _, y, known = scored
    for wrong in [{"objective": None}, {"shrink_to": "fine"}, {"shrinkage": -1}]:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            find_thresholds(y, known, **wrong)
    with pytest.raises(InputError, match="each of 4 labels"):
        find_thresholds(y, known, objective=CostMatrix(np.ones((3, 2, 2))))
    with pytest.raises(InputError, match="same shape"):
        find_thresholds(y, known[:, :2])
    with pytest.raises(InputError, match="NaN or infinite"):
        find_thresholds(y, sp.csr_array(np.full(known.shape, np.inf)))
    found = find_thresholds(y, known)
    with pytest.raises(InputError, match="each of 4 labels"):
        found.predict(known[:, :2])
    with pytest.raises(InputError, match="NaN or infinite"):
        found.predict(known * np.nan)
    for wrong in [{"beta": 0}, {"smoothing": np.inf}, {"beta": "one"}]:
        with pytest.raises(InputError, match=next(iter(wrong))):
            FBeta(**wrong)


def test_a_label_of_every_row_is_always_predicted_and_one_of_none_never():
    y, scores = np.tile([1, 0, 1], (6, 1)), np.tile(np.linspace(0.1, 0.9, 6)[:, None], (1, 3))
    y[0, 2] = 0
    found = find_thresholds(y, scores)
    assert found.thresholds[0] == -np.inf
    assert "always" in found.reasons[0]
    assert found.predict([[0.0, 1.0, 0.0]]).tolist() == [[1, 0, 0]]
    model = LabelThresholds(FOREST, threshold_search="grid", tune_on="train").fit(scores, y)
    assert not model.predict(scores)[:, 1].any()


def test_beta_matters_for_rare_labels():
    y_true, y_score = [[1], [0], [1], [0]], [[0.9], [0.6], [0.4], [0.1]]
    assert find_thresholds(y_true, y_score, objective=FBeta(0.5)).thresholds == 0.9
    assert find_thresholds(y_true, y_score, objective=FBeta(2)).thresholds == 0.4


def test_conditions_hold_on_the_rows_they_were_found_on(scored):
    _, y, known = scored
    sure = find_thresholds(y, known, objective=RecallAtPrecision(0.8))
    told = np.isfinite(sure.thresholds)
    assert (sure.n_found[told] >= 0.8 * sure.n_predicted[told]).all()
    full = find_thresholds(y, known, objective=PrecisionAtRecall(0.9))
    assert (full.n_found >= 0.9 * full.n_positive).all()


@pytest.mark.parametrize("objective", ["f1", "gmean", "balanced_accuracy", "micromacro"])
def test_ties_of_equal_weights_are_those_of_no_weights(objective, case):
    for weight in [0.1, 0.3, 1e-9, 7e5]:
        with case(weight):
            rng = np.random.default_rng(0)
            y, scores = rng.integers(0, 2, (40, 300)), rng.integers(0, 9, (40, 300)) / 8
            options = {"objective": objective, "shrinkage": 0}
            expected = find_thresholds(y, scores, **options).thresholds
            for table in (scores, sp.csr_array(scores)):
                found = find_thresholds(y, table, sample_weight=np.full(40, weight), **options)
                assert_array_equal(found.thresholds, expected)


@pytest.mark.parametrize("shrinkage", [0, "auto"])
def test_ties_of_weighted_rows_are_those_of_sparse_scores(shrinkage):
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, (40, 300)), rng.integers(0, 4, (40, 300)) / 3
    weight = rng.choice([0.1, 0.2, 0.7], 40)
    found = [
        find_thresholds(y, table, sample_weight=weight, shrinkage=shrinkage).thresholds
        for table in (scores, sp.csr_array(scores))
    ]
    reverse = find_thresholds(
        y[::-1], scores[::-1], sample_weight=weight[::-1], shrinkage=shrinkage
    )
    for other in (found[1], reverse.thresholds):
        assert_array_equal(other, found[0])
