"""MLROS against the readable loop, given the same random numbers, and by distribution."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from labelance.datasets import load_dataset
from labelance.imbalance import label_counts, mean_ir
from labelance.imbalance._above_mean import irlbl_against_mean
from labelance.sampling import MLROS
from labelance.testing import sampler_data


def clone_slowly(Y, numbers, variant):
    """Pass over the minority labels again and again, test, clone, count."""
    ratio = [Fraction(max(Y.sum(axis=0).tolist()), count) for count in Y.sum(axis=0).tolist()]
    mean = sum(ratio) / len(ratio)
    active = [j for j in range(Y.shape[1]) if ratio[j] > mean]
    bags = {j: np.flatnonzero(Y[:, j]) for j in active}
    counts, first_max = Y.sum(axis=0), Y.sum(axis=0).max()
    clones = []
    while active:
        for j in list(active):
            if len(clones) == len(numbers):
                return clones
            largest = first_max if variant == "mulan" else counts.max()
            if Fraction(int(largest), int(counts[j])) <= mean:
                active.remove(j)
                continue
            row = bags[j][int(numbers[len(clones)] * len(bags[j]))]
            clones.append(int(row))
            counts = counts + Y[row]
    return clones


@st.composite
def labels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, q = draw(st.integers(4, 40)), draw(st.integers(2, 8))
    Y = (rng.random((n, q)) < rng.random(q) ** 2).astype(int)
    Y[0], Y[1] = 0, 1  # no label is constant
    return Y


@pytest.mark.slow
@given(
    labels(),
    st.sampled_from([0, 0.25, 1, 4]),
    st.sampled_from(["paper", "mulan"]),
    st.integers(0, 99),
)
def test_clones_what_the_loop_clones(Y, ratio, variant, seed):
    X = np.arange(len(Y), dtype=float)[:, None]
    sampler = MLROS(sampling_ratio=ratio, variant=variant, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    numbers = np.random.default_rng(seed).random(int(ratio * len(Y)))
    clones = clone_slowly(Y, numbers, variant)
    assert_array_equal(sampler.seed_indices_, clones)
    assert_array_equal(X_new, np.concatenate([X, X[clones]]))
    assert_array_equal(Y_new, np.concatenate([Y, Y[clones]]))
    assert len(X_new) <= len(X) + int(ratio * len(X))


@pytest.mark.slow
@given(labels())
def test_no_minority_label_stays_above_the_mean_if_rows_suffice(Y):
    X = np.zeros((len(Y), 1))
    minority = irlbl_against_mean(label_counts(Y)) > 0
    Y_new = MLROS(sampling_ratio=50, variant="mulan").fit_resample(X, Y)[1]
    assert (Y.sum(axis=0).max() / label_counts(Y_new)[minority] <= mean_ir(Y) * (1 + 1e-12)).all()


def test_clones_are_drawn_evenly_from_the_bag():
    Y = np.array([[1, 0]] * 900 + [[0, 1]] * 9)
    sampler = MLROS(sampling_ratio=1, random_state=0)
    drawn = np.zeros(9)
    for seed in range(20):
        sampler.set_params(random_state=seed).fit_resample(np.zeros((909, 1)), Y)
        drawn += np.bincount(sampler.seed_indices_ - 900, minlength=9)
    assert drawn.sum() > 100
    assert chisquare(drawn).pvalue > 1e-4


def test_labels_take_turns():
    # Two rare labels, none of whose rows has the other's label.
    Y = np.array([[1] * 6 + [0, 0]] * 40 + [[0] * 6 + [1, 0]] + [[0] * 6 + [0, 1]])
    sampler = MLROS(sampling_ratio=0.1, random_state=0)
    sampler.fit_resample(np.zeros((42, 1)), Y)
    assert sampler.seed_indices_.tolist() == [40, 41, 40, 41]


def test_the_largest_count_is_the_one_by_now():
    # The only row of the rare label has all others too, so that clones raise the maximum.
    Y = np.array([[1] * 5 + [1, 1]] + [[1] * 5 + [1, 0]] * 28 + [[1] * 5 + [0, 0]] + [[0] * 7])
    X = np.zeros((31, 1))
    now = MLROS(sampling_ratio=1).fit_resample(X, Y)[1].sum(axis=0)
    first = MLROS(sampling_ratio=1, variant="mulan").fit_resample(X, Y)[1].sum(axis=0)
    mean = mean_ir(Y)
    assert now[-1] == 7
    assert 36 / 7 <= mean < 35 / 6
    assert first[-1] == 6
    assert 30 / 6 <= mean < 30 / 5


@pytest.mark.filterwarnings("ignore:.*labels are present in no row")
@pytest.mark.parametrize(
    "Y", [np.eye(4, dtype=int), np.zeros((4, 3), int), np.ones((4, 2), int), [[1, 0]] * 4]
)
def test_without_minority_labels_nothing_is_added(Y):
    X = np.arange(4.0)[:, None]
    X_new, Y_new = MLROS().fit_resample(X, np.asarray(Y))
    assert_array_equal(X_new, X)
    assert_array_equal(Y_new, Y)


def test_missing_and_nominal_values_are_copied():
    X, Y = sampler_data()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    sampler = MLROS(random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    assert_array_equal(X_new[len(X) :], X[sampler.seed_indices_])


def test_many_labels_stay_sparse():
    rng = np.random.default_rng(0)
    Y = sp.random_array((500, 20_000), density=0.0005, rng=rng, format="csr")
    Y.data[:] = 1
    with pytest.warns(match="present in no row"):
        Y_new = MLROS(random_state=0).fit_resample(np.zeros((500, 1)), Y)[1]
    assert sp.issparse(Y_new)
    assert Y_new.shape[0] > 500


@pytest.mark.parametrize("wrong", [{"sampling_ratio": -0.1}, {"variant": "bags"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MLROS(**wrong).fit_resample(*sampler_data())


@pytest.mark.data
@pytest.mark.parametrize("name", ["verbframes", "yeast", "enron"])
def test_real_rows_are_cloned_as_the_loop_says(name, data_dir):
    data = load_dataset(name)
    sampler = MLROS(random_state=0)
    sampler.fit_resample(data.X, data.Y)
    numbers = np.random.default_rng(0).random(data.n_samples // 4)
    clones = clone_slowly(data.Y.toarray().astype(int), numbers, "paper")
    assert_array_equal(sampler.seed_indices_, clones)
