"""Errors and warnings for the command line: flags for parameters of Python, names for numbers.

What raises them does not know whether Python or a command called it. It marks the parameters that
it names (`labelance.exceptions.arg`), and the command that runs says here how each is typed.
"""

from __future__ import annotations

import re
import shlex
import sys
from ast import literal_eval
from collections.abc import Iterable, Sequence
from typing import Any

from labelance.exceptions import COLUMN, LABEL, LabelanceError, LabelanceWarning, arg_in_python

# Python's names for what commands call otherwise.
_OTHER_NAMES = {
    "overwrite": "force", "random_state": "seed", "n_jobs": "jobs", "y": "labels",
    "y_true": "truth", "y_score": "scores", "y_proba": "scores",
}  # fmt: skip
_PARAMETER = re.compile(r"The '(\w+)' parameter of ")  # scikit-learn's words

_flags: dict[str, str] = {}
_names: dict[str, Sequence[str]] = {}


def use_flags(params: Iterable[Any]) -> None:
    """Begin a command with these parameters, of click."""
    _flags.clear()
    _names.clear()
    for param in params:
        is_option = param.param_type_name == "option"
        name = max(param.opts, key=len) if is_option else param.metavar or param.name.upper()
        _flags[param.name.rstrip("_")] = name
    others = {python: _flags[name] for python, name in _OTHER_NAMES.items() if name in _flags}
    _flags.update(others)


def add_flags(flags: dict[str, str]) -> None:
    """Say how more names of Python are typed, such as ``--set k_neighbors``."""
    _flags.update(flags)


def use_names(feature_names: Sequence[str], label_names: Sequence[str]) -> None:
    """Name columns and labels of data that travel without their names."""
    _names.update({COLUMN: feature_names, LABEL: label_names})


def has_flag(name: str) -> bool:
    """Say whether the command that runs has a parameter."""
    return name in _flags


def in_flags(said: Exception | Warning) -> str:
    """Return an error or a warning in the words of the command that runs."""
    if isinstance(said, (LabelanceError, LabelanceWarning)):
        return said.write(_spell)
    text = str(said)
    refused = _PARAMETER.match(text)
    return f"{_spell(refused[1], '…')} of {text[refused.end() :]}" if refused else text


def is_of_a_parameter(error: ValueError) -> bool:
    """Say whether scikit-learn refuses a parameter, which it can only once it is imported."""
    if "sklearn" not in sys.modules:
        return False
    from labelance._utils._compat import InvalidParameterError

    return isinstance(error, InvalidParameterError)


def _spell(name: str, value: str) -> str:
    """Write a parameter, and its value in Python if it has one, as one types it in a shell."""
    if name in _names and int(value) < len(_names[name]):
        return repr(_names[name][int(value)])
    flag = _flags.get(name)
    if flag is None or not value:
        return flag or arg_in_python(name, value)
    if value == "True" and " " not in flag:
        return flag
    between = "=" if " " in flag else " "  # --set name=value
    return f"{flag}{between}{value if value == '…' else _type(value)}"


def _type(value: str) -> str:
    """Return a value of Python as one types it."""
    try:
        read = literal_eval(value)
    except (ValueError, SyntaxError):
        return shlex.quote(value)
    several = isinstance(read, (list, tuple))
    return shlex.quote(",".join(map(str, read)) if several else str(read))
