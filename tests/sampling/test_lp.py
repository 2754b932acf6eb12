"""LPROS and LPRUS: bags and quotas against the rule in fractions, rows by distribution."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from labelance.datasets import load_dataset
from labelance.sampling import LPROS, LPRUS
from labelance.sampling._random import apportion, labelset_bags
from labelance.testing import sampler_data


def bags_slowly(Y):
    """The rows of every labelset, by the labelset as a bit string."""
    bags = {}
    for i, row in enumerate(Y):
        bags.setdefault("".join(map(str, row)), []).append(i)
    return dict(sorted(bags.items()))


def share_out_slowly(sizes, total, above_mean):
    """The rule bag by bag: want, take, carry to the later bags; exact fractions of rows."""
    mean = Fraction(sum(sizes), len(sizes))
    if above_mean:
        bags = [b for b, size in enumerate(sizes) if size > mean]
        bags.sort(key=lambda b: sizes[b])
    else:
        bags = [b for b, size in enumerate(sizes) if size < mean]
        bags.sort(key=lambda b: -sizes[b])
    counts, carry, fraction = [], Fraction(0), Fraction(0)
    for t, b in enumerate(bags, start=1):
        want = Fraction(total, len(bags)) + carry
        take = min(abs(sizes[b] - mean), want)
        counts.append(floor(take + fraction))
        fraction = take + fraction - counts[-1]
        if t < len(bags):
            carry += (want - take) / (len(bags) - t)
    return bags, counts


sizes = st.lists(st.one_of(st.integers(1, 4), st.integers(1, 60)), min_size=1, max_size=30)


@given(sizes, st.floats(0, 2), st.booleans())
def test_quotas_equal_the_rule(sizes, ratio, above_mean):
    total = int(ratio * sum(sizes))
    quotas = apportion(np.array(sizes), total, above_mean=above_mean)
    bags, counts = share_out_slowly(sizes, total, above_mean)
    assert quotas.bags.tolist() == bags
    assert quotas.counts.tolist() == counts
    assert quotas.counts.sum() <= total


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 6))
def test_bags_are_those_of_bit_strings(seed, n, q):
    Y = (np.random.default_rng(seed).random((n, q)) < 0.4).astype(np.int8)
    bags = labelset_bags(sp.csr_array(Y))
    parts = np.split(bags.rows, bags.starts[1:-1])
    assert [part.tolist() for part in parts] == list(bags_slowly(Y).values())


@st.composite
def labels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(4, 60)), draw(st.integers(2, 5))
    Y = (rng.random((n, q)) < rng.random(q)).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    return Y


def sizes_by_labelset(Y):
    return {labelset: len(rows) for labelset, rows in bags_slowly(Y).items()}


@pytest.mark.slow
@given(labels(), st.sampled_from([0, 0.25, 0.6, 0.99]), st.integers(0, 99))
def test_undersampling_takes_the_quota_from_every_bag(Y, ratio, seed):
    X = np.arange(len(Y), dtype=float)[:, None]
    sampler = LPRUS(sampling_ratio=ratio, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    before, after = sizes_by_labelset(Y), sizes_by_labelset(Y_new)
    sizes = list(before.values())
    expected = list(sizes)
    bags, counts = share_out_slowly(sizes, int(round(ratio * len(Y), 9)), True)
    for bag, count in zip(bags, counts):
        expected[bag] -= count
    assert after == dict(zip(before, expected))
    mean = Fraction(len(Y), len(before))
    assert all(after[s] >= min(before[s], floor(mean)) for s in before)
    assert_array_equal(X_new.ravel(), sampler.sample_indices_)


@pytest.mark.slow
@given(labels(), st.sampled_from([0, 0.25, 0.6, 3]), st.integers(0, 99))
def test_oversampling_gives_the_quota_to_every_bag(Y, ratio, seed):
    X = np.arange(len(Y), dtype=float)[:, None]
    sampler = LPROS(sampling_ratio=ratio, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    before, after = sizes_by_labelset(Y), sizes_by_labelset(Y_new)
    sizes = list(before.values())
    expected = list(sizes)
    bags, counts = share_out_slowly(sizes, int(round(ratio * len(Y), 9)), False)
    for bag, count in zip(bags, counts):
        expected[bag] += count
    assert after == dict(zip(before, expected))
    assert_array_equal(X_new.ravel(), [*range(len(Y)), *sampler.seed_indices_])
    assert_array_equal(Y_new[len(Y) :], Y[sampler.seed_indices_])


# Bags of 12, 6, 2 and 1 rows: a mean of 5.25.
FOUR_BAGS = np.array([[1, 0]] * 12 + [[1, 1]] * 6 + [[0, 1]] * 2 + [[0, 0]])


@pytest.mark.slow
def test_clones_are_drawn_evenly_and_with_replacement():
    drawn, repeats = np.zeros(21), 0
    for seed in range(300):
        sampler = LPROS(sampling_ratio=1, random_state=seed)
        sampler.fit_resample(np.zeros((21, 1)), FOUR_BAGS)
        drawn += np.bincount(sampler.seed_indices_, minlength=21)
        repeats += len(set(sampler.seed_indices_)) < len(sampler.seed_indices_)
    assert not drawn[:18].any()
    assert chisquare(drawn[18:20]).pvalue > 1e-4
    assert repeats == 300


@pytest.mark.slow
def test_rows_are_deleted_evenly_and_once():
    gone = np.zeros(21)
    for seed in range(300):
        sampler = LPRUS(sampling_ratio=0.25, random_state=seed)
        sampler.fit_resample(np.zeros((21, 1)), FOUR_BAGS)
        gone[np.setdiff1d(np.arange(21), sampler.sample_indices_)] += 1
    assert gone.sum() == 300 * 5
    assert not gone[18:].any()
    assert chisquare(gone[:12]).pvalue > 1e-4
    pairs = gone[12:18]
    assert not pairs.any() or chisquare(pairs).pvalue > 1e-4


@pytest.mark.slow
def test_pairs_of_deleted_rows_are_even():
    # The mean bag has 2 rows: 2 of 4 go, and each of the six pairs is as likely.
    Y = np.array([[1, 0]] * 4 + [[0, 1]] + [[0, 0]])
    pairs = {}
    for seed in range(600):
        sampler = LPRUS(sampling_ratio=0.4, random_state=seed)
        sampler.fit_resample(np.zeros((6, 1)), Y)
        kept = tuple(sampler.sample_indices_.tolist())
        pairs[kept] = pairs.get(kept, 0) + 1
    assert len(pairs) == 6
    assert chisquare(list(pairs.values())).pvalue > 1e-4


@pytest.mark.parametrize("sampler", [LPROS(), LPRUS()], ids=str)
def test_bags_of_one_size_stay(sampler):
    Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 2)
    assert_array_equal(sampler.fit_resample(np.zeros((8, 1)), Y)[1], Y)


@pytest.mark.parametrize("sampler", [LPROS(), LPRUS()], ids=str)
def test_missing_values_stay_as_they_are(sampler):
    X, Y = sampler_data()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    X_new, _ = sampler.fit_resample(X, Y)
    rows = (
        sampler.sample_indices_
        if hasattr(sampler, "sample_indices_")
        else [*range(len(X)), *sampler.seed_indices_]
    )
    assert_array_equal(X_new, X[rows])


def test_wrong_ratios_are_refused():
    with pytest.raises(ValueError, match="sampling_ratio"):
        LPROS(sampling_ratio=-1).fit_resample(*sampler_data())
    with pytest.raises(ValueError, match="sampling_ratio"):
        LPRUS(sampling_ratio=1.0).fit_resample(*sampler_data())


@pytest.mark.data
@pytest.mark.parametrize("name", ["flags", "verbframes", "yeast", "enron", "bibtex"])
@pytest.mark.parametrize("above_mean", [True, False])
def test_quotas_of_real_labelsets_equal_the_rule(name, above_mean, data_dir):
    Y = load_dataset(name).Y
    bags = labelset_bags(Y)
    by_hand = bags_slowly(Y.toarray())
    assert bags.sizes.tolist() == [len(rows) for rows in by_hand.values()]
    quotas = apportion(bags.sizes, Y.shape[0] // 4, above_mean=above_mean)
    expected = share_out_slowly(bags.sizes.tolist(), Y.shape[0] // 4, above_mean)
    assert (quotas.bags.tolist(), quotas.counts.tolist()) == expected
