"""Parts of the data: any number, any container, the shares asked for."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_array

from labelance.exceptions import InputError, LabelFormatError, TooFewRowsError
from labelance.model_selection import label_distribution, multilabel_train_test_split
from labelance.model_selection._fold_sizes import part_weights, train_test_weights


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    return (rng.random((300, 6)) < [0.5, 0.3, 0.2, 0.1, 0.05, 0.03]).astype(int)


def test_every_container_comes_back_as_it_was(labels):
    n = len(labels)
    number = np.arange(n)
    frame = pd.DataFrame({"a": number, "b": pd.Categorical(["x", "y"] * (n // 2))})
    given_ = [
        number,
        csr_array(np.c_[number, number]),
        coo_matrix(np.c_[number]),
        frame,
        frame["a"],
        pl.DataFrame({"a": number}),
        pl.Series("s", number),
        number.tolist(),
        labels,
    ]
    parts = multilabel_train_test_split(*given_, sizes=(0.5, 0.3, 0.2), random_state=0)
    assert len(parts) == 3 * len(given_)
    for part in range(3):
        rows, csr, coo, taken, column, polar, series, listed, Y = parts[part::3]
        assert (np.diff(rows) > 0).all()
        for made, source in zip(parts[part::3], given_):
            assert type(made) is type(source)
        assert np.array_equal(csr.toarray()[:, 0], rows)
        assert np.array_equal(coo.toarray()[:, 0], rows)
        pd.testing.assert_frame_equal(taken, frame.iloc[rows])
        assert column.tolist() == polar["a"].to_list() == series.to_list() == listed
        assert listed == rows.tolist()
        assert np.array_equal(Y, labels[rows])


def test_parts_have_the_shares_and_the_labels_asked_for(labels):
    parts = multilabel_train_test_split(
        np.arange(300), labels, sizes=(0.6, 0.2, 0.2), random_state=0
    )
    rows = parts[:3]
    assert np.array_equal(np.sort(np.concatenate(rows)), np.arange(300))
    for part, share in zip(rows, (0.6, 0.2, 0.2)):
        assert abs(len(part) - share * 300) <= 6
        assert (abs(labels[part].sum(axis=0) - share * labels.sum(axis=0)) <= 2).all()
    assert label_distribution(labels, rows) < 0.05


def test_the_last_array_is_Y_unless_stratify_says_otherwise(labels):
    number = np.arange(300)
    last = multilabel_train_test_split(number, labels, random_state=0)
    named = multilabel_train_test_split(number, stratify=labels, random_state=0)
    first = multilabel_train_test_split(labels, number, stratify=labels, random_state=0)
    assert len(named) == 2
    assert np.array_equal(last[0], named[0])
    assert np.array_equal(last[1], named[1])
    assert np.array_equal(last[0], first[2])
    assert 70 <= len(named[1]) <= 80  # a quarter, as in scikit-learn


def test_train_and_test_may_leave_rows_over(labels):
    train, test = multilabel_train_test_split(
        np.arange(300), stratify=labels, train_size=100, test_size=0.2, random_state=0
    )
    assert abs(len(train) - 100) <= 6
    assert abs(len(test) - 60) <= 6
    assert len(np.intersect1d(train, test)) == 0


@pytest.mark.parametrize("kind", [csr_array, pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_the_split_does_not_depend_on_the_container(kind, labels):
    plain = multilabel_train_test_split(np.arange(300), labels, random_state=3, order=2)
    other = multilabel_train_test_split(np.arange(300), kind(labels), random_state=3, order=2)
    assert np.array_equal(plain[0], other[0])


@pytest.mark.slow
@given(parts=st.lists(st.integers(1, 50), min_size=2, max_size=6))
def test_shares_written_as_floats_are_taken_as_the_fractions_they_mean(parts):
    total = sum(parts)
    weights = part_weights([part / total for part in parts], n=10**6)
    expected = [Fraction(part, total) for part in parts]
    assert [Fraction(int(w), int(weights.sum())) for w in weights] == expected


@pytest.mark.slow
@given(test=st.floats(0.001, 0.999))
def test_any_share_leaves_the_other_one(test):
    weights = train_test_weights(None, test, 100, default=0.25)
    assert len(weights) == 2
    assert weights[1] / weights.sum() == pytest.approx(test, abs=1e-9)
    both = train_test_weights(1 - test, test, 100, default=0.25)
    assert len(both) == 2
    assert both[1] / both.sum() == pytest.approx(test, abs=1e-8)


def test_sizes_in_rows_are_exact_fractions():
    assert part_weights((37, 63), 100).tolist() == [37, 63]
    assert train_test_weights(10, None, 15, default=0.25).tolist() == [2, 1]
    assert train_test_weights(10, 3, 15, default=0.25).tolist() == [10, 3, 2]


Y = np.eye(6, dtype=int)
BAD = [
    ((), {}, InputError, "Got none"),
    ((Y,), {"sizes": (0.5, 0.4)}, InputError, "with sum 0.9"),
    ((Y,), {"sizes": (0.5, 0.5, 0.0)}, InputError, "Got sizes=(0.5, 0.5, 0.0)."),
    ((Y,), {"sizes": (3, 2)}, InputError, "sum to 6. Got sizes=(3, 2), with sum 5"),
    ((Y,), {"sizes": (1.0,)}, InputError, "at least two parts"),
    ((Y,), {"sizes": ("a", "b")}, InputError, "Got sizes=('a', 'b')."),
    ((Y,), {"sizes": (0.5, 0.5), "test_size": 0.5}, InputError, "Got both"),
    ((Y,), {"test_size": 0.0}, InputError, "Got 0.0"),
    ((Y,), {"train_size": 7}, InputError, "Got 7"),
    ((Y,), {"order": 0}, InputError, "Got 0"),
    ((Y[:, 0],), {}, LabelFormatError, "one dimension"),
    ((np.zeros(5), Y), {}, InputError, "They have 5, 6 rows"),
    ((Y,), {"test_size": 0.1}, TooFewRowsError, "Part 2 got none"),
]


@pytest.mark.parametrize(("arrays", "options", "error", "words"), BAD, ids=[b[3] for b in BAD])
def test_bad_input_is_refused(arrays, options, error, words):
    with pytest.raises(error, match=re.escape(words)):
        multilabel_train_test_split(*arrays, **options)
