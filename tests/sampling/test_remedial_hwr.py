"""REMEDIAL-HwR is REMEDIAL and then a resampler, done by hand."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from labelance.datasets import load_dataset
from labelance.exceptions import InputError, MissingValuesError
from labelance.neighbors import find_neighbors
from labelance.sampling import (
    MLROS,
    MLSMOTE,
    MLSOL,
    REMEDIAL,
    FunctionSampler,
    MLeNN,
    RemedialHwR,
    RHwHUS,
    RHwROS,
    RHwRSMT,
    SamplerSequence,
    all_samplers,
)
from labelance.testing import sampler_data, yield_sampler_checks
from labelance.testing._data import seeded

PAIRS = [
    (RHwRSMT(), MLSMOTE()),
    (RHwROS(), MLROS()),
    (RHwHUS(), MLeNN()),
    (
        RHwRSMT(resampler=MLSMOTE(variant="mulan", k_neighbors=3)),
        MLSMOTE(variant="mulan", k_neighbors=3),
    ),
    *(
        (RemedialHwR(resampler=kind()), kind())
        for kind in all_samplers().values()
        if not issubclass(kind, (RemedialHwR, REMEDIAL))
    ),
]


@pytest.mark.parametrize(("both", "second"), PAIRS, ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_equals_the_two_steps_by_hand(both, second, kind):
    X, Y = sampler_data(n=150)
    X_new, Y_new = seeded(both, 5).fit_resample(kind(X), kind(Y))
    X_hand, Y_hand = seeded(second, 5).fit_resample(*REMEDIAL().fit_resample(kind(X), kind(Y)))
    assert X_new.shape[0] != 150 + len(both.decoupled_indices_)
    for one, two in ((X_new, X_hand), (Y_new, Y_hand)):
        assert type(one) is type(two)
        assert_array_equal(to_array(one), to_array(two))


def to_array(table):
    return table.toarray() if sp.issparse(table) else table


def test_every_added_row_has_a_seed_in_x():
    X, Y = sampler_data(n=150)
    sampler = RHwRSMT(random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    n_copies = len(sampler.decoupled_indices_)
    seeds, references = X[sampler.seed_indices_], X[sampler.reference_indices_]
    made = X_new[150:]
    assert 0 < n_copies < len(made) == len(seeds) == len(references) == len(sampler.label_indices_)
    assert_array_equal(made[:n_copies], X[sampler.decoupled_indices_])
    assert (np.minimum(seeds, references) <= made).all()
    assert (made <= np.maximum(seeds, references)).all()
    assert (sampler.label_indices_[:n_copies] == -1).all()
    assert (sampler.label_indices_[n_copies:] >= 0).all()


def test_clones_of_copies_are_traced_to_x():
    X, Y = sampler_data(n=150)
    sampler = RHwROS(random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    assert_array_equal(X_new[150:], X[sampler.seed_indices_])


def test_kept_rows_and_kept_copies_are_told_apart():
    X, Y = sampler_data(n=150)
    sampler = RHwHUS()
    X_new, Y_new = sampler.fit_resample(X, Y)
    kept = sampler.sample_indices_
    assert len(kept) < 150
    assert_array_equal(X_new[: len(kept)], X[kept])
    assert_array_equal(X_new[len(kept) :], X[sampler.seed_indices_])
    assert set(sampler.seed_indices_) <= set(sampler.decoupled_indices_)
    rare = Y.sum(axis=0).argmin()
    assert Y_new[:, rare].sum() == Y[:, rare].sum()


def test_positions_of_copies_are_at_their_seed():
    X, Y = sampler_data(n=150)
    sampler = RemedialHwR(resampler=MLSOL(), random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    n_copies = len(sampler.decoupled_indices_)
    assert len(sampler.positions_) == len(X_new) - 150
    assert (sampler.positions_[:n_copies] == 0).all()


def test_parents_that_are_synthetic_are_rows_of_the_result():
    X, Y = sampler_data(n=150)
    Y = np.column_stack([Y, Y[:, 0]])  # two rare labels of the same rows
    resampler = MLSMOTE(variant="mulan", k_neighbors=3)
    sampler = RHwRSMT(resampler=resampler, random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    seeds, references = X_new[sampler.seed_indices_], X_new[sampler.reference_indices_]
    assert sampler.seed_indices_.max() >= 150
    made = X_new[150:]
    assert (np.minimum(seeds, references) <= made).all()
    assert (made <= np.maximum(seeds, references)).all()


def test_the_options_of_both_steps_count():
    X, Y = sampler_data(n=150)
    sampler = RHwRSMT(resampler=MLSMOTE(), random_state=0)
    sampler.set_params(resampler__n_synthetic=11)
    X_new, _ = sampler.fit_resample(X, Y)
    assert len(X_new) == 150 + len(sampler.decoupled_indices_) + 11
    with pytest.raises(ValueError, match="k_neighbors"):
        RHwRSMT(resampler=MLSMOTE(k_neighbors=0)).fit_resample(X, Y)
    with pytest.raises(ValueError, match="resampler"):
        RHwRSMT(resampler="MLSMOTE").fit_resample(X, Y)


def test_the_resampler_that_was_given_stays_as_it_was():
    X, Y = sampler_data()
    resampler = MLSMOTE()
    RHwRSMT(resampler=resampler).fit_resample(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(resampler)


def test_validation_is_as_the_resampler_asks():
    X, Y = sampler_data()
    X[3, 2] = np.nan
    with pytest.raises(MissingValuesError, match="RHwRSMT"):
        RHwRSMT().fit_resample(X, Y)
    X_new, _ = RHwRSMT(resampler=MLSMOTE(missing="distance")).fit_resample(X, Y)
    assert np.isnan(X_new[3, 2])
    assert np.isnan(RHwROS().fit_resample(X, Y)[0][3, 2])
    X[:, 1] = np.arange(60) % 3
    X_new, _ = RHwRSMT(
        resampler=MLSMOTE(missing="distance", categorical_features=[1])
    ).fit_resample(X, Y)
    assert set(X_new[:, 1]) == {0, 1, 2}


@pytest.mark.parametrize(
    "chain", [SamplerSequence([MLROS()]), FunctionSampler(lambda X, Y: (X, Y))]
)
def test_chains_and_functions_are_refused(chain):
    with pytest.raises(InputError, match="SamplerSequence"):
        RemedialHwR(resampler=chain).fit_resample(*sampler_data())


def test_a_neighborhood_is_refused():
    X, Y = sampler_data()
    with pytest.raises(InputError, match="does not search neighbors among all rows"):
        RHwHUS().fit_resample(X, Y, neighborhood=find_neighbors(X, 3))


def test_any_resampler_obeys_the_laws_of_its_traits():
    sampler = RemedialHwR(resampler=MLROS(sampling_ratio=0.1))
    for name, check in yield_sampler_checks(sampler):
        if name in ("originals_come_first", "new_rows_are_clones", "sparse_equals_dense"):
            check()


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        "flags",
        "emotions",
        "yeast",
        "medical",
        "enron-exp",
        pytest.param("cal500", marks=pytest.mark.slow),
    ],
)
def test_the_figures_of_the_authors_program(name, reference):
    told = json.loads(reference(f"dumps/stats_{name}.json").read_text())
    exp = name.endswith("-exp")
    data = load_dataset(name.removesuffix("-exp"), **({"protocol": "paper"} if exp else {}))
    second = MLSMOTE(
        variant="mulan",
        scale="range",
        categorical_features=data.categorical_features,
    )
    plan = RHwRSMT(resampler=second).plan(data.X, data.Y)
    draws = [plan.draw(seed).y for seed in range(30)]
    ours = np.array([[Y.shape[0], *Y.sum(axis=0)] for Y in draws])
    for run in told["remedial_then_mlsmote"]:
        theirs = np.array([run["n_after"], *run["positives_after"]])
        apart = np.abs(theirs - ours.mean(axis=0))
        assert (apart <= 4.5 * ours.std(axis=0, ddof=1) + 1).all()
        assert name == "cal500" or (ours[:, 0] == theirs[0]).all()


def test_traits_are_those_of_the_resampler():
    deleting = RemedialHwR(resampler=MLeNN()).traits
    assert deleting.deletes
    assert not deleting.random
    adding = RHwHUS(resampler=MLSOL()).traits
    assert adding.random
    assert not adding.deletes
