"""Which labels are balanced, and up to where."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import chisquare
from sklearn.base import clone

from labelance._validation._data import validate_data
from labelance.exceptions import InputError, NothingToSampleError
from labelance.imbalance import imr, irlbl, mean_imr, mean_ir
from labelance.sampling import (
    MLROS,
    MLRUS,
    MLSMOTE,
    MLSOL,
    MLTL,
    MLUL,
    REMEDIAL,
    MLeNN,
    MLRkNNOS,
    RHwRSMT,
)
from labelance.sampling._strategy import every_label, minority_counts, resolve_strategy
from labelance.testing import sampler_data

X, Y = sampler_data(n=100)
NAMES = list("pqrst")


def resolve(strategy, labels=Y):
    return resolve_strategy(strategy, validate_data(X, labels, caller="the test"), every_label)


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
    fewer = minority_counts(validate_data(X, Y, caller="x").Y)
    assert_array_equal(strategy.targets, np.maximum(np.floor(0.5 * (100 - fewer)), fewer))


def test_a_mapping_gives_numbers_and_ratios():
    strategy = resolve({0: 40, 1: 0.9})
    assert strategy.targets[0] == 40
    assert strategy.targets[1] == np.floor(0.9 * (100 - Y[:, 1].sum()))
    assert strategy.lacking[0] == 40 - Y[:, 0].sum()
    assert not strategy.lacking[2:].any()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (["zz"], "no label 'zz'"),
        ([9], "no label 9"),
        ([True], "mask"),
        ({0: 1}, "must not be below"),
        ({0: 1.5}, "Got 1.5"),
        (lambda Y: -0.5, "Got -0.5"),
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
    plain = MLSOL(random_state=0, n_synthetic=400)
    stressed = MLSOL(random_state=0, n_synthetic=400, sampling_strategy={0: 90, 1: 21})
    gained = [sampler.explain(X, Y, n_neighbors=None).gained[0] for sampler in (plain, stressed)]
    assert gained[1] > gained[0]


@pytest.mark.parametrize(
    ("sampler", "own_rule"),
    [
        (MLRkNNOS(random_state=0), "all"),
        (MLUL(random_state=0), "all"),
        (MLSMOTE(random_state=0), "minority"),
        (MLSMOTE(variant="mulan", random_state=0), "minority"),
        (REMEDIAL(), "minority"),
        (MLROS(random_state=0), "minority"),
        (MLROS(random_state=0), "all"),  # a label that is not above the mean is done at once
        (MLRUS(random_state=0), "minority"),
        (MLeNN(label_distance_threshold=0.3), "minority"),
        (MLTL(label_distance_threshold=0.3, mode="clean", protect_minority=True), "minority"),
    ],
    ids=str,
)
def test_auto_is_the_samplers_own_rule(sampler, own_rule):
    plain = sampler.fit_resample(X, Y)
    chosen = clone(sampler).set_params(sampling_strategy=own_rule).fit_resample(X, Y)
    assert_array_equal(plain[0], chosen[0])
    assert_array_equal(plain[1], chosen[1])


@pytest.mark.parametrize("label", range(5))
@pytest.mark.parametrize(
    "sampler",
    [
        MLRUS(sampling_ratio=0.9, random_state=0),
        MLeNN(label_distance_threshold=0.3),
        MLTL(label_distance_threshold=0.3, protect_minority=True),
        MLTL(label_distance_threshold=0.1, mode="clean", protect_minority=True),
    ],
    ids=str,
)
def test_chosen_labels_lose_no_row(sampler, label):
    frame = pd.DataFrame(Y, columns=NAMES)
    sampler = clone(sampler).set_params(sampling_strategy=[NAMES[label]])
    Y_kept = sampler.fit_resample(X, frame)[1]
    assert Y_kept[NAMES[label]].sum() == Y[:, label].sum()
    assert len(Y_kept) < len(Y)


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_mlul_looks_at_the_chosen_labels_only(variant):
    chosen = MLUL(variant=variant, sampling_strategy=[1, 3]).plan(X, Y)
    alone = MLUL(variant=variant).plan(X, Y[:, [1, 3]])
    assert_array_equal(chosen.details, alone.details)


def test_mlrknnos_gives_every_label_what_it_lacks():
    present = minority_counts(validate_data(X, Y, caller="x").Y)
    sampler = MLRkNNOS(sampling_strategy={0: 40, 3: 0.9, 4: 30}, random_state=0)
    Y_new = sampler.fit_resample(X, Y)[1][100:]
    made = np.bincount(sampler.label_indices_, minlength=5)
    assert_array_equal(made, [40 - present[0], 0, 0, np.floor(0.9 * 55) - present[3], 10])
    assert (Y_new[sampler.label_indices_ == 4, 4] == 0).all()  # its minority are the zeros
    sampler.set_params(sampling_strategy=[2]).fit_resample(X, Y)
    assert_array_equal(np.bincount(sampler.label_indices_), [0, 0, 100 - 2 * present[2]])


def test_mlros_clones_rows_of_the_chosen_labels_only():
    sampler = MLROS(sampling_ratio=1, sampling_strategy=[1], random_state=0)
    assert len(sampler.fit_resample(X, Y)[0]) > len(X)
    assert Y[sampler.seed_indices_, 1].all()


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_mlros_fills_a_label_up_to_its_target(variant):
    sampler = MLROS(sampling_ratio=3, variant=variant, random_state=0)
    sampler.set_params(sampling_strategy={1: 57}).fit_resample(X, Y)
    assert len(sampler.seed_indices_) == 57 - Y[:, 1].sum()
    Y_new = sampler.set_params(sampling_strategy={0: 30, 2: 0.9}).fit_resample(X, Y)[1]
    clones, counts = Y[sampler.seed_indices_], Y_new.sum(axis=0)
    assert counts[0] >= 30
    assert counts[2] >= np.floor(0.9 * 70)
    before_last = Y_new[:-1].sum(axis=0)
    assert before_last[0] < 30 or before_last[2] < np.floor(0.9 * 70)
    assert (clones[:, 0] | clones[:, 2]).all()


def test_mlros_reaches_a_target_whatever_its_ratio():
    sampler = MLROS(sampling_ratio=0.1, sampling_strategy={0: 90}, random_state=0)
    assert sampler.fit_resample(X, Y)[1].sum(axis=0)[0] == 90


def test_mlsmote_of_mulan_takes_labels_at_the_mean_in_its_own_rule_only():
    place = np.arange(20)[:, np.newaxis]
    labels = (place < [12, 6, 4]).astype(int)  # IRLbl 1, 2 and 3: the second is the mean
    for strategy, expected in (("auto", {1, 2}), (0.9, {1, 2}), ("minority", {2})):
        sampler = MLSMOTE(variant="mulan", sampling_strategy=strategy)
        sampler.fit_resample(place, labels)
        assert set(sampler.label_indices_) == expected


@pytest.mark.parametrize("variant", ["paper", "mulan"])
@pytest.mark.parametrize("n_synthetic", [None, 30])
def test_mlsmote_takes_seeds_of_the_chosen_labels_only(variant, n_synthetic):
    sampler = MLSMOTE(variant=variant, n_synthetic=n_synthetic, sampling_strategy=[2, 3])
    Y_new = sampler.fit_resample(X, Y)[1]
    assert set(sampler.label_indices_) == {2, 3}
    assert Y_new[sampler.seed_indices_, sampler.label_indices_].all()


@pytest.mark.parametrize("variant", ["paper", "mulan"])
@pytest.mark.parametrize("labelset_strategy", ["ranking", "union", "intersection"])
def test_mlsmote_gives_every_label_what_it_lacks(variant, labelset_strategy):
    sampler = MLSMOTE(variant=variant, labelset_strategy=labelset_strategy, random_state=0)
    sampler.set_params(sampling_strategy={1: 57})
    assert sampler.fit_resample(X, Y)[1].sum(axis=0)[1] == 57
    sampler.set_params(sampling_strategy={0: 33, 2: 0.9, 3: int(Y[:, 3].sum()), 4: 0.5})
    sampler.fit_resample(X, Y)
    lacking = [33 - Y[:, 0].sum(), 0, np.floor(0.9 * 70) - Y[:, 2].sum(), 0, 0]
    assert_array_equal(np.bincount(sampler.label_indices_, minlength=5), lacking)


def test_mlsmote_draws_seeds_evenly_from_the_bag_of_a_target():
    sampler = MLSMOTE(sampling_strategy={0: 2_010}, random_state=0)
    sampler.fit_resample(X, Y)
    bag = np.flatnonzero(Y[:, 0])
    assert len(bag) == 10
    assert chisquare(np.bincount(sampler.seed_indices_, minlength=100)[bag]).pvalue > 0.001


@pytest.mark.parametrize("variant", ["paper", "mulan"])
def test_mlsmote_cannot_fill_up_a_label_of_one_row(variant):
    labels = Y.copy()
    labels[:, 0] = 0
    labels[7, 0] = 1
    sampler = MLSMOTE(variant=variant, sampling_strategy={0: 10, 1: 25}, random_state=0)
    sampler.fit_resample(X, labels)
    assert set(sampler.label_indices_) == {1}


def test_mlsmote_refuses_two_numbers_of_rows():
    with pytest.raises(InputError, match="Got both"):
        MLSMOTE(n_synthetic=10, sampling_strategy={0: 30}).fit_resample(X, Y)


def test_remedial_moves_the_chosen_labels_to_the_copies():
    chosen = np.array([True, False, False, True, False])
    sampler = REMEDIAL(sampling_strategy=chosen)
    Y_new = sampler.fit_resample(X, Y)[1]
    split = sampler.decoupled_indices_
    assert_array_equal(split, REMEDIAL().plan(X, Y).details.provenance["seed_indices_"])
    assert_array_equal(Y_new[split], Y[split] * ~chosen)
    assert_array_equal(Y_new[len(Y) :], Y[split] * chosen)


def test_a_hybrid_knows_the_names_of_labels():
    frame = pd.DataFrame(Y, columns=NAMES)
    sampler = RHwRSMT(resampler=MLSMOTE(sampling_strategy={"q": 50}), random_state=0)
    assert sampler.fit_resample(X, frame)[1]["q"].sum() == 50


SAMPLERS_WITHOUT_TARGETS = [MLeNN(), MLTL(protect_minority=True), MLUL(), MLRUS(), REMEDIAL()]


@pytest.mark.parametrize("sampler", SAMPLERS_WITHOUT_TARGETS, ids=str)
@pytest.mark.parametrize("target", [0.5, {0: 40}])
def test_samplers_that_fill_nothing_up_refuse_targets(sampler, target):
    with pytest.raises(InputError, match="labels without numbers of rows"):
        clone(sampler).set_params(sampling_strategy=target).fit_resample(X, Y)


@pytest.mark.parametrize("sampler", [MLTL(), MLRUS(variant="bags")], ids=str)
def test_a_choice_without_a_use_is_refused(sampler):
    with pytest.raises(InputError, match='leave sampling_strategy at "auto"'):
        clone(sampler).set_params(sampling_strategy=[0]).fit_resample(X, Y)


@pytest.mark.parametrize("sampler", [MLUL(), MLRkNNOS()], ids=str)
def test_no_label_to_balance_is_refused(sampler):
    with pytest.raises(NothingToSampleError):
        clone(sampler).set_params(sampling_strategy=[]).fit_resample(X, Y)
