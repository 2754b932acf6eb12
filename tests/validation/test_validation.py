"""Validation: every container in, clean values inside, the same kind out."""

import importlib
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from labelance import exceptions
from labelance._validation._categorical import mask_of_columns
from labelance._validation._data import (
    validate_data,
    validate_features,
    validate_labels,
    validate_like,
)
from labelance._validation._predictions import validate_scores
from labelance.decisions import decide_within_budget, find_thresholds
from labelance.exceptions import ContainerError
from labelance.learners import BinaryRelevance
from labelance.metrics import macro_auc_roc
from labelance.neighbors import find_neighbors
from labelance.sampling import MLROS, Draw, all_samplers
from labelance.testing import sampler_data

X = np.array([[0.0, 1.5], [2.0, 0.0], [3.0, -1.0]])
Y = np.array([[1, 0], [0, 1], [1, 1]])


def open_both(X, Y, **options):
    return validate_data(X, Y, caller="The test", **options)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, bool])
def test_dense_values_are_floats_inside_and_their_own_dtype_outside(kind):
    data = open_both(X.astype(kind), Y)
    assert data.X.dtype == (np.float32 if kind is np.float32 else np.float64)
    assert data.features.restore(None, data.X[:1]).dtype == kind


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float64])
def test_labels_are_sorted_ones_inside(dtype):
    labels = validate_labels(Y.astype(dtype), caller="The test")
    assert labels.Y.dtype == np.int8
    assert labels.Y.has_sorted_indices
    assert_array_equal(labels.Y.toarray(), Y)


def test_explicit_zeros_and_duplicates_of_a_sparse_matrix_are_cleaned_on_a_copy():
    messy = sp.csr_matrix(
        (np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 2)
    )
    features = validate_features(messy, caller="The test")
    assert_array_equal(features.X.toarray(), [[0, 3], [0, 0], [0, 0]])
    assert features.X.nnz == 1
    assert messy.nnz == 3


@pytest.mark.slow
@given(
    hnp.arrays(np.int64, (7, 3), elements=st.integers(-5, 5)),
    hnp.arrays(np.bool_, 3),
    st.booleans(),
)
def test_nominal_numbers_become_codes_and_come_back(values, nominal, sparse):
    X = sp.csr_array(values.astype(float)) if sparse else values.astype(float)
    features = validate_features(X, caller="The test", categorical_features=nominal)
    back = features.restore(np.empty(0, dtype=int), features.X)
    assert_array_equal(back.toarray() if sparse else back, values)
    codes = features.X.toarray() if sparse else features.X
    for j in np.flatnonzero(nominal):
        assert set(codes[:, j]) <= set(range(len(np.unique(values[:, j])) + 1))


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_the_zero_of_a_nominal_column_has_no_sign(first):
    """Which of the two zeros a sort leaves first differs from processor to processor."""
    values = np.array([[first], [2.0], [-first], [5.0], [first]])
    features = validate_features(values, caller="The test", categorical_features=[0])
    back = features.restore(np.empty(0, dtype=int), features.X)
    assert_array_equal(back, values)
    assert not np.signbit(back).any()


