"""The value that every reader gives."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from labelance.datasets import MultiLabelDataset
from labelance.exceptions import InputError, LabelFormatError


def small(**changes):
    parts = {
        "values": np.array([[0.0, 1.5], [1, np.nan], [np.nan, 2]]),
        "Y": [[1, 0], [0, 0], [1, 1]],
        "categories": (("a", "b"), None),
        "name": "small",
    }
    return MultiLabelDataset(**(parts | changes))


def test_it_is_frozen_and_says_what_it_is():
    data = small()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.X = 1
    assert (
        repr(data) == "MultiLabelDataset('small', 3 samples, 2 features (1 categorical), 2 labels)"
    )
    assert "2 sparse features" in repr(small(values=csr_array(data.values)))
    assert (data.n_samples, data.n_features, data.n_labels) == (3, 2, 2)


@pytest.mark.parametrize("make", [np.array, csr_array, coo_array, lambda Y: np.array(Y) == 1])
def test_labels_are_int8_ones(make):
    Y = small(Y=make([[1, 0], [0, 0], [1, 1]])).Y
    assert isinstance(Y, csr_array)
    assert Y.dtype == np.int8
    assert Y.nnz == 3
    assert Y.has_canonical_format


def test_what_was_given_stays_as_it_was():
    X = csr_array((np.array([0.0, 2.0, 1.0]), np.array([1, 1, 0]), np.array([0, 1, 3])))
    Y = csr_array((np.array([1, 0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 1))
    data = MultiLabelDataset(X, Y)
    assert (X.nnz, Y.nnz) == (3, 2)
    assert (data.values.nnz, data.Y.nnz) == (2, 1)
    assert data.values.indices.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"Y": [[1, 0], [0, 0]]}, InputError, "3 rows, and Y has 2"),
        ({"Y": [[2, 0], [0, 0], [0, 0]]}, LabelFormatError, "zeros and ones"),
        ({"values": np.zeros(3)}, InputError, "values must have two dimensions"),
        ({"feature_names": ["a"]}, InputError, "1 names for 2"),
        ({"label_names": ["a"]}, InputError, "1 names for 2"),
        ({"categories": [None]}, InputError, "1 for 2 features"),
        ({"categorical_features": [False, True]}, InputError, "The two differ"),
    ],
)
def test_parts_must_fit(changes, error, message):
    with pytest.raises(error, match=message):
        small(**changes)


@pytest.mark.parametrize("rows", [[2, 0], np.array([True, False, True])])
def test_rows_can_be_taken(rows):
    part = small().take(rows)
    np.testing.assert_array_equal(part.values, small().values[np.asarray(rows)])
    np.testing.assert_array_equal(part.Y.toarray(), small().Y.toarray()[np.asarray(rows)])
    assert part.categories == small().categories


@pytest.mark.parametrize(
    "changes",
    [
        {"values": np.array([[0.0, 1.5], [1, np.nan], [np.nan, 3]])},
        {"values": np.array([[-0.0, 1.5], [1, np.nan], [np.nan, 2]])},
        {"values": csr_array([[0.0, 1.5], [1, np.nan], [np.nan, 2]])},
        {"Y": [[1, 0], [0, 1], [1, 1]]},
        {"feature_names": ["x0", "other"]},
        {"label_names": ["y0", "other"]},
        {"categories": (("b", "a"), None)},
    ],
)
def test_same_as_sees_every_difference(changes):
    assert small().same_as(small(name="other", citation="words do not count"))
    assert not small().same_as(small(**changes))


@pytest.mark.parametrize("sparse", [False, True])
def test_frames_have_categories(sparse):
    pytest.importorskip("pandas")
    data = small(values=csr_array(small().values) if sparse else small().values)
    X, Y = data.to_frame()
    assert X["x0"].cat.categories.tolist() == ["a", "b"]
    assert X["x0"].isna().tolist() == [False, False, True]
    assert X["x1"].tolist()[::2] == [1.5, 2]
    assert list(X.columns) == list(data.feature_names)
    assert Y.to_numpy().tolist() == [[1, 0], [0, 0], [1, 1]]
