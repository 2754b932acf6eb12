"""Python that makes an estimator: its imports, and an expression."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, isroutine, signature
from typing import Any

from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

_WIDTH = 88


def write_imports(estimator: Any) -> str:
    """Return the imports of an estimator and of all that is inside it."""
    names: dict[str, set[str]] = {}
    for thing in _things(estimator):
        names.setdefault(_public_module(thing), set()).add(_name(thing))
    if "imblearn.pipeline" in names:  # its function makes pipelines without samplers, too
        names.get("sklearn.pipeline", set()).discard("make_pipeline")
    return "".join(
        f"from {module} import {', '.join(sorted(names[module]))}\n"
        for module in sorted(names)
        if names[module]
    )


def write_expression(value: Any, indent: int = 0) -> str:
    """Return Python that makes an estimator; what has its default value is left out.

    What is longer than a line has a line for each of its parts.
    """
    opened, inside, closed = _open(value)
    if not inside:
        return opened + closed
    words = [key + write_expression(one, indent + 4) for key, one in inside]
    line = f"{opened}{', '.join(words)}{closed}"
    if indent + len(line) <= _WIDTH and "\n" not in line:
        return line
    parts = "".join(f"{' ' * (indent + 4)}{one},\n" for one in words)
    return f"{opened}\n{parts}{' ' * indent}{closed}"


def _open(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """Return how a value begins, what is in it with its names, and how it ends."""
    if _is_plain(value):
        return "make_pipeline(", [("", step) for _, step in value.steps], ")"
    if isinstance(value, BaseEstimator):
        return f"{type(value).__name__}(", _arguments(value), ")"
    if isinstance(value, list):
        return "[", [("", one) for one in value], "]"
    if isinstance(value, tuple):
        return "(", [("", one) for one in value], ",)" if len(value) == 1 else ")"
    return value.__name__ if isroutine(value) else repr(value), [], ""


def _arguments(estimator: Any) -> list[tuple[str, Any]]:
    known = signature(type(estimator).__init__).parameters
    arguments: list[tuple[str, Any]] = []
    for name, value in estimator.get_params(deep=False).items():
        default = known[name].default if name in known else Parameter.empty
        if default is Parameter.empty and name == list(known)[1]:
            arguments.insert(0, ("", value))
        elif default is Parameter.empty or repr(default) != repr(value):
            arguments.append((f"{name}=", value))
    return arguments


def _things(value: Any) -> Iterator[Any]:
    """Yield the estimators and functions in a value."""
    if isinstance(value, BaseEstimator) or isroutine(value):
        yield value
    for _, one in _open(value)[1]:
        yield from _things(one)


def _is_plain(value: Any) -> bool:
    """Say whether `make_pipeline` makes a pipeline: its steps are called like their classes."""
    if not isinstance(value, Pipeline):
        return False
    plain = make_pipeline(*(step for _, step in value.steps))
    return [name for name, _ in plain.steps] == [name for name, _ in value.steps]


def _name(thing: Any) -> str:
    if _is_plain(thing):
        return "make_pipeline"
    return str((thing if isroutine(thing) else type(thing)).__name__)


def _public_module(thing: Any) -> str:
    """Return the module to import a thing from: the part before private modules."""
    module = str((thing if isroutine(thing) else type(thing)).__module__)
    return module.partition("._")[0]