def mixed_frame(library):
    words = ["x", "y", "z", "x"]
    numbers = {"a": [1, 2, 3, 4], "d": np.array([0.5, 1.5, 2.5, 3.5], dtype="f4")}
    if library is pd:
        return pd.DataFrame(
            {
                **numbers,
                "b": pd.Categorical(words, categories=["z", "y", "x"]),
                "c": pd.array([1, None, 2, 3], dtype="Int64"),
                "e": [True, False, True, False],
            },
            index=list("ABCD"),
        )
    return pl.DataFrame(
        {
            **numbers,
            "b": pl.Series(words, dtype=pl.Enum(["z", "y", "x"])),
            "c": [1, None, 2, 3],
            "e": [True, False, True, False],
        }
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_a_mixed_frame_survives_validation(library):
    frame = mixed_frame(library)
    features = validate_features(frame, caller="The test", missing="distance")
    assert_array_equal(features.categorical, [False, False, True, False, False])
    assert_array_equal(features.X[:, 2], [2, 1, 0, 2])
    assert np.isnan(features.X[1, 3])
    out = features.restore(None, features.X)
    assert list(out.dtypes) == list(frame.dtypes)
    assert len(out) == 8
    top, bottom = features.restore(np.arange(4), None), out[4:]
    if library is pd:
        pd.testing.assert_frame_equal(top, frame)
        pd.testing.assert_frame_equal(bottom.reset_index(drop=True), frame.reset_index(drop=True))
    else:
        assert top.equals(frame)
        assert bottom.equals(frame)


def test_kept_rows_keep_their_index_and_added_rows_renumber():
    frame = mixed_frame(pd)
    features = validate_features(frame, caller="The test", missing="distance")
    assert list(features.restore(np.array([0, 2]), None).index) == ["A", "C"]
    assert list(features.restore(None, features.X[:1]).index) == [0, 1, 2, 3, 4]
    assert list(features.restore(np.array([0, 0]), None).index) == [0, 1]


def test_where_no_row_is_added_frames_keep_their_index_and_are_copies():
    X_frame, Y_frame = pd.DataFrame(X, index=list("pqr")), pd.DataFrame(Y, index=list("pqr"))
    data = validate_data(X_frame, Y_frame, caller="x")
    for draw in (Draw(), Draw(X_new=X[:0], Y_new=data.Y[:0])):
        same = draw.restore(data)
        pd.testing.assert_frame_equal(same.X, X_frame)
        pd.testing.assert_frame_equal(same.y, Y_frame)
        same.X.iloc[0, 0] = 9
        assert X_frame.iloc[0, 0] == X[0, 0]


def test_whole_numbers_are_rounded_so_they_stay_between_their_parents():
    features = validate_features(np.array([[1], [4]]), caller="The test")
    assert_array_equal(features.restore(None, np.array([[2.6]]))[-1], [3])


def test_lists_come_back_as_lists():
    data = open_both(X.tolist(), Y.tolist())
    assert data.features.restore(None, None) == X.tolist()
    assert data.labels.restore(data.Y, None, 0) == Y.tolist()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Y[:, 0], "reshape"),
        ([[1], [2, 3], []], "MultiLabelBinarizer"),
        (["a,b", "b", "c"], r'text\.split\(","\).* for text in y\]'),
        (["a", "b", "c"], "Split strings"),
        (Y * 2 - 1, "y > 0"),
        (np.where(Y, np.nan, 0), "missing label"),
        (Y * 3, r"0 \(absent\) or 1"),
        (Y - 0.5, "threshold"),
        (pd.DataFrame({"l": ["cat", "dog", "dog"]}), r"\(y\['l'\] == '(cat|dog)'\)"),
        (pd.DataFrame({"l": ["yes", "1", "no"]}), "the value that means"),
        (pd.DataFrame({"l": ["yes", None, "no"]}), "missing label"),
        (np.array([["cat"], ["dog"], ["dog"]]), r"\(y\[:, 0\] == 'cat'\)"),
        (pd.Series([[1, 0], [0, 1], [1, 1]]), "one dimension"),
        (pd.Series([0, 1, 1]), "reshape"),
        (None, "None"),
        (np.zeros((3, 0)), "at least one"),
    ],
)
def test_bad_labels_are_refused_with_what_was_found(bad, words):
    with pytest.raises(exceptions.InputError, match=words) as caught:
        validate_labels(bad, caller="The test")
    assert caught.value.problem
    assert caught.value.found


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (X[:, 0], "Reshape"),
        (X[None], "Flatten"),
        (np.array([["a", "b"]] * 3), "Encode"),
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((3, 0)), "0 feature"),
        (X + np.inf, "inf"),
        (sp.csr_matrix(np.array([[0, np.inf]])), "inf"),
        (X + 1j, "omplex"),
        (pd.DataFrame({"a": [f"id{t}" for t in range(20)]}), r"'a' has 20 .* Drop it, .* categor"),
        (pd.DataFrame(X, columns=["a", "a"]), "Repeated names"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"] * 3)}), "dates"),
        (None, "None"),
    ],
)
def test_bad_features_are_refused_with_the_cure(bad, words):
    with pytest.raises(exceptions.InputError, match=words):
        validate_features(bad, caller="The test")


def test_missing_values_name_their_columns():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [0.0, 1.0], "c": [np.nan, 1.0]})
    with pytest.raises(exceptions.MissingValuesError, match="'a', 'c'"):
        validate_features(frame, caller="The test")
    sparse = sp.csr_matrix(np.array([[0, np.nan], [1, 0]]))
    with pytest.raises(exceptions.MissingValuesError, match="columns 1"):
        validate_features(sparse, caller="The test")


def test_different_lengths_are_refused():
    with pytest.raises(exceptions.InputError, match="X has 3 rows and y has 2"):
        open_both(X, Y[:2])


