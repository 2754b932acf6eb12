"""Tensors in, tensors out: the same rows as for arrays, wherever the tensors lie.

A tensor on the CPU is read as an array. The code for tensors on a GPU is tested with tensors on
the CPU that are said to be out of numpy's reach; it does nothing that only a GPU could do.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyClassifier

from labelance import metrics
from labelance._arrays._containers import HOST_DEVICES, column_counts, device_of
from labelance._arrays._labels import open_labels
from labelance._arrays._open import open_container, stack_rows, take_rows
from labelance._validation._data import validate_labels
from labelance.exceptions import (
    ContainerError,
    InputError,
    LabelFormatError,
    MissingValuesError,
)
from labelance.imbalance import irlbl, local_distribution, profile, scumble
from labelance.learners import BinaryRelevance, MLkNN
from labelance.model_selection import (
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    multilabel_train_test_split,
)
from labelance.neighbors import find_neighbors
from labelance.sampling import (
    LPROS,
    LPRUS,
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    MLeNN,
    MLRkNNOS,
    label_weights,
    sample_weights,
)

torch = pytest.importorskip("torch")

SAMPLERS = [
    MLSOL(random_state=3),
    MLSOL(random_state=3, interpolation="line", scale="range", metric="cosine"),
    MLSMOTE(random_state=3),
    MLROS(random_state=3),
    MLRUS(random_state=3),
    LPROS(random_state=3),
    LPRUS(random_state=3),
    MLUL(random_state=3),
    MLeNN(),
    MLTL(),
    REMEDIAL(),
]


@pytest.fixture(params=["cpu", "device"])
def place(request):
    """Where tensors are said to lie."""
    if request.param == "device":
        request.getfixturevalue("on_device")
    return request.param


@pytest.fixture
def on_device():
    """Say that numpy cannot read any tensor."""
    HOST_DEVICES.remove("cpu")
    yield
    HOST_DEVICES.add("cpu")


def make_data(dtype=np.float32):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)).astype(dtype)
    X[20:30] = X[0]  # equal rows, and features in which two rows do not differ
    X[:, 5] = np.rint(X[:, 5])
    Y = (rng.random((150, 5)) < [0.5, 0.3, 0.2, 0.1, 0.05]).astype(np.int64)
    return X, Y


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.filterwarnings("ignore::labelance.exceptions.LabelanceWarning")
def test_a_tensor_is_resampled_as_the_array_is(sampler, dtype, place):
    X, Y = make_data(dtype)
    expected_X, expected_Y = sampler.fit_resample(X, Y)
    X_new, Y_new = sampler.fit_resample(torch.from_numpy(X), torch.from_numpy(Y))
    assert X_new.dtype == torch.from_numpy(X).dtype
    assert Y_new.dtype == torch.int64
    np.testing.assert_array_equal(X_new.numpy(), expected_X)
    np.testing.assert_array_equal(Y_new.numpy(), expected_Y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "bool"])
def test_the_dtype_comes_back_and_short_floats_are_exact(dtype, place):
    X, Y = make_data()
    dtype = getattr(torch, dtype)
    X = torch.from_numpy(X * 3).abs().to(dtype)
    Y = torch.from_numpy(Y).to(torch.bool if dtype is torch.bool else torch.float32)
    X_new, Y_new = MLSOL(random_state=0).fit_resample(X, Y)
    assert (X_new.dtype, Y_new.dtype) == (X.dtype, Y.dtype)
    assert torch.equal(X_new[: len(X)], X)
    short = X.float().numpy() if dtype.is_floating_point else X.numpy()
    expected, _ = MLSOL(random_state=0).fit_resample(short, Y.numpy())
    assert torch.equal(X_new, torch.from_numpy(expected).to(dtype))


def test_gradients_stay_behind_and_the_input_is_not_written_to(place):
    X, Y = map(torch.from_numpy, make_data())
    before = X.clone()
    X.requires_grad_(True)
    X_new, _ = MLSOL(random_state=0).fit_resample(X, Y)
    assert not X_new.requires_grad
    assert torch.equal(X.detach(), before)
    kept, _ = MLROS(random_state=0, sampling_ratio=0).fit_resample(X, Y)
    kept += 1
    assert torch.equal(X.detach(), before)


def test_a_tensor_shares_its_memory_with_the_array_inside():
    X = torch.zeros((3, 2))
    assert np.shares_memory(open_container(X, "X").clean(), X.numpy())
    assert open_container(X.t(), "X").clean().flags.c_contiguous


def test_rows_are_taken_and_stacked():
    X = torch.arange(6.0).reshape(3, 2)
    assert take_rows(X, np.array([2, 0])).tolist() == [[4, 5], [0, 1]]
    assert stack_rows(X, X).shape == (6, 2)


def test_measures_and_weights_are_those_of_arrays(place):
    X, Y = make_data()
    tX, tY = torch.from_numpy(X), torch.from_numpy(Y)
    np.testing.assert_array_equal(irlbl(tY), irlbl(Y))
    assert scumble(tY) == scumble(Y)
    assert str(profile(tX, tY)) == str(profile(X, Y))
    np.testing.assert_array_equal(label_weights(tY), label_weights(Y))
    np.testing.assert_array_equal(sample_weights(tX, tY), sample_weights(X, Y))
    found, expected = find_neighbors(tX, 5), find_neighbors(X, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.distances, expected.distances)
    local, known = local_distribution(tY, found), local_distribution(Y, expected)
    np.testing.assert_array_equal(local.weights, known.weights)


def test_metrics_are_those_of_arrays(place):
    _, Y = make_data()
    scores = np.random.default_rng(1).random(Y.shape)
    true, scored = torch.from_numpy(Y), torch.from_numpy(scores)
    assert metrics.macro_f1(true, scored > 0.5) == metrics.macro_f1(Y, scores > 0.5)
    assert metrics.macro_auc_roc(true, scored) == metrics.macro_auc_roc(Y, scores)
    assert metrics.ndcg_at_k(true, scored, k=3) == metrics.ndcg_at_k(Y, scores, k=3)


def test_mlknn_gives_back_what_arrays_give(place):
    X, Y = make_data()
    known = MLkNN(n_neighbors=5).fit(X[:100], Y[:100])
    learner = MLkNN(n_neighbors=5).fit(torch.from_numpy(X[:100]), torch.from_numpy(Y[:100]))
    rows = torch.from_numpy(X[100:])
    scores, labels = learner.predict_proba(rows), learner.predict(rows)
    assert isinstance(scores, torch.Tensor) == (place == "device")
    np.testing.assert_array_equal(np.asarray(scores), known.predict_proba(X[100:]))
    np.testing.assert_array_equal(np.asarray(labels), known.predict(X[100:]))


def test_mlknn_searches_new_rows_where_the_others_are(on_device):
    X, Y = make_data()
    learner = MLkNN(n_neighbors=5).fit(torch.from_numpy(X), torch.from_numpy(Y))
    with pytest.raises(ContainerError, match="the new rows is a ndarray"):
        learner.predict(X)
    with pytest.raises(MissingValuesError, match="MLkNN"):
        learner.predict(torch.full((1, 6), torch.nan))


@pytest.mark.parametrize("variant", ["paper", "mulan"])
@pytest.mark.parametrize("weighting", ["paper", "sum"])
def test_the_local_distribution_is_that_of_arrays(variant, weighting, on_device):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    # Many labels, over more than one word of bits, and some with more ones than zeros.
    Y = (rng.random((300, 70)) < np.linspace(0.02, 0.9, 70)).astype(np.int64)
    around = find_neighbors(X, 7)
    options = {"variant": variant, "weighting": weighting}
    found = local_distribution(torch.from_numpy(Y), around, **options)
    known = local_distribution(Y, around, **options)
    np.testing.assert_array_equal(found.weights, known.weights)
    for name in ("opposite", "types"):
        ours, theirs = getattr(found, name), getattr(known, name)
        np.testing.assert_array_equal(ours.data, theirs.data)
        np.testing.assert_array_equal(ours.indices, theirs.indices)


def test_clean_labels_of_a_device_stay_known_as_such(on_device):
    Y = torch.from_numpy(make_data()[1])
    clean = validate_labels(Y, caller="The test").Y
    again = validate_labels(clean, caller="The test").Y
    assert device_of(again) is device_of(clean) is not None
    assert device_of(again[:5]) is None
    np.testing.assert_array_equal(column_counts(again), Y.sum(dim=0).numpy())


def test_explain_takes_tensors(place):
    X, Y = make_data()
    told = MLSOL(random_state=0).explain(torch.from_numpy(X), torch.from_numpy(Y))
    assert str(told) == str(MLSOL(random_state=0).explain(X, Y))


def test_x_and_y_come_in_one_place():
    X, Y = make_data()
    for pair in ((torch.from_numpy(X), Y), (X, torch.from_numpy(Y))):
        with pytest.raises(ContainerError, match="tensors on the same device") as error:
            MLSOL().fit_resample(*pair)
        assert "torch.as_tensor" in error.value.cure
    assert "X is a ndarray and y is a Tensor on cpu" in str(error.value)
    with pytest.raises(ContainerError, match="on meta"):
        MLSOL().fit_resample(torch.from_numpy(X), torch.empty(Y.shape, device="meta"))
    with pytest.raises(ContainerError, match="queries is a ndarray"):
        find_neighbors(torch.from_numpy(X), 3, queries=X)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda X: X.to_sparse(), ContainerError, "to_dense"),
        (lambda X: X[0], InputError, "reshape"),
        (lambda X: X + 1j, InputError, "Complex data not supported"),
        (lambda X: X.to("meta"), ContainerError, "Move it"),
        (lambda X: X.masked_fill(X > 1, torch.nan), MissingValuesError, "columns 0, 1"),
        (lambda X: X.masked_fill(X > 1, torch.inf), InputError, "infinity"),
    ],
    ids=["sparse", "flat", "complex", "elsewhere", "nan", "inf"],
)
def test_tensors_that_are_no_table_of_numbers_are_refused(make, error, words, place):
    X, _ = make_data()
    with pytest.raises(error, match=words):
        find_neighbors(make(torch.from_numpy(X)), 3)


def test_labels_are_checked_on_a_device_too(place):
    X, Y = map(torch.from_numpy, make_data())
    with pytest.raises(LabelFormatError, match="also holds 2"):
        MLSOL().fit_resample(X, Y * 2)
    with pytest.raises(LabelFormatError, match="one dimension"):
        MLSOL().fit_resample(X, Y[:, 0])


@pytest.mark.parametrize("sampler", [MLSOL(random_state=0), MLSMOTE(random_state=0)])
def test_unknown_labels_are_unknown_in_tensors_too(place, sampler):
    X, Y = make_data()
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    holes = np.where(hidden, np.nan, Y)
    X_new, Y_new = sampler.fit_resample(X, holes)
    X_tensor, Y_tensor = sampler.fit_resample(torch.from_numpy(X), torch.from_numpy(holes))
    assert_array_equal(X_tensor.cpu().numpy(), X_new)
    assert_array_equal(Y_tensor.cpu().numpy(), Y_new)


def test_what_a_device_does_not_do_is_said(on_device):
    X, Y = map(torch.from_numpy, make_data())
    with pytest.raises(ContainerError, match="categorical features"):
        MLSOL(categorical_features=[5]).fit_resample(X, Y)
    with pytest.raises(ContainerError, match="manhattan"):
        MLSOL(metric="manhattan").fit_resample(X, Y)
    with pytest.raises(MissingValuesError, match="MLSOL does not accept missing values"):
        MLSOL(missing="distance").fit_resample(X.masked_fill(X > 1, torch.nan), Y)
    with pytest.raises(ContainerError, match="main memory"):
        BinaryRelevance(DummyClassifier()).fit(X, Y)
    for sampler in (MLRkNNOS(), MLSMOTE(variant="mulan")):
        with pytest.raises(ContainerError, match="main memory"):
            sampler.fit_resample(X, Y)


def test_only_labels_that_are_present_leave_the_device(on_device):
    Y = torch.zeros((4, 3), dtype=torch.bool)
    Y[1, 2] = Y[3, 0] = True
    cells = open_container(Y, "Y").raw()
    assert sp.issparse(cells)
    assert (cells.nnz, cells.indptr.tolist()) == (2, [0, 0, 1, 1, 2])


@pytest.mark.parametrize("with_groups", [False, True])
def test_splits_are_those_of_arrays(place, with_groups):
    X, Y = make_data()
    groups = np.arange(150) // 3 if with_groups else None
    kind = IterativeStratifiedGroupKFold if with_groups else IterativeStratifiedKFold
    splitter = kind(n_splits=2, random_state=0)
    tensors = torch.from_numpy(X).requires_grad_(True), torch.from_numpy(Y)
    for ours, theirs in zip(splitter.split(*tensors, groups), splitter.split(X, Y, groups)):
        for rows, expected in zip(ours, theirs):
            np.testing.assert_array_equal(rows, expected)


def test_parts_of_tensors_are_tensors(place):
    X, Y = make_data()
    parts = multilabel_train_test_split(*map(torch.from_numpy, (X, Y)), random_state=0)
    for part, expected in zip(parts, multilabel_train_test_split(X, Y, random_state=0)):
        assert torch.equal(part, torch.from_numpy(expected))


def test_a_report_takes_tensors(place):
    _, Y = make_data()
    y = torch.from_numpy(Y)
    assert str(metrics.imbalance_report(y, y, y_train=y)) == str(metrics.imbalance_report(Y, Y))


def test_labels_in_a_tensor_are_not_copied():
    y = torch.from_numpy(make_data()[1])
    assert np.shares_memory(open_labels(y).raw(), y.numpy())
