"""Laws about chance: the same seed gives the same rows, whatever the threads and blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone

from labelance.sampling import SamplerTraits
from labelance.testing._data import sampler_data, seeded
from labelance.testing._law import Law


def check_same_seed_same_rows(sampler: Any, traits: SamplerTraits) -> None:
    """An int seed gives the same rows every time, also from another instance."""
    X, Y = sampler_data()
    seeded(sampler, 3)
    first, again = sampler.fit_resample(X, Y), sampler.fit_resample(X, Y)
    other = clone(sampler).fit_resample(X, Y)
    for result in (again, other):
        assert_array_equal(first[0], result[0], "the same seed gave other rows")
        assert_array_equal(first[1], result[1], "the same seed gave other labels")


def check_other_seeds_other_rows(sampler: Any, traits: SamplerTraits) -> None:
    """Some of ten seeds differ from the first."""
    X, Y = sampler_data(n=120)
    results = [seeded(sampler, seed).fit_resample(X, Y) for seed in range(10)]
    same = [_same(results[0], result) for result in results[1:]]
    assert not all(same), "ten seeds gave the same rows"


def check_every_kind_of_random_state(sampler: Any, traits: SamplerTraits) -> None:
    """RandomState and Generator are taken, reproducible from their state, and move on."""
    X, Y = sampler_data(n=120)
    for make in (np.random.RandomState, np.random.default_rng):
        first = seeded(sampler, make(5)).fit_resample(X, Y)
        again = seeded(sampler, make(5)).fit_resample(X, Y)
        assert _same(first, again), f"two {make.__name__}(5) gave different rows"
        source = make(5)
        draws = [seeded(sampler, source).fit_resample(X, Y) for _ in range(10)]
        assert not all(_same(draws[0], draw) for draw in draws), "the generator did not move on"


def check_jobs_and_blocks_do_not_matter(sampler: Any, traits: SamplerTraits) -> None:
    """Any n_jobs and any working memory give the same rows."""
    X, Y = sampler_data(n=150)
    seeded(sampler, 0)
    expected = sampler.fit_resample(X, Y)
    if "n_jobs" in sampler.get_params():
        for n_jobs in (1, 2):
            result = clone(sampler).set_params(n_jobs=n_jobs).fit_resample(X, Y)
            assert _same(expected, result), f"n_jobs={n_jobs} changed the result"
    with sklearn.config_context(working_memory=1 / 128):
        assert _same(expected, sampler.fit_resample(X, Y)), "the block size changed the result"


def check_one_plan_many_draws(sampler: Any, traits: SamplerTraits) -> None:
    """A draw from a plan equals ``fit_resample`` with the same seed."""
    X, Y = sampler_data()
    plan = sampler.plan(X, Y)
    for seed in (0, 1):
        draw = plan.draw(seed)
        result = seeded(sampler, seed).fit_resample(X, Y)
        assert _same((draw.X, draw.Y), result), "a draw differs from fit_resample"


def _same(one: tuple[Any, Any], two: tuple[Any, Any]) -> bool:
    return np.array_equal(one[0], two[0], equal_nan=True) and np.array_equal(one[1], two[1])


LAWS = (
    Law(check_same_seed_same_rows),
    Law(check_other_seeds_other_rows, lambda traits: traits.random),
    Law(check_every_kind_of_random_state, lambda traits: traits.random),
    Law(check_jobs_and_blocks_do_not_matter),
    Law(check_one_plan_many_draws),
)
