"""Laws of the parts that RareLabelClassifier blends, and of the network."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from labelance.datasets import make_multilabel_imbalanced
from labelance.ensemble import _logistic, _network
from labelance.ensemble._encoding import Task
from labelance.ensemble._network import Network
from labelance.ensemble._parts import PARTS, Boosting, Calibrated, LinearColumns, LinearRows
from labelance.metrics import macro_auc_roc

N, Q = 90, 4


def make_task(*, sparse=False, holes=False, weight=None):
    rng = np.random.default_rng(0)
    X, y = make_multilabel_imbalanced(N, 8, Q, random_state=0)
    table = sp.csr_array(np.where(X > 0.5, X, 0)) if sparse else X
    unknown = rng.random(y.shape) < 0.3 if holes else np.zeros(y.shape, dtype=bool)
    Y = sp.csr_array(np.where(unknown, 0, y).astype(np.int8))
    return Task(table, Y, sp.csr_array(unknown.astype(np.int8)) if holes else None, weight, 5, 1)


CASES = [
    pytest.param(part, sparse, id=f"{part.name} {'sparse' if sparse else 'dense'}")
    for part in PARTS
    for sparse in (False, True)
    if part.fits(make_task(sparse=sparse).table, Q)
]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(_network, "_STEPS", 60)


@pytest.mark.parametrize(("part", "sparse"), CASES)
@pytest.mark.parametrize("holes", [False, True])
def test_parts_give_probabilities_of_rows_with_and_without_them(part, sparse, holes):
    task = make_task(sparse=sparse, holes=holes)
    model, held_out = part.fit(task, np.random.default_rng(0))
    again, same = part.fit(task, np.random.default_rng(0))
    scores = model.scores(task.table)
    for one in (scores, held_out):  # probabilities, by curves
        assert one.shape == (N, Q)
        assert ((one >= 0) & (one <= 1)).all()
    assert_array_equal(held_out, same)
    assert_array_equal(scores, again.scores(task.table))
    assert part.work(10 * N, task) > part.work(N, task) > 0


@pytest.mark.parametrize(
    ("part", "sparse", "make", "atol"),
    [
        (LinearRows(), True, LinearRows().make, 1e-12),
        (LinearColumns(), False, lambda: LogisticRegression(C=0.03, tol=1e-8, max_iter=500), 1e-3),
        (Boosting(), False, Boosting().make, 1e-12),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_label_learns_from_the_rows_in_which_it_is_known(part, sparse, make, atol, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    task = make_task(sparse=sparse, holes=True, weight=weight)
    scores = part.fit_once(task, np.random.default_rng(0)).scores(task.table)
    for label in range(Q):
        rows = task.known[:, label]
        own = None if weight is None else weight[rows]
        one = make().fit(task.table[rows], task.Y[:, [label]].toarray()[rows, 0], own)
        expected = (
            one.predict_proba(task.table)[:, 1]
            if hasattr(one, "predict_proba")
            else 0.5 + one.decision_function(task.table) / 2
        )
        assert_allclose(scores[:, label], expected, atol=atol)


@pytest.mark.parametrize(("part", "sparse"), CASES)
def test_scores_are_those_of_one_thread_under_any_backend(part, sparse):
    task = make_task(sparse=sparse)
    expected = part.fit(task, np.random.default_rng(0)).held_out
    with parallel_config("loky"):
        found = part.fit(task._replace(n_jobs=2), np.random.default_rng(0)).held_out
    assert_array_equal(found, expected)


def test_curves_are_fitted_to_scores_and_used_on_others():
    task = make_task()
    model = LinearColumns().fit_once(task, np.random.default_rng(0))
    found = Calibrated.fit(model, model.scores(task.table), task, of_odds=True)
    assert_array_equal(found.scores(task.table), found.calibrate(model.scores(task.table)))
    holes = np.full((3, Q), np.nan)
    share = task.Y.toarray().mean(axis=0)
    assert_array_equal(found.calibrate(holes), found.calibrate(np.tile(share, (3, 1))))


# ----------------------------------------------------------------------------------------- network


def loss_of(layers, x, Y, counted):
    hidden, hidden_bias, output, output_bias = layers
    units = np.maximum(x @ hidden + hidden_bias, 0)
    odds = units @ output + output_bias
    return (counted * (np.logaddexp(0, odds) - Y * odds)).sum() / len(x)


def test_slopes_are_derivatives_of_the_mean_loss(monkeypatch):
    monkeypatch.setattr(_network, "_HIDDEN", 5)
    monkeypatch.setattr(_network, "_DROPOUT", 0.0)
    rng = np.random.default_rng(0)
    x, Y = rng.normal(size=(7, 3)), (rng.random((7, 2)) < 0.4).astype(float)
    counted = rng.random((7, 2))
    layers = [np.asarray(one, float) for one in _network._start(3, Y, np.ones(Y.shape), rng)]
    found = _network._slopes(layers, x, Y, counted, rng)
    for number, slope in enumerate(found):
        numeric = np.empty_like(layers[number])
        for cell in np.ndindex(numeric.shape):
            ends = []
            for step in (-1e-5, 1e-5):
                moved = [one.copy() for one in layers]
                moved[number][cell] += step
                ends.append(loss_of(moved, x, Y, counted))
            numeric[cell] = (ends[1] - ends[0]) / 2e-5
        assert_allclose(slope, numeric, atol=1e-5)


def test_a_network_learns_nothing_from_unknown_cells():
    task = make_task(holes=True)
    Y, known = task.present, task.known
    fits = [
        Network.fit(task._replace(Y=sp.csr_array(values)), np.random.default_rng(0))
        for values in (Y, np.where(known, Y, 0), np.where(known, Y, 1 - Y))
    ]
    assert_array_equal(fits[0].scores(task.table), fits[1].scores(task.table))
    assert_allclose(fits[2].hidden, fits[0].hidden)


@pytest.mark.parametrize("holes", [False, True])
def test_labels_of_very_many_rows_are_solved_in_groups(holes, monkeypatch):
    task = make_task(holes=holes, weight=np.random.default_rng(1).uniform(0.5, 2, N))
    together = LinearColumns().fit(task, np.random.default_rng(0))
    monkeypatch.setattr(_logistic, "_MOST_CELLS", 3 * N)
    assert [one.stop for one in _logistic.label_groups(together.held_out)] == [3, 4]
    in_groups = LinearColumns().fit(task, np.random.default_rng(0))
    assert_allclose(in_groups.held_out, together.held_out, rtol=1e-6)


def test_a_network_learns_products_of_columns(monkeypatch):
    monkeypatch.setattr(_network, "_STEPS", 1000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] > 1]).astype(np.float32)
    network = Network.fit(Task(X[:500], sp.csr_array(Y[:500]), None, None), rng)
    assert macro_auc_roc(Y[500:].astype(int), network.scores(X[500:])) > 0.9


def test_weights_of_rows_count():
    task = make_task()
    Y = task.present
    heavy = np.where(Y[:, 0] > 0, 5.0, 1.0)
    scores = [
        Network.fit(task._replace(weight=weight), np.random.default_rng(0)).scores(task.table)
        for weight in (None, heavy)
    ]
    assert scores[1][:, 0].mean() > scores[0][:, 0].mean()
