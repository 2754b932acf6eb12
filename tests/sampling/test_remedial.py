"""REMEDIAL against a loop over rows, the worked example, and the authors' figures."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelance import imbalance
from labelance.datasets import load_dataset
from labelance.imbalance._above_mean import irlbl_against_mean
from labelance.sampling import MLROS, REMEDIAL, RemedialHwR
from labelance.testing import sampler_data

# Worked example S of the specification; label 3 never occurs.
ROWS_S = ["1100", "1000", "1010", "0100", "1100", "0000", "1000", "1110"]
Y_S = np.array([list(row) for row in ROWS_S], dtype=int)
X_S = np.arange(8.0)[:, np.newaxis]


def decouple_slowly(Y):
    """Labels of the original rows, labels of the copies, and which rows these copy."""
    counts = Y.sum(axis=0)
    ratio = [counts.max() / count if count else np.nan for count in counts]
    above_mean = irlbl_against_mean(counts) > 0
    scumble = []
    for row in Y:
        own = [ratio[j] for j in range(len(row)) if row[j]]
        equal = len(set(own)) <= 1  # then SCUMBLE is 0 by definition, whatever is rounded
        scumble.append(0.0 if equal else 1 - np.prod(own) ** (1 / len(own)) / np.mean(own))
    limit = np.mean(scumble)
    kept, copies, split = [], [], []
    for i, row in enumerate(Y):
        rare = [int(row[j] and above_mean[j]) for j in range(len(row))]
        frequent = [int(row[j] and not rare[j]) for j in range(len(row))]
        if scumble[i] > limit + 1e-12:
            split.append(i)
            kept.append(frequent)
            copies.append(rare)
        else:
            kept.append(row.tolist())
    return kept, copies, split


@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@pytest.mark.parametrize("n", [7, 13, 100])
@pytest.mark.parametrize("sampler", [REMEDIAL(), RemedialHwR(resampler=MLROS(sampling_ratio=0))])
def test_rows_that_are_all_alike_are_not_split(sampler, n):
    Y = np.hstack([np.ones((n, 1), int), np.eye(n, dtype=int)])
    assert sampler.fit_resample(np.zeros((n, 1)), Y)[0].shape == (n, 1)


@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
def test_example_s():
    sampler = REMEDIAL()
    X, Y = sampler.fit_resample(X_S, Y_S)
    assert X.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 2, 7]
    rows = ["".join(map(str, row)) for row in Y]
    assert rows[:8] == ["1100", "1000", "1000", "0100", "1100", "0000", "1000", "1100"]
    assert rows[8:] == ["0010", "0010"]
    assert sampler.decoupled_indices_.tolist() == sampler.seed_indices_.tolist() == [2, 7]
    assert sampler.n_empty_ == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_equals_the_loop(seed, q):
    rng = np.random.default_rng(seed)
    Y = (rng.random((25, q)) < rng.choice([0.05, 0.3, 0.7], size=q)).astype(int)
    X = np.arange(25.0)[:, np.newaxis]
    sampler = REMEDIAL()
    X_new, Y_new = sampler.fit_resample(X, sp.csr_array(Y))
    kept, copies, split = decouple_slowly(Y)
    assert sampler.decoupled_indices_.tolist() == split
    assert X_new.ravel().tolist() == [*range(25), *split]
    assert_array_equal(Y_new.toarray(), [*kept, *copies])
    assert Y_new.has_sorted_indices
    assert sampler.n_empty_ == sum(not any(kept[i]) or not any(c) for i, c in zip(split, copies))
    assert_array_equal(Y_new.sum(axis=0), Y.sum(axis=0))  # no label is gained or lost


def test_equally_frequent_labels_leave_everything_as_it_was():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1.0, 2, 3], "b": ["x", "y", "x"]}, index=list("pqr"))
    X["b"] = X["b"].astype("category")
    Y = pd.DataFrame({"l": [1, 1, 0], "m": [1, 0, 1]}, index=list("pqr"))
    sampler = REMEDIAL()
    X_new, Y_new = sampler.fit_resample(X, Y)
    pd.testing.assert_frame_equal(X_new, X)
    pd.testing.assert_frame_equal(Y_new, Y)
    assert len(sampler.decoupled_indices_) == 0


def test_features_are_copied_as_they_are():
    pd = pytest.importorskip("pandas")
    _, Y = sampler_data()
    words = pd.Categorical(np.where(np.arange(60) % 7 == 0, None, "word"))
    X = pd.DataFrame(
        {"a": np.arange(60), "b": words, "c": np.where(np.arange(60) % 5, 1.0, np.nan)}
    )
    sampler = REMEDIAL()
    X_new, _ = sampler.fit_resample(X, Y)
    assert len(X_new) > 60
    copies = X.iloc[sampler.decoupled_indices_].reset_index(drop=True)
    pd.testing.assert_frame_equal(X_new.iloc[60:].reset_index(drop=True), copies)


DUMPS = ["flags", "emotions", "yeast", "cal500", "medical", "scene-train", "enron-exp"]


@pytest.mark.data
@pytest.mark.parametrize("name", DUMPS)
def test_the_figures_of_the_authors_program(name, reference):
    told = json.loads(reference(f"dumps/stats_{name}.json").read_text())["remedial"]
    if name.endswith("-exp"):
        data = load_dataset(name.removesuffix("-exp"), protocol="paper")
    else:
        data = load_dataset(name.removesuffix("-train"))
    data = data.take(np.arange(1211)) if name.endswith("-train") else data
    assert_allclose(imbalance.scumble(data.Y), told["SCUMBLE"], rtol=1e-12)
    assert_allclose(imbalance.mean_ir(data.Y), told["MeanIR"], rtol=1e-12)
    assert_allclose(imbalance.irlbl(data.Y), told["IRLbl"], rtol=1e-12)
    sampler = REMEDIAL()
    X_new, Y_new = sampler.fit_resample(data.X, data.Y)
    assert len(sampler.decoupled_indices_) == told["n_decoupled"]
    assert X_new.shape[0] == Y_new.shape[0] == told["n_after"]
    assert Y_new.sum(axis=0).tolist() == told["positives_after"]


def test_unknown_cells_go_where_the_label_would_go():
    """A decoupled row lacks its minority labels whatever they were, and its copy the others."""
    rng = np.random.default_rng(0)
    X, y = sampler_data(n=90)
    y = np.asarray(y, dtype=float)
    hidden = rng.random(y.shape) < 0.15
    sampler = REMEDIAL()
    _, found = sampler.fit_resample(X, np.where(hidden, np.nan, y))
    _, filled = REMEDIAL().fit_resample(X, np.where(hidden, 0, y))  # the same labels are known
    split, rare = sampler.decoupled_indices_, np.zeros(y.shape[1], dtype=bool)
    rare[list(sampler.sampling_strategy_)] = True
    assert_array_equal(np.nan_to_num(found), filled)
    expected = np.vstack([hidden, hidden[split] & rare])
    expected[split] &= ~rare
    assert expected[split].any()
    assert expected[90:].any()
    assert_array_equal(np.isnan(found), expected)
