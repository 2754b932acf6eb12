"""Which laws apply to a sampler, and running them with or without pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from sklearn.base import clone

from labelance._utils import optional_import
from labelance.sampling import SamplerTraits
from labelance.testing import (
    _containers_laws,
    _hostile_laws,
    _input_laws,
    _random_laws,
    _row_laws,
    _sklearn_laws,
)
from labelance.testing._law import Law

LAWS: tuple[Law, ...] = (
    *_row_laws.LAWS,
    *_random_laws.LAWS,
    *_containers_laws.LAWS,
    *_input_laws.LAWS,
    *_hostile_laws.LAWS,
    *_sklearn_laws.LAWS,
)


def yield_sampler_checks(
    sampler: Any, *, traits: SamplerTraits | None = None
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of every law that applies to ``sampler`` and a call that checks it.

    Parameters
    ----------
    sampler : object
        A sampler with ``fit_resample``; each check works on a clone.
    traits : SamplerTraits, optional
        What the sampler does; taken from its attribute ``traits`` if not given.

    Examples
    --------
    >>> from labelance import MLSOL
    >>> from labelance.testing import yield_sampler_checks
    >>> for name, check in yield_sampler_checks(MLSOL()):
    ...     if name == "originals_come_first":
    ...         check()
    """
    traits = traits or getattr(sampler, "traits", None) or SamplerTraits()
    for law in LAWS:
        if law.applies(traits):
            yield law.name, partial(law.check, clone(sampler), traits)


def parametrize_with_sampler_checks(
    samplers: Iterable[Any],
    *,
    expected_failures: Callable[[Any], Mapping[str, str]] | None = None,
) -> Any:
    """Return a pytest decorator that runs a test once for every sampler and law.

    Parameters
    ----------
    samplers : iterable of samplers
        Instances; their attribute ``traits`` chooses the laws.
    expected_failures : callable, optional
        Given a sampler, returns a mapping from law names to the reason why it is exempt.
        An exempt law that passes is reported as a failure.

    Examples
    --------
    >>> from labelance import MLSOL
    >>> from labelance.testing import parametrize_with_sampler_checks
    >>> @parametrize_with_sampler_checks([MLSOL()])
    ... def test_laws(check):
    ...     check()
    """
    pytest = optional_import("pytest", extra="test", purpose="Running the sampler checks")
    cases = []
    for sampler in samplers:
        exempt = expected_failures(sampler) if expected_failures else {}
        for name, check in yield_sampler_checks(sampler):
            marks = [pytest.mark.xfail(reason=exempt[name], strict=True)] if name in exempt else []
            cases.append(pytest.param(check, id=f"{sampler}-{name}", marks=marks))
    return pytest.mark.parametrize("check", cases)