@pytest.mark.parametrize("library", ["dask", "cupy", "jax", "tensorflow"])
def test_kinds_that_come_later_say_how_to_convert(library):
    foreign = type("Tensor", (), {"__module__": f"{library}.core"})()
    with pytest.raises(exceptions.ContainerError, match="Convert it first"):
        validate_features(foreign, caller="The test")


def test_a_cupy_array_becomes_a_tensor_where_it_lies():
    array = type("ndarray", (), {"__module__": "cupy"})()
    with pytest.raises(exceptions.ContainerError) as error:
        validate_features(array, caller="The test")
    assert "torch.from_dlpack(X)" in error.value.cure


def test_lazy_frames_say_collect():
    with pytest.raises(exceptions.ContainerError, match="collect"):
        validate_features(pl.DataFrame(X).lazy(), caller="The test")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ([True], "mask"),
        ([0.5], "no column names"),
        ([7.0], "from 0 to 1"),
        ([7], "from 0 to 1"),
        (["a"], "no column names"),
    ],
)
def test_bad_categorical_features_are_refused(wanted, words):
    with pytest.raises(exceptions.InputError, match=words):
        validate_features(X, caller="The test", categorical_features=wanted)


@pytest.mark.parametrize(
    "wanted", [[0.0, 1.0], np.array([0, -1], dtype=object), np.array([1, 0], dtype=np.float32)]
)
def test_whole_numbers_of_any_type_are_column_numbers(wanted):
    assert mask_of_columns(wanted, 2, None).tolist() == [True, True]
    assert mask_of_columns(wanted[:1], 2, ("a", "b")).sum() == 1


def test_numbers_that_are_names_stay_names():
    assert mask_of_columns([2.0], 3, (2.0, 3.5, 0.0)).tolist() == [True, False, False]


def test_unknown_column_names_are_named():
    with pytest.raises(exceptions.InputError, match="'zz'"):
        validate_features(
            pd.DataFrame(X, columns=["a", "b"]), caller="x", categorical_features=["zz"]
        )


def test_errors_survive_pickling():
    error = exceptions.InputError("one", "two", "three")
    assert str(pickle.loads(pickle.dumps(error))) == "one. two. three."


def test_new_rows_are_coded_as_the_old_ones():
    old = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=["b", "a"]), "n": [7, 9]})
    new = pd.DataFrame({"c": pd.Categorical(["a", "zz", None, "b"]), "n": [9, 8, 7, 7]})
    schema = validate_features(old, caller="x", categorical_features=["n"]).schema()
    clean = validate_like(new, schema, caller="x")
    assert_array_equal(clean, [[1, 1], [np.nan, np.nan], [np.nan, 0], [0, 0]])
    with pytest.raises(exceptions.InputError, match="expecting 2 features"):
        validate_like(new[["c"]], schema, caller="x")


def test_new_sparse_rows_are_coded_as_the_old_ones():
    old, new = np.array([[0.0, 5], [3, 0]]), np.array([[3.0, 5], [4, 0]])
    schema = validate_features(sp.csr_array(old), caller="x", categorical_features=[0]).schema()
    clean = validate_like(sp.csr_array(new), schema, caller="x")
    assert_array_equal(clean.toarray(), [[1, 5], [np.nan, 0]])


def test_a_nominal_column_without_a_known_value_stays_missing():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    features = validate_features(X, caller="x", categorical_features=[0], missing="distance")
    assert_array_equal(features.X, X)
    assert_array_equal(features.restore(None, features.X[:1])[-1], X[0])


def test_an_array_cannot_stand_in_for_a_frame_with_categories():
    old = pd.DataFrame({"c": pd.Categorical(["b", "a"]), "n": [7.0, 9.0]})
    schema = validate_features(old, caller="x").schema()
    rows = np.array([[0.0, 7.0], [1.0, 9.0]])
    with pytest.raises(exceptions.InputError, match="categorical columns 'c'"):
        validate_like(rows, schema, caller="x")
    assert_array_equal(rows, [[0, 7], [1, 9]])


def test_categories_that_read_alike_stay_apart():
    frame = pd.DataFrame({"c": pd.Categorical([1, "1", 1, "1"])})
    features = validate_features(frame, caller="x")
    assert len(np.unique(features.X)) == 2
    assert [type(value) for value in features.restore(None, features.X)["c"][4:]] == [
        type(value) for value in frame["c"]
    ]


@pytest.mark.parametrize("dtype", [pl.Int32, pl.UInt8, pl.Int64, pl.Boolean])
def test_missing_whole_numbers_of_any_width_come_back(dtype):
    frame = pl.DataFrame({"a": pl.Series([1, None, 0]).cast(dtype), "b": [0.5, 1.5, 2.5]})
    features = validate_features(frame, caller="x", missing="distance")
    out = features.restore(None, features.X)
    assert out[3:].equals(frame)


