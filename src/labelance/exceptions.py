"""The errors and warnings a user may want to catch by name.

Every error has three parts: the problem, what was found, and the cure where it is not obvious.

Examples
--------
>>> from labelance.exceptions import InputError
>>> raise InputError("beta must be in [0, 1)", "Got 2", "Try 0.999")
Traceback (most recent call last):
...
labelance.exceptions.InputError: beta must be in [0, 1). Got 2. Try 0.999.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ConstantLabelWarning",
    "ContainerError",
    "DataFileError",
    "DownloadError",
    "FeatureScaleWarning",
    "FileWriteError",
    "IndexMismatchWarning",
    "InputError",
    "LabelFormatError",
    "LabelanceError",
    "LabelanceWarning",
    "LongSearchWarning",
    "LowRecallWarning",
    "MissingDependencyError",
    "MissingValuesError",
    "NothingToSampleError",
    "StudyError",
    "TooFewRowsError",
    "TooManyRowsError",
    "UndefinedLabelWarning",
    "UnknownLabelsError",
    "UnsampledLabelWarning",
]


# Names come from data, and may be as long as a file.
_LONG_WORD = re.compile(r"\S{301,}")
_MOST = 5_000
# A name of Python and its value inside a message, between characters that no data has.
_ARG = re.compile("\ue000(.*?)\ue001(.*?)\ue002", re.DOTALL)
_NO_VALUE = object()
COLUMN, LABEL = "#column", "#label"  # numbers, of which only a caller knows the names


def _shorten(text: str) -> str:
    """Return a text of a message with the middle of endless names left out."""
    text = _LONG_WORD.sub(lambda word: f"{word[0][:150]}…{word[0][-50:]}", text)
    return text if len(text) <= _MOST else f"{text[: _MOST // 2]}…{text[-_MOST // 4 :]}"


def arg(name: str, value: object = _NO_VALUE) -> str:
    """Return a parameter for a message: Python reads ``name=value``, a command writes its flag.

    Examples
    --------
    >>> from labelance.exceptions import InputError, arg
    >>> error = InputError("k must be > 0", "Got 0", f"Try {arg('k', 5)}")
    >>> print(error)
    k must be > 0. Got 0. Try k=5.
    >>> error.write(lambda name, value: f"--{name} {value}")
    'k must be > 0. Got 0. Try --k 5.'
    """
    text = "" if value is _NO_VALUE else "…" if value is ... else repr(value)
    return f"\ue000{name}\ue001{text}\ue002"


def arg_in_python(name: str, value: str) -> str:
    """Write a parameter as Python does; the number alone of a column or label."""
    if name in (COLUMN, LABEL):
        return value
    return f"{name}={value}" if value else name


def _write(text: str, spell: Callable[[str, str], str] = arg_in_python) -> str:
    return _shorten(_ARG.sub(lambda found: spell(found[1], found[2]), text))


class LabelanceError(Exception):
    """Base of all errors of this library. Its message is "problem. found. cure.".

    Parameters
    ----------
    problem : str
        What is wrong, with the name of the parameter or column: ``"beta must be in [0, 1)"``.
    found : str
        What was found: ``"Got 2"``.
    cure : str, optional
        What to do about it, as an imperative: ``"Try 0.999"``. Empty where that is obvious.
    """

    def __init__(self, problem: str, found: str, cure: str = "") -> None:
        self.parts = problem, found, cure  # with parameters to be written
        self.problem, self.found, self.cure = map(_write, self.parts)
        super().__init__(self.problem, self.found, self.cure)

    def __str__(self) -> str:
        return self.write(arg_in_python)

    def write(self, spell: Callable[[str, str], str]) -> str:
        """Return the message; ``spell`` writes a parameter and its value, which may be empty."""
        texts = (_write(part, spell).rstrip(". ") for part in self.parts if part)
        return " ".join(text if text.endswith("?") else f"{text}." for text in texts)


class InputError(LabelanceError, ValueError):
    """The data or a parameter has a shape or value that the method cannot work with."""


class StudyError(InputError):
    """A study's plan, store or results cannot be worked with."""


class LabelFormatError(InputError):
    """y is not an (n, q) indicator of zeros and ones."""


class UnknownLabelsError(LabelFormatError):
    """y has unknown cells (NaN), and the method needs to know every label of every row."""


class MissingValuesError(InputError):
    """X has missing values and the method has no rule for them."""


class TooFewRowsError(InputError):
    """There are not enough rows for the neighbors or folds asked for."""


class TooManyRowsError(InputError):
    """A sampler would make more rows than it was allowed to."""


class NothingToSampleError(InputError):
    """No label has a minority cell that the sampler could work with."""


class ContainerError(LabelanceError, TypeError):
    """X or Y is in a kind of container that is not supported."""


class DataFileError(InputError):
    """A data file cannot be read; the message names the file and the line."""


class DownloadError(LabelanceError, OSError):
    """A dataset could not be downloaded, or it is not what was published."""


class FileWriteError(LabelanceError, OSError):
    """A file could not be written; what was under its name before is as it was."""


class MissingDependencyError(LabelanceError, ImportError):
    """A feature needs an optional package that is not installed."""


class LabelanceWarning(UserWarning):
    """Base of all warnings of this library."""

    def __init__(self, message: str = "") -> None:
        self.text = message  # with parameters to be written
        super().__init__(_write(message))

    def write(self, spell: Callable[[str, str], str]) -> str:
        """Return the message; ``spell`` writes a parameter and its value, which may be empty."""
        return _write(self.text, spell)


class ConstantLabelWarning(LabelanceWarning):
    """A label is present in no row, or in all of them; it carries nothing to learn from."""


class FeatureScaleWarning(LabelanceWarning):
    """Few columns of X are so wide that they alone decide which rows are neighbors."""


class IndexMismatchWarning(LabelanceWarning):
    """X and Y are pandas frames with different indices; their rows are paired by position."""


class LowRecallWarning(LabelanceWarning):
    """An approximate search missed more than a tenth of the nearest neighbors."""


class LongSearchWarning(LabelanceWarning):
    """An exact search for neighbors will take minutes."""


class UndefinedLabelWarning(LabelanceWarning):
    """A measure is not defined for some labels, which were left out of the mean."""


class UnsampledLabelWarning(LabelanceWarning):
    """A sampler refused some labels, whose rows were left as they are."""
