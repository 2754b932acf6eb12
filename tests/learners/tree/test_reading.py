"""What can be read off a fitted tree, against the tree as it is printed and its training rows."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import entropy

from labelance.exceptions import InputError
from labelance.learners import BinaryRelevance, C45Classifier

LINE = re.compile(r"((?:\|   )*)(\S+) (<=|>|=) ([^:]+)(?:: (\S+) \(([^)]*)\))?$")
ALL_DECIMALS = 17


def print_lines(tree):
    """The lines of the printed tree: depth, feature, relation, value, class and weight."""
    text = tree.export_text(decimals=ALL_DECIMALS)
    found = [LINE.match(line) for line in text.splitlines()]
    if found == [None]:  # a root alone
        return []
    return [
        (len(m[1]) // 4, int(m[2][1:]), m[3], float(m[4]), m[5], m[6] and float(m[6].split("/")[0]))
        for m in found
    ]


def walk(lines, row):
    """The line of the leaf that a row without missing values ends at."""
    at = depth = 0
    while True:
        level, feature, relation, value, outcome, _ = lines[at]
        goes = {"<=": row[feature] <= value, ">": row[feature] > value, "=": row[feature] == value}
        if level == depth and goes[relation]:
            if outcome is not None:
                return at
            depth += 1
        at += 1


@st.composite
def problems(draw, missing=(0.0,)):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 80)), draw(st.integers(1, 5))
    n_categories = rng.choice([0, 0, 2, 4], d)
    codes = rng.integers(0, np.maximum(n_categories, 1), (n, d))
    X = np.where(n_categories > 0, codes, rng.normal(size=(n, d)).round(1))
    y = rng.integers(0, draw(st.integers(1, 3)), n) + 2 * (X[:, 0] > 0.5)
    X[rng.random((n, d)) < draw(st.sampled_from(missing))] = np.nan
    options = draw(
        st.sampled_from([{}, {"prune": False, "collapse": False}, {"min_samples_leaf": 1}])
    )
    nominal = {
        "categorical_features": n_categories > 0,
        "n_categories": n_categories[n_categories > 0],
    }
    return C45Classifier(**options, **nominal), X, y


@pytest.mark.slow
@given(problems())
def test_rows_reach_the_leaf_that_the_printed_tree_sends_them_to(problem):
    tree, X, y = problem
    lines = print_lines(tree.fit(X, y))
    leaves = tree.apply(X)
    assert_array_equal(tree.apply(csr_array(X)), leaves)
    assert_array_equal(
        np.bincount(leaves, minlength=len(tree.forest_.weight))[leaves], tree.forest_.weight[leaves]
    )
    if lines:
        reached = [walk(lines, row) for row in X]
        assert len(set(zip(reached, leaves))) == len(set(reached)) == len(set(leaves))
        assert_array_equal([lines[at][4] for at in reached], tree.predict(X).astype(str))
        assert_array_equal([lines[at][5] for at in reached], tree.forest_.weight[leaves])


@pytest.mark.slow
@given(problems(missing=(0.0, 0.2)))
def test_depth_and_leaves_are_those_of_the_printed_tree(problem):
    tree, X, y = problem
    lines = print_lines(tree.fit(X, y))
    assert tree.get_n_leaves() == max(sum(line[4] is not None for line in lines), 1)
    assert tree.get_depth() == max((line[0] + 1 for line in lines), default=0)


@pytest.mark.slow
@given(problems(missing=(0.3,)))
def test_a_missing_value_follows_the_heaviest_branch(problem):
    tree, X, y = problem
    forest = tree.fit(X, y).forest_
    for row, leaf in zip(X, tree.apply(X)):
        at = 0
        while forest.feature[at] >= 0:
            value, children = (
                row[forest.feature[at]],
                forest.first[at] + np.arange(forest.width[at]),
            )
            if np.isnan(value):
                at = children[np.argmax(forest.weight[children])]
            elif forest.n_categories[forest.feature[at]]:
                at = children[int(value)]
            else:
                at = children[int(value > forest.threshold[at])]
        assert at == leaf


@pytest.mark.slow
@given(problems())
def test_importances_are_the_entropy_that_splits_take_from_the_rows(problem):
    tree, X, y = problem
    forest = tree.fit(X, y).forest_

    def total_entropy(rows):
        return len(rows) * entropy(np.unique(y[rows], return_counts=True)[1]) if len(rows) else 0.0

    taken, reaching = np.zeros(X.shape[1]), {0: np.arange(len(X))}
    for v in range(len(forest.feature)):
        rows, f = reaching[v], forest.feature[v]
        if f < 0:
            continue
        branch = X[rows, f] if forest.n_categories[f] else X[rows, f] > forest.threshold[v]
        for b in range(forest.width[v]):
            reaching[forest.first[v] + b] = rows[branch == b]
        taken[f] += total_entropy(rows) - sum(
            total_entropy(reaching[forest.first[v] + b]) for b in range(forest.width[v])
        )
    importances = tree.feature_importances_
    expected = taken / taken.sum() if taken.sum() > 0 else taken
    assert_allclose(importances, expected, atol=1e-9)
    assert importances.sum() == pytest.approx(1 if taken.sum() > 0 else 0)


@pytest.mark.slow
@given(problems(missing=(0.3,)))
def test_importances_are_shares(problem):
    tree, X, y = problem
    importances = tree.fit(X, y).feature_importances_
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1 if tree.get_depth() else 0)


def colors(frame, seed=0, n=120):
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n)
    y = (color == "blue") ^ (size > 1)
    if frame == "pandas":
        return pd.DataFrame({"color": pd.Categorical(color), "size": size}), y
    return pl.DataFrame(
        {"color": color, "size": size},
        schema_overrides={"color": pl.Enum(["blue", "green", "red"])},
    ), y


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_categorical_columns_are_nominal(frame):
    X, y = colors(frame)
    tree = C45Classifier().fit(X, y)
    codes = np.column_stack(
        [np.unique(X["color"].to_numpy().astype(str), return_inverse=True)[1], X["size"].to_numpy()]
    )
    by_codes = C45Classifier(categorical_features=[0]).fit(codes, y)
    assert_array_equal(tree.predict_proba(X), by_codes.predict_proba(codes))
    assert_array_equal(tree.apply(X), by_codes.apply(codes))
    assert "color = blue" in tree.export_text()
    whole = BinaryRelevance().fit(X, y[:, None].astype(int))
    assert whole.estimators_[0].export_text() == C45Classifier().fit(X, y.astype(int)).export_text()
    assert_array_equal(whole.estimators_[0].predict(X), whole.predict(X)[:, 0])


def test_categories_are_known_by_their_words_not_their_codes():
    X, y = colors("pandas")
    tree = C45Classifier().fit(X, y)
    other = X.assign(color=X["color"].cat.reorder_categories(["red", "blue", "green"]))
    assert_array_equal(tree.predict(other), tree.predict(X))
    strange = X.assign(color=pd.Categorical(["violet"] * len(X)))
    unknown = X.assign(color=pd.Categorical([None] * len(X), categories=["red"]))
    assert_array_equal(tree.predict_proba(strange), tree.predict_proba(unknown))
    with pytest.raises(InputError, match="was fitted with categorical columns 'color'"):
        tree.predict(X.assign(color=1.0))
