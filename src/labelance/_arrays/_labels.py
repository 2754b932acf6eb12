"""Labels that are no numbers: lists of label names, and columns of words such as yes and no."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp

from labelance._arrays._containers import (
    DenseContainer,
    FrameContainer,
    Kind,
    is_dask,
    is_frame,
    keep_device,
    open_frame,
    stored_values,
)
from labelance._arrays._open import Container, open_container
from labelance._arrays._words import is_missing
from labelance.exceptions import LabelFormatError

# Words that say whether a row has a label, in small letters.
PRESENT = frozenset({"1", "1.0", "+1", "true", "t", "yes", "y", "on", "present"})
ABSENT = frozenset({"0", "0.0", "-1", "false", "f", "no", "n", "off", "absent"})

# A word for the other side, where a column holds one side only.
_OPPOSITES = {
    "1": "0", "1.0": "0.0", "+1": "-1", "true": "false", "t": "f", "yes": "no", "y": "n",
    "on": "off", "present": "absent",
}  # fmt: skip
_OPPOSITES |= {absent: present for present, absent in _OPPOSITES.items()}

# What may stand between the labels in a text such as "rock;pop".
LIST_SEPARATORS = (";", "|", ",", " ")

_SETS = (list, tuple, set, frozenset, np.ndarray)


def open_labels(y: Any, vocabulary: Iterable[Any] = ()) -> Container:
    """Wrap labels in the container of their kind.

    Parameters
    ----------
    y : any
        A table of numbers or of words, or a label set for every row.
    vocabulary : iterable
        Labels that label sets may have, in addition to those they do have.
    """
    sets = find_label_sets(y)
    if sets is not None:
        return LabelSets(y, sets, vocabulary)
    if isinstance(y, np.ma.MaskedArray) and y.mask.any():
        y = np.ma.filled(y.astype(np.float64), np.nan)
    if isinstance(y, (np.ndarray, list, tuple)):
        as_list, y = not isinstance(y, np.ndarray), _fill_missing(y)
        if isinstance(_first_cell(y), str):
            return WordArray(np.asarray(y), as_list=as_list)
        y = y.tolist() if as_list and isinstance(y, np.ndarray) else y
    elif not sp.issparse(y) and not is_dask(y) and is_frame(y):
        frame = open_frame(y, "y")
        words = [name for name, dtype in frame.schema.items() if _holds_words(dtype)]
        if words:
            return WordFrame(y, frame, words)
    return open_container(y, "y", in_blocks=True)


def has_unknown(Y: sp.csr_array) -> bool:
    """Say whether labels have stored NaN."""
    return bool(np.isnan(Y.data).any())


def part_unknown(cells: Any) -> tuple[Any, sp.csr_array | None]:
    """Return cells with 0 for NaN, and where NaN was, if anywhere."""
    stored = stored_values(cells)
    missing = np.isnan(stored) if stored.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if not missing.any():
        return cells, None
    if not sp.issparse(cells):
        return np.where(missing, 0, cells), to_indicator(missing)
    known, unknown = cells.copy(), cells.copy()
    known.data[missing], unknown.data = 0, missing.astype(np.int8)
    for table in (known, unknown):
        table.eliminate_zeros()
    return known, unknown


def mark_unknown(Y: sp.csr_array, unknown: sp.csr_array | None) -> sp.csr_array:
    """Return labels with NaN in the unknown cells, which hold no one."""
    if unknown is None or not unknown.nnz:
        return Y
    holes = sp.csr_array(
        (np.full(unknown.nnz, np.nan), unknown.indices, unknown.indptr), shape=unknown.shape
    )
    return sp.csr_array(Y.astype(np.float64) + holes)


def to_indicator(cells: Any) -> sp.csr_array:
    """Return a CSR array of int8 ones, sorted, without explicit zeros."""
    if sp.issparse(cells):
        return keep_device(cells.astype(np.int8), cells)
    return sp.csr_array(cells.astype(bool, copy=False), dtype=np.int8)


def find_list_separator(texts: Iterable[object]) -> str | None:
    """Return what separates labels in texts such as ``rock;pop``, None where texts are no lists.

    Texts are lists if they split into names of which some are in other texts too.

    Examples
    --------
    >>> from labelance._arrays._labels import find_list_separator
    >>> find_list_separator(["rock;pop", "pop"]), find_list_separator(["so, so", "good"])
    (';', None)
    """
    words = {text for text in texts if isinstance(text, str)}
    for separator in LIST_SEPARATORS:
        if not any(separator in word for word in words):
            continue
        lists = [set(split_list(word, separator)) for word in words]
        names = Counter(name for names in lists for name in names)
        # Words of plain text have blanks too: labels are fewer than texts, and none is alone.
        if separator == " ":
            found = len(names) < len(words) and min(names.values(), default=0) > 1
        else:
            found = names.total() > len(names)
        if found:
            return separator
    return None


def split_list(text: str, separator: str) -> list[str]:
    """Return the labels in a text, each once and without blanks around it."""
    return [*dict.fromkeys(name for part in text.split(separator) if (name := part.strip()))]


def cure_lists(y: str, separator: str) -> str:
    """Return what makes lists of labels of texts, in Python; ``y`` names the texts."""
    return (
        f'Make lists of labels: [[name.strip() for name in text.split("{separator}") if '
        f"name.strip()] if isinstance(text, str) else [] for text in {y}]"
    )


def _fill_missing(table: Any) -> Any:
    """Return a table of objects with NaN for every missing cell; any other as it is."""
    if isinstance(table, np.ndarray) and table.dtype.kind != "O":
        return table
    try:
        cells = np.array(table, dtype=object)
    except ValueError:  # rows of different lengths
        return table
    missing = _missing_cells(cells)
    if cells.ndim != 2 or not missing.any():
        return table
    cells[missing] = np.nan
    return cells


def _missing_cells(cells: np.ndarray) -> np.ndarray:
    """Return where a table of objects has nothing, as a mask."""
    # Not np.frompyfunc: from Python 3.12 on it warns of an invalid value where NaN is compared.
    return np.fromiter(map(is_missing, cells.flat), bool, cells.size).reshape(cells.shape)


def _first_cell(table: Any) -> Any:
    """Return the first cell of a table with two dimensions that is not missing, if there is one."""
    if np.ndim(table[0] if len(table) else 0) != 1:
        return None
    if isinstance(table, np.ndarray) and table.dtype.kind in "biuf":
        return None
    return next((cell for cell in chain.from_iterable(table) if not is_missing(cell)), None)


def find_label_sets(y: Any) -> list[Any] | None:
    """Return the label sets of the rows, if that is what y is.

    Lists of one length with numbers, or with words for 0 and 1, are the rows of a table.
    """
    if is_dask(y):
        return None
    if isinstance(y, (list, tuple)):
        rows = list(y)
    elif getattr(y, "ndim", None) == 1 and not sp.issparse(y):
        rows = y.tolist() if getattr(y.dtype, "kind", "") == "O" else []
    elif type(y).__name__ == "Series" and hasattr(y, "to_list"):
        rows = y.to_list()  # polars
    else:
        return None
    are_sets = [isinstance(row, _SETS) for row in rows]
    if not any(are_sets):
        return None
    if not all(are_sets):
        row = are_sets.index(False)
        raise LabelFormatError(
            "Every row of y must be a list of labels",
            f"Row {row} has {rows[row]!r:.50}",
            "Give rows without labels an empty list: "
            "[row if isinstance(row, list) else [] for row in y]"
            if is_missing(rows[row])
            else "Put a single label into a list",
        )
    first = next((row for row in rows if len(row)), None)
    if first is None or isinstance(first, (set, frozenset)):
        return rows
    some_words = any(isinstance(cell, str) for cell in chain.from_iterable(rows))
    if len(set(map(len, rows))) > 1 and some_words:
        return rows
    if np.ndim(first[0]):
        return None
    if isinstance(first[0], str):
        return None if _is_table(rows, PRESENT | ABSENT) else rows
    in_column = not isinstance(y, (list, tuple))
    return rows if in_column and not _is_table(rows, {"0", "1", "0.0", "1.0"}) else None


def _is_table(rows: list[Any], values: Set[str]) -> bool:
    """Tell whether rows have one length, and no cells but those of a table of labels."""
    if len(set(map(len, rows))) > 1:
        return False
    try:
        cells = set(chain.from_iterable(rows))
    except TypeError:  # a list inside a list
        return False
    return {str(cell).strip().lower() for cell in cells} <= values


class LabelSets:
    """A list, Series or array with the set of labels of every row; the same kind comes back."""

    kind: Kind = "sparse"

    def __init__(self, native: Any, rows: list[Any], vocabulary: Iterable[Any]) -> None:
        self.native, self.rows = native, rows
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        self.names: tuple[Any, ...] = _sorted(_find_names(rows) | {*vocabulary})
        place = {name: j for j, name in enumerate(self.names)}
        columns = map(place.__getitem__, chain.from_iterable(rows))
        self.Y = sp.csr_array(
            (
                np.ones(lengths.sum(), dtype=np.int8),
                np.fromiter(columns, np.int32, lengths.sum()),
                np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
            ),
            shape=(len(rows), len(self.names)),
        )
        self.Y.sum_duplicates()
        self.Y.data[:] = 1  # a label that a row names twice
        self.nominal = np.zeros(len(self.names), dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return self.Y.shape

    def clean(self) -> sp.csr_array:
        """Return the indicator as floats."""
        return self.Y.astype(np.float64)

    def raw(self) -> sp.csr_array:
        """Return the indicator."""
        return self.Y

    def categories(self) -> dict[int, tuple[str, ...]]:
        """Return nothing: labels are present or absent."""
        return {}

    def restore(self, rows: np.ndarray | None, new: Any) -> Any:
        """Return ``rows`` of the original (all if None), then the ``new`` clean rows."""
        kept = self.Y if rows is None else self.Y[rows]
        Y = kept if new is None else sp.vstack([kept, sp.csr_array(new)], format="csr")
        return self.restore_labels(Y, rows, Y.shape[0] - kept.shape[0])

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return label sets; a row whose labels are as they were comes back as it was."""
        sources = np.arange(len(self.rows)) if rows is None else np.asarray(rows)
        changed = np.diff(abs(Y[: len(sources)] - self.Y[sources]).tocsr().indptr) > 0
        kept = [
            self._make_set(Y, place) if differs else copy(self.rows[source])
            for place, (source, differs) in enumerate(zip(sources.tolist(), changed.tolist()))
        ]
        new = [self._make_set(Y, place) for place in range(len(sources), Y.shape[0])]
        return self._close(kept + new, sources, renumber=bool(added))

    def _make_set(self, Y: sp.csr_array, row: int) -> Any:
        names = [self.names[j] for j in np.sort(Y.indices[Y.indptr[row] : Y.indptr[row + 1]])]
        kind = type(self.rows[0])
        return np.array(names, dtype=self._dtype) if kind is np.ndarray else kind(names)

    @cached_property
    def _dtype(self) -> np.dtype:
        """The type that holds the longest word of all rows, where these are arrays."""
        return np.result_type(*{row.dtype for row in map(np.asarray, self.rows) if len(row)})

    def _close(self, sets: list[Any], sources: np.ndarray, *, renumber: bool) -> Any:
        if isinstance(self.native, (list, tuple)):
            return type(self.native)(sets)
        out = np.empty(len(sets), dtype=object)
        out[:] = sets
        if isinstance(self.native, np.ndarray):
            return out
        if not hasattr(self.native, "iloc"):
            return type(self.native)(self.native.name, sets, dtype=self.native.dtype)
        repeated = len(np.unique(sources)) < len(sources)
        index = None if renumber or repeated else self.native.index[sources]
        return type(self.native)(out, index=index, name=self.native.name, dtype=self.native.dtype)


