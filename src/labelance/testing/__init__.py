"""Public checks: the laws that every sampler and learner must satisfy, ours and others'."""

from labelance.testing._checks import (
    parametrize_with_learner_checks,
    parametrize_with_sampler_checks,
    yield_learner_checks,
    yield_sampler_checks,
)
from labelance.testing._data import sampler_data

__all__ = [
    "parametrize_with_learner_checks",
    "parametrize_with_sampler_checks",
    "sampler_data",
    "yield_learner_checks",
    "yield_sampler_checks",
]
