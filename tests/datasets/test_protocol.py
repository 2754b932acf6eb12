"""The paper's preprocessing, against a readable count and the authors' own choice of features."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array, issparse

from labelance.datasets import (
    MultiLabelDataset,
    apply_protocol,
    drop_rare_labels,
    keep_frequent_features,
    load_dataset,
)
from labelance.exceptions import InputError

matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.sampled_from([0.0, 0.0, 1.0, 2.0, -0.5]),
)


@pytest.mark.slow
@given(X=matrices, share=st.floats(0.05, 1))
def test_frequent_features_are_those_that_a_slow_count_finds(X, share) -> None:
    n_kept = int(np.floor(round(share * X.shape[1], 9)))
    if n_kept == 0:
        with pytest.raises(InputError, match="keep at least one"):
            keep_frequent_features(X, share)
        return
    frequency = [sum(value != 0 for value in column) for column in X.T]
    expected = sorted(range(X.shape[1]), key=lambda j: (-frequency[j], j))[:n_kept]
    for container in (np.asarray, csr_array):
        X_kept, kept = keep_frequent_features(container(X), share)
        assert kept.tolist() == expected
        assert issparse(X_kept) == (container is csr_array)
        dense = X_kept.toarray() if issparse(X_kept) else X_kept
        np.testing.assert_array_equal(dense, X[:, expected])


@pytest.mark.slow
@given(X=matrices, data=st.data())
def test_other_values_can_count_as_zero_in_dense_and_sparse_alike(X, data) -> None:
    zero = data.draw(hnp.arrays(np.float64, X.shape[1], elements=st.sampled_from([0, 1, np.nan])))
    frequency = (X != zero).sum(axis=0)
    expected = np.argsort(-frequency, kind="stable")
    for container in (np.asarray, csr_array):
        _, kept = keep_frequent_features(container(X), 1.0, zero_values=zero)
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_labels_with_too_few_rows_are_dropped(container) -> None:
    Y = container(np.array([[1, 0, 1, 1], [1, 0, 0, 1], [1, 1, 1, 1]]))
    for least, expected in ((1, [0, 1, 2, 3]), (2, [0, 2, 3]), (3, [0, 3]), (4, [])):
        Y_kept, kept = drop_rare_labels(Y, least)
        assert kept.tolist() == expected
        assert Y_kept.shape == (3, len(expected))


@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_unknown_labels_do_not_count_as_present(container) -> None:
    Y = container(np.array([[1, np.nan], [1, np.nan], [0, 1]]))
    assert drop_rare_labels(Y)[1].tolist() == [0]
    assert apply_protocol(MultiLabelDataset(np.eye(3), Y)).label_names == ("y0",)


def test_nominal_features_count_by_the_word_zero_not_by_the_code() -> None:
    X = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 5]])
    data = MultiLabelDataset(
        X, np.ones((3, 1)), categories=(("1", "0"), ("YES", "NO"), None), feature_names="abc"
    )
    # a is "1", "1", "0": two rows; b has no "0": three rows; c is a number: one row.
    reduced = apply_protocol(data, feature_share=0.7)
    assert reduced.feature_names == ("b", "a")
    assert reduced.categories == (("YES", "NO"), ("1", "0"))
    np.testing.assert_array_equal(reduced.values, X[:, [1, 0]])


def test_a_dataset_without_a_known_name_keeps_its_features() -> None:
    data = MultiLabelDataset(np.eye(4), [[1, 1], [1, 0], [0, 0], [0, 0]], name="mine")
    reduced = apply_protocol(data)
    assert reduced.n_features == 4
    assert reduced.label_names == ("y0",)


def test_unknown_protocols_and_shares_are_refused() -> None:
    data = MultiLabelDataset(np.eye(2), np.eye(2))
    with pytest.raises(InputError, match="protocol must be 'paper'"):
        apply_protocol(data, "mine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"in \(0, 1\]"):
        keep_frequent_features(np.eye(2), 2)


@pytest.mark.data
@pytest.mark.parametrize("name", ["enron", "medical"])
def test_the_features_kept_are_those_of_the_authors_program(name, reference) -> None:
    with reference(f"dumps/retained_features_{name}.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    published, reduced = load_dataset(name), load_dataset(name, protocol="paper")
    places = {feature: j for j, feature in enumerate(published.feature_names)}
    assert reduced.feature_names == tuple(feature for feature, _ in rows)
    assert [places[feature] for feature in reduced.feature_names] == [int(j) for _, j in rows]
