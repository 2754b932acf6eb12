"""Which labels are balanced, and up to where."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from labelance._inputs import open_data
from labelance.exceptions import InputError
from labelance.imbalance import imr, irlbl, mean_imr, mean_ir
from labelance.sampling import MLSOL
from labelance.sampling._strategy import every_label, minority_counts, resolve_strategy
from labelance.testing import sampler_data

X, Y = sampler_data(n=100)
NAMES = list("pqrst")


def resolve(strategy, labels=Y):
    return resolve_strategy(strategy, open_data(X, labels, who="the test"), every_label)


def test_words():
    assert resolve("auto").labels.all()
    assert resolve("all").labels.all()
    assert_array_equal(resolve("minority").labels, irlbl(Y) > mean_ir(Y))
    assert_array_equal(resolve("imbalanced").labels, imr(Y) > mean_imr(Y))


@pytest.mark.parametrize(
    "strategy", [[0, 2], [0, -3], np.array([True, False, True, False, False]), lambda Y: [0, 2]]
)
def test_lists_masks_and_functions(strategy):
    assert_array_equal(resolve(strategy).labels, [True, False, True, False, False])


def test_names_of_a_frame():
    frame = pd.DataFrame(Y, columns=NAMES)
    assert_array_equal(resolve(["p", "r"], frame).labels, [True, False, True, False, False])
    assert resolve(lambda Y: [Y.columns[1]], frame).labels[1]


def test_a_ratio_is_minority_over_majority():
    strategy = resolve(0.5)
    fewer = minority_counts(open_data(X, Y, who="x").Y)
    assert_array_equal(strategy.targets, np.maximum(np.floor(0.5 * (100 - fewer)), fewer))


def test_a_mapping_gives_numbers_and_ratios():
    strategy = resolve({0: 40, 1: 0.9})
    assert strategy.targets[0] == 40
    assert strategy.targets[1] == np.floor(0.9 * (100 - Y[:, 1].sum()))
    lacking = strategy.missing(open_data(X, Y, who="x").Y)
    assert lacking[0] == 40 - Y[:, 0].sum()
    assert not lacking[2:].any()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (["zz"], "no label 'zz'"),
        ([9], "no label 9"),
        ([True], "mask"),
        ({0: 1}, "at least as many"),
        (lambda Y: "nonsense", "'nonsense'"),
    ],
)
def test_bad_strategies_are_refused(bad, words):
    with pytest.raises(InputError, match=words):
        resolve(bad)


@pytest.mark.parametrize("weighting", ["paper", "sum"])
def test_mlsol_takes_seeds_of_the_chosen_labels_only(weighting):
    for label in range(Y.shape[1]):
        sampler = MLSOL(sampling_strategy=[label], weighting=weighting, random_state=0)
        sampler.fit_resample(X, Y)
        rare = 1 if Y[:, label].mean() <= 0.5 else 0
        assert (Y[sampler.seed_indices_, label] == rare).all()


def test_mlsol_stresses_what_a_label_lacks():
    plain = MLSOL(random_state=0, n_samples=400)
    stressed = MLSOL(random_state=0, n_samples=400, sampling_strategy={0: 90, 1: 21})
    gained = [sampler.explain(X, Y, k=None).gained[0] for sampler in (plain, stressed)]
    assert gained[1] > gained[0]