def _find_names(rows: list[Any]) -> set[Any]:
    """Return the names of all labels; raise where one is missing or a list itself."""
    try:
        names = set(chain.from_iterable(rows))
    except TypeError:
        raise LabelFormatError(
            "Every row of y must be one list of labels", "A label in a row is itself a list"
        ) from None
    if any(map(is_missing, names)):
        raise LabelFormatError(
            "Every label in the lists of y must have a name",
            "Some labels are missing (None or NaN)",
        )
    for name in (name for name in names if isinstance(name, str)):
        bare = name.strip()  # splitting a text leaves empty names, or others with blanks
        if bare and (bare == name or bare not in names):
            continue
        raise LabelFormatError(
            "A label in the lists of y is empty or has spaces around it",
            f"Got {name!r}",
            "Strip them: [[name.strip() for name in row if name.strip()] for row in y]",
        )
    texts = {str(name): name for name in names}
    twin = next((name for name in names if texts[str(name)] is not name), None)
    if twin is not None:
        raise LabelFormatError(
            "Two different labels of y look the same as text",
            f"The lists of y have both {twin!r} and {texts[str(twin)]!r}",
            "Write each label in one way: [[str(label) for label in row] for row in y]",
        )
    return names


def _sorted(names: set[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(names))
    except TypeError:  # numbers among words
        return tuple(sorted(names, key=lambda name: (type(name).__name__, name)))


class WordArray(DenseContainer):
    """An array of words for absent and present; words come back."""

    def __init__(self, words: np.ndarray, *, as_list: bool) -> None:
        known = ~_missing_cells(words)
        numbers = np.zeros(words.shape, dtype=np.int8)
        self.pairs = []
        for j, column in enumerate(words.T):
            column = column.astype(str)  # numbers may be among words
            pair = _find_pair(j, np.unique(column[known[:, j]]).tolist())
            numbers[:, j] = column == pair[1]
            self.pairs.append(pair)
        if not known.all():
            numbers = np.where(known, numbers, np.nan)
        super().__init__(numbers, as_list=as_list)
        self.dtype = words.dtype

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return the words for 0 and 1, label by label."""
        cells = Y.toarray()  # dense because Y was given dense
        absent, present = np.array(self.pairs, dtype=object).T
        table = np.where(np.isnan(cells), np.nan, np.where(cells, present, absent))
        longer = table.astype(str).dtype if self.dtype.kind == "U" else self.dtype
        return self._close(table.astype(np.result_type(self.dtype, longer)))


class WordFrame(FrameContainer):
    """A data frame some of whose columns hold words for absent and present; words come back."""

    def __init__(self, native: Any, frame: Any, words: Sequence[Any]) -> None:
        self.columns = {name: frame.get_column(name) for name in words}
        self.pairs = {name: _find_pair(name, _distinct(c)) for name, c in self.columns.items()}
        numbers = {
            name: _equals(column, self.pairs[name][1]) for name, column in self.columns.items()
        }
        super().__init__(_replace_columns(native, numbers), "y")

    def restore_labels(self, Y: sp.csr_array, rows: np.ndarray | None, added: int) -> Any:
        """Return the words for 0 and 1, label by label."""
        out = super().restore_labels(Y, rows, added)
        cells = Y.toarray()  # dense because Y was given as a frame
        words = {}
        for name, (absent, present) in self.pairs.items():
            own = cells[:, self.names.index(name)]
            words[name] = np.where(own, present, absent).astype(object)
            words[name][np.isnan(own)] = None
        return _replace_columns(out, words, self.columns)


def _equals(column: Any, word: str) -> np.ndarray:
    """Return 1 where a column has the word, 0 where it has another, NaN where it has nothing."""
    known = ~column.is_null().to_numpy()
    equal = (column.drop_nulls().cast(nw.String) == word).to_numpy()
    if known.all():
        return equal.astype(np.int8)
    numbers = np.full(len(known), np.nan)
    numbers[known] = equal
    return numbers


def _replace_columns(
    native: Any, columns: dict[Any, np.ndarray], like: dict[Any, Any] | None = None
) -> Any:
    """Return a frame with other values in some columns, in the dtypes of the series ``like``."""
    if hasattr(native, "iloc"):  # pandas, where a name may be a number
        out = native.copy(deep=False)
        for name, values in columns.items():
            series = type(native[name])(values, index=native.index)
            out[name] = series if like is None else _like(series, like[name].to_native())
        return out
    frame = nw.from_native(native, eager_only=True)
    new = (
        nw.new_series(name, values, backend=nw.get_native_namespace(frame))
        for name, values in columns.items()
    )
    return frame.with_columns(
        *(series if like is None else series.cast(like[series.name].dtype) for series in new)
    ).to_native()


def _like(words: Any, column: Any) -> Any:
    """Return a pandas series of words as the values of a column that they stand for."""
    dtype = column.dtype
    categories = getattr(dtype, "categories", None)
    if categories is None and str(dtype) != "object":
        return words.astype(dtype)
    known = column.unique() if categories is None else categories
    by_word = {str(value): value for value in known}
    values = words.map(lambda word: by_word.get(word, word))
    if categories is None:
        return values.astype(object)
    # A word that has no category yet makes one.
    return values.astype(dtype if values.dropna().isin(categories).all() else "category")


def _distinct(column: Any) -> list[str]:
    found: list[str] = column.drop_nulls().cast(nw.String).unique().to_list()
    return found


def _holds_words(dtype: Any) -> bool:
    return dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object)


def _find_pair(name: Any, words: Sequence[str]) -> tuple[str, str]:
    """Return the words of a column for absent and present; raise where they do not say which."""
    absent = [word for word in words if word.strip().lower() in ABSENT]
    present = [word for word in words if word.strip().lower() in PRESENT]
    if len(absent) + len(present) < len(words) or len(absent) > 1 or len(present) > 1:
        shown = ", ".join(sorted(map(str, words))[:5]) + ", …" * (len(words) > 5)
        column = f"y[{name!r}]" if isinstance(name, str) else f"y[:, {name}]"
        separator = find_list_separator(words)
        if separator is not None:
            raise LabelFormatError(
                "y must have one column per label, or one list of labels per row",
                f"{column} holds several labels per cell: {shown}",
                cure_lists(column, separator),
            )
        raise LabelFormatError(
            "A label must be 0 or 1, or a pair of strings such as no and yes",
            f"{column} holds {shown}",
            "Choose the value that means the label is present: "
            f"({column} == {words[0]!r}).astype(int), or make one label per value with "
            "labelance.datasets.MultiClassReduction",
        )
    if not words:  # all cells are unknown
        return "no", "yes"
    if absent and present:
        return absent[0], present[0]
    known = (absent or present)[0]
    other = _OPPOSITES[known.strip().lower()]  # in the same kind of letters
    if known.isupper():
        other = other.upper()
    elif known[:1].isupper():
        other = other.capitalize()
    return (known, other) if absent else (other, known)
