"""Random numbers: generators, seeds, and the seeds of estimators inside others."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

RandomStateLike = None | int | np.random.RandomState | np.random.Generator
Estimator = TypeVar("Estimator")

_SEEDS = ("random_state", "random_seed", "seed")
_WITHOUT_HIDDEN_DRAWS = ("labelance", "sklearn", "imblearn")


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


def is_repeatable(estimator: Any) -> bool:
    """Tell whether clones of an estimator learn the same from the same rows.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from labelance._utils._random import is_repeatable
    >>> is_repeatable(RandomForestClassifier(random_state=0))
    True
    >>> is_repeatable(RandomForestClassifier())
    False
    """
    inside = list(_estimators_in(estimator))
    return bool(inside) and all(map(_is_repeatable_itself, inside))


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield an estimator and those in its parameters, also in lists and dicts of them."""
    if isinstance(value, list | tuple | set | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _estimators_in(item)
    elif hasattr(value, "get_params") and not isinstance(value, type):
        yield value
        yield from _estimators_in(value.get_params(deep=False))


def _is_repeatable_itself(estimator: Any) -> bool:
    """Tell whether nothing but the estimators inside it can make an estimator differ.

    One without a seed may draw from a generator of the whole process, unless it is of a library
    whose estimators that draw all have a ``random_state``.
    """
    params = estimator.get_params(deep=False)
    seeds = [value for name, value in params.items() if name in _SEEDS]
    if seeds:
        return all(isinstance(seed, Integral) for seed in seeds)
    return type(estimator).__module__.partition(".")[0] in _WITHOUT_HIDDEN_DRAWS


def _random_states(estimator: Any) -> dict[str, Any]:
    """Return every ``random_state`` of an estimator and of those inside it."""
    params = estimator.get_params() if hasattr(estimator, "get_params") else {}
    return {name: value for name, value in params.items() if name.split("__")[-1] == "random_state"}
