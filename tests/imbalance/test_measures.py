"""The measures against their formulas, written out as slow loops, and their laws."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix, csr_array

from labelance import imbalance
from labelance.exceptions import InputError, LabelFormatError

EXAMPLE_S = np.array(
    [
        [1, 1, 0, 0],
        [1, 0, 0, 0],
        [1, 0, 1, 0],
        [0, 1, 0, 0],
        [1, 1, 0, 0],
        [0, 0, 0, 0],
        [1, 0, 0, 0],
        [1, 1, 1, 0],
    ]
)

labels = st.tuples(st.integers(1, 14), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int8, shape, elements=st.integers(0, 1))
)
many = settings(max_examples=40)


def irlbl_oracle(Y):
    counts = [sum(row[j] for row in Y) for j in range(len(Y[0]))]
    return [max(counts) / count if count else math.nan for count in counts]


def scumble_oracle(Y):
    ratio = irlbl_oracle(Y)
    result = []
    for row in Y:
        own = [ratio[j] for j, has in enumerate(row) if has]
        geometric = math.prod(own) ** (1 / len(own)) if own else 1.0
        result.append(1 - geometric / (sum(own) / len(own)) if own else 0.0)
    return result


def test_worked_example_s():
    Y = EXAMPLE_S
    assert_array_equal(imbalance.label_counts(Y), [6, 4, 2, 0])
    assert_allclose(imbalance.irlbl(Y), [1, 1.5, 3, np.nan])
    assert imbalance.mean_ir(Y) == pytest.approx(1.833333, abs=1e-6)
    assert imbalance.cvir(Y) == pytest.approx(0.567727, abs=1e-6)
    assert imbalance.cardinality(Y) == 1.5
    assert imbalance.density(Y) == 0.375
    assert len(imbalance.labelsets(Y)) == 6
    assert_allclose(imbalance.imr(Y), [3, 1, 3, np.nan])
    assert imbalance.mean_imr(Y) == pytest.approx(2.333333, abs=1e-6)
    assert imbalance.tcs(10, Y) == pytest.approx(5.480639, abs=1e-6)
    assert_allclose(
        imbalance.scumble_instances(Y),
        [0.020204, 0, 0.133975, 0, 0.020204, 0, 0, 0.099474],
        atol=1e-6,
    )
    assert imbalance.scumble(Y) == pytest.approx(0.034232, abs=1e-6)
    assert imbalance.scumble_cv(Y) == pytest.approx(1.533340, abs=1e-6)
    assert_allclose(imbalance.scumble_labels(Y), [0.045643, 0.034971, 0.116724, np.nan], atol=1e-6)


def varying(Y):
    """Return the labels with zeros in place of those that all rows have."""
    return np.where(Y.all(axis=0), 0, Y)


@pytest.mark.slow
@many
@given(labels, st.integers(0, 5))
def test_constant_labels_change_no_measure_of_imbalance(Y, place):
    place = min(place, Y.shape[1])
    for value in (0, 1):
        more = np.insert(Y, place, value, axis=1)
        for measure in ("mean_ir", "cvir", "mean_imr", "scumble", "scumble_cv"):
            function = getattr(imbalance, measure)
            assert_array_equal(function(csr_array(more)), function(Y), measure)
            assert_array_equal(getattr(imbalance.profile(None, more), measure), function(Y))
        for measure in ("irlbl", "imr", "scumble_labels"):
            found = getattr(imbalance, measure)(more)
            assert np.isnan(found[place])
            assert_array_equal(np.delete(found, place), getattr(imbalance, measure)(Y), measure)


@pytest.mark.slow
@many
@given(labels)
def test_ratios_follow_their_formulas(Y):
    n = len(Y)
    ones = Y.sum(axis=0, dtype=int)
    # A label that all rows have is no most frequent label: it is left out as one that no row has.
    fewer, more = np.minimum(ones, n - ones), np.maximum(ones, n - ones)
    ratio = np.array(irlbl_oracle(varying(Y).tolist()))
    within = np.array([b / a if a else np.nan for a, b in zip(fewer, more)])
    occurring, both = ratio[~np.isnan(ratio)], within[~np.isnan(within)]
    assert_allclose(imbalance.irlbl(Y), ratio)
    assert_allclose(imbalance.imr(Y), within)
    assert_allclose(imbalance.mean_ir(Y), occurring.mean() if len(occurring) else np.nan)
    assert_allclose(imbalance.mean_imr(Y), both.mean() if len(both) else np.nan)
    variation = np.std(occurring, ddof=1) / occurring.mean() if len(occurring) > 1 else np.nan
    assert_allclose(imbalance.cvir(Y), variation, atol=1e-12)
    assert imbalance.cardinality(Y) == pytest.approx(Y.sum(axis=1).mean())
    assert imbalance.density(Y) == pytest.approx(Y.mean())


@pytest.mark.slow
@many
@given(labels)
def test_scumble_follows_its_formula(Y):
    each = np.array(scumble_oracle(varying(Y).tolist()))
    mean = each.mean()
    assert_allclose(imbalance.scumble_instances(Y), each, atol=1e-12)
    assert_allclose(imbalance.scumble(Y), mean, atol=1e-12)
    of_labels = [each[y == 1].mean() if y.any() else np.nan for y in varying(Y).T]
    assert_allclose(imbalance.scumble_labels(Y), of_labels, atol=1e-12)
    if imbalance.scumble(Y) > 0:
        assert_allclose(imbalance.scumble_cv(Y), np.std(each, ddof=1) / mean, rtol=1e-9)
    else:
        assert math.isnan(imbalance.scumble_cv(Y))


@pytest.mark.slow
@many
@given(labels)
def test_scumble_is_zero_exactly_where_the_labels_of_a_row_are_equally_frequent(Y):
    ones = Y.sum(axis=0)
    level = np.array([len(set(ones[row == 1])) <= 1 for row in varying(Y)])
    value = imbalance.scumble_instances(Y)
    assert_array_equal(value == 0, level)
    assert ((value >= 0) & (value < 1)).all()


@pytest.mark.slow
@many
@given(labels, st.randoms(use_true_random=False))
def test_order_of_rows_and_labels_does_not_matter(Y, random):
    rows, columns = list(range(Y.shape[0])), list(range(Y.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    mixed = Y[np.ix_(rows, columns)]
    assert_array_equal(imbalance.irlbl(mixed), imbalance.irlbl(Y)[columns])
    assert_array_equal(imbalance.imr(mixed), imbalance.imr(Y)[columns])
    assert_allclose(
        imbalance.scumble_instances(mixed), imbalance.scumble_instances(Y)[rows], atol=1e-12
    )
    assert_allclose(
        imbalance.scumble_labels(mixed), imbalance.scumble_labels(Y)[columns], atol=1e-12
    )
    assert len(imbalance.labelsets(mixed)) == len(imbalance.labelsets(Y))


@pytest.mark.slow
@many
@given(labels)
def test_two_copies_of_the_data_are_as_imbalanced_as_one(Y):
    twice = np.vstack([Y, Y])
    assert_array_equal(imbalance.irlbl(twice), imbalance.irlbl(Y))
    assert_allclose(imbalance.mean_ir(twice), imbalance.mean_ir(Y))
    assert_allclose(imbalance.scumble(twice), imbalance.scumble(Y), atol=1e-12)


@pytest.mark.slow
@many
@given(labels)
def test_labelsets_are_the_distinct_rows_most_frequent_first(Y):
    found = imbalance.labelsets(Y)
    rows = [tuple(row) for row in Y.tolist()]
    sets = [tuple(row) for row in found.sets.toarray().tolist()]
    assert [sets[m] for m in found.membership] == rows
    assert sorted(sets) == sorted(set(rows))
    expected = sorted(set(rows), key=lambda row: (-rows.count(row), rows.index(row)))
    assert sets == expected
    assert found.frequencies.tolist() == [rows.count(row) for row in sets]
    assert found.share_single == np.mean([rows.count(row) == 1 for row in sets])


@pytest.mark.slow
def test_many_labels_in_a_row_do_not_overflow():
    Y = np.ones((4, 4000), dtype=np.int8)
    Y[1:, 1:] = 0
    Y[3] = 0
    value = imbalance.scumble_instances(Y)
    assert np.isfinite(value).all()
    assert 0 < value[0] < 1e-3
    assert len(imbalance.labelsets(Y)) == 3


@pytest.mark.parametrize("empty", [np.zeros((3, 2)), csr_array((3, 2), dtype=np.int8)], ids=type)
def test_no_label_at_all_is_nan_without_a_warning(empty):
    assert np.isnan(imbalance.irlbl(empty)).all()
    assert np.isnan(imbalance.imr(empty)).all()
    for measure in (imbalance.mean_ir, imbalance.cvir, imbalance.mean_imr, imbalance.scumble_cv):
        assert math.isnan(measure(empty))
    assert imbalance.scumble(empty) == 0
    assert len(imbalance.labelsets(empty)) == 1


@pytest.mark.slow
@many
@given(st.lists(st.integers(1, 30), min_size=3, max_size=12), st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order_of_labels(counts, chance):
    Y = np.arange(31)[:, np.newaxis] < counts
    order = chance.sample(range(len(counts)), len(counts))
    for mean in (imbalance.mean_ir, imbalance.mean_imr):
        assert mean(Y[:, order]) == mean(Y)


MEASURES = [
    imbalance.label_counts,
    imbalance.cardinality,
    imbalance.density,
    imbalance.irlbl,
    imbalance.mean_ir,
    imbalance.cvir,
    imbalance.imr,
    imbalance.mean_imr,
    imbalance.scumble_instances,
    imbalance.scumble,
    imbalance.scumble_cv,
    imbalance.scumble_labels,
]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_every_container_gives_the_same(measure, case):
    for container in [
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(bool),
        csr_array,
        csc_matrix,
        pd.DataFrame,
    ]:
        with case(container):
            assert_array_equal(measure(container(EXAMPLE_S)), measure(EXAMPLE_S))


@pytest.mark.parametrize("measure", [*MEASURES, imbalance.labelsets], ids=lambda f: f.__name__)
def test_what_is_not_an_indicator_is_refused(measure):
    with pytest.raises(LabelFormatError):
        measure([[0, 2], [1, 0]])


def test_tcs_takes_a_number_or_any_table():
    d = 10
    n = len(EXAMPLE_S)
    for X in (d, np.int64(d), np.zeros((n, d)), csr_array((n, d)), pd.DataFrame(np.zeros((n, d)))):
        assert imbalance.tcs(X, EXAMPLE_S) == pytest.approx(math.log(d * 4 * 6))
    with pytest.raises(InputError, match="8 rows of y"):
        imbalance.tcs(np.zeros((3, d)), EXAMPLE_S)
