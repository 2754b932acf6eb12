"""Unknown parameters of a class: say which ones it has."""

from __future__ import annotations

from functools import cache
from inspect import Parameter, signature
from typing import Any, Self

from labelance._utils._messages import did_you_mean
from labelance.exceptions import ParameterError


class ListsParameters:
    """Base of classes that list their parameters when they are given an unknown one.

    Examples
    --------
    >>> from labelance import MLROS
    >>> try:
    ...     MLROS(random_sate=0)
    ... except TypeError as error:
    ...     print(error.problem, error.cure[:28], sep=". ")
    MLROS has no parameter 'random_sate'. Did you mean 'random_state'?
    """

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Refuse unknown names; ``__init__`` stays as it was written, for all who inspect it."""
        known, n_unnamed = _parameters_of(cls.__init__) if values or named else ((), 0)
        unknown = next((name for name in named if known and name not in known), None)
        if unknown is not None:
            raise ParameterError(
                f"{cls.__name__} has no parameter {unknown!r}",
                f"Its parameters are: {', '.join(sorted(known))}",
                f"{did_you_mean(unknown, known)}Correct the name",
            )
        if n_unnamed < min(len(values), len(known)):
            raise ParameterError(
                f"{cls.__name__} takes {n_unnamed or 'no'} positional arguments",
                f"Got {len(values)}",
                f"Name them, for example {known[n_unnamed]}={values[n_unnamed]!r:.50}. "
                f"Choose from: {', '.join(sorted(known))}",
            )
        return super().__new__(cls)


@cache  # an ensemble makes thousands of clones
def _parameters_of(init: Any) -> tuple[tuple[str, ...], int]:
    """Return the names that an ``__init__`` takes, and how many may come without them.

    There are no names if it takes any name.
    """
    parameters = list(signature(init).parameters.values())[1:]
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return (), 0
    n_unnamed = sum(one.kind is not Parameter.KEYWORD_ONLY for one in parameters)
    return tuple(one.name for one in parameters), n_unnamed
