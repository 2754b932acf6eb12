"""Errors and warnings for the command line: flags for keyword arguments, columns by name.

The text is reworded here, because what raises it does not know whether Python or a command called
it, and its advice has values in it: ``max_size=100`` becomes ``--max-size 100``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise

from labelance.exceptions import InputError

# What a keyword argument is given: a text, a list, or a word up to the end of its sentence.
_VALUE = r"""'[^']*'|"[^"]*"|\[[^]]*\]|…|[^\s,;)]*[^\s,;).]"""
_NUMBERED = re.compile(r"\b(column|label)s? ([0-9]+(?:, [0-9]+)*)")
_CALL = re.compile(r"[\w.]+\((?:[^()]|\([^()]*\))+\)")  # Python to be typed as it is
_KEPT = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for a name from the data
_PARAMETER = re.compile(r"The '(\w+)' parameter of (\w+)")


class CommandError(InputError):
    """An error of a command itself: it speaks of flags already, and of names from the data."""


_active: list[Callable[[str], str]] = []  # the outermost block first


def errors_in_flags(flags: Mapping[str, str]) -> AbstractContextManager[None]:
    """Name flags in errors and warnings, where the library names keyword arguments.

    Parameters
    ----------
    flags : mapping
        From keyword arguments to flags, such as ``{"max_size": "--max-size"}``, or
        ``{"missing": "--set missing"}`` for what becomes ``--set missing=distance``.
    """
    return rewording(lambda text: _in_flags(text, flags))


def errors_with_names(
    feature_names: Sequence[str], label_names: Sequence[str]
) -> AbstractContextManager[None]:
    """Name features and labels in errors about data that travel without their names."""
    known = {"column": feature_names, "label": label_names}

    def name(match: re.Match[str]) -> str:
        names, numbers = known[match[1]], [int(number) for number in match[2].split(", ")]
        if max(numbers) >= len(names):
            return match[0]
        kind = f"{match[1]}s" if len(numbers) > 1 else match[1]
        return f"{kind} {', '.join(repr(names[j]) for j in numbers)}"

    return rewording(lambda text: _NUMBERED.sub(name, text))


@contextmanager
def rewording(reword: Callable[[str], str]) -> Iterator[None]:
    """Reword what the block says to people: its errors, its warnings and its progress."""
    _active.append(reword)
    yield
    _active.pop()  # not after an error, which is reworded where it is printed


def forget_rewording() -> None:
    """Begin a command."""
    _active.clear()


def reworded_error(error: Exception) -> str:
    """Return an error in the words of the blocks around it, but for names from the data."""
    if isinstance(error, CommandError):
        return str(error)
    names = sorted(getattr(error, "names", ()), key=len, reverse=True)
    if not names:
        return reworded(str(error))
    # A name with = after it is a parameter, whose name a column may have, too.
    found = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?![\w=-])")
    kept = found.findall(text := str(error))
    said = reworded(found.sub(_KEPT, text))
    for name in kept:
        said = said.replace(_KEPT, name, 1)
    return said


def reworded(text: str) -> str:
    """Return an error, a warning or a line about progress in the words of the blocks around it."""
    text = _PARAMETER.sub(r"\1=… of \2", text)
    for reword in reversed(_active):
        text = reword(text)
    return text


def is_of_a_parameter(error: ValueError) -> bool:
    """Say whether scikit-learn refuses a parameter, which it can only once it is imported."""
    if "sklearn" not in sys.modules:
        return False
    from labelance._utils._compat import InvalidParameterError

    return isinstance(error, InvalidParameterError)


def _in_flags(text: str, flags: Mapping[str, str]) -> str:
    """Write flags for keyword arguments, but for those of calls in Python."""
    ends = [0, *(place for call in _CALL.finditer(text) for place in call.span()), len(text)]
    parts = [text[start:stop] for start, stop in pairwise(ends)]
    parts[::2] = (_sentence_in_flags(part, flags) for part in parts[::2])
    return "".join(parts)


def _sentence_in_flags(text: str, flags: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, sorted(flags, key=len, reverse=True)))
    # A name with an underscore is no English word: even alone it is the argument that is meant.
    # In quotes it is a name from the data.
    argument = re.compile(rf"(?<![\w'\"-])({names})(?:=({_VALUE})|(?![\w=]))")

    def write(match: re.Match[str]) -> str:
        if match[2] is not None:
            return _write(flags[match[1]], match[2])
        return flags[match[1]] if "_" in match[1] else match[0]

    return argument.sub(write, text)


def _write(flag: str, value: str) -> str:
    """Write a flag with the value of a keyword argument as one types it in a shell."""
    if value == "True" and " " not in flag:
        return flag
    plain = re.sub(r"['\"\[\]]", "", value).replace(", ", ",")
    plain = f"'{plain}'" if not plain or re.search(r"[*\s;|]", plain) else plain
    return f"{flag}={plain}" if " " in flag else f"{flag} {plain}"
