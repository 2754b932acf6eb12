"""Deprecate a public name or parameter: the only place that says for how long it still works.

A deprecated name works for two minor releases and warns each time with a ``FutureWarning``, as in
scikit-learn. What was deprecated in 0.2 warns in 0.2 and 0.3, and is gone in 0.4. A new major
release removes nothing itself: what is left then goes in its first minor release.
``tests/test_deprecation.py`` fails when a name is due to go.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from labelance._utils._messages import warn_user

Name = TypeVar("Name", bound=Callable[..., Any])


def removal_version(since: str, version: str) -> str:
    """Return the version that removes what is deprecated in a version.

    Parameters
    ----------
    since : str
        First version that warns, such as ``"0.2"``.
    version : str
        The version that runs, such as ``"0.2.1"``.

    Examples
    --------
    >>> from labelance._utils._deprecation import removal_version
    >>> removal_version("0.9", "0.9.1"), removal_version("0.9", "1.0.0")
    ('0.11', '1.1')
    """
    major, minor = map(int, since.split("."))
    if int(version.split(".")[0]) > major:
        return f"{major + 1}.1"
    return f"{major}.{minor + 2}"


def deprecated(*, since: str, instead: str) -> Callable[[Name], Name]:
    """Decorate a function or a class that is deprecated.

    Parameters
    ----------
    since : str
        First version that warns, such as ``"0.2"``.
    instead : str
        What to do instead, as an imperative: ``"Use find_thresholds"``.

    Examples
    --------
    >>> import warnings
    >>> from labelance._utils._deprecation import deprecated
    >>> @deprecated(since="0.2", instead="Use sum")
    ... def total(values):
    ...     return sum(values)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     total([1, 2])
    3
    >>> print(caught[0].message)
    total is deprecated. Since labelance 0.2, removed in 0.4. Use sum.
    """

    def decorate(name: Any) -> Any:
        # scikit-learn's decorator warns at its own line, not at the user's.
        inner = name.__new__ if isinstance(name, type) else name

        @wraps(inner)
        def warn_and_call(*values: Any, **named: Any) -> Any:
            warn_user(f"{name.__name__} is deprecated. {_explain(since, instead)}", FutureWarning)
            return inner(values[0]) if inner is object.__new__ else inner(*values, **named)

        if not isinstance(name, type):
            return warn_and_call
        # Not __init__, which NamedTuples lack, and whose parameters clone reads.
        name.__signature__ = inspect.signature(name)  # type: ignore[attr-defined]
        name.__new__ = warn_and_call  # type: ignore[method-assign]
        return name

    return decorate


def renamed_parameter(old: str, value: Any, new: str, new_value: Any, *, since: str) -> Any:
    """Return the value of a renamed parameter, and warn if it was given by its old name.

    The old parameter stays in the signature, after the others, with the default ``"deprecated"``;
    an estimator calls this in ``fit``, since ``__init__`` only remembers.

    Parameters
    ----------
    old, new : str
        The two names.
    value, new_value : object
        What they have; ``"deprecated"`` if the old one was not given.
    since : str
        First version that warns, such as ``"0.2"``.

    Examples
    --------
    >>> from labelance._utils._deprecation import renamed_parameter
    >>> def search(*, n_neighbors=5, k="deprecated"):
    ...     return renamed_parameter("k", k, "n_neighbors", n_neighbors, since="0.2")
    >>> search(n_neighbors=3)
    3
    """
    if isinstance(value, str) and value == "deprecated":
        return new_value
    warn_user(f"{old}= is deprecated. {_explain(since, f'Use {new}=')}", FutureWarning)
    return value


def _explain(since: str, instead: str) -> str:
    """Return since when, until when, and what to do."""
    from labelance import __version__

    return f"Since labelance {since}, removed in {removal_version(since, __version__)}. {instead}."
