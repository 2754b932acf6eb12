"""What a column of strings is: categories, ids, dates, numbers or free text.

Each rule is here once. A column says what it is by its different strings, so the order of its
rows does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Literal

import numpy as np

from labelance.exceptions import InputError

Words = Literal["category", "text", "id", "date", "number"]

_FEW_ROWS = 20  # in which strings of any kind may all be different
_FEW_CATEGORIES = 100  # more strings than these, of many words each, are texts that rows share
_LONG = 4  # words of a string on average: a text, though many rows may share it
_SHORT = 1.5  # words of an id on average: "u-0393", a hash, an address; more are a text
_MOST_READ = 1000  # strings of a column, evenly from all in alphabetical order
_MOST = 0.9  # of the strings, where some cells may be damaged
_UNSPACED = 0.2  # of the letters: from here on words do not end at blanks
_FEW_COUNTED = 10  # rows that a column may number without being an index
_MANY_COUNTED = 100  # rows that it may number with gaps

_NUMBER = re.compile(r"\s*[-+]?[0-9]+(\.[0-9]+)?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]+(,[0-9]+)?\s*")
_DATE = re.compile(r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{2,4})([T\s,].*)?")
_BETWEEN = re.compile(r"[\s,;|]+")
# Thai, Lao, Tibetan, Burmese; Khmer; kana; Chinese characters.
_UNSPACED_LETTER = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def is_free_text(n_strings: int, n_rows: int) -> bool:
    """Tell whether a column holds ids or free text: most rows have a string of their own.

    Examples
    --------
    >>> from labelance._arrays._words import is_free_text
    >>> is_free_text(3, 1000), is_free_text(900, 1000), is_free_text(9, 10)
    (False, True, False)
    """
    return n_rows >= _FEW_ROWS and 2 * n_strings > n_rows


def has_no_blanks(strings: Collection[str]) -> bool:
    """Tell whether texts are in a script that puts no blanks between words.

    Examples
    --------
    >>> from labelance._arrays._words import has_no_blanks
    >>> has_no_blanks(["今天天气很好"]), has_no_blanks(["a fine day"])
    (True, False)
    """
    unspaced = sum(len(_UNSPACED_LETTER.findall(text)) for text in strings)
    letters = sum(sum(map(str.isalpha, text)) for text in strings)
    return unspaced > _UNSPACED * max(letters, unspaced)


def sample_strings(strings: Collection[str]) -> list[str]:
    """Return some of the different strings, the same in any order of the rows."""
    ordered = sorted(strings)
    return ordered[:: -(-len(ordered) // _MOST_READ)] if ordered else []


def find_kind(strings: Collection[str], n_rows: int) -> Words:
    """Return what a column holds, by its different strings that are not empty.

    Free text are strings of several words of which most rows have their own, or more than 100
    strings of many words; ids are other strings of which most rows have their own.

    Examples
    --------
    >>> from labelance._arrays._words import find_kind
    >>> find_kind({"red", "blue"}, 1000)
    'category'
    >>> find_kind({f"user-{i}" for i in range(50)}, 50)
    'id'
    >>> find_kind({f"this is post {i}" for i in range(50)}, 50)
    'text'
    """
    some = sample_strings(strings)
    if some and sum(map(bool, map(_DATE.fullmatch, some))) > _MOST * len(some):
        return "date"
    if 2 * len(strings) <= n_rows and len(strings) <= _FEW_CATEGORIES:
        return "category"
    if any(all(map(form.fullmatch, some)) for form in (_NUMBER, _DECIMAL_COMMA)):
        return "number"
    length = np.mean([_count_words(text) for text in some])
    if length >= _LONG:
        return "text"
    if not is_free_text(len(strings), n_rows):
        return "category"
    return "text" if length > _SHORT else "id"


def _count_words(text: str) -> float:
    """Return about how many words a text has; two letters are one where no blanks are between."""
    unspaced = len(_UNSPACED_LETTER.findall(text))
    return len(_BETWEEN.split(text.strip())) + unspaced / 2


def counts_rows(first: np.ndarray, last: float, n: int) -> bool:
    """Tell whether a column of ten rows or more is 0, 1, 2, … or 1, 2, 3, …, as an index is.

    Parameters
    ----------
    first : ndarray
        The first values.
    last : float
        The last one of all.
    n : int
        How many there are.
    """
    return (
        n >= _FEW_COUNTED
        and first[0] in (0, 1)
        and last == first[0] + n - 1
        and bool((np.diff(first) == 1).all())
    )


def are_row_numbers(values: np.ndarray) -> bool:
    """Tell whether numbers are different integers that fill their range, as ids in any order do.

    They need not fill more than a tenth of it from 100 rows on, where chance makes none of
    this: parts of a table that was split keep their ids.

    Examples
    --------
    >>> import numpy as np
    >>> from labelance._arrays._words import are_row_numbers
    >>> are_row_numbers(np.arange(20)[::-1]), are_row_numbers(np.arange(20) % 7)
    (True, False)
    >>> are_row_numbers(np.random.default_rng(0).permutation(500)[:100])
    True
    """
    n = len(values)
    if n < _FEW_COUNTED or not all(_are_whole(part) for part in (values[:_FEW_COUNTED], values)):
        return False
    span = float(values.max()) - float(values.min()) + 1
    filled = n == span or (n >= _MANY_COUNTED and 10 * n >= span)
    return filled and len(np.unique(values)) == n


def is_missing(cell: Any) -> bool:
    """Tell whether one cell of an object column is None, NaN, NA or NaT."""
    if isinstance(cell, (str, bytes, list, tuple, dict, np.ndarray)):
        return False
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _are_whole(values: np.ndarray) -> bool:
    return values.dtype.kind in "iu" or bool((np.rint(values) == values).all())


_READ = "RareLabelClassifier, advise and profile read text (page Text of the user guide)"


def text_error(column: Any = None, *, found: str) -> InputError:
    """Return the error of all methods that need numbers and got text.

    Parameters
    ----------
    column : object, optional
        The name of the column; None where X is nothing but texts.
    found : str
        What there is.
    """
    if column is None:
        what, vectorizer = "X is text", "make_pipeline(TfidfVectorizer(), …)"
    else:
        what = f"Column {column!r} of X is text"
        vectorizer = (
            f"make_column_transformer((TfidfVectorizer(), {column!r}), remainder='passthrough')"
        )
    return InputError(
        f"{what}, and this method needs numbers",
        found,
        f"Put a vectorizer before it, {vectorizer}, or LabelThresholds around such a pipeline; "
        f"{_READ}",
    )


def holds_texts(cells: np.ndarray) -> bool:
    """Tell whether an array is a column of strings, of which some may be missing."""
    if cells.ndim not in (1, 2) or cells.shape[1:] not in ((), (1,)) or not cells.size:
        return False
    if cells.dtype.kind in "UT":
        return True
    if cells.dtype.kind != "O":
        return False
    some = [cell for cell in cells.ravel() if not is_missing(cell)]
    return bool(some) and all(isinstance(cell, str) for cell in some)
