"""Files keep unknown labels on request, and every writer but LibSVM has a place for them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from labelance.datasets import MultiLabelDataset, read_multilabel, write_multilabel
from labelance.exceptions import DataFileError, InputError

NAN = float("nan")
Y = np.array([[1, 0, NAN], [NAN, 1, 0], [0, 0, 1], [1, NAN, NAN]])
X = np.array([[0.5, 0.0], [0.0, 2.0], [1.0, 0.25], [0.0, 0.0]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("ending", ["arff", "csv", "tsv", "parquet", "npz", "arff.gz"])
def test_what_is_written_reads_back(tmp_path, ending, make):
    data = MultiLabelDataset.from_data(make(X), Y)
    path = write_multilabel(data, tmp_path / f"data.{ending}")
    options = {} if ending == "npz" else {"missing_labels": "keep"}
    back = read_multilabel(path, **options)
    np.testing.assert_array_equal(back.Y.toarray(), Y)
    np.testing.assert_array_equal(back.to_X_y()[1], Y)
    if ending not in ("csv", "tsv"):
        assert back.same_as(data)


def test_libsvm_has_no_place_for_unknown_labels(tmp_path):
    with pytest.raises(InputError, match="4 cells of y are unknown"):
        write_multilabel((X, Y), tmp_path / "data.libsvm")
    assert not list(tmp_path.iterdir())


def test_without_a_request_they_are_an_error_that_names_the_request(tmp_path):
    path = write_multilabel((X, Y), tmp_path / "data.csv")
    with pytest.raises(DataFileError, match="missing_labels='keep'"):
        read_multilabel(path)


def test_rows_and_frames_keep_them():
    data = MultiLabelDataset.from_data(X, pd.DataFrame(Y, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(data.take([1, 3]).Y.toarray(), Y[[1, 3]])
    np.testing.assert_array_equal(data.to_frame()[1].to_numpy(), Y)
    assert data.label_names == ("a", "b", "c")


def test_a_missing_class_makes_all_its_labels_unknown(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,class\n1,low\n2,\n3,high\n4,mid\n")
    data = read_multilabel(path, labels=["class"], multi_class="reduce", missing_labels="keep")
    np.testing.assert_array_equal(np.isnan(data.Y.toarray()).all(axis=1), [0, 1, 0, 0])


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("csv", "x,a,b\n1,1,0\n2,-1,1\n3,0,-1\n4,,1\n"),
        (
            "arff",
            "@relation r\n@attribute x numeric\n@attribute a {-1,0,1}\n@attribute b numeric\n"
            "@data\n1,1,0\n2,-1,1\n3,0,-1\n4,?,1\n",
        ),
        (
            "arff",
            "@relation r\n@attribute x numeric\n@attribute a {0,1,-1}\n@attribute b numeric\n"
            "@data\n{0 1,1 1}\n{0 2,1 -1,2 1}\n{0 3,2 -1}\n{0 4,1 ?,2 1}\n",
        ),
    ],
    ids=["csv", "arff", "sparse arff"],
)
def test_minus_one_is_unknown_only_when_asked(tmp_path, ending, text):
    path = tmp_path / f"data.{ending}"
    path.write_text(text)
    data = read_multilabel(path, labels=["a", "b"], unknown="-1")
    expected = [[1, 0], [NAN, 1], [0, NAN], [NAN, 1]]
    np.testing.assert_array_equal(data.Y.toarray(), expected)
    data = read_multilabel(path, labels=["a", "b"], unknown=["-1", "x"], missing_labels="drop")
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0]])
    with pytest.raises(DataFileError, match="unknown='-1'"):
        read_multilabel(path, labels=["a", "b"], missing_labels="keep")
    with pytest.raises(InputError, match="unknown must be text"):
        read_multilabel(path, labels=["a", "b"], unknown=-1)


def test_words_for_unknown_are_no_values_of_a_label(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,a\n1,yes\n2,not seen\n3,no\n")
    data = read_multilabel(path, labels=["a"], unknown="not seen")
    np.testing.assert_array_equal(data.Y.toarray(), [[1], [NAN], [0]])


def test_what_sparse_rows_leave_out_is_not_unknown(tmp_path):
    path = tmp_path / "data.arff"
    path.write_text(
        "@relation r\n@attribute x numeric\n@attribute a {-1,1}\n@data\n{0 1,1 1}\n{0 2}\n"
    )
    with pytest.raises(DataFileError, match="sparse rows leave out"):
        read_multilabel(path, labels=["a"], unknown="-1")


def test_a_missing_list_makes_the_labels_of_its_column_unknown(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,mood,genre\n1,sad,rock;pop\n2,calm,\n3,,pop\n4,calm;sad,pop\n")
    options = {"labels": ["mood", "genre"], "label_separator": ";"}
    data = read_multilabel(path, missing_labels="keep", **options)
    assert data.label_names == ("calm", "pop", "rock", "sad")
    expected = [[0, 1, 1, 1], [1, NAN, NAN, 0], [NAN, 1, 0, NAN], [1, 1, 0, 1]]
    np.testing.assert_array_equal(data.Y.toarray(), expected)
    plain = read_multilabel(path, **options)
    np.testing.assert_array_equal(plain.Y.toarray(), np.nan_to_num(expected))


def test_another_list_may_say_that_a_label_is_present(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("x,a,b\n1,rock,\n2,,rock\n3,pop,rock\n")
    data = read_multilabel(path, labels=["a", "b"], label_separator=";", missing_labels="keep")
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [NAN, 1], [1, 1]])
