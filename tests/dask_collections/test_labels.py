"""Labels in Dask are gathered: metrics, splits and measures are those of labels in memory."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dask_tables import as_dask, assert_same_table

import labelance
from labelance import metrics, model_selection
from labelance.exceptions import ContainerError, InputError, LabelFormatError
from labelance.learners import BinaryRelevance
from labelance.model_selection._splitters import _count_dask_rows

pytest.importorskip("dask", reason="dask is not installed: pip install 'labelance[dask]'")

N, Q = 60, 4
LENGTHS = [25, 0, 34, 1]
RNG = np.random.default_rng(0)
Y = (RNG.random((N, Q)) < [0.5, 0.3, 0.1, 0.2]).astype(int)
X = RNG.normal(size=(N, 3))
SCORES = RNG.random((N, Q)).round(1)
KINDS = {
    "dense": Y,
    "bool": Y.astype(bool),
    "sparse": sp.csr_array(Y.astype(np.int8)),
    "frame": pd.DataFrame(Y, columns=list("abcd")),
}


@pytest.fixture(params=KINDS)
def labels(request):
    return KINDS[request.param]


@pytest.mark.parametrize("name", ["macro_f1", "micro_f1", "example_f1", "subset_accuracy"])
def test_metrics_of_predictions(name, labels):
    metric, pred = getattr(metrics, name), np.roll(Y, 1, axis=0)
    expected = metric(Y, pred)
    assert metric(as_dask(labels, LENGTHS), as_dask(pred, [60])) == expected
    assert metric(labels, as_dask(pred, LENGTHS)) == expected


@pytest.mark.parametrize("memory", [1024, 1e-6], ids=["all columns", "one column"])
@pytest.mark.parametrize(
    "name",
    [
        "macro_auc_roc",
        "macro_auc_pr",
        "ranking_loss",
        "one_error",
        "coverage_error",
        "macro_brier_loss",
    ],
)
def test_metrics_of_scores(name, memory, labels):
    from sklearn import config_context

    metric = getattr(metrics, name)
    with config_context(working_memory=memory):
        assert metric(as_dask(labels, LENGTHS), as_dask(SCORES, [7, 53])) == metric(Y, SCORES)
        assert metric(Y, as_dask(pd.DataFrame(SCORES), [7, 53])) == metric(Y, SCORES)


def test_metrics_refuse_the_same():
    strange = SCORES.copy()
    strange[3, 2] = np.nan
    for scores in (strange, as_dask(strange, LENGTHS)):
        with pytest.raises(InputError, match="NaN or infinite"):
            metrics.macro_auc_roc(Y, scores)
    with pytest.raises(InputError, match="same shape"):
        metrics.macro_f1(Y, as_dask(Y[:-1], [59]))
    with pytest.raises(LabelFormatError, match="also holds 2"):
        metrics.macro_f1(as_dask(Y * 2, LENGTHS), Y)


def test_missing_labels_may_be_left_out():
    some = Y.astype(float)
    some[5, 1] = np.nan
    expected = metrics.macro_auc_roc(some, SCORES)
    found = metrics.macro_auc_roc(as_dask(some, LENGTHS), as_dask(SCORES, LENGTHS))
    assert found == expected


@pytest.mark.parametrize(
    "splitter",
    [
        model_selection.IterativeStratifiedKFold(3, random_state=0),
        model_selection.IterativeStratifiedKFold(3, order=2, shuffle=True, random_state=0),
        model_selection.IterativeStratifiedShuffleSplit(2, random_state=0),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_splitters(splitter, labels):
    found = list(splitter.split(as_dask(X, LENGTHS), as_dask(labels, LENGTHS)))
    for one, other in zip(found, splitter.split(X, Y), strict=True):
        for rows, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("unknown", [False, True])
def test_splitters_keep_labels_sparse(unknown):
    """Blocks come to memory as CSR, and never as one dense table."""
    cells = Y.astype(float)
    cells[3, 1] = np.nan if unknown else 1
    found = _count_dask_rows(X, as_dask(cells, LENGTHS), None, caller="a test")[1]
    assert isinstance(found, sp.csr_array)
    np.testing.assert_array_equal(found.toarray(), cells)


GROUPS = np.arange(N) // 4


@pytest.mark.parametrize(
    "splitter",
    [
        model_selection.IterativeStratifiedKFold(3, random_state=0),
        model_selection.IterativeStratifiedGroupKFold(3, random_state=0),
        model_selection.IterativeStratifiedShuffleSplit(2, random_state=0),
        model_selection.RepeatedIterativeStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_splitters_count_rows_that_dask_does_not_know(splitter):
    groups = GROUPS if "Group" in type(splitter).__name__ else None
    expected = list(splitter.split(X, Y, groups))
    filtered = [table[table[:, 0] > -np.inf] for table in (as_dask(X, LENGTHS), as_dask(Y, [60]))]
    assert all(np.isnan(table.shape[0]) for table in filtered)
    one = as_dask(GROUPS[:, None], LENGTHS)
    unknown = None if groups is None else one[one[:, 0] > -1][:, 0]
    for tables in ((*filtered, unknown), (filtered[0], Y, groups), (X, filtered[1], groups)):
        for fold, other in zip(splitter.split(*tables), expected, strict=True):
            np.testing.assert_array_equal(fold[0], other[0])
            np.testing.assert_array_equal(fold[1], other[1])


def test_a_split_of_collections_gives_collections(labels):
    split = model_selection.multilabel_train_test_split
    table = pd.DataFrame(X, index=np.arange(N) * 2)
    expected = split(table, labels, random_state=0)
    found = split(as_dask(table, LENGTHS), as_dask(labels, LENGTHS), random_state=0)
    for part, other in zip(found, expected, strict=True):
        assert_same_table(part, other)


@pytest.mark.parametrize(
    "options", [{}, {"n_neighbors": None}, {"n_neighbors": 3, "scale": "range"}, {"subsample": 30}]
)
def test_profile(options, labels):
    expected = labelance.profile(X, labels, **options)
    found = labelance.profile(as_dask(X, LENGTHS), as_dask(labels, LENGTHS), **options)
    assert str(found) == str(expected)
    assert found.to_dict() == expected.to_dict()


@pytest.mark.slow
def test_a_profile_of_frames():
    table = pd.DataFrame(X, columns=list("xyz"))
    found = labelance.profile(as_dask(table, LENGTHS), as_dask(KINDS["frame"], LENGTHS))
    assert str(found) == str(labelance.profile(table, KINDS["frame"]))


def test_who_works_in_memory_alone_says_so():
    for learn in (BinaryRelevance().fit, BinaryRelevance().fit(X, Y).predict_proba):
        rows = (as_dask(X, LENGTHS), Y)[: 2 if learn.__name__ == "fit" else 1]
        with pytest.raises(ContainerError, match=r"Convert it first: X\.compute\(\)"):
            learn(*rows)


def test_labels_in_dask_beside_rows_in_memory_are_refused():
    with pytest.raises(ContainerError, match=r"Bring y into the memory .*y\.compute\(\)"):
        labelance.MLROS().fit_resample(X, as_dask(Y, LENGTHS))


def test_a_delayed_is_no_table():
    import dask

    rows, labels = dask.delayed(X), dask.delayed(Y)
    for ask in (
        lambda: labelance.MLROS().fit_resample(rows, Y),
        lambda: labelance.MLSOL().fit_resample(as_dask(X, LENGTHS), labels),
        lambda: labelance.profile(rows, Y),
        lambda: metrics.macro_f1(labels, Y),
        lambda: metrics.macro_f1(Y, labels),
        lambda: metrics.macro_auc_roc(Y, labels),
    ):
        with pytest.raises(ContainerError, match=r"from_delayed\("):
            ask()


def test_one_column_of_labels_is_no_table():
    frame = as_dask(KINDS["frame"], LENGTHS)
    for flat in (frame["a"], as_dask(Y, LENGTHS)[:, 0]):
        with pytest.raises(LabelFormatError, match="one dimension"):
            metrics.macro_f1(flat, flat)


def test_words_in_a_frame_of_labels_are_refused():
    words = KINDS["frame"].map({0: "no", 1: "yes"}.get).astype(object)
    with pytest.raises(LabelFormatError, match="numbers, booleans or categories"):
        metrics.macro_f1(as_dask(words, LENGTHS), Y)