@pytest.mark.slow
def test_columns_may_have_names_of_attributes():
    names = ["kind", "index", "columns", "shape", "dtype", "device", "data", "labels", "nnz"]
    rng = np.random.default_rng(0)
    values, labels = rng.random((60, len(names))), rng.random((60, 4)) < 0.3
    X_frame = pd.DataFrame(values, columns=names)
    y_frame = pd.DataFrame(labels.astype(int), columns=["kind", "rows", "unknown", "names"])
    for y in (labels, y_frame):
        model = BinaryRelevance(GaussianNB()).fit(X_frame, y)
        array = BinaryRelevance(GaussianNB()).fit(values, labels)
        np.testing.assert_allclose(model.predict_proba(X_frame), array.predict_proba(values))
    X_new, y_new = MLROS(random_state=0).fit_resample(X_frame, y_frame)
    assert (list(X_new), list(y_new)) == (names, list(y_frame))


def test_rows_in_another_order_are_noticed():
    X_frame, Y_frame = pd.DataFrame(X), pd.DataFrame(Y)
    with pytest.warns(exceptions.IndexMismatchWarning, match=r"Pass y\.loc\[X\.index\]"):
        open_both(X_frame, Y_frame.loc[[2, 0, 1]])
    with pytest.warns(exceptions.IndexMismatchWarning, match="Pass reset_index"):
        open_both(X_frame, Y_frame.set_axis([7, 8, 9]))  # y.loc[X.index] would be a KeyError


@pytest.mark.parametrize("sampler", all_samplers().values(), ids=lambda kind: kind.__name__)
def test_a_sampler_opens_its_data_once(sampler, monkeypatch):
    """Behind validation nothing is checked again."""
    opened = []

    def watch(name, role):
        module = importlib.import_module("labelance._validation._data")
        real = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda data, *more, **options: opened.append(role) or real(data, *more, **options),
        )

    watch("open_container", "X")
    watch("open_rows", "X")  # for samplers that copy rows
    watch("open_labels", "y")
    sampler().fit_resample(*sampler_data())
    assert opened == ["X", "y"]


def test_scores_come_with_the_names_of_labels_and_sparse_where_taken():
    y = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "b"])
    scores = sp.csr_array([[0.5, 0.0], [0.0, 0.25]])
    scored = validate_scores(y, scores, caller="f", sparse=True)
    assert scored.names == ("a", "b")
    assert_array_equal(scored.scores.toarray(), scores.toarray())
    with pytest.raises(exceptions.ContainerError, match="sparse"):
        validate_scores(y, scores, caller="f")
    scores.data[0] = np.nan
    with pytest.raises(exceptions.InputError, match="Scores of 1 labels are NaN"):
        validate_scores(y, scores, caller="f", sparse=True)


MASKED = np.ma.masked_array(np.linspace(0, 1, 40).reshape(20, 2), np.eye(20, 2, dtype=bool))


@pytest.mark.parametrize(
    "use",
    [
        lambda y, masked: MLROS(random_state=0).fit_resample(masked, y),
        lambda y, masked: BinaryRelevance(DecisionTreeClassifier()).fit(masked, y),
        lambda y, masked: (
            BinaryRelevance(DecisionTreeClassifier()).fit(masked.data, y).predict(masked)
        ),
        lambda y, masked: find_neighbors(masked, 2),
        lambda y, masked: macro_auc_roc(y, masked),
        lambda y, masked: find_thresholds(y, masked),
        lambda y, masked: decide_within_budget(masked, total=3),
        lambda y, masked: find_thresholds(y, masked.data).predict(masked),
    ],
)
def test_what_lies_under_a_mask_is_never_used(use):
    y = np.arange(40).reshape(20, 2) % 3 % 2
    with pytest.raises(ContainerError, match="2 cells are masked"):
        use(y, MASKED)
    use(y, np.ma.masked_array(MASKED.data, False))  # a mask of nothing is none


def test_weights_under_a_mask_are_missing():
    y, X = np.arange(40).reshape(20, 2) % 3 % 2, MASKED.data
    for weights in (np.ones(20), np.ones(20, dtype=int)):
        weights = np.ma.masked_array(weights, np.arange(20) == 3)
        with pytest.raises(exceptions.InputError, match="negative, missing or infinite"):
            find_thresholds(y, X, sample_weight=weights)
