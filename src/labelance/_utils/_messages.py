"""Messages for users: warnings at their own line, names that they meant, packages to install."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from types import FrameType, ModuleType

from labelance.exceptions import InputError, LabelanceError, MissingDependencyError

# Whose lines are no user's: our own, and those of who calls us for one.
_BETWEEN = frozenset({"labelance", "sklearn", "imblearn", "joblib", "contextlib"})

_MOST_LETTERS = 200  # of names that are compared, which takes the product of their lengths


def warn_user(message: str | Warning, category: type[Warning]) -> None:
    """Warn, and point at the line of the user that led here, however deep we are.

    Parameters
    ----------
    message : str or Warning
        What to say.
    category : type of Warning
        By which it can be silenced.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _BETWEEN:
        frame, level = frame.f_back, level + 1
    # Filters compare the text that the warning has, not that it is made of.
    message = category(message) if isinstance(message, str) else message
    warnings.warn(message, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def show_names(names: Iterable[object], most: int = 10) -> str:
    """Return names for a message, the first few of many.

    Examples
    --------
    >>> from labelance._utils._messages import show_names
    >>> show_names(["a", "b"]), show_names("abcd", most=2)
    ('a, b', 'a, b, … (4 in all)')
    """
    texts = [str(name) for name in names]
    rest = f", … ({len(texts)} in all)" if len(texts) > most else ""
    return ", ".join(texts[:most]) + rest


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return the question that begins an advice, or nothing if no name that is known is near.

    Examples
    --------
    >>> from labelance._utils._messages import did_you_mean
    >>> did_you_mean("Repeat", ["name", "folds", "repeats"])
    "Did you mean 'repeats'? "
    >>> did_you_mean("x", ["name", "folds", "repeats"])
    ''
    """
    if len(str(word)) > _MOST_LETTERS:
        return ""
    by_lower = {str(name).lower(): name for name in known if len(str(name)) <= _MOST_LETTERS}
    near = get_close_matches(str(word).lower(), by_lower, n=2)
    return f"Did you mean {' or '.join(repr(by_lower[n]) for n in near)}? " if near else ""


def unknown_name(
    what: str,
    name: object,
    known: Iterable[object],
    where: str = "",
    error: type[LabelanceError] = InputError,
) -> LabelanceError:
    """Return the error for a name that is none of those that are known.

    Examples
    --------
    >>> from labelance._utils._messages import unknown_name
    >>> print(unknown_name("label", "sda", ["happy", "sad"], "--labels"))
    --labels: there is no label 'sda'. Labels: happy, sad. Did you mean 'sad'?
    """
    known = list(known)
    problem = f"{where}: there is no {what} {name!r}" if where else f"There is no {what} {name!r}"
    return error(
        problem, f"{what.capitalize()}s: {show_names(known, 40)}", did_you_mean(name, known)
    )


def optional_import(name: str, *, extra: str, purpose: str) -> ModuleType:
    """Import a module, or say which extra of this distribution brings it.

    Parameters
    ----------
    name : str
        The module to import.
    extra : str
        The extra of this distribution that installs it.
    purpose : str
        What needs it, as the beginning of a sentence ("Drawing a profile").

    Examples
    --------
    >>> from labelance._utils._messages import optional_import
    >>> optional_import("json", extra="cli", purpose="Reading JSON").__name__
    'json'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package {name.partition('.')[0]}",
            "It is not installed",
            f"Install it with: pip install 'labelance[{extra}]'",
        ) from error


def shorten(text: object, most: int) -> str:
    """Return a text in one line, cut after this many characters.

    Examples
    --------
    >>> from labelance._utils._messages import shorten
    >>> shorten("a name  that is long", 8)
    'a name …'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def plural(count: int, thing: str) -> str:
    """Return a count with what is counted.

    Examples
    --------
    >>> from labelance._utils._messages import plural
    >>> plural(1, "row"), plural(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {thing}{'s' * (count != 1)}"


def is_number(text: str) -> bool:
    """Say whether a text is a number for Python."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def warning_once() -> Iterator[None]:
    """Give every warning of the block once, at its end, however often it comes.

    Examples
    --------
    >>> import warnings
    >>> from labelance._utils._messages import warning_once
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with warning_once():
    ...         for _ in range(5):
    ...             warnings.warn("the same")
    >>> len(caught)
    1
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # the caller's filters have their say below
        yield
    for one in {(w.category, str(w.message)): w for w in caught}.values():
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
