"""A chain does what its steps do by hand, and knows where every row comes from."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.pipeline import Pipeline
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from labelance.exceptions import InputError
from labelance.neighbors import find_neighbors
from labelance.sampling import (
    LPRUS,
    MLROS,
    MLRUS,
    MLSOL,
    MLTL,
    FunctionSampler,
    MLeNN,
    SamplerSequence,
    SamplerTraits,
)
from labelance.testing import sampler_data

STEPS = [
    MLROS(),
    MLSOL(),
    LPRUS(sampling_ratio=0.4),
    MLeNN(),
    MLRUS(variant="bags"),
    SamplerSequence([MLROS(sampling_ratio=0.5), MLRUS(sampling_ratio=0.5)]),
]


def by_hand(steps, X, Y, seed):
    """Each step on what the one before returned, with its own spawned stream."""
    for step, stream in zip(steps, np.random.default_rng(seed).spawn(len(steps))):
        if "random_state" in step.get_params():
            step = clone(step).set_params(random_state=stream)
        X, Y = step.fit_resample(X, Y)
    return X, Y


# Steps that delete may leave a label in no row.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::labelance.exceptions.ConstantLabelWarning")
@settings(max_examples=25)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), st.integers(0, 99))
def test_equals_its_steps_by_hand(steps, seed):
    X, Y = sampler_data(n=80)
    X[:, 0] = np.arange(80)  # no two rows are equal
    sampler = SamplerSequence(steps, random_state=seed)
    X_new, Y_new = sampler.fit_resample(X, Y)
    X_hand, Y_hand = by_hand(steps, X, Y, seed)
    assert_array_equal(X_new, X_hand)
    assert_array_equal(Y_new, Y_hand)
    origin = sampler.origin_indices_
    old = origin >= 0
    assert_array_equal(X_new[old], X[origin[old]])
    assert_array_equal(Y_new[old], Y[origin[old]])
    kept = sampler.sample_indices_
    assert (np.diff(kept) > 0).all()
    assert_array_equal(X_new[: len(kept)], X[kept])


def test_new_rows_have_no_origin_and_clones_have_that_of_their_row():
    X, Y = sampler_data(n=100)
    sampler = SamplerSequence([MLROS(sampling_ratio=0.05), MLSOL(n_synthetic=7)], random_state=0)
    X_new, _ = sampler.fit_resample(X, Y)
    origin = sampler.origin_indices_
    assert_array_equal(origin[:100], np.arange(100))
    assert (origin[100:-7] >= 0).all()
    assert_array_equal(origin[-7:], -1)
    assert_array_equal(sampler.sample_indices_, np.arange(100))
    assert_array_equal(X_new[100:-7], X[origin[100:-7]])


def test_a_clone_is_not_the_row_it_copies():
    # Many rows are cloned and most are deleted: some clones outlive their row.
    X, Y = sampler_data(n=300)
    keep = FunctionSampler(lambda X, Y: (X, Y))
    sampler = SamplerSequence([MLROS(sampling_ratio=2), LPRUS(sampling_ratio=0.7)], random_state=0)
    sampler.fit_resample(X, Y)
    orphans = np.setdiff1d(sampler.origin_indices_, sampler.sample_indices_)
    assert len(orphans) > 0
    nested = SamplerSequence([("inner", sampler)], random_state=0)
    nested.fit_resample(X, Y)
    assert (np.diff(nested.sample_indices_) > 0).all()
    blind = SamplerSequence([MLROS(), keep], random_state=0)
    blind.fit_resample(X, Y)
    assert (blind.origin_indices_ == -1).all()
    assert len(blind.sample_indices_) == 0


class Counting(MLeNN):
    """MLeNN that counts how often it plans; nothing is random."""

    planned = 0

    def _plan(self, data, neighborhood):
        type(self).planned += 1
        return super()._plan(data, neighborhood)


def plans_for(steps, n_draws):
    Counting.planned = 0
    plan = SamplerSequence(steps).plan(*sampler_data())
    for seed in range(n_draws):
        plan.draw(seed)
    return Counting.planned


def test_what_chance_does_not_change_is_planned_once():
    assert plans_for([Counting(), MLROS()], 5) == 1
    assert plans_for([Counting(), Counting(), Counting()], 5) == 3
    assert plans_for([MLTL(), Counting(), MLROS()], 5) == 1
    assert plans_for([MLROS(), Counting()], 5) == 5


def test_steps_get_streams_of_their_own():
    X, Y = sampler_data()
    twice = SamplerSequence([MLROS(sampling_ratio=0.05)] * 2)
    same = 0
    for seed in range(10):
        twice.set_params(random_state=seed).fit_resample(X, Y)
        first, second = np.split(twice.origin_indices_[60:], 2)
        same += first.tolist() == second.tolist()
    assert same < 3
    assert "mlros-1__sampling_ratio" in twice.get_params()


def test_steps_are_not_touched():
    X, Y = sampler_data()
    step = MLROS(random_state=1)
    SamplerSequence([step], random_state=0).fit_resample(X, Y)
    assert not hasattr(step, "seed_indices_")
    assert step.random_state == 1


def test_traits_come_from_the_steps():
    assert SamplerSequence([MLROS(), MLRUS()]).traits == SamplerTraits(
        adds=True,
        deletes=True,
        clones=True,
        label_order_free=False,
        in_blocks=True,
        needs_all=None,
    )
    assert SamplerSequence([MLeNN(), MLTL()]).traits == SamplerTraits(
        deletes=True, random=False, finds_neighbors=True, in_blocks=True, needs_all=None
    )
    assert not SamplerSequence([MLSOL(), MLROS()]).traits.clones
    assert SamplerSequence([("one", SamplerSequence([MLSOL()]))]).traits.finds_neighbors


def test_parameters_are_nested():
    sampler = SamplerSequence([("more", MLROS()), MLRUS()])
    assert sampler.get_params()["more__sampling_ratio"] == 0.25
    sampler.set_params(more__sampling_ratio=0.5, mlrus=MLSOL(), mlrus__k_neighbors=3)
    assert sampler.steps[0][1].sampling_ratio == 0.5
    assert isinstance(sampler.get_params()["mlrus"], MLSOL)
    assert sampler.get_params()["mlrus__k_neighbors"] == 3
    sampler.set_params(steps=[MLROS()], mlros__variant="mulan")
    assert sampler.get_params()["mlros__variant"] == "mulan"
    copy = clone(sampler)
    assert copy.steps[0] is not sampler.steps[0]
    assert copy.get_params()["mlros__variant"] == "mulan"
    with pytest.raises(ValueError, match="wrong"):
        sampler.set_params(mlros__wrong=1)


@pytest.mark.slow
def test_a_search_goes_over_the_parameters_of_steps():
    X, Y = sampler_data()
    chain = SamplerSequence([MLROS(), MLRUS()], random_state=0)
    model = Pipeline([("chain", chain), ("learner", KNeighborsClassifier(3))])
    grid = {"chain__mlros__sampling_ratio": [0.1, 0.5], "chain__mlrus__variant": ["bags"]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 2


def test_a_neighborhood_goes_to_the_first_step():
    X, Y = sampler_data()
    sampler = SamplerSequence([MLSOL(), MLROS()], random_state=0)
    expected = sampler.fit_resample(X, Y)[0]
    around = find_neighbors(X, 5)
    assert_array_equal(sampler.fit_resample(X, Y, neighborhood=around)[0], expected)
    with pytest.raises(InputError, match="neighborhood"):
        sampler.fit_resample(X, Y, neighborhood=find_neighbors(X[::-1], 5))
    with pytest.raises(InputError, match="SamplerSequence does not accept neighborhood"):
        SamplerSequence([MLROS(), MLSOL()]).fit_resample(X, Y, neighborhood=around)


def test_steps_refuse_what_they_refuse():
    X, Y = sampler_data()
    X[0, 0] = np.nan
    assert len(SamplerSequence([MLROS()]).fit_resample(X, Y)[0]) >= len(X)
    with pytest.raises(InputError, match="MLSOL does not accept missing values"):
        SamplerSequence([MLROS(), MLSOL()]).fit_resample(X, Y)
    with pytest.raises(ValueError, match="sampling_ratio"):
        SamplerSequence([MLROS(), MLRUS(sampling_ratio=3)]).fit(X, Y)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "steps is empty"),
        ([MLROS(), KNeighborsClassifier()], "KNeighborsClassifier"),
        ([MLROS], "MLROS"),
        ([("a", MLROS()), ("a", MLROS())], "same name"),
        ([("a__b", MLROS())], "two underscores"),
        ([("steps", MLROS())], "reserved"),
    ],
)
def test_wrong_steps_are_refused(steps, message):
    with pytest.raises(InputError, match=message):
        SamplerSequence(steps).fit_resample(*sampler_data())


def test_steps_are_a_list():
    assert SamplerSequence(None).get_params()["steps"] is None
    with pytest.raises(ValueError, match="steps"):
        SamplerSequence(MLROS()).fit_resample(*sampler_data())


def test_explains_itself():
    X, Y = sampler_data(n=100)
    sampler = SamplerSequence([MLRUS(), MLSOL(n_synthetic=9), MLROS()], random_state=0)
    told = sampler.explain(X, Y)
    Y_new = sampler.fit_resample(X, Y)[1]
    assert_array_equal(Y.sum(axis=0) + told.gained - told.lost, Y_new.sum(axis=0))
    assert (told.lost > 0).any()


def test_tags_ask_all_steps():
    assert SamplerSequence([MLROS()]).__sklearn_tags__().input_tags.allow_nan
    tags = SamplerSequence([MLROS(), MLSOL()]).__sklearn_tags__()
    assert not tags.input_tags.allow_nan
    assert tags.input_tags.categorical


def test_sparse_data_stay_sparse():
    X, Y = map(sp.csr_array, sampler_data())
    X_new, Y_new = SamplerSequence([MLRUS(), MLROS()]).fit_resample(X, Y)
    assert sp.issparse(X_new)
    assert sp.issparse(Y_new)
