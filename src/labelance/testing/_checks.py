"""Run the laws of samplers and learners, with or without pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from sklearn.base import clone

from labelance._utils._messages import optional_import
from labelance._utils._random import set_random_states
from labelance.sampling import SamplerTraits
from labelance.testing._compatibility_laws import CONTAINER_LAWS, HOSTILE_LAWS, SKLEARN_LAWS
from labelance.testing._learner_laws import LEARNER_LAWS
from labelance.testing._sampler_laws import INPUT_LAWS, RANDOM_LAWS, ROW_LAWS, Law

SAMPLER_LAWS: tuple[Law, ...] = (
    *ROW_LAWS,
    *RANDOM_LAWS,
    *CONTAINER_LAWS,
    *INPUT_LAWS,
    *HOSTILE_LAWS,
    *SKLEARN_LAWS,
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
    for law in SAMPLER_LAWS:
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
    return _parametrize(samplers, yield_sampler_checks, expected_failures)


def yield_learner_checks(learner: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of every law of learners and a call that checks it.

    Parameters
    ----------
    learner : classifier
        A multi-label classifier whose ``predict_proba`` is an (n, q) array. Each check works
        on a clone in which every ``random_state``, also of learners inside, is 0.

    Examples
    --------
    >>> from labelance.learners import MLkNN
    >>> from labelance.testing import yield_learner_checks
    >>> for name, check in yield_learner_checks(MLkNN()):
    ...     if name == "scores_are_shares":
    ...         check()
    """
    for law in LEARNER_LAWS:
        yield (
            law.__name__.removeprefix("check_"),
            partial(law, set_random_states(clone(learner), 0)),
        )


def parametrize_with_learner_checks(
    learners: Iterable[Any],
    *,
    expected_failures: Callable[[Any], Mapping[str, str]] | None = None,
) -> Any:
    """Return a pytest decorator that runs a test once for every learner and law.

    Parameters
    ----------
    learners : iterable of classifiers
        Instances.
    expected_failures : callable, optional
        Given a learner, returns a mapping from law names to the reason why it is exempt.
        An exempt law that passes is reported as a failure.

    Examples
    --------
    >>> from labelance.learners import MLkNN
    >>> from labelance.testing import parametrize_with_learner_checks
    >>> @parametrize_with_learner_checks([MLkNN()])
    ... def test_laws(check):
    ...     check()
    """
    return _parametrize(learners, yield_learner_checks, expected_failures)


def _parametrize(
    estimators: Iterable[Any],
    yield_checks: Callable[[Any], Iterator[tuple[str, Callable[[], None]]]],
    expected_failures: Callable[[Any], Mapping[str, str]] | None,
) -> Any:
    pytest = optional_import("pytest", extra="test", purpose="Running the checks")
    cases = []
    for estimator in estimators:
        written = str(estimator)  # once, and not for every law
        exempt = expected_failures(estimator) if expected_failures else {}
        for name, check in yield_checks(estimator):
            marks = [pytest.mark.xfail(reason=exempt[name], strict=True)] if name in exempt else []
            cases.append(pytest.param(check, id=f"{written}-{name}", marks=marks))
    return pytest.mark.parametrize("check", cases)
