"""Public checks: the laws that every sampler must satisfy, ours and third parties'."""

from labelance.testing._data import sampler_data
from labelance.testing._sampler_checks import (
    parametrize_with_sampler_checks,
    yield_sampler_checks,
)

__all__ = ["parametrize_with_sampler_checks", "sampler_data", "yield_sampler_checks"]
