"""Boosters of others on partially labelled data; each runs where its package is installed."""

import numpy as np
import pytest
from sklearn.base import clone

from labelance.datasets import make_multilabel_imbalanced
from labelance.learners import BinaryRelevance

BOOSTERS = {
    "lightgbm": ("LGBMClassifier", {"n_estimators": 5, "verbose": -1, "random_state": 0}),
    "xgboost": ("XGBClassifier", {"n_estimators": 5, "random_state": 0}),
    "catboost": (
        "CatBoostClassifier",
        {"iterations": 5, "verbose": 0, "random_state": 0, "allow_writing_files": False},
    ),
}


@pytest.fixture
def partial():
    X, y = make_multilabel_imbalanced(300, 8, 4, random_state=0)
    return X, y, np.random.default_rng(0).random(y.shape) < 0.3


@pytest.mark.filterwarnings("ignore")  # of the boosters
@pytest.mark.parametrize("package", BOOSTERS)
def test_every_label_learns_from_its_known_rows(package, partial):
    name, options = BOOSTERS[package]
    booster = getattr(pytest.importorskip(package), name)(**options)
    X, y, hidden = partial
    found = BinaryRelevance(booster).fit(X, np.where(hidden, np.nan, y)).predict_proba(X)
    for j, known in enumerate(~hidden.T):
        alone = clone(booster).fit(X[known], y[known, j]).predict_proba(X)[:, 1]
        np.testing.assert_allclose(found[:, j], alone)


def test_one_tree_for_all_labels_takes_a_mask_by_its_objective(partial):
    xgboost = pytest.importorskip("xgboost")
    X, y, hidden = partial

    def scores(filled):
        target = np.where(hidden, filled, y)

        def objective(margin, _):
            p = 1 / (1 + np.exp(-margin))
            return (p - target) * ~hidden, p * (1 - p) * ~hidden

        options = {"multi_strategy": "multi_output_tree", "tree_method": "hist", "base_score": 0.0}
        rows = xgboost.DMatrix(X, label=target)
        return xgboost.train({**options, "num_target": 4}, rows, 5, obj=objective).predict(rows)

    np.testing.assert_array_equal(scores(0), scores(1))
