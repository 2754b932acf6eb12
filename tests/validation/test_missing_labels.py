"""NaN in y is unknown: left out label by label, or refused by name with a reason."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from labelance import imbalance, metrics
from labelance.exceptions import LabelFormatError, UnknownLabelsError
from labelance.learners import BinaryRelevance, LabelPowerset
from labelance.sampling import LPROS
from labelance.testing import sampler_data

NAN = float("nan")
CONTAINERS = {
    "array": np.asarray,
    "list": lambda y: y.tolist(),
    "sparse": sp.csr_array,
    "pandas": lambda y: pd.DataFrame(y, columns=list("abcdefgh")[: y.shape[1]]),
    "nullable": lambda y: pd.DataFrame(y, columns=list("abcdefgh")[: y.shape[1]]).astype("Int64"),
    "polars": lambda y: pl.DataFrame(y, schema=list("abcdefgh")[: y.shape[1]]).fill_nan(None),
}
BY_LABEL = ["macro_f1", "macro_g_mean", "macro_balanced_accuracy", "macro_auc_roc", "macro_auc_pr"]
ROWS_TOGETHER = ["subset_accuracy", "ranking_loss", "one_error"]


@pytest.fixture
def partial():
    """Labels of 60 rows of which about a third is unknown, and scores."""
    X, y = sampler_data()
    rng = np.random.default_rng(0)
    y = np.where(rng.random(y.shape) < 0.3, NAN, y)
    return X, y, rng.random(y.shape).round(1)


@pytest.mark.parametrize("name", BY_LABEL)
def test_metrics_of_single_labels_leave_unknown_cells_out(name, partial):
    _, y, scores = partial
    metric = getattr(metrics, name)
    table = scores if "auc" in name else (scores > 0.6).astype(int)
    found = metric(y, table, average=None)
    for j, known in enumerate(~np.isnan(y).T):
        alone = metric(y[known][:, [j]].astype(int), table[known][:, [j]], average=None)
        assert_allclose(found[j], alone[0], rtol=1e-15)
    assert_allclose(metric(y, table), found.mean())


def test_pooled_metrics_leave_unknown_cells_out(partial):
    _, y, scores = partial
    known, predicted = ~np.isnan(y), (scores > 0.6).astype(int)
    cells = y[known].astype(int)[:, None], predicted[known][:, None]
    assert metrics.micro_f1(y, predicted) == metrics.micro_f1(*cells)
    wrong = metrics.hamming_loss(y, predicted)
    assert wrong == metrics.hamming_loss(*cells)


def test_a_label_without_known_cells_has_no_value():
    y, predicted = [[1, NAN], [0, NAN]], [[1, 1], [0, 0]]
    found = metrics.macro_f1(y, predicted, average=None)
    assert_array_equal(found, [1, NAN])
    assert metrics.macro_f1(y, predicted) == 1
    nothing = [[NAN], [NAN]]
    assert np.isnan(metrics.micro_f1(nothing, [[1], [0]]))
    assert np.isnan(metrics.hamming_loss(nothing, [[1], [0]]))
    assert np.isnan(imbalance.density(nothing))


@pytest.mark.parametrize("kind", CONTAINERS)
def test_measures_count_known_cells_in_every_container(kind):
    """Label a: 1, 1, unknown, 0, 0. Label b: unknown, 1, 0, 0, 0."""
    y = CONTAINERS[kind](np.array([[1, NAN], [1, 1], [NAN, 0], [0, 0], [0, 0]]))
    assert_array_equal(imbalance.label_counts(y), [2, 1])
    assert_array_equal(imbalance.irlbl(y), [1, 2])
    assert_array_equal(imbalance.imr(y), [2 / 2, 3 / 1])
    assert imbalance.mean_imr(y) == 2
    assert imbalance.mean_ir(y) == 1.5
    assert imbalance.density(y) == 3 / 8
    assert_allclose(imbalance.cvir(y), np.std([1, 2], ddof=1) / 1.5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "sparse", "pandas", "polars"])
@pytest.mark.parametrize("estimator", [None, LogisticRegression()], ids=["C4.5", "logistic"])
def test_every_label_learns_from_the_rows_of_which_it_is_known(kind, estimator, partial):
    X, y, _ = partial
    weight = np.linspace(0.5, 2, len(X))
    learner = BinaryRelevance(estimator)
    found = learner.fit(X, CONTAINERS[kind](y), sample_weight=weight).predict_proba(X)
    for j, known in enumerate(~np.isnan(y).T):
        alone = BinaryRelevance(estimator).fit(X[known], y[known][:, [j]], weight[known])
        assert_allclose(found[:, [j]], alone.predict_proba(X), rtol=1e-12)


def test_a_label_of_which_no_row_is_known_is_refused_by_name(partial):
    X, y, _ = partial
    y = pd.DataFrame(y).rename(columns=str)
    y["1"] = NAN
    with pytest.raises(LabelFormatError, match="'1' is known"):
        BinaryRelevance().fit(X, y)


@pytest.mark.parametrize(
    "call",
    [
        lambda X, y, _: LPROS().fit_resample(X, y),
        lambda X, y, _: LabelPowerset().fit(X, y),
        lambda X, y, _: imbalance.scumble(y),
        *(
            lambda X, y, scores, name=name: getattr(metrics, name)(y, (scores > 0.5).astype(int))
            for name in ROWS_TOGETHER
        ),
    ],
)
def test_others_refuse_by_name_and_say_why_and_what_can_be_done(call, partial):
    _, y, _ = partial
    with pytest.raises(UnknownLabelsError) as caught:
        call(*partial)
    n_unknown = np.isnan(y).sum()
    for part in ("since", f"{n_unknown} unknown cells (nan)", "drop these rows", "absent"):
        assert part in str(caught.value)


def test_unknown_labels_in_predictions_are_refused(partial):
    _, y, _ = partial
    with pytest.raises(LabelFormatError, match="y_pred"):
        metrics.macro_f1(y, y)
