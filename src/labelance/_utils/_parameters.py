"""Unknown parameters of a class: say which ones it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

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
    ...     print(error.came, error.fix[:28], sep=". ")
    it has none called 'random_sate'. Did you mean 'random_state'?
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _refuse_unknown(cls.__init__)  # type: ignore[method-assign]


def _refuse_unknown(init: Callable[..., None]) -> Callable[..., None]:
    parameters = list(signature(init).parameters.values())[1:]
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return init
    names = [one.name for one in parameters]

    @wraps(init)  # which keeps the signature
    def checked(self: Any, *values: Any, **named: Any) -> None:
        unknown = next((name for name in named if name not in names), None)
        if unknown is not None:
            raise ParameterError(
                f"{type(self).__name__} takes the parameters that it lists",
                f"it has none called {unknown!r}",
                f"{did_you_mean(unknown, names)}Choose from: {', '.join(sorted(names))}",
            )
        init(self, *values, **named)

    return checked
