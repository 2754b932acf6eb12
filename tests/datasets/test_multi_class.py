"""Targets of several classes become labels, and scores of labels become classes again."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from labelance.datasets import MultiClassReduction, read_multilabel
from labelance.exceptions import DataFileError, InputError, LabelFormatError
from labelance.learners import BinaryRelevance

FLARES = """@relation 'flares: -C 3'
@attribute class {low, mid, high}
@attribute seen {no, yes}
@attribute grade {0, 1, 2}
@attribute size numeric
@data
"""
DENSE = FLARES + "mid,yes,0,1.5\nlow,no,2,2.5\nhigh,no,0,3.5\n"
SPARSE = FLARES + "{0 mid, 1 yes, 3 1.5}\n{2 2, 3 2.5}\n{0 high, 3 3.5}\n"
NAMES = ("class=low", "class=mid", "class=high", "seen", "grade=0", "grade=1", "grade=2")


@pytest.mark.parametrize("text", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_a_file_with_labels_of_several_values(tmp_path, text):
    path = tmp_path / "flares.arff"
    path.write_text(text)
    with pytest.raises(DataFileError, match=r"'class' must have two values.*multi_class='reduce'"):
        read_multilabel(path)
    data = read_multilabel(path, multi_class="reduce")
    assert data.label_names == NAMES
    assert_array_equal(
        data.Y.toarray(), [[0, 1, 0, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0, 1], [0, 0, 1, 0, 1, 0, 0]]
    )
    reduction = MultiClassReduction.from_label_names(data.label_names)
    assert reduction.label_names_ == NAMES
    found = reduction.inverse_transform(data.Y.toarray())
    assert found.tolist() == [["mid", 1, "0"], ["low", 0, "2"], ["high", 0, "0"]]


def test_missing_classes_follow_the_policy_of_missing_labels(tmp_path):
    path = tmp_path / "flares.arff"
    path.write_text(DENSE + "?,no,1,9\n")
    with pytest.raises(DataFileError, match=r"'class'.*missing"):
        read_multilabel(path, multi_class="reduce")
    absent = read_multilabel(path, multi_class="reduce", missing_labels="negative")
    assert_array_equal(absent.Y.toarray()[3], [0, 0, 0, 0, 0, 1, 0])
    assert read_multilabel(path, multi_class="reduce", missing_labels="drop").n_samples == 3


def test_columns_whose_names_would_be_ambiguous_are_refused(tmp_path):
    path = tmp_path / "flares.arff"
    path.write_text(DENSE.replace("attribute seen", "attribute a=b"))
    with pytest.raises(DataFileError, match=r"must not contain =\. Got 'a=b'"):
        read_multilabel(path, multi_class="reduce")


@pytest.mark.parametrize("option", ["multi_class", "missing_labels"])
def test_a_policy_that_there_is_not_is_refused_before_the_file_is_read(tmp_path, option):
    with pytest.raises(InputError, match=f"{option} must be one of .*Got 'some'"):
        read_multilabel(tmp_path / "not_there.arff", **{option: "some"})


TARGETS = {
    "list": [["a", 2, 1], ["b", 0, 0], ["a", 7, 0]],
    "array": np.array([["a", 2, 1], ["b", 0, 0], ["a", 7, 0]], dtype=object),
    "pandas": pd.DataFrame({0: ["a", "b", "a"], 1: [2, 0, 7], 2: [True, False, False]}),
    "polars": pl.DataFrame({"0": ["a", "b", "a"], "1": [2, 0, 7], "2": [1, 0, 0]}),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_there_and_back(kind):
    reduction = MultiClassReduction()
    labels = reduction.fit_transform(TARGETS[kind])
    assert reduction.label_names_ == ("0=a", "0=b", "1=0", "1=2", "1=7", "2")
    assert_array_equal(labels, [[1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0]])
    assert reduction.inverse_transform(labels).tolist() == TARGETS["list"]


def test_numbers_stay_numbers():
    y = np.array([[1, 3], [2, 3], [3, 1]])
    reduction = MultiClassReduction().fit(y)
    found = reduction.inverse_transform(reduction.transform(y))
    assert_array_equal(found, y)
    assert found.dtype.kind == "i"


def test_the_class_with_the_largest_score_wins_and_the_first_of_equal_ones():
    reduction = MultiClassReduction().fit([["x", 0], ["y", 1], ["z", 1]])
    scores = [[0.1, 0.3, 0.2, 0.49], [0, 0, 0, 0.5], [-1, -2, -0.5, 1]]
    assert reduction.inverse_transform(scores).tolist() == [["y", 0], ["x", 1], ["z", 1]]


def test_a_learner_of_labels_learns_targets_of_classes():
    X = np.arange(30.0).reshape(-1, 1)
    y = np.column_stack([np.repeat(["low", "mid", "high"], 10), np.repeat([5, 6], 15)])
    reduction = MultiClassReduction()
    learner = BinaryRelevance().fit(X, reduction.fit_transform(y))
    assert_array_equal(reduction.inverse_transform(learner.predict_proba(X)), y)


SIZES = pd.DataFrame({"old": ["S", "M", "L"], "new": ["L", "S", "M"]})


@pytest.mark.parametrize("table", [np.asarray, lambda y: pd.DataFrame(y.to_numpy())])
def test_a_table_without_names_is_taken_by_position(table):
    reduction = MultiClassReduction().fit(SIZES)
    assert_array_equal(reduction.transform(table(SIZES)), reduction.transform(SIZES))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.fit(["a", "b"]), "reshape"),
        (lambda r: r.fit([["a"], [None]]), "no class in 1 rows"),
        (lambda r: r.fit(pd.DataFrame({"t": [1.0, float("nan")]})), "'t' has no class"),
        (lambda r: r.fit([["a"], [3]]), "0 has both"),
        (lambda r: r.fit(pd.DataFrame({"t=1": [1, 2]})), "Got the target 't=1'"),
        (lambda r: r.fit([["a"], ["b"]]).transform([["c"]]), "Got c"),
        (lambda r: r.fit([["a"], ["b"]]).transform([["a", "b"]]), "Got 2"),
        (lambda r: r.fit(SIZES).transform(SIZES[["new", "old"]]), "Got new, old"),
        (lambda r: r.fit(SIZES[:0]), r"shape \(0, 2\)"),
        (lambda r: r.fit([["a"], ["b"]]).inverse_transform([[1]]), r"shape \(1, 1\)"),
        (lambda r: r.fit([["a"], ["b"]]).inverse_transform([[1, float("nan")]]), "NaN in it"),
        (lambda r: r.from_label_names(["a=1", "b=1", "a=2"]), "'a' are not"),
        (lambda r: r.from_label_names(["a=1", "a"]), "'a' are not"),
    ],
)
def test_what_it_cannot_do(call, words):
    with pytest.raises((InputError, LabelFormatError), match=words):
        call(MultiClassReduction())


def test_it_is_fitted_first():
    with pytest.raises(NotFittedError):
        MultiClassReduction().transform([["a"]])


def test_sparse_predictions_are_taken_too():
    """Predictions of a learner fitted to a sparse y are sparse."""
    reduction = MultiClassReduction().fit([["a"], ["b"]])
    assert reduction.inverse_transform(sp.csr_array([[0, 1], [1, 0]])).tolist() == [["b"], ["a"]]


@pytest.mark.parametrize("y", [[["a", "b"], ["c", "a"]], np.array([[2, 3], [0, 1]])])
def test_those_who_need_zeros_and_ones_name_the_reduction(y):
    if isinstance(y, list):
        y = pd.DataFrame(y)
    with pytest.raises(LabelFormatError, match="MultiClassReduction"):
        BinaryRelevance().fit([[1], [2]], y)
