"""Any function is a sampler, and obeys the laws that the function obeys."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from imblearn.over_sampling import RandomOverSampler
from numpy.testing import assert_array_equal

from labelance._arrays._open import take_rows
from labelance.exceptions import InputError, LabelFormatError
from labelance.sampling import MLROS, FunctionSampler, SamplerSequence, SamplerTraits
from labelance.testing import sampler_data, yield_sampler_checks


def repeat_first(X, Y, times=3):
    """Clone the first row; works on every container."""
    rows = np.r_[0 : np.shape(X)[0], np.zeros(times, dtype=int)]
    taken = [take_rows(X, rows), take_rows(Y, rows)]
    return tuple(t.reset_index(drop=True) if hasattr(t, "iloc") else t for t in taken)


def same(X, Y):
    return X, Y


TRAITS = {
    repeat_first: SamplerTraits(adds=True, clones=True, random=False, needs_all=None),
    same: SamplerTraits(random=False, needs_all=None),
}


@pytest.mark.slow
@pytest.mark.parametrize("func", TRAITS)
def test_obeys_the_laws_of_its_function(func):
    checks = dict(yield_sampler_checks(FunctionSampler(func), traits=TRAITS[func]))
    del checks["clones_and_set_params"]  # none can be made without a function
    for check in checks.values():
        check()


def test_keyword_arguments_arrive():
    X, Y = sampler_data()
    sampler = FunctionSampler(repeat_first, kw_args={"times": 5})
    assert len(sampler.fit_resample(X, Y)[0]) == len(X) + 5


def test_the_function_sees_the_containers_that_came():
    seen = []

    def look(X, Y):
        seen.append((type(X), type(Y)))
        return X, Y

    X, Y = sampler_data()
    FunctionSampler(look).fit_resample(sp.csc_matrix(X), Y.tolist())
    assert seen == [(sp.csc_matrix, list)]


def test_the_function_may_write_into_what_it_gets():
    def spoil(X, Y):
        X[:], Y[:] = 0, 1
        return X, Y

    X, Y = sampler_data()
    X_before, Y_before = X.copy(), Y.copy()
    FunctionSampler(spoil).fit_resample(X, Y)
    assert_array_equal(X, X_before)
    assert_array_equal(Y, Y_before)


def test_another_librarys_sampler():
    def by_labelset(X, Y):
        names, code = np.unique(Y, axis=0, return_inverse=True)
        X_new, code = RandomOverSampler(random_state=0).fit_resample(X, code.ravel())
        return X_new, names[code]

    X, Y = sampler_data()
    _, Y_new = FunctionSampler(by_labelset).fit_resample(X, Y)
    _, counts = np.unique(Y_new, axis=0, return_counts=True)
    assert len(set(counts)) == 1


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (lambda X, Y: X, "returned ndarray"),
        (lambda X, Y: (X, Y, None), "returned tuple"),
        (lambda X, Y: (X[:-1], Y), "59 rows and y has 60"),
        (lambda X, Y: (X, Y * 2), "y also holds 2"),
        (lambda X, Y: (X[:, :2], Y), "X has 2 columns instead of 4"),
        (lambda X, Y: (X, Y[:, :2]), "y has 2 columns instead of 5"),
        (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
    ],
)
def test_strange_results_are_refused(func, message):
    with pytest.raises(InputError, match=message):
        FunctionSampler(func).fit_resample(*sampler_data())


def test_without_validation_anything_goes():
    X, Y = [["words"], ["and"], ["sets"]], [{"a"}, set(), {"b"}]
    sampler = FunctionSampler(lambda X, Y: (X[1:], Y[1:]), validate=False)
    assert sampler.fit(X, Y) is sampler
    assert sampler.fit_resample(X, Y) == (X[1:], Y[1:])
    assert not hasattr(sampler, "n_features_in_")
    with pytest.raises(LabelFormatError):
        FunctionSampler(same).fit_resample([[1], [2], [3]], ["words", "and", "sets"])


def test_plans_can_be_pickled():
    X, Y = sampler_data()
    for validate in (True, False):
        plan = FunctionSampler(same, validate=validate).plan(X, Y)
        assert_array_equal(pickle.loads(pickle.dumps(plan)).draw(0).X, X)


def test_in_a_chain_and_explained():
    X, Y = sampler_data()
    for validate in (True, False):
        step = FunctionSampler(repeat_first, validate=validate)
        for steps in ([step, MLROS()], [MLROS(), step]):
            chain = SamplerSequence(steps, random_state=0)
            assert len(chain.fit_resample(X, Y)[0]) > len(X) + 3
            told = chain.explain(X, Y, n_neighbors=None)
            assert (told.gained - told.lost >= 3 * Y[0]).all()
    told = FunctionSampler(repeat_first).explain(X, Y, n_neighbors=None)
    assert_array_equal(told.gained - told.lost, 3 * Y[0])


@pytest.mark.parametrize("wrong", [{"func": 3}, {"kw_args": [1]}, {"validate": "yes"}])
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        FunctionSampler(**{"func": same, **wrong}).fit_resample(*sampler_data())
