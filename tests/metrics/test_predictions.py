"""Measures of 0/1 predictions, and the report, against counting by hand and other libraries."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from scipy import sparse
from sklearn import metrics as sklearn_metrics

from labelance import metrics
from labelance.exceptions import InputError, LabelFormatError

MACRO = [metrics.macro_f1, metrics.macro_g_mean, metrics.macro_balanced_accuracy]
POOLED = [metrics.micro_f1, metrics.example_f1, metrics.hamming_loss, metrics.subset_accuracy]


@st.composite
def predicted(draw, min_labels=1):
    """True and predicted labels in which labels and rows may be empty or full."""
    n, q = draw(st.integers(1, 10)), draw(st.integers(min_labels, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    densities = rng.choice([0.0, 0.3, 0.7, 1.0], size=(2, 1, q))
    Y, Y_pred = (rng.random((2, n, q)) < densities).astype(np.int8)
    return Y, Y_pred


def by_hand(y, p, zero_division):
    """Rates of one label by the rule: idle is ``zero_division``, any other 0/0 is 0."""

    def rate(part, whole, idle):
        return part / whole if whole else (zero_division if idle else 0)

    tp, fp = sum((y == 1) & (p == 1)), sum((y == 0) & (p == 1))
    fn, tn = sum((y == 1) & (p == 0)), sum((y == 0) & (p == 0))
    rates = {
        "precision": rate(tp, tp + fp, tp + fp + fn == 0),
        "recall": rate(tp, tp + fn, tp + fp + fn == 0),
        "specificity": rate(tn, tn + fp, tn + fp + fn == 0),
        "f1": rate(2 * tp, 2 * tp + fp + fn, tp + fp + fn == 0),
    }
    rates["g_mean"] = np.sqrt(rates["recall"] * rates["specificity"])
    return rates


@pytest.mark.slow
@given(predicted(), st.sampled_from([0, 1, 0.5]))
def test_rates_by_hand(case, zero_division):
    Y, Y_pred = case
    report = metrics.imbalance_report(Y, Y_pred, zero_division=zero_division)
    slow = [by_hand(y, p, zero_division) for y, p in zip(Y.T, Y_pred.T)]
    for rate in ("precision", "recall", "specificity", "g_mean", "f1"):
        expected = [label[rate] for label in slow]
        np.testing.assert_allclose(getattr(report, rate), expected)
        assert report.averages["macro"][rate] == pytest.approx(np.mean(expected))
    options = {"zero_division": zero_division}
    assert metrics.macro_f1(Y, Y_pred, **options) == pytest.approx(report.f1.mean())
    np.testing.assert_array_equal(
        metrics.macro_g_mean(Y, Y_pred, average=None, **options), report.g_mean
    )
    np.testing.assert_allclose(
        metrics.macro_balanced_accuracy(Y, Y_pred, average=None, **options),
        (report.recall + report.specificity) / 2,
    )
    pooled = by_hand(Y.ravel(), Y_pred.ravel(), zero_division)
    assert report.averages["micro"]["f1"] == pytest.approx(pooled["f1"])


@pytest.mark.slow
@given(predicted(min_labels=2), st.sampled_from([0, 1]))
def test_equal_to_scikit_learn(case, zero_division):
    mixed = np.arange(case[0].shape[1])[None] % 2  # lets scikit-learn see multi-label targets
    Y, Y_pred = (np.vstack([part, mixed]) for part in case)
    averages = {
        "macro": metrics.macro_f1,
        "micro": metrics.micro_f1,
        "samples": metrics.example_f1,
    }
    for average, ours in averages.items():
        theirs = sklearn_metrics.f1_score(Y, Y_pred, average=average, zero_division=zero_division)
        assert ours(Y, Y_pred, zero_division=zero_division) == pytest.approx(theirs, abs=1e-12)
    assert metrics.hamming_loss(Y, Y_pred) == pytest.approx(sklearn_metrics.hamming_loss(Y, Y_pred))
    accuracy = sklearn_metrics.accuracy_score(Y, Y_pred)
    assert metrics.subset_accuracy(Y, Y_pred) == pytest.approx(accuracy)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@given(predicted(min_labels=2), st.booleans())
def test_defaults_are_scikit_learns(case, as_sparse):
    mixed = np.arange(case[0].shape[1])[None] % 2  # lets scikit-learn see multi-label targets
    Y, Y_pred = (np.vstack([part, mixed]) for part in case)
    pair = (sparse.csr_array(Y), sparse.csr_array(Y_pred)) if as_sparse else (Y, Y_pred)
    balanced = [sklearn_metrics.balanced_accuracy_score(y, p) for y, p in zip(Y.T, Y_pred.T)]
    expected = {
        "macro_f1": sklearn_metrics.f1_score(*pair, average="macro"),
        "micro_f1": sklearn_metrics.f1_score(*pair, average="micro"),
        "example_f1": sklearn_metrics.f1_score(*pair, average="samples"),
        "macro_balanced_accuracy": np.mean(balanced),
        "subset_accuracy": sklearn_metrics.accuracy_score(*pair),
        "neg_hamming_loss": -sklearn_metrics.hamming_loss(*pair),
    }
    for name, value in expected.items():
        assert metrics.get_label_scorer(name).score(*pair) == pytest.approx(value, abs=1e-12), name
    np.testing.assert_allclose(
        metrics.macro_balanced_accuracy(*pair, average=None), balanced, atol=1e-12
    )
    theirs = sklearn_metrics.classification_report(*pair, output_dict=True)
    ours = metrics.imbalance_report(*pair, output_dict=True)
    for row in ours:
        for rate, peer in {"precision": "precision", "recall": "recall", "f1": "f1-score"}.items():
            assert ours[row][rate] == pytest.approx(theirs[row][peer], abs=1e-12), (row, rate)


def test_defined_labels_equal_imbalanced_learn_and_balanced_accuracy():
    rng = np.random.default_rng(0)
    Y, Y_pred = (rng.random((2, 200, 6)) < 0.3).astype(int)
    g_means = [geometric_mean_score(y, p) for y, p in zip(Y.T, Y_pred.T)]
    np.testing.assert_allclose(metrics.macro_g_mean(Y, Y_pred, average=None), g_means)
    balanced = [sklearn_metrics.balanced_accuracy_score(y, p) for y, p in zip(Y.T, Y_pred.T)]
    assert metrics.macro_balanced_accuracy(Y, Y_pred) == pytest.approx(np.mean(balanced))


def test_nothing_to_find_and_nothing_found():
    Y, Y_pred = np.array([[1, 0], [0, 0]]), np.array([[1, 0], [1, 0]])
    assert metrics.macro_f1(Y, Y_pred) == pytest.approx(1 / 3)
    assert metrics.macro_f1(Y, Y_pred, zero_division=1) == pytest.approx((2 / 3 + 1) / 2)
    assert metrics.macro_f1(Y, Y_pred, zero_division=np.nan) == pytest.approx(2 / 3)
    empty = np.zeros((3, 2))
    assert np.isnan(metrics.macro_f1(empty, empty, zero_division=np.nan))
    assert np.isnan(metrics.example_f1(empty, empty, zero_division=np.nan))


def test_many_rows_do_not_overflow():
    ones = np.ones((70_000, 1), dtype=np.int8)
    assert metrics.macro_f1(ones, ones) == metrics.example_f1(ones, ones) == 1
    assert metrics.subset_accuracy(ones, ones) == 1
    assert metrics.hamming_loss(np.ones((1, 300)), np.zeros((1, 300))) == 1
    assert metrics.subset_accuracy(np.ones((1, 256)), np.zeros((1, 256))) == 0


@pytest.mark.slow
def test_containers_agree():
    rng = np.random.default_rng(0)
    Y, Y_pred = (rng.random((2, 40, 3)) < 0.3).astype(int)
    names = list("abc")
    pairs = [
        (sparse.csr_array(Y), sparse.csc_matrix(Y_pred)),
        (Y.astype(bool), Y_pred.tolist()),
        (pd.DataFrame(Y, columns=names), Y_pred),
        (pl.DataFrame(Y, schema=names), pl.DataFrame(Y_pred, schema=names)),
    ]
    for measure in MACRO + POOLED:
        assert [measure(*pair) for pair in pairs] == [measure(Y, Y_pred)] * len(pairs)


@pytest.mark.parametrize("measure", MACRO + POOLED)
def test_bad_predictions(measure):
    Y = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "b"])
    with pytest.raises(InputError, match=r"Got shapes \(2, 2\) and \(1, 2\)"):
        measure(Y, [[1, 0]])
    with pytest.raises(LabelFormatError, match=r"for y_pred.*0\.5"):
        measure(Y, [[1, 0.5], [0, 1]])
    with pytest.raises(InputError, match="order their columns"):
        measure(Y, Y[["b", "a"]])


def test_probabilities_are_no_labels_and_the_cure_is_said():
    Y, scores = np.array([[1, 0], [0, 1]]), np.array([[0.9, 0.2], [0.1, 0.6]])
    forest = [np.column_stack([1 - column, column]) for column in scores.T]
    with pytest.raises(LabelFormatError, match=r"y_pred also.*\(y_pred >= 0\.5\).* y_score"):
        metrics.imbalance_report(Y, scores)
    with pytest.raises(LabelFormatError, match=r"y_true also.*\(y_true >= 0\.5\)"):
        metrics.macro_f1(scores, Y)
    with pytest.raises(InputError, match=r"labels as one table.*y_pred is a list.*label_scores"):
        metrics.macro_f1(Y, forest)
    with pytest.raises(LabelFormatError, match=r"If they are class numbers"):
        metrics.macro_f1(Y, 3 * Y)


class TestReport:
    Y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])
    Y_pred = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]])

    def test_layout(self):
        report = metrics.imbalance_report(
            self.Y, self.Y_pred, label_names=["rock", "polka", "tango"]
        )
        lines = [line.split() for line in str(report).splitlines()]
        assert lines[0] == ["pre", "rec", "spe", "geo", "f1", "IRLbl", "sup"]
        assert lines[3] == ["rock", "1.00", "0.67", "1.00", "0.82", "0.80", "1.00", "3"]
        assert lines[4] == ["tango", "0.00", "0.00", "1.00", "0.00", "0.00", "-", "0"]
        assert [line[0] for line in lines[6:]] == ["macro", "weighted", "micro"]
        assert len({len(line) for line in str(report).splitlines() if line}) == 1
        assert "0.667" in report.to_text(digits=3)

    def test_dict_and_frame_say_the_same(self):
        report = metrics.imbalance_report(self.Y, self.Y_pred)
        as_dict = metrics.imbalance_report(self.Y, self.Y_pred, output_dict=True)
        assert list(as_dict) == ["0", "1", "2", "macro avg", "weighted avg", "micro avg"]
        frame = report.to_frame()
        assert list(frame.index) == list(as_dict)
        for name, row in as_dict.items():
            np.testing.assert_array_equal(frame.loc[name].to_numpy(), list(row.values()))

    def test_imbalance_comes_from_the_training_labels(self):
        Y_train = sparse.csr_array([[1, 0, 1], [1, 1, 1], [1, 0, 1], [1, 0, 0], [0, 0, 0]])
        report = metrics.imbalance_report(self.Y, self.Y_pred, y_train=Y_train)
        np.testing.assert_allclose(report.irlbl, [1, 4, 4 / 3])
        assert report.averages["macro"]["irlbl"] == pytest.approx((1 + 4 + 4 / 3) / 3)

    def test_training_labels_are_found_by_name(self):
        Y = pd.DataFrame(self.Y, columns=["rock", "polka", "tango"])
        Y_train = [["tango", "rock"], ["rock"], ["rock", "polka"], ["rock", "tango"], []]
        report = metrics.imbalance_report(Y, self.Y_pred, y_train=Y_train)
        np.testing.assert_allclose(report.irlbl, [1, 4, 2])
        shuffled = pd.DataFrame({"tango": [1, 1, 0], "rock": [1, 0, 0], "polka": [0, 1, 0]})
        report = metrics.imbalance_report(Y, self.Y_pred, y_train=shuffled)
        np.testing.assert_allclose(report.irlbl, [2, 2, 1])
        with pytest.raises(InputError, match="y_train has the label 'waltz'"):
            metrics.imbalance_report(
                Y, self.Y_pred, y_train=shuffled.rename(columns={"polka": "waltz"})
            )

    def test_names_come_from_the_frame(self):
        Y = pd.DataFrame(self.Y, columns=["rock", "polka", "tango"])
        assert metrics.imbalance_report(Y, self.Y_pred).label_names == ("rock", "polka", "tango")

    def test_bad_names_and_training_labels(self):
        with pytest.raises(InputError, match="needs 3 different label names"):
            metrics.imbalance_report(self.Y, self.Y_pred, label_names=["a", "a", "b"])
        with pytest.raises(InputError, match="y_true has 3 labels, and y_train has 2"):
            metrics.imbalance_report(self.Y, self.Y_pred, y_train=self.Y[:, :2])


@pytest.mark.parametrize("measure", [metrics.macro_f1, metrics.macro_auc_roc])
def test_other_averages_are_refused(measure):
    with pytest.raises(InputError, match="micro_f1"):
        measure([[1, 0], [0, 1]], [[1, 0], [0, 1]], average="micro")
