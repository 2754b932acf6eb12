"""Boosters and networks of others with unknown labels, against the libraries themselves."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance

PAGE = Path(__file__).parents[2] / "docs/user_guide/targets.md"
MAKE = {
    "lightgbm": lambda m: m.LGBMClassifier(n_estimators=5, verbose=-1, random_state=0),
    "xgboost": lambda m: m.XGBClassifier(n_estimators=5, random_state=0),
    "catboost": lambda m: m.CatBoostClassifier(
        iterations=5, verbose=0, random_state=0, allow_writing_files=False
    ),
}


@pytest.fixture(scope="module")
def data():
    """Rows of few values, so that bins of a booster do not depend on which rows are known."""
    X, y = make_multilabel_imbalanced(300, 6, 3, random_state=0)
    hidden = np.random.default_rng(0).random(y.shape) < 0.3
    return np.round(2 * X), y, hidden


def code_after(comment):
    """Return the block of the guide that a comment leaves out of its own tests."""
    found = re.search(
        rf"<!-- skip: {comment} -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    return found.group(1)


@pytest.mark.parametrize("name", MAKE)
def test_a_booster_per_label_learns_from_rows_in_which_it_is_known(name, data):
    classifier = MAKE[name](pytest.importorskip(name))
    X, y, hidden = data
    weight = np.random.default_rng(1).uniform(1, 2, len(X))
    scores = BinaryRelevance(classifier).fit(X, np.where(hidden, np.nan, y), weight)
    scores = scores.predict_proba(X)
    for j in range(y.shape[1]):
        known = ~hidden[:, j]
        one = clone(classifier).fit(X[known], y[known, j], sample_weight=weight[known])
        assert_allclose(scores[:, j], one.predict_proba(X)[:, 1], rtol=1e-6)


def test_lightgbm_takes_weights_of_known_cells(data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, hidden = data
    names = {
        "X": X, "y": np.where(hidden, np.nan, y), "BinaryRelevance": BinaryRelevance,
        "LGBMClassifier": lambda: MAKE["lightgbm"](lightgbm),
    }  # fmt: skip
    exec(code_after("needs lightgbm"), names)
    balanced = MAKE["lightgbm"](lightgbm).set_params(class_weight="balanced")
    expected = BinaryRelevance(balanced).fit(X, names["y"]).predict_proba(X)
    assert_allclose(names["scores"], expected, rtol=1e-6)


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_xgboost_leaves_unknown_cells_out_of_a_loss_of_all_labels(strategy, data):
    xgboost = pytest.importorskip("xgboost")
    X, y, hidden = data
    code = code_after("needs xgboost").replace("multi_output_tree", strategy)
    names = {"np": np, "xgboost": xgboost, "X": X, "y": np.where(hidden, np.nan, y)}
    exec(code, names)
    assert names["scores"].shape == y.shape
    assert (names["scores"][y == 1].mean() > 2 * names["scores"][y == 0].mean()).all()
    if strategy == "one_output_per_tree":  # then every label is a booster of its own
        for j in range(y.shape[1]):
            known = ~hidden[:, j]
            one = dict(names, X=X[known], y=y[known][:, [j]].astype(float))
            exec(code, one)
            assert_allclose(one["scores"][:, 0], names["scores"][known, j], rtol=1e-4)


def test_torch_has_no_gradient_at_unknown_cells(data):
    torch = pytest.importorskip("torch")
    _, y, hidden = data
    logits = torch.randn(y.shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    names = {"torch": torch, "logits": logits, "y": torch.tensor(np.where(hidden, np.nan, y))}
    exec(code_after("needs torch"), names)
    names["loss"].backward()
    assert_array_equal((logits.grad == 0).numpy(), hidden)
    known = torch.tensor(~hidden)
    cells = torch.nn.functional.binary_cross_entropy_with_logits(
        logits[known].double(), torch.tensor(y, dtype=torch.float64)[known]
    )
    assert_allclose(names["loss"].item(), cells.item(), rtol=1e-5)
