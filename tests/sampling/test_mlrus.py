"""MLRUS, both readings, against readable loops and by distribution."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from labelance.datasets import load_dataset
from labelance.imbalance import label_counts, mean_ir
from labelance.imbalance._above_mean import irlbl_against_mean
from labelance.sampling import MLRUS
from labelance.testing import sampler_data


def delete_slowly(Y, numbers, variant):
    """Pass over the majority labels again and again, test, delete, count."""
    ratio = [Fraction(max(Y.sum(axis=0).tolist()), count) for count in Y.sum(axis=0).tolist()]
    mean = sum(ratio) / len(ratio)
    active = [j for j in range(Y.shape[1]) if ratio[j] < mean]
    bags = {j: list(np.flatnonzero(Y[:, j])) for j in active}
    counts, first_max = Y.sum(axis=0), Y.sum(axis=0).max()
    deleted = []
    while active:
        for j in list(active):
            if len(deleted) == len(numbers):
                return deleted
            largest = first_max if variant == "mulan" else counts.max()
            if counts[j] == 0 or Fraction(int(largest), int(counts[j])) >= mean:
                active.remove(j)
                continue
            row = bags[j][int(numbers[len(deleted)] * len(bags[j]))]
            deleted.append(row)
            counts = counts - Y[row]
            for bag in bags.values():
                if row in bag:  # the last row comes in its place
                    bag[bag.index(row)] = bag[-1]
                    bag.pop()
    return deleted


@st.composite
def labels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(4, 40)), draw(st.integers(2, 8))
    Y = (rng.random((n, q)) < rng.random(q) ** 2).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    return Y


ratios = st.sampled_from([0, 0.25, 0.6, 0.99])


@pytest.mark.slow
@given(labels(), ratios, st.sampled_from(["bags", "mulan"]), st.integers(0, 99))
def test_bags_deletes_what_the_loop_deletes(Y, ratio, variant, seed):
    X = np.arange(len(Y), dtype=float)[:, None]
    sampler = MLRUS(sampling_ratio=ratio, variant=variant, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    numbers = np.random.default_rng(seed).random(int(round(ratio * len(Y), 9)))
    kept = np.setdiff1d(np.arange(len(Y)), delete_slowly(Y, numbers, variant))
    assert_array_equal(sampler.sample_indices_, kept)
    assert_array_equal(X_new, X[kept])
    assert_array_equal(Y_new, Y[kept])


@pytest.mark.slow
@given(labels(), ratios, st.integers(0, 99))
def test_paper_deletes_as_many_as_asked_and_no_minority_label(Y, ratio, seed):
    X = np.arange(len(Y), dtype=float)[:, None]
    minority = irlbl_against_mean(label_counts(Y)) > 0
    candidates = ~Y[:, minority].any(axis=1)
    sampler = MLRUS(sampling_ratio=ratio, random_state=seed)
    _, Y_new = sampler.fit_resample(X, Y)
    assert len(Y) - len(Y_new) == min(int(round(ratio * len(Y), 9)), candidates.sum(), len(Y) - 1)
    assert_array_equal(Y_new[:, minority].sum(axis=0), Y[:, minority].sum(axis=0))
    deleted = np.setdiff1d(np.arange(len(Y)), sampler.sample_indices_)
    assert candidates[deleted].all()


def how_often_deleted(Y, seeds, **options):
    gone = np.zeros(len(Y))
    for seed in range(seeds):
        sampler = MLRUS(random_state=seed, **options)
        sampler.fit_resample(np.zeros((len(Y), 1)), Y)
        gone[np.setdiff1d(np.arange(len(Y)), sampler.sample_indices_)] += 1
    return gone


@pytest.mark.slow
def test_paper_is_even():
    Y = np.array([[1, 0]] * 10 + [[0, 1]] * 2)
    gone = how_often_deleted(Y, 400, sampling_ratio=0.25)
    assert gone.tolist()[10:] == [0, 0]
    assert chisquare(gone[:10]).pvalue > 1e-4


@pytest.mark.slow
def test_bags_are_even():
    Y = np.array([[1, 0]] * 8 + [[1, 1]] * 2 + [[0, 0]] * 2)
    gone = how_often_deleted(Y, 400, sampling_ratio=0.25, variant="bags")
    assert gone.sum() == 400 * 3
    assert chisquare(gone[:10]).pvalue > 1e-4  # also the rows with a minority label
    assert gone.tolist()[10:] == [0, 0]


def test_paper_does_not_depend_on_the_order_of_the_labels():
    X, Y = sampler_data()
    one, two = MLRUS(random_state=0), MLRUS(random_state=0)
    one.fit_resample(X, Y)
    two.fit_resample(X, Y[:, ::-1])
    assert_array_equal(one.sample_indices_, two.sample_indices_)


@pytest.mark.slow
@given(labels())
def test_bags_stop_when_every_majority_label_is_down_to_the_mean(Y):
    majority = irlbl_against_mean(label_counts(Y)) < 0
    sampler = MLRUS(sampling_ratio=0.99, variant="mulan")
    Y_new = sampler.fit_resample(np.zeros((len(Y), 1)), Y)[1]
    if len(Y) - len(Y_new) < int(round(0.99 * len(Y), 9)):
        largest = Y.sum(axis=0).max()
        assert (largest * (1 + 1e-12) >= mean_ir(Y) * label_counts(Y_new)[majority]).all()


@pytest.mark.parametrize("variant", ["paper", "bags", "mulan"])
@pytest.mark.parametrize("ratio", [0.99, 1 - 1e-12])
def test_a_row_is_left(variant, ratio):
    Y = np.array([[1, 0, 0]] * 6 + [[1, 1, 0]] * 2 + [[1, 1, 1], [0, 0, 0]])
    sampler = MLRUS(sampling_ratio=ratio, variant=variant)
    assert len(sampler.fit_resample(np.zeros((10, 1)), Y)[0]) >= 1


@pytest.mark.parametrize("wrong", [{"sampling_ratio": 1.0}, {"variant": "both"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MLRUS(**wrong).fit_resample(*sampler_data())


@pytest.mark.data
@pytest.mark.parametrize("name", ["verbframes", "yeast", "enron"])
def test_real_rows_are_deleted_as_the_loop_says(name, data_dir):
    data = load_dataset(name)
    sampler = MLRUS(variant="bags", random_state=0)
    sampler.fit_resample(data.X, data.Y)
    numbers = np.random.default_rng(0).random(data.n_samples // 4)
    deleted = delete_slowly(data.Y.toarray().astype(int), numbers, "bags")
    kept = np.setdiff1d(np.arange(data.n_samples), deleted)
    assert_array_equal(sampler.sample_indices_, kept)


@pytest.mark.parametrize("variant", ["bags", "mulan"])
def test_a_label_exactly_at_the_mean_is_no_majority(variant):
    """IRLbl is 1, 1.1 and 1.2, and MeanIR 1.1."""
    y = np.repeat(np.eye(3, dtype=int), [66, 60, 55], axis=0)
    y_kept = MLRUS(variant=variant, random_state=0).fit_resample(np.zeros((181, 1)), y)[1]
    first, *others = y_kept.sum(axis=0)
    assert others == [60, 55]
    assert first < 66
