"""Compiled trees equal the slow, readable ones: numbers, categories, missing values, weights."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelance.learners.tree import class_problems, fit_many, subset_problems

spec = importlib.util.spec_from_file_location("oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

OPTIONS = [
    {},
    {"prune": False, "collapse": False},
    {"subtree_raising": False, "min_samples_leaf": 1},
    {"mdl_correction": False, "confidence": 0.4, "min_samples_leaf": 3},
]


def make_problem(seed, *, n_classes, kinds, missing, sparse):
    """Rows with ties, near ties and many zeros; classes that depend on some of the features."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 70)), int(rng.integers(1, 6))
    n_categories = rng.choice(kinds, d)
    numbers = rng.choice([0.0, 0.0, -1.0, 0.5, 0.500004, 2.0, 3.5], (n, d))
    numbers = np.where(rng.random(d) < 0.5, numbers, np.round(rng.normal(size=(n, d)), 2))
    numbers[rng.random((n, d)) < 0.5 * sparse] = 0.0
    X = np.where(n_categories > 0, rng.integers(0, np.maximum(n_categories, 1), (n, d)), numbers)
    signal = X[:, 0] + X[:, -1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y, n_categories


def nodes_of(tree):
    """Every node of an oracle's tree, breadth first: feature, threshold, class weights."""
    found, queue = [], [tree.root]
    for node in queue:
        threshold = 0.5 if tree.n_categories[node.feature] == 2 else node.threshold
        found.append((node.feature, threshold if node.children else np.nan, node))
        queue.extend(node.children)
    return found


def assert_same_tree(forest, t, tree):
    """The same splits, and the same class weights wherever rows are."""
    own, expected = forest.take(t, t + 1), nodes_of(tree)
    np.testing.assert_array_equal(own.feature, [feature for feature, _, _ in expected])
    np.testing.assert_array_equal(own.threshold, [threshold for _, threshold, _ in expected])
    shares = own.histogram.reshape(len(expected), -1)
    for mine, (_, _, node) in zip(shares, expected):
        if node.weight > 1e-6:
            np.testing.assert_allclose(mine, node.bags.sum(axis=0), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["complete", "missing"])
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    kinds=st.sampled_from([(0,), (2,), (0, 2, 4)]),
    sparse=st.booleans(),
)
def test_trees_equal_the_oracle(options, missing, seed, n_classes, kinds, sparse):
    X, y, n_categories = make_problem(
        seed, n_classes=n_classes, kinds=kinds, missing=missing, sparse=sparse
    )
    rng = np.random.default_rng(seed)
    subsets = [np.arange(len(y)), rng.integers(0, len(y), len(y)), np.arange(len(y) // 2 + 1)]
    nominal = n_categories > 0
    forest = fit_many(
        csr_array(X) if sparse else X,
        subset_problems(subsets, [y[rows] for rows in subsets], n_classes),
        categorical_features=nominal,
        n_categories=n_categories[nominal],
        **options,
    )
    for t, rows in enumerate(subsets):
        tree = oracle.OracleTree(
            X[rows], y[rows], n_classes=n_classes, n_categories=n_categories, **options
        )
        assert_same_tree(forest, t, tree)
        found = forest.take(t, t + 1).predict_proba(X)
        np.testing.assert_allclose(found, [tree.proba(x) for x in X], atol=1e-9)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), signed=st.booleans(), rare=st.integers(0, 1))
def test_sparse_columns_that_gain_just_enough_for_a_rare_class(seed, signed, rare):
    """Most columns cannot make up for the number of their cuts, and a few just can."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 160)), 12
    y = (rng.random(n) < 0.12).astype(int)
    # Rows of the rare class have some of the features more often, and higher.
    often = rng.choice([0.05, 0.15, 0.4], d) + np.outer(y, rng.choice([0.0, 0.1, 0.4], d))
    X = rng.random((n, d)) + np.outer(y, rng.choice([0.0, 0.5], d))
    X *= (rng.random((n, d)) < often) * np.where(signed & (rng.random(d) < 0.5), -1, 1)
    y, options = y ^ (1 - rare), {"prune": False, "collapse": False}
    forest = fit_many(csr_array(X), class_problems(y[:, None], 2), **options)
    tree = oracle.OracleTree(X, y, n_classes=2, n_categories=np.zeros(d, int), **options)
    assert_same_tree(forest, 0, tree)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_a_cell_just_below_the_rows_without_one_makes_no_cut(seed, sparse):
    """It was counted as one for the price of cuts, and trees of few rows were leaves too soon."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(6, 40)), int(rng.integers(2, 4))
    X = rng.choice([-3.0, -2.0, -5e-6, 0.0, 0.0, 0.0, 0.0, 1.0], (n, 3))
    y = rng.integers(0, n_classes, n)
    options = {"prune": False, "collapse": False, "min_samples_leaf": int(rng.integers(1, 4))}
    forest = fit_many(
        csr_array(X) if sparse else X, class_problems(y[:, None], n_classes), **options
    )
    tree = oracle.OracleTree(X, y, n_classes=n_classes, n_categories=np.zeros(3, int), **options)
    assert_same_tree(forest, 0, tree)


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 3), sparse=st.booleans())
def test_values_too_close_to_be_separated_and_splits_of_few_rows(seed, n_classes, sparse):
    """Of steps of 4e-6 only three make a gap; most rows have few of the features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (120, 6)) * 4e-6 * (rng.random((120, 6)) < 0.2)
    X[:, 0] = rng.integers(0, 40, 120) * 4e-6
    y = ((X[:, 0] > 8e-5).astype(int) + (X[:, 1] > 1e-5)) % n_classes
    y = np.where(rng.random(120) < 0.1, rng.integers(0, n_classes, 120), y)
    rows, sample = np.arange(120), rng.integers(0, 120, 120)
    options, d = (
        {"prune": False, "collapse": False, "mdl_correction": seed % 2 == 0},
        np.zeros(6, int),
    )
    parts = subset_problems([rows, sample], [y, y[sample]], n_classes)
    whole = class_problems(y[:, None], n_classes)
    for problems, t, own in ((parts, 0, rows), (parts, 1, sample), (whole, 0, rows)):
        forest = fit_many(csr_array(X) if sparse else X, problems, **options)
        tree = oracle.OracleTree(X[own], y[own], n_classes=n_classes, n_categories=d, **options)
        assert_same_tree(forest, t, tree)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), missing=st.sampled_from([0.0, 0.2]))
def test_weighted_trees_equal_the_oracle(seed, missing):
    X, y, n_categories = make_problem(
        seed, n_classes=3, kinds=(0, 2, 3), missing=missing, sparse=False
    )
    weights = np.random.default_rng(seed).choice([0.5, 1.0, 1.25, 3.0], len(y))
    nominal = n_categories > 0
    forest = fit_many(
        X,
        subset_problems([np.arange(len(y))], [y], 3),
        categorical_features=nominal,
        n_categories=n_categories[nominal],
        sample_weight=weights,
    )
    tree = oracle.OracleTree(X, y, n_classes=3, n_categories=n_categories, weights=weights)
    assert_same_tree(forest, 0, tree)
