"""Neighbors on real data: the authors' program's, and an n x n table's index by index."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelance.datasets import load_dataset
from labelance.neighbors import find_neighbors

# name of the reference figures -> dataset, protocol, number of rows
CASES = {
    "flags": ("flags", None, None),
    "emotions": ("emotions", None, None),
    "cal500": ("cal500", None, None),
    "scene-train": ("scene", None, 1211),
    "yeast": ("yeast", None, None),
    "medical": ("medical", None, None),
    "enron-exp": ("enron", "paper", None),
}

pytestmark = pytest.mark.data


@pytest.fixture(scope="module", params=CASES)
def case(request, reference):
    name, protocol, n = CASES[request.param]
    dataset = load_dataset(name, protocol=protocol)
    dump = f"dumps/mlsol_{request.param}"
    rows = np.loadtxt(reference(f"{dump}_knn.csv"), delimiter=",", dtype=int)
    distances = np.loadtxt(reference(f"{dump}_knndist.csv"), delimiter=",")[:, :5]
    X, nominal = dataset.values[:n], dataset.categorical_features
    found = find_neighbors(X, 5, scale="range", categorical_features=nominal)
    return X, nominal, found, rows, distances


def test_neighbors_are_the_authors(case):
    """Up to rows tied at the fifth distance, of which any choice is right."""
    _, _, found, rows, distances = case
    np.testing.assert_allclose(found.distances, distances, rtol=0, atol=1e-12)
    for i in range(len(rows)):
        nearer = distances[i] < distances[i, -1] - 1e-9
        assert {*rows[i, nearer]} == {*found.indices[i, nearer]}


def table_in_blocks(X, nominal):
    """All squared distances, feature after feature, for some queries at a time."""
    spans = X.max(axis=0) - X.min(axis=0)
    width = np.where(spans > 0, spans, np.inf)
    for start in range(0, len(X), 64):
        total = np.zeros((min(64, len(X) - start), len(X)))
        for f in np.flatnonzero(spans):
            if nominal[f]:
                total += np.not_equal.outer(X[start : start + 64, f], X[:, f])
            else:
                total += (np.subtract.outer(X[start : start + 64, f], X[:, f]) / width[f]) ** 2
        yield start, np.sqrt(total)


@pytest.mark.slow  # whole tables of distances, in numpy
def test_neighbors_are_the_tables_index_by_index(case):
    X, nominal, found, _, _ = case
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    for start, table in table_in_blocks(dense, nominal):
        queries = np.arange(len(table))
        table[queries, start + queries] = np.inf
        expected = np.argsort(table, axis=1, kind="stable")[:, :5]
        part = slice(start, start + len(table))
        np.testing.assert_array_equal(found.indices[part], expected)
        np.testing.assert_array_equal(
            found.distances[part], np.take_along_axis(table, expected, axis=1)
        )


def test_containers_agree(case):
    X, nominal, found, _, _ = case
    other = sp.csr_array(X) if isinstance(X, np.ndarray) else X.toarray()
    again = find_neighbors(other, 5, scale="range", categorical_features=nominal, n_jobs=1)
    np.testing.assert_array_equal(again.indices, found.indices)
    np.testing.assert_array_equal(again.distances, found.distances)
