"""Random numbers: generators, seeds, and the seeds of estimators inside others."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

RandomStateLike = None | int | np.random.RandomState | np.random.Generator
Estimator = TypeVar("Estimator")


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Turn ``random_state`` into a :class:`numpy.random.Generator`.

    An int always gives the same stream. A Generator is used as it is. A legacy RandomState
    (and None, which means numpy's global one, as in scikit-learn) moves on with every call,
    so that two calls differ.

    Examples
    --------
    >>> from labelance._utils._random import as_generator
    >>> as_generator(0).integers(100) == as_generator(0).integers(100)
    np.True_
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)):
        return np.random.default_rng(int(random_state))
    from sklearn.utils import check_random_state

    legacy = check_random_state(random_state)
    return np.random.default_rng(legacy.randint(0, 2**32, size=4, dtype=np.uint32))


def draw_seeds(rng: np.random.Generator, n: int) -> list[int]:
    """Draw n seeds that every library takes as ``random_state``."""
    return rng.integers(2**31 - 1, size=n).tolist()


def set_random_states(
    estimator: Estimator, seed: int | np.random.Generator, *, only_unset: bool = False
) -> Estimator:
    """Seed an inner estimator: set its ``random_state`` and those of the estimators inside it.

    This is the one rule by which ensembles, learners and studies seed the estimators that they
    were given. All of them get the same int, since not every library takes a Generator.

    Parameters
    ----------
    estimator : object
        What is seeded; one without ``get_params``, or without any ``random_state``, stays as
        it is.
    seed : int or Generator
        The seed, or where to draw it from; nothing is drawn if nothing is to be set.
    only_unset : bool, default=False
        Leave those alone that are not None, because a user has set them.

    Returns
    -------
    estimator : object
        The same object.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from labelance._utils._random import set_random_states
    >>> bagging = BaggingClassifier(DecisionTreeClassifier(random_state=1))
    >>> set_random_states(bagging, 7, only_unset=True)
    BaggingClassifier(estimator=DecisionTreeClassifier(random_state=1),
                      random_state=7)
    >>> set_random_states(bagging, 7).estimator
    DecisionTreeClassifier(random_state=7)
    """
    names = [
        name
        for name, value in _random_states(estimator).items()
        if not (only_unset and value is not None)
    ]
    if names:
        value = draw_seeds(seed, 1)[0] if isinstance(seed, np.random.Generator) else int(seed)
        estimator.set_params(**dict.fromkeys(names, value))  # type: ignore[attr-defined]
    return estimator


def _random_states(estimator: Any) -> dict[str, Any]:
    """Return every ``random_state`` of an estimator and of those inside it."""
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return {name: value for name, value in params.items() if name.split("__")[-1] == "random_state"}
