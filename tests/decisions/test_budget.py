"""Budgets: against exhaustive search, a plain loop, xcolumns and draws of labels."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

from labelance.decisions import decide_within_budget, find_budget_rule
from labelance.exceptions import InputError

MACRO = ["macro_f1", "macro_recall", "macro_precision", "balanced_accuracy"]
UTILITIES = [*MACRO, "coverage", "precision"]
LINEAR = ["macro_recall", "balanced_accuracy", "precision"]


def probabilities(n, q, seed, rarity=2):
    rng = np.random.default_rng(seed)
    return rng.random((n, q)) ** rarity * rng.uniform(0.2, 1, q)


def expected_value(p, y, utility, k=None):
    """Return the utility of expected counts, for decisions (..., n, q)."""
    tp, pred, positive = (p * y).sum(axis=-2), y.sum(axis=-2), p.sum(axis=0)
    n = len(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_labels = {
            "macro_f1": 2 * tp / (pred + positive),
            "macro_recall": tp / positive,
            "macro_precision": np.nan_to_num(tp / pred),
            "balanced_accuracy": (tp / positive + 1 - (pred - tp) / (n - positive)) / 2,
            "coverage": 1 - (1 - p * y).prod(axis=-2),
        }
        if utility == "precision":
            return np.nan_to_num(tp.sum(axis=-1) / (n * k if k else pred.sum(axis=-1)))
    return of_labels[utility].mean(axis=-1)


def all_decisions(n, q):
    return np.array(list(product([0, 1], repeat=n * q))).reshape(-1, n, q)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("exactly", [False, True])
def test_a_budget_per_row_is_a_local_optimum(utility, exactly):
    every = all_decisions(3, 4)
    for seed in range(10):
        p, k = probabilities(3, 4, seed), 1 + seed % 3
        of_row = every.sum(axis=2)
        allowed = every[((of_row == k) if exactly else (of_row <= k)).all(axis=1)]
        found = decide_within_budget(
            p, per_row=k, exactly=exactly, utility=utility, n_restarts=10, random_state=seed
        )
        y = found.y.toarray()
        assert (y == allowed).all(axis=(1, 2)).any()
        assert found.value == pytest.approx(expected_value(p, y, utility, k))
        values = expected_value(p, allowed, utility, k)
        others = (y == allowed).all(axis=2).sum(axis=1) >= 2  # all but one row are the same
        assert found.value == pytest.approx(values[others].max())
        assert found.value >= values.max() - 0.08


@pytest.mark.slow
def test_most_local_optima_are_global():
    every = all_decisions(4, 4)
    every = every[(every.sum(axis=2) == 1).all(axis=1)]
    alone, restarted, gaps = 0, 0, []
    for seed in range(40):
        p = np.random.default_rng(seed).random((4, 4))
        best = expected_value(p, every, "macro_f1").max()
        one = decide_within_budget(p, per_row=1, exactly=True, random_state=seed)
        more = decide_within_budget(p, per_row=1, exactly=True, random_state=seed, n_restarts=30)
        alone += one.value > best - 1e-9
        restarted += more.value > best - 1e-9
        gaps.append(best - one.value)
        assert one.value <= more.value + 1e-12 <= best + 1e-9
    assert alone >= 18
    assert max(gaps) < 0.15
    assert restarted == 40


@pytest.mark.slow
@pytest.mark.parametrize("utility", UTILITIES)
def test_budgets_per_label_and_in_total_are_the_optimum(utility):
    every = all_decisions(4, 3)
    for seed in range(6):
        p = probabilities(4, 3, seed)
        for caps, total in [(2, None), ([0, 1, 4], None), (None, 3), (2, 4), (None, None)]:
            limits = np.full(3, 4) if caps is None else caps
            fits = (every.sum(axis=1) <= limits).all(axis=1)
            fits &= every.sum(axis=(1, 2)) <= (12 if total is None else total)
            found = decide_within_budget(p, per_label=caps, total=total, utility=utility)
            y = found.y.toarray()
            assert (y == every[fits]).all(axis=(1, 2)).any()
            assert found.value == pytest.approx(expected_value(p, y, utility))
            assert found.value == pytest.approx(expected_value(p, every[fits], utility).max())


@pytest.mark.slow
@pytest.mark.parametrize("utility", LINEAR)
def test_budgets_of_rows_and_labels_together_are_the_optimum(utility):
    every = all_decisions(4, 3)
    for seed in range(5):
        p = probabilities(4, 3, seed)
        for k, caps, total, exactly in [
            (1, 2, None, False),
            (2, [1, 2, 4], 5, False),
            (2, None, 3, False),
            (1, 2, None, True),
        ]:
            fits = (every.sum(axis=1) <= (4 if caps is None else caps)).all(axis=1)
            fits &= every.sum(axis=(1, 2)) <= (12 if total is None else total)
            of_row = every.sum(axis=2)
            fits &= ((of_row == k) if exactly else (of_row <= k)).all(axis=1)
            found = decide_within_budget(
                p, per_row=k, per_label=caps, total=total, exactly=exactly, utility=utility
            )
            assert (found.y.toarray() == every[fits]).all(axis=(1, 2)).any()
            assert found.value == pytest.approx(expected_value(p, every[fits], utility, k).max())


def plain_ascent(p, k, utility, seed, exactly):
    """Block coordinate ascent in a few lines, as in the paper."""
    n, q = p.shape
    y = np.zeros((n, q))
    np.put_along_axis(y, np.argsort(-p, axis=1, kind="stable")[:, :k], 1, axis=1)
    rng, order, value = np.random.default_rng(seed), np.arange(n), expected_value(p, y, utility, k)
    for _ in range(100):
        rng.shuffle(order)
        for i in order:
            with_it, without = y.copy(), y.copy()
            with_it[i], without[i] = 1, 0
            gain = label_values(p, with_it, utility) - label_values(p, without, utility)
            y[i] = 0
            best = np.argsort(-gain, kind="stable")[:k]
            y[i, best if exactly else best[gain[best] > 0]] = 1
        new = expected_value(p, y, utility, k)
        if new - value < 1e-6:
            return y
        value = new
    return y


def label_values(p, y, utility):
    one = [expected_value(p[:, j : j + 1], y[:, j : j + 1], utility) for j in range(p.shape[1])]
    return np.array(one)


@pytest.mark.slow
@pytest.mark.parametrize("utility", ["macro_f1", "balanced_accuracy", "coverage"])
@pytest.mark.parametrize("exactly", [False, True])
def test_the_kernel_does_what_a_plain_loop_does(utility, exactly):
    for seed in range(3):
        p = probabilities(25, 8, seed)
        options = {"utility": utility, "exactly": exactly, "random_state": seed}
        found = decide_within_budget(p, per_row=2, **options)
        assert_array_equal(found.y.toarray(), plain_ascent(p, 2, utility, seed, exactly))


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_value_never_falls_with_passes(utility):
    p = probabilities(200, 30, 0, rarity=4)
    options = {"per_row": 3, "utility": utility, "random_state": 0, "mix": 0.7}
    values = [decide_within_budget(p, max_iter=m, **options).value for m in (1, 2, 3, 100)]
    assert (np.diff(values) >= 0).all()
    top = np.argsort(-p, axis=1)[:, :3]
    start = np.zeros(p.shape)
    np.put_along_axis(start, top, 1, axis=1)
    mixed = 0.7 * expected_value(p, start, utility, 3) + 0.3 * expected_value(
        p, start, "precision", 3
    )
    assert values[0] >= mixed


def test_one_step_is_enough_for_linear_utilities():
    p = probabilities(50, 10, 0)
    recall = decide_within_budget(p, per_row=2, utility="macro_recall", random_state=0)
    weighted = p / p.sum(axis=0)
    best = np.argsort(-weighted, axis=1)[:, :2]
    assert (np.take_along_axis(recall.y.toarray(), best, axis=1) == 1).all()
    assert recall.n_iter <= 2


def test_a_mix_of_zero_is_the_most_probable_labels():
    p = probabilities(50, 10, 0)
    mixed = decide_within_budget(p, per_row=2, mix=0, random_state=0)
    plain = decide_within_budget(p, per_row=2, utility="precision", random_state=0)
    assert_array_equal(mixed.y.toarray(), plain.y.toarray())
    assert mixed.value == pytest.approx(plain.value)


def test_sure_rows_are_covered_once():
    p = np.array([[1.0, 0.2], [1.0, 0.3], [0.5, 0.0]])
    options = {"utility": "coverage", "n_restarts": 10, "random_state": 0}
    found = decide_within_budget(p, per_row=1, **options)
    assert found.value == pytest.approx((1 + 0.3) / 2)
    assert np.isfinite(found.of_labels).all()


def test_coverage_is_the_share_of_labels_that_draws_find():
    p = probabilities(20, 6, 1)
    found = decide_within_budget(p, per_row=1, utility="coverage", random_state=0)
    drawn = np.random.default_rng(0).random((20_000, 20, 6)) < p
    hits = (drawn & (found.y.toarray() == 1)).any(axis=1)
    assert_allclose(found.of_labels, hits.mean(axis=0), atol=0.02)


def test_draws_show_that_few_positives_are_optimistic():
    found = decide_within_budget([[0.6, 1.0]] + [[0.4, 1.0]] + [[0.0, 1.0]] * 5, per_label=[1, 9])
    assert found.of_labels[0] == pytest.approx(0.6)
    mean, spread = found.simulate(20_000, random_state=0)
    assert mean[0] == pytest.approx(0.6 * (0.6 + 0.4 * 2 / 3), abs=0.02)
    assert spread[0] == pytest.approx(0.44, abs=0.03)
    assert np.isnan(mean[1])
    assert "optimistic for 1 labels" in str(found)


KINDS = [np.ndarray.tolist, sp.csr_array, sp.csc_matrix, pd.DataFrame, pl.DataFrame]


@pytest.mark.parametrize(
    "budget", [{"per_row": 2}, {"per_label": 3}, {"total": 9}, {"per_row": 1, "per_label": 3}]
)
def test_containers_give_the_same_decisions(budget, case):
    for kind in KINDS:
        with case(kind):
            p = probabilities(15, 6, 0)
            p[p < 0.1] = 0
            utility = "macro_recall" if len(budget) == 2 else "macro_f1"
            plain = decide_within_budget(p, utility=utility, random_state=0, **budget)
            found = decide_within_budget(kind(p), utility=utility, random_state=0, **budget)
            assert_array_equal(found.y.toarray(), plain.y.toarray())
            assert found.value == pytest.approx(plain.value)


def test_cells_that_are_not_stored_are_never_chosen():
    p = sp.csr_array(np.array([[0.5, 0, 0], [0, 0, 0], [0.2, 0.1, 0]]))
    found = decide_within_budget(p, per_row=2, exactly=True, random_state=0)
    assert_array_equal(found.y.toarray(), [[1, 0, 0], [0, 0, 0], [1, 1, 0]])


def test_results_show_labels_by_name():
    p = pd.DataFrame(probabilities(9, 3, 0), columns=["a", "b", "c"])
    found = decide_within_budget(p, per_row=1, random_state=0)
    frame = found.to_frame()
    assert list(frame.index) == ["a", "b", "c"]
    assert list(frame.columns) == ["n_predicted", "n_expected", "macro_f1"]
    assert frame["n_predicted"].sum() == found.y.nnz
    assert "<strong>utility (macro_f1) = " in found._repr_html_()


SCORES = {"macro_f1": f1_score, "macro_recall": recall_score}


@pytest.fixture(scope="module")
def labelled():
    p = probabilities(3000, 6, 5, rarity=3)
    return (np.random.default_rng(6).random(p.shape) < p).astype(int), p


@pytest.mark.parametrize("utility", ["macro_f1", "macro_recall", "balanced_accuracy"])
@pytest.mark.parametrize("k", [1, 2, None])
def test_a_rule_is_better_than_the_most_probable_labels(labelled, utility, k):
    y, p = labelled
    rule = find_budget_rule(y, p, per_row=k, utility=utility)
    assert rule.value >= rule.values.max() - 1e-9
    assert rule.weights.sum() == pytest.approx(1)
    single = rule.predict(p, only_best=True).toarray()
    assert single.sum(axis=1).max() <= (k or 6)
    if utility in SCORES:
        value = SCORES[utility](y, single, average="macro", zero_division=0)
    else:
        value = np.mean([balanced_accuracy_score(*pair) for pair in zip(y.T, single.T)])
    assert value == pytest.approx(rule.values[rule.best])
    drawn = rule.predict(p, random_state=0).toarray()
    if utility in SCORES:
        mixed = SCORES[utility](y, drawn, average="macro", zero_division=0)
        assert mixed == pytest.approx(rule.value, abs=0.03)


@pytest.mark.slow
def test_a_rule_comes_near_to_the_decision_of_the_batch(labelled):
    y, p = labelled
    rule = find_budget_rule(y, p, per_row=2)
    batch = decide_within_budget(p, per_row=2, random_state=0)
    assert rule.value == pytest.approx(f1_score(y, batch.y.toarray(), average="macro"), abs=0.02)
    top = find_budget_rule(y, p, per_row=2, exactly=True).values[0]
    assert rule.value > top + 0.01


@pytest.mark.slow
def test_rules_leave_unknown_cells_out(labelled):
    y, p = labelled
    gone = np.random.default_rng(0).random(y.shape) < 0.5
    rule = find_budget_rule(np.where(gone, np.nan, y), p)
    y_pred = rule.predict(p, only_best=True).toarray()
    own = [f1_score(y[~g, j], y_pred[~g, j]) for j, g in enumerate(gone.T)]
    assert rule.values[rule.best] == pytest.approx(np.mean(own))


def test_a_label_that_no_row_has_changes_no_rule():
    y, p = np.zeros((50, 2), dtype=int), probabilities(50, 2, 0)
    y[:20, 0] = 1
    rule = find_budget_rule(y, p, per_row=1)
    assert np.isfinite(rule.slopes).all()
    assert rule.predict(p, only_best=True).toarray()[:, 1].sum() <= 50


def test_bad_budgets_are_errors(case):
    for wrong, message in [
        ({"per_row": 4}, "per_row must be an integer from 1 to 3"),
        ({"per_row": 0}, "per_row"),
        ({"per_row": 1.5}, "per_row"),
        ({"exactly": True}, "exactly needs per_row"),
        ({"per_label": -1}, "per_label must be"),
        ({"per_label": [1, 2]}, "per_label must be"),
        ({"per_label": 1.5}, "per_label must be"),
        ({"total": -1}, "total must be"),
        ({"utility": "f1"}, "utility must be one of 'macro_f1'"),
        ({"mix": 0.5}, "mix needs per_row"),
        ({"mix": 2, "per_row": 1}, "mix must be in"),
        ({"n_restarts": 0, "per_row": 1}, "n_restarts"),
        ({"per_row": 1, "per_label": 3}, "linear utility"),
        (
            {"per_row": 2, "total": 3, "exactly": True, "utility": "precision"},
            "do not allow exactly 2 labels",
        ),
        ({"y_proba": [[0.5, 1.2, 0]]}, "between 0 and 1"),
        ({"y_proba": [[0.5, np.nan, 0]]}, "NaN"),
        ({"y_proba": sp.csr_array([[0.5, -0.1, 0]])}, "between 0 and 1"),
    ]:
        with case(wrong, message):
            arguments = {"y_proba": probabilities(4, 3, 0)} | wrong
            with pytest.raises(InputError, match=message):
                decide_within_budget(arguments.pop("y_proba"), **arguments)


@pytest.mark.parametrize("many", [2**62, 2**63, 2**64 - 1])
def test_a_budget_of_more_than_all_cells_is_no_limit(many):
    p = probabilities(4, 3, 0)
    expected = decide_within_budget(p, per_label=4).y.toarray()
    for budget in ({"per_label": many}, {"per_label": [many] * 3}, {"total": many}):
        assert_array_equal(decide_within_budget(p, **budget).y.toarray(), expected)
    both = {"per_row": 3, "utility": "macro_recall"}
    expected = decide_within_budget(p, total=12, **both).y.toarray()
    assert_array_equal(decide_within_budget(p, total=many, **both).y.toarray(), expected)


def test_bad_input_of_rules_is_refused(labelled):
    y, p = labelled
    with pytest.raises(InputError, match="must be one of 'macro_f1'"):
        find_budget_rule(y, p, utility="coverage")
    with pytest.raises(InputError, match="shape"):
        find_budget_rule(y, p[:, :2])
    with pytest.raises(InputError, match="one score for each of 6 labels"):
        find_budget_rule(y, p).predict(p[:, :2])


@pytest.mark.parametrize("utility", ["macro_f1", "macro_recall", "macro_precision"])
def test_decisions_are_those_of_xcolumns(utility):
    ascent = pytest.importorskip("xcolumns.block_coordinate")
    name = utility.replace("f1", "f1_score")
    theirs = getattr(ascent, f"predict_optimizing_{name}_using_bc")
    for seed in range(10):
        p = probabilities(60, 9, seed)
        expected = theirs(p, 2, init_y_pred="top", seed=seed)
        options = {"utility": utility, "exactly": True, "random_state": seed}
        assert_array_equal(decide_within_budget(p, per_row=2, **options).y.toarray(), expected)


def test_a_rule_takes_labels_by_name():
    rng = np.random.default_rng(0)
    p = pd.DataFrame(rng.random((60, 3)), columns=["a", "b", "c"])
    rule = find_budget_rule(rng.random(p.shape) < p, p, per_row=1)
    with pytest.raises(InputError, match="another order"):
        rule.predict(p[["c", "b", "a"]])


def test_tables_without_a_doubtful_or_a_stored_cell_are_decided():
    assert decide_within_budget(np.ones((3, 3)), per_row=1).y.sum() == 3
    assert decide_within_budget(np.eye(3), per_row=1).y.sum() == 3
    assert decide_within_budget(sp.csr_array((3, 3)), per_row=1).y.nnz == 0


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_no_rows_have_no_decisions():
    assert decide_within_budget(np.zeros((0, 3)), per_row=2).y.shape == (0, 3)
